"""docs/security.md names a test for each promise, and these tests exist."""

from __future__ import annotations

import re

from tests.conftest import PROJECT

PAGE = (PROJECT / "docs" / "security.md").read_text(encoding="utf-8")
TEXTS = [file.read_text(encoding="utf-8") for file in (PROJECT / "tests").rglob("test_*.py")]
TESTS = {name for text in TEXTS for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)}


def test_every_test_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 40
    assert named - TESTS == set()

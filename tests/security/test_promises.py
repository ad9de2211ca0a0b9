"""docs/security.md names a test for each promise, and these tests exist."""

from __future__ import annotations

import re

import pytest

from tests.conftest import PROJECT

PAGE = (PROJECT / "docs" / "security.md").read_text(encoding="utf-8")
FILES = {file.stem: file.read_text(encoding="utf-8") for file in (PROJECT / "tests").rglob("test_*.py")}
TESTS = {name for text in FILES.values() for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)}


def test_every_test_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 40
    assert named - TESTS == set()


@pytest.mark.parametrize(
    "file", sorted(file.stem for file in (PROJECT / "tests" / "security").glob("test_*.py"))
)
def test_the_page_names_tests_of_every_file_of_attacks(file: str) -> None:
    own = set(re.findall(r"^def (test_\w+)", FILES[file], re.MULTILINE))
    assert file == "test_promises" or any(f"`{name}`" in PAGE for name in own)

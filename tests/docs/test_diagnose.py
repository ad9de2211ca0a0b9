"""docs/diagnose.md describes the JSON of `workbench diagnose` as it is."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.conftest import PROJECT
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.systems.openclaw import SHIPPED
from workbench_plugins.diagnose.diagnosis import FORMAT, diagnose

PAGE = (PROJECT / "docs" / "diagnose.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def data(sample: MemoryIndex, questions: QuestionSet) -> dict[str, Any]:
    target = "memory/protocols/falsification-first.md"
    question = "how should I evaluate if a claim is actually true"
    return diagnose(question, SHIPPED, sample, target, questions=questions).as_json()


def described(heading: str) -> list[str]:
    """The keys in the first table below a heading of the page."""
    table = PAGE.partition(heading)[2].partition("|---|---|\n")[2].partition("\n\n")[0]
    return [key for row in table.splitlines() for key in re.findall(r"`(\w+)`", row.split("|")[1])]


def test_the_keys_are_those_of_the_page(data: dict[str, Any]) -> None:
    assert list(data) == ["question", "target", "fate", "causes", "fixes", "price"] == described("## JSON")
    assert list(data["causes"][0]) == described("Each of `causes`:")
    assert list(data["fixes"][0]) == described("Each of `fixes`:")
    assert list(data["price"]) == described("`price`:")


def test_the_version_is_that_of_the_page(data: dict[str, Any]) -> None:
    assert f"## JSON, version {FORMAT}" in PAGE
    assert data["price"]["format"] == FORMAT


def test_the_code_of_the_page_runs(sample: MemoryIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    codes = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    assert codes, "the page has code"
    for code in codes:
        exec(compile(code, "diagnose.md", "exec"), {})

"""The panel of fixes and the blame chart: figure, sentence, table and code say the same."""

from __future__ import annotations

import pytest

from workbench.errors import InputError
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench_plugins.diagnose.widgets import BlameChart, FixFinder

QUESTION = "how should I evaluate if a claim is actually true"
TARGET = "memory/protocols/falsification-first.md"


@pytest.fixture(scope="module")
def few(questions: QuestionSet) -> QuestionSet:
    return QuestionSet(questions=questions.questions[::6], controls=questions.controls[::6])


@pytest.fixture
def finder(sample: MemoryIndex, few: QuestionSet) -> FixFinder:
    return FixFinder(sample, QUESTION, TARGET, few, link=False)


def drawn(finder: FixFinder) -> list[tuple[int, int]]:
    return [(one["won"], one["lost"]) for one in finder.data["fixes"]]


@pytest.fixture
def chart(sample: MemoryIndex, few: QuestionSet) -> BlameChart:
    return BlameChart(few, sample, link=False)


def test_the_bars_are_what_the_fixes_win_and_lose(finder: FixFinder) -> None:
    prices = [(fix.price.wins, fix.price.losses) for fix in finder.diagnosis.fixes]
    assert drawn(finder) == prices
    assert len(finder.table.rows) == len(prices) > 0
    assert finder.diagnosis.fixes[0].setting in finder.sentence


def test_another_question_gets_another_page(finder: FixFinder) -> None:
    finder.settings = {"question": "how to think about problems and verify information"}
    assert finder.diagnosis.question.startswith("how to think")
    assert drawn(finder) == [(fix.price.wins, fix.price.losses) for fix in finder.diagnosis.fixes]


def test_a_target_that_is_first_already_leaves_the_figure_and_says_why(finder: FixFinder) -> None:
    before = drawn(finder)
    with pytest.raises(InputError, match="already the first"):
        finder.settings = {"system": "openclaw-2026.2.13+or"}
    assert drawn(finder) == before
    assert finder.data["of"]["system"] == finder.system == "openclaw-2026.2.13"


def test_the_code_of_the_finder_gives_the_same_page(
    finder: FixFinder, sample: MemoryIndex, few: QuestionSet
) -> None:
    names: dict[str, object] = {"index": sample, "questions": few}
    exec(finder.code, names)
    assert names["found"].as_json() == finder.diagnosis.as_json()  # type: ignore[attr-defined]


def test_the_waterfall_goes_from_one_value_to_the_other(chart: BlameChart) -> None:
    data = chart.data
    ends = [data["before"]["value"], *(one["to"] for one in data["parts"])]
    assert [one["from"] for one in data["parts"]] == ends[:-1]
    assert ends[-1] == pytest.approx(data["after"]["value"])
    assert len(chart.table.rows) == len(chart.blame.parts) == len(data["parts"])


def test_the_bars_and_the_sentence_have_the_same_numbers(chart: BlameChart) -> None:
    texts = [one["text"] for one in chart.data["parts"]]
    assert texts == [share for _, _, _, share, _ in chart.table.rows]
    assert all(f" {text}" in chart.sentence and "-" not in text for text in texts)


def test_two_other_systems_get_another_waterfall(chart: BlameChart) -> None:
    chart.settings = {"after": "openclaw-2026.2.13-vector-only"}
    assert chart.data["after"]["name"] == "openclaw-2026.2.13-vector-only"


def test_two_equal_systems_leave_the_picture(chart: BlameChart) -> None:
    before = chart.data["parts"]
    with pytest.raises(InputError, match="two systems that differ"):
        chart.settings = {"after": "openclaw-2026.2.13"}
    assert chart.data["parts"] == before


def test_the_code_of_the_chart_gives_the_same_shares(
    chart: BlameChart, sample: MemoryIndex, few: QuestionSet
) -> None:
    names: dict[str, object] = {"index": sample, "questions": few}
    exec(chart.code, names)
    assert names["found"].parts == chart.blame.parts  # type: ignore[attr-defined]

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


@pytest.fixture
def chart(sample: MemoryIndex, few: QuestionSet) -> BlameChart:
    return BlameChart(few, sample, link=False)


def test_the_bars_are_what_the_fixes_win_and_lose(finder: FixFinder) -> None:
    won, lost = finder.figure.data
    assert list(won.x) == [fix.price.wins for fix in finder.diagnosis.fixes]
    assert list(lost.x) == [fix.price.losses for fix in finder.diagnosis.fixes]
    assert len(finder.table.rows) == len(won.y) == len(finder.diagnosis.fixes) > 0
    assert finder.diagnosis.fixes[0].setting in finder.sentence


def test_another_question_gets_another_page(finder: FixFinder) -> None:
    finder.settings = {"question": "how to think about problems and verify information"}
    assert finder.diagnosis.question.startswith("how to think")
    assert list(finder.figure.data[0].x) == [fix.price.wins for fix in finder.diagnosis.fixes]


def test_a_target_that_is_first_already_leaves_the_figure_and_says_why(finder: FixFinder) -> None:
    before = list(finder.figure.data[0].x)
    with pytest.raises(InputError, match="already the first"):
        finder.settings = {"system": "openclaw-2026.2.13+or"}
    finder.system.value = "openclaw-2026.2.13+or"
    assert "already the first file" in finder.sentence
    assert list(finder.figure.data[0].x) == before


def test_the_code_of_the_finder_gives_the_same_page(
    finder: FixFinder, sample: MemoryIndex, few: QuestionSet
) -> None:
    names: dict[str, object] = {"index": sample, "questions": few}
    exec(finder.code, names)
    assert names["found"].as_json() == finder.diagnosis.as_json()  # type: ignore[attr-defined]


def test_the_waterfall_goes_from_one_value_to_the_other(chart: BlameChart) -> None:
    (bars,) = chart.figure.data
    assert bars.y[0] + sum(bars.y[1:-1]) == pytest.approx(bars.y[-1])
    assert bars.measure[0], bars.measure[-1] == ("absolute", "total")
    assert len(chart.table.rows) == len(chart.blame.parts) == len(bars.y) - 2


def test_the_bars_and_the_sentence_have_the_same_numbers(chart: BlameChart) -> None:
    (bars,) = chart.figure.data
    assert list(bars.text[1:-1]) == [share for _, _, _, share, _ in chart.table.rows]
    for share in bars.text[1:-1]:
        assert f" {share}" in chart.sentence
    assert not any("-" in text for text in bars.text)


def test_two_other_systems_get_another_waterfall(chart: BlameChart) -> None:
    chart.settings = {"after": "openclaw-2026.2.13-vector-only"}
    assert chart.figure.data[0].x[-1] == "openclaw-2026.2.13-vector-only"
    assert len(chart.figure.data[0].y) == len(chart.blame.parts) + 2


def test_two_equal_systems_leave_the_figure(chart: BlameChart) -> None:
    before = list(chart.figure.data[0].y)
    chart.settings = {"after": "openclaw-2026.2.13"}
    assert "two systems that differ" in chart.sentence
    assert list(chart.figure.data[0].y) == before


def test_the_code_of_the_chart_gives_the_same_shares(
    chart: BlameChart, sample: MemoryIndex, few: QuestionSet
) -> None:
    names: dict[str, object] = {"index": sample, "questions": few}
    exec(chart.code, names)
    assert names["found"].parts == chart.blame.parts  # type: ignore[attr-defined]

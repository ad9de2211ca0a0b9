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
    won, lost = (one["x"] for one in finder.data["figure"]["data"] if one["type"] == "bar")
    return [(one, -other) for one, other in zip(won, lost, strict=True)]


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
    (bars,) = (one for one in chart.data["figure"]["data"] if one.get("base"))
    first, *changes, last = zip(bars["base"], bars["x"], strict=True)
    ends = [first[1], *(start + size for start, size in changes)]
    assert [start for start, _ in changes] == pytest.approx(ends[:-1])
    assert ends[-1] == pytest.approx(last[1])
    assert len(chart.table.rows) == len(chart.blame.parts) == len(changes)


def test_the_figure_and_the_sentence_have_the_same_numbers(chart: BlameChart) -> None:
    texts = [one.share_text for one in chart.blame.by_share]
    assert texts == [share for _, _, _, share, _ in chart.table.rows]
    assert all(f" {text}" in chart.sentence and "-" not in text for text in texts)
    signed = [f"{float(one.share):+.4g}".replace("-", "−") for one in chart.blame.by_share]
    assert all(one in chart.figure.words for one in signed)


def test_two_other_systems_get_another_waterfall(chart: BlameChart) -> None:
    chart.settings = {"after": "openclaw-2026.2.13-vector-only"}
    assert "openclaw-2026.2.13-vector-only" in chart.data["figure"]["layout"]["meta"]["words"]


def test_two_equal_systems_leave_the_picture(chart: BlameChart) -> None:
    before = chart.data["figure"]
    with pytest.raises(InputError, match="two systems that differ"):
        chart.settings = {"after": "openclaw-2026.2.13"}
    assert chart.data["figure"] == before


def test_the_code_of_the_chart_gives_the_same_shares(
    chart: BlameChart, sample: MemoryIndex, few: QuestionSet
) -> None:
    names: dict[str, object] = {"index": sample, "questions": few}
    exec(chart.code, names)
    assert names["found"].parts == chart.blame.parts  # type: ignore[attr-defined]

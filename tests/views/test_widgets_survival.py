"""The survival chart: where targets are lost, system by system."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO

import pytest

from workbench.errors import InputError
from workbench.measure.evaluation import Evaluation, evaluate
from workbench.measure.missed import SurvivalStep, survivals
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WORKAROUND
from workbench.views.widgets.survival import SurvivalChart


@pytest.fixture(scope="module")
def evaluations(sample: MemoryIndex, questions: QuestionSet) -> list[Evaluation]:
    return evaluate(questions, [SHIPPED, THREE_FIXES, WORKAROUND], sample)


@pytest.fixture
def chart(evaluations: list[Evaluation], sample: MemoryIndex) -> SurvivalChart:
    return SurvivalChart(evaluations, sample)


def test_the_page_counts_from_the_steps_that_each_target_reached(
    chart: SurvivalChart, evaluations: list[Evaluation], sample: MemoryIndex
) -> None:
    for given, found in zip(chart.data["systems"], survivals(evaluations, sample), strict=True):
        assert given["system"] == found.system
        assert given["reached"] == [one.reached for one in found.survivors]


def test_only_the_chosen_systems_are_shown(chart: SurvivalChart) -> None:
    assert chart.settings["systems"] == [SHIPPED.name, THREE_FIXES.name]
    chart.systems = (WORKAROUND.name,)
    assert chart.settings["systems"] == [WORKAROUND.name]
    assert chart.table.header == ("step", WORKAROUND.name)
    assert list(chart.traces) == [WORKAROUND.name]
    with pytest.raises(InputError, match="systems cannot be"):
        chart.settings = {"systems": ("no such system",)}


def test_no_system_is_no_error(chart: SurvivalChart) -> None:
    chart.settings = {"systems": ()}
    assert chart.sentence == "No system is chosen."
    assert len(chart.table.rows) == len(SurvivalStep)


def test_one_kind_of_question_can_be_looked_at(chart: SurvivalChart, evaluations: list[Evaluation]) -> None:
    chart.settings = {"kind": "vague"}
    share = evaluations[1].by_kind["vague"]
    assert f"{share.hits} of {share.n} questions" in chart.sentence


def test_the_sentence_and_the_table_say_where_most_are_lost(chart: SurvivalChart) -> None:
    lost = len(chart.survivals[0].lost(SurvivalStep.PAST_FLOOR))
    assert f"most are lost at the floor: {lost}" in chart.sentence
    rows = {row[0]: row[1] for row in chart.table.rows}
    assert rows["past the floor"] == f"6 ({lost} lost here)"


def test_its_code_counts_the_same(chart: SurvivalChart, sample: MemoryIndex, questions: QuestionSet) -> None:
    chart.settings = {"kind": "natural"}
    names: dict[str, object] = {"index": sample, "questions": questions}
    with redirect_stdout(StringIO()):
        exec(chart.code, names)
    assert names["left"] == {
        one.system: [one.count(step) for step in SurvivalStep] for one in chart.survivals
    }


def test_a_chart_of_nothing_is_refused(sample: MemoryIndex) -> None:
    with pytest.raises(InputError, match="no evaluation"):
        SurvivalChart([], sample)


def test_the_figure_has_the_counts_of_the_chosen_systems(chart: SurvivalChart) -> None:
    chart.systems = [WORKAROUND.name]
    counts = [chart.survivals[0].count(step) for step in SurvivalStep]
    (bars,) = chart.figure.data
    assert (bars.name, list(bars.x)) == (WORKAROUND.name, counts)

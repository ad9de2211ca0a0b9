"""The threshold lab: its numbers, its figure and its words are those of a search with that floor."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pytest

from workbench.errors import InputError
from workbench.measure.evaluation import Evaluation, evaluate
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WORKAROUND
from workbench.systems.registry import SYSTEMS
from workbench.views.widgets.threshold import KINDS, ThresholdLab, score_span, threshold_figure
from workbench_plugins.recommended.pipelines import RECOMMENDED

RANKS = SYSTEMS["engine-rrf-60"]


@pytest.fixture(scope="module")
def evaluations(sample: MemoryIndex, questions: QuestionSet) -> list[Evaluation]:
    return evaluate(questions, [SHIPPED, THREE_FIXES, WORKAROUND, RANKS], sample)


@pytest.fixture
def lab(evaluations: list[Evaluation]) -> ThresholdLab:
    return ThresholdLab(evaluations)


def drawn(lab: ThresholdLab) -> dict[str, object]:
    return {trace.name: trace for trace in lab.figure.data}


def test_the_figure_counts_every_candidate(lab: ThresholdLab) -> None:
    figure = threshold_figure(lab.scores, lab.reaches)
    counted = {trace.name: np.nansum(trace.y) for trace in figure.data if trace.name in KINDS}
    assert counted == {kind: getattr(lab.scores, kind).size for kind in KINDS}


def test_filled_bars_are_what_passes_the_floor_to_the_candidate(lab: ThresholdLab) -> None:
    lab.settings = {"min_score": 0.213}
    for kind in KINDS:
        assert np.nansum(drawn(lab)[f"{kind} passing"].y) == np.sum(getattr(lab.scores, kind) >= 0.213)


def test_the_floor_line_follows_the_floor_with_its_numbers_beside_it(lab: ThresholdLab) -> None:
    lab.floor.value = 0.2
    lines = [trace for trace in lab.figure.data if trace.name.startswith("floor ")]
    assert [set(line.x) for line in lines] == [{0.2}] * 4
    outcome = lab.outcome
    assert [line.text[1].strip() for line in lines[1:]] == [
        f"{outcome.hits.hits} of 57 questions hit",
        f"precision {outcome.precision:.0%}: {outcome.right.hits} of {outcome.right.n} returned are right",
        f"nothing returned for {outcome.silent.hits} of 20",
    ]


def test_the_widget_s_numbers_are_those_of_its_scores(lab: ThresholdLab) -> None:
    lab.box.value = 0.2
    assert lab.floor.value == 0.2
    assert lab.settings == {"system": SHIPPED.name, "min_score": 0.2}
    assert f"At 0.20, {lab.scores.hits(0.2)} of 57 questions hit" in lab.status.value
    assert (lab.hits, lab.silent) == (lab.scores.hits(0.2), lab.scores.silent(0.2))


def test_what_a_leg_cannot_reach_is_said_with_its_arithmetic(lab: ThresholdLab) -> None:
    said = "eyword leg alone: at most 0.7 × 0 + 0.3 × 1 = 0.300 < 0.350, out of reach"
    assert said in lab.sentence
    assert said in drawn(lab)["arithmetic"].text[0]
    out = drawn(lab)["out of reach"]
    assert (min(out.x[:5]), max(out.x[:5])) == pytest.approx((0.3, 1.0))
    lab.settings = {"min_score": 0.25}
    assert "= 0.300 ≥ 0.250" in lab.sentence


def test_another_system_brings_its_own_floor_and_reach(
    lab: ThresholdLab, evaluations: list[Evaluation]
) -> None:
    lab.system.value = WORKAROUND.name
    assert lab.floor.value == 0.25
    assert list(lab.reaches) == ["vector"]
    assert drawn(lab)["arithmetic"].text[0] == "no keyword leg"
    assert lab.hits == evaluations[2].overall.hits


def test_a_scale_of_its_own_brings_an_axis_of_its_own(
    lab: ThresholdLab, evaluations: list[Evaluation]
) -> None:
    lab.settings = {"system": RANKS.name}
    span = score_span(lab.scores)
    assert (lab.floor.min, lab.floor.max, lab.floor.step) == span
    assert 0.03 < span.high < 0.05
    assert list(lab.figure.layout.xaxis.range) == [span.low, span.high]
    assert lab.hits == evaluations[3].overall.hits
    assert "without a floor" in lab.table.header


def test_setting_a_system_and_a_floor_together_takes_both(lab: ThresholdLab) -> None:
    lab.settings = {"min_score": 0.4, "system": WORKAROUND.name}
    assert lab.settings == {"system": WORKAROUND.name, "min_score": 0.4}
    with pytest.raises(InputError, match="min_score cannot be"):
        lab.settings = {"system": RANKS.name, "min_score": 0.4}
    assert lab.settings == {"system": WORKAROUND.name, "min_score": 0.4}


def test_the_table_says_what_the_figure_shows(lab: ThresholdLab) -> None:
    lab.settings = {"min_score": 0.25}
    rows = {row[0]: row[1:] for row in lab.table.rows}
    assert lab.table.header[1:] == ("at 0.25", "its own floor: 0.35")
    assert rows["questions with a hit"] == (f"{lab.hits} of 57", f"{lab.scores.hits(0.35)} of 57")
    assert rows["unanswerable, nothing returned"][0] == f"{lab.silent} of 20"


def test_its_code_asks_again_and_finds_the_same(
    lab: ThresholdLab, sample: MemoryIndex, questions: QuestionSet
) -> None:
    lab.settings = {"system": THREE_FIXES.name, "min_score": 0.45}
    names: dict[str, object] = {"index": sample, "questions": questions}
    with redirect_stdout(StringIO()):
        exec(lab.code, names)
    again = names["evaluated"]
    assert isinstance(again, Evaluation)
    assert (again.overall, again.silent) == (lab.outcome.hits, lab.outcome.silent)


def test_a_widget_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="no evaluation"):
        ThresholdLab([])


# The reliability diagram below it


@pytest.fixture(scope="module")
def believed(sample: MemoryIndex, questions: QuestionSet) -> list[Evaluation]:
    return evaluate(questions, [SHIPPED, RECOMMENDED], sample)


def test_the_diagram_is_there_for_a_system_that_states_a_probability(believed: list[Evaluation]) -> None:
    lab = ThresholdLab(believed)
    assert not lab.diagram.shown
    assert len(lab.tables) == 1
    lab.settings = {"system": RECOMMENDED.name}
    found = lab.diagram.reliability
    points = {trace.name: trace for trace in lab.diagram.figure.data}
    assert points["answerable questions"].y.tolist() == [one.answerable.rate for one in found.bins]
    assert sum(points["questions in the bin"].y) == 77
    assert "Brier score" in lab.sentence
    assert [row[0] for row in lab.tables[1].rows] == [
        f"{one.low:.2f} to {one.high:.2f}" for one in found.bins
    ]
    lab.settings = {"min_score": 0.5}
    (line,) = (trace for trace in lab.diagram.figure.data if trace.name == "floor")
    assert set(line.x) == {0.5}


def test_the_lab_with_its_diagram_fits_one_screen(believed: list[Evaluation]) -> None:
    lab = ThresholdLab(believed)
    # JupyterLab shows 679 px of a notebook at 1280x800. The controls, five lines of words and the buttons
    # take 173 of them.
    assert lab.figure.layout.height + lab.diagram.figure.layout.height <= 679 - 173


def test_the_axis_names_the_number_that_the_floor_looks_at(believed: list[Evaluation]) -> None:
    lab = ThresholdLab(believed)
    assert lab.figure.layout.xaxis.title.text == "fused score (no unit)"
    lab.settings = {"system": RECOMMENDED.name}
    assert lab.figure.layout.xaxis.title.text == "stated probability of an answer"


def test_a_reach_that_no_number_gives_is_not_drawn_as_out_of_reach(believed: list[Evaluation]) -> None:
    lab = ThresholdLab(believed)
    lab.settings = {"system": RECOMMENDED.name}
    assert set(lab.reaches.values()) == {None}
    x = [float(one) for one in drawn(lab)["out of reach"].x if one is not None]
    assert all(np.isnan(end) for end in x[1:3] + x[6:8])


def test_without_such_a_system_there_is_no_diagram(lab: ThresholdLab) -> None:
    assert lab.diagram is None


def test_the_marks_are_where_the_floor_looks(believed: list[Evaluation]) -> None:
    lab = ThresholdLab(believed, link=False)
    lab.settings = {"system": RECOMMENDED.name}
    asked = believed[1].asked[0]
    lab.selection.choose(system=RECOMMENDED.name, question=asked.trace.question)
    marked = {x for trace in lab.figure.data if "selected question" in trace.name for x in trace.x}
    assert {x for x in marked if np.isfinite(x)} == set(asked.trace.columns["answerable"])

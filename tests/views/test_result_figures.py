"""`result.plot()`: what a result draws is what it says."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.errors import InputError
from workbench.measure.blame import blame
from workbench.measure.evaluation import Evaluations
from workbench.measure.missed import SurvivalStep, survivals
from workbench.measure.questions import QuestionSet
from workbench.measure.reliability import reliability
from workbench.measure.thresholds import compared
from workbench.memory.index import MemoryIndex
from workbench.systems.openclaw import SHIPPED, THREE_FIXES
from workbench_plugins.engines.whose_fusion import whose_fusion

EVIDENCE = "openclaw-2026.2.13+or+rrf+minmax+evidence"


@pytest.fixture(scope="module")
def runs(sample: MemoryIndex, questions: QuestionSet) -> Evaluations:
    systems = [SHIPPED, THREE_FIXES, wb.system(EVIDENCE), wb.system("recommended")]
    return wb.evaluate(questions, systems, sample)


def test_the_scores_of_an_evaluation_are_all_drawn_and_the_line_is_its_floor(runs: Evaluations) -> None:
    found = wb.scores(runs[0])
    shown = runs[0].plot()
    assert [line.x0 for line in shown.layout.shapes] == [found.floor]
    groups = (found.target, found.other, found.control)
    counts = [f"({int((one >= found.floor).sum())} of {one.size} pass)" for one in groups]
    assert [trace.name.partition(" (")[2] for trace in shown.data] == [one[1:] for one in counts]
    assert runs[0].plot("ecdf").layout.yaxis.title.text == "% of the group at or below"


def test_a_probability_of_each_question_is_one_mark_a_question(runs: Evaluations) -> None:
    run = runs[3]
    asked = [compared(one.trace, run.pipeline)[0] for one in run.asked if one.trace.chunks]
    silent = [compared(trace, run.pipeline)[0] for trace in run.controls if trace.chunks]
    shown = run.plot()
    floor = run.pipeline.floor
    assert [trace.name for trace in shown.data] == [
        f"{name} ({int((np.array(some) >= floor).sum())} of {len(some)} pass)"
        for name, some in (("answerable questions", asked), ("unanswerable questions", silent))
    ]


def test_what_passes_the_evidence_floor_is_what_its_stage_keeps(runs: Evaluations) -> None:
    shown = runs[2].plot()
    passing = 0
    for trace in (*(one.trace for one in runs[2].asked), *runs[2].controls):
        place = next(n for n, stage in enumerate(trace.stages) if type(stage).__name__ == "EvidenceFloor")
        passing += int(((trace.dropped < 0) | (trace.dropped > place)).sum())
    told = [trace.name.partition(" (")[2].split() for trace in shown.data]
    assert sum(int(one[0]) for one in told) == passing
    assert len(shown.layout.shapes) == 2


def test_a_star_stands_at_the_answers_of_each_system_s_own_floor(runs: Evaluations) -> None:
    shown = runs.plot()
    stars = [trace for trace in shown.data if trace.marker.symbol == "star"]
    assert [(one.x[0], one.y[0]) for one in stars] == [(run.overall.hits, run.silent.hits) for run in runs]
    with pytest.raises(InputError, match="nothing to draw"):
        Evaluations().plot()


def test_survival_and_blame_draw_their_own_numbers(
    runs: Evaluations, sample: MemoryIndex, questions: QuestionSet
) -> None:
    left = survivals(runs[:2], sample)
    drawn = [trace for trace in left.plot().data if trace.type == "bar"]
    assert [list(trace.x) for trace in drawn] == [[one.count(step) for step in SurvivalStep] for one in left]
    found = blame(SHIPPED, THREE_FIXES, sample, questions)
    bars = found.plot().data[-1]
    assert sum(bars.x[1:-1]) == pytest.approx(float(found.difference))
    assert (bars.x[0], bars.x[-1]) == (float(found.before), float(found.after))


def test_reliability_and_a_comparison_of_fusions_draw_theirs(runs: Evaluations) -> None:
    found = reliability(runs[3])
    line, bins = found.plot().data
    assert list(line.x) == list(line.y)
    assert list(bins.y) == [one.answerable.rate for one in found.bins]
    told = whose_fusion({"a": 0.9, "b": 0.8}, {"b": 3.0, "c": 1.0}, engines=["rrf-60", "txtai"])
    shown = told.plot()
    assert [one.replace("<br>", "") for one in shown.layout.xaxis.ticktext] == [
        "vector leg", "keyword leg", "rrf-60", "txtai",
    ]  # fmt: skip

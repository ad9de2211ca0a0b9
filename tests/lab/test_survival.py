"""How far each target comes, step by step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

from workbench.contracts import Context
from workbench.measure.edits import Edit, edited
from workbench.measure.evaluation import evaluate
from workbench.measure.missed import Survival, SurvivalStep, survival, survivals
from workbench.measure.questions import Question, QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.records import DropKind, Threshold, Trace
from workbench.retrieval.columns import PlainStage
from workbench.retrieval.cutoff import Limit, dropped
from workbench.retrieval.pipeline import Pipeline
from workbench.systems.openclaw import SHIPPED, WORKAROUND
from workbench_plugins.openclaw.releases import FEBRUARY_27


def of(pipeline: Pipeline, question: str, target: str, index: MemoryIndex) -> Survival:
    asked = QuestionSet(questions=(Question(question=question, target=target, kind="direct"),))
    [evaluation] = evaluate(asked, [pipeline], index)
    return survival(evaluation, index)


ONE, TWO = (SHIPPED.asking(limit=limit, min_score=0) for limit in (1, 2))


@pytest.mark.parametrize(
    ("pipeline", "question", "target", "reached"),
    [
        (SHIPPED, "rooibos", "memory/none.md", SurvivalStep.ASKED),
        (SHIPPED, "rooibos tea cup", "memory/tea.md", SurvivalStep.RETURNED),
        (SHIPPED, "rooibos", "memory/server.md", SurvivalStep.IN_POOL),
        (ONE, "rooibos tea cup", "memory/server.md", SurvivalStep.MATCHED),
        (TWO, "rooibos tea cup", "memory/server.md", SurvivalStep.PAST_FLOOR),
    ],
)
def test_a_target_comes_as_far_as_its_best_chunk(
    pipeline: Pipeline, question: str, target: str, reached: SurvivalStep, toy: MemoryIndex
) -> None:
    [one] = of(pipeline, question, target, toy).survivors
    assert one.reached is reached


def test_what_a_floor_behind_the_limit_drops_is_not_past_the_floor(toy: MemoryIndex) -> None:
    floor = [Edit("floor", None), Edit("floor", SHIPPED["floor"])]
    for pipeline in (SHIPPED, edited(SHIPPED, floor)):
        [one] = of(pipeline, "rooibos", "memory/server.md", toy).survivors
        assert one.reached is SurvivalStep.IN_POOL


@dataclass(frozen=True)
class NoTea(PlainStage, slot="no_tea"):
    """Drops every candidate."""

    description = "a filter that drops every candidate"

    def run(self, trace: Trace, context: Context) -> Trace:
        tea = Threshold("tea", np.zeros(trace.rows.size), 1)
        return dropped(trace, self, DropKind.FILTER, tea)


@dataclass(frozen=True)
class Shorter(Limit, slot="shorter"):
    """Another limit."""


def test_what_a_filter_behind_the_limit_drops_was_within_it(toy: MemoryIndex) -> None:
    filtered = replace(SHIPPED, stages=(*SHIPPED.stages, NoTea()))
    [one] = of(filtered, "rooibos tea cup", "memory/tea.md", toy).survivors
    assert one.reached is SurvivalStep.WITHIN_LIMIT


def test_a_limit_in_another_slot_is_a_limit(toy: MemoryIndex) -> None:
    """Only the kind of the cut decides, not the name of the slot."""
    elsewhere = replace(TWO, stages=(*TWO.stages, Shorter(0)))
    [one] = of(elsewhere, "rooibos tea cup", "memory/tea.md", toy).survivors
    assert one.reached is SurvivalStep.PAST_FLOOR


def test_the_rescued_are_counted(toy: MemoryIndex) -> None:
    rescued = FEBRUARY_27.asking(min_score=0.99)
    found = of(rescued, "Nothing", "memory/plain.md", toy)
    assert (found.count(SurvivalStep.RETURNED), found.rescued) == (1, 1)
    assert of(SHIPPED, "rooibos tea cup", "memory/tea.md", toy).rescued == 0


def test_each_step_loses_some_and_the_last_is_the_evaluation_s_hits(
    sample: MemoryIndex, questions: QuestionSet
) -> None:
    evaluations = evaluate(questions, [SHIPPED, WORKAROUND], sample)
    for found, evaluation in zip(survivals(evaluations, sample), evaluations, strict=True):
        counts = [found.count(step) for step in SurvivalStep]
        assert counts[0] == 57
        assert counts[-1] == evaluation.overall.hits
        assert counts == sorted(counts, reverse=True)
        assert [len(found.lost(step)) for step in list(SurvivalStep)[1:]] == [
            before - after for before, after in pairwise(counts)
        ]
        kinds = {one.question.kind for one in found.survivors}
        assert sum(found.of_kind(kind).count(SurvivalStep.RETURNED) for kind in kinds) == counts[-1]

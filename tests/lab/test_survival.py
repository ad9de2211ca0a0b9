"""How far each target comes, step by step."""

from __future__ import annotations

from itertools import pairwise

import pytest

from workbench.measure.evaluation import evaluate
from workbench.measure.missed import Survival, SurvivalStep, survival, survivals
from workbench.measure.questions import Question, QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.retrieval.pipeline import Pipeline
from workbench.systems.catalogue import SYSTEMS
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


def test_a_floor_behind_the_limit_loses_what_was_within_it(
    sample: MemoryIndex, questions: QuestionSet
) -> None:
    [evaluation] = evaluate(questions, [SYSTEMS["am-dead-keyword"]], sample)
    found = survival(evaluation, sample)
    assert found.count(SurvivalStep.WITHIN_LIMIT) - found.count(SurvivalStep.RETURNED) == len(
        found.lost(SurvivalStep.RETURNED)
    )


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

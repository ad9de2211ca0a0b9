"""What a floor lets through, without asking again: the same as asking again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from workbench.contracts import Index
from workbench.measure.evaluation import Evaluation, evaluate
from workbench.measure.questions import Control, Question, QuestionSet
from workbench.measure.thresholds import scores
from workbench.memory.index import MemoryIndex
from workbench.retrieval.pipeline import Pipeline
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WORKAROUND
from workbench_plugins.openclaw.releases import FEBRUARY_27, SEPTEMBER
from workbench_plugins.recommended.pipelines import LateOfIndex
from workbench_plugins.rerank import with_reranker

SET = QuestionSet(
    questions=(
        Question(question="rooibos tea", target="memory/tea.md"),
        Question(question="hub and brake", target="memory/bike.md"),
        Question(question="disk", target="memory/bike.md"),
        Question(question="afternoon", target="memory/none.md"),
    ),
    controls=(Control(question="bicycle"), Control(question="server")),
)


Counts = tuple[int, int, int, int]
"""Hits, right chunks, returned chunks and empty answers."""


def asked_again(pipeline: Pipeline, questions: QuestionSet, index: Index, *floors: float) -> list[Counts]:
    """What a search with each of these floors gives."""
    asked = [pipeline.asking(min_score=floor) for floor in floors]
    return [counted(one) for one in evaluate(questions, asked, index)]


def counted(found: Evaluation) -> Counts:
    results = [(one.question.target, result) for one in found.asked for result in one.trace.results]
    right = sum(result.chunk.path == target for target, result in results)
    return found.overall.hits, right, len(results), found.silent.hits


def told(pipeline: Pipeline, questions: QuestionSet, index: Index, *floors: float) -> list[Counts]:
    """The same numbers from one evaluation with the pipeline's own floor."""
    [evaluation] = evaluate(questions, [pipeline], index)
    found = [scores(evaluation).at(floor) for floor in floors]
    return [(at.hits.hits, at.right.hits, at.right.n, at.silent.hits) for at in found]


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_floor_lets_through_what_asking_with_it_returns(name: str, toy: MemoryIndex) -> None:
    asked = SYSTEMS[name], SET, toy, -np.inf, 0.0, 0.016, 0.3, 0.55, 1.0
    assert told(*asked) == asked_again(*asked)


def test_so_it_does_after_a_reranker_whose_score_the_floor_does_not_see(toy: MemoryIndex) -> None:
    asked = with_reranker(THREE_FIXES, LateOfIndex()), SET, toy, 0.0, 0.3, 0.55, 1.0
    assert told(*asked) == asked_again(*asked)


def test_a_floor_that_is_added_is_told_in_the_column_that_it_compares(toy: MemoryIndex) -> None:
    reranked = with_reranker(THREE_FIXES, LateOfIndex())
    without = replace(reranked, stages=tuple(one for one in reranked.stages if one.slot != "floor"))
    [evaluation] = evaluate(SET, [without], toy)
    found, columns = scores(evaluation), [one.trace.columns for one in evaluation.asked]
    assert (found.column, columns[0].keys() >= {"score", "rerank_score"}) == ("score", True)
    every = np.concatenate([one["score"] for one in columns])
    np.testing.assert_array_equal(np.sort(np.concatenate([found.target, found.other])), np.sort(every))


# Floor and limit alone; a rescue below the floor; MMR before it and spare slots after; a floor behind both.
@pytest.mark.parametrize("name", ["openclaw-2026.2.13+or", FEBRUARY_27.name, SEPTEMBER.name, "am-150"])
def test_so_it_does_over_a_whole_memory(name: str, sample: MemoryIndex, questions: QuestionSet) -> None:
    few = QuestionSet(questions=questions.questions[::4], controls=questions.controls[::4])
    asked = SYSTEMS[name], few, sample, 0.15, 0.25, 0.4
    assert told(*asked) == asked_again(*asked)


def test_precision_is_the_share_of_right_chunks_among_those_returned(toy: MemoryIndex) -> None:
    [evaluation] = evaluate(SET, [WORKAROUND], toy)
    returned = [(one.question.target, hit) for one in evaluation.asked for hit in one.trace.results]
    right = [hit for target, hit in returned if hit.chunk.path == target]
    assert 0 < len(right) < len(returned)
    assert scores(evaluation).at(WORKAROUND.floor).precision == len(right) / len(returned)


def test_a_precision_of_nothing_is_none(toy: MemoryIndex) -> None:
    [evaluation] = evaluate(SET, [SHIPPED], toy)
    outcome = scores(evaluation).at(1.1)
    assert (outcome.hits.hits, outcome.precision, outcome.silent.hits) == (0, None, 2)


def test_every_candidate_is_counted_once(toy: MemoryIndex) -> None:
    [evaluation] = evaluate(SET, [THREE_FIXES], toy)
    found = scores(evaluation)
    candidates = sum(len(one.trace.chunks) for one in evaluation.asked)
    assert found.target.size + found.other.size == candidates
    assert found.control.size == sum(len(trace.chunks) for trace in evaluation.controls)


def test_a_system_without_a_floor_has_none_until_one_is_asked_for(toy: MemoryIndex) -> None:
    without = replace(SHIPPED, stages=tuple(one for one in SHIPPED.stages if one.slot != "floor"))
    [evaluation] = evaluate(SET, [without], toy)
    assert scores(evaluation).floor == -np.inf
    assert told(without, SET, toy, 0.3) == told(SHIPPED, SET, toy, 0.3)

"""How measuring lies: each check fires where it should."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.checks import fewest_wins, warnings_about
from workbench.measure.evaluation import Evaluation, evaluate
from workbench.measure.questions import Question, QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.records import Document
from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.index_adapters import CachedIndex
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WORKAROUND


def asked(*pairs: tuple[str, str]) -> QuestionSet:
    return QuestionSet(questions=tuple(Question(question=q, target=f"memory/{t}.md") for q, t in pairs))


ALL = asked(("rooibos tea", "tea"), ("hub and brake", "bike"), ("disk", "server"), ("the server", "server"))


def with_traces(evaluation: Evaluation, field: str, changed: list[Any]) -> Evaluation:
    """The evaluation with another value of this field in the trace of each question."""
    pairs = zip(evaluation.asked, changed, strict=True)
    asked_again = [replace(one, trace=replace(one.trace, **{field: value})) for one, value in pairs]
    return replace(evaluation, asked=tuple(asked_again))


def kinds(evaluations: list[Evaluation], index: Index, measure: Any = "hits") -> list[str]:
    return [one.kind for one in warnings_about(evaluations, index, measure)]


TWO_FILES = "labels that two files satisfy"
TOO_DEEP = "k larger than the collection"
AS_IDS = "a constant scorer is as good"
UNSEEN = "a measure that cannot see the change"


def test_a_file_with_the_text_of_a_target_is_named(toy: MemoryIndex) -> None:
    class Doubled(CachedIndex):
        def documents(self) -> list[Document]:
            known = list(toy.documents())
            tea = next(one for one in known if one.path == "memory/tea.md")
            return [*known, replace(tea, path="memory/copy.md")]

    index = Doubled(toy)
    (evaluation,) = evaluate(asked(("tea", "tea")), [SHIPPED], index)
    (found,) = [one for one in warnings_about([evaluation], index) if one.kind == TWO_FILES]
    assert "memory/copy.md" in str(found)


def test_a_question_with_two_right_files_is_named(toy: MemoryIndex) -> None:
    evaluations = evaluate(asked(("tea", "tea"), ("tea", "bike")), [SHIPPED], toy)
    assert TWO_FILES in kinds(evaluations, toy)
    assert TWO_FILES not in kinds(evaluate(ALL, [SHIPPED], toy), toy)


def test_a_cutoff_beyond_the_collection_is_named(toy: MemoryIndex) -> None:
    evaluations = evaluate(ALL, [SHIPPED.with_stage(Limit(2))], toy)
    assert TOO_DEEP in kinds(evaluations, toy, "nDCG@100")
    assert TOO_DEEP not in kinds(evaluations, toy, "nDCG@2")
    wide = evaluate(ALL, [SHIPPED.with_stage(Limit(500))], toy)
    assert TOO_DEEP in kinds(wide, toy)


def test_files_without_a_label_are_counted(toy: MemoryIndex) -> None:
    evaluations = evaluate(ALL, [WORKAROUND], toy)
    (found,) = [one for one in warnings_about(evaluations, toy) if one.kind == "unjudged files"]
    returned = sum(len(one.trace.paths()) for one in evaluations[0].asked)
    assert found.description.startswith(f"{returned - evaluations[0].overall.hits} of the {returned} files")


def test_hits_that_chunk_ids_decide_are_named(toy: MemoryIndex) -> None:
    by_id = WORKAROUND.with_stage(Limit(1)).with_stage(Order())
    evaluations = evaluate(ALL, [by_id], toy)
    traces = [one.trace for one in evaluations[0].asked]
    level = [{**trace.columns, "score": np.ones(len(trace.chunks))} for trace in traces]
    assert "ties" in kinds([with_traces(evaluations[0], "columns", level)], toy)


def test_hits_that_a_second_column_of_the_order_decides_are_not_those_of_ids(toy: MemoryIndex) -> None:
    by_rank = WORKAROUND.with_stage(Limit(1)).with_stage(Order(ties=("vector_rank",)))
    evaluations = evaluate(ALL, [by_rank], toy)
    traces = [one.trace for one in evaluations[0].asked]
    level = [{**trace.columns, "score": np.ones(len(trace.chunks))} for trace in traces]
    unlike = [{**one, "vector_rank": np.arange(one["score"].size) + 1.0} for one in level]
    assert "ties" not in kinds([with_traces(evaluations[0], "columns", unlike)], toy)
    alike = [{**one, "vector_rank": np.full(one["score"].size, np.nan)} for one in level]
    assert "ties" in kinds([with_traces(evaluations[0], "columns", alike)], toy)


def test_a_system_no_better_than_the_order_of_ids_is_named(toy: MemoryIndex) -> None:
    of_five = asked(*((f"tea {name}", name) for name in ("tea", "bike", "server", "both", "plain")))
    sixth = Question(question="tea MEMORY", target="MEMORY.md")
    six = QuestionSet(questions=(*of_five.questions, sixth))
    assert AS_IDS in kinds(evaluate(six, [WORKAROUND], toy), toy)
    assert AS_IDS not in kinds(evaluate(of_five, [WORKAROUND], toy), toy)  # five files tell nothing


def test_a_measure_that_cannot_see_a_new_order_is_named(toy: MemoryIndex) -> None:
    one, same = evaluate(ALL, [WORKAROUND, WORKAROUND], toy)
    turned = with_traces(same, "order", [each.trace.order[::-1] for each in same.asked])
    assert UNSEEN in kinds([one, turned], toy)
    assert UNSEEN not in kinds([one, turned], toy, "RR")
    assert UNSEEN not in kinds([one, same], toy)


def test_a_difference_that_few_questions_cannot_tell_is_named(toy: MemoryIndex) -> None:
    assert fewest_wins() == 6
    evaluations = evaluate(ALL, [SHIPPED, WORKAROUND], toy)
    assert "too small a sample" in kinds(evaluations, toy)


def test_the_best_of_several_systems_is_chosen_by_its_own_questions(
    kept: CachedIndex, questions: QuestionSet
) -> None:
    limits = [replace(THREE_FIXES.with_stage(Limit(count)), name=f"limit {count}") for count in (1, 2, 3)]
    evaluations = evaluate(questions, limits, kept)
    values = [one.overall.hits for one in evaluations]
    chosen = "chosen and reported by the same questions"
    found = [one for one in warnings_about(evaluations, kept) if one.kind == chosen]
    assert len(set(values)) > 1
    assert all(one.systems == ("limit 3",) for one in found)


# Measures as arguments

MEASURES = ["nDCG@10", "RR", "R@5", "P@5", "Judged@5", "Success@5"]


def test_an_evaluation_has_the_measures_that_are_asked(toy: MemoryIndex) -> None:
    (found,) = evaluate(ALL, [WORKAROUND], toy, MEASURES)
    assert list(found.by_measure) == MEASURES
    assert found.by_measure["RR"] == pytest.approx(found.mrr)
    assert found.as_json()["measures"] == found.by_measure
    assert "measures" not in evaluate(ALL, [WORKAROUND], toy)[0].as_json()
    with pytest.raises(InputError, match="not a measure"):
        evaluate(ALL, [WORKAROUND], toy, ["nDCG@ten"])

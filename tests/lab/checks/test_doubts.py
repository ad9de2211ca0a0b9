"""How measuring lies: each check fires where it should. Measures equal those of TREC's tools."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ir_measures
import numpy as np
import pytest
import pytrec_eval

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.lab.cached_index import CachedIndex
from workbench.lab.checks.doubts import cutoff_of, doubts, fewest_wins
from workbench.lab.evaluation import Evaluation, Judged, evaluate, values
from workbench.lab.paired import known_measure
from workbench.lab.questions import Question, QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.records import Document
from workbench.retrieval.cutoff import Limit
from workbench.systems.openclaw.pipelines import SHIPPED, THREE_FIXES, WORKAROUND


def asked(*pairs: tuple[str, str]) -> QuestionSet:
    return QuestionSet(questions=tuple(Question(question=q, target=f"memory/{t}.md") for q, t in pairs))


ALL = asked(("rooibos tea", "tea"), ("hub and brake", "bike"), ("disk", "server"), ("the server", "server"))


def kinds(evaluations: list[Evaluation], index: Index, measure: Any = "hits") -> list[str]:
    return [one.kind for one in doubts(evaluations, index, measure)]


def test_a_file_with_the_text_of_a_target_is_named(toy: MemoryIndex) -> None:
    class Doubled(CachedIndex):
        def documents(self) -> list[Document]:
            known = list(toy.documents())
            tea = next(one for one in known if one.path == "memory/tea.md")
            return [*known, replace(tea, path="memory/copy.md")]

    index = Doubled(toy)
    (evaluation,) = evaluate(asked(("tea", "tea")), [SHIPPED], index)
    (found,) = [one for one in doubts([evaluation], index) if one.kind == "labels that two files satisfy"]
    assert "memory/copy.md" in str(found)


def test_a_question_with_two_right_files_is_named(toy: MemoryIndex) -> None:
    evaluations = evaluate(asked(("tea", "tea"), ("tea", "bike")), [SHIPPED], toy)
    assert "labels that two files satisfy" in kinds(evaluations, toy)
    assert "labels that two files satisfy" not in kinds(evaluate(ALL, [SHIPPED], toy), toy)


def test_a_cutoff_beyond_the_collection_is_named(toy: MemoryIndex) -> None:
    evaluations = evaluate(ALL, [SHIPPED.with_stage(Limit(2))], toy)
    assert "k larger than the collection" in kinds(evaluations, toy, "nDCG@100")
    assert "k larger than the collection" not in kinds(evaluations, toy, "nDCG@2")
    wide = evaluate(ALL, [SHIPPED.with_stage(Limit(500))], toy)
    assert "k larger than the collection" in kinds(wide, toy)


def test_files_without_a_label_are_counted(toy: MemoryIndex) -> None:
    evaluations = evaluate(ALL, [WORKAROUND], toy)
    (found,) = [one for one in doubts(evaluations, toy) if one.kind == "unjudged files"]
    returned = sum(len(one.trace.paths()) for one in evaluations[0].asked)
    assert found.says.startswith(f"{returned - evaluations[0].overall.hits} of the {returned} files")


def test_hits_that_chunk_ids_decide_are_named(toy: MemoryIndex) -> None:
    evaluations = evaluate(ALL, [WORKAROUND.with_stage(Limit(1))], toy)
    traces = [one.trace for one in evaluations[0].asked]
    level = [{**trace.columns, "score": np.ones(len(trace.chunks))} for trace in traces]
    asked_again = [
        replace(one, trace=replace(one.trace, columns=columns))
        for one, columns in zip(evaluations[0].asked, level, strict=True)
    ]
    tied = replace(evaluations[0], asked=tuple(asked_again))
    assert "ties" in kinds([tied], toy)


def test_a_system_no_better_than_the_order_of_ids_is_named(toy: MemoryIndex) -> None:
    more = asked(*((f"{one.question} {n}", one.target[7:-3]) for one in ALL.questions for n in (1, 2)))
    assert "a constant scorer is as good" in kinds(evaluate(more, [WORKAROUND], toy), toy)
    assert "a constant scorer is as good" not in kinds(evaluate(ALL, [WORKAROUND], toy), toy)


def test_a_measure_that_cannot_see_a_new_order_is_named(toy: MemoryIndex) -> None:
    one, same = evaluate(ALL, [WORKAROUND, WORKAROUND], toy)
    turned = replace(
        same,
        asked=tuple(
            replace(each, trace=replace(each.trace, order=each.trace.order[::-1])) for each in same.asked
        ),
    )
    assert "a measure that cannot see the change" in kinds([one, turned], toy)
    assert "a measure that cannot see the change" not in kinds([one, turned], toy, "RR")
    assert "a measure that cannot see the change" not in kinds([one, same], toy)


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
    found = [
        one for one in doubts(evaluations, kept) if one.kind == "chosen and reported by the same questions"
    ]
    assert len(set(values)) > 1
    assert all(one.systems == ("limit 3",) for one in found)


def test_no_evaluation_has_no_doubt(toy: MemoryIndex) -> None:
    assert doubts([], toy) == []


@pytest.mark.parametrize(("measure", "k"), [("nDCG@10", 10), ("R @ 5", 5), ("RR", None), ("hits", None)])
def test_the_cutoff_of_a_measure_is_read(measure: str, k: int | None) -> None:
    assert cutoff_of(measure) == k


# Measures as arguments

MEASURES = ["nDCG@10", "RR", "R@5", "P@5", "Judged@5", "Success@5"]
TREC = {
    "nDCG@10": "ndcg_cut_10",
    "RR": "recip_rank",
    "R@5": "recall_5",
    "P@5": "P_5",
    "Success@5": "success_5",
}


def test_an_evaluation_has_the_measures_that_are_asked(toy: MemoryIndex) -> None:
    (found,) = evaluate(ALL, [WORKAROUND], toy, MEASURES)
    assert list(found.by_measure) == MEASURES
    assert found.by_measure["RR"] == pytest.approx(found.mrr)
    assert found.as_json()["measures"] == found.by_measure
    assert "measures" not in evaluate(ALL, [WORKAROUND], toy)[0].as_json()


def test_an_unknown_measure_is_refused_before_anything_runs(toy: MemoryIndex) -> None:
    with pytest.raises(InputError, match="not a measure"):
        evaluate(ALL, [WORKAROUND], toy, ["nDCG@ten"])


def generated(seed: int = 3, count: int = 60) -> list[Judged]:
    """Answers of 0 to 20 files with 1 to 5 right ones, as a TREC run has them."""
    random = np.random.default_rng(seed)
    files = [f"d{place}" for place in range(40)]
    made = []
    for _ in range(count):
        returned = random.permutation(files)[: random.integers(1, 21)].tolist()
        made.append(Judged(returned, random.choice(files, random.integers(1, 6), replace=False).tolist()))
    return made


@pytest.mark.parametrize("measure", MEASURES)
def test_measures_equal_those_of_ir_measures_and_pytrec_eval_on_a_trec_run(
    measure: str, tmp_path: Any
) -> None:
    judged = generated()
    run, qrels = tmp_path / "run.txt", tmp_path / "qrels.txt"
    run.write_text(
        "".join(
            f"q{i} Q0 {name} {place + 1} {100 - place} ours\n"
            for i, one in enumerate(judged)
            for place, name in enumerate(one.returned)
        )
    )
    qrels.write_text("".join(f"q{i} 0 {name} 1\n" for i, one in enumerate(judged) for name in one.truth))
    ours = values(judged, known_measure(measure))
    parsed = ir_measures.parse_measure(measure)
    read = ir_measures.read_trec_qrels(str(qrels)), ir_measures.read_trec_run(str(run))
    theirs = {one.query_id: one.value for one in ir_measures.iter_calc([parsed], *map(list, read))}
    assert ours == pytest.approx([theirs[f"q{i}"] for i in range(len(judged))], abs=1e-9)
    if measure in TREC:
        with qrels.open() as truth, run.open() as answers:
            name = TREC[measure]
            evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(truth), {name})
            trec = evaluator.evaluate(pytrec_eval.parse_run(answers))
        assert ours == pytest.approx([trec[f"q{i}"][name] for i in range(len(judged))], abs=1e-9)

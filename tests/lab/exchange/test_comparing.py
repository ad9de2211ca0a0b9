"""Runs of other engines are compared, linted and blamed as ours are; a Recorder stands in the same tables."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests import world
from workbench.errors import InputError
from workbench.measure.evaluation import evaluate
from workbench.measure.paired import paired
from workbench.measure.questions import Control, Question, QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench_plugins.engines.museum import SPECIMENS
from workbench_plugins.runs.comparing import compare, gate, missing_documents, values_of
from workbench_plugins.runs.linting import TOLD, lint
from workbench_plugins.runs.recorder import NoMemory, Recorder, run_of
from workbench_plugins.runs.run_files import read_json, read_run, write_json
from workbench_plugins.runs.runs import Run, ids_of, truth_of_qrels, truth_of_questions

ASKED = QuestionSet(
    questions=tuple(
        Question(question=text, target=target)
        for text, target in (
            ("rooibos tea", "memory/tea.md"),
            ("rear hub of the bike", "memory/bike.md"),
            ("backup of the server", "memory/server.md"),
        )
    ),
    controls=(Control(question="volcano"),),
)


def run(**answers: list[tuple[str, float]] | list[tuple[str, float, dict[str, float]]]) -> Run:
    collected = Run("theirs")
    for question, answer in answers.items():
        collected.question(question)
        for id_, score, *parts in answer:
            collected.add(question, id_, score, parts=parts[0] if parts else None)
    return collected


@pytest.fixture
def shipped() -> Pipeline:
    return wb.system("openclaw-2026.2.13")


def test_a_recorder_is_short_and_stands_beside_our_systems(toy: MemoryIndex, shipped: Pipeline) -> None:
    theirs = Recorder(lambda question: [(f"memory/{question.split()[-1]}.md", 0.9)], "theirs").pipeline()
    mine, ours = evaluate(ASKED, [theirs, shipped], toy)
    assert mine.overall.hits == 3
    assert mine.mrr == 1.0
    assert mine.silent.hits == 0
    assert paired(mine, ours).n == 3
    told = wb.explain(mine.asked[0].trace, toy, "memory/tea.md")
    assert told.fate == "returned"
    assert wb.explain(mine.asked[0].trace, toy, "memory/bike.md").fate == "listed by no leg"


def test_a_recorder_needs_no_memory_and_refuses_what_is_not_a_result() -> None:
    pipeline = Recorder(lambda _: [("a", 2.0), ("b", 1.0), ("a", 0.5)]).pipeline(limit=1)
    trace = search("tea", pipeline, NoMemory())
    assert [(one.chunk.path, one.score) for one in trace.results] == [("a", 2.0)]
    assert np.array_equal(trace.scores, [2.0, 1.0])
    assert search("tea", Recorder(lambda _: []).pipeline(), NoMemory()).results == []
    wrong: Any = lambda _: ["only an id"]  # noqa: E731
    with pytest.raises(InputError, match="does not return"):
        search("tea", Recorder(wrong).pipeline(), NoMemory())


def test_our_run_has_the_files_and_sub_scores_of_the_pipeline(toy: MemoryIndex, shipped: Pipeline) -> None:
    made = run_of(shipped, ids_of(ASKED), toy)
    for id_, text in ids_of(ASKED).items():
        assert made.returned(id_) == search(text, shipped, toy).paths()
    assert set(made.parts) == {"vector", "keyword"}


def test_runs_are_compared_by_hits_and_by_measures_with_grades() -> None:
    truth = truth_of_qrels({"1": {"a": 2, "b": 1}, "2": {"c": 1}, "3": {"x": 0}})
    one, other = run(**{"1": [("a", 1.0)], "2": [("x", 1.0)]}), run(**{"1": [("b", 1.0)], "2": [("c", 1.0)]})
    assert values_of(one, truth).tolist() == [1, 0]
    assert values_of(one, truth, "nDCG@10")[0] > values_of(other, truth, "nDCG@10")[0]
    found = compare([one, other], truth)
    assert [(each.hits, each.silent) for each in found.scored] == [(1, 1), (2, 1)]
    assert [(flip.question, flip.gained) for flip in found.flips] == [("2", True)]
    assert not found.verdicts[0].differs


def test_a_run_without_the_questions_is_refused_and_one_that_lacks_some_is_remarked() -> None:
    truth = truth_of_questions(ASKED)
    with pytest.raises(InputError, match="none of the judged questions"):
        compare([run(z=[("a", 1.0)])], truth)
    found = compare([run(q1=[("memory/tea.md", 1.0)])], truth)
    assert "3 of the questions" in found.remarks[0]


def test_a_missing_document_is_found_in_our_legs(toy: MemoryIndex, shipped: Pipeline) -> None:
    theirs = run(
        q1=[("memory/plain.md", 1.0), ("memory/tea.md", 0.5)],
        q2=[("memory/bike.md", 1.0)],
        q3=[("memory/plain.md", 1.0)],
    )
    found = missing_documents(theirs, truth_of_questions(ASKED), 1, toy, shipped)
    assert [(one.question, one.position, one.instead) for one in found] == [
        ("q1", 2, "memory/plain.md"),
        ("q3", None, "memory/plain.md"),
    ]
    ours = found[1].ours
    assert ours is not None
    assert ours.legs["vector"]["rank"] == 1


def kinds(made: Run, **options: Any) -> set[str]:
    return {one.kind for one in lint(made, **options)}


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("constant scores", [("a", 1.0), ("b", 1.0)]),
        ("score against rank", [("a", 0.1), ("b", 0.9)]),
        ("ties", [("a", 0.9), ("b", 0.5), ("c", 0.5)]),
        ("duplicate ids", [("a", 0.9), ("a", 0.5)]),
        ("absent scores", [("a", 0.9), ("b", float("nan"))]),
        ("infinite scores", [("a", float("inf")), ("b", 0.5)]),
    ],
)
def test_a_planted_fault_is_found_and_a_clean_run_is_not_accused(
    kind: str, answer: list[tuple[str, float]]
) -> None:
    clean = [("a", 0.9), ("b", 0.5)]
    assert kinds(run(q1=clean)) == set()
    assert kinds(run(q1=answer)) == {kind}
    (finding,) = [one for one in lint(run(q1=clean, q2=answer)) if one.kind == kind]
    assert (finding.questions, "'q2'" in finding.first) == (1, True)


def test_a_run_of_infinite_scores_alone_is_told_of_without_a_warning() -> None:
    endless = float("inf")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "infinite scores" in kinds(run(q1=[("a", endless), ("b", endless), ("c", -endless)]))


def test_a_fault_by_rank_names_its_line_where_the_file_has_another_order(tmp_path: Path) -> None:
    file = tmp_path / "run.trec"
    file.write_text(
        "q1 Q0 low 4 0.1 me\nq1 Q0 mid 3 0.2 me\nq1 Q0 a 1 0.9 me\nq1 Q0 b 2 0.9 me\n", encoding="utf-8"
    )
    found = {one.kind: one.first for one in lint(read_run(file), limit=2)}
    assert found == {
        "ties": "question 'q1', line 4: b (0.9)",
        "limit": "question 'q1', line 2: mid (0.2)",
    }


def test_the_scale_the_limit_and_ranks_are_checked() -> None:
    assert kinds(run(q1=[("a", 0.9), ("b", 0.5)]), scale=(0.6, 1)) == {"scores out of scale"}
    many = [(str(i), 1 - i / 100) for i in range(30)]
    assert kinds(run(q1=[("z", 1.4), *many])) == {"scores out of scale"}
    assert kinds(run(q1=many), limit=10) == {"limit"}
    collected = Run("theirs")
    collected.question("q1")
    collected.add("q1", "a", 0.9, rank=1)
    collected.add("q1", "b", 0.5, rank=4)
    assert kinds(collected) == {"ranks"}


def test_patterns_over_all_questions_are_found() -> None:
    same = {f"q{i}": [("a", 1.0), (f"b{i}", 0.5 + i / 100)] for i in range(4)}
    assert kinds(run(**same)) == {"constant best score"}
    ranks = {f"q{i}": [("a", 1 / (61 + i)), ("b", 1 / (70 + i))] for i in range(4)}
    assert kinds(run(**ranks)) == {"scores of ranks"}
    high, low = ({"vector": one, "keyword": 0.0} for one in (0.9, 0.5))
    dead = {f"q{i}": [("a", 0.9 + i / 100, high), ("b", 0.5, low)] for i in range(4)}
    assert kinds(run(**dead)) == {"sub-score without effect", "one sub-score decides"}


def test_the_inverse_rank_that_the_docs_advise_is_not_blamed() -> None:
    assert kinds(run(**{f"q{i}": [("a", 1.0), ("b", 1 / 2), ("c", 1 / 3)] for i in range(4)})) == set()


@pytest.mark.parametrize("measure", ["nDCG@0", "P@0", "RR@0", "R@99999999999", "nDCG@-1"])
def test_a_cutoff_that_would_end_the_process_is_refused(measure: str) -> None:
    with pytest.raises(InputError, match="is not a measure"):
        compare([run(q=[("a", 1.0)])], truth_of_qrels({"q": {"a": 1}}), measure)


def test_every_specimen_that_a_finding_names_is_in_the_museum() -> None:
    assert {name for one in TOLD.values() for name in one.get("specimens", ())} <= set(SPECIMENS)


def gated(toy: MemoryIndex, saved: Run, pipeline: Pipeline, asked: QuestionSet = ASKED) -> Any:
    today = run_of(pipeline, ids_of(asked), toy)
    return gate(saved, today, truth_of_questions(asked), toy, pipeline)


def test_a_gate_passes_on_the_same_answers_and_fails_on_a_fall(tmp_path: Path) -> None:
    names = "abcdefgh"
    questions = [
        Question(question=f"{word} {name}", target=f"memory/{name}.md") for name in names for word in "xy"
    ]
    many = QuestionSet(questions=tuple(questions), controls=ASKED.controls)
    good = Recorder(lambda question: [(f"memory/{question.split()[-1]}.md", 0.9)]).pipeline()
    bad = Recorder(lambda _: []).pipeline()
    with world.build(
        tmp_path, {f"memory/{name}.md": f"A note {name} about tea.\n" for name in names}
    ) as index:
        file = tmp_path / "saved.jsonl"
        write_json(run_of(good, ids_of(many), index), file)
        saved = read_json(file)
        same = gated(index, saved, good, many)
        assert same.passes
        assert not same.flipped
        fallen = gated(index, saved, bad, many)
        assert [one.measure for one in fallen.falls] == ["hits", "RR"]
        assert len(fallen.flipped) == 16
        assert all(one.lost and one.ours for one in fallen.flipped)
        assert [one.lost for one in fallen.controls] == [False]
        few = QuestionSet(questions=tuple(questions[:8]), controls=ASKED.controls)
        assert gated(index, run_of(good, ids_of(few), index), bad, few).passes  # eight questions, four files


def test_a_gate_refuses_other_questions(toy: MemoryIndex) -> None:
    pipeline = Recorder(lambda _: []).pipeline()
    fewer = QuestionSet(questions=ASKED.questions[:2], controls=ASKED.controls)
    with pytest.raises(InputError, match="1 gone, 0 new"):
        gated(toy, run_of(pipeline, ids_of(ASKED), toy), pipeline, fewer)


def test_the_depth_of_a_run_is_its_longest_answer() -> None:
    made = run(one=[("a", 1.0)], two=[("a", 2.0), ("b", 1.0), ("c", 0.5)])
    assert made.depth == 3
    assert Run("empty").depth == 0


@pytest.mark.parametrize(("right", "told"), [(["a"], "about 1 file"), (["a", "b"], "about 1 topic")])
def test_questions_with_the_same_right_documents_are_one_unit(right: list[str], told: str) -> None:
    truth = truth_of_qrels({question: dict.fromkeys(right, 1) for question in ("q1", "q2")})
    found = compare([run(q1=[("x", 1.0)], q2=[("x", 1.0)]), run(q1=[("a", 1.0)], q2=[("a", 1.0)])], truth)
    assert told in str(found.verdicts[0])

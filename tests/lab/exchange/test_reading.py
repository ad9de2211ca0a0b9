"""Runs of every known form are read alike, and what cannot be read is named with its line."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ir_measures import RR

from benchmarks.importing import write
from workbench.errors import InputError
from workbench_plugins.runs import run_files
from workbench_plugins.runs.run_files import (
    read_qrels,
    read_run,
    read_topics,
    read_trec,
    write_json,
    write_qrels,
    write_trec,
)
from workbench_plugins.runs.runs import Run

ENGINES = json.loads(Path(__file__).with_name("engines.json").read_text(encoding="utf-8"))
"""A response of each engine, or one result of it."""
EXPLAINED = ENGINES["opensearch"]
OF_QMD = {"keyword": 0.907, "vector": 0.54, "rrf": 0.173, "rerank": 0.5}


def as_file(folder: Path, *records: Any) -> Path:
    file = folder / "engine.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("result", "id_", "score", "parts"),
    [
        (EXPLAINED["hits"]["hits"][0], "1", 0.925, {"keyword": 1.0, "vector": 0.85}),
        (ENGINES["elasticsearch"]["hits"]["hits"][0], "doc_2", 0.0325, {"query 0_rank": 3.0}),
        (ENGINES["qmd"], "memory/horse.md", 0.89, OF_QMD),
        (ENGINES["langchain"], "memory/horse.md", 0.81, {}),
        (ENGINES["llamaindex"], "memory/horse.md", 0.7, {}),
        ({"id": 7, "score": "0.5", "scores": {"bm25": 3}}, "7", 0.5, {"bm25": 3.0}),
        (["memory/horse.md", 0.25], "memory/horse.md", 0.25, {}),
    ],
    ids=["opensearch", "elasticsearch", "qmd", "langchain", "llamaindex", "plain", "pair"],
)
def test_a_result_of_an_engine_is_read_with_its_sub_scores(
    tmp_path: Path, result: Any, id_: str, score: float, parts: dict[str, float]
) -> None:
    run = read_run(as_file(tmp_path, {"question": "a horse", "results": [result]}))
    ranking = run.ranking("a horse")
    assert (ranking.ids, ranking.scores.tolist()) == ((id_,), [score])
    assert {name: column.tolist() for name, column in ranking.parts.items()} == {
        name: [value] for name, value in parts.items()
    }


def test_a_whole_response_is_read_and_its_id_field_may_be_named(tmp_path: Path) -> None:
    file = as_file(tmp_path, {"qid": "q1", "question": "a horse", "response": EXPLAINED})
    assert read_run(file, id_field="_source.path").returned("q1") == ["memory/horse.md"]
    assert read_run(file).texts == {"q1": "a horse"}
    file.write_text(json.dumps([{"qid": 1, "results": ["a", "b"]}, {"qid": 2, "results": []}], indent=2))
    assert [read_run(file).returned(one) for one in ("1", "2")] == [["a", "b"], []]


def test_trec_orders_by_score_and_other_runs_by_their_own_order(tmp_path: Path) -> None:
    file = tmp_path / "run.trec"
    file.write_text("1 Q0 b 1 0.5 me\n1 Q0 c 2 0.9 me\n\n1 Q0 a 3 0.5 me\n")
    assert read_run(file).returned("1") == ["c", "b", "a"]
    json_file = as_file(tmp_path, {"qid": "1", "results": [["b", 0.5], ["c", 0.9], ["b", 0.1]]})
    assert read_run(json_file).answer("1") == [("b", 0.5), ("c", 0.9)]


@given(
    st.lists(st.sampled_from([0.5, 0.50000000001, 0.9, -1.0, 1e60]), min_size=1, max_size=9), st.integers(0)
)
def test_a_trec_run_is_ordered_as_trec_eval_does_it(
    tmp_path_factory: pytest.TempPathFactory, scores: list[float], right: int
) -> None:
    file = tmp_path_factory.mktemp("trec") / "run.trec"
    ids = [f"{'é' * (row % 2)}d{row}" for row in range(len(scores))]
    pairs = list(zip(ids, scores, strict=True))
    file.write_text("".join(f"1 Q0 {id_} 1 {score!r} me\n" for id_, score in pairs), encoding="utf-8")
    wanted = ids[right % len(ids)]
    given_run = [ir_measures.ScoredDoc("1", *pair) for pair in pairs]
    theirs = ir_measures.calc_aggregate([RR], [ir_measures.Qrel("1", wanted, 1)], given_run)[RR]
    assert 1 / (read_run(file).returned("1").index(wanted) + 1) == pytest.approx(theirs)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1 Q0 a 1 0.5 me\n1 Q0 b 2\n", "line 2 has 4 fields, not 6"),
        ("1 Q0 a 1 high me\n", "line 1: rank '1' or score 'high' is not a number"),
        ("", "is empty"),
        ('{"question": "a", "results": []}\n{"question": "b"\n', "line 2 is not JSON"),
        ('{"question": "a", "results": [{"score": 1}]}\n', "line 1: result 1: a result has no id"),
        ('{"qid": 1, "results": [{"id": "x", "score": "much"}]}\n', "the score 'much' is not a number"),
        ('{"question": "a"}\n', "line 1: there is no list of results"),
        ('{"results": []}\n', "line 1: the question of these results is not named"),
        ('{"qid": 1, "results": []}\n{"qid": 1, "results": []}\n', "line 2: the question '1' is there twice"),
        ("[1, 2]\n", "is not an object with a question"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "run"
    file.write_text(text)
    with pytest.raises(InputError, match=problem.replace("[", r"\[")) as raised:
        read_run(file)
    assert str(file) in raised.value.problem
    file.write_bytes(b"1 Q0 \xff 1 0.5 me\n")
    with pytest.raises(InputError, match="not UTF-8"):
        read_run(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_run(tmp_path / "gone")


NAMES = st.text("abcdefgh/._-é", min_size=1, max_size=8)
SCORES = st.floats(-1e6, 1e6, allow_nan=False)


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, SCORES, min_size=1, max_size=5), min_size=1, max_size=5))
@example({"q1": {"a": 0.50000000001, "b": 0.5}})  # equal in single precision
def test_a_run_comes_back_from_both_forms(tmp_path_factory: pytest.TempPathFactory, made: Any) -> None:
    collected = Run("me")
    for question, answer in made.items():
        collected.question(question)
        for id_, score in sorted(answer.items(), key=lambda pair: (-pair[1], pair[0])):
            collected.add(question, id_, score)
    run, folder = collected, tmp_path_factory.mktemp("runs")
    write_json(run, folder / "a.jsonl")
    write_trec(run, folder / "a.trec")
    for back in (read_run(folder / "a.jsonl"), read_run(folder / "a.trec")):
        assert {one: back.returned(one) for one in back.rows} == {one: run.returned(one) for one in run.rows}


def test_qrels_of_trec_and_beir_are_read_alike_and_topics_need_a_tab(tmp_path: Path) -> None:
    trec, beir = tmp_path / "qrels.txt", tmp_path / "test.tsv"
    write_qrels({"1": {"a": 2, "b": 0}}, trec)
    beir.write_text("query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n")
    assert read_qrels(trec) == read_qrels(beir) == {"1": {"a": 2, "b": 0}}
    trec.write_text("1 0 a 1\n1 0 a 2\n")
    with pytest.raises(InputError, match="line 2: a has two grades"):
        read_qrels(trec)
    trec.write_text("1 0 a 1\nno judgement\n")
    with pytest.raises(InputError, match="line 2"):
        read_qrels(trec)
    with pytest.raises(InputError, match="blanks"):
        write_qrels({"two words": {"a": 1}}, trec, force=True)
    beir.write_text("q1\twhat is tea\n")
    assert read_topics(beir) == {"q1": "what is tea"}
    beir.write_text("q1 what is tea\n")
    with pytest.raises(InputError, match="line 1 has no tab"):
        read_topics(beir)


def test_a_run_in_lines_takes_no_more_memory_than_its_file(tmp_path: Path) -> None:
    file = tmp_path / "large.jsonl"
    names = [f"memory/notes/of/the/year/{number}.md" for number in range(500)]
    with file.open("w") as out:
        for number in range(30):
            results = [
                {"id": name, "score": 0.5, "scores": {"vector": 0.7, "keyword": 0.1}} for name in names
            ]
            out.write(json.dumps({"qid": number, "results": results}) + "\n")
    tracemalloc.start()
    run = read_run(file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(run.ids) == 15_000
    assert peak < file.stat().st_size


def test_a_line_and_a_document_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_files, "LONGEST_LINE", 1000)
    monkeypatch.setattr(run_files, "LARGEST_DOCUMENT", 1000)
    file = tmp_path / "run.jsonl"
    for text, problem in (("1 " * 2000, "line 1 has more than"), ("[\n" + "1,\n" * 1000, "more than 1,000")):
        file.write_text(text)
        with pytest.raises(InputError, match=problem):
            read_run(file)


def test_the_benchmark_reads_every_line_that_it_writes(tmp_path: Path) -> None:
    write(tmp_path / "run.trec", 20, 30)
    run: Run = read_trec(tmp_path / "run.trec")
    assert (len(run.rows), len(run.ids), run.depth) == (20, 600, 30)
    assert run.lines.tolist() == list(range(1, 601))
    assert min(run.scores) > 0
    assert max(run.ranks) == 30


@pytest.mark.parametrize("details", [5, "x", {"a": 1}, [5, None], None])
def test_odd_details_of_an_explanation_are_left_out(details: Any, tmp_path: Path) -> None:
    hit = {"_id": "a", "_score": 1.0, "_explanation": {"description": "combination of", "details": details}}
    run = read_run(as_file(tmp_path, {"id": "q", "question": "tea", "hits": {"hits": [hit]}}))
    assert run.ranking("q").parts == {}

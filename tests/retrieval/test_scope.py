"""A filter and the candidates of the legs: which comes first decides what is found, and what is said."""

from __future__ import annotations

import re
from typing import Any

import apsw
import numpy as np
import psycopg
import pytest
import sqlite_vec

from workbench.errors import InputError
from workbench.measure.evaluation import evaluate
from workbench.measure.losses import OUTSIDE, losses_by_stage
from workbench.measure.missed import survival
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.records import Fate
from workbench.retrieval.explain import explain
from workbench.retrieval.legs import Union
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.scope import EVERYTHING, Scope, scope
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.findings import lint, lint_on
from workbench_plugins.diagnose.repairs import repairs
from workbench_plugins.engines.museum import SmallSearch, specimen

PLACES = ("memory/2026", "notes/")
SENTENCE = re.compile(r"its first (\d+) chunks?, (\d+) of them in .*?, and this one has rank (\d+)")
SCOPES = [scope(3, PLACES), scope(5, PLACES, 12), scope(3, PLACES, EVERYTHING), scope(40, PLACES, 7)]


def scoped(one: Scope, name: str = "engine-rrf-60") -> Pipeline:
    return SYSTEMS[name].with_new_stage(one, before=Union.slot)


@pytest.mark.parametrize("count", [0, -1, 0.5, np.nan, np.inf, True, "3"])
def test_what_is_no_number_of_chunks_is_refused(count: Any) -> None:
    with pytest.raises(InputError, match=r"k of the scope is .*, which is no number of chunks") as refused:
        scope(count, "x/")
    assert "from 1 to 1,000,000" in refused.value.remedy
    with pytest.raises(InputError, match="breadth of the scope is"):
        scope(3, "x/", count)


def small() -> SmallSearch:
    answer = specimen("qmd-filter-after-top-k").sides.shipped.answer
    assert isinstance(answer, SmallSearch)
    return answer


@pytest.mark.parametrize("one", SCOPES, ids=lambda one: one.description)
def test_each_leg_brings_the_first_k_that_pass_of_as_many_as_it_looks_at(
    one: Scope, sample: MemoryIndex, questions: QuestionSet
) -> None:
    for asked in questions.questions[:6]:
        trace = search(asked.question, scoped(one), sample)
        every = sample.vector(sample.embed(asked.question), sample.size).rows.tolist()
        seen = every[: int(one.breadth)]
        paths = {row: chunk.path for row, chunk in zip(seen, sample.chunks(np.array(seen)), strict=True)}
        wanted = [row for row in seen if paths[row].startswith(PLACES)][: int(one.k)]
        leg = trace.legs["vector"]
        assert leg.hits.rows.tolist() == wanted
        assert all(chunk.path.startswith(PLACES) for chunk in trace.chunks)
        # The leg stops at the last one that it needs.
        assert seen[: leg.depth][-1:] == (wanted[-1:] if len(wanted) == one.k else seen[-1:])


@pytest.mark.parametrize("one", SCOPES, ids=lambda one: one.description)
def test_every_file_gets_the_fate_and_the_ranks_that_it_has(
    one: Scope, sample: MemoryIndex, questions: QuestionSet
) -> None:
    for asked in questions.questions[:3]:
        trace = search(asked.question, scoped(one), sample)
        brought = {chunk.id for chunk in trace.chunks}
        for path in sample.store.stamps():
            found = explain(trace, sample, path)
            inside = path.startswith(PLACES)
            assert inside or found.fate is Fate.FILTERED
            for verdict in found.verdicts:
                assert any(rank.brought for rank in verdict.leg_ranks) == (verdict.chunk.id in brought)
            if found.fate is Fate.BEYOND_POOL:
                numbers = SENTENCE.findall(found.headline)
                assert numbers
                assert all(int(rank) > int(depth) >= int(passing) for depth, passing, rank in numbers)


def test_the_stages_that_lose_files_are_named(sample: MemoryIndex, questions: QuestionSet) -> None:
    evaluation, whole = evaluate(questions, [scoped(SCOPES[0]), SYSTEMS["engine-rrf-60"]], sample)
    losses = losses_by_stage(evaluation, sample)
    outside = {one.target for one in questions.questions if not one.target.startswith(PLACES)}
    (row,) = [one for one in losses.losses if one.stage == OUTSIDE]
    assert {one.target for one in row.questions} == outside
    assert len(survival(evaluation, sample).survivors) == len(questions.questions)
    assert OUTSIDE not in [one.stage for one in losses_by_stage(whole, sample).losses]


def test_lint_says_how_many_are_looked_at_and_nothing_of_a_filter_that_is_first() -> None:
    with small().opened() as index:
        late, first = (
            small().pipeline.with_stage(scope(3, "notes/", breadth)) for breadth in (3, EVERYTHING)
        )
        (static,) = lint(late)
        assert (static.kind, static.arithmetic) == ("a filter after the cut", "3 wanted, 3 looked at")
        (found,) = [one for one in lint_on(late, index, ["cup"]) if one.kind == static.kind]
        assert found.arithmetic == "1 of 1 questions, 0 of 3 at the least"
        assert not [one for one in (*lint(first), *lint_on(first, index, ["cup"])) if one.kind == static.kind]


def test_a_diagnosis_names_the_scope_and_never_takes_it_away() -> None:
    with small().opened() as index:
        found = diagnose("cup", small().pipeline, index, "notes/wanted.md")
        assert found.causes[0].where == ("scope",)
        assert {fix.setting for fix in found.fixes} >= {"scope.breadth"}
        assert not [fix for fix in found.fixes if "scope=none" in fix.settings]
        told = "\n".join(map(str, found.view()))
        assert "0 of them in notes/" in found.explanation.headline
        assert "hnsw.iterative_scan" in told
    scopes = [edit for one in repairs(small().pipeline) for edit in one.edits if edit.slot == Scope.slot]
    assert scopes
    assert all(isinstance(edit.content, Scope) for edit in scopes)


# What is said of engines, in the engines that are here

TEN = [(number, "notes" if number > 6 else "chats") for number in range(1, 11)]
"""Ten rows; the four of the notes are the furthest from the question."""


def test_sqlite_vec_filters_a_join_after_k_and_ids_partitions_and_columns_before() -> None:
    db = apsw.Connection(":memory:")
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    db.execute("CREATE VIRTUAL TABLE near USING vec0(folder TEXT PARTITION KEY, place TEXT, v FLOAT[2])")
    db.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, folder TEXT)")
    db.executemany("INSERT INTO notes VALUES (?, ?)", TEN)
    vector = sqlite_vec.serialize_float32
    db.executemany(
        "INSERT INTO near (rowid, folder, place, v) VALUES (?, ?, ?, ?)",
        [(number, folder, folder, vector([number, 0.0])) for number, folder in TEN],
    )
    asked = "SELECT near.rowid FROM near {} WHERE v MATCH ? AND k = 3 AND {}"
    for join, condition, count in (
        ("JOIN notes ON notes.id = near.rowid", "notes.folder = 'notes'", 0),
        ("", "near.rowid IN (SELECT id FROM notes WHERE folder = 'notes')", 3),
        ("", "near.folder = 'notes'", 3),
        ("", "near.place = 'notes'", 3),
    ):
        found = db.execute(asked.format(join, condition), [vector([0.0, 0.0])]).fetchall()
        assert len(found) == count, condition
    assert db.execute("SELECT vec_version()").fetchone() == ("v0.1.9",)


def test_pgvector_filters_after_ef_search_unless_it_scans_on(postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        db.execute("CREATE TEMPORARY TABLE near (id int, folder text, v vector(2))")
        db.execute(
            "INSERT INTO near SELECT n, CASE WHEN n > 300 THEN 'notes' ELSE 'chats' END, "
            "ARRAY[n, 1]::vector FROM generate_series(1, 320) n"
        )
        db.execute("CREATE INDEX ON near USING hnsw (v vector_l2_ops)")
        db.execute("SET enable_seqscan = off")
        asked = "SELECT id FROM near WHERE folder = 'notes' ORDER BY v <-> '[0,1]' LIMIT 3"
        assert db.execute(asked).fetchall() == []
        db.execute("SET hnsw.iterative_scan = strict_order")
        assert [row[0] for row in db.execute(asked)] == [301, 302, 303]


def test_qdrant_finds_the_nearest_of_those_that_pass_a_query_filter() -> None:
    pytest.importorskip("qdrant_client")
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    client.create_collection("near", models.VectorParams(size=2, distance=models.Distance.EUCLID))
    points = [models.PointStruct(id=n, vector=[n, 0.0], payload={"folder": folder}) for n, folder in TEN]
    client.upsert("near", points)
    only = models.FieldCondition(key="folder", match=models.MatchValue(value="notes"))
    found = client.query_points("near", [0.0, 0.0], query_filter=models.Filter(must=[only]), limit=3)
    assert [one.id for one in found.points] == [7, 8, 9]

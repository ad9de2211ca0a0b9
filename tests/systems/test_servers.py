"""Searches on servers: equal to the SQL and the rankers that they stand for, and each one is explained.

The sample memory is in a real PostgreSQL and in Milvus, with the vectors of its SQLite index.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psycopg
import pytest
from pgvector.psycopg import register_vector
from pymilvus import AnnSearchRequest, RRFRanker, WeightedRanker

import workbench as wb
from tests import world
from tests.conftest import SAMPLE
from tests.milvus import fresh_name, locks_in, written_out
from tests.postgres import fresh_schema
from tests.stored_embedder import StoredEmbedder
from workbench.errors import InputError
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import search
from workbench.retrieval.query import unicode_words
from workbench.systems.catalogue import ON_A_SERVER, SYSTEMS
from workbench_plugins.stores.milvus import MilvusStore
from workbench_plugins.stores.postgres import parse

RRF_SQL = Path(__file__).with_name("pgvector_rrf.sql").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def address(postgres: str) -> str:
    return fresh_schema(postgres)


def indexed(address: str, sample: MemoryIndex, cache: Path) -> Iterator[MemoryIndex]:
    """The sample memory at that address, with the vectors of its SQLite index."""
    with locks_in(cache):
        index_folder(SAMPLE, StoredEmbedder(sample), options=Options(store=address))
    with wb.open(address, StoredEmbedder(sample)) as index:
        assert isinstance(index, MemoryIndex)
        yield index


@pytest.fixture(scope="module")
def served(
    address: str, sample: MemoryIndex, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MemoryIndex]:
    yield from indexed(address, sample, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def in_milvus(
    milvus: str, sample: MemoryIndex, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MemoryIndex]:
    for index in indexed(fresh_name(milvus), sample, tmp_path_factory.mktemp("cache")):
        written_out(index)
        yield index


@pytest.fixture(scope="module")
def asked(questions: QuestionSet) -> list[str]:
    return [one.question for one in questions.questions[::6]]


def test_the_sql_gives_what_its_pipeline_gives(served: MemoryIndex, address: str, asked: list[str]) -> None:
    of = parse(address)
    with psycopg.connect(of.conninfo, autocommit=True) as db:
        register_vector(db)
        db.execute(f"SET search_path = {of.schema}, public".encode())
        for question in [*asked, "disk backup", "the rear hub"]:
            values = {"vector": served.embed(question), "question": question}
            theirs = db.execute(RRF_SQL.encode(), values).fetchall()
            ours = search(question, wb.system("pgvector-rrf"), served).results
            assert [one.chunk.id for one in ours] == [key for key, _ in theirs]
            assert np.allclose([one.score for one in ours], [score for _, score in theirs], atol=1e-9)


def test_a_sentence_has_a_dead_keyword_leg_and_or_revives_it(served: MemoryIndex, asked: list[str]) -> None:
    shipped = [search(one, wb.system("pgvector-rrf"), served) for one in asked]
    repaired = [search(one, wb.system("pgvector-rrf+or"), served) for one in asked]
    assert sum(trace.legs["keyword"].hits.rows.size == 0 for trace in shipped) >= len(asked) - 2
    assert all(trace.legs["keyword"].hits.rows.size for trace in repaired)


def test_what_a_chunk_is_said_to_lack_the_server_does_not_find_in_it(
    served: MemoryIndex, asked: list[str], address: str
) -> None:
    of = parse(address)
    with psycopg.connect(of.conninfo, autocommit=True) as db:
        db.execute(f"SET search_path = {of.schema}, public".encode())
        for question in asked:
            trace = search(question, wb.system("pgvector-rrf"), served)
            target = trace.chunks[0].path
            for verdict in explain(trace, served, target).verdicts:
                [keyword] = [one for one in verdict.leg_ranks if one.leg == "keyword"]
                for word in keyword.missing:
                    found = db.execute(
                        "SELECT to_tsvector('english', text) @@ plainto_tsquery('english', %s) "
                        "FROM chunks WHERE key = %s",
                        (word, verdict.chunk.id),
                    ).fetchone()
                    assert found == (False,)
                    stop = db.execute("SELECT numnode(plainto_tsquery('english', %s))", (word,)).fetchone()
                    assert stop != (0,), f"{word} is a stop word, which excludes nothing"


def test_langchains_rank_fusion_puts_the_farthest_vector_hit_first(served: MemoryIndex) -> None:
    question = "how should I evaluate if a claim is actually true"
    trace = search(question, wb.system("langchain-pgvector-rrf"), served)
    assert trace.legs["keyword"].hits.rows.size == 0
    vector = [one.id for one in served.chunks(trace.legs["vector"].hits.rows)]
    assert [one.chunk.id for one in trace.results] == vector[::-1]
    summed = search(question, wb.system("langchain-pgvector"), served)
    assert [one.chunk.id for one in summed.results] == vector


def test_basic_memory_on_postgresql_stems_and_relaxes(postgres: str, tmp_path: Path) -> None:
    notes = {"memory/a.md": "The painters were painting walls.", "memory/b.md": "A boat sails."}
    root = world.write(tmp_path / "notes", notes)
    address = fresh_schema(postgres)
    index_folder(root, world.EMBEDDER, options=Options(store=address))
    with wb.open(address, world.EMBEDDER) as index:
        found = search("Who painted it?", wb.system("bm-pg-994-gated"), index).legs["keyword"].hits
        assert [one.path for one in index.chunks(index.rows_of("memory/a.md"))] == ["memory/a.md"]
        assert found.rows.size == 1
        relaxed = search("which boat painter waits", wb.system("bm-pg-994-ungated"), index)
        assert any("relaxed" in note for note in relaxed.notes)
        assert relaxed.legs["keyword"].hits.rows.size == 2


@pytest.mark.parametrize(
    ("name", "ranker"), [("milvus-rrf", RRFRanker(60)), ("milvus-weighted", WeightedRanker(0.5, 0.5))]
)
def test_a_ranker_of_milvus_gives_what_our_pipeline_gives(
    in_milvus: MemoryIndex, questions: QuestionSet, name: str, ranker: object
) -> None:
    store = in_milvus.store
    assert isinstance(store, MilvusStore)
    for question in [one.question for one in questions.questions[::8]]:
        vector = in_milvus.embed(question).tolist()
        words = " ".join(unicode_words(question))
        legs = [
            AnnSearchRequest([vector], "dense", {"metric_type": "COSINE"}, limit=20),
            AnnSearchRequest([words], "sparse", {"metric_type": "BM25"}, limit=20),
        ]
        [theirs] = store.client.hybrid_search(store.collection("chunks"), legs, ranker, limit=10)
        ours = search(question, wb.system(name), in_milvus).results
        # A rank of RRF depends on how ties are broken, so scores are compared place by place.
        assert np.allclose([one.score for one in ours], [hit["distance"] for hit in theirs], atol=1e-5)


@pytest.mark.parametrize("name", [*ON_A_SERVER, "openclaw-2026.2.13+or+rrf+minmax"])
def test_every_system_searches_and_explains(served: MemoryIndex, in_milvus: MemoryIndex, name: str) -> None:
    pipeline, index = wb.system(name), served if name.startswith(("pg", "langchain", "bm-pg")) else in_milvus
    for question in ("disk backup", "don't panic: AND | & !", "the", "日本語"):
        trace = search(question, pipeline, index)
        scores = [one.score for one in trace.results]
        assert scores == sorted(scores, reverse=True)
        if trace.chunks:
            assert explain(trace, index, trace.chunks[0].path).verdicts


@pytest.mark.parametrize("name", ON_A_SERVER)
def test_an_index_elsewhere_is_refused_with_the_remedy(toy: MemoryIndex, name: str) -> None:
    with pytest.raises(InputError, match=r"is not in (PostgreSQL|Milvus)") as caught:
        search("rooibos", wb.system(name), toy)
    assert f"--store {'milvus' if name.startswith('milvus') else 'postgresql'}://" in caught.value.remedy
    assert name not in SYSTEMS

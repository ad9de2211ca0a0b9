"""Milvus's rankers: our pipelines give what its own hybrid search gives on the same memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from pymilvus import AnnSearchRequest, RRFRanker, WeightedRanker

import workbench as wb
from tests.conftest import SAMPLE
from tests.milvus import fresh_name
from tests.stored_embedder import StoredEmbedder
from workbench.errors import InputError
from workbench.lab.evaluation import evaluate
from workbench.lab.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.memory.store.milvus.store import MilvusStore
from workbench.memory.sync import index_folder
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import search
from workbench.retrieval.query import unicode_words
from workbench.systems.registry import SYSTEMS


@pytest.fixture(scope="module")
def served(milvus: str, sample: MemoryIndex) -> Iterator[MemoryIndex]:
    """The sample memory in Milvus, with the vectors of its SQLite index."""
    address = fresh_name(milvus)
    index_folder(SAMPLE, StoredEmbedder(sample), store=address)
    with wb.open(address, StoredEmbedder(sample)) as index:
        assert isinstance(index, MemoryIndex)
        yield index


@pytest.mark.parametrize(
    ("name", "ranker"), [("milvus-rrf", RRFRanker(60)), ("milvus-weighted", WeightedRanker(0.5, 0.5))]
)
def test_a_ranker_of_milvus_gives_what_our_pipeline_gives(
    served: MemoryIndex, questions: QuestionSet, name: str, ranker: object
) -> None:
    store = served.store
    assert isinstance(store, MilvusStore)
    for question in [one.question for one in questions.questions[::8]]:
        vector = served.embed(question).tolist()
        words = " ".join(unicode_words(question))
        legs = [
            AnnSearchRequest([vector], "dense", {"metric_type": "COSINE"}, limit=20),
            AnnSearchRequest([words], "sparse", {"metric_type": "BM25"}, limit=20),
        ]
        [theirs] = store.client.hybrid_search(store.collection("chunks"), legs, ranker, limit=10)
        ours = search(question, wb.system(name), served).results
        # A rank of RRF depends on how ties are broken, so scores are compared place by place.
        assert np.allclose([one.score for one in ours], [hit["distance"] for hit in theirs], atol=1e-5)


def test_the_questions_find_in_milvus_what_the_vectors_find_on_sqlite(
    served: MemoryIndex, sample: MemoryIndex, questions: QuestionSet
) -> None:
    vector_only = wb.system("openclaw-2026.2.13-vector-only")
    there, here = (evaluate(questions, [vector_only], index)[0].overall for index in (served, sample))
    assert there == here


def test_every_chunk_that_matches_in_milvus_is_explained(served: MemoryIndex) -> None:
    for name in ("milvus-rrf", "milvus-weighted", "openclaw-2026.2.13+or+rrf+minmax"):
        trace = search("where do urgent notifications go", wb.system(name), served)
        assert trace.legs["keyword"].hits.rows.size
        assert explain(trace, served, trace.results[0].chunk.path).verdicts


@pytest.mark.parametrize("name", ["milvus-rrf", "milvus-weighted"])
def test_an_index_elsewhere_is_refused_with_the_remedy(toy: MemoryIndex, name: str) -> None:
    with pytest.raises(InputError, match="is not in Milvus") as caught:
        search("rooibos", wb.system(name), toy)
    assert "--store milvus://" in caught.value.remedy
    assert name not in SYSTEMS

"""Recorded engines: each real package with a fault planted in it, which a diagnosis names first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

import workbench as wb
from workbench.errors import InputError
from workbench_plugins.engines.lists import Asked
from workbench_plugins.recorder import adapters
from workbench_plugins.recorder.recorded_index import TopK
from workbench_plugins.recorder.recording import Recorder, Recording, record
from workbench_plugins.recorder.responses import record_responses

NOTES = {
    "tea.md": "Rooibos tea in the afternoon, a cup of tea, and the tea tin.",
    "pot.md": "Tea in a pot, tea in a cup.",
    "bike.md": "The rear hub of the bike grinds, and the brake squeals.",
    "hub.md": "A hub, a brake and a bike in the shop.",
    "server.md": "The disk of the server failed, and the backup was whole.",
    "disk.md": "A new disk and a backup of the server.",
    "invoice.md": "The rooibos invoice from the shop is paid.",
    "garden.md": "Beans and a spade beside the fence.",
    "train.md": "The train leaves at nine from the north platform.",
    "bread.md": "Rye flour, water and salt.",
}
AXES = {
    "tea": ("tea", "rooibos", "cup"),
    "bike": ("bike", "hub", "brake"),
    "server": ("server", "disk", "backup"),
}
QUESTION = "tea cup north"
TARGET = "train.md"


def vector(text: str) -> list[float]:
    """How often a text names each topic, and a little of its length, of length 1."""
    words = text.lower().replace(",", " ").replace(".", " ").split()
    counts = [float(sum(word in some for word in words)) for some in AXES.values()]
    made = [*counts, 0.1 + len(words) / 100]
    return [one / math.hypot(*made) for one in made]


def langchain(**fault: Any) -> Recorder:
    """An EnsembleRetriever of BM25 and an in-memory vector store."""
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    class Counts(Embeddings):
        def embed_query(self, text: str) -> list[float]:
            return vector(text)

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [vector(one) for one in texts]

    notes = [Document(page_content=text, metadata={"source": id_}) for id_, text in NOTES.items()]
    words = BM25Retriever.from_documents(
        notes, k=fault.get("k", 3), preprocess_func=lambda text: text.lower().split()
    )
    near = InMemoryVectorStore.from_documents(notes, Counts()).as_retriever(search_kwargs={"k": 2})
    return adapters.langchain(EnsembleRetriever(retrievers=[words, near], weights=[0.5, 0.5]), texts=NOTES)


def llamaindex(**fault: Any) -> Recorder:
    """A QueryFusionRetriever of BM25 and a vector index."""
    from llama_index.core import VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.schema import TextNode
    from llama_index.retrievers.bm25 import BM25Retriever

    class Counts(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return vector(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return vector(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            return vector(text)

    nodes = [TextNode(id_=id_, text=text) for id_, text in NOTES.items()]
    words = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=4)
    near = VectorStoreIndex(nodes, embed_model=Counts()).as_retriever(similarity_top_k=4)
    weights = fault.get("weights", [0.8, 0.2])
    fused = QueryFusionRetriever(
        [words, near], llm=MockLLM(), mode="relative_score", similarity_top_k=3, num_queries=1,
        use_async=False,
        retriever_weights=weights,
    )  # fmt: skip
    return adapters.llamaindex(fused, [words, near], weights, texts=NOTES)


def lancedb(operator: str = "OR") -> Recorder:
    """A table with a full-text index, asked for all words or for any word."""
    import lancedb as package
    from lancedb.query import FullTextOperator, MatchQuery

    rows = [{"id": id_, "text": text, "vector": vector(text)} for id_, text in NOTES.items()]
    table = package.connect("memory://").create_table("notes", rows)
    table.create_fts_index("text")

    def query(question: str) -> MatchQuery:
        return MatchQuery(question, "text", operator=FullTextOperator(operator.upper()))

    return adapters.lancedb(table, vector, limit=4, query=query, texts=NOTES)


def qdrant(threshold: float | None = None) -> Recorder:
    """A local collection with a dense and a sparse vector, fused by reciprocal ranks."""
    from qdrant_client import QdrantClient, models

    known = sorted({word for text in NOTES.values() for word in text.lower().replace(".", "").split()})

    def sparse(text: str) -> models.SparseVector:
        words = [
            known.index(one) for one in dict.fromkeys(text.lower().replace(".", "").split()) if one in known
        ]
        return models.SparseVector(indices=words, values=[1.0] * len(words))

    client = QdrantClient(":memory:")
    client.create_collection(
        "notes",
        vectors_config={"dense": models.VectorParams(size=4, distance=models.Distance.COSINE)},
        sparse_vectors_config={"words": models.SparseVectorParams()},
    )
    points = [
        models.PointStruct(
            id=place, vector={"dense": vector(text), "words": sparse(text)}, payload={"path": id_}
        )
        for place, (id_, text) in enumerate(NOTES.items())
    ]
    client.upsert("notes", points)

    def prefetch(question: str) -> dict[str, models.Prefetch]:
        return {
            "vector": models.Prefetch(query=vector(question), using="dense", limit=3),
            "keyword": models.Prefetch(query=sparse(question), using="words", limit=3),
        }

    fusion = models.FusionQuery(fusion=models.Fusion.RRF)
    return adapters.qdrant(
        client, "notes", prefetch, fusion, 5, score_threshold=threshold, id_key="path", texts=NOTES
    )


def txtai(weights: float = 0.5) -> Recorder:
    """A hybrid index whose vectors come from a function."""
    import numpy as np
    from txtai import Embeddings

    def transform(texts: list[str]) -> Any:
        return np.array([vector(one) for one in texts], np.float32)

    made = Embeddings(method="external", transform=transform, hybrid=True, content=False)
    made.index(list(NOTES.items()))
    return adapters.txtai(made, 4, weights, texts=NOTES)


def chroma(order: int = 1) -> Recorder:
    """A collection with code around it that sorts by distance: rising, or with -1 falling."""
    import chromadb
    from chromadb import Documents, EmbeddingFunction

    class Counts(EmbeddingFunction):  # type: ignore[type-arg]
        def __init__(self) -> None: ...

        def __call__(self, input: Documents) -> Any:  # noqa: A002
            return [vector(one) for one in input]

    client = chromadb.EphemeralClient()
    if "notes" in [one.name for one in client.list_collections()]:
        client.delete_collection("notes")
    notes = client.create_collection("notes", embedding_function=Counts(), metadata={"hnsw:space": "cosine"})
    notes.add(ids=list(NOTES), documents=list(NOTES.values()))
    recorder = adapters.chroma(notes, limit=4, texts=NOTES)

    def near(question: str, depth: int) -> Sequence[tuple[str, float | None]]:
        every = recorder.legs["vector"].ask(question, notes.count())
        return sorted(every, key=lambda one: order * (one[1] or 0.0))[:depth]

    def fused(question: str) -> Sequence[tuple[str, float | None]]:
        return [(id_, 1 - (distance or 0.0)) for id_, distance in near(question, 4)]

    legs = {"vector": Asked(near, TopK(cap=4), "recorded distance", larger_is_better=False)}
    return replace(recorder, legs=legs, fused=fused)


PLANTED: list[tuple[str, Callable[..., Recorder], dict[str, Any], str, str]] = [
    ("langchain_classic langchain_community rank_bm25", langchain, {"k": 1}, "keyword_leg", "ask for 2"),
    (
        "llama_index.core llama_index.retrievers.bm25",
        llamaindex,
        {"weights": [0.0, 1.0]},
        "fusion",
        "keyword weight",
    ),
    ("lancedb", lancedb, {"operator": "and"}, "keyword_leg", "join the words with OR"),
    ("qdrant_client", qdrant, {"threshold": 0.3}, "engine_floor", "no engine floor"),
    ("txtai", txtai, {"weights": 1.0}, "fusion", "keyword weight"),
    ("chromadb", chroma, {"order": -1}, "vector_leg", "turn the order"),
]
every_fault = pytest.mark.parametrize(
    ("package", "made", "fault", "where", "repair"), PLANTED, ids=[one[0] for one in PLANTED]
)


@every_fault
def test_a_diagnosis_names_the_fault_that_was_planted_in_a_real_package(
    package: str, made: Callable[..., Recorder], fault: dict[str, Any], where: str, repair: str
) -> None:
    for one in package.split():
        pytest.importorskip(one)
    target = "tea.md" if package == "chromadb" else TARGET
    healthy = made().record(QUESTION)
    assert healthy.agrees
    assert target in healthy.trace.paths() == [one for one, _ in healthy.fused]
    faulty = made(**fault).record(QUESTION)
    assert target not in dict(faulty.fused)
    found = faulty.diagnose(target)
    assert found.causes[0].where == (where,)
    assert repair in found.causes[0].repair
    assert found.causes[0].verified


def lists(**known: Any) -> Recording:
    """Two short lists whose fused order has a tie, in which the recorded list puts c.md first."""
    legs = {
        "keyword": [("a.md", 7.1), ("b.md", 3.0)],
        "vector": [("c.md", 0.9), ("b.md", 0.7), ("d.md", 0.6)],
    }
    return record("cups of tea", legs, [("b.md", 2 / 62), ("c.md", 1 / 61)], engine="elsewhere", **known)


def test_a_fusion_is_inferred_from_the_fused_list_and_said_to_be() -> None:
    found = lists()
    assert found.agrees
    assert found.trace.paths() == ["b.md", "c.md"]
    told = str(found.explain("a.md"))
    assert "inferred score = 0 + 1 / (60 + 1) = 0.01639" in told
    assert "keyword leg: rank 1 of 2, recorded score 7.1" in told
    assert "position 3 of 4 [inferred; the recorded list does not have it]" in told


def test_each_sentence_of_an_explanation_says_whether_it_was_recorded_or_inferred() -> None:
    for target in ("a.md", "b.md", "d.md", "x.md"):
        lines = str(lists().explain(target)).split("\n")[2:]
        assert all(any(word in one for word in ("recorded", "inferred")) for one in lines if one.strip())


def test_a_rank_beyond_a_recorded_list_is_unknown_and_not_absent() -> None:
    told = str(lists().explain("a.md"))
    assert "vector leg: not among the 3 chunks that it lists; its rank is unknown" in told
    assert "no match" not in told


def test_a_list_that_no_fusion_gives_is_kept_as_it_is() -> None:
    fused = [("d.md", 9.0), ("a.md", 8.5)]
    legs = {"keyword": [("a.md", 7.1)], "vector": [("c.md", 0.9), ("d.md", 0.6)]}
    found = record("tea", legs, fused)
    assert found.trace.paths() == ["d.md", "a.md"]
    assert "which no known fusion gives" in repr(found)


@pytest.mark.parametrize("known", [{}, {"limit": 3}, {"floor": 0.5}, {"floor": 1.5}])
def test_an_empty_answer_stays_empty(known: dict[str, Any]) -> None:
    found = record("q", {"vector": [("a", 1), ("b", 0.3)]}, fused=[], **known)
    assert found.trace.paths() == []
    assert ("gives the recorded list" in repr(found)) is (known != {"floor": 0.5})
    assert ("inferred from where it ends: the floor" in repr(found)) is ("floor" not in known)
    assert str(found.diagnose("a"))


@pytest.mark.parametrize(
    ("known", "problem"),
    [
        ({"distances": ["vectr"]}, "distances names the leg 'vectr', .*legs are vector, keyword"),
        ({"depth": {"vectr": 3}}, "depth names the leg 'vectr', .*legs are vector, keyword"),
        ({"depth": {"vector": 0}}, "depth of the leg 'vector' is 0"),
        ({"limit": -1}, "limit is -1"),
        ({"floor": math.nan}, "floor is not a number"),
    ],
)
def test_what_is_known_of_a_recording_must_be_possible(known: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=f"(?s){problem}"):
        record("q", {"vector": [("near", 0.1), ("far", 0.9)], "keyword": []}, **known)


def test_another_question_than_the_recorded_one_is_refused() -> None:
    found = lists()
    with pytest.raises(wb.InputError, match="Only 'cups of tea' was recorded of elsewhere, not 'bike'"):
        wb.search("bike", found.pipeline, found.index)


def test_a_recording_is_blamed_linted_and_made_a_case() -> None:
    from workbench.retrieval.settings import with_settings
    from workbench_plugins.cases.running import run_case
    from workbench_plugins.diagnose.findings import lint_on

    found = lists(fusion="rrf-60", limit=2)
    heavier = with_settings(found.pipeline, ["fusion.keyword=2"])
    shares = wb.blame(found.pipeline, heavier, found.index, found.question, target="a.md")
    assert [(one.name, float(one.share)) for one in shares.parts] == [("fusion", 1.0)]
    assert "dead leg" not in {one.kind for one in lint_on(found.pipeline, found.index, [found.question])}
    dead = record("tea", {"keyword": [], "vector": [("c.md", 0.9)]}, fusion="rrf-60")
    assert "dead leg" in {one.kind for one in lint_on(dead.pipeline, dead.index, ["tea"])}
    assert not run_case(found.case("d.md")).holds
    with pytest.raises(wb.InputError, match="it keeps the order of equal scores"):
        record(
            "tea", {"keyword": [("b", 1.0)], "vector": [("a", 1.0)]}, [("b", 1 / 61)], fusion="rrf-60"
        ).case("a")


RESPONSES: dict[str, Any] = {
    "elasticsearch": {"hits": {"hits": [{"_id": "a", "_score": 7.1}, {"_id": "b", "_score": 3.0}]}},
    "opensearch": {"hits": {"hits": [{"_id": "a", "_score": 7.1}, {"_id": "b", "_score": 3.0}]}},
    "weaviate": {
        "data": {
            "Get": {
                "Note": [
                    {"_additional": {"id": one, "distance": far}} for one, far in (("a", 0.1), ("b", 0.4))
                ]
            }
        }
    },
    "dify": {
        "records": [{"segment": {"id": one}, "score": score} for one, score in (("a", 0.9), ("b", 0.2))]
    },
    "graphiti": {
        "edges": [{"uuid": "a", "fact": "…"}, {"uuid": "b", "fact": "…"}],
        "edge_reranker_scores": [0.9, 0.2],
    },
    "pgvector": [{"id": "a", "distance": 0.1}, {"id": "b", "distance": 0.4}],
    "mem0": {"results": [{"id": "a", "memory": "…", "score": 0.9}, {"id": "b", "memory": "…", "score": 0.2}]},
}


@pytest.mark.parametrize("engine", RESPONSES)
def test_a_response_of_a_server_is_recorded_as_its_documentation_describes_it(engine: str) -> None:
    legs = {"vector": RESPONSES[engine], "keyword": RESPONSES[engine]}
    found = record_responses(engine, "tea", legs, fusion="rrf-60")
    assert found.trace.paths() == ["a", "b"]
    assert found.trace.legs["vector"].hits.larger_is_better == (engine not in ("weaviate", "pgvector"))
    assert not found.index.upside_down("vector", "tea")
    with pytest.raises(wb.InputError, match=f"This is no response of {engine}"):
        record_responses(engine, "tea", {"vector": {"error": "down"}})

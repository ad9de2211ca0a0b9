"""What released packages answer, run end to end: `python -m benchmarks.recording.shipped FILE.json.gz`.

Each function gives a product the two lists of a question, best first, where its own retrievers, store or
index would be. The product asks for as many candidates as it does by default, fuses, filters and cuts, and
the ids come back with their scores in its own order. The record holds what the installed packages answer,
keeps what it has of others, and has the lists: those of the sample memory's questions, besides the pairs of
`tests.fusion_packages`.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import math
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import workbench as wb
from tests.fusion_packages import Pairs, pairs
from workbench.measure.questions import load_questions
from workbench.records import Hits, Query, Vector
from workbench.retrieval.legs import FixedDepth, KeywordLeg, VectorLeg
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.engines.lists import ListIndex, as_bm25, as_cosine_distance, index_of_lists

DEPTH = 100
"""Candidates of each leg that are recorded for a question: no product that is run asks for more."""


class Asked(NamedTuple):
    """A question, and what the vector leg and the keyword leg bring for it, best first."""

    question: str
    vector: Pairs
    keyword: Pairs


class Product(NamedTuple):
    """A package that answers, and how exactly it computes."""

    distribution: str
    answer: Callable[[Asked], Pairs]
    within: float = 1e-9


def random_lists() -> list[Asked]:
    """The pairs of lists with ties, gaps, empty and single lists, with questions of 1 to 20 words."""
    return [Asked(" ".join(["word"] * (1 + place % 20)), *pair) for place, pair in enumerate(pairs())]


def sample_lists() -> list[Asked]:
    """The lists of the two legs for each question of the sample memory; ids are the numbers of chunks."""
    deep = SYSTEMS["azure-hybrid"]
    deep = deep.with_stage(VectorLeg(FixedDepth(cap=DEPTH))).with_stage(KeywordLeg(FixedDepth(cap=DEPTH)))
    wb.index_folder("sample_memory")
    made = []
    with wb.open_index("sample_memory") as index:
        known = load_questions(Path("sample_memory") / "questions.yaml")
        for one in (*known.questions, *known.controls):
            hits = {name: leg.hits for name, leg in search(one.question, deep, index).legs.items()}
            vector, keyword = _listed(hits["vector"], 1), _listed(hits["keyword"], 0)
            made.append(Asked(one.question, vector, keyword))
    return made


def _listed(hits: Any, most: float) -> Pairs:
    """The hits with the score `most` - raw, best first and equal scores by id."""
    pairs = zip(hits.rows.tolist(), hits.raw.tolist(), strict=True)
    scores = [(f"c{row:03}", round(most - raw, 9)) for row, raw in pairs]
    return sorted(scores, key=lambda pair: (-pair[1], pair[0]))


class Listed(ListIndex):
    """Two lists as the answers of an index: bm25 = -score, and distance = 1 - score, at any depth."""

    def __init__(self, vector: Mapping[str, float], keyword: Mapping[str, float]) -> None:
        given = index_of_lists(vector, keyword)
        super().__init__("the two lists", given.legs, {one: one for one in given.paths()})

    def keyword(self, query: Query, limit: int) -> Hits:
        return as_bm25(self, "keyword", "", limit)

    def vector(self, query: Vector, limit: int) -> Hits:
        return as_cosine_distance(self, "vector", "", limit)


def ours(name: str, asked: Asked) -> Pairs:
    """What our system of that name answers: ids with their scores."""
    trace = search(asked.question, SYSTEMS[name], Listed(dict(asked.vector), dict(asked.keyword)))
    return [(one.chunk.path, one.score) for one in trace.results]


def _langchain(asked: Asked) -> Pairs:
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class Given(BaseRetriever):
        listed: list[str]
        k: int = 4

        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return [Document(page_content=name) for name in self.listed[: self.k]]

    both = [Given(listed=[name for name, _ in one]) for one in (asked.keyword, asked.vector)]
    found = EnsembleRetriever(retrievers=both).invoke(asked.question)
    return [(one.page_content, math.nan) for one in found]  # it gives an order without scores


def _llama(asked: Asked, mode: str) -> Pairs:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.constants import DEFAULT_SIMILARITY_TOP_K
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    class Given(BaseRetriever):
        def __init__(self, listed: Pairs) -> None:
            self.listed = listed[:DEFAULT_SIMILARITY_TOP_K]
            super().__init__()

        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=TextNode(text=name), score=score) for name, score in self.listed]

    both = [Given(asked.vector), Given(asked.keyword)]
    fusing = QueryFusionRetriever(both, MockLLM(), mode=mode, num_queries=1, use_async=False)
    return [(one.node.get_content(), float(one.score)) for one in fusing.retrieve(asked.question)]


def _mem0(asked: Asked) -> Pairs:
    from inspect import signature

    from mem0 import Memory

    def listed(which: Pairs, top_k: int) -> list[Any]:
        return [
            SimpleNamespace(id=name, score=score, payload={"data": name}) for name, score in which[:top_k]
        ]

    usual = signature(Memory.search).parameters
    threshold = usual["threshold"].default
    if any(score == threshold for _, score in asked.vector):
        raise ValueError("a cosine at the threshold: as a distance it is rounded")
    memory = Memory.__new__(Memory)
    memory.embedding_model = SimpleNamespace(embed=lambda *_: [1.0])
    memory.vector_store = SimpleNamespace(
        search=lambda top_k, **_: listed(asked.vector, top_k),
        keyword_search=lambda top_k, **_: listed(asked.keyword, top_k),
    )
    found = memory._search_vector_store(asked.question, {}, usual["top_k"].default, threshold)
    return [(one["id"], one["score"]) for one in found]


def _graphiti(asked: Asked) -> Pairs:
    from graphiti_core.edges import EntityEdge
    from graphiti_core.search.search import search
    from graphiti_core.search.search_config_recipes import EDGE_HYBRID_SEARCH_RRF
    from graphiti_core.search.search_filters import SearchFilters

    now = datetime.now(UTC)

    def edges(which: Pairs, limit: int) -> list[Any]:
        fixed = {"group_id": "g", "source_node_uuid": "a", "target_node_uuid": "b", "created_at": now}
        return [EntityEdge(uuid=name, name=name, fact=name, **fixed) for name, _ in which[:limit]]

    class Database:
        """Answers as Neo4j would: the score of a cosine is (1 + cosine) / 2."""

        async def edge_fulltext_search(
            self, driver: Any, query: str, where: Any, group: Any, limit: int
        ) -> Any:
            return edges(asked.keyword, limit)

        async def edge_similarity_search(self, *given: Any) -> Any:
            limit, least = given[-2:]
            return edges([one for one in asked.vector if (1 + one[1]) / 2 > least], limit)

    async def embedded(**_: Any) -> list[float]:
        return [1.0]

    clients: Any = SimpleNamespace(
        driver=SimpleNamespace(search_interface=Database()),
        embedder=SimpleNamespace(create=embedded),
        cross_encoder=None,
    )
    found = asyncio.run(search(clients, asked.question, None, EDGE_HYBRID_SEARCH_RRF, SearchFilters()))
    return [(edge.uuid, score) for edge, score in zip(found.edges, found.edge_reranker_scores, strict=False)]


def _txtai(asked: Asked) -> Pairs:
    from txtai.embeddings.search.base import Search

    embeddings = SimpleNamespace(
        ann=SimpleNamespace(search=lambda queries, limit: [asked.vector[:limit] for _ in queries]),
        scoring=SimpleNamespace(
            batchsearch=lambda queries, limit: [asked.keyword[:limit] for _ in queries],
            isbayes=lambda: False,
            isnormalized=lambda: False,
        ),
        batchtransform=lambda queries: [[1.0] for _ in queries],
        issparse=lambda: True,
        **dict.fromkeys(("database", "ids", "indexes", "graph", "query")),
    )
    return list(Search(embeddings)([asked.question])[0])


def _qdrant(asked: Asked, fusion: str, k: int | None = None) -> Pairs:
    """Vectors of one number give the scores of the lists; how Qdrant orders equal ones is not asked."""
    from qdrant_client import QdrantClient, models

    lists = {"vector": asked.vector, "keyword": asked.keyword}
    if any(len({score for _, score in one}) < len(one) for one in lists.values()):
        raise ValueError("a list with equal scores")
    client = QdrantClient(":memory:")
    one_number = {leg: models.SparseVectorParams() for leg in lists}
    client.create_collection("notes", vectors_config={}, sparse_vectors_config=one_number)
    points: dict[int, dict[str, Any]] = {}
    for leg, one in lists.items():
        for name, score in one:
            points.setdefault(int(name[1:]), {})[leg] = models.SparseVector(indices=[0], values=[score])
    if points:
        client.upsert(
            "notes", [models.PointStruct(id=one, vector=both, payload={}) for one, both in points.items()]
        )
    whole = models.SparseVector(indices=[0], values=[1.0])
    query: Any = models.FusionQuery(fusion=models.Fusion(fusion))
    found = client.query_points(
        "notes",
        prefetch=[models.Prefetch(query=whole, using=leg) for leg in lists],
        query=query if k is None else models.RrfQuery(rrf=models.Rrf(k=k)),
    )
    letter = next((name[0] for one in lists.values() for name, _ in one), "")
    width = next((len(name) - 1 for one in lists.values() for name, _ in one), 0)
    return [(f"{letter}{point.id:0{width}}", point.score) for point in found.points]


PRODUCTS = {
    "langchain-ensemble-preprocessed": Product("langchain-classic", _langchain),
    "llamaindex-simple": Product("llama-index-core", partial(_llama, mode="simple")),
    "llamaindex-rrf": Product("llama-index-core", partial(_llama, mode="reciprocal_rerank")),
    "llamaindex-relative": Product("llama-index-core", partial(_llama, mode="relative_score")),
    "llamaindex-dist-based": Product("llama-index-core", partial(_llama, mode="dist_based_score")),
    "mem0-search": Product("mem0ai", _mem0),
    "graphiti-rrf": Product("graphiti-core", _graphiti),
    "txtai-rrf": Product("txtai", _txtai),
    "qdrant-rrf": Product("qdrant-client", partial(_qdrant, fusion="rrf")),
    "qdrant-rrf+k60": Product("qdrant-client", partial(_qdrant, fusion="rrf", k=60)),
    "qdrant-dbsf": Product("qdrant-client", partial(_qdrant, fusion="dbsf"), 1e-6),
}
"""What each system is compared with, by the system's name."""


def answers(product: Product, lists: list[Asked]) -> list[Pairs | None]:
    """What the package answers for each pair of lists; None where it cannot be asked."""
    made: list[Pairs | None] = []
    for asked in lists:
        try:
            made.append([(name, float(score)) for name, score in product.answer(asked)])
        except ValueError:
            made.append(None)
    return made


def main(file: Path) -> None:
    """Adds what the installed packages answer to a record."""
    found = (
        json.loads(gzip.decompress(file.read_bytes()))
        if file.exists()
        else {"lists": sample_lists(), "systems": {}}
    )
    lists = [*(Asked(*one) for one in found["lists"]), *random_lists()]
    for name, product in PRODUCTS.items():
        try:
            release = version(product.distribution)
        except ImportError:
            continue
        found["systems"][name] = {
            "package": f"{product.distribution} {release}",
            "answers": answers(product, lists),
        }
    file.write_bytes(gzip.compress(json.dumps(found, allow_nan=True).encode(), mtime=0))
    print(f"{len(found['systems'])} systems", *found["systems"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))

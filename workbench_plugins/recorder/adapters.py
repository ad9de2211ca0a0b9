"""Adapters to engines that are Python packages: each gives a `Recorder` of what the package is set to.

An adapter asks the package's public functions alone and imports none of them: you hand over your own
objects. A leg is asked again at other depths by a copy of the object with another k. `texts` are the texts of
all documents by id, if you give them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack

from workbench.errors import InputError
from workbench.retrieval.fusion import Fusion, RankSum
from workbench.retrieval.legs import Depth
from workbench_plugins.engines.fusions import QdrantRankSum
from workbench_plugins.engines.lists import ALL, Asked, Pairs
from workbench_plugins.engines.presets import ENGINES
from workbench_plugins.recorder.recorded_index import TopK
from workbench_plugins.recorder.recording import Known, Recorder

NAMES = ("keyword", "vector")
"""The legs in the order in which hybrid retrievers are most often given; pass `names` for another order."""


def langchain(
    ensemble: Any, id_key: str = "source", names: Sequence[str] = NAMES, **known: Unpack[Known]
) -> Recorder:
    """LangChain's EnsembleRetriever: reciprocal ranks with its weights and `c`, and no limit of its own.

    `id_key` is the metadata that names a document. Source: langchain-classic 1.0.8, retrievers/ensemble.py.
    """

    def pairs(retriever: Any, question: str) -> Pairs:
        return [(one.metadata[id_key], None) for one in retriever.invoke(question)]

    def leg(retriever: Any) -> Asked:
        kept = getattr(retriever, "search_kwargs", None)
        k = retriever.k if kept is None else kept.get("k", 4)

        def ask(question: str, depth: int) -> Pairs:
            if depth == k:
                return pairs(retriever, question)
            changed = {"k": depth} if kept is None else {"search_kwargs": {**kept, "k": depth}}
            return pairs(retriever.model_copy(update=changed), question)

        return Asked(ask, TopK(cap=k))

    legs = dict(zip(names, map(leg, ensemble.retrievers), strict=True))
    fusion = RankSum(**dict(zip(names, ensemble.weights, strict=True)), k=ensemble.c)
    return Recorder("langchain-ensemble", legs, fusion, lambda one: pairs(ensemble, one), **known)


MODES = {
    "reciprocal_rerank": "llamaindex-rrf",
    "relative_score": "llamaindex-relative",
    "dist_based_score": "llamaindex-dist-based",
    "simple": "llamaindex-simple",
}


def llamaindex(
    fused: Any,
    retrievers: Sequence[Any],
    weights: Sequence[float] | None = None,
    names: Sequence[str] = NAMES,
    id_key: str = "",
    **known: Unpack[Known],
) -> Recorder:
    """LlamaIndex's QueryFusionRetriever with one query: its mode, and its similarity_top_k as the limit.

    The retrievers and weights are those that it was made with, since it does not publish them. `id_key` is
    the metadata that names a document; without it the node's own id does.
    Source: llama-index-core 0.14, core/retrievers/fusion_retriever.py. Raises InputError for more queries.
    """
    if fused.num_queries != 1:
        raise InputError(
            "A language model adds questions to this retriever.", "Record it with num_queries=1."
        )

    def pairs(retriever: Any, question: str) -> Pairs:
        nodes = retriever.retrieve(question)
        return [(one.node.metadata[id_key] if id_key else one.node.node_id, one.score) for one in nodes]

    def leg(retriever: Any) -> Asked:
        def ask(question: str, depth: int) -> Pairs:
            if depth == retriever.similarity_top_k:
                return pairs(retriever, question)
            deeper = copy.copy(retriever)
            deeper.similarity_top_k = min(depth, len(known.get("texts", ())) or depth)
            return pairs(deeper, question)

        return Asked(ask, TopK(cap=retriever.similarity_top_k))

    fusion: Any = ENGINES[MODES[str(getattr(fused.mode, "value", fused.mode))]].fusion
    if weights is not None and hasattr(fusion, "queries"):
        shares = [one / sum(weights) for one in weights]
        fusion = replace(fusion, **dict(zip(names, shares, strict=True)))
    return Recorder(
        engine="llamaindex-fusion",
        legs=dict(zip(names, map(leg, retrievers), strict=True)),
        fusion=fusion,
        fused=lambda question: pairs(fused, question),
        limit=fused.similarity_top_k,
        **known,
    )


def lancedb(
    table: Any,
    embed: Callable[[str], Any],
    limit: int = 10,
    reranker: Any = None,
    query: Callable[[str], Any] = lambda question: question,
    id_column: str = "id",
    **known: Unpack[Known],
) -> Recorder:
    """LanceDB's hybrid search: both legs with the limit of the answer, fused by its RRFReranker.

    `query` makes the full-text query of a question, such as a MatchQuery; `reranker` is another reranker,
    whose fusion is then inferred from the scores. Source: lancedb 0.40.0, python/lancedb/rerankers.
    """

    def pairs(builder: Any, score: str) -> Pairs:
        return ((row[id_column], row.get(score)) for row in builder.to_list())

    def fused(question: str) -> Pairs:
        asked = table.search(query_type="hybrid").vector(embed(question)).text(query(question)).limit(limit)
        return pairs(asked if reranker is None else asked.rerank(reranker), "_relevance_score")

    def words(question: str, k: int) -> Pairs:
        return pairs(table.search(query(question), query_type="fts").limit(k), "_score")

    def near(question: str, k: int) -> Pairs:
        return pairs(table.search(embed(question)).limit(k), "_distance")

    depth = TopK(cap=limit)
    return Recorder(
        engine="lancedb-hybrid",
        legs={
            "keyword": Asked(words, depth),
            "vector": Asked(near, depth, "recorded distance", larger_is_better=False),
        },
        fusion="lancedb-rrf" if reranker is None else None,
        fused=fused,
        limit=limit,
        **known,
    )


class KnownOfQdrant(TypedDict, total=False):
    """What may be known of a collection: the payload that names a document, the query's threshold, texts."""

    id_key: str
    score_threshold: float | None
    texts: Mapping[str, str]


def qdrant(
    client: Any,
    collection: str,
    prefetch: Callable[[str], Mapping[str, Any]],
    query: Any,
    limit: int = 10,
    **known: Unpack[KnownOfQdrant],
) -> Recorder:
    """Qdrant's query_points with prefetches, also in local mode. `query` is the FusionQuery or RrfQuery.

    `prefetch` makes the Prefetch of each leg by its name. `limit` and `score_threshold` are the query's own;
    without an `id_key` the point's id names a document.
    Source: qdrant-client 1.20, qdrant_client/hybrid/fusion.py.
    """
    id_key, floor = known.get("id_key"), known.get("score_threshold")

    def pairs(**asked: Any) -> Pairs:
        points = client.query_points(collection, with_payload=True, **asked).points
        return [(one.payload[id_key] if id_key else one.id, one.score) for one in points]

    def leg(name: str) -> Asked:
        def ask(question: str, depth: int) -> Pairs:
            one = prefetch(question)[name]
            more = {"using": one.using, "query_filter": one.filter, "score_threshold": one.score_threshold}
            return pairs(query=one.query, limit=depth, **more)

        return Asked(ask, TopK(cap=prefetch("")[name].limit))

    def fused(question: str) -> Pairs:
        legs = list(prefetch(question).values())
        return pairs(prefetch=legs, query=query, limit=limit, score_threshold=floor)

    names = list(prefetch(""))
    rrf = getattr(query, "rrf", None)
    weights = dict(zip(names, rrf.weights, strict=True)) if rrf and rrf.weights else {}
    fusion: Fusion = QdrantRankSum(**weights, k=rrf.k if rrf and rrf.k else 2)
    if str(getattr(getattr(query, "fusion", None), "value", "")) == "dbsf":
        fusion = ENGINES["qdrant-dbsf"].fusion
    legs = {name: leg(name) for name in names}
    texts = known.get("texts", {})
    return Recorder("qdrant-query-points", legs, fusion, fused, limit, floor=floor, texts=texts)


def txtai(embeddings: Any, limit: int = 3, weights: float = 0.5, **known: Unpack[Known]) -> Recorder:
    """A hybrid index of txtai, whose legs are asked for ten times the limit; `weights` is the vector leg's.

    Source: txtai 9.14, embeddings/search/base.py and hybrid.py.
    """

    def pairs(question: str, depth: int, weight: float) -> Pairs:
        found = embeddings.search(question, depth, weights=weight)
        return [(one["id"], one["score"]) if isinstance(one, dict) else one for one in found]

    def leg(weight: float) -> Asked:
        # A leg of weight 0 is left out, so the other one alone answers; ranks are all that is kept of it.
        def ask(question: str, depth: int) -> Pairs:
            return pairs(question, min(depth, embeddings.count()), weight)

        return Asked(ask, Depth(10, ALL))

    scoring = embeddings.scoring
    kind = "txtai-log-odds" if scoring.isbayes() else "txtai-convex" if scoring.isnormalized() else "txtai"
    base: Any = ENGINES[kind].fusion
    return Recorder(
        engine="txtai-hybrid",
        legs={"vector": leg(1.0), "keyword": leg(0.0)},
        fusion=replace(base, vector=weights, keyword=1 - weights),
        fused=lambda question: pairs(question, limit, weights),
        limit=limit,
        **known,
    )


def chroma(
    collection: Any,
    limit: int = 10,
    keyword: Callable[[str, int], Pairs] | None = None,
    fused: Callable[[str], Pairs] | None = None,
    fusion: str | Fusion | None = None,
    **known: Unpack[Known],
) -> Recorder:
    """A collection of Chroma: its vector leg, and beside it the keyword leg and the search of your own code.

    Local Chroma fuses nothing itself. Source: chromadb 1.5.9, api/models/Collection.py, query.
    """

    def ask(question: str, depth: int) -> Pairs:
        found = collection.query(query_texts=[question], n_results=min(depth, collection.count()))
        return list(zip(found["ids"][0], found["distances"][0], strict=True))

    legs = {"vector": Asked(ask, TopK(cap=limit), "recorded distance", larger_is_better=False)}
    if keyword is not None:
        legs["keyword"] = Asked(keyword, TopK(cap=limit))
    return Recorder("chroma", legs, fusion, fused, limit, **known)

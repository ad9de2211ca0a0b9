"""What released packages make of two lists: `python -m tests.fusion_packages FILE.json.gz` records it.

Each function fuses two lists of scores by id, best first, and gives the ids with their fused scores in the
package's own order. The record holds what the installed packages give for the pairs of `pairs()`, and keeps
what it has of others.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

Pairs = list[tuple[str, float]]
Fuse = Callable[[Pairs, Pairs], Pairs]
"""Two lists, best first and equal scores by id, and the fused list."""

FAR = 1000.0
"""The rank that Chroma's example gives a record that one Knn does not bring."""


class Package(NamedTuple):
    """A package whose fusion an engine of the workbench reproduces, and how exactly it computes."""

    distribution: str
    fuse: Fuse
    within: float = 1e-9


def pairs(count: int = 200) -> list[tuple[Pairs, Pairs]]:
    """Pairs of lists with ties and gaps; some lists are empty, single or all one score. Always the same."""
    chance = random.Random(28)
    made = []
    for place in range(count):
        digits = 1 if place % 2 else 6
        lists = []
        for low, high in ((0.05, 0.95), (0.2, 12.0)):
            size = chance.choice([0, 1, 1, 2, 3, 5, 8, 10])
            names = chance.sample([f"d{number:02}" for number in range(14)], size)
            same = chance.random() < 0.1
            score = round(chance.uniform(low, high), digits)
            scores = [(name, score if same else round(chance.uniform(low, high), digits)) for name in names]
            lists.append(sorted(scores, key=lambda pair: (-pair[1], pair[0])))
        made.append((lists[0], lists[1]))
    return made


def _qdrant(vector: Pairs, keyword: Pairs, method: str, *more: Any) -> Pairs:
    from qdrant_client.http.models import ScoredPoint
    from qdrant_client.hybrid import fusion

    lists = [
        [ScoredPoint(id=int(name[1:]), version=0, score=score) for name, score in one]
        for one in (vector, keyword)
    ]
    return [(f"d{point.id:02}", point.score) for point in getattr(fusion, method)(lists, 99, *more)]


def _txtai(vector: Pairs, keyword: Pairs, bayes: bool, normalised: bool) -> Pairs:
    from txtai.embeddings.search.hybrid import Hybrid

    scoring = SimpleNamespace(isbayes=lambda: bayes, isnormalized=lambda: normalised)
    return [*Hybrid(scoring)((vector, keyword), [0.5, 0.5], 99)]


def _lancedb(vector: Pairs, keyword: Pairs, reranker: str) -> Pairs:
    import pyarrow as pa
    from lancedb import rerankers

    def table(pairs: Pairs, column: str, of: Callable[[float], float]) -> Any:
        rows = {"_rowid": [int(name[1:]) for name, _ in pairs], column: [of(score) for _, score in pairs]}
        return pa.table(rows, pa.schema([("_rowid", pa.uint64()), (column, pa.float32())]))

    tables = table(vector, "_distance", lambda score: 1 - score), table(keyword, "_score", float)
    found = getattr(rerankers, reranker)().rerank_hybrid("q", *tables)
    ids, scores = (found[name].to_pylist() for name in ("_rowid", "_relevance_score"))
    return [(f"d{one:02}", score) for one, score in zip(ids, scores, strict=True)]


def _langchain(vector: Pairs, keyword: Pairs) -> Pairs:
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class Given(BaseRetriever):
        listed: list[str]

        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return [Document(page_content=name) for name in self.listed]

    both = [Given(listed=[name for name, _ in one]) for one in (vector, keyword)]
    found = EnsembleRetriever(retrievers=both, weights=[0.5, 0.5]).invoke("q")
    return [(one.page_content, float("nan")) for one in found]  # it gives an order without scores


def _llama(vector: Pairs, keyword: Pairs, mode: str) -> Pairs:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    class Given(BaseRetriever):
        def __init__(self, listed: Pairs) -> None:
            self.listed = listed
            super().__init__()

        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=TextNode(text=name), score=score) for name, score in self.listed]

    fusing = QueryFusionRetriever(
        [Given(vector), Given(keyword)], MockLLM(), None, mode, 99, num_queries=1, use_async=False
    )
    return [(one.node.get_content(), float(one.score)) for one in fusing.retrieve("q")]


def _haystack(vector: Pairs, keyword: Pairs, mode: str) -> Pairs:
    from haystack import Document
    from haystack.components.joiners import DocumentJoiner

    lists = [
        [Document(id=name, content=name, score=score) for name, score in one] for one in (vector, keyword)
    ]
    return [(one.id, one.score) for one in DocumentJoiner(join_mode=mode).run(lists)["documents"]]


def _milvus(vector: Pairs, keyword: Pairs, strategy: str, **more: Any) -> Pairs:
    from milvus_lite.function.dataframe import DataFrame
    from milvus_lite.function.ops.merge_op import MergeOp

    frames = [
        DataFrame([[{"$id": name, "$score": score} for name, score in one]]) for one in (vector, keyword)
    ]
    merged = MergeOp(strategy, metric_types=["COSINE", "BM25"], **more).execute_multi(None, frames)
    return _best_first((row["$id"], row["$score"]) for row in merged.chunk(0))


def _ranx(vector: Pairs, keyword: Pairs, **how: Any) -> Pairs:
    import ranx

    runs = [ranx.Run({"q": dict(one)}) for one in (vector, keyword)]
    return [*ranx.fuse(runs=runs, **how).to_dict()["q"].items()]


def _chroma(vector: Pairs, keyword: Pairs) -> Pairs:
    """Chroma's own expression, computed here: only its servers compute one. Small is good there."""
    from chromadb.execution.expression.operator import Knn, Rrf

    knns = [Knn(query=[float(place)], default=FAR, return_rank=True) for place in range(2)]
    expression = Rrf(ranks=[*knns]).to_dict()
    ranks = [{name: place for place, (name, _) in enumerate(one)} for one in (vector, keyword)]

    def value(node: Any, name: str) -> float:
        [(kind, inner)] = node.items()
        match kind:
            case "$val":
                return float(inner)
            case "$knn":
                return float(ranks[int(inner["query"][0])].get(name, inner["default"]))
            case "$sum":
                return sum(value(one, name) for one in inner)
            case "$mul":
                return value(inner[0], name) * value(inner[1], name)
            case "$div":
                return value(inner["left"], name) / value(inner["right"], name)
        raise ValueError(kind)

    names = dict.fromkeys(name for one in (vector, keyword) for name, _ in one)
    return _best_first((name, -value(expression, name)) for name in names)


def _best_first(found: Iterable[tuple[str, float]]) -> Pairs:
    return sorted(found, key=lambda pair: -pair[1])


PACKAGES = {
    "qdrant-k2": Package("qdrant-client", partial(_qdrant, method="reciprocal_rank_fusion")),
    "qdrant-dbsf": Package("qdrant-client", partial(_qdrant, method="distribution_based_score_fusion")),
    "txtai": Package("txtai", partial(_txtai, bayes=False, normalised=False)),
    "txtai-convex": Package("txtai", partial(_txtai, bayes=False, normalised=True)),
    "txtai-log-odds": Package("txtai", partial(_txtai, bayes=True, normalised=True)),
    "lancedb-rrf": Package("lancedb", partial(_lancedb, reranker="RRFReranker"), 1e-6),
    "lancedb-linear": Package("lancedb", partial(_lancedb, reranker="LinearCombinationReranker"), 1e-6),
    "lancedb-mrr": Package("lancedb", partial(_lancedb, reranker="MRRReranker"), 1e-6),
    "langchain-rrf": Package("langchain-classic", _langchain),
    "llamaindex-rrf": Package("llama-index-core", partial(_llama, mode="reciprocal_rerank")),
    "llamaindex-relative": Package("llama-index-core", partial(_llama, mode="relative_score")),
    "llamaindex-dist-based": Package("llama-index-core", partial(_llama, mode="dist_based_score")),
    "llamaindex-simple": Package("llama-index-core", partial(_llama, mode="simple")),
    "haystack-rrf": Package("haystack-ai", partial(_haystack, mode="reciprocal_rank_fusion")),
    "haystack-dbsf-12508": Package("haystack-ai", partial(_haystack, mode="distribution_based_rank_fusion")),
    "haystack-merge": Package("haystack-ai", partial(_haystack, mode="merge")),
    "haystack-concatenate": Package("haystack-ai", partial(_haystack, mode="concatenate")),
    "rrf-60": Package("milvus-lite", partial(_milvus, strategy="rrf")),
    "milvus-weighted": Package(
        "milvus-lite", partial(_milvus, strategy="weighted", weights=[0.5, 0.5], normalize=True)
    ),
    "milvus-weighted-raw": Package(
        "milvus-lite", partial(_milvus, strategy="weighted", weights=[0.5, 0.5], normalize=False)
    ),
    "combsum": Package("ranx", partial(_ranx, norm="min-max", method="sum")),
    "combmnz": Package("ranx", partial(_ranx, norm="min-max", method="mnz")),
    "combmax": Package("ranx", partial(_ranx, norm="min-max", method="max")),
    "chroma-rrf": Package("chromadb", _chroma),
}
"""What each engine is compared with, by the engine's name."""


def answer(fuse: Fuse, vector: Pairs, keyword: Pairs) -> Pairs | None:
    """The fused list; None where the package raises an error, as ranx does for an empty list."""
    try:
        return [(name, score) for name, score in fuse(vector, keyword)]
    except (ValueError, ZeroDivisionError):
        return None


def main(file: Path) -> None:
    """Adds what the installed packages give to a record."""
    found = json.loads(gzip.decompress(file.read_bytes())) if file.exists() else {}
    for name, package in PACKAGES.items():
        try:
            release = version(package.distribution)
        except ImportError:
            continue
        lists = [answer(package.fuse, *pair) for pair in pairs()]
        found[name] = {"package": f"{package.distribution} {release}", "lists": lists}
    file.write_bytes(gzip.compress(json.dumps(found, allow_nan=True).encode(), mtime=0))
    print(f"{len(found)} engines", *found)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

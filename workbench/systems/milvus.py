"""Milvus's own hybrid search, with its two rankers, on an index in Milvus.

Source: milvus-io/pymilvus, RRFRanker and WeightedRanker; the normalisation was measured in milvus-lite 3.2.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.retrieval.columns import ColumnStage, Numbers
from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.fusion import Weighted
from workbench.retrieval.index_adapters import innermost
from workbench.retrieval.legs import FixedDepth, KeywordLeg, Union, VectorLeg
from workbench.retrieval.pipeline import Pipeline, Source
from workbench.retrieval.query import UnicodeWords
from workbench.retrieval.scoring import Cosine
from workbench.systems.engines.fusion import RankSum

DEPTH = FixedDepth(cap=20)
SOURCE = Source(
    "milvus-io/pymilvus",
    "3.0.2",
    "client/abstract.py: RRFRanker, WeightedRanker",
    "",
    "Twenty hits of each leg and ten results; both are the caller's choice there. Ties are in the order of "
    "chunk ids.",
)


def over_right_angle(score: Any) -> Any:
    """2 / π × atan(score): 0 to 1 for scores from 0, so a large BM25 number is nearly 1."""
    return 2 / np.pi * np.arctan(score)


def half_of_one_plus(cosine: Any) -> Any:
    """(1 + cosine) / 2: 0 to 1 for a cosine from -1 to 1, so most cosines lie in its upper half."""
    return (1 + cosine) / 2


@dataclass(frozen=True)
class MilvusLayout:
    """The chunks as Milvus's BM25 searches them."""

    says: ClassVar[str] = "chunks in Milvus, analysed and ranked by its BM25 function"

    def of(self, index: Index) -> Index:
        """The index itself. Raises InputError for an index that is not in Milvus."""
        inner = innermost(index)
        if isinstance(inner, MemoryIndex) and inner.store.engine == "milvus":
            return index
        raise InputError(
            f"The index {index.name} is not in Milvus, so it cannot be laid out as: {self.says}.",
            "Index the memory there: workbench index FOLDER --store milvus://HOST/NAME. "
            "Then search with --memory and that address.",
        )


@dataclass(frozen=True)
class MilvusLeg(KeywordLeg):
    """The chunks that Milvus's BM25 finds for the words of the question."""

    @property
    def says(self) -> str:
        return f"keyword leg: Milvus's BM25, {self.depth}"


@dataclass(frozen=True)
class MilvusScore(ColumnStage):
    """The keyword score is Milvus's BM25 number, larger for a better match."""

    slot: ClassVar[str] = "keyword_score"
    output: ClassVar[str] = "keyword_score"
    scale: ClassVar[str] = "milvus bm25"
    present: ClassVar[str | None] = "keyword_rank"
    says: ClassVar[str] = "keyword score = Milvus's BM25, without a sign"

    def formula(self, of: Numbers) -> Any:
        return of["keyword_relevance"]


@dataclass(frozen=True)
class WeightedRanker(Weighted):
    """Σ weight × normalised score: atan for BM25, (1 + cosine) / 2 for vectors; absent adds nothing."""

    scale: ClassVar[str] = "weighted"

    @property
    def says(self) -> str:
        vector, keyword = f"{self.vector:g} × (1 + cosine) / 2", f"{self.keyword:g} × 2 / π × atan(bm25)"
        return f"score = {vector} + {keyword}, where absent adds nothing"

    def part(self, of: Numbers, leg: str) -> Any:
        score = of[f"{leg}_score"]
        return self.weight(of, leg) * (
            half_of_one_plus(score) if leg == "vector" else over_right_angle(score)
        )


RRF = Pipeline(
    "milvus-rrf",
    stages=(
        UnicodeWords("OR"),
        MilvusLeg(DEPTH),
        VectorLeg(DEPTH),
        Union(),
        MilvusScore(),
        Cosine(),
        RankSum(1.0, 1.0),
        Order(),
        Limit(10),
    ),
    source=SOURCE,
    layout=MilvusLayout(),
)
WEIGHTED = replace(RRF.with_stage(WeightedRanker(0.5, 0.5)), name="milvus-weighted")

PIPELINES = (RRF, WEIGHTED)

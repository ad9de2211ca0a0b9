"""Basic Memory's formulas: similarity and its floor, keyword score, fusions, and candidate limits.

Each function works on columns, on single numbers and on terms (see `retrieval.formula`).
Source: basicmachines-co/basic-memory, repository/search_repository_base.py at the commits that are named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from workbench.contracts import Context
from workbench.memory.store.sqlite.store import LARGEST_KNN
from workbench.records import DropKind, Threshold, Trace
from workbench.retrieval.columns import ColumnStage, Numbers, filled
from workbench.retrieval.cutoff import dropped
from workbench.retrieval.fusion import Fusion, max_plus_min
from workbench.retrieval.legs import Depth, VectorLeg, with_leg
from workbench.retrieval.scoring import over_largest

Ranges = Mapping[str, tuple[float, float]]

SEMANTIC_VECTOR_K = 100
PER_RESULT = 10
"""The number of candidates per result."""


def similarity(cosine_distance: Any) -> Any:
    """max(0, 1 - cosine distance), from 0 to 1: a negative cosine counts as 0."""
    return np.maximum(0.0, 1 - cosine_distance)


def at_least(score: Any, least: Any) -> Any:
    """`score` if it is at least `least`, else NaN."""
    return np.where(score >= least, score, np.nan)


def scored_reciprocal_rank(score: Any, rank: Any, k: Any, least: Any) -> Any:
    """max(score, least) / (k + rank), and 0 for an absent score: rank fusion with the score as weight.

    Source: before f5a0e942, with k = 60 and least = 0.1.
    """
    return np.where(np.isnan(score), 0.0, np.maximum(score, least) / (k + rank))


@dataclass(frozen=True)
class PageDepth(Depth):
    """Ten candidates per result, at least 100, for a page plus the one result that shows a next page.

    >>> PageDepth().of(10), PageDepth().of(6)
    (110, 100)
    """

    multiplier: float = PER_RESULT
    cap: int = LARGEST_KNN
    least: int = SEMANTIC_VECTOR_K

    def of(self, limit: float) -> int:
        wanted = math.floor((math.floor(limit) + 1) * self.multiplier)
        return min(self.cap, max(self.least, wanted))

    def __str__(self) -> str:
        return f"{self.multiplier:g} × (limit + 1) candidates, at least {self.least}"


@dataclass(frozen=True)
class NoteVectorLeg(VectorLeg):
    """The notes with the nearest chunks; fewer than the depth if the chunks of few notes fill the pool."""

    depth: Depth = PageDepth()

    @property
    def says(self) -> str:
        return f"vector leg: a note is as near as its nearest chunk, {self.depth}"

    def run(self, trace: Trace, context: Context) -> Trace:
        ran = super().run(trace, context)
        leg = ran.legs[self.name]
        full = leg.asked is None or leg.hits.rows.size >= min(leg.depth, context.index.size)
        if full:
            return ran
        return with_leg(ran, replace(leg, depth=leg.hits.rows.size))


@dataclass(frozen=True)
class KeywordOverLargest(ColumnStage, slot="keyword_score", scale="over largest", present="keyword_rank"):
    """The keyword score: `over_largest` of |bm25|."""

    says: ClassVar[str] = "keyword score = |bm25| / the leg's largest |bm25|, so the best is always 1"

    def formula(self, of: Numbers) -> Any:
        largest = np.maximum(np.abs(of.least("keyword_raw")), np.abs(of.greatest("keyword_raw")))
        return over_largest(np.abs(of["keyword_raw"]), largest)


@dataclass(frozen=True)
class Similarity(ColumnStage, slot="similarity", scale="cosine, ≥ 0", present="vector_rank"):
    """The vector leg's distance as `similarity`."""

    says: ClassVar[str] = "similarity = max(0, 1 - cosine distance)"

    def formula(self, of: Numbers) -> Any:
        return similarity(of["vector_raw"])


@dataclass(frozen=True)
class MinSimilarity(
    ColumnStage, slot="min_similarity", output="vector_score", scale="cosine, ≥ 0", present="vector_rank"
):
    """The vector score: the similarity if it is at least `least`, else absent.

    Below `least`, a candidate of the keyword leg is kept without its vector score; any other is dropped. The
    default of 0.55 belongs to the score range of bge-small-en-v1.5; another model needs another value.
    Source: 55d675e2.
    """

    ranges: ClassVar[Ranges] = {"least": (0, 1)}
    least: float = 0.55

    @property
    def says(self) -> str:
        return f"min similarity: the vector leg drops what is less similar than {self.least:g}"

    def formula(self, of: Numbers) -> Any:
        return at_least(of["similarity"], of.constant(self.least))

    def may_read(self) -> tuple[str, ...]:
        return (*super().may_read(), "keyword_rank")

    def run(self, trace: Trace, context: Context) -> Trace:
        scored = super().run(trace, context)
        similarity = scored.columns["similarity"]
        keyword_rank = scored.columns.get("keyword_rank", np.full(similarity.size, np.nan))
        below, of_vectors = ~(similarity >= self.least), np.isnan(keyword_rank)
        threshold = Threshold("similarity", similarity, self.least)
        return dropped(scored, self, below & of_vectors, DropKind.LEG_FLOOR, threshold, among=of_vectors)


@dataclass(frozen=True)
class ScoredRRF(ColumnStage, slot="fusion", output="score"):
    """`scored_reciprocal_rank` of both legs; the vector scores are divided by their largest, too."""

    ranges: ClassVar[Ranges] = {"k": (0, 10_000), "least": (0, 1)}
    k: float = 60
    least: float = 0.1

    @property
    def says(self) -> str:
        return (
            f"score = Σ over legs of max(score / the leg's largest, {self.least:g}) / ({self.k:g} + rank), "
            "where absent adds nothing"
        )

    def formula(self, of: Numbers) -> Any:
        k, least = of.constant(self.k), of.constant(self.least)
        vector = over_largest(of["vector_score"], of.greatest("vector_score"))
        near = np.where(np.isnan(of["vector_score"]), np.nan, vector)
        return scored_reciprocal_rank(near, of["vector_rank"], k, least) + scored_reciprocal_rank(
            of["keyword_score"], of["keyword_rank"], k, least
        )


@dataclass(frozen=True)
class LargerPlusShare(Fusion):
    """`max_plus_min` of both legs' scores, where an absent score counts as 0. Source: f5a0e942 (#577)."""

    ranges: ClassVar[Ranges] = {"share": (0, 1)}
    share: float = 0.3

    @property
    def says(self) -> str:
        return f"score = the larger of vector (score) and keyword (score), plus {self.share:g} × the smaller"

    def part(self, of: Numbers, leg: str) -> Any:
        return of[f"{leg}_score"]

    def together(self, *parts: Any) -> Any:
        vector, keyword = (filled(part, 0.0) for part in parts)
        return max_plus_min(vector, keyword, self.share)

"""An engine's raw numbers become scores: BM25 conversions and similarities.

Each function works on columns, on single numbers and on terms (see `formula`). They see only what the
engine brought: a stage's `present` column keeps an absent candidate's score absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from workbench.retrieval.columns import ColumnStage, Numbers

NOT_FINITE = 1 / 1000
"""What OpenClaw gives a rank that is not a finite number: 1 / (1 + 999)."""


def clamped_rank(raw: Any) -> Any:
    """1 / (1 + max(0, raw)): exactly 1.0 for every match, since FTS5's bm25() is negative.

    Source: openclaw 2026.2.13, src/memory/hybrid.ts, bm25RankToScore; openclaw#5767, #16021 (bug 3).
    """
    return np.where(np.isfinite(raw), 1 / (1 + np.maximum(0.0, raw)), NOT_FINITE)


def absolute_rank(raw: Any) -> Any:
    """1 / (1 + |raw|): a gradient, but upside down, since a better match has the larger |raw|.

    Source: the minimal fix proposed in openclaw#16021; never shipped.
    """
    return np.where(np.isfinite(raw), 1 / (1 + np.abs(raw)), NOT_FINITE)


def min_max(raw: Any, best: Any, worst: Any) -> Any:
    """(worst - raw) / (worst - best) for raw numbers where smaller is better; 1.0 when all are equal.

    Source: fix 3 of openclaw#16021, normalizeBm25Scores; never shipped.
    """
    spread = worst - best
    return np.where(spread == 0, 1.0, (worst - raw) / np.where(spread == 0, 1.0, spread))


def cosine_similarity(distance: Any) -> Any:
    """1 - distance: the cosine of the angle between two vectors, -1 to 1."""
    return 1 - distance


@dataclass(frozen=True)
class _KeywordScore(ColumnStage):
    slot: ClassVar[str] = "keyword_score"
    output: ClassVar[str] = "keyword_score"
    present: ClassVar[str | None] = "keyword_rank"


@dataclass(frozen=True)
class ClampedRank(_KeywordScore):
    """BM25 as OpenClaw 2026.2.13 converts it: `clamped_rank`."""

    says: ClassVar[str] = "keyword score = 1 / (1 + max(0, bm25)), which is 1 for every match"

    def formula(self, of: Numbers) -> Any:
        return clamped_rank(of["keyword_raw"])


@dataclass(frozen=True)
class AbsoluteRank(_KeywordScore):
    """BM25 under the report's minimal fix: `absolute_rank`."""

    says: ClassVar[str] = "keyword score = 1 / (1 + |bm25|), which falls as the match gets better"

    def formula(self, of: Numbers) -> Any:
        return absolute_rank(of["keyword_raw"])


@dataclass(frozen=True)
class MinMaxRank(_KeywordScore):
    """BM25 stretched over the leg's own hits, best 1 and worst 0: `min_max`."""

    says: ClassVar[str] = "keyword score = (worst - bm25) / (worst - best) over the leg's hits"

    def formula(self, of: Numbers) -> Any:
        raw = of["keyword_raw"]
        return min_max(raw, best=of.least("keyword_raw"), worst=of.greatest("keyword_raw"))


@dataclass(frozen=True)
class Cosine(ColumnStage):
    """The vector leg's distance as a similarity: `cosine_similarity`."""

    slot: ClassVar[str] = "vector_score"
    output: ClassVar[str] = "vector_score"
    present: ClassVar[str | None] = "vector_rank"
    says: ClassVar[str] = "vector score = 1 - cosine distance"

    def formula(self, of: Numbers) -> Any:
        return cosine_similarity(of["vector_raw"])

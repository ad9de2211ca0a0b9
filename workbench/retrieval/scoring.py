"""An engine's raw numbers become scores: BM25 conversions and similarities.

Each function works on columns, on single numbers and on expressions (see `columns`). A stage applies them
only where its `present` column has a number, so the score of an absent candidate stays absent.
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


def relevance(raw: Any) -> Any:
    """r / (1 + r) with r = -raw for FTS5's negative bm25(), 0 to 1, larger for a better match.

    A rank of 0 or more gives 1 / (1 + rank). FTS5 sets the rank of a word that is in half of the rows or
    more to about -1e-6, so in a memory of one or two chunks nearly every match scores nearly 0.
    Source: openclaw 2026.3.7, src/memory/hybrid.ts, bm25RankToScore; openclaw#33757.
    """
    finite = np.isfinite(raw)
    size = np.where(finite, np.abs(raw), 0.0)
    return np.where(finite, np.where(raw < 0, size / (1 + size), 1 / (1 + size)), NOT_FINITE)


def absolute_rank(raw: Any) -> Any:
    """1 / (1 + |raw|): a gradient, but upside down, since a better match has the larger |raw|.

    Source: the minimal fix proposed in openclaw#16021; never shipped.
    """
    return np.where(np.isfinite(raw), 1 / (1 + np.abs(raw)), NOT_FINITE)


def min_max(raw: Any, best: Any, worst: Any, equal: Any = 1.0) -> Any:
    """(worst - raw) / (worst - best), whichever of the two is the larger; `equal` when they are one number.

    `best` and `worst` are those of the hits, or bounds that the engine cannot pass (theoretical min-max).
    Source: fix 3 of openclaw#16021, normalizeBm25Scores, which gives 1.0 to equal hits; never shipped.
    """
    spread = worst - best
    return np.where(spread == 0, equal, (worst - raw) / np.where(spread == 0, 1.0, spread))


def over_largest(score: Any, largest: Any) -> Any:
    """score / largest, and 0 when even the largest is 0: the best of a leg is always 1, however weak.

    Source: basicmachines-co/basic-memory, repository/search_repository_base.py.
    """
    return np.where(largest > 0, score / np.where(largest > 0, largest, 1.0), 0.0)


def cosine_similarity(distance: Any) -> Any:
    """1 - distance: the cosine of the angle between two vectors, -1 to 1."""
    return 1 - distance


@dataclass(frozen=True)
class _KeywordScore(ColumnStage, slot="keyword_score", present="keyword_rank"):
    """Base of the stages below, which fill this slot."""


@dataclass(frozen=True)
class ClampedRank(_KeywordScore, scale="clamped bm25"):
    """BM25 as OpenClaw 2026.2.13 converts it: `clamped_rank`."""

    description: ClassVar[str] = "keyword score = 1 / (1 + max(0, bm25)), which is 1 for every match"

    def formula(self, of: Numbers) -> Any:
        return clamped_rank(of["keyword_raw"])


@dataclass(frozen=True)
class Relevance(_KeywordScore, scale="r / (1 + r)"):
    """BM25 as OpenClaw has converted it since 2026.3.7: `relevance`."""

    description: ClassVar[str] = "keyword score = |bm25| / (1 + |bm25|), which grows with the match"

    def formula(self, of: Numbers) -> Any:
        return relevance(of["keyword_raw"])


@dataclass(frozen=True)
class AbsoluteRank(_KeywordScore, scale="1 / (1 + r)"):
    """BM25 under the report's minimal fix: `absolute_rank`."""

    description: ClassVar[str] = "keyword score = 1 / (1 + |bm25|), which falls as the match gets better"

    def formula(self, of: Numbers) -> Any:
        return absolute_rank(of["keyword_raw"])


@dataclass(frozen=True)
class MinMaxRank(_KeywordScore, scale="min-max"):
    """The relevance stretched over the leg's own hits, best 1 and worst 0: `min_max`."""

    description: ClassVar[str] = "keyword score = (relevance - worst) / (best - worst) over the leg's hits"

    def formula(self, of: Numbers) -> Any:
        name = "keyword_relevance"
        return min_max(of[name], best=of.greatest(name), worst=of.least(name))


@dataclass(frozen=True)
class Cosine(ColumnStage, slot="vector_score", scale="cosine", present="vector_rank"):
    """The vector leg's distance as a similarity: `cosine_similarity`."""

    description: ClassVar[str] = "vector score = 1 - cosine distance"

    def formula(self, of: Numbers) -> Any:
        return cosine_similarity(of["vector_raw"])

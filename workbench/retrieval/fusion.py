"""The scores or ranks of two legs become one score.

Each function works on columns, on single numbers and on terms (see `formula`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from workbench.retrieval.columns import ColumnStage, Numbers


def filled(score: Any, absent: float) -> Any:
    """`score`, with `absent` where the leg did not bring the candidate."""
    return np.where(np.isnan(score), absent, score)


def weighted_sum(vector: Any, keyword: Any, vector_weight: Any, keyword_weight: Any) -> Any:
    """vector_weight × vector + keyword_weight × keyword: the convex combination when the weights sum to 1.

    Source: openclaw 2026.2.13, src/memory/hybrid.ts, mergeHybridResults.
    """
    return vector_weight * vector + keyword_weight * keyword


def reciprocal_rank(rank: Any, weight: Any, k: Any) -> Any:
    """weight / (k + rank), and 0 for an absent rank: one list's part of reciprocal rank fusion.

    Source: Cormack, Clarke, Büttcher, SIGIR 2009; ranks from 1, k = 60.
    """
    return np.where(np.isnan(rank), 0.0, weight / (k + rank))


def weighted_rrf(vector_rank: Any, keyword_rank: Any, vector_weight: Any, keyword_weight: Any, k: Any) -> Any:
    """Weighted reciprocal rank fusion over its own maximum, so that first in both lists is 1.0.

    Source: fix 2 of openclaw#16021, normalised as the report suggests, by (Σ weights) / (k + 1);
    never shipped.
    """
    both = reciprocal_rank(vector_rank, vector_weight, k) + reciprocal_rank(keyword_rank, keyword_weight, k)
    return both / first_in_both(vector_weight, keyword_weight, k)


def first_in_both(vector_weight: Any, keyword_weight: Any, k: Any) -> Any:
    """The largest sum of reciprocal rank fusion: that of a candidate ranked first in both lists."""
    return (vector_weight + keyword_weight) / (k + 1)


def larger(vector: Any, keyword: Any) -> Any:
    """The larger of two scores, and the only one where the other is absent: CombMAX.

    Source: Fox and Shaw, TREC-2, 1994.
    """
    both = np.maximum(filled(vector, -np.inf), filled(keyword, -np.inf))
    return np.where(np.isnan(keyword), vector, np.where(np.isnan(vector), keyword, both))


def max_plus_min(vector: Any, keyword: Any, share: Any) -> Any:
    """max(vector, keyword) + share × min(vector, keyword): 0 to 1 + share.

    Source: basicmachines-co/basic-memory, f5a0e942, #577, with a share of 0.3.
    """
    return np.maximum(vector, keyword) + share * np.minimum(vector, keyword)


def legs_present(vector: Any, keyword: Any) -> Any:
    """How many of the two legs brought the candidate."""
    return np.where(np.isnan(vector), 0.0, 1.0) + np.where(np.isnan(keyword), 0.0, 1.0)


def geometric_mean(vector: Any, keyword: Any, vector_weight: Any, keyword_weight: Any) -> Any:
    """exp(Σ w ln s / Σ w) over the scores above 0; what is absent, or not above 0, is in neither sum.

    Source: OpenSearch neural-search, GeometricMeanScoreCombinationTechnique.
    """
    weights = _counted(vector, vector_weight), _counted(keyword, keyword_weight)
    total = weights[0] + weights[1]
    logs = weighted_sum(np.log(_above_zero(vector)), np.log(_above_zero(keyword)), *weights)
    return np.where(total == 0, 0.0, np.exp(logs / np.where(total == 0, 1.0, total)))


def harmonic_mean(vector: Any, keyword: Any, vector_weight: Any, keyword_weight: Any) -> Any:
    """Σ w / Σ (w / s) over the scores above 0; what is absent, or not above 0, is in neither sum.

    Source: OpenSearch neural-search, HarmonicMeanScoreCombinationTechnique.
    """
    weights = _counted(vector, vector_weight), _counted(keyword, keyword_weight)
    total = weights[0] + weights[1]
    inverse = weights[0] / _above_zero(vector) + weights[1] / _above_zero(keyword)
    return np.where(total == 0, 0.0, total / np.where(total == 0, 1.0, inverse))


def _counted(score: Any, weight: Any) -> Any:
    return np.where(score > 0, weight, 0.0)


def _above_zero(score: Any) -> Any:
    return np.where(score > 0, score, 1.0)


@dataclass(frozen=True)
class Fusion(ColumnStage):
    """Base of a fusion that computes each leg's part of the score, and then the score from the parts.

    A subclass writes `says` and `part`, and also `together` where the score is not the sum of the parts.
    """

    slot: ClassVar[str] = "fusion"
    output: ClassVar[str] = "score"

    @property
    def says(self) -> str:
        """The formula in a line."""
        raise NotImplementedError(f"{type(self).__name__} says nothing")

    def part(self, of: Numbers, leg: str) -> Any:
        """The leg's part of the score, for a candidate that the leg brought."""
        raise NotImplementedError(f"{type(self).__name__} has no part")

    def contributions(self, of: Numbers) -> tuple[Any, Any]:
        """The parts of the vector leg and the keyword leg: NaN where the leg did not bring the candidate."""
        vector, keyword = (
            np.where(np.isnan(of[f"{leg}_rank"]), np.nan, self.part(of, leg)) for leg in ("vector", "keyword")
        )
        return vector, keyword

    def together(self, vector: Any, keyword: Any) -> Any:
        """The score, from the two parts: their sum, with 0 for an absent one."""
        return filled(vector, 0.0) + filled(keyword, 0.0)

    def formula(self, of: Numbers) -> Any:
        return self.together(*self.contributions(of))


@dataclass(frozen=True)
class Weighted(Fusion):
    """Base of a fusion with one weight a leg."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"vector": (0, 100), "keyword": (0, 100)}
    vector: float = 1.0
    keyword: float = 1.0

    def weight(self, of: Numbers, leg: str) -> Any:
        """The weight of a leg."""
        return of.constant(self.vector if leg == "vector" else self.keyword)

    @property
    def weights(self) -> str:
        """Both weights in words."""
        return f"{self.vector:g} and {self.keyword:g}"


@dataclass(frozen=True)
class WeightedSum(ColumnStage):
    """`weighted_sum` of the two scores, where an absent score counts as `absent`.

    With 0 for absent, a candidate of the vector leg alone keeps 70 % of its similarity: bug 2 of
    openclaw#16021.
    """

    slot: ClassVar[str] = "fusion"
    output: ClassVar[str] = "score"
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {
        "vector": (0, 1),
        "keyword": (0, 1),
        "absent": (-1, 1),
    }
    vector: float = 0.7
    keyword: float = 0.3
    absent: float = 0.0

    @property
    def says(self) -> str:
        return (
            f"score = {self.vector:g} × vector score + {self.keyword:g} × keyword score, "
            f"where absent counts as {self.absent:g}"
        )

    def formula(self, of: Numbers) -> Any:
        return weighted_sum(
            filled(of["vector_score"], self.absent),
            filled(of["keyword_score"], self.absent),
            of.constant(self.vector),
            of.constant(self.keyword),
        )


@dataclass(frozen=True)
class AnsweredSum(WeightedSum):
    """`weighted_sum` over the weights of the legs that brought anything at all.

    A leg that is empty gives its weight away; one that answered, but not with this candidate, does not.
    """

    @property
    def says(self) -> str:
        return f"{super().says}; an empty leg's weight is not counted"

    def formula(self, of: Numbers) -> Any:
        vector = np.where(np.isnan(of.least("vector_score")), 0.0, of.constant(self.vector))
        keyword = np.where(np.isnan(of.least("keyword_score")), 0.0, of.constant(self.keyword))
        scores = filled(of["vector_score"], self.absent), filled(of["keyword_score"], self.absent)
        return weighted_sum(*scores, vector, keyword) / (vector + keyword)


@dataclass(frozen=True)
class WeightedRRF(Weighted):
    """`weighted_rrf` of the two ranks: an absent rank adds nothing, and takes nothing away."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {
        "vector": (0, 1),
        "keyword": (0, 1),
        "k": (0, 10_000),
    }
    vector: float = 0.7
    keyword: float = 0.3
    k: float = 60

    @property
    def says(self) -> str:
        return (
            f"score = ({self.vector:g} / ({self.k:g} + vector rank) + {self.keyword:g} / "
            f"({self.k:g} + keyword rank)) / maximum, where absent adds nothing"
        )

    def part(self, of: Numbers, leg: str) -> Any:
        most = first_in_both(self.weight(of, "vector"), self.weight(of, "keyword"), of.constant(self.k))
        return reciprocal_rank(of[f"{leg}_rank"], self.weight(of, leg), of.constant(self.k)) / most

    def formula(self, of: Numbers) -> Any:
        return weighted_rrf(
            of["vector_rank"],
            of["keyword_rank"],
            of.constant(self.vector),
            of.constant(self.keyword),
            of.constant(self.k),
        )


@dataclass(frozen=True)
class VectorAlone(ColumnStage):
    """The vector score alone, 0 where the vector leg dropped the candidate."""

    slot: ClassVar[str] = "fusion"
    output: ClassVar[str] = "score"
    says: ClassVar[str] = "score = vector score"

    def formula(self, of: Numbers) -> Any:
        return filled(of["vector_score"], 0.0)

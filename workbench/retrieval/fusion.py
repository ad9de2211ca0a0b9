"""The scores or ranks of the legs become one score.

Each function works on columns, on single numbers and on expressions (see `columns`).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from workbench.errors import InputError
from workbench.retrieval.columns import ColumnStage, Numbers, filled


def weighted_sum(scores: Sequence[Any], weights: Sequence[Any]) -> Any:
    """Σ weight × score: the convex combination when the weights sum to 1.

    Source: openclaw 2026.2.13, src/memory/hybrid.ts, mergeHybridResults.
    """
    return summed(weight * score for score, weight in zip(scores, weights, strict=True))


def reciprocal_rank(rank: Any, weight: Any, k: Any) -> Any:
    """weight / (k + rank), and 0 for an absent rank: one list's part of reciprocal rank fusion.

    Source: Cormack, Clarke, Büttcher, SIGIR 2009; ranks from 1, k = 60.
    """
    return np.where(np.isnan(rank), 0.0, weight / (k + rank))


def weighted_rrf(ranks: Sequence[Any], weights: Sequence[Any], k: Any) -> Any:
    """Weighted reciprocal rank fusion over its own maximum: a candidate that is first in every list scores 1.

    Source: fix 2 of openclaw#16021, normalised as the report suggests, by (Σ weights) / (k + 1);
    never shipped.
    """
    parts = [reciprocal_rank(rank, weight, k) for rank, weight in zip(ranks, weights, strict=True)]
    return summed(parts) / first_in_all(weights, k)


def first_in_all(weights: Sequence[Any], k: Any) -> Any:
    """The largest sum of reciprocal rank fusion: that of a candidate ranked first in every list."""
    return summed(weights) / (k + 1)


def summed(parts: Iterable[Any]) -> Any:
    """The sum from left to right, without a 0 in front that a printed formula would show."""
    return reduce(operator.add, parts)


def larger(*scores: Any) -> Any:
    """The largest of the scores that are present; absent if none is: CombMAX.

    Source: Fox and Shaw, TREC-2, 1994.
    """
    return reduce(_larger_of_two, scores)


def _larger_of_two(one: Any, other: Any) -> Any:
    both = np.maximum(filled(one, -np.inf), filled(other, -np.inf))
    return np.where(np.isnan(other), one, np.where(np.isnan(one), other, both))


def max_plus_min(one: Any, other: Any, share: Any) -> Any:
    """max(one, other) + share × min(one, other): 0 to 1 + share.

    Source: basicmachines-co/basic-memory, f5a0e942, #577, with a share of 0.3.
    """
    return np.maximum(one, other) + share * np.minimum(one, other)


MoreLegs = tuple[tuple[str, float], ...]
"""The weights of legs beside the vector and the keyword leg, by the name of the leg."""


@dataclass(frozen=True)
class Fusion(ColumnStage, slot="fusion", output="score", scale="fused"):
    """Base of a fusion that computes each leg's part of the score, and then the score from the parts.

    A subclass writes `description` and `part`, and also `together` where the score is not the sum of the
    parts.
    """

    @property
    def description(self) -> str:
        """The formula in one line."""
        raise NotImplementedError(f"{type(self).__name__} has no description")

    @property
    def legs(self) -> tuple[str, ...]:
        """The names of the legs that are fused."""
        return "vector", "keyword"

    def part(self, of: Numbers, leg: str) -> Any:
        """The leg's part of the score, for a candidate that the leg brought."""
        raise NotImplementedError(f"{type(self).__name__} has no part")

    def contributions(self, of: Numbers) -> tuple[Any, ...]:
        """The part of each of `legs`: NaN where the leg did not bring the candidate.

        They sum to the score in a class that writes `part` alone, in `WeightedRRF`, and in a `WeightedSum` or
        `AnsweredSum` whose `absent` is 0. Other classes write `together` or `formula`, and make another score
        of the parts: their maximum or mean, or their sum and a bonus.
        """
        return tuple(np.where(np.isnan(of[f"{leg}_rank"]), np.nan, self.part(of, leg)) for leg in self.legs)

    def together(self, *parts: Any) -> Any:
        """The score, from the parts: their sum, with 0 for an absent one."""
        return summed(filled(part, 0.0) for part in parts)

    def formula(self, of: Numbers) -> Any:
        return self.together(*self.contributions(of))


@dataclass(frozen=True)
class Weighted(Fusion):
    """Base of a fusion with a weight for each leg: `vector`, `keyword`, and `more` by name."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"vector": (0, 100), "keyword": (0, 100)}
    vector: float = 1.0
    keyword: float = 1.0
    more: MoreLegs = field(default=(), kw_only=True)

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each leg by its name."""
        return {"vector": self.vector, "keyword": self.keyword, **dict(self.more)}

    @property
    def legs(self) -> tuple[str, ...]:
        return tuple(self.weights)

    def weight(self, of: Numbers, leg: str) -> Any:
        """The weight of a leg."""
        return of.constant(self.weights[leg])

    @property
    def weights_in_words(self) -> str:
        """The weights, in the order of the legs."""
        return " and ".join(f"{weight:g}" for weight in self.weights.values())


@dataclass(frozen=True)
class WeightedSum(Weighted, scale="weighted sum"):
    """`weighted_sum` of the legs' scores, where an absent score counts as `absent`.

    With 0 for absent, a candidate of the vector leg alone keeps 70 % of its similarity: bug 2 of
    openclaw#16021.
    """

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {
        "vector": (0, 1),
        "keyword": (0, 1),
        "absent": (-1, 1),
    }
    vector: float = 0.7
    keyword: float = 0.3
    absent: float = 0.0

    @property
    def description(self) -> str:
        parts = " + ".join(f"{weight:g} × {self.score_name(leg)}" for leg, weight in self.weights.items())
        return f"score = {parts}, where absent counts as {self.absent:g}"

    def score_name(self, leg: str) -> str:
        """What the score of a leg is called."""
        return f"{leg} score"

    def share(self, leg: str) -> float:
        """The share of the score that a candidate lacks if the leg did not bring it, and absent counts as 0.

        >>> WeightedSum(0.7, 0.3).share("keyword")
        0.3
        """
        return 0.0 if self.absent else self.weights.get(leg, 0.0) / (sum(self.weights.values()) or 1.0)

    def part(self, of: Numbers, leg: str) -> Any:
        return self.weight(of, leg) * of[f"{leg}_score"]

    def contributions(self, of: Numbers) -> tuple[Any, ...]:
        """The part of each of `legs`: NaN where its score is absent.

        A score may be there without a rank: of a candidate that the leg did not bring, or of no leg at all.
        """
        return tuple(self.part(of, leg) for leg in self.legs)

    def formula(self, of: Numbers) -> Any:
        scores = [filled(of[f"{leg}_score"], self.absent) for leg in self.legs]
        return weighted_sum(scores, [self.weight(of, leg) for leg in self.legs])


@dataclass(frozen=True)
class AnsweredSum(WeightedSum):
    """`weighted_sum` over the weights of the legs that brought anything at all.

    The weight of an empty leg is not counted. The weight of a leg that brought other candidates is.
    Every score is 0 where all legs that brought something have the weight 0.
    """

    @property
    def description(self) -> str:
        return f"{super().description}; an empty leg's weight is not counted"

    def share(self, leg: str) -> float:
        """The weight of a leg that brought other candidates counts, so what is missing depends on them."""
        return 0.0

    def part(self, of: Numbers, leg: str) -> Any:
        return super().part(of, leg) / self._counted(of)

    def formula(self, of: Numbers) -> Any:
        scores = [filled(of[f"{leg}_score"], self.absent) for leg in self.weights]
        return weighted_sum(scores, self._answered(of)) / self._counted(of)

    def _answered(self, of: Numbers) -> list[Any]:
        """The weight of each leg, and 0 for one that brought nothing."""
        return [
            np.where(np.isnan(of.least(f"{leg}_score")), 0.0, of.constant(weight))
            for leg, weight in self.weights.items()
        ]

    def _counted(self, of: Numbers) -> Any:
        """The sum of the weights that count: 1 where it would be 0, since every score is 0 then."""
        counted = summed(self._answered(of))
        return np.where(counted == 0, 1.0, counted)


@dataclass(frozen=True)
class RankSum(Weighted):
    """Reciprocal rank fusion: Σ weight / (k + rank); ranks start at `first`, which is 1 or 0.

    Raises InputError if both `first` and `k` are 0: the first rank then divides by 0.
    """

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {
        **Weighted.ranges,
        "k": (0, 10_000),
        "first": (0, 1),
    }
    k: float = 60
    first: int = 1

    def __post_init__(self) -> None:
        if not self.first and not self.k:
            raise InputError(
                "With ranks from 0 and k = 0, the first rank divides by 0.", "Give a larger k, or first=1."
            )

    @property
    def description(self) -> str:
        return (
            f"score = Σ weight / ({self.k:g} + rank), ranks from {self.first}, "
            f"weights {self.weights_in_words}, where absent adds nothing"
        )

    def part(self, of: Numbers, leg: str) -> Any:
        rank = of[f"{leg}_rank"]
        return reciprocal_rank(rank if self.first else rank - 1, self.weight(of, leg), of.constant(self.k))


@dataclass(frozen=True)
class WeightedRRF(Weighted, scale="RRF / max"):
    """`weighted_rrf` of the legs' ranks: an absent rank adds nothing and costs nothing.

    Raises InputError if all weights are 0: the maximum, which divides the score, is then 0.
    """

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {
        "vector": (0, 1),
        "keyword": (0, 1),
        "k": (0, 10_000),
    }
    vector: float = 0.7
    keyword: float = 0.3
    k: float = 60

    def __post_init__(self) -> None:
        if not any(self.weights.values()):
            raise InputError(
                "All weights are 0, and the score is divided by their sum.", "Give one leg a weight above 0."
            )

    @property
    def description(self) -> str:
        parts = " + ".join(f"{weight:g} / ({self.k:g} + {leg} rank)" for leg, weight in self.weights.items())
        return f"score = ({parts}) / maximum, where absent adds nothing"

    def part(self, of: Numbers, leg: str) -> Any:
        most = first_in_all([self.weight(of, one) for one in self.legs], of.constant(self.k))
        return reciprocal_rank(of[f"{leg}_rank"], self.weight(of, leg), of.constant(self.k)) / most

    def formula(self, of: Numbers) -> Any:
        weights = [self.weight(of, leg) for leg in self.legs]
        return weighted_rrf([of[f"{leg}_rank"] for leg in self.legs], weights, of.constant(self.k))


@dataclass(frozen=True)
class OneLeg(ColumnStage, slot="fusion", output="score"):
    """The score of one leg alone, 0 where a stage has made that score absent."""

    leg: str = "vector"

    @property
    def description(self) -> str:
        return f"score = {self.leg} score"

    def formula(self, of: Numbers) -> Any:
        return filled(of[f"{self.leg}_score"], 0.0)

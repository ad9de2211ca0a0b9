"""The fusion formulas of search engines, one class per formula.

Scores are larger-is-better, ranks start at 1, and absent is NaN. `presets` holds the engines and their
parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from workbench.retrieval.columns import Numbers, filled
from workbench.retrieval.fusion import (
    Fusion,
    Weighted,
    geometric_mean,
    harmonic_mean,
    larger,
    legs_present,
    max_plus_min,
    reciprocal_rank,
)
from workbench.systems.engines.scales import AS_GIVEN, MIN_MAX_OR_ZERO, Normalisation


@dataclass(frozen=True)
class RankSum(Weighted):
    """Reciprocal rank fusion: Σ weight / (k + rank); ranks start at `first`, which is 1 or 0."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {
        **Weighted.ranges,
        "k": (0, 10_000),
        "first": (0, 1),
    }
    k: float = 60
    first: int = 1

    @property
    def says(self) -> str:
        return (
            f"score = Σ weight / ({self.k:g} + rank), ranks from {self.first}, "
            f"weights {self.weights_in_words}, where absent adds nothing"
        )

    def part(self, of: Numbers, leg: str) -> Any:
        rank = of[f"{leg}_rank"]
        return reciprocal_rank(rank if self.first else rank - 1, self.weight(of, leg), of.constant(self.k))


@dataclass(frozen=True)
class QdrantRankSum(Weighted):
    """Σ 1 / (rank / weight + k - 1): the weight divides the rank, and a weight of 0 switches the leg off."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {**Weighted.ranges, "k": (1, 10_000)}
    k: float = 2

    @property
    def says(self) -> str:
        return (
            f"score = Σ 1 / ({self.k:g} + rank / weight - 1), weights {self.weights_in_words}, "
            "where absent adds nothing"
        )

    def part(self, of: Numbers, leg: str) -> Any:
        weight = self.weight(of, leg)
        slowed = of[f"{leg}_rank"] / np.where(weight > 0, weight, 1.0) - 1
        return np.where(weight > 0, reciprocal_rank(slowed, 1.0, of.constant(self.k)), 0.0)


@dataclass(frozen=True)
class WeightedScores(Weighted):
    """The convex combination: Σ weight × normalised score, where absent adds nothing."""

    of_vector: Normalisation = AS_GIVEN
    of_keyword: Normalisation = AS_GIVEN
    of_more: Normalisation = field(default=AS_GIVEN, kw_only=True)

    @property
    def says(self) -> str:
        parts = (f"{weight:g} × {_scale(self, leg)}" for leg, weight in self.weights.items())
        return f"score = {' + '.join(parts)}, where absent adds nothing"

    def part(self, of: Numbers, leg: str) -> Any:
        return self.weight(of, leg) * _normalised(self, of, leg)


@dataclass(frozen=True)
class SharedWeightedScores(WeightedScores):
    """The convex combination divided by the number of queries; all queries but one find nothing here."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {**Weighted.ranges, "queries": (1, 100)}
    queries: float = 1

    @property
    def says(self) -> str:
        return f"{super().says}, over {self.queries:g} {'query' if self.queries == 1 else 'queries'}"

    def part(self, of: Numbers, leg: str) -> Any:
        return super().part(of, leg) / of.constant(self.queries)


@dataclass(frozen=True)
class ScoreSum(Fusion):
    """CombSUM: the sum of the normalised scores, without weights."""

    of_vector: Normalisation = MIN_MAX_OR_ZERO
    of_keyword: Normalisation = MIN_MAX_OR_ZERO
    of_more: Normalisation = field(default=MIN_MAX_OR_ZERO, kw_only=True)
    more: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def legs(self) -> tuple[str, ...]:
        return "vector", "keyword", *self.more

    @property
    def says(self) -> str:
        return f"score = {_scales(self, ' + ')}, where absent adds nothing"

    def part(self, of: Numbers, leg: str) -> Any:
        return _normalised(self, of, leg)


@dataclass(frozen=True)
class ScoreSumTimesLegs(ScoreSum):
    """CombMNZ: the sum of the normalised scores times the number of legs that found the candidate."""

    @property
    def says(self) -> str:
        return f"score = legs × ({_scales(self, ' + ')}), where absent adds nothing"

    def together(self, *parts: Any) -> Any:
        return legs_present(*parts) * super().together(*parts)


@dataclass(frozen=True)
class LargerScore(ScoreSum):
    """CombMAX: the larger of the normalised scores."""

    @property
    def says(self) -> str:
        return f"score = the larger of {_scales(self, ' and ')}"

    def together(self, *parts: Any) -> Any:
        return larger(*parts)


@dataclass(frozen=True)
class LargerPlusShare(ScoreSum):
    """`max_plus_min` of the normalised scores, where an absent score counts as 0."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"share": (0, 1)}
    share: float = 0.3

    @property
    def says(self) -> str:
        return f"score = the larger of {_scales(self, ' and ')}, plus {self.share:g} × the smaller"

    def together(self, *parts: Any) -> Any:
        scores = [filled(part, 0.0) for part in parts]
        return reduce(lambda one, other: max_plus_min(one, other, self.share), scores)


@dataclass(frozen=True)
class GeometricMean(ScoreSum):
    """The weighted geometric mean of the normalised scores; absent scores are left out."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = Weighted.ranges
    kind: ClassVar[str] = "geometric mean"
    vector: float = 0.5
    keyword: float = 0.5
    weight_of_more: float = field(default=0.5, kw_only=True)

    @property
    def weights(self) -> list[float]:
        """The weight of each of `legs`."""
        return [self.vector, self.keyword, *[self.weight_of_more] * len(self.more)]

    @property
    def says(self) -> str:
        return (
            f"score = the {self.kind} of {_scales(self, ' and ')}, "
            f"weights {' and '.join(f'{one:g}' for one in self.weights)}, where absent is left out"
        )

    def together(self, *parts: Any) -> Any:
        return geometric_mean(parts, self.weights)


@dataclass(frozen=True)
class HarmonicMean(GeometricMean):
    """The weighted harmonic mean of the normalised scores; absent scores are left out."""

    kind: ClassVar[str] = "harmonic mean"

    def together(self, *parts: Any) -> Any:
        return harmonic_mean(parts, self.weights)


def _normalisation(stage: WeightedScores | ScoreSum, leg: str) -> Normalisation:
    return {"vector": stage.of_vector, "keyword": stage.of_keyword}.get(leg, stage.of_more)


def _normalised(stage: WeightedScores | ScoreSum, of: Numbers, leg: str) -> Any:
    return _normalisation(stage, leg).of(of, f"{leg}_score")


def _scale(stage: WeightedScores | ScoreSum, leg: str) -> str:
    return f"{leg} ({_normalisation(stage, leg).says})"


def _scales(stage: WeightedScores | ScoreSum, between: str) -> str:
    return between.join(_scale(stage, leg) for leg in stage.legs)

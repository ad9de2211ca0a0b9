"""The fusion formulas of search engines, and how engines normalise the scores of a leg.

Scores are larger-is-better, ranks start at 1, and absent is NaN. `presets` holds the engines with their
parameters. The rule for a single hit or for equal scores decides whether a leg with exactly one hit has any
weight; few engines document it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, ClassVar, Protocol

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
from workbench.retrieval.scoring import (
    clamped_rank,
    min_max,
    over_largest,
    population_deviation,
    relevance,
    three_sigma,
)

# Rules for a list whose scores are all equal. Each function takes the score.


def one(_: Any) -> Any:
    """1.0: the leg keeps its full weight."""
    return 1.0


def zero(_: Any) -> Any:
    """0.0: the leg has no effect."""
    return 0.0


def one_half(_: Any) -> Any:
    """0.5: the middle of the range."""
    return 0.5


def itself(score: Any) -> Any:
    """The score itself, on its original scale."""
    return score


def its_sign(score: Any) -> Any:
    """1.0 for a score above 0, else 0.0."""
    return np.where(score > 0, 1.0, 0.0)


def no_number(_: Any) -> Any:
    """NaN, the result of 0 / 0."""
    return np.nan


class Normalisation(Protocol):
    """A normalisation of one leg's scores; it works on columns and on terms."""

    @property
    def says(self) -> str: ...

    def of(self, numbers: Numbers, score: str) -> Any:
        """The column `score`, normalised over the candidates that have a score."""


@dataclass(frozen=True)
class AsGiven:
    """The score without normalisation."""

    says: ClassVar[str] = "score"

    def of(self, numbers: Numbers, score: str) -> Any:
        return numbers[score]


@dataclass(frozen=True)
class MinMax:
    """From 0 for the leg's worst hit to 1 for its best; `equal` is the rule for equal scores."""

    equal: Callable[[Any], Any] = one

    @property
    def says(self) -> str:
        return f"min-max, equal scores: {self.equal.__name__.replace('_', ' ')}"

    def of(self, numbers: Numbers, score: str) -> Any:
        given = numbers[score]
        return min_max(given, numbers.greatest(score), numbers.least(score), self.equal(given))


@dataclass(frozen=True)
class OpenSearchMinMax(MinMax):
    """Min-max in which the worst hit gets 0.001, so that it differs from an absent one.

    Simplified: float64 instead of float32. Lucene's scores are never negative; OpenSearch would scale a list
    of negative scores up to 0.
    """

    least: float = 0.001

    @property
    def says(self) -> str:
        return f"min-max, the worst: {self.least:g}"

    def of(self, numbers: Numbers, score: str) -> Any:
        scaled = super().of(numbers, score)
        return np.where(scaled == 0, self.least, scaled)


@dataclass(frozen=True)
class ElasticsearchMinMax(MinMax):
    """Min-max; a list whose scores differ by less than 1e-6 gets its lowest raw score instead."""

    equal: Callable[[Any], Any] = itself
    within: float = 1e-6

    def of(self, numbers: Numbers, score: str) -> Any:
        low = numbers.least(score)
        return np.where(numbers.greatest(score) - low < self.within, low, super().of(numbers, score))


@dataclass(frozen=True)
class FromInfimum:
    """Theoretical min-max: from the lowest possible score, not from the lowest score of the list."""

    infimum: float = 0.0

    @property
    def says(self) -> str:
        return f"min-max from {self.infimum:g}"

    def of(self, numbers: Numbers, score: str) -> Any:
        worst = numbers.constant(self.infimum)
        return min_max(numbers[score], numbers.greatest(score), worst, equal=np.nan)


@dataclass(frozen=True)
class OverLargest:
    """The score divided by the leg's best score, so the best hit gets 1 even if it is weak."""

    says: ClassVar[str] = "over the largest"

    def of(self, numbers: Numbers, score: str) -> Any:
        return over_largest(numbers[score], numbers.greatest(score))


@dataclass(frozen=True)
class ThreeSigma:
    """Min-max with the bounds mean ± 3 standard deviations of the leg's hits."""

    equal: Callable[[Any], Any] = one_half
    deviation: Callable[[Any], float] = population_deviation

    @property
    def says(self) -> str:
        which, equal = self.deviation.__name__.split("_")[0], self.equal.__name__.replace("_", " ")
        return f"mean ± 3 {which} deviations, equal scores: {equal}"

    def of(self, numbers: Numbers, score: str) -> Any:
        given = numbers[score]
        mean, deviation = numbers.over(np.mean, score), numbers.over(self.deviation, score)
        return three_sigma(given, mean, deviation, self.equal(given))


@dataclass(frozen=True)
class BM25Conversion:
    """A conversion of BM25 that expects FTS5's negative numbers."""

    convert: Callable[[Any], Any]

    @property
    def says(self) -> str:
        return self.convert.__name__.replace("_", " ")

    def of(self, numbers: Numbers, score: str) -> Any:
        return self.convert(-numbers[score])


SATURATING = BM25Conversion(relevance)
CLAMPED = BM25Conversion(clamped_rank)
AS_GIVEN = AsGiven()
SHARE = OverLargest()
MIN_MAX_OR_ZERO = MinMax(zero)


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

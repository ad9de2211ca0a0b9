"""The fusion formulas of search engines, and how engines normalise the scores of a leg.

Scores are larger-is-better, ranks start at 1, and absent is NaN. `presets` holds the engines with their
parameters. The rule for a single hit or for equal scores decides whether a leg with exactly one hit has any
weight; few engines document it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, ClassVar, Protocol

import numpy as np

from workbench.errors import InputError
from workbench.records import Floats
from workbench.retrieval.columns import Numbers, filled
from workbench.retrieval.expressions import STATISTICS
from workbench.retrieval.fusion import (
    Fusion,
    RankSum,
    Weighted,
    larger,
    max_plus_min,
    reciprocal_rank,
    summed,
    weighted_sum,
)
from workbench.retrieval.scoring import clamped_rank, min_max, over_largest, relevance

# Parts of several legs


def legs_present(*scores: Any) -> Any:
    """How many of the legs brought the candidate."""
    return summed(np.where(np.isnan(score), 0.0, 1.0) for score in scores)


def geometric_mean(scores: Sequence[Any], weights: Sequence[Any]) -> Any:
    """exp(Σ w ln s / Σ w) over the scores above 0; a score that is absent or not above 0 is in neither sum.

    Source: OpenSearch neural-search, GeometricMeanScoreCombinationTechnique.
    """
    counted = [_counted(score, weight) for score, weight in zip(scores, weights, strict=True)]
    total = summed(counted)
    logs = weighted_sum([np.log(_above_zero(score)) for score in scores], counted)
    return np.where(total == 0, 0.0, np.exp(logs / np.where(total == 0, 1.0, total)))


def harmonic_mean(scores: Sequence[Any], weights: Sequence[Any]) -> Any:
    """Σ w / Σ (w / s) over the scores above 0; a score that is absent or not above 0 is in neither sum.

    Source: OpenSearch neural-search, HarmonicMeanScoreCombinationTechnique.
    """
    counted = [_counted(score, weight) for score, weight in zip(scores, weights, strict=True)]
    total = summed(counted)
    inverse = summed(weight / _above_zero(score) for score, weight in zip(scores, counted, strict=True))
    return np.where(total == 0, 0.0, total / np.where(total == 0, 1.0, inverse))


def _counted(score: Any, weight: Any) -> Any:
    return np.where(score > 0, weight, 0.0)


def _above_zero(score: Any) -> Any:
    return np.where(score > 0, score, 1.0)


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
    def description(self) -> str: ...

    def of(self, numbers: Numbers, score: str) -> Any:
        """The column `score`, normalised over the candidates that have a score."""


@dataclass(frozen=True)
class AsGiven:
    """The score without normalisation."""

    description: ClassVar[str] = "score"

    def of(self, numbers: Numbers, score: str) -> Any:
        return numbers[score]


@dataclass(frozen=True)
class MinMax:
    """From 0 for the leg's worst hit to 1 for its best; `equal` is the rule for equal scores."""

    equal: Callable[[Any], Any] = one

    @property
    def description(self) -> str:
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
    def description(self) -> str:
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
    def description(self) -> str:
        return f"min-max from {self.infimum:g}"

    def of(self, numbers: Numbers, score: str) -> Any:
        worst = numbers.constant(self.infimum)
        return min_max(numbers[score], numbers.greatest(score), worst, equal=np.nan)


@dataclass(frozen=True)
class OverLargest:
    """The score divided by the leg's best score, so the best hit gets 1 even if it is weak."""

    description: ClassVar[str] = "over the largest"

    def of(self, numbers: Numbers, score: str) -> Any:
        return over_largest(numbers[score], numbers.greatest(score))


def population_deviation(scores: Floats) -> float:
    """The standard deviation, by n; exactly 0 for equal numbers, which rounding would deny."""
    return 0.0 if np.ptp(scores) == 0 else float(np.std(scores))


def rounded_deviation(scores: Floats, fewer: int = 0) -> float:
    """The standard deviation, by n - `fewer`, with rounding as Python's `sum` has it; 0 for one number.

    Three equal scores of 0.4 may then deviate from their mean.
    """
    values = scores.tolist()
    mean = sum(values) / len(values)
    return float((sum((value - mean) ** 2 for value in values) / max(1, len(values) - fewer)) ** 0.5)


def sample_deviation(scores: Floats) -> float:
    """`rounded_deviation` by n - 1."""
    return rounded_deviation(scores, fewer=1)


@dataclass(frozen=True)
class ThreeSigma:
    """Min-max with the bounds mean ± 3 standard deviations of the leg's hits.

    Source: distribution-based score fusion, as in qdrant_client/hybrid/fusion.py.
    """

    equal: Callable[[Any], Any] = one_half
    deviation: Callable[[Floats], float] = population_deviation

    @property
    def description(self) -> str:
        which, equal = self.deviation.__name__.split("_")[0], self.equal.__name__.replace("_", " ")
        return f"mean ± 3 {which} deviations, equal scores: {equal}"

    def of(self, numbers: Numbers, score: str) -> Any:
        mean, three = numbers.over(_mean, score), 3 * numbers.over(self.deviation, score)
        return min_max(numbers[score], mean + three, mean - three, self.equal(numbers[score]))


def _mean(scores: Floats) -> float:
    return float(sum(scores.tolist()) / scores.size)


@dataclass(frozen=True)
class BM25Conversion:
    """A conversion of BM25 that expects FTS5's negative numbers."""

    convert: Callable[[Any], Any]

    @property
    def description(self) -> str:
        return self.convert.__name__.replace("_", " ")

    def of(self, numbers: Numbers, score: str) -> Any:
        return self.convert(-numbers[score])


SATURATING = BM25Conversion(relevance)
CLAMPED = BM25Conversion(clamped_rank)


@dataclass(frozen=True)
class HalvedCosine:
    """(1 + cosine) / 2: most cosines lie in the upper half of 0 to 1. Source: Milvus, norm_score."""

    description: ClassVar[str] = "(1 + cosine) / 2"

    def of(self, numbers: Numbers, score: str) -> Any:
        return (1 + numbers[score]) / 2


@dataclass(frozen=True)
class ArcTangent:
    """2 / π × atan(score): a large BM25 number is nearly 1. Source: Milvus, norm_score."""

    description: ClassVar[str] = "2 / π × atan(score)"

    def of(self, numbers: Numbers, score: str) -> Any:
        return numbers.constant(2 / np.pi) * np.arctan(numbers[score])


AS_GIVEN = AsGiven()
SHARE = OverLargest()
MIN_MAX_OR_ZERO = MinMax(zero)


@dataclass(frozen=True)
class QdrantRankSum(Weighted):
    """Σ 1 / (rank / weight + k - 1): the weight divides the rank, and a weight of 0 switches the leg off."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {**Weighted.ranges, "k": (1, 10_000)}
    k: float = 2

    @property
    def description(self) -> str:
        return (
            f"score = Σ 1 / ({self.k:g} + rank / weight - 1), weights {self.weights_in_words}, "
            "where absent adds nothing"
        )

    def part(self, of: Numbers, leg: str) -> Any:
        weight = self.weight(of, leg)
        with np.errstate(over="ignore"):  # a rank by the smallest of weights is infinite, and its part 0
            slowed = of[f"{leg}_rank"] / np.where(weight > 0, weight, 1.0) - 1
        return np.where(weight > 0, reciprocal_rank(slowed, 1.0, of.constant(self.k)), 0.0)


@dataclass(frozen=True)
class CreditedRankSum(RankSum):
    """Reciprocal rank fusion that gives an absent candidate the rank `limit`: COALESCE(rank, limit)."""

    limit: float = 3

    @property
    def description(self) -> str:
        return super().description.replace("absent adds nothing", f"absent has rank {self.limit:g}")

    def contributions(self, of: Numbers) -> tuple[Any, ...]:
        return tuple(
            reciprocal_rank(
                filled(of[f"{leg}_rank"] - (1 - self.first), self.limit),
                self.weight(of, leg),
                of.constant(self.k),
            )
            for leg in self.legs
        )


@dataclass(frozen=True)
class WeightedScores(Weighted):
    """The convex combination: Σ weight × normalised score, where absent adds nothing."""

    of_vector: Normalisation = AS_GIVEN
    of_keyword: Normalisation = AS_GIVEN
    of_more: Normalisation = field(default=AS_GIVEN, kw_only=True)

    @property
    def description(self) -> str:
        parts = (f"{weight:g} × {_scale(self, leg)}" for leg, weight in self.weights.items())
        return f"score = {' + '.join(parts)}, where absent adds nothing"

    def part(self, of: Numbers, leg: str) -> Any:
        return self.weight(of, leg) * _normalised(self, of, leg)


@dataclass(frozen=True)
class WeightedUnlessAlone(WeightedScores):
    """The convex combination; if one list is empty, the scores of the other stay as they are."""

    @property
    def description(self) -> str:
        return f"{super().description}; a list beside an empty one keeps its scores"

    def weight(self, of: Numbers, leg: str) -> Any:
        other = of.greatest("keyword_rank" if leg == "vector" else "vector_rank")
        return np.where(np.isnan(other), 1.0, super().weight(of, leg))


@dataclass(frozen=True)
class WeightedMeanOfScores(WeightedScores):
    """The convex combination of any weights: each is divided by their sum.

    Raises InputError for weights that sum to 0. Source: haystack 3.4.1, DocumentJoiner, and llama-index-core
    0.14.25, QueryFusionRetriever.
    """

    def __post_init__(self) -> None:
        if not sum(self.weights.values()):
            raise InputError(
                "The weights of the legs sum to 0, and each is divided by that sum.",
                "Give one leg a weight above 0.",
            )

    @property
    def description(self) -> str:
        return f"{super().description}; each weight is divided by their sum"

    def weight(self, of: Numbers, leg: str) -> Any:
        return super().weight(of, leg) / summed(of.constant(one) for one in self.weights.values())


@dataclass(frozen=True)
class SharedWeightedScores(WeightedMeanOfScores):
    """The convex combination divided by the number of queries; all queries but one find nothing here."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {**Weighted.ranges, "queries": (1, 100)}
    queries: float = 1

    @property
    def description(self) -> str:
        return f"{super().description}, over {self.queries:g}, the number of queries"

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
    def description(self) -> str:
        return f"score = {_scales(self, ' + ')}, where absent adds nothing"

    def part(self, of: Numbers, leg: str) -> Any:
        return _normalised(self, of, leg)


@dataclass(frozen=True)
class ScoreSumTimesLegs(ScoreSum):
    """CombMNZ: the sum of the normalised scores times the number of legs that found the candidate."""

    @property
    def description(self) -> str:
        return f"score = legs × ({_scales(self, ' + ')}), where absent adds nothing"

    def together(self, *parts: Any) -> Any:
        return legs_present(*parts) * super().together(*parts)


@dataclass(frozen=True)
class LargerScore(ScoreSum):
    """CombMAX: the larger of the normalised scores."""

    @property
    def description(self) -> str:
        return f"score = the larger of {_scales(self, ' and ')}"

    def together(self, *parts: Any) -> Any:
        return larger(*parts)


@dataclass(frozen=True)
class LargerPlusShare(ScoreSum):
    """`max_plus_min` of the normalised scores, where an absent score counts as 0."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"share": (0, 1)}
    share: float = 0.3

    @property
    def description(self) -> str:
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
    def description(self) -> str:
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


LARGEST_LOGIT = 500.0
LEAST_PROBABILITY = 1e-10


@dataclass(frozen=True)
class LogOdds(Fusion):
    """The weighted sum of log-odds as a probability: the keyword score must be one, from 0 to 1.

    A vector score counts in standard deviations from the median, both of the scores above 0. The sum is
    multiplied by the square root of 2 for a candidate of both legs. Source: txtai 9.14, LogOdds.
    """

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = Weighted.ranges
    vector: float = 0.5
    keyword: float = 0.5

    @property
    def description(self) -> str:
        return (
            f"score = 1 / (1 + exp(-x)), x = {self.vector:g} × (vector score - median) / deviation + "
            f"{self.keyword:g} × log(p / (1 - p)) of the keyword score p, × √2 for both, where absent adds "
            "nothing"
        )

    def part(self, of: Numbers, leg: str) -> Any:
        score = of[f"{leg}_score"]
        if leg == "vector":
            deviation = of.over(_positive_deviation, "vector_score")
            logit = (score - of.over(_positive_median, "vector_score")) / deviation
            return self.vector * np.maximum(-LARGEST_LOGIT, np.minimum(logit, LARGEST_LOGIT))
        probability = np.minimum(np.maximum(score, LEAST_PROBABILITY), 1 - LEAST_PROBABILITY)
        return self.keyword * np.log(probability / (1 - probability))

    def together(self, *parts: Any) -> Any:
        scale = np.where(legs_present(*parts) == 2, np.sqrt(2), 1.0)
        return 1 / (1 + np.exp(-scale * super().together(*parts)))


def _positive_median(scores: Floats) -> float:
    """The upper median of the scores above 0; 0 without one."""
    positive = np.sort(scores[scores > 0])
    return float(positive[positive.size // 2]) if positive.size else 0.0


def _positive_deviation(scores: Floats) -> float:
    """The standard deviation of the scores above 0, by n; 1 where it is 0 or there is no such score."""
    positive = scores[scores > 0]
    return (float(np.std(positive)) if positive.size else 0.0) or 1.0


STATISTICS.update(
    {one: one.__name__.strip("_") for one in (population_deviation, rounded_deviation, sample_deviation)}
    | {one: one.__name__.strip("_") for one in (_mean, _positive_median, _positive_deviation)}
)


def _normalisation(stage: WeightedScores | ScoreSum, leg: str) -> Normalisation:
    return {"vector": stage.of_vector, "keyword": stage.of_keyword}.get(leg, stage.of_more)


def _normalised(stage: WeightedScores | ScoreSum, of: Numbers, leg: str) -> Any:
    score = f"{leg}_score"
    return np.where(np.isnan(of[score]), np.nan, _normalisation(stage, leg).of(of, score))


def _scale(stage: WeightedScores | ScoreSum, leg: str) -> str:
    return f"{leg} ({_normalisation(stage, leg).description})"


def _scales(stage: WeightedScores | ScoreSum, between: str) -> str:
    return between.join(_scale(stage, leg) for leg in stage.legs)

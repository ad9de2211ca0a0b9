"""How engines normalise the scores of a leg, and what they do if all scores of a list are equal.

Scores are larger-is-better. The rule for a single hit or for equal scores decides whether a leg with exactly
one hit has any weight; few engines document it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from workbench.retrieval.columns import Numbers
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

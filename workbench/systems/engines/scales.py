"""How engines put a leg's scores on another scale, and what each makes of a list whose scores are all equal.

Scores are larger-is-better. What an engine says about one hit, or about equal ones, decides whether a leg
that found exactly one thing counts or vanishes; hardly any documents it.
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

# What a score becomes in a list whose scores are all equal: each takes the score itself.


def one(_: Any) -> Any:
    """1.0: the leg keeps its whole weight."""
    return 1.0


def zero(_: Any) -> Any:
    """0.0: the leg vanishes."""
    return 0.0


def one_half(_: Any) -> Any:
    """0.5: the middle of the range."""
    return 0.5


def itself(score: Any) -> Any:
    """The score as it was, on whatever scale that is."""
    return score


def its_sign(score: Any) -> Any:
    """1.0 for a score above 0, or else 0.0."""
    return np.where(score > 0, 1.0, 0.0)


def no_number(_: Any) -> Any:
    """0 / 0: not a number."""
    return np.nan


class Normalisation(Protocol):
    """A leg's scores on another scale: a column or a term, whatever `of` gives."""

    @property
    def says(self) -> str: ...

    def of(self, numbers: Numbers, score: str) -> Any:
        """The column `score`, normalised over the candidates that have it."""


@dataclass(frozen=True)
class AsGiven:
    """The score as the engine gives it."""

    says: ClassVar[str] = "score"

    def of(self, numbers: Numbers, score: str) -> Any:
        return numbers[score]


@dataclass(frozen=True)
class MinMax:
    """From 0 for the worst of the leg's hits to 1 for the best; `equal` says what equal scores become."""

    equal: Callable[[Any], Any] = one

    @property
    def says(self) -> str:
        return f"min-max, equal scores: {self.equal.__name__.replace('_', ' ')}"

    def of(self, numbers: Numbers, score: str) -> Any:
        given = numbers[score]
        return min_max(given, numbers.greatest(score), numbers.least(score), self.equal(given))


@dataclass(frozen=True)
class OpenSearchMinMax(MinMax):
    """Min-max in which a list's worst hit gets 0.001, so that it is told from an absent one.

    Simplified: float64 for float32. Lucene's scores are never negative, and a list of negative ones would
    be scaled up to 0 there.
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
    """Min-max in which a list whose scores are within 1e-6 keeps its lowest score, on its own scale."""

    equal: Callable[[Any], Any] = itself
    within: float = 1e-6

    def of(self, numbers: Numbers, score: str) -> Any:
        low = numbers.least(score)
        return np.where(numbers.greatest(score) - low < self.within, low, super().of(numbers, score))


@dataclass(frozen=True)
class FromInfimum:
    """Min-max from the least score that can be, not the least one there is: theoretical min-max."""

    infimum: float = 0.0

    @property
    def says(self) -> str:
        return f"min-max from {self.infimum:g}"

    def of(self, numbers: Numbers, score: str) -> Any:
        worst = numbers.constant(self.infimum)
        return min_max(numbers[score], numbers.greatest(score), worst, equal=np.nan)


@dataclass(frozen=True)
class OverLargest:
    """The share of the leg's best score, which is 1 however weak the best one is."""

    says: ClassVar[str] = "over the largest"

    def of(self, numbers: Numbers, score: str) -> Any:
        return over_largest(numbers[score], numbers.greatest(score))


@dataclass(frozen=True)
class ThreeSigma:
    """Min-max between three standard deviations below and above the mean of the leg's hits."""

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
    """A BM25 score through a function that was made for FTS5's negative numbers."""

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

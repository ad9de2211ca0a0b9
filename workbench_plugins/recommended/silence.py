"""Whether to return anything: the probability that anything here answers the question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from workbench.contracts import Context
from workbench.errors import InputError
from workbench.records import Floats, Trace
from workbench.retrieval.columns import ColumnStage, Numbers
from workbench.retrieval.cutoff import MinScore
from workbench_plugins.recommended.layout import passages_of

FEATURES = ("intercept", "vector", "rare")
"""Of some twenty kinds of evidence, these two say best what a collection without the answer lacks."""


@dataclass(frozen=True)
class Calibration:
    """A logistic regression over what the best files have, and the model for whose vectors it was fitted."""

    weights: tuple[tuple[str, float], ...] = ()
    model: str = ""

    def __post_init__(self) -> None:
        unknown = sorted({name for name, _ in self.weights} ^ set(FEATURES)) if self.weights else []
        if unknown:
            raise InputError(
                f"The calibration does not fit this workbench: {', '.join(unknown)}.",
                f"It needs a weight for each of {', '.join(FEATURES)}.",
            )

    def check(self, model: str) -> None:
        """Raises InputError for an index whose vectors are of another model than the calibration's."""
        if model != self.model:
            fitted = f"fitted for the model {self.model}" if self.model else "not fitted for any model"
            raise InputError(
                f"The calibration was {fitted}, and this index has {model or 'no model on this machine'}.",
                "Fit one with benchmarks/fit.py --model, or index with the calibration's model.",
            )


@dataclass(frozen=True)
class Answerable(ColumnStage, slot="answerable", scale="probability", observed=("calibrated",)):
    """The probability that anything here answers the question, the same for every candidate.

    It looks at the best cosine of a passage, and at how well any chunk has both of the question's two rarest
    words: a near miss lacks the one word that matters. A calibration that was fitted for another model is
    refused. The probability is then unknown: nothing is held back, and the trace says so.
    """

    calibration: Calibration = field(default_factory=Calibration)

    says: ClassVar[str] = (
        "answerable = the probability that anything here answers, from the best passage and from the "
        "best match of the question's two rarest words"
    )

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        return {"calibrated": np.ones(trace.rows.size)}

    def run(self, trace: Trace, context: Context) -> Trace:
        found = passages_of(context.index)
        try:
            self.calibration.check(found.model if found else "")
        except InputError as error:
            note = f"Whether anything here answers is unknown. {error.problem} So nothing is held back."
            blank = {name: np.full(trace.rows.size, np.nan) for name in self.observed}
            known = {self.output: np.ones(trace.rows.size)}
            return replace(trace, columns={**trace.columns, **blank, **known}, notes=(*trace.notes, note))
        return super().run(trace, context)

    def formula(self, of: Numbers) -> Any:
        weight = {name: of.constant(value) for name, value in self.calibration.weights}
        weight = weight or dict.fromkeys(FEATURES, of.constant(0.0))
        log_odds = (
            weight["intercept"]
            + weight["vector"] * of.greatest("vector_score")
            + weight["rare"] * of.greatest("rare_words")
        )
        return np.where(np.isnan(of["calibrated"]), 1.0, 1 / (1 + np.exp(-log_odds)))


@dataclass(frozen=True)
class SilenceFloor(MinScore):
    """Returns nothing when P(answerable), the probability that anything here answers, is below `floor`.

    `floor` is 1 - w / 100, where w is how many wrong answers among a hundred you accept in such a case.
    """

    floor: float = 0.5
    of: str = "answerable"
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"floor": (0, 1)}

    @property
    def says(self) -> str:
        return f"floor: return nothing if P(answerable) < {self.floor:g}"


def accepting(wrong_per_hundred: float) -> SilenceFloor:
    """The floor that accepts so many wrong answers in a hundred. Raises InputError beyond 0 to 100.

    >>> accepting(25).floor
    0.75
    """
    if not 0 <= wrong_per_hundred <= 100:
        raise InputError(f"{wrong_per_hundred} wrong answers in a hundred cannot be.", "Give 0 to 100.")
    return SilenceFloor(1 - wrong_per_hundred / 100)

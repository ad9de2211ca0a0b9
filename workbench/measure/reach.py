"""Find answers that a pipeline's settings make impossible, without a search."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np

from workbench.contracts import Index, Observer
from workbench.errors import InputError
from workbench.records import KEPT, Floats, Trace, Vector
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.cutoff import MinScore, Order
from workbench.retrieval.expressions import Expression
from workbench.retrieval.legs import LegStage, legs_of
from workbench.retrieval.pipeline import Pipeline, run


@dataclass(frozen=True)
class Reach:
    """The highest score that a candidate of one leg alone can get, whether it passes, and its formula."""

    leg: str
    score: float
    floor: float
    formula: Expression

    @property
    def passes(self) -> bool:
        """Whether the score reaches the floor."""
        return self.score >= self.floor


def reach(pipeline: Pipeline, leg: str) -> Reach | None:
    """The reach of a leg, computed by the pipeline's own stages on a perfect candidate.

    Perfect means first in its leg, with the best raw number, and absent from the other legs: alone, or above
    as many equal hits as the leg may bring, since some scales depend on the other hits. These are the worst
    hits, or better ones, whichever gives the higher score. None if the pipeline does not ask that leg, and if
    its score needs more than numbers, such as the candidate's text.
    """
    asked = [one for one in legs_of(pipeline.stages) if one.name == leg]
    if not asked:
        return None
    found = [
        scored for trial in _trials(pipeline, asked[0]) if (scored := _scored(pipeline, trial)) is not None
    ]
    if not found:
        return None
    column = _compared(pipeline)
    if any(column not in trace.columns for trace in found):
        return None
    best = reduce(lambda one, other: _higher(one, other, column), found)
    writers = [one for one in pipeline.stages if isinstance(one, ColumnStage) and column in one.writes()]
    if not writers:  # a leg's own number has no formula
        return None
    (writer,) = writers
    formula = writer.in_row(best.columns, 0)
    return Reach(leg, float(best.columns[column][0]), pipeline.floor, formula)


def _higher(one: Trace, other: Trace, column: str) -> Trace:
    """The trace whose perfect candidate scores higher; the first one if the scores are equal or absent."""
    first, second = (np.nan_to_num(trace.columns[column][0], nan=-np.inf) for trace in (one, other))
    return other if second > first and not math.isclose(first, second, rel_tol=ROUNDING) else one


def reaches(pipeline: Pipeline) -> dict[str, Reach | None]:
    """The reach of each leg that the pipeline asks; None where its score needs more than numbers."""
    names = sorted((leg.name for leg in legs_of(pipeline.stages)), key=lambda name: name != "vector")
    return {name: reach(pipeline, name) for name in names}


NEARER = (0.4999, 0.001)
"""How far other hits than the worst are from the perfect one, as shares of the way from it to the worst.

A scale may skip cosines that are not above 0, and 0 is half of the way. So the larger share is less.
"""
ROUNDING = 1e-9
"""A score that is larger by no more than this share is the same but for rounding."""


class Trial(NamedTuple):
    """A candidate of one leg alone: its raw number, and how many hits rank below it, with their number."""

    leg: LegStage
    raw: float
    others: int = 0
    other_raw: float = math.nan


class NotAssumedError(InputError):
    """A stage reads something of a candidate that cannot be assumed, such as its text."""


@dataclass(frozen=True)
class Assumed:
    """A search without an index: candidates have the most favourable values for what stages read."""

    limit: float = 0

    @property
    def index(self) -> Index:
        raise NotAssumedError("There is no index in this search.", "Compute the score from numbers alone.")

    def vector(self) -> Vector:
        raise NotAssumedError("There is no question in this search.", "Compute the score from numbers alone.")

    def observations(self, stage: Observer, trace: Trace) -> Mapping[str, Floats]:
        observed = stage.observed if isinstance(stage, ColumnStage) else ()
        best = stage.best if isinstance(stage, ColumnStage) else {}
        if not set(observed) <= set(best):
            raise NotAssumedError("A stage reads texts.", "Compute the score from numbers alone.")
        return {name: np.full(trace.rows.size, best[name]) for name in observed}


def _trials(pipeline: Pipeline, leg: LegStage) -> list[Trial]:
    company = sorted({0, max(0, leg.deepest(pipeline.limit) - 1)})
    raw = f"{leg.name}_raw"
    stages = [stage for stage in pipeline.stages if isinstance(stage, ColumnStage)]
    best = [stage.best[raw] for stage in stages if raw in stage.best]
    worst = [
        Trial(leg, number, others, leg.worst_raw) for number in best or leg.best_raw for others in company
    ]
    nearer = [
        one._replace(other_raw=one.raw + share * (leg.worst_raw - one.raw))
        for one in worst
        if one.others
        for share in NEARER
    ]
    return [*worst, *nearer]


def _compared(pipeline: Pipeline) -> str:
    """The column that the floor compares, or without a floor the one that ranks."""
    has_floor = any(isinstance(stage, MinScore) for stage in pipeline.stages)
    orders = [stage.by for stage in pipeline.stages if isinstance(stage, Order)]
    return pipeline.floored if has_floor or not orders else orders[0]


def _scored(pipeline: Pipeline, trial: Trial) -> Trace | None:
    """The trace of the trial with its score; None where numbers are not enough, or are not ordered."""
    slots = [stage.slot for stage in pipeline.stages]
    if not {"candidates", Order.slot} <= set(slots):
        return None
    first, last = slots.index("candidates") + 1, slots.index(Order.slot)
    try:
        return run(_before_scores(pipeline, trial), Assumed(pipeline.limit), first, last)
    except (NotAssumedError, KeyError):
        return None


def _before_scores(pipeline: Pipeline, trial: Trial) -> Trace:
    size = 1 + trial.others
    absent = np.full(size, np.nan)
    columns = {column: absent for leg in legs_of(pipeline.stages) for column in leg.writes()}
    raw = np.array([trial.raw, *[trial.other_raw] * trial.others])
    name, larger_is_better = trial.leg.name, trial.raw > trial.leg.worst_raw
    columns |= {
        f"{name}_raw": raw,
        f"{name}_rank": np.arange(1.0, 1 + size),
        f"{name}_relevance": raw if larger_is_better else -raw,
    }
    return Trace(
        "", pipeline.name, pipeline.stages, rows=np.arange(size), columns=columns, dropped=np.full(size, KEPT)
    )


def needed_similarity(pipeline: Pipeline) -> float | None:
    """The least cosine with which a candidate of the vector leg alone, ranked first, passes the floor.

    In openclaw-2026.2.13 this is 0.35 / 0.7 = 0.50. None if no cosine is enough, and without a vector leg.
    """
    if not any(leg.name == "vector" for leg in legs_of(pipeline.stages)):
        return None
    low, high = -1.0, 1.0
    if not _passes(pipeline, high):
        return None
    if _passes(pipeline, low):
        return low
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if _passes(pipeline, middle) else (middle, high)
    return high


def _passes(pipeline: Pipeline, cosine: float) -> bool:
    (leg,) = [one for one in legs_of(pipeline.stages) if one.name == "vector"]
    trace = _scored(pipeline, Trial(leg, 1 - cosine))
    column = _compared(pipeline)
    return trace is not None and column in trace.columns and trace.columns[column][0] >= pipeline.floor

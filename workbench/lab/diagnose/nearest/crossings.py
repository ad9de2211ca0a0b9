"""Where between two values of a parameter the file may be as wanted: where it passes its rivals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.lab.diagnose.runs import Aim, Goal
from workbench.records import DropKind, Floats, Trace
from workbench.retrieval.cutoff import Limit

MOST_CROSSINGS = 400
"""Of more crossings between two values, so many are looked at, evenly spread."""
ABSENT = -1e9
"""Stands for an absent score: lower than any other."""


def between(one: Trace, other: Trace, goal: Goal) -> float | None:
    """How far it is from one trace to the other, 0 to 1, until the file is probably as wanted; None if never.

    The scores are taken to move in straight lines, which is exact for a weight of a sum and near the truth
    for small steps of any other parameter. Only running the value between the two tells for sure.
    """
    if one.ranked_by != other.ranked_by or one.ranked_by not in one.columns:
        return None
    if not np.array_equal(one.rows, other.rows):
        return None
    begin, end = _scores(one), _scores(other)
    mine = np.array([chunk.path == goal.path for chunk in one.chunks], bool)
    if not mine.any() or np.array_equal(begin, end):
        return None
    shares = _shares(begin, end, mine)
    rivals = ~mine & ~(_filtered(one) & _filtered(other))
    reached = _reached(begin, end, shares, mine, rivals, one, goal)
    if reached[0] or reached[-1]:
        return None  # The ends are no hits, so straight lines do not tell what happens here.
    hits = np.flatnonzero(reached)
    return float(shares[hits[0]]) if hits.size else None


def reordered_alone(one: Trace, other: Trace) -> bool:
    """Whether two traces have the same candidates and scores, in an order by another column, as of MMR."""
    if one.ranked_by != other.ranked_by or one.ranked_by not in one.columns:
        return False
    alike = np.array_equal(one.rows, other.rows) and np.array_equal(_scores(one), _scores(other))
    if not alike or np.array_equal(one.order, other.order):
        return False
    return any(
        not np.array_equal(column, other.columns.get(name, ()), equal_nan=True)
        for name, column in one.columns.items()
    )


def _scores(trace: Trace) -> Floats:
    return np.nan_to_num(trace.scores, nan=ABSENT, posinf=-ABSENT, neginf=ABSENT)


def _filtered(trace: Trace) -> NDArray[np.bool_]:
    """The candidates that are dropped whatever their place is."""
    gone = [place for place, cut in trace.cutoffs.items() if cut.kind in (DropKind.FILTER, DropKind.FOLD)]
    dropped: NDArray[np.bool_] = np.isin(trace.dropped, gone)
    return dropped


def _shares(begin: Floats, end: Floats, mine: NDArray[np.bool_]) -> Floats:
    """0, 1, and a point in each interval between neighbouring crossings of the file with the others."""
    before = begin[mine][:, None] - begin[~mine]
    after = end[mine][:, None] - end[~mine]
    crosses = before * after < 0
    places = np.unique(before[crosses] / (before[crosses] - after[crosses]))
    if places.size > MOST_CROSSINGS:
        places = places[np.linspace(0, places.size - 1, MOST_CROSSINGS).astype(int)]
    edges = np.concatenate([[0.0], places, [1.0]])
    return np.concatenate([[0.0], (edges[:-1] + edges[1:]) / 2, [1.0]])


def _reached(
    begin: Floats,
    end: Floats,
    shares: Floats,
    mine: NDArray[np.bool_],
    rivals: NDArray[np.bool_],
    trace: Trace,
    goal: Goal,
) -> NDArray[np.bool_]:
    """Whether the file is as wanted at each share of the way, by its place among all and by the floor."""
    moved = begin + shares[:, None] * (end - begin)
    best = moved[:, mine].max(axis=1)
    better = (moved[:, rivals] > best[:, None]).sum(axis=1)
    inside = (better < _room(trace, goal)) & (best >= _floor(trace))
    wanted: NDArray[np.bool_] = inside if goal.aim is not Aim.OUT else ~inside
    return wanted


def _room(trace: Trace, goal: Goal) -> float:
    limits = [int(stage.count) for stage in trace.stages if isinstance(stage, Limit)]
    return 1 if goal.aim is Aim.FIRST else min(limits, default=len(trace.chunks))


def _floor(trace: Trace) -> float:
    """The lowest score that passes the floors on the score that ranks."""
    found = [
        float(one.limit)
        for cut in trace.cutoffs.values()
        for one in cut.thresholds
        if one.measure == trace.ranked_by and not one.at_most and len(cut.thresholds) == 1
    ]
    return max(found, default=-np.inf)

"""The nearest value of a parameter with which the answer is as wanted, and the hair that makes it so."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.errors import InputError
from workbench.lab.diagnose.knobs import Knob, Value, hair
from workbench.lab.diagnose.nearest.crossings import between, reordered_alone
from workbench.lab.diagnose.nearest.diversity import lengths_that_reach, weights_that_reach
from workbench.lab.diagnose.runs import Goal, Reruns
from workbench.records import Trace
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.legs import legs_of

STEPS = 12
"""How many values between the present one and each end of a range are tried, besides the exact ones.

Of whole numbers, so many on each side of the present one are tried one by one.
"""
FEW_CANDIDATES = 48
"""Up to this depth, a leg is tried with each depth from 1 to the double of its own."""
LARGE = 512
"""A larger whole number is tried in steps that grow from a sixty-fourth of it."""
SHARES = (0.25, 0.5, 0.75)
"""Where only the order changes, and no score, these shares of each step are tried."""


@dataclass(frozen=True)
class Counterfactual:
    """A value with which the answer is as wanted, and the value a hair nearer to the present one.

    With `hair` the answer is not as wanted; both have been run. It is None where the values are choices.
    """

    knob: Knob
    value: Value
    hair: float | None


def counterfactuals(knob: Knob, runs: Reruns, goal: Goal) -> list[Counterfactual]:
    """The nearest values of a parameter, below and above the present one, that reach the goal."""
    reached = _Probe(knob, runs, goal)
    if not knob.is_number:
        return [Counterfactual(knob, one, None) for one in knob.choices if reached(one)]
    found = (_nearest(knob, reached, points) for points in _points(knob, runs, goal))
    return [one for one in found if one is not None]


class _Probe:
    """Whether a value reaches the goal, run once for each value."""

    def __init__(self, knob: Knob, runs: Reruns, goal: Goal) -> None:
        self._knob, self._runs, self._goal = knob, runs, goal
        self._known: dict[Value, tuple[bool, Trace | None]] = {knob.now: (False, runs.base)}

    def __call__(self, value: Value) -> bool:
        return self._run(value)[0]

    def changes_nothing(self, values: Sequence[float]) -> bool:
        """Whether the trace ends as it does now with each of these values."""
        traces = (self._run(_typed(self._knob, one))[1] for one in values)
        return not any(one is not None and not _same(one, self._runs.base) for one in traces)

    def between(self, miss: float, point: float) -> list[float]:
        """Values between a miss and a point that may reach the goal, the nearest first.

        Where only the order changes, and no score, nothing tells where: so they are spread evenly.
        """
        if self._knob.whole:
            return []  # A change of one is no small step, so straight lines do not tell.
        one, other = self._run(miss)[1], self._run(point)[1]
        if one is None or other is None or self(point):
            return []
        if reordered_alone(one, other):
            return _shares(miss, point)
        share = between(one, other, self._goal)
        return [] if share is None else [miss + share * (point - miss)]

    def _run(self, value: Value) -> tuple[bool, Trace | None]:
        """Whether the goal is reached with a value, and the trace; None if it cannot be searched with."""
        if value not in self._known:
            trace = self._trace(value)
            self._known[value] = trace is not None and self._goal.reached(trace), trace
        return self._known[value]

    def _trace(self, value: Value) -> Trace | None:
        pipeline = self._knob.with_value(value)
        try:
            return None if pipeline is None else self._runs.trace(pipeline)
        except InputError:  # an index may not serve every value, such as another k1 of BM25
            return None


def _same(one: Trace, other: Trace) -> bool:
    """Whether two traces have the same candidates in the same order, dropped at the same stages."""
    pairs = ((one.rows, other.rows), (one.order, other.order), (one.dropped, other.dropped))
    return all(np.array_equal(mine, theirs) for mine, theirs in pairs)


def _nearest(knob: Knob, reached: _Probe, points: Sequence[float]) -> Counterfactual | None:
    """Walks from the present value along `points`; between a miss and the first hit it halves the gap.

    Between two misses it tries the value at which the file passes enough rivals, if there is one, and some
    values if only the order changes there.
    """
    if not points or reached.changes_nothing((points[0], points[len(points) // 2], points[-1])):
        return None  # Near, half-way and at the end nothing changes: the parameter has no effect here.
    miss = float(knob.now)
    for point in points:
        for one in (*reached.between(miss, point), point):
            if reached(_typed(knob, one)):
                value, beside = _boundary(knob, reached, miss, one)
                return Counterfactual(knob, _typed(knob, value), _typed(knob, beside))
            miss = one
    return None


def _typed(knob: Knob, value: float) -> float:
    return int(value) if knob.whole else value


def _boundary(knob: Knob, reached: Callable[[float], bool], miss: float, hit: float) -> tuple[float, float]:
    """A hit and a miss with no value between them, from two ends that may be far apart."""
    beside = hair(knob, hit, miss)
    if beside == miss or not reached(beside):
        return hit, beside
    hit = beside
    while hair(knob, hit, miss) != miss:
        middle = _middle(knob, miss, hit)
        if reached(middle):
            hit = middle
        else:
            miss = middle
    return hit, miss


def _middle(knob: Knob, one: float, other: float) -> float:
    """A value between two: half-way for whole numbers, half-way in the order of all floats otherwise."""
    if knob.whole:
        return float(math.floor((one + other) / 2))
    return _from_order((_order(one) + _order(other)) // 2)


def _order(value: float) -> int:
    """The place of a float among all floats, so that next floats have next places."""
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return int(bits) if bits >= 0 else -(int(bits) & 0x7FFF_FFFF_FFFF_FFFF)


def _from_order(place: int) -> float:
    bits = place if place >= 0 else -place | -0x8000_0000_0000_0000
    (value,) = struct.unpack("<d", struct.pack("<q", bits))
    return float(value)


def _points(knob: Knob, runs: Reruns, goal: Goal) -> tuple[list[float], list[float]]:
    """The values to try below and above the present one, nearest first."""
    now, trace = float(knob.now), runs.base
    if knob.name.endswith(".units"):
        lengths = lengths_that_reach(_place(knob, trace), trace, goal, runs.context)
        if lengths is not None:
            shorter, longer = [one for one in lengths if one < now], [one for one in lengths if one > now]
            return [*map(float, shorter[-1:])], [*map(float, longer[:1])]
    steps = _whole_steps(knob, now) if knob.whole else _steps(knob, now)
    every = {*_exact(knob, trace), *_depths(knob, trace), *steps}
    inside = [one for one in every if knob.low <= one <= knob.high and one != now]
    below = sorted((one for one in inside if one < now), reverse=True)
    above = sorted(one for one in inside if one > now)
    if knob.name.endswith(".relevance_weight"):
        return _last_step(below, knob, runs, goal), _last_step(above, knob, runs, goal)
    return below, above


def _last_step(points: list[float], knob: Knob, runs: Reruns, goal: Goal) -> list[float]:
    """The first weight of MMR that reaches the goal and the last one before it; empty if none does."""
    ends = list(zip([float(knob.now), *points], points, strict=False))
    every = [one for miss, point in ends for one in (*_shares(miss, point), point)]
    reached = weights_that_reach(every, _place(knob, runs.base), runs.base, goal, runs.context)
    if reached is None:
        return points
    if True not in reached:
        return []
    first = reached.index(True)
    return every[max(0, first - 1) : first + 1]


def _shares(miss: float, point: float) -> list[float]:
    return [miss + share * (point - miss) for share in SHARES]


def _place(knob: Knob, trace: Trace) -> int:
    return next(place for place, stage in enumerate(trace.stages) if stage.slot == knob.slot)


def _exact(knob: Knob, trace: Trace) -> Iterable[float]:
    """Values at which something changes by arithmetic: what a cut-off compares, and a column's two ends.

    A parameter on the scale of a column that its stage reads may divide by 0 at the column's ends.
    """
    for place, cutoff in trace.cutoffs.items():
        if trace.stages[place].slot == knob.slot:
            for threshold in cutoff.thresholds:
                if np.issubdtype(threshold.values.dtype, np.number):
                    yield from _finite(threshold.values)
    if knob.name.endswith(".floor") and trace.ranked_by in trace.columns:
        yield from _finite(trace.scores)
    for stage in trace.stages:
        if isinstance(stage, ColumnStage) and stage.slot == knob.slot:
            for name in stage.reads():
                numbers = _finite(trace.columns.get(name, ()))
                yield from (*numbers[:1], *numbers[-1:])


def _depths(knob: Knob, trace: Trace) -> Iterable[float]:
    """The values that give a leg each depth near the one that it has."""
    legs = {stage.slot: stage.name for stage in legs_of(trace.stages)}
    if knob.slot not in legs or legs[knob.slot] not in trace.legs or ".depth." not in f".{knob.name}":
        return
    depth = trace.legs[legs[knob.slot]].depth
    beside = depth if depth <= FEW_CANDIDATES else STEPS
    near = range(max(1, depth - beside), depth + beside + 1)
    yield from map(float, near) if knob.whole else (float(knob.now) * (one + 0.5) / depth for one in near)


def _finite(values: object) -> list[float]:
    numbers = np.asarray(values, float)
    return [float(one) for one in np.unique(numbers[np.isfinite(numbers)])]


def _whole_steps(knob: Knob, now: float) -> Sequence[float]:
    """Whole numbers: each one near the present, then evenly to twice the present, then ever wider apart."""
    near = range(1, STEPS + 1)
    even = [abs(now) * step / (2 * STEPS) for step in range(1, 2 * STEPS + 1)]
    grown = [max(STEPS, abs(now)) * 2.0**step for step in range(1, 20)]
    if abs(now) > LARGE:
        near, even, grown = range(0), [], [abs(now) * 2.0**step for step in range(-6, 20)]
    far = [now + sign * step for step in (*near, *even, *grown) for sign in (-1, 1)]
    return [float(math.floor(one)) for one in (*far, knob.low, knob.high)]


def _steps(knob: Knob, now: float) -> Sequence[float]:
    """Numbers on both sides: evenly to the ends of a narrow range, and by growing steps in a wide one."""
    narrow = [end for end in (knob.low, knob.high) if abs(end) <= 100]
    even = [now + (end - now) * step / STEPS for end in narrow for step in range(1, STEPS + 1)]
    unit = abs(now) or 1.0
    growing = [now + sign * unit * 2.0**power for power in range(-10, 14) for sign in (-1, 1)]
    return [*even, *growing, *(end for end in (knob.low, knob.high))]

"""The nearest value of a parameter with which the answer is as wanted, and the hair that makes it so."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.lab.diagnose.knobs import Knob, Value, hair
from workbench.lab.diagnose.runs import Goal, Reruns
from workbench.records import Trace

EVERY_WHOLE = 12
"""So many whole numbers on each side of the present one are tried one by one."""

STEPS = 24
"""How many values between the present one and each end of a range are tried, besides the exact ones."""


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
    found = (_nearest(knob, reached, points) for points in _points(knob, runs.base))
    return [one for one in found if one is not None]


class _Probe:
    """Whether a value reaches the goal, run once for each value."""

    def __init__(self, knob: Knob, runs: Reruns, goal: Goal) -> None:
        self._knob, self._runs, self._goal = knob, runs, goal
        self._known: dict[Value, tuple[bool, bool]] = {}

    def __call__(self, value: Value) -> bool:
        return self._run(value)[0]

    def changes_nothing(self, values: Sequence[float]) -> bool:
        """Whether the trace ends as it does now with each of these values."""
        return not any(self._run(_typed(self._knob, one))[1] for one in values)

    def _run(self, value: Value) -> tuple[bool, bool]:
        """Whether the goal is reached with a value, and whether the trace ends differently than now."""
        if value not in self._known:
            pipeline = self._knob.with_value(value)
            trace = None if pipeline is None else self._runs.trace(pipeline)
            reached = trace is not None and self._goal.reached(trace)
            self._known[value] = reached, trace is not None and not _same(trace, self._runs.base)
        return self._known[value]


def _same(one: Trace, other: Trace) -> bool:
    """Whether two traces have the same candidates in the same order, dropped at the same stages."""
    pairs = ((one.rows, other.rows), (one.order, other.order), (one.dropped, other.dropped))
    return all(np.array_equal(mine, theirs) for mine, theirs in pairs)


def _nearest(knob: Knob, reached: _Probe, points: Sequence[float]) -> Counterfactual | None:
    """Walks from the present value along `points`; between a miss and the first hit it halves the gap."""
    if not points or reached.changes_nothing((points[0], points[len(points) // 2], points[-1])):
        return None  # Near, half-way and at the end nothing changes: the parameter has no effect here.
    miss = float(knob.now)
    for point in points:
        if reached(_typed(knob, point)):
            value, beside = _boundary(knob, reached, miss, point)
            return Counterfactual(knob, _typed(knob, value), _typed(knob, beside))
        miss = point
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


def _points(knob: Knob, trace: Trace) -> tuple[list[float], list[float]]:
    """The values to try below and above the present one, nearest first."""
    now = float(knob.now)
    every = {*_exact(knob, trace), *(_whole_steps(knob, now) if knob.whole else _steps(knob, now))}
    inside = [one for one in every if knob.low <= one <= knob.high and one != now]
    below = sorted((one for one in inside if one < now), reverse=True)
    return below, sorted(one for one in inside if one > now)


def _exact(knob: Knob, trace: Trace) -> Iterable[float]:
    """Values at which something changes by arithmetic: what a cut-off compares, and ranks over the limit."""
    for place, cutoff in trace.cutoffs.items():
        if trace.stages[place].slot == knob.slot:
            for threshold in cutoff.thresholds:
                if np.issubdtype(threshold.values.dtype, np.number):
                    yield from _finite(threshold.values)
    if knob.name.endswith(".floor") and trace.ranked_by in trace.columns:
        yield from _finite(trace.scores)


def _finite(values: object) -> list[float]:
    numbers = np.asarray(values, float)
    return [float(one) for one in np.unique(numbers[np.isfinite(numbers)])]


def _whole_steps(knob: Knob, now: float) -> Sequence[float]:
    """Whole numbers: each one near the present, then ever wider apart."""
    near = [now + sign * step for step in range(1, EVERY_WHOLE + 1) for sign in (-1, 1)]
    far = [now + sign * EVERY_WHOLE * 2.0**step for step in range(1, 20) for sign in (-1, 1)]
    return [float(math.floor(one)) for one in (*near, *far, knob.low, knob.high)]


def _steps(knob: Knob, now: float) -> Sequence[float]:
    """Numbers on both sides: evenly to the ends of a narrow range, and by growing steps in a wide one."""
    narrow = [end for end in (knob.low, knob.high) if abs(end) <= 100]
    even = [now + (end - now) * step / STEPS for end in narrow for step in range(1, STEPS + 1)]
    unit = abs(now) or 1.0
    growing = [now + sign * unit * 2.0**power for power in range(-10, 14) for sign in (-1, 1)]
    return [*even, *growing, *(end for end in (knob.low, knob.high))]

"""What is wanted of an answer, the parameters of a pipeline, and their nearest values that bring it.

The values are those that a person would type: whole numbers for counts, and two significant digits for other
numbers, with at most three decimals. A coarse grid of them is searched with, and then the gap between the
last value that fails and the first one that works is halved. So a value that works only in a narrow range
may be missed, and a nearer one too if a parameter works, fails and works again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from workbench.errors import InputError
from workbench.measure.reruns import Reruns
from workbench.records import Stage, Trace
from workbench.retrieval.columns import parameters
from workbench.retrieval.cutoff import Limit
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.settings import NESTED_RANGES, with_settings

Value = float | str | bool

WIDEST = 1e6
"""How far a number without a range is moved from 0."""
TYPED = sorted({round(digits * 10.0**power, 3) for power in range(-4, 5) for digits in range(10, 100)})
"""The positive numbers of two significant digits and at most three decimals, up to 990,000."""
STEPS = 12
"""On each side of the present value, so many values are tried evenly spread, besides the near ones."""


class Aim(StrEnum):
    """What is wanted of a file in the answer."""

    IN = "in the answer"
    FIRST = "first in the answer"
    OUT = "not in the answer"


@dataclass(frozen=True)
class Goal:
    """A file, and what is wanted of it."""

    path: str
    aim: Aim = Aim.IN

    def reached(self, trace: Trace) -> bool:
        """Whether the answer is as wanted."""
        paths = trace.paths()
        if self.aim is Aim.FIRST:
            return paths[:1] == [self.path]
        return (self.path in paths) is (self.aim is Aim.IN)


@dataclass(frozen=True)
class Parameter:
    """One parameter by its name in `--set`: its value now, and how to set another.

    A number goes from `low` to `high`; a `whole` one has no fractions. Anything else takes one of `choices`.
    """

    name: str
    now: Value
    low: float = -WIDEST
    high: float = WIDEST
    whole: bool = False
    choices: tuple[Value, ...] = ()
    put: Callable[[Value], Pipeline] = field(kw_only=True, repr=False, compare=False)

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers, and not a few choices."""
        return not isinstance(self.now, str | bool)

    def with_value(self, value: Value) -> Pipeline | None:
        """The pipeline with this value; None if the pipeline cannot have it."""
        try:
            return self.put(value)
        except InputError:
            return None

    @property
    def below(self) -> list[float]:
        """The numbers to type below the present one, the nearest first."""
        return self._typed[: bisect_left(self._typed, float(self.now))][::-1]

    @property
    def above(self) -> list[float]:
        """The numbers to type above the present one, the nearest first."""
        return [one for one in self._typed if one > float(self.now)]

    @cached_property
    def _typed(self) -> list[float]:
        every = sorted({*TYPED, 0.0, *(-one for one in TYPED), self.low, self.high})
        inside = [one for one in every if self.low <= one <= self.high]
        return [int(one) for one in inside if one == int(one)] if self.whole else inside


def parameters_of(pipeline: Pipeline) -> list[Parameter]:
    """Every parameter of every stage that can take another value, in the order of the stages."""
    return [one for stage in pipeline.stages for one in _of_stage(pipeline, stage)]


def _of_stage(pipeline: Pipeline, stage: Stage) -> Iterable[Parameter]:
    ranges = {**NESTED_RANGES, **stage.ranges}
    for parameter, now in parameters(stage).items():
        name = f"{stage.slot}.{parameter}"
        put = partial(_with_setting, pipeline, name)
        if isinstance(now, str | bool):
            known = (True, False) if isinstance(now, bool) else _choices(pipeline, stage, parameter)
            others = tuple(one for one in known if one != now)
            if others:
                yield Parameter(name, now, choices=others, put=put)
        else:
            # Nobody types a negative half-life or weight: without a range, a number keeps its sign.
            low, high = ranges.get(parameter, (-WIDEST if now < 0 else 0.0, 0.0 if now < 0 else WIDEST))
            yield Parameter(name, now, low, high, _is_whole(stage, parameter), put=put)


def _with_setting(pipeline: Pipeline, name: str, value: Value) -> Pipeline:
    return with_settings(pipeline, [f"{name}={setting_text(value)}"])


def setting_text(value: Value) -> str:
    """A value as `--set` takes it, without loss.

    >>> setting_text(0.1), setting_text(8.0), setting_text(True), setting_text("OR")
    ('0.1', '8', 'true', 'OR')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    return str(int(value)) if float(value).is_integer() else repr(value)


def settings_between(one: Pipeline, other: Pipeline) -> tuple[str, ...]:
    """The settings that turn `one` into `other`, as `--set` takes them; empty if settings cannot."""
    found: list[str] = []
    mine, theirs = ({stage.slot: stage for stage in each.stages} for each in (one, other))
    for slot in (slot for slot, stage in mine.items() if type(stage) is type(theirs.get(slot))):
        now, new = parameters(mine[slot]), parameters(theirs[slot])
        changed = (name for name in new if name in now and new[name] != now[name])
        found += [f"{slot}.{name}={setting_text(new[name])}" for name in changed]
    try:
        made = with_settings(one, found)
    except InputError:
        return ()
    return tuple(found) if made.searches_as(other) else ()


def _is_whole(stage: Stage, parameter: str) -> bool:
    """Whether a number has no fractions: its type says so, or it counts results."""
    owner, name = _owner(stage, parameter)
    kinds = {one.name: one.type for one in fields(owner)}
    return kinds[name] in (int, "int") or isinstance(stage, Limit)


def _owner(stage: Any, parameter: str) -> tuple[Any, str]:
    """The dataclass that holds a parameter, which may be inside the stage, and the parameter's name there."""
    outer, _, inner = parameter.partition(".")
    inside = getattr(stage, outer)
    return _owner(inside, inner) if inner and is_dataclass(inside) else (stage, outer)


def _choices(pipeline: Pipeline, stage: Stage, parameter: str) -> Sequence[str]:
    """The values of a text: those that its type lists, or other columns where it names a column."""
    owner, name = _owner(stage, parameter)
    kind = get_type_hints(type(owner)).get(name)
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    earlier = pipeline.stages[: pipeline.stages.index(stage)]
    columns = [column for one in earlier for column in one.writes()]
    now = getattr(owner, name)
    if now in columns:
        return [one for one in columns if one.endswith("score")]
    legs = [column.removesuffix("_score") for column in columns if column.endswith("_score")]
    return legs if now in legs else []


@dataclass(frozen=True)
class NearestValue:
    """A value with which the answer is as wanted, and the nearest one, towards the present, that fails.

    Both have been run. `fails` is None where the values are choices.
    """

    parameter: Parameter
    value: Value
    fails: float | None


def nearest_values(parameter: Parameter, runs: Reruns, goal: Goal) -> Iterator[NearestValue]:
    """The nearest values of a parameter, below and above the present one, that reach the goal."""
    known: dict[Value, Trace | None] = {parameter.now: runs.base}

    def traced(value: Value) -> Trace | None:
        if value not in known:
            known[value] = _trace(parameter, value, runs)
        return known[value]

    def reached(value: Value) -> bool:
        trace = traced(value)
        return value != parameter.now and trace is not None and goal.reached(trace)

    if not parameter.is_number:
        yield from (NearestValue(parameter, one, None) for one in parameter.choices if reached(one))
        return
    for values in (parameter.below, parameter.above):
        # Near, half-way and at the end nothing changes: the parameter has no effect here.
        some = [traced(one) for one in (*values[:1], *values[len(values) // 2 :][:1], *values[-1:])]
        if any(one is not None and not _alike(one, runs.base) for one in some):
            number = first_reaching(values, reached)
            if number is not None:
                beside = values[number - 1] if number else float(parameter.now)
                yield NearestValue(parameter, values[number], beside)


def _trace(parameter: Parameter, value: Value, runs: Reruns) -> Trace | None:
    """The search with a value; None if pipeline or index cannot have it, such as another k1 of BM25."""
    pipeline = parameter.with_value(value)
    try:
        return None if pipeline is None else runs.trace(pipeline)
    except InputError:
        return None


def _alike(one: Trace, other: Trace) -> bool:
    """Whether two traces have the same candidates in the same order, dropped at the same stages."""
    pairs = ((one.rows, other.rows), (one.order, other.order), (one.dropped, other.dropped))
    return all(np.array_equal(mine, theirs) for mine, theirs in pairs)


def first_reaching(values: Sequence[float], holds: Callable[[float], bool]) -> int | None:
    """The place of a value for which `holds` is true, and false for the one before; None if none is found.

    The near places are tried by doubling steps, and STEPS places are spread evenly.

    >>> first_reaching(range(100), lambda value: value >= 41), first_reaching(range(100), lambda value: False)
    (41, None)
    """
    count = len(values)
    doubling = [(1 << power) - 1 for power in range(count.bit_length())]
    even = [step * (count - 1) // STEPS for step in range(1, STEPS + 1)]
    for last, number in pairwise([-1, *sorted({*doubling, *even} & set(range(count)))]):
        if holds(values[number]):
            while number - last > 1:
                middle = (last + number) // 2
                last, number = (last, middle) if holds(values[middle]) else (middle, number)
            return number
    return None

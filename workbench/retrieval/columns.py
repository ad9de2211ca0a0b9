"""The base of all stages: how they join into a pipeline, and how they read and write a trace's columns.

The formulas of `scoring` and `fusion` are written once, for NumPy columns. With the names of columns a
formula becomes an expression, which prints itself, and the names are noted:

>>> of = Names()
>>> print(of["vector_score"] + 2 * of["rare_words"])
vector_score + 2 × rare_words
>>> list(of.needed)
['vector_score', 'rare_words']
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from workbench.contracts import Context
from workbench.errors import InputError
from workbench.records import Floats, Rows, Stage, Trace
from workbench.retrieval.expressions import Expression, expression, over_present

EXACT = 17
"""With so many digits every float64 is read back as itself."""


class Numbers(ABC):
    """What a formula is computed from: the columns of a trace, or their names."""

    values: Mapping[str, Floats]

    @abstractmethod
    def __getitem__(self, name: str) -> Any: ...

    @abstractmethod
    def constant(self, value: float) -> Any:
        """A parameter of the stage."""

    @abstractmethod
    def over(self, statistic: Callable[[Floats], Any], name: str) -> Any:
        """A statistic of a column, over the candidates that have a number there."""

    @abstractmethod
    def whole(self, function: Callable[[Floats], Floats], name: str) -> Any:
        """A column that a function makes of a whole column, such as ranks."""

    def optional_column(self, name: str) -> Any:
        """A column that an earlier stage may have written; None when no stage has."""
        return self[name] if name in self.values else None

    def least(self, name: str) -> Any:
        """The smallest number of a column, over the candidates that have one."""
        return self.over(np.min, name)

    def greatest(self, name: str) -> Any:
        """The largest number of a column, over the candidates that have one."""
        return self.over(np.max, name)


@dataclass(frozen=True)
class Columns(Numbers):
    """The columns of a trace, whole: `of["score"]` is a float64 array with NaN for absent, and read-only."""

    values: Mapping[str, Floats]

    def __getitem__(self, name: str) -> Floats:
        column = self.values[name].view()
        column.flags.writeable = False  # a formula that changed it would change what other stages read
        return column

    def constant(self, value: float) -> float:
        return value

    def over(self, statistic: Callable[[Floats], Any], name: str) -> Any:
        return over_present(statistic, self.values[name])

    def whole(self, function: Callable[[Floats], Floats], name: str) -> Floats:
        return function(self.values[name])


class Names(Numbers):
    """The names of columns: a formula of them is an expression.

    `needed` and `optional` are the columns that the formula has read. `known` are the columns that there are;
    without it, every column counts as there.
    """

    def __init__(self, known: Mapping[str, Floats] | None = None) -> None:
        self.values = {} if known is None else known
        self._every = known is None
        self.needed: dict[str, None] = {}
        self.optional: dict[str, None] = {}
        self.guards: list[Any] = []

    def __getitem__(self, name: str) -> Expression:
        self.needed[name] = None
        return self._expression("column", name)

    def constant(self, value: Any) -> Expression:
        return value if isinstance(value, Expression) else self._expression("number", float(value))

    def over(self, statistic: Callable[[Floats], Any], name: str) -> Expression:
        self.needed[name] = None
        return self._expression("statistic", statistic, name)

    def whole(self, function: Callable[[Floats], Floats], name: str) -> Expression:
        self.needed[name] = None
        return self._expression("whole", function, name)

    def optional_column(self, name: str) -> Expression | None:
        if not self._every and name not in self.values:
            return None
        self.optional[name] = None
        return self._expression("column", name)

    def parameter(self, name: str, value: float) -> Expression:
        """A number that a person can set, under its name."""
        return self._expression("parameter", name, value)

    def _expression(self, operation: str, *inputs: Any) -> Expression:
        return Expression(operation, inputs, self.guards)


def filled(score: Any, absent: float) -> Any:
    """`score`, with `absent` where the leg did not bring the candidate."""
    return np.where(np.isnan(score), absent, score)


class Stages(tuple[Stage, ...]):
    """Stages in the order in which they run: what `>>` makes of them, and what a `Pipeline` takes."""

    def __rshift__(self, later: Stage | Stages) -> Stages:
        return Stages((*self, *(later if isinstance(later, Stages) else (later,))))


class PlainStage:
    """Base of a stage that reads and writes no columns by default; `>>` joins it with others.

    `column_names` says what a person reads in place of the name of a column of this stage. `fitted` marks a
    stage whose numbers were fitted to many questions, together with other stages: one question is no reason
    to change them.
    """

    slot: ClassVar[str]
    fitted: ClassVar[bool] = False
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {}
    column_names: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **card: Any) -> None:
        """Takes class attributes from the head of a class: `class Floor(PlainStage, slot="floor")`."""
        super().__init_subclass__()
        for name, value in card.items():
            setattr(cls, name, value)

    def __rshift__(self: Stage, later: Stage | Stages) -> Stages:
        return Stages((self,)) >> later

    def reads(self) -> tuple[str, ...]:
        """The columns that must exist before this stage runs."""
        return ()

    def may_read(self) -> tuple[str, ...]:
        """The columns that this stage uses if an earlier stage has written them."""
        return ()

    def writes(self) -> tuple[str, ...]:
        """The columns that this stage adds."""
        return ()

    def called(self, context: Context) -> Mapping[str, str]:
        """What the columns are called in one search: `column_names`, unless that depends on the index."""
        return self.column_names


@dataclass(frozen=True)
class ColumnStage(PlainStage):
    """A stage that computes one column from others with a formula that is written once.

    `output` names the column, which is the slot's name if a class states only that; `scale` says what its
    numbers mean. `present` names a column: where that is absent, so is the output. `observed` names the
    columns of what the stage reads from texts or front matter before it computes, and `best` the most
    favourable numbers in them.

    What the formula reads is found by running it, so that it cannot be declared wrongly.
    """

    output: ClassVar[str]
    scale: ClassVar[str] = ""
    present: ClassVar[str | None] = None
    observed: ClassVar[tuple[str, ...]] = ()
    best: ClassVar[Mapping[str, float]] = {}

    def __init_subclass__(cls, **card: Any) -> None:
        super().__init_subclass__(**card)
        if "slot" in vars(cls) and "output" not in vars(cls):
            cls.output = cls.slot

    def formula(self, of: Numbers) -> Any:
        """The output, as a column or as an expression, depending on what `of` gives."""
        raise NotImplementedError(f"{type(self).__name__} has no formula")

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        """What this stage reads of each candidate: one column for each name in `observed`."""
        return {}

    def evidence(self, trace: Trace, context: Context, rows: Rows) -> Sequence[str]:
        """For each row, what no formula shows: what was read elsewhere, or why the output is absent."""
        return [""] * rows.size

    @property
    def remark(self) -> str | None:
        """What a trace must say about the parameters of this stage, if anything."""
        return None

    def reads(self) -> tuple[str, ...]:
        return self._read_columns[0]

    def may_read(self) -> tuple[str, ...]:
        return self._read_columns[1]

    @cached_property
    def _read_columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The columns that the formula needs of earlier stages, and those that it uses where they exist."""
        of = Names()
        self.formula(of)
        needed = {**of.needed} if self.present is None else {**of.needed, self.present: None}
        return tuple(name for name in needed if name not in self.observed), tuple(of.optional)

    def writes(self) -> tuple[str, ...]:
        return (*self.observed, self.output)

    def run(self, trace: Trace, context: Context) -> Trace:
        columns = {**trace.columns, **self._checked_observations(trace, context)}
        columns[self.output] = self.computed(columns)
        scales = {**trace.scales, self.output: self.scale} if self.scale else trace.scales
        notes = (*trace.notes, self.remark) if self.remark else trace.notes
        names = {**trace.names, **called} if (called := self.called(context)) else trace.names
        return trace.with_changes(columns=columns, scales=scales, names=names, notes=notes)

    def _checked_observations(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        if not self.observed:
            return {}
        observed = context.observations(self, trace)
        if set(observed) != set(self.observed):
            raise InputError(
                f"The stage {self.slot} observed {sorted(observed)}.",
                f"Its `observed` names {sorted(self.observed)}: make the two equal.",
            )
        return observed

    def computed(
        self, columns: Mapping[str, Floats], read: Callable[[Mapping[str, Floats]], Columns] = Columns
    ) -> Floats:
        """The output column, from the columns that the formula reads; `read` takes the statistics."""
        shape = next(iter(columns.values())).shape if columns else (0,)
        if 0 in shape:
            return np.empty(shape)
        made = self.formula(read(columns))
        if made is None:  # which NumPy takes for NaN
            raise TypeError("the formula returns None")
        column = np.asarray(made, float)
        if column.shape != shape:
            column = np.broadcast_to(column, shape)
        if self.present is None:
            return column
        return np.where(np.isnan(columns[self.present]), np.nan, column)

    def in_row(self, columns: Mapping[str, Floats], row: int, digits: int = 4) -> Expression:
        """How the output of one row was computed, from the columns as they were then.

        Its numbers have `digits` digits, or as many more as the text needs to come to the output within 1 %:
        the difference of two numbers that agree in four digits would be 0.
        """
        in_row = expression(self.formula(Names(columns))).in_row(columns, row)
        value = in_row.value
        enough = next((one for one in range(digits, EXACT) if _agrees(in_row.printed(one), value)), EXACT)
        return replace(in_row, digits=enough)


def _agrees(printed: float, value: float) -> bool:
    """Whether a printed formula comes to its value within 1 %."""
    if math.isfinite(value):
        return abs(printed - value) <= 0.01 * abs(value)
    return printed == value or (math.isnan(printed) and math.isnan(value))


def with_column(trace: Trace, name: str, column: Floats) -> Trace:
    """`trace` with one more column."""
    return trace.with_changes(columns={**trace.columns, name: column})


def parameters(stage: Any) -> dict[str, Any]:
    """The parameters of a stage with their values, nested ones with a dot: `depth.multiplier`.

    A field that the `repr` leaves out is none: it may hold a secret.
    """
    found: dict[str, Any] = {}
    for one in fields(stage):
        value = getattr(stage, one.name)
        if one.repr and is_dataclass(value):
            found |= {f"{one.name}.{name}": inner for name, inner in parameters(value).items()}
        elif one.repr and isinstance(value, int | float | str | bool):
            found[one.name] = value
    return found


def flow(stages: Sequence[Any]) -> str:
    """The stages as they join with `>>`, each with its parameters under the names that `--set` takes.

    >>> from workbench.retrieval.cutoff import Limit, MinScore
    >>> flow(MinScore(0.35) >> Limit(6))
    'MinScore(floor=0.35, of=score) >> Limit(count=6)'
    """
    return " >> ".join(map(_in_flow, stages))


def _in_flow(stage: Any) -> str:
    if not is_dataclass(stage):
        return type(stage).__name__
    every = {one.name: getattr(stage, one.name) for one in fields(stage) if one.repr}
    shown = parameters(stage) | {name: one for name, one in every.items() if one and isinstance(one, tuple)}
    values = ", ".join(f"{name}={_value_text(value)}" for name, value in shown.items())
    return f"{type(stage).__name__}({values})" if values else type(stage).__name__


def _value_text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_value_text, value))})"
    return f"{value:g}" if isinstance(value, float) else str(value)

"""How a stage reads and writes the columns of a trace, and how one row of them becomes a formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from workbench.contracts import Context
from workbench.errors import InputError
from workbench.records import Floats, Trace
from workbench.retrieval.formula import Term, term


class Numbers(Protocol):
    """Named numbers: whole columns, or one row of them as terms."""

    def __getitem__(self, name: str) -> Any: ...

    def given(self, name: str) -> Any:
        """A column that an earlier stage may have written; None when no stage has."""

    def filled(self, name: str, absent: float) -> Any:
        """A column, with `absent` where the leg did not bring the candidate."""

    def constant(self, value: float) -> Any:
        """A parameter of the stage."""

    def least(self, name: str) -> Any:
        """The smallest number of a column, over the candidates that have one."""

    def greatest(self, name: str) -> Any:
        """The largest number of a column, over the candidates that have one."""

    def over(self, statistic: Callable[[Floats], Any], name: str) -> Any:
        """Another statistic of a column, over the candidates that have a number there."""


@dataclass(frozen=True)
class Columns:
    """The columns of a trace, whole: `of["score"]` is a float64 array with NaN for absent."""

    values: Mapping[str, Floats]

    def __getitem__(self, name: str) -> Floats:
        return self.values[name]

    def given(self, name: str) -> Floats | None:
        return self.values.get(name)

    def filled(self, name: str, absent: float) -> Floats:
        column: Floats = filled(self.values[name], absent)
        return column

    def constant(self, value: float) -> float:
        return value

    def least(self, name: str) -> float:
        return self.over(np.min, name)

    def greatest(self, name: str) -> float:
        return self.over(np.max, name)

    def over(self, statistic: Callable[[Floats], Any], name: str) -> float:
        return over_present(statistic, self.values[name])


@dataclass(frozen=True)
class Row:
    """One row of the columns, as terms: `of["score"]` is a number that prints itself."""

    values: Mapping[str, Floats]
    row: int
    digits: int = 4

    def __getitem__(self, name: str) -> Term:
        return self.constant(float(self.values[name][self.row]))

    def given(self, name: str) -> Term | None:
        return self[name] if name in self.values else None

    def filled(self, name: str, absent: float) -> Any:
        return filled(self[name], absent)

    def constant(self, value: float) -> Term:
        return term(value, self.digits)

    def least(self, name: str) -> Term:
        return self.over(np.min, name)

    def greatest(self, name: str) -> Term:
        return self.over(np.max, name)

    def over(self, statistic: Callable[[Floats], Any], name: str) -> Term:
        return self.constant(over_present(statistic, self.values[name]))


def filled(score: Any, absent: float) -> Any:
    """`score`, with `absent` where the leg did not bring the candidate."""
    return np.where(np.isnan(score), absent, score)


def over_present(reduce: Callable[[Floats], Any], column: Floats) -> float:
    """A statistic of the numbers of a column that are present; NaN if none is."""
    present = column[~np.isnan(column)]
    return float(reduce(present)) if present.size else float("nan")


@dataclass(frozen=True)
class _Listener:
    """Numbers that note which columns a formula asks for."""

    needed: dict[str, None] = field(default_factory=dict)
    optional: dict[str, None] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Term:
        self.needed[name] = None
        return term(1.0)

    def given(self, name: str) -> Term:
        self.optional[name] = None
        return term(1.0)

    def filled(self, name: str, absent: float) -> Term:
        return self[name]

    def constant(self, value: float) -> Term:
        return term(value)

    def least(self, name: str) -> Term:
        return self[name]

    def greatest(self, name: str) -> Term:
        return self[name]

    def over(self, statistic: Callable[[Floats], Any], name: str) -> Term:
        return self[name]


class PlainStage:
    """Base of a stage that reads and writes no columns by default."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {}

    def reads(self) -> tuple[str, ...]:
        """The columns that must exist before this stage runs."""
        return ()

    def may_read(self) -> tuple[str, ...]:
        """The columns that this stage uses if an earlier stage has written them."""
        return ()

    def writes(self) -> tuple[str, ...]:
        """The columns that this stage adds."""
        return ()


@dataclass(frozen=True)
class ColumnStage(PlainStage):
    """A stage that computes one column from others with a formula that is written once.

    `output` names the column, and `scale` what its numbers mean. `present` names a column: where that is
    absent, so is the output. `observed` names the columns of what the stage reads from texts or front matter
    before it computes, and `best` the most favourable numbers in them.

    What the formula reads is found by running it, so that it cannot be declared wrongly.
    """

    slot: ClassVar[str]
    output: ClassVar[str]
    scale: ClassVar[str] = ""
    present: ClassVar[str | None] = None
    observed: ClassVar[tuple[str, ...]] = ()
    best: ClassVar[Mapping[str, float]] = {}

    def formula(self, of: Numbers) -> Any:
        """The output, as a column or as a term, depending on what `of` gives."""
        raise NotImplementedError(f"{type(self).__name__} has no formula")

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        """What this stage reads of each candidate: one column for each name in `observed`."""
        return {}

    @property
    def remark(self) -> str | None:
        """What a trace must say about the parameters of this stage, if anything."""
        return None

    def reads(self) -> tuple[str, ...]:
        return self._heard[0]

    def may_read(self) -> tuple[str, ...]:
        return self._heard[1]

    @cached_property
    def _heard(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The columns that the formula needs of earlier stages, and those that it uses where they exist."""
        listener = _Listener()
        self.formula(listener)
        if self.present is not None:
            listener.needed[self.present] = None
        needed = tuple(name for name in listener.needed if name not in self.observed)
        return needed, tuple(listener.optional)

    def writes(self) -> tuple[str, ...]:
        return (*self.observed, self.output)

    def run(self, trace: Trace, context: Context) -> Trace:
        columns = {**trace.columns, **self._checked_observations(trace, context)}
        columns[self.output] = self.computed(columns)
        scales = {**trace.scales, self.output: self.scale} if self.scale else trace.scales
        notes = (*trace.notes, self.remark) if self.remark else trace.notes
        return trace.but(columns=columns, scales=scales, notes=notes)

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
        column = np.asarray(self.formula(read(columns)), float)
        if column.shape != shape:
            column = np.broadcast_to(column, shape)
        if self.present is None:
            return column
        return np.where(np.isnan(columns[self.present]), np.nan, column)

    def term(self, columns: Mapping[str, Floats], row: int, digits: int = 4) -> Term:
        """How the output of one row was computed, from the columns as they were then."""
        made = self.formula(Row(columns, row, digits))
        return made if isinstance(made, Term) else term(float(made), digits)


def with_column(trace: Trace, name: str, column: Floats) -> Trace:
    """`trace` with one more column."""
    return trace.but(columns={**trace.columns, name: column})

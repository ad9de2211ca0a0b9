"""How a stage reads and writes the columns of a trace, and how one row of them becomes a formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from workbench.records import Floats, Trace
from workbench.retrieval.formula import Term, term


class Numbers(Protocol):
    """Named numbers: whole columns, or one row of them as terms."""

    def __getitem__(self, name: str) -> Any: ...

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

    def constant(self, value: float) -> float:
        return value

    def least(self, name: str) -> float:
        return _over_present(np.min, self.values[name])

    def greatest(self, name: str) -> float:
        return _over_present(np.max, self.values[name])

    def over(self, statistic: Callable[[Floats], Any], name: str) -> float:
        return _over_present(statistic, self.values[name])


@dataclass(frozen=True)
class Row:
    """One row of the columns, as terms: `of["score"]` is a number that prints itself."""

    values: Mapping[str, Floats]
    row: int
    digits: int = 4

    def __getitem__(self, name: str) -> Term:
        return self.constant(float(self.values[name][self.row]))

    def constant(self, value: float) -> Term:
        return term(value, self.digits)

    def least(self, name: str) -> Term:
        return self.constant(_over_present(np.min, self.values[name]))

    def greatest(self, name: str) -> Term:
        return self.constant(_over_present(np.max, self.values[name]))

    def over(self, statistic: Callable[[Floats], Any], name: str) -> Term:
        return self.constant(_over_present(statistic, self.values[name]))


def _over_present(reduce: Any, column: Floats) -> float:
    present = column[~np.isnan(column)]
    return float(reduce(present)) if present.size else float("nan")


@dataclass(frozen=True)
class ColumnStage:
    """A stage that computes one column from others by a formula written once.

    `output` names the column. `present` names a rank column: where that is absent, so is the output.
    """

    slot: ClassVar[str]
    output: ClassVar[str]
    present: ClassVar[str | None] = None

    def formula(self, of: Numbers) -> Any:
        """The output, as a column or as a term: whatever `of` gives."""
        raise NotImplementedError(f"{type(self).__name__} has no formula")

    def run(self, trace: Trace, context: Any) -> Trace:
        if not trace.chunks:
            return with_column(trace, self.output, np.empty(0))
        column = np.asarray(self.formula(Columns(trace.columns)), float)
        if self.present:
            column = np.where(np.isnan(trace.columns[self.present]), np.nan, column)
        return with_column(trace, self.output, column)


def with_column(trace: Trace, name: str, column: Floats) -> Trace:
    """`trace` with one column set."""
    return replace(trace, columns={**trace.columns, name: column})

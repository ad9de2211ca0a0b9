"""The base of all stages: how they join into a pipeline, and how they read and write a trace's columns.

The formulas of `scoring` and `fusion` are written once, for NumPy columns. A term is a number that knows how
it was computed. With terms instead of columns a formula computes the same number and prints itself:

>>> round((term(0.7) * term(0.438)).value, 4)
0.3066
>>> print(term(0.7) * term(0.438) + term(0.3) * term(0))
0.7 × 0.438 + 0.3 × 0
>>> print(1 / (1 + np.maximum(0.0, term(-4.2))))
1 / (1 + max(0, -4.2))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from workbench.contracts import Context
from workbench.errors import InputError
from workbench.records import Floats, Stage, Trace

SUM, PRODUCT, POWER, ATOM = 1, 2, 3, 4
EXACT = 17
"""With so many digits every float64 is read back as itself."""


class FormulaError(InputError):
    """A formula uses a NumPy function that cannot be written down."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"A formula uses {name}, which has no written form.",
            f"Use one of {', '.join(sorted(one.__name__ for one in (*WRITERS, *PREDICATES)))}, np.where; "
            "or add a writer to workbench.retrieval.columns.WRITERS.",
        )


def number(value: float, digits: int) -> str:
    """`value` with `digits` significant digits, without an exponent where a plain number is shorter."""
    return f"{float(value):.{digits}g}"


@dataclass(frozen=True, eq=False)
class Term(NDArrayOperatorsMixin):
    """A number, the text of the formula that made it, what that text comes to, and how tightly it binds.

    The numbers of the text are rounded to `digits` significant digits, so it may come to another number.
    """

    value: float
    text: str
    printed: float
    binds: int = ATOM
    digits: int = 4

    def __str__(self) -> str:
        return self.text

    def __float__(self) -> float:
        return self.value

    def _within(self, level: int) -> str:
        return f"({self.text})" if self.binds < level else self.text

    def _lift(self, other: Any) -> Term:
        return other if isinstance(other, Term) else term(float(other), self.digits)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **_: Any) -> Any:
        if method != "__call__" or not (ufunc in WRITERS or ufunc in PREDICATES):
            raise FormulaError(f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}"))
        terms = [self._lift(x) for x in inputs]
        with np.errstate(all="ignore"):
            result = ufunc(*[t.value for t in terms])
            exact = all(t.printed == t.value for t in terms)
            printed = result if exact else ufunc(*[t.printed for t in terms])
        if ufunc in PREDICATES:
            # A NumPy bool, because `~` of a Python bool is an integer that is always true.
            return np.bool_(result)
        text, binds = WRITERS[ufunc](*terms)
        return Term(float(result), text, float(printed), binds, self.digits)

    def __array_function__(self, function: Any, _: Any, args: Any, keywords: Any) -> Any:
        if function is not np.where or len(args) != 3 or keywords:
            raise FormulaError(f"np.{function.__name__}")
        condition, yes, no = args
        if isinstance(condition, Term):
            raise FormulaError("np.where with a number for its condition")
        return self._lift(yes if condition else no)


def term(value: float, digits: int = 4) -> Term:
    """A plain number as a term."""
    text = number(value, digits)
    return Term(float(value), text, float(text), SUM if text.startswith("-") else ATOM, digits)


def _infix(symbol: str, level: int) -> Callable[[Term, Term], tuple[str, int]]:
    tighter = level + (symbol in "-/")
    return lambda a, b: (f"{a._within(level)} {symbol} {b._within(tighter)}", level)


def _call(name: str) -> Callable[..., tuple[str, int]]:
    return lambda *terms: (f"{name}({', '.join(t.text for t in terms)})", ATOM)


CALLED = (np.sqrt, np.exp, np.expm1, np.log, np.log1p, np.log2, np.log10, np.tanh, np.floor, np.ceil, np.sign)
"""Functions that are written under their own names."""

WRITERS: dict[np.ufunc, Callable[..., tuple[str, int]]] = {
    np.add: _infix("+", SUM),
    np.subtract: _infix("-", SUM),
    np.multiply: _infix("×", PRODUCT),
    np.divide: _infix("/", PRODUCT),
    np.power: lambda a, b: (f"{a._within(ATOM)} ^ {b._within(ATOM)}", POWER),
    np.negative: lambda a: (f"-{a._within(POWER)}", SUM),
    np.positive: lambda a: (a.text, a.binds),
    np.arctan: _call("atan"),
    np.maximum: _call("max"),
    np.minimum: _call("min"),
    np.absolute: _call("abs"),
    np.square: lambda a: (f"{a._within(ATOM)} ^ 2", POWER),
    **{function: _call(function.__name__) for function in CALLED},
}

PREDICATES = (
    np.isnan,
    np.isfinite,
    np.isinf,
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
    np.equal,
    np.not_equal,
)


class Numbers(ABC):
    """Named numbers: whole columns, or one row of them as terms."""

    values: Mapping[str, Floats]

    @abstractmethod
    def __getitem__(self, name: str) -> Any: ...

    @abstractmethod
    def constant(self, value: float) -> Any:
        """A parameter of the stage."""

    @abstractmethod
    def over(self, statistic: Callable[[Floats], Any], name: str) -> Any:
        """A statistic of a column, over the candidates that have a number there."""

    def given(self, name: str) -> Any:
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
    """The columns of a trace, whole: `of["score"]` is a float64 array with NaN for absent."""

    values: Mapping[str, Floats]

    def __getitem__(self, name: str) -> Floats:
        return self.values[name]

    def constant(self, value: float) -> float:
        return value

    def over(self, statistic: Callable[[Floats], Any], name: str) -> Any:
        return over_present(statistic, self.values[name])


@dataclass(frozen=True)
class Row(Numbers):
    """One row of the columns, as terms: `of["score"]` is a number that prints itself."""

    values: Mapping[str, Floats]
    row: int
    digits: int = 4

    def __getitem__(self, name: str) -> Term:
        return self.constant(float(self.values[name][self.row]))

    def constant(self, value: float) -> Term:
        return term(value, self.digits)

    def over(self, statistic: Callable[[Floats], Any], name: str) -> Term:
        return self.constant(over_present(statistic, self.values[name]))


class _Listener(Numbers):
    """Numbers that note which columns a formula asks for."""

    def __init__(self) -> None:
        self.needed: dict[str, None] = {}
        self.optional: dict[str, None] = {}

    def __getitem__(self, name: str) -> Term:
        self.needed[name] = None
        return term(1.0)

    def constant(self, value: float) -> Term:
        return term(value)

    def over(self, statistic: Callable[[Floats], Any], name: str) -> Term:
        return self[name]

    def given(self, name: str) -> Term:
        self.optional[name] = None
        return term(1.0)


def filled(score: Any, absent: float) -> Any:
    """`score`, with `absent` where the leg did not bring the candidate."""
    return np.where(np.isnan(score), absent, score)


def over_present(reduce: Callable[[Floats], Any], column: Floats) -> Any:
    """A statistic of the numbers of a column that are present; NaN if none is.

    For columns of many questions, shape (candidates, questions), one number for each question.
    """
    if column.ndim > 1:
        return np.array([over_present(reduce, one) for one in column.T])
    present = column[~np.isnan(column)]
    return float(reduce(present)) if present.size else float("nan")


class Stages(tuple[Stage, ...]):
    """Stages in the order in which they run: what `>>` makes of them, and what a `Pipeline` takes."""

    def __rshift__(self, later: Stage | Stages) -> Stages:
        return Stages((*self, *(later if isinstance(later, Stages) else (later,))))


class PlainStage:
    """Base of a stage that reads and writes no columns by default; `>>` joins it with others."""

    slot: ClassVar[str]
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {}

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
        """How the output of one row was computed, from the columns as they were then.

        Its numbers have `digits` digits, or as many more as the text needs to come to the output within 1 %:
        the difference of two numbers that agree in four digits would be 0.
        """
        for enough in range(digits, EXACT + 1):
            formula = self.formula(Row(columns, row, enough))
            made = formula if isinstance(formula, Term) else term(float(formula), enough)
            same = made.printed == made.value
            if same or np.isclose(made.printed, made.value, rtol=0.01, atol=0.0, equal_nan=True):
                break
        return made


def with_column(trace: Trace, name: str, column: Floats) -> Trace:
    """`trace` with one more column."""
    return trace.but(columns={**trace.columns, name: column})


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
    told = parameters(stage) | {name: one for name, one in every.items() if one and isinstance(one, tuple)}
    values = ", ".join(f"{name}={_told(value)}" for name, value in told.items())
    return f"{type(stage).__name__}({values})" if values else type(stage).__name__


def _told(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_told, value))})"
    return f"{value:g}" if isinstance(value, float) else str(value)

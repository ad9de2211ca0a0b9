"""A formula as data: it computes itself, prints itself, and is written for another language.

A stage's formula is written once, for NumPy columns. Run with the names of columns in place of their numbers
it gives an expression: a tree of operations, whose leaves are numbers, columns and parameters.

>>> made = constant(0.7) * constant(0.438) + 0.3 * constant(0)
>>> print(made)
0.7 × 0.438 + 0.3 × 0
>>> round(made.value, 4)
0.3066
>>> made.data
['add', ['multiply', 0.7, 0.438], ['multiply', 0.3, 0.0]]
>>> print(1 / (1 + np.maximum(0.0, constant(-4.2))))
1 / (1 + max(0, -4.2))
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from workbench.errors import InputError
from workbench.records import Floats

SUM, PRODUCT, POWER, ATOM = 1, 2, 3, 4
"""How tightly a text binds: a looser one needs brackets inside a tighter one."""

NUMBERS = "number", "parameter"
READING = "column", "statistic", "whole"
"""The operations without inputs that are expressions: numbers, and what is read of the columns."""

Text = tuple[str, int]
"""A text, and how tightly it binds."""


class FormulaError(InputError):
    """A formula uses a NumPy function that cannot be written down."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"A formula uses {name}, which has no written form.",
            f"Use one of {', '.join(sorted(OPERATIONS))}, np.where; or add a writer to "
            "workbench.retrieval.expressions.WRITERS.",
        )


def number_text(value: float, digits: int) -> str:
    """`value` with `digits` significant digits, without an exponent where a plain number is shorter."""
    return f"{float(value):.{digits}g}"


@dataclass(eq=False)
class Expression(NDArrayOperatorsMixin):
    """An operation and its inputs.

    The operation is the name of a NumPy function, whose inputs are expressions, or one of these: `number`, of
    a number; `parameter`, of its name and number; `column`, of its name; `statistic`, of a function and a
    column's name; `whole`, of a function that makes a new column of a column, and that column's name.

    A number that `in_row` read of a column keeps the name of the column in `read_from`, and the name of the
    statistic before it if it is one. A `plain` expression is a condition, or is computed from numbers in the
    code alone: it is printed as one number. `guards` notes each condition on which the formula branched in
    Python, and how it turned out: with other parameters the formula holds only as long as that is the same.
    `digits` are those of the text.
    """

    operation: str
    inputs: tuple[Any, ...]
    guards: list[Any] = field(default_factory=list, repr=False)
    plain: bool = False
    digits: int = 4
    read_from: tuple[str, ...] = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **_: Any) -> Expression:
        name = ufunc.__name__
        if method != "__call__" or name not in OPERATIONS:
            raise FormulaError(f"np.{name}" + ("" if method == "__call__" else f".{method}"))
        operands = tuple(map(expression, inputs))
        return Expression(
            name, operands, self.guards, name in CONDITIONS or all(one.plain for one in operands)
        )

    def __array_function__(self, function: Any, _: Any, args: Any, keywords: Any) -> Expression:
        if function is not np.where or len(args) != 3 or keywords:
            raise FormulaError(f"np.{function.__name__}")
        condition, yes, no = map(expression, args)
        if not condition.plain:
            raise FormulaError("np.where with a number for its condition")
        return Expression("where", (condition, yes, no), self.guards, yes.plain and no.plain)

    def __bool__(self) -> bool:
        outcome = bool(self.value)
        self.guards.append([self.data, outcome])
        return outcome

    __hash__ = None  # type: ignore[assignment]

    @property
    def value(self) -> Any:
        """What it comes to. Raises FormulaError where that differs between candidates."""
        with np.errstate(all="ignore"):
            return self._computed(None)

    def printed(self, digits: int) -> float:
        """What its text comes to, whose numbers have so many significant digits."""
        with np.errstate(all="ignore"):
            return float(self._computed(digits))

    def _computed(self, digits: int | None) -> Any:
        if self.operation in NUMBERS:
            number = self.inputs[-1]
            return number if digits is None else float(number_text(number, digits))
        if self.operation in READING:
            raise FormulaError("a branch of Python on a column")
        if self.operation == "where":
            return self._taken()._computed(digits)
        if self.operation in CONDITIONS:  # which the numbers themselves decide, however they are rounded
            return OPERATIONS[self.operation](*[one._computed(None) for one in self.inputs])
        return float(OPERATIONS[self.operation](*[one._computed(digits) for one in self.inputs]))

    def _taken(self) -> Expression:
        """The side of a `where` that its condition chooses."""
        condition, yes, no = self.inputs
        chosen: Expression = yes if condition._computed(None) else no
        return chosen

    def in_row(self, columns: Mapping[str, Floats], row: int) -> Expression:
        """The same for the candidate in one row: with numbers in place of columns, and without `where`."""
        with np.errstate(all="ignore"):
            return self._in_row(columns, row, {})

    def _in_row(self, columns: Mapping[str, Floats], row: int, known: dict[int, Expression]) -> Expression:
        """As `in_row`. `known` are the parts that are done, since a part can stand in several places."""
        if id(self) not in known:
            known[id(self)] = self._of_numbers(columns, row, known)
        return known[id(self)]

    def _of_numbers(
        self, columns: Mapping[str, Floats], row: int, known: dict[int, Expression]
    ) -> Expression:
        if self.operation in NUMBERS:
            return self
        if self.operation in READING:
            statistic = (STATISTICS.get(one, "") for one in self.inputs[:-1])
            return Expression("number", (self._read(columns, row),), read_from=(*statistic, self.inputs[-1]))
        if self.operation == "where":
            condition, yes, no = self.inputs
            taken = yes if condition._in_row(columns, row, known)._computed(None) else no
            chosen: Expression = taken._in_row(columns, row, known)
            return constant(chosen.inputs[-1]) if chosen.plain and not self.plain else chosen
        inputs = tuple(one._in_row(columns, row, known) for one in self.inputs)
        computed = Expression(self.operation, inputs)
        return Expression("number", (computed._computed(None),), plain=True) if self.plain else computed

    def _read(self, columns: Mapping[str, Floats], row: int) -> float:
        """The number that a leaf reads of the columns."""
        *function, name = self.inputs
        if self.operation == "column":
            return float(columns[name][row])
        if self.operation == "whole":
            return float(function[0](columns[name])[row])
        return float(over_present(function[0], columns[name]))

    @property
    def text(self) -> str:
        """The formula as arithmetic, with as few brackets as it needs."""
        return self._text()[0]

    def __str__(self) -> str:
        return self.text

    def in_words(self, names: Mapping[str, str]) -> str:
        """The formula of one row, with the names of columns in place of numbers that were read of them.

        >>> number = constant(3) + Expression("number", (0.5931,), read_from=("vector_score",))
        >>> print(number.in_words({"vector_score": "best passage"}))
        3 + best passage
        """
        return self._text(names=names)[0]

    def _text(self, digits: int | None = None, names: Mapping[str, str] | None = None) -> Text:
        digits = digits or self.digits
        if self.operation in WRITERS:
            return WRITERS[self.operation](*[one._text(digits, names) for one in self.inputs])
        if self.operation == "where":
            return self._taken()._text(digits, names)
        if self.read_from and names and self.read_from[-1] in names:
            *statistic, column = self.read_from
            return " ".join([*(SPOKEN.get(one, one) for one in statistic), names[column]]), ATOM
        if self.operation in READING:
            return str(self.inputs[-1]), ATOM
        text = number_text(self.value, digits)
        return text, SUM if text.startswith("-") else ATOM

    @property
    def data(self) -> Any:
        """Nested lists, such as `["multiply", 0.7, ["column", "vector_score"]]`.

        A number that JSON does not have is written as text. Raises FormulaError for a function of a
        column that has no name in STATISTICS.
        """
        match self.operation, self.inputs:
            case "number", (value,):
                return float(value) if np.isfinite(value) else json.dumps(float(value))
            case "column" | "parameter" as kind, (name, *_):
                return [kind, name]
            case "statistic", (function, name) if function in STATISTICS:
                return ["over", STATISTICS[function], ["column", name]]
            case "statistic" | "whole", (function, _):
                raise FormulaError(f"the function {getattr(function, '__name__', function)} of a column")
            case name, inputs:
                return [name, *(one.data for one in inputs)]

    @property
    def has_parameters(self) -> bool:
        """Whether it has a number that a person can set."""
        inner = (one for one in self.inputs if isinstance(one, Expression))
        return self.operation == "parameter" or any(one.has_parameters for one in inner)

    def __format__(self, spec: str) -> str:
        """Its text. With parameters it is data in braces, so that the words of a stage follow them."""
        if spec not in ("", "g"):
            raise FormulaError(f"the format {spec}")
        return f"{{{json.dumps(self.data)}}}" if self.has_parameters else self.text


def constant(value: float, digits: int = 4) -> Expression:
    """A number that stands in the text as it is."""
    return Expression("number", (float(value),), digits=digits)


def expression(value: Any) -> Expression:
    """An expression as it is, and a number as one."""
    return value if isinstance(value, Expression) else Expression("number", (float(value),), plain=True)


def over_present(reduce: Callable[[Floats], Any], column: Floats) -> Any:
    """A statistic of the numbers of a column that are present; NaN if none is.

    For columns of many questions, shape (candidates, questions), one number for each question.
    """
    if column.ndim > 1:
        return np.array([over_present(reduce, one) for one in column.T])
    present = column[~np.isnan(column)]
    return float(reduce(present)) if present.size else float("nan")


STATISTICS: dict[Callable[..., Any], str] = {np.min: "min", np.max: "max"}
"""The statistics that `pipeline.js` has, with their names there. A feature adds its own."""


SPOKEN = {"min": "lowest", "max": "highest"}
"""The names of statistics in a sentence."""


def _infix(symbol: str, level: int) -> Callable[[Text, Text], Text]:
    tighter = level + (symbol in "-/")
    return lambda a, b: (f"{_within(a, level)} {symbol} {_within(b, tighter)}", level)


def _within(part: Text, level: int) -> str:
    text, binds = part
    return f"({text})" if binds < level else text


def _call(name: str) -> Callable[..., Text]:
    return lambda *parts: (f"{name}({', '.join(text for text, _ in parts)})", ATOM)


CALLED = "sqrt exp expm1 log log1p log2 log10 tanh floor ceil sign"
"""Functions that are written under their own names."""

WRITERS: dict[str, Callable[..., Text]] = {
    "add": _infix("+", SUM),
    "subtract": _infix("-", SUM),
    "multiply": _infix("×", PRODUCT),
    "divide": _infix("/", PRODUCT),
    "power": lambda a, b: (f"{_within(a, ATOM)} ^ {_within(b, ATOM)}", POWER),
    "negative": lambda a: (f"-{_within(a, POWER)}", SUM),
    "positive": lambda a: a,
    "arctan": _call("atan"),
    "maximum": _call("max"),
    "minimum": _call("min"),
    "absolute": _call("abs"),
    "square": lambda a: (f"{_within(a, ATOM)} ^ 2", POWER),
    **{name: _call(name) for name in CALLED.split()},
}
"""The functions that a printed formula has, by their names in NumPy."""

CONDITIONS = (
    *("isnan", "isfinite", "isinf", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
    *("invert", "logical_not", "bitwise_and", "logical_and", "bitwise_or", "logical_or"),
)
"""The functions that give yes or no: a printed formula has only the side that they choose."""

OPERATIONS: dict[str, np.ufunc] = {name: getattr(np, name) for name in (*WRITERS, *CONDITIONS)}

"""Numbers that remember how they were computed, so that a printed formula is the arithmetic itself.

The functions of `scoring` and `fusion` are written once, for NumPy columns. With terms instead of columns
they compute the same number and write the formula at the same time:

>>> round((term(0.7) * term(0.438)).value, 4)
0.3066
>>> print(term(0.7) * term(0.438) + term(0.3) * term(0))
0.7 × 0.438 + 0.3 × 0
>>> print(1 / (1 + np.maximum(0.0, term(-4.2))))
1 / (1 + max(0, -4.2))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from workbench.errors import InputError

SUM, PRODUCT, POWER, ATOM = 1, 2, 3, 4


class FormulaError(InputError):
    """A formula uses a NumPy function that cannot be written down."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"A formula uses {name}, which has no written form.",
            f"Use one of {', '.join(sorted(one.__name__ for one in (*WRITERS, *PREDICATES)))}, np.where; "
            "or add a writer to workbench.retrieval.formula.WRITERS.",
        )


def number(value: float, digits: int) -> str:
    """`value` with `digits` significant digits, without an exponent where a plain number is shorter."""
    return f"{float(value):.{digits}g}"


@dataclass(frozen=True, eq=False)
class Term(NDArrayOperatorsMixin):
    """A number, the text of the formula that made it, and how tightly that text binds."""

    value: float
    text: str
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
            result = ufunc(*(np.float64(t.value) for t in terms))
        if ufunc in PREDICATES:
            # A NumPy bool, because `~` of a Python bool is an integer that is always true.
            return np.bool_(result)
        text, binds = WRITERS[ufunc](*terms)
        return Term(float(result), text, binds, self.digits)

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
    return Term(float(value), text, SUM if text.startswith("-") else ATOM, digits)


def _infix(symbol: str, level: int) -> Callable[[Term, Term], tuple[str, int]]:
    tighter = level + (symbol in "-/")
    return lambda a, b: (f"{a._within(level)} {symbol} {b._within(tighter)}", level)


def _power(base: Term, exponent: Term) -> tuple[str, int]:
    return f"{base._within(ATOM)} ^ {exponent._within(ATOM)}", POWER


def _call(name: str) -> Callable[..., tuple[str, int]]:
    return lambda *terms: (f"{name}({', '.join(t.text for t in terms)})", ATOM)


WRITERS: dict[np.ufunc, Callable[..., tuple[str, int]]] = {
    np.add: _infix("+", SUM),
    np.subtract: _infix("-", SUM),
    np.multiply: _infix("×", PRODUCT),
    np.divide: _infix("/", PRODUCT),
    np.power: _power,
    np.negative: lambda a: (f"-{a._within(POWER)}", SUM),
    np.positive: lambda a: (a.text, a.binds),
    np.arctan: _call("atan"),
    np.maximum: _call("max"),
    np.minimum: _call("min"),
    np.absolute: _call("abs"),
    np.sqrt: _call("sqrt"),
    np.square: lambda a: (f"{a._within(ATOM)} ^ 2", POWER),
    np.exp: _call("exp"),
    np.expm1: _call("expm1"),
    np.log: _call("log"),
    np.log1p: _call("log1p"),
    np.log2: _call("log2"),
    np.log10: _call("log10"),
    np.tanh: _call("tanh"),
    np.floor: _call("floor"),
    np.ceil: _call("ceil"),
    np.sign: _call("sign"),
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

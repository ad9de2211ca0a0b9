"""A formula that prints itself: its text, read back, means exactly what was computed."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.arithmetic import evaluated
from workbench.retrieval.columns import Columns, Names
from workbench.retrieval.expressions import Expression, FormulaError, constant, expression
from workbench.retrieval.scoring import MinMaxRank

Pair = tuple[Expression, Fraction]
Function = Callable[..., Any]

# Each operation on terms, and the same on exact fractions.
SAME: list[Function] = [operator.add, operator.sub, operator.mul, operator.truediv]
TWO_SIDED: list[tuple[Function, Function]] = [
    *((one, one) for one in SAME),
    (np.maximum, max),
    (np.minimum, min),
]
ONE_SIDED: list[tuple[Function, Function]] = [(operator.neg, operator.neg), (abs, abs)]


def combined(made: tuple[tuple[Function, Function], Pair, Pair]) -> Pair:
    (on_terms, on_fractions), (left, exact_left), (right, exact_right) = made
    if on_terms is operator.truediv and abs(exact_right) < Fraction(1, 100):
        on_terms = on_fractions = operator.sub
    return on_terms(left, right), on_fractions(exact_left, exact_right)


def changed(made: tuple[tuple[Function, Function], Pair]) -> Pair:
    (on_terms, on_fractions), (inner, exact) = made
    return on_terms(inner), on_fractions(exact)


NUMBERS = st.integers(-9, 9).map(lambda n: (constant(n), Fraction(n)))
SMALL = st.tuples(st.sampled_from(TWO_SIDED), NUMBERS, NUMBERS).map(combined)
PARTS = st.one_of(NUMBERS, SMALL, st.tuples(st.sampled_from(ONE_SIDED), SMALL).map(changed))
MIDDLING = st.tuples(st.sampled_from(TWO_SIDED), PARTS, PARTS).map(combined)
PAIRS = st.tuples(st.sampled_from(TWO_SIDED), MIDDLING, MIDDLING).map(combined)


@given(PAIRS)
@settings(max_examples=300)
def test_a_terms_value_and_its_text_are_what_was_computed(pair: Pair) -> None:
    made, exact = pair
    assert evaluated(str(made), Fraction) == exact
    assert made.value == pytest.approx(float(exact), rel=1e-6, abs=1e-6)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_of_17_digits_is_read_back_exactly(value: float) -> None:
    assert evaluated(str(constant(value, 17))) == value


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (constant(0.7) * constant(0.438) + constant(0.3) * constant(0), "0.7 × 0.438 + 0.3 × 0"),
        (constant(1) - (constant(2) - constant(3)), "1 - (2 - 3)"),
        (constant(1) - constant(2) - constant(3), "1 - 2 - 3"),
        ((constant(1) + 2) * 3, "(1 + 2) × 3"),
        (constant(1) / (constant(2) * 3), "1 / (2 × 3)"),
        (1 - constant(-0.5), "1 - (-0.5)"),
        (constant(-2) * constant(-3), "(-2) × (-3)"),
        (-(constant(1) + 2), "-(1 + 2)"),
        (1 / (1 + np.maximum(0.0, constant(-4.2))), "1 / (1 + max(0, -4.2))"),
        (np.exp(constant(0) - 1), "exp(0 - 1)"),
    ],
)
def test_a_formula_has_the_brackets_it_needs_and_no_more(made: Expression, text: str) -> None:
    assert str(made) == text


def test_a_choice_keeps_only_the_side_that_was_taken() -> None:
    assert str(np.where(np.isnan(constant(math.nan)), 0.0, constant(2) * 3)) == "0"
    assert str(np.where(np.isnan(constant(1)), 0.0, constant(2) * 3)) == "2 × 3"
    assert str(np.where(~np.isnan(constant(2.0)), constant(2.0), 0.0)) == "2"


@pytest.mark.parametrize(
    ("relevances", "printed"),
    [
        ([0.999424, 0.999381, 0.999395], "(0.999381 - 0.999395) / (0.999381 - 0.999424)"),
        ([0.8, 0.2, 0.4], "(0.2 - 0.4) / (0.2 - 0.8)"),
    ],
)
def test_numbers_have_the_digits_that_their_difference_needs(relevances: list[float], printed: str) -> None:
    columns = {"keyword_relevance": np.array(relevances)}
    made = MinMaxRank().in_row(columns, 2)
    assert str(made) == printed
    assert evaluated(str(made)) == pytest.approx(made.value, rel=0.01)


# Any formula equals its NumPy value, or is refused by name

ONE = (np.sqrt, np.exp, np.expm1, np.log, np.log1p, np.log2, np.log10, np.tanh, np.floor, np.ceil, np.sign)
ONE_ARGUMENT: list[Function] = [*ONE, np.abs, np.negative, np.square]
TWO = (np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.power)
TWO_ARGUMENTS: list[Function] = [*TWO]
CONDITIONS: list[Function] = [
    lambda x: np.isnan(x),
    lambda x: ~np.isnan(x),
    lambda x: np.isfinite(x) & (x > 0),
    lambda x: (x < 0) | (x == 1),
    lambda x: ~((x >= 0) & (x != 2)),
]
Formula = Callable[[Any], Any]


def chosen(made: tuple[Function, Formula, Formula]) -> Formula:
    condition, yes, no = made
    return lambda of: np.where(condition(of["b"]), yes(of), no(of))


LEAVES: list[Formula] = [
    lambda of: of["a"],
    lambda of: of["b"],
    lambda of: of.constant(0.7),
    lambda of: of.least("a"),
    lambda of: of.greatest("b"),
]
FORMULAS: st.SearchStrategy[Formula] = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(ONE_ARGUMENT), inner).map(lambda m: lambda of: m[0](m[1](of))),
        st.tuples(st.sampled_from(TWO_ARGUMENTS), inner, inner).map(
            lambda m: lambda of: m[0](m[1](of), m[2](of))
        ),
        st.tuples(st.sampled_from(CONDITIONS), inner, inner).map(chosen),
    ),
    max_leaves=6,
)
NUMBER = st.one_of(st.floats(-3, 3), st.sampled_from([0.0, 1.0, 2.0, math.nan]))


@given(FORMULAS, st.lists(st.tuples(NUMBER, NUMBER), min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_a_formula_of_a_row_is_that_of_the_column(formula: Formula, rows: list[tuple[float, float]]) -> None:
    values = {name: np.array([row[place] for row in rows]) for place, name in enumerate("ab")}
    with np.errstate(all="ignore"):
        column = np.broadcast_to(np.asarray(formula(Columns(values)), float), len(rows))
    for place, expected in enumerate(column):
        made = expression(formula(Names(values))).in_row(values, place)
        assert made.value == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ("formula", "name"),
    [
        (lambda x: np.cbrt(x), "np.cbrt"),
        (lambda x: np.arctan2(x, 1.0), "np.arctan2"),
        (lambda x: np.clip(x, 0.0, 1.0), "np.clip"),
        (lambda x: np.add.reduce(x), "np.add.reduce"),
        (lambda x: np.nan_to_num(x), "np.nan_to_num"),
        (lambda x: np.where(x, 1.0, 0.0), "np.where with a number"),
    ],
)
def test_what_has_no_written_form_is_refused_by_name(formula: Function, name: str) -> None:
    with pytest.raises(FormulaError, match=re.escape(name)):
        formula(constant(0.5))

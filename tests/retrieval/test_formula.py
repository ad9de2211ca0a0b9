"""A formula that prints itself: its text, read back, means exactly what was computed."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.arithmetic import evaluated
from workbench.retrieval.formula import Term, term

Pair = tuple[Term, Fraction]
Function = Callable[..., Any]

# Each operation on terms, and the same on exact fractions.
TWO_SIDED: list[tuple[Function, Function]] = [
    (operator.add, operator.add),
    (operator.sub, operator.sub),
    (operator.mul, operator.mul),
    (operator.truediv, operator.truediv),
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


NUMBERS = st.integers(-9, 9).map(lambda n: (term(n), Fraction(n)))
SMALL = st.tuples(st.sampled_from(TWO_SIDED), NUMBERS, NUMBERS).map(combined)
PARTS = st.one_of(NUMBERS, SMALL, st.tuples(st.sampled_from(ONE_SIDED), SMALL).map(changed))
MIDDLING = st.tuples(st.sampled_from(TWO_SIDED), PARTS, PARTS).map(combined)
PAIRS = st.tuples(st.sampled_from(TWO_SIDED), MIDDLING, MIDDLING).map(combined)


@given(PAIRS)
@settings(max_examples=300)
def test_a_terms_text_means_exactly_what_was_computed(pair: Pair) -> None:
    made, exact = pair
    assert evaluated(str(made), Fraction) == exact


@given(PAIRS)
@settings(max_examples=300)
def test_a_terms_value_is_what_was_computed(pair: Pair) -> None:
    made, exact = pair
    assert made.value == pytest.approx(float(exact), rel=1e-6, abs=1e-6)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_of_17_digits_is_read_back_exactly(value: float) -> None:
    assert evaluated(str(term(value, 17))) == value


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (term(0.7) * term(0.438) + term(0.3) * term(0), "0.7 × 0.438 + 0.3 × 0"),
        (term(1) - (term(2) - term(3)), "1 - (2 - 3)"),
        (term(1) - term(2) - term(3), "1 - 2 - 3"),
        ((term(1) + 2) * 3, "(1 + 2) × 3"),
        (term(1) / (term(2) * 3), "1 / (2 × 3)"),
        (1 - term(-0.5), "1 - (-0.5)"),
        (term(-2) * term(-3), "(-2) × (-3)"),
        (-(term(1) + 2), "-(1 + 2)"),
        (1 / (1 + np.maximum(0.0, term(-4.2))), "1 / (1 + max(0, -4.2))"),
        (np.exp(term(0) - 1), "exp(0 - 1)"),
    ],
)
def test_a_formula_has_the_brackets_it_needs_and_no_more(made: Term, text: str) -> None:
    assert str(made) == text


def test_a_choice_keeps_only_the_side_that_was_taken() -> None:
    assert str(np.where(np.isnan(term(math.nan)), 0.0, term(2) * 3)) == "0"
    assert str(np.where(np.isnan(term(1)), 0.0, term(2) * 3)) == "2 × 3"


def test_the_reader_of_formulas_reads_nothing_but_arithmetic() -> None:
    for text in ("open('x')", "().__class__", "a", "1 if 2 else 3", "'a' * 3"):
        with pytest.raises((ValueError, KeyError)):
            evaluated(text)

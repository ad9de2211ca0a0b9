"""The scan by main directions gives the answers of a comparison of all vectors, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from workbench.memory.embedding.local import unit
from workbench.memory.store import scan
from workbench.memory.store.scan import ROUNDING, MainDirections, Scan


@pytest.fixture(autouse=True, scope="module")
def for_small_tables() -> object:
    """Main directions also where they save little."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "LEAST_SAVED", 0)
        yield


def vectors(seed: int, count: int, topics: int, noise: float) -> NDArray[np.float32]:
    """Vectors of 24 numbers that differ most in a few topics; some are equal, and one is zero."""
    random = np.random.default_rng(seed)
    made = random.standard_normal((count, topics)) @ np.random.default_rng(0).standard_normal((topics, 24))
    made += noise * random.standard_normal((count, 24))
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    made[count // 2 : count // 2 + 9] = made[0]
    made[-1] = 0
    return made.astype(np.float32)


@given(
    seed=st.integers(0, 10_000),
    topics=st.integers(1, 24),
    noise=st.sampled_from([0.0, 1e-4, 0.1, 1.0]),
    limit=st.integers(1, 60),
)
def test_answers_are_those_of_a_comparison_of_all(seed: int, topics: int, noise: float, limit: int) -> None:
    rows, table = np.arange(1, 501), vectors(seed, 500, topics, noise)
    ids = [f"{place * 7919 % 500:04}" for place in range(500)]
    questions = [*vectors(seed + 1, 20, topics, noise)[:-1], table[3], table[0]]
    searched = Scan(rows, ids, table)
    for question in questions:
        expected, found = Scan(rows, ids, table).nearest(question, limit), searched.nearest(question, limit)
        assert np.array_equal(found.rows, expected.rows)
        assert np.array_equal(found.raw, expected.raw)


def test_few_rows_are_left_where_few_directions_hold_most() -> None:
    table = vectors(1, 4_000, 3, 0.05)
    directions = MainDirections(table)
    left = [directions.possible(one, 24, ROUNDING) for one in vectors(2, 10, 3, 0.05)[:-1]]
    assert directions.useful
    assert all(one is not None and 24 <= one.size < 400 for one in left)


def test_what_float32_rounds_away_does_not_decide() -> None:
    random, count, limit = np.random.default_rng(4), 2_000, 10
    question, *others = unit(random.standard_normal((count + 1, 384))).astype(float)
    across = unit(np.array([one - one @ question * question for one in others]))
    table, question = unit(0.5 * question + 0.75**0.5 * across), question.astype(np.float32)  # all as near
    nearest = np.argsort(-(table.astype(float) @ question.astype(float)))[:limit]
    product = table @ question
    assert product[nearest].min() < np.sort(product)[-limit], "the product alone leaves some of them out"
    searched = Scan(np.arange(count), [f"{place:05}" for place in range(count)], table)
    (among_many,) = searched.nearest_of_each(question[None], limit)
    for found in (searched.nearest(question, limit), among_many):
        assert found.rows.tolist() == nearest.tolist()

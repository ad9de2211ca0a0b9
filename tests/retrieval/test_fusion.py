"""Two legs become one score: computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.openclaw_february import FixedIndex
from tests.hand import BOTH, answering
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.retrieval.columns import Columns
from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.fusion import AnsweredSum, WeightedRRF, WeightedSum, weighted_rrf
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import RRF, SHIPPED, WORKAROUND

# Fusion, by hand


def scored(pipeline: Pipeline, index: FixedIndex) -> dict[str, float]:
    """The score of every candidate, dropped ones included."""
    return {one.chunk.id: one.score for one in search("X", pipeline, index).candidates}


ALL_HITS = {"keyword": {"a": -3.0, "c": 1.0}, "vector": {"b": 0.1, "a": 0.4, "c": 0.0}}
HALF = SHIPPED.with_stage(WeightedSum(vector=0.7, keyword=0.3, absent=0.5))
MOST = 0.7 / 61 + 0.3 / 61


@pytest.mark.parametrize(
    ("pipeline", "hits", "expected"),
    [
        (SHIPPED, ALL_HITS, {"a": 0.7 * 0.6 + 0.3, "b": 0.7 * 0.9, "c": 0.7 + 0.3 / 2}),
        (HALF, {"vector": {"a": 0.2}}, {"a": 0.7 * 0.8 + 0.3 * 0.5}),
        (WORKAROUND, {"keyword": {"z": -9.0}, "vector": {"a": 0.25}}, {"a": 0.75}),
        (
            SHIPPED.with_changes(RRF),
            BOTH,
            {"a": (0.7 / 62 + 0.3 / 61) / MOST, "b": (0.7 / 61) / MOST, "c": (0.3 / 62) / MOST},
        ),
        (SHIPPED.with_changes(RRF), {"keyword": {"a": -1.0}, "vector": {"a": 0.9}}, {"a": 1.0}),
    ],
    ids=["the shipped sum", "absent is 0.5", "the work-around", "RRF", "RRF of the first in both"],
)
def test_by_hand(pipeline: Pipeline, hits: dict[str, dict[str, float]], expected: dict[str, float]) -> None:
    assert scored(pipeline, answering(**hits)) == pytest.approx(expected)


@pytest.mark.parametrize("pipeline", [SHIPPED, SHIPPED.with_changes(RRF)], ids=["sum", "rrf"])
def test_a_perfect_keyword_hit_alone_scores_030_and_is_dropped(pipeline: Pipeline) -> None:
    (only,) = search("X", pipeline, answering(keyword={"a": -1000.0})).candidates
    assert only.score == pytest.approx(0.30)
    assert only.dropped_by == MinScore(0.35)


def test_under_the_shipped_sum_a_vector_hit_alone_needs_a_cosine_of_050() -> None:
    kept = search("X", SHIPPED, answering(vector={"just": 0.50, "below": 0.51})).results
    assert [one.chunk.id for one in kept] == ["just"]


def test_an_empty_legs_weight_is_not_counted_in_the_score_nor_in_its_parts() -> None:
    index = answering(vector={"a": 0.2, "b": 0.5})
    answered = SHIPPED.with_stage(AnsweredSum(vector=0.7, keyword=0.3))
    assert scored(answered, index) == pytest.approx({"a": 0.8, "b": 0.5})
    trace = search("X", answered, index)
    vector, keyword = AnsweredSum(vector=0.7, keyword=0.3).contributions(Columns(trace.columns))
    np.testing.assert_allclose(vector, trace.scores)
    assert np.isnan(keyword).all()
    assert scored(SHIPPED.with_stage(AnsweredSum(vector=0, keyword=1)), index) == {"a": 0.0, "b": 0.0}


@pytest.mark.parametrize("name", ["recommended", "dify-hybrid", SHIPPED.name, f"{SHIPPED.name}+renormalised"])
def test_the_parts_of_a_weighted_sum_sum_to_the_score(sample: MemoryIndex, name: str) -> None:
    """Also where a score is of no leg, or of a candidate that the leg did not bring."""
    trace = search("where is the radio licence", SYSTEMS[name], sample)
    fusion = SYSTEMS[name]["fusion"]
    assert isinstance(fusion, WeightedSum)
    parts = np.nan_to_num(np.array(fusion.contributions(Columns(trace.columns))))
    np.testing.assert_allclose(parts.sum(axis=0), trace.columns["score"], atol=1e-12)


def test_a_maximum_of_zero_is_refused() -> None:
    with pytest.raises(InputError, match="All weights are 0"):
        WeightedRRF(vector=0, keyword=0)


def test_rrf_looks_at_ranks_alone() -> None:
    near = answering(keyword={"a": -9.0, "b": -8.9}, vector={"b": 0.1, "c": 0.11})
    far = answering(keyword={"a": -9.0, "b": -0.1}, vector={"b": 0.1, "c": 1.9})
    assert scored(SHIPPED.with_changes(RRF), near) == scored(SHIPPED.with_changes(RRF), far)


RANKS = st.lists(st.one_of(st.just(math.nan), st.integers(1, 200).map(float)), min_size=1, max_size=8)


@given(RANKS, st.floats(0.01, 10), st.floats(0.01, 10), st.floats(0, 200))
def test_rrf_never_exceeds_1(ranks: list[float], vector: float, keyword: float, k: float) -> None:
    column = np.array(ranks)
    scores = weighted_rrf((column, column[::-1]), (vector, keyword), k)
    assert np.all((scores >= 0) & (scores <= 1 + 1e-12))

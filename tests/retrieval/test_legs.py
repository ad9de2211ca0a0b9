"""The two legs, their union, and how raw numbers become scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hand import BOTH, answering, columns, ids
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.retrieval.index_adapters import CachedIndex, IndexAdapter
from workbench.retrieval.legs import Depth
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.scoring import absolute_rank, clamped_rank, cosine_similarity, min_max
from workbench.retrieval.settings import with_settings
from workbench.systems.catalogue import SYSTEMS, system
from workbench.systems.openclaw import MIN_MAX, SHIPPED, THREE_FIXES, WORKAROUND
from workbench_plugins.calibrate.synthetic_negatives import Without
from workbench_plugins.engines.shipped_fusions import KeywordCosine, NearCosine
from workbench_plugins.recommended.layout import PassagesLayout


def test_the_union_has_the_vector_legs_chunks_first_with_each_legs_ranks_and_raw_numbers() -> None:
    trace = search("X", SHIPPED, answering(**BOTH))
    assert ids(trace) == ["b", "a", "c"]
    assert columns(trace, "vector_rank") == [1, 2, None]
    assert columns(trace, "keyword_rank") == [None, 1, 2]
    assert columns(trace, "vector_raw") == [0.1, 0.4, None]
    assert columns(trace, "keyword_raw") == [None, -3.0, -1.5]


@pytest.mark.parametrize(
    ("limit", "depth"), [(6, 24), (10, 40), (100, 200), (50, 200), (0.1, 1), (0, 1), (1.6, 6)]
)
def test_a_leg_is_asked_for_four_times_the_limit_between_1_and_200(limit: float, depth: int) -> None:
    index = answering()
    search("X", SHIPPED.asking(limit=limit), index)
    assert index.calls == [("keyword", depth), ("vector", depth)]


def test_a_leg_that_brings_more_than_its_depth_is_cut() -> None:
    many = {f"{number:03}": number / 100 for number in range(50)}
    assert len(search("X", SHIPPED, answering(vector=many)).chunks) == Depth(4).of(6) == 24


def test_a_question_without_an_ascii_word_does_not_ask_the_keyword_leg() -> None:
    index = answering(keyword={"a": -1.0}, vector={"b": 0.1})
    trace = search("金银", SHIPPED, index)
    assert index.calls == [("vector", 24)]
    assert trace.legs["keyword"].asked is None


def test_a_vector_of_zeros_does_not_ask_the_vector_leg_and_says_so() -> None:
    index = answering(keyword={"a": -1.0}, vector={"b": 0.1})
    trace = search("X", SHIPPED, index, vector=np.zeros(3, np.float32))
    assert index.calls == [("keyword", 24)]
    assert trace.legs["vector"].asked is None
    assert "all zeros" in trace.notes[0]


def test_a_union_without_a_leg_is_refused(toy: MemoryIndex) -> None:
    legless = replace(SHIPPED, stages=(SHIPPED["query"], SHIPPED["candidates"], SHIPPED["limit"]))
    with pytest.raises(InputError, match="No leg ran before the stage 'candidates'") as refused:
        search("tea", legless, toy)
    assert "KeywordLeg()" in refused.value.remedy


def test_a_question_of_the_wrong_length_is_refused(toy: MemoryIndex) -> None:
    with pytest.raises(InputError, match="5 dimensions, the index 3"):
        search("tea", SHIPPED, toy, vector=np.eye(5, dtype=np.float32)[0])


def test_a_leg_with_other_constants_of_bm25_has_their_numbers(toy: MemoryIndex) -> None:
    usual = search("rooibos tea", THREE_FIXES, toy)
    trace = search("rooibos tea", with_settings(THREE_FIXES, ["keyword_leg.k1=0"]), toy)
    assert trace.query is not None
    hits = toy.keyword_with(trace.query, toy.size, 0, 0.75)
    assert trace.legs["keyword"].hits.raw.tolist() == hits.raw.tolist()
    assert trace.legs["keyword"].hits.raw.tolist() != usual.legs["keyword"].hits.raw.tolist()


def test_a_leg_with_other_constants_asks_through_adapters_that_keep_the_table(toy: MemoryIndex) -> None:
    changed = with_settings(THREE_FIXES, ["keyword_leg.k1=0"])
    asked = search("rooibos tea", changed, toy).legs["keyword"].hits
    through = search("rooibos tea", changed, IndexAdapter(CachedIndex(toy)))
    assert through.legs["keyword"].hits.raw.tolist() == asked.raw.tolist()
    path = toy.chunks(asked.rows[:1])[0].path
    without = search("rooibos tea", changed, Without(toy, path)).legs["keyword"].hits
    kept = ~np.isin(asked.rows, toy.rows_of(path))
    assert not kept.all()
    assert without.raw.tolist() == asked.raw[kept].tolist()


@pytest.mark.parametrize("name", ["bm-head", "qmd-2.8.3-no-rerank"])
def test_a_table_that_fixes_the_constants_of_bm25_says_so(toy: MemoryIndex, name: str) -> None:
    changed = with_settings(SYSTEMS[name], ["keyword_leg.k1=2"])
    with pytest.raises(InputError, match="in a full-text table that fixes k1 and b") as refused:
        search("rooibos", changed, toy)
    assert "search the chunks without this layout" in refused.value.remedy


@pytest.mark.parametrize("name", ["recommended", "pgvector-rrf", "milvus-rrf"])
def test_a_leg_without_constants_of_bm25_has_no_parameter_for_them(name: str) -> None:
    with pytest.raises(InputError, match="'keyword_leg' has no parameter 'k1'"):
        with_settings(system(name), ["keyword_leg.k1=2"])


def test_the_nearest_note_has_the_cosine_of_its_angle(toy: MemoryIndex) -> None:
    found = {
        one.chunk.path: one.numbers["vector_score"] for one in search("bike", WORKAROUND, toy).candidates
    }
    # The errand has bike and hub on one axis and tea on the other, where a comma hides one bike.
    assert found["memory/both.md"] == pytest.approx(1 / math.sqrt(2), abs=1e-6)
    assert found["memory/bike.md"] == pytest.approx(1.0, abs=1e-6)
    assert found["memory/plain.md"] == 0.0


# Scoring


@pytest.mark.parametrize("convert", [clamped_rank, absolute_rank])
@pytest.mark.parametrize("raw", [math.nan, math.inf, -math.inf])
def test_a_rank_that_is_no_number_scores_one_thousandth(convert: Callable[[float], Any], raw: float) -> None:
    assert convert(raw) == 1 / 1000


@given(st.floats(-1e3, -1e-3), st.floats(1e-3, 1e3))
def test_the_absolute_score_is_upside_down(weaker: float, by: float) -> None:
    better = weaker - by
    assert absolute_rank(better) < absolute_rank(weaker)


def test_scores_by_hand() -> None:
    assert [absolute_rank(raw) for raw in (-4.0, -0.25)] == [1 / 5, 1 / 1.25]
    assert min_max(-3.0, best=-4.0, worst=-2.0) == 0.5
    assert [cosine_similarity(distance) for distance in (0.0, 0.25, 1.0, 2.0)] == [1.0, 0.75, 0.0, -1.0]


@given(st.lists(st.floats(-1e6, 0), min_size=1))
def test_min_max_runs_from_0_for_the_worst_to_1_for_the_best(raw: list[float]) -> None:
    column = np.array(raw)
    scores = min_max(column, best=column.min(), worst=column.max())
    assert np.all((scores >= 0) & (scores <= 1))
    assert scores[column.argmin()] == 1.0
    assert scores[column.argmax()] == (0.0 if column.min() < column.max() else 1.0)


@pytest.mark.parametrize("raw", [{"a": -2.5}, {"a": -2.5, "b": -2.5, "c": -2.5}], ids=["one", "equal"])
def test_min_max_gives_1_to_a_single_hit_and_to_equal_hits(raw: dict[str, float]) -> None:
    trace = search("X", SHIPPED.with_changes(MIN_MAX), answering(keyword=raw))
    assert columns(trace, "keyword_score") == [1.0] * len(raw)


@pytest.mark.parametrize(
    "pipeline",
    [one for one in SYSTEMS.values() if not isinstance(one.layout, PassagesLayout)],
    ids=lambda one: one.name,
)
def test_an_absent_hit_has_no_score_of_its_leg(pipeline: Pipeline) -> None:
    trace = search("X", pipeline, answering(**BOTH))
    kinds = {type(stage) for stage in pipeline.stages}
    for leg in trace.legs:
        absent = np.isnan(trace.columns[f"{leg}_rank"])
        without = np.isnan(trace.columns[f"{leg}_score"])
        # Dify scores the words of each candidate's text, whichever leg brings it.
        assert without[absent].all() or (leg == "keyword" and KeywordCosine in kinds)
        # A product may drop a hit by its cosine before it fuses.
        assert NearCosine in kinds or not without[~absent].any()

"""AutoMem's tokens, its score, and its adaptive floor, each by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.memory.index import MemoryIndex
from workbench.retrieval.pipeline import search
from workbench_plugins.automem.components import (
    AdaptiveFloor,
    HalfKept,
    LargerHalfKept,
    adaptive_floor,
    gated,
)
from workbench_plugins.automem.memories import content_words, graph_raw, metadata_terms, query_tokens
from workbench_plugins.automem.pipelines import LIVE_KEYWORD

# Text


def test_the_terms_of_a_question_and_of_a_memory() -> None:
    assert query_tokens("multi-hop") == ("multi-hop",)
    assert not set(query_tokens("multi-hop")) & content_words("a multi-hop question")
    assert metadata_terms(["x" * 256, "y" * 257]) == {"x" * 256}
    assert metadata_terms({"a": {"entities": ["x"], "b": "y"}}, ["entities"]) == {"y"}
    assert graph_raw("The carpet", ["scarf"], ["car"], "") == 2 + 1
    assert graph_raw("go", ["go"], [], "go") == 0  # a phrase of two letters is not looked for


# The score


def test_a_trace_says_that_the_weights_do_not_sum_to_1(toy: MemoryIndex) -> None:
    assert any("1.60, not 1" in note for note in search("tea", LIVE_KEYWORD, toy).notes)


def test_the_gate_spares_a_question_without_tokens() -> None:
    components = {"vector": 0.1, "importance": 0.8}
    assert float(gated(components, 0.2, 0)["importance"]) == 0.8
    assert float(gated(components, 0.2, 1)["importance"]) == pytest.approx(0.4)


# The adaptive floor, against its definition in words


def floor_in_words(scores: list[float], share: float, least_kept: int) -> float | None:
    """The floor by its definition: loops and no columns."""
    falling = sorted(scores, reverse=True)
    if len(falling) <= 3:
        return None
    widest, below = 0.0, 0
    for rank in range(1, max(3, len(falling) // 2)):
        if falling[rank - 1] - falling[rank] > widest:
            widest, below = falling[rank - 1] - falling[rank], rank
    floor = falling[below]
    fires = below > 0 and widest > share * falling[0]
    return floor if fires and sum(score >= floor for score in falling) >= least_kept else None


SCORES = st.lists(st.one_of(st.floats(0, 1.6), st.sampled_from([0.1, 0.2, 0.9, 1.0])), max_size=14)


@given(SCORES, st.sampled_from([AdaptiveFloor(), HalfKept(), LargerHalfKept()]))
@settings(max_examples=500)
def test_the_floor_is_the_one_of_its_definition(scores: list[float], stage: AdaptiveFloor) -> None:
    expected = floor_in_words(scores, stage.share, stage.least_kept(len(scores)))
    got = float(stage.floors(np.array(scores)))
    assert (None if np.isnan(got) else got) == expected


def test_many_lists_at_once_have_the_floors_that_they_have_alone() -> None:
    lists = np.random.default_rng(7).random((50, 10)) ** 3
    together = adaptive_floor(lists, 0.15)
    assert np.array_equal(together, [adaptive_floor(one, 0.15) for one in lists], equal_nan=True)
    assert 0 < np.isnan(together).sum() < 50

"""What is remembered of chunks: worked out once, forgotten when it is too much, and with the index."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import world
from workbench.memory.sync import index_folder
from workbench.records import Chunk, Floats, Rows
from workbench.retrieval import feature_cache as facts_module
from workbench.retrieval.feature_cache import FeatureCache, feature_cache_of
from workbench.retrieval.index_adapters import IndexAdapter, kept

CHUNKS = [Chunk(str(row), f"memory/{row}.md", "memory", 1, 1, "x" * row) for row in range(40)]
ROWS = st.lists(st.integers(0, 39), unique=True, max_size=12)


def units(power: int, chunk: Chunk) -> float:
    """The length of the text to some power; absent for the empty text."""
    return len(chunk.text) ** power if chunk.text else np.nan


@given(st.lists(st.tuples(ROWS, st.lists(st.integers(1, 6), max_size=4)), max_size=8))
def test_a_column_is_the_number_of_each_chunk_however_often_it_is_asked(
    asked: list[tuple[list[int], list[int]]],
) -> None:
    cache = FeatureCache()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facts_module, "MOST_CHUNKS", 10)  # some questions have more, and some make it forget
        patch.setattr(facts_module, "MOST_COLUMNS", 4)
        for rows, names in asked:
            chunks = [CHUNKS[row] for row in rows]
            found = cache.columns(names, np.array(rows, np.int64), chunks, units)
            expected = [[units(name, chunk) for chunk in chunks] for name in names]
            assert np.array_equal(found, np.array(expected).reshape(len(names), len(rows)), equal_nan=True)


@given(st.lists(ROWS, max_size=8))
def test_a_pair_has_its_number_whichever_question_it_met_first_in(asked: list[list[int]]) -> None:
    cache, whole, few = FeatureCache(), FeatureCache(), np.arange(9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facts_module, "MOST_CHUNKS", 10)
        patch.setattr(facts_module, "MOST_TABLES", 2)
        for some in asked:
            rows = np.array(some, np.int64)

            def products(rows: Rows, places: Rows) -> Floats:
                return np.outer(rows[places], rows).astype(float)

            assert np.array_equal(cache.pairs("product", rows, products), np.outer(rows, rows))
            assert np.array_equal(whole.pairs("product", rows, products, lambda: few), np.outer(rows, rows))


def test_the_pairs_of_a_small_index_are_computed_with_the_second_question() -> None:
    cache, calls = FeatureCache(), []

    def counted(rows: Rows, places: Rows) -> Floats:
        calls.append((rows.size, places.size))
        return np.zeros((places.size, rows.size))

    for rows in ([1, 2], [2, 3], [5, 6, 7]):
        cache.pairs("nothing", np.array(rows), counted, lambda: np.arange(1, 9))
    assert calls == [(2, 2), (8, 8)]


def test_a_number_is_worked_out_once() -> None:
    cache, calls = FeatureCache(), []

    def counted(name: str, chunk: Chunk) -> float:
        calls.append((name, chunk.id))
        return 1.0

    for rows in ([1, 2], [2, 3], [3, 1]):
        cache.columns(["a"], np.array(rows), [CHUNKS[row] for row in rows], counted)
    assert calls == [("a", "1"), ("a", "2"), ("a", "3")]


def test_what_is_known_of_an_index_is_forgotten_when_the_index_changes(tmp_path: Path) -> None:
    with world.build(tmp_path) as index:
        known = feature_cache_of(index)
        assert feature_cache_of(index) is known
        assert feature_cache_of(IndexAdapter(index)) is known
        world.write(tmp_path / "memory_of_wren", {"memory/new.md": "New.\n"})
        index_folder(tmp_path / "memory_of_wren", world.EMBEDDER, index_path=tmp_path / "index.sqlite")
        assert feature_cache_of(index) is not known


def test_what_is_kept_for_an_index_is_not_that_of_another(tmp_path: Path) -> None:
    with world.build(tmp_path / "one") as one, world.build(tmp_path / "other") as other:
        assert (kept(one, "name", lambda: 1), kept(other, "name", lambda: 2)) == (1, 2)
        assert (kept(one, "name", lambda: 3), kept(other, "name", lambda: 3)) == (1, 2)

"""What is computed for an index once: kept until the index changes, and forgotten with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests import world
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.retrieval.index_adapters import IndexAdapter, memoized
from workbench.retrieval.pipeline import search
from workbench_plugins.openclaw import ranking
from workbench_plugins.openclaw.releases import SEPTEMBER


def test_what_is_kept_of_an_index_is_forgotten_when_the_index_changes(tmp_path: Path) -> None:
    with world.build(tmp_path) as index:
        known = memoized(index, "name", lambda: object())
        assert memoized(index, "name", lambda: object()) is known
        assert memoized(IndexAdapter(index), "name", lambda: object()) is known
        world.write(tmp_path / "memory_of_wren", {"memory/new.md": "New.\n"})
        index_folder(
            tmp_path / "memory_of_wren", world.EMBEDDER, options=Options(index_path=tmp_path / "index.sqlite")
        )
        assert memoized(index, "name", lambda: object()) is not known


def test_what_is_kept_for_an_index_is_not_that_of_another(tmp_path: Path) -> None:
    with world.build(tmp_path / "one") as one, world.build(tmp_path / "other") as other:
        assert (memoized(one, "name", lambda: 1), memoized(other, "name", lambda: 2)) == (1, 2)
        assert (memoized(one, "name", lambda: 3), memoized(other, "name", lambda: 3)) == (1, 2)


@pytest.mark.parametrize("tables", [1, 32])
def test_similarities_that_are_kept_are_those_that_are_computed(
    tables: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "MOST_TABLES", tables)
    with world.build(tmp_path) as index:
        for units in (5, 20, 700, 5):
            changed = SEPTEMBER.with_stage(ranking.UnspacedMMR(units=units))
            for question in ("rooibos tea", "bike", "rooibos tea"):
                with monkeypatch.context() as patch:
                    patch.setattr(ranking, "MOST_CHUNKS", 0)
                    computed = search(question, changed, index).columns["mmr_similarity"]
                remembered = search(question, changed, index).columns["mmr_similarity"]
                assert np.array_equal(remembered, computed)

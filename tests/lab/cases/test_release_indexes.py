"""A case of an index that is made as a release makes it holds the notes, and names the release."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import world
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import indexing, system
from workbench_plugins.cases.case_index import opened_memory
from workbench_plugins.cases.making import case_of


@pytest.mark.parametrize("name", ["bm-0.24.1", "bm-head", "openclaw-2026.9.6"])
def test_the_notes_travel_as_texts_and_are_cut_as_the_release_cuts_them(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    root, like = world.write(tmp_path / "wren"), indexing(name)
    index_folder(root, world.EMBEDDER, options=Options(like=like))
    with open_index(root, world.EMBEDDER, like=like) as index:
        made = case_of("afternoon tea", system(name), index, "memory/tea.md", vectors="float32")
        there = search("afternoon tea", system(name), index)
    assert made.memory.chunker.release == like.name
    notes = {note.path: note.text for note in made.memory.notes or ()}
    assert notes == {path: (root / path).read_text() for path in notes}
    with opened_memory(made) as travelled:
        here = search("afternoon tea", system(name), travelled)
    assert [(one.chunk.location, one.chunk.text) for one in here.results] == [
        (one.chunk.location, one.chunk.text) for one in there.results
    ]
    assert [one.score for one in here.results] == pytest.approx([one.score for one in there.results])

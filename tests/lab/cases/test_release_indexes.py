"""A case of an index that is made as a release makes it holds the notes, and names the release."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import world
from tests.commands import Run
from tests.conftest import PROJECT
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import indexing, system
from workbench_plugins.cases.case_index import opened_memory, other_chunks
from workbench_plugins.cases.making import case_of
from workbench_plugins.cases.model import CasePassage, load_case

CASES = PROJECT / "tests" / "cases"


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


@pytest.mark.parametrize("name", ["bm-0.24.1", "openclaw-2026.9.6"])
def test_a_case_of_other_chunks_is_told_before_a_release_is_installed_for_it(
    name: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    root = world.write(tmp_path / "wren")
    (root / "MEMORY.md").write_text("# Memory\n\n- Ana drinks tea.\n- Ben does not.\n", encoding="utf-8")
    index_folder(root)
    for place in ("usual", "own"):
        case = tmp_path / f"{place}.case.yaml"
        assert run("case", "new", "tea", "-t", "memory/tea.md", "-m", root, "-s", name, "-o", case).code == 0
        refused = run("case", "confirm", case, "--offline")
        assert "Offline, and missing" in refused.err
        told = "A case from its own index: workbench index FOLDER"
        assert (told in refused.err) == (place == "usual")
        assert (other_chunks(load_case(case).case, system(name), tmp_path) == "") == (place == "own")
        index_folder(root, options=Options(like=indexing(name)))  # which the second case is made from


def test_a_note_of_passages_is_told_since_the_release_cuts_it_itself() -> None:
    case = load_case(CASES / "openclaw-16021.case.yaml").case
    notes = [
        one.with_changes(text=None, passages=[CasePassage(lines=(1, 1), text="tea")])
        for one in case.memory.notes or ()
    ]
    given = case.with_changes(memory=case.memory.with_changes(notes=notes))
    assert other_chunks(case, system("openclaw-2026.2.13"), None) == ""
    assert f"as passages (such as {notes[0].path})" in other_chunks(given, system("openclaw-2026.2.13"), None)

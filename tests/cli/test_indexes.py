"""`workbench index --list` and `--remove`: which indexes there are, and how those of no use are removed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests import world
from tests.commands import Run
from workbench.memory.index_files import default_index_path
from workbench.memory.options import Options
from workbench.memory.store.contract import LockedError
from workbench.memory.store.sqlite.location import alone, words_file
from workbench.memory.sync import index_folder
from workbench.systems.catalogue import indexing
from workbench_plugins.doctor.commands import known_indexes, remove_index, state


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of its own with the indexes of two memories, of which one is gone."""
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    for name in ("kept", "lost"):
        index_folder(world.write(tmp_path / name), world.EMBEDDER)
    shutil.rmtree(tmp_path / "lost")
    return tmp_path / "home"


def test_every_index_is_listed_with_size_age_and_folder(run: Run, home: Path, tmp_path: Path) -> None:
    kept, lost = run("index", "--list", "--json").json()
    assert run("indexes", "--json").out.count("bytes") == 2  # its old name
    assert (kept["folder"], kept["gone"], kept["files"]) == (str(tmp_path / "kept"), False, len(world.NOTES))
    assert (lost["folder"], lost["gone"]) == (str(tmp_path / "lost"), True)
    assert kept["bytes"] >= default_index_path(tmp_path / "kept").stat().st_size
    assert 0 <= kept["age_seconds"] < 600
    first, *shown = run("index", "--list").out.splitlines()
    assert first.startswith("Indexes: 2 in ")
    assert "1 of memories that are gone" in first
    assert sum(line.startswith(f"{kept['name']}  ") for line in shown) == 1
    assert sum(line.endswith("the memory's folder is gone") for line in shown) == 1


def test_an_index_whose_memory_is_gone_is_removed_on_request(run: Run, home: Path, tmp_path: Path) -> None:
    outcome = run("index", "--remove-gone", "--json")
    assert [one["folder"] for one in outcome.json()] == [str(tmp_path / "kept")]
    assert "removed lost-" in outcome.err
    assert [one.name for one in home.iterdir() if "lost" in one.name and not one.name.endswith(".lock")] == []


def test_an_index_is_removed_by_its_name_and_made_again(run: Run, home: Path, tmp_path: Path) -> None:
    name = default_index_path(tmp_path / "kept").name
    assert run("index", "--remove", name, "--json").json()[0]["folder"] == str(tmp_path / "lost")
    assert (tmp_path / "kept" / "MEMORY.md").exists()
    assert len(index_folder(tmp_path / "kept", world.EMBEDDER).new) == len(world.NOTES)


def test_an_index_that_is_not_there_is_refused_with_those_that_are(run: Run, home: Path) -> None:
    refused = run("index", "--remove", "../../etc.sqlite")
    assert refused.code == 2
    assert "kept-" in refused.err
    assert len(known_indexes()) == 2


def test_the_list_says_as_which_release_a_memory_is_indexed(run: Run, home: Path, tmp_path: Path) -> None:
    like = indexing("openclaw-2026.9.6")
    index_folder(tmp_path / "kept", world.EMBEDDER, options=Options(like=like))
    there = {one.name: state(one) for one in known_indexes() if one.folder == str(tmp_path / "kept")}
    assert there == {
        default_index_path(tmp_path / "kept").name: "6 files",
        default_index_path(tmp_path / "kept", like.name).name: "6 files, indexed as openclaw-2026.9.6",
    }
    listed = run("indexes", "--json").json()
    assert sorted(one["indexed_as"] or "" for one in listed) == ["", "", "openclaw-2026.9.6"]


def test_removing_an_index_removes_the_words_beside_it(home: Path, tmp_path: Path) -> None:
    path = default_index_path(tmp_path / "kept")
    words_file(path).write_bytes(b"numbers")
    remove_index(path.name)
    assert not words_file(path).exists()


def test_an_index_that_is_being_made_is_not_removed(home: Path, tmp_path: Path) -> None:
    path = default_index_path(tmp_path / "kept")
    with alone(path), pytest.raises(LockedError):
        remove_index(path.name)
    assert path.exists()


def test_a_file_that_is_no_index_is_listed_with_its_problem(run: Run, home: Path) -> None:
    (home / "notes.sqlite").write_text("This is no database.")
    (found,) = [one for one in run("indexes", "--json").json() if one["name"] == "notes.sqlite"]
    assert "is not a workbench index" in found["problem"]
    assert (found["folder"], found["gone"]) == (None, False)


def test_an_index_from_before_folders_were_stored_learns_its_own(home: Path, tmp_path: Path) -> None:
    from workbench.memory.store.sqlite.store import Store

    with Store.open(default_index_path(tmp_path / "kept")) as store:
        store.provenance.describe(folder="")
    assert known_indexes()[0].folder == ""
    index_folder(tmp_path / "kept", world.EMBEDDER)
    assert known_indexes()[0].folder == str(tmp_path / "kept")


def test_doctor_mentions_indexes_of_memories_that_are_gone(run: Run, home: Path, tmp_path: Path) -> None:
    told = {one["what"]: one for one in run("doctor", "-m", tmp_path / "kept", "--json").json()}
    assert "1 of memories that are gone" in told["indexes"]["says"]
    assert told["indexes"]["fine"]

"""A rebuild: made beside the old index, in its place in one rename, and nothing that was embedded is lost."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests import world
from tests.conftest import SAMPLE
from tests.home import Home, Watched
from tests.memory.test_sync import Logs
from workbench.errors import InputError
from workbench.memory.embedding import cache as cached_embedding
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import Embedded
from workbench.memory.index_files import default_index_path
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sources import LineChunker
from workbench.memory.store.contract import DamagedError, UnwritableError
from workbench.memory.store.sqlite import location as builds
from workbench.memory.store.sqlite.store import Store
from workbench.memory.sync import index_folder


@dataclass
class Other(Watched):
    """The watched embedder as another model."""

    revision: str = "other"


def tidy(home: Home) -> bool:
    """Whether nothing lies beside the index but its lock and the build in use."""
    return home.beside() == sorted([home.file.name, home.file.readlink().name, f"{home.file.name}.lock"])


def test_a_rebuild_embeds_nothing_that_is_known_and_leaves_no_other_file_behind(home: Home) -> None:
    (_, before), embedder, build = home.contents(), Watched(), home.file.readlink()
    summary = home.sync(embedder, rebuild=True)
    assert (embedder.asked, summary.from_cache) == ([], 6)
    assert home.contents()[1] == before
    assert tidy(home)
    assert home.file.readlink() != build


@dataclass
class Broken(Watched):
    """The watched embedder under its own name, with every vector the same."""

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        made = super().embed(texts, role)
        return Embedded(np.tile(np.float32([0, 0, 1]), (len(texts), 1)), made.read_share)


def test_a_rebuild_with_verify_embeds_every_text_again(home: Home) -> None:
    with home.opened(Watched()) as index:
        right = index.vectors()[1]
    home.sync(Broken(), rebuild=True, verify=True)
    kept, again = Watched(), Watched()
    home.sync(kept, rebuild=True)
    assert kept.asked == []
    with home.opened(kept) as index:
        assert not np.array_equal(index.vectors()[1], right)
    summary = home.sync(again, rebuild=True, verify=True)
    assert (summary.embedded, summary.from_cache) == (6, 0)
    with home.opened(again) as index:
        assert np.array_equal(index.vectors()[1], right)


def test_a_failed_rebuild_leaves_the_old_index_as_it_was(home: Home) -> None:
    bytes_, build = home.file.read_bytes(), home.file.readlink()
    world.write(home.root, {"memory/tea.md": "A new tea."})
    with pytest.raises(ConnectionError):
        home.sync(Watched(fails_at=1), rebuild=True)
    assert (home.file.read_bytes(), home.file.readlink()) == (bytes_, build)
    home.sync()
    assert tidy(home)


@pytest.mark.parametrize("sync_between", [False, True])
def test_what_a_failed_rebuild_embedded_the_next_one_does_not(
    home: Home, monkeypatch: pytest.MonkeyPatch, sync_between: bool
) -> None:
    monkeypatch.setattr(cached_embedding, "TEXTS_IN_FLIGHT", 1)
    with pytest.raises(ConnectionError):
        home.sync(Other(fails_at=5), rebuild=True)
    if sync_between:
        home.sync()
        assert tidy(home)
    summary = home.sync(Other(), rebuild=True)
    assert (summary.embedded, summary.from_cache) == (2, 4)
    assert tidy(home)


def test_what_a_killed_rebuild_left_is_removed(home: Home) -> None:
    before, name = home.contents(), f"{home.file.name}.build-0123abcd"
    for end in ("", "-wal", "-shm", ".link"):
        home.file.with_name(name + end).touch()
    home.file.with_name(f"{home.file.name}-notes").touch()
    home.sync()
    assert [one for one in home.beside() if one.startswith(name)] == []
    assert f"{home.file.name}-notes" in home.beside()
    assert home.contents() == before


@pytest.fixture
def plain(home: Home) -> Home:
    """The same memory with an index from before there were builds: a plain file at its path."""
    build = home.file.resolve()
    home.file.unlink()
    build.rename(home.file)
    return home


def test_a_plain_file_is_replaced_by_a_rebuild_while_it_is_read(plain: Home) -> None:
    before = plain.contents()[1]
    with plain.opened() as opened:
        opened.embed("where is the tea")
        with opened.snapshot():
            world.write(plain.root, {"memory/tea.md": "A new tea."})
            assert plain.sync(rebuild=True).from_cache == 5
            assert opened.chunks(opened.rows_of("memory/tea.md"))[0].text == world.NOTES["memory/tea.md"]
        with opened.snapshot():
            assert opened.chunks(opened.rows_of("memory/tea.md"))[0].text == "A new tea."
    assert plain.contents()[1].keys() == before.keys()
    assert tidy(plain)


def test_a_rebuild_that_would_lose_a_source_is_refused(home: Home) -> None:
    logs = Logs(world.write(home.root / "logs", {"a.md": "tea"}))
    home.sync(sources=[logs])
    before = home.contents()
    with pytest.raises(InputError, match="also holds logs, which a rebuild would lose"):
        home.sync(rebuild=True)
    assert home.contents() == before
    home.sync(sources=[logs], rebuild=True)
    assert home.contents()[1] == before[1]


def test_what_has_changed_in_the_settings_is_named(home: Home) -> None:
    home.chunker = LineChunker(tokens=8, overlap=2)
    with pytest.raises(InputError) as refused:
        home.sync(Other())
    assert "another model: toy" in refused.value.problem
    assert "another chunker: openclaw-2026.2.13 tokens=400" in refused.value.problem
    assert "--rebuild" in refused.value.remedy


def test_an_index_that_is_damaged_or_of_another_version_can_be_rebuilt(home: Home, tmp_path: Path) -> None:
    pages = home.file.read_bytes()
    home.file.write_bytes(pages[:4096] + b"\xff" * (len(pages) - 4096))
    with pytest.raises(DamagedError, match="damaged"):
        home.sync()
    home.sync(rebuild=True)
    with Store.open(home.file) as store:
        store.db.pragma("user_version", 99)
    home.sync(rebuild=True)
    shutil.move(home.file.parent, tmp_path / "elsewhere")  # and moved with its folder
    assert Home(home.root, tmp_path / "elsewhere" / home.file.name).sync().unchanged == 6


GARBLED = [b"", b"# Notes\nThese are not a database.\n" * 400, b"SQLite format 3\0" + b"\xff" * 9_000]


@pytest.mark.parametrize("bytes_", GARBLED, ids=["empty", "text", "torn"])
@pytest.mark.parametrize("whole", [False, True], ids=["the build", "the path"])
def test_a_file_that_is_no_database_is_replaced_at_the_default_place(
    home: Home, bytes_: bytes, whole: bool
) -> None:
    path = default_index_path(home.root)
    index_folder(home.root, world.EMBEDDER)
    if whole:
        path.unlink()
    path.write_bytes(bytes_)
    for used in (index_folder, open_index):
        with pytest.raises(DamagedError, match=r"SQLite cannot read it|not marked as an index") as said:
            used(home.root, world.EMBEDDER)
        assert "--rebuild" in said.value.remedy
    assert path.read_bytes() == bytes_
    assert len(index_folder(home.root, world.EMBEDDER, rebuild=True).new) == len(world.NOTES)
    assert tidy(Home(home.root, path))


@pytest.mark.parametrize("name", ["cache/notes.sqlite", "mine/notes-0123456789ab.sqlite"])
def test_a_strangers_file_is_not_replaced_where_the_user_named_it(home: Home, name: str) -> None:
    file = home.root.parent / name
    file.parent.mkdir()
    file.write_bytes(GARBLED[1])
    with pytest.raises(InputError, match="is not a workbench index"):
        index_folder(home.root, world.EMBEDDER, rebuild=True, options=Options(index_path=file))
    assert file.read_bytes() == GARBLED[1]


def test_a_rename_that_fails_leaves_the_old_index(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    before = home.contents()

    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(builds.os, "replace", refused)
    with pytest.raises(UnwritableError, match="cannot be written: Operation not permitted"):
        home.sync(rebuild=True)
    assert home.contents() == before
    assert tidy(home)


def test_a_rebuild_while_another_process_has_the_index_open_leaves_it_sound(home: Home) -> None:
    elsewhere = (
        "import sys; from pathlib import Path; from tests import world; import workbench as wb;"
        "options = wb.Options(index_path=Path(sys.argv[2]));"
        "wb.index_folder(sys.argv[1], world.EMBEDDER, rebuild=True, options=options)"
    )
    with home.opened() as opened:
        opened.embed("where is the tea")
        world.write(home.root, {f"memory/{n}.md": f"tea {n} " + "hub " * n for n in range(60)})
        command = [sys.executable, "-c", elsewhere, str(home.root), str(home.file)]
        subprocess.run(command, check=True, cwd=SAMPLE.parent)
        opened.embed("where is the hub")
    assert len(home.contents()[1]) == 66


def test_the_vectors_of_another_model_are_kept_through_a_rebuild(home: Home) -> None:
    home.sync(Other(), rebuild=True)
    assert home.sync(embedder := Watched(), rebuild=True).embedded == 0
    assert embedder.asked == []
    assert home.sync(Other(), rebuild=True).embedded == 0

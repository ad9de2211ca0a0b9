"""A folder and its index: what a sync does, and what it leaves alone."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests import world
from tests.home import Home, Watched
from tests.world import written
from workbench.errors import InputError
from workbench.memory.embedding import cache as cached_embedding
from workbench.memory.sources import LineChunker, Look, MemoryFolder
from workbench.memory.store.sqlite.store import Store
from workbench.memory.sync import Summary, outdated
from workbench.records import Document


def did(summary: Summary) -> tuple[list[str], list[str], list[str], int]:
    return summary.new, summary.changed, summary.deleted, summary.unchanged


def test_indexing_twice_changes_nothing(home: Home) -> None:
    before, embedder = home.contents(), Watched()
    assert did(home.sync(embedder)) == ([], [], [], 6)
    assert embedder.asked == []
    assert home.contents() == before


def test_a_changed_file_is_the_only_one_replaced(home: Home) -> None:
    (generation, before), embedder = home.contents(), Watched()
    world.write(home.root, {"memory/tea.md": "A cup."})
    assert did(home.sync(embedder)) == ([], ["memory/tea.md"], [], 5)
    assert embedder.asked == [["A cup."]]
    now, after = home.contents()
    assert now > generation
    assert [path for path in before if before[path] != after[path]] == ["memory/tea.md"]
    with Store.open(home.file) as store:
        assert store.keyword(written("afternoon"), 9).rows.size == 0
        assert store.keyword(written("cup"), 9).rows.size == 1


def test_a_deleted_file_is_forgotten(home: Home) -> None:
    (home.root / "memory" / "server.md").unlink()
    assert did(home.sync()) == ([], [], ["memory/server.md"], 5)
    with Store.open(home.file) as store:
        assert "memory/server.md" not in store.stamps()
        assert store.keyword(written("mirror"), 9).rows.size == 0
        assert store.matrix()[0].size == store.size == 5


def test_a_renamed_file_is_not_embedded_again(home: Home) -> None:
    embedder = Watched()
    (home.root / "memory" / "tea.md").rename(home.root / "memory" / "zen.md")
    summary = home.sync(embedder)
    assert did(summary) == (["memory/zen.md"], [], ["memory/tea.md"], 5)
    assert (embedder.asked, summary.embedded, summary.from_cache) == ([], 0, 1)


def test_a_touched_file_counts_as_unchanged(home: Home) -> None:
    before = home.contents()
    os.utime(home.root / "MEMORY.md", ns=(1, 1))
    assert did(home.sync()) == ([], [], [], 6)
    assert home.contents() == before
    with Store.open(home.file) as store:
        assert store.stamps()["MEMORY.md"].mtime_ns == 1


def test_a_file_of_the_same_size_and_time_is_not_read(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryFolder, "read", lambda *_: pytest.fail("a file was read"))
    assert did(home.sync()) == ([], [], [], 6)


def test_a_rebuild_notices_what_hides_behind_the_same_size_and_time(home: Home) -> None:
    file = home.root / "memory" / "tea.md"
    info, text = file.stat(), file.read_text()
    file.write_text(text.replace("cup", "mug"))
    os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert did(home.sync()) == ([], [], [], 6)
    home.sync(rebuild=True)
    assert "mug" in home.text_of("memory/tea.md")


def test_verify_reads_all_files_and_takes_in_what_hides_behind_the_same_size_and_time(home: Home) -> None:
    file = home.root / "memory" / "tea.md"
    info, text = file.stat(), file.read_text()
    file.write_text(text.replace("cup", "mug"))
    os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))
    embedder = Watched()
    assert did(home.sync(embedder, verify=True)) == ([], ["memory/tea.md"], [], 5)
    assert embedder.asked == [[home.text_of("memory/tea.md")]]
    assert "mug" in home.text_of("memory/tea.md")
    before = home.contents()
    assert did(home.sync(verify=True)) == ([], [], [], 6)
    assert home.contents() == before


@dataclass(frozen=True)
class Logs(MemoryFolder):
    """A folder of notes of another kind."""

    name = "logs"

    def read(self, path: str) -> Document:
        return replace(super().read(path), source=self.name)


class BusyLogs(Logs):
    """Notes that grow a line whenever one has been read."""

    def read(self, path: str) -> Document:
        document = super().read(path)
        with (self.root / path).open("a") as file:
            file.write("\nanother line")
        return document


class LosingLogs(Logs):
    """Notes of which one goes once all have been listed."""

    def stamps(self) -> dict[str, Look]:
        listed = super().stamps()
        (self.root / "lost.md").unlink(missing_ok=True)
        return listed


def test_a_file_that_changes_while_it_is_read_is_read_again(home: Home) -> None:
    root = world.write(home.root / "logs", {"log.md": "first line"})
    assert home.sync(sources=[BusyLogs(root)]).new == ["log.md"]
    assert home.sync(sources=[BusyLogs(root)]).changed == ["log.md"]
    assert home.sync(sources=[Logs(root)]).changed == ["log.md"]
    assert home.text_of("log.md").count("another line") == 2
    assert home.sync(sources=[Logs(root)]).unchanged == 7


def test_a_file_that_goes_while_the_sync_runs_is_no_error(home: Home) -> None:
    root = world.write(home.root / "logs", {"lost.md": "a", "kept.md": "b"})
    assert home.sync(sources=[LosingLogs(root)]).new == ["kept.md"]
    world.write(root, {"lost.md": "a"})
    home.sync(sources=[Logs(root)])
    home.sync(sources=[LosingLogs(root)])
    assert home.sync(sources=[Logs(root)]).deleted == ["lost.md"]


def test_each_source_keeps_what_it_has_and_forgets_what_it_lost(home: Home) -> None:
    root = world.write(home.root / "logs", {"a.md": "tea", "b.md": "hub"})
    assert did(home.sync(sources=[Logs(root)])) == (["a.md", "b.md"], [], [], 6)
    (root / "a.md").unlink()
    (home.root / "memory" / "tea.md").unlink()
    assert did(home.sync()) == ([], [], ["memory/tea.md"], 5)
    assert did(home.sync(sources=[Logs(root)])) == ([], [], ["a.md"], 6)


def test_only_the_changed_chunk_of_a_file_is_embedded(home: Home) -> None:
    home.chunker, embedder = LineChunker(tokens=8, overlap=0), Watched()
    lines = ["a cup of tea for every visitor", "the hub of the bike that grinds"]
    world.write(home.root, {"memory/two.md": "\n".join(lines)})
    home.sync(rebuild=True)
    world.write(home.root, {"memory/two.md": "\n".join([lines[0], "the disk of the server is full"])})
    summary = home.sync(embedder)
    assert embedder.asked == [["the disk of the server is full"]]
    assert (summary.embedded, summary.from_cache) == (1, 1)


def test_equal_passages_of_one_long_line_are_one_chunk(home: Home) -> None:
    world.write(home.root, {"memory/long.md": "tea " * 2000})
    home.chunker = LineChunker(overlap=0)
    home.sync(rebuild=True)
    assert len(home.contents()[1]["memory/long.md"]) == 1
    with Store.open(home.file) as store:
        assert store.keyword(written("tea"), 99).rows.size == 3


@pytest.mark.parametrize("text", ["", " \n\n", "tea\0cup", "\ufefftea", "茶 ☕ té\r\n"])
def test_an_index_of_an_odd_text_is_sound(home: Home, text: str) -> None:
    for version in (text, text + "hub", text):
        world.write(home.root, {"memory/odd.md": version})
        home.sync()
        assert "memory/odd.md" in home.contents()[1]


def test_a_failure_in_the_middle_leaves_documents_whole(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached_embedding, "TEXTS_IN_FLIGHT", 1)
    _, before = home.contents()
    world.write(home.root, {"memory/bike.md": "A new bike.", "memory/tea.md": "A new tea."})
    with pytest.raises(ConnectionError):
        home.sync(Watched(fails_at=2))
    _, after = home.contents()
    assert [path for path in before if after[path] != before[path]] == ["memory/bike.md"]
    assert home.sync().changed == ["memory/tea.md"]


def test_no_more_texts_are_in_flight_than_stated(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached_embedding, "TEXTS_IN_FLIGHT", 3)
    home.chunker, embedder = LineChunker(tokens=8, overlap=0), Watched()
    world.write(home.root, {"memory/long.md": "\n".join(f"a line of text, number {n:03}" for n in range(10))})
    home.sync(embedder, rebuild=True)
    assert max(map(len, embedder.asked)) == 3
    assert len(home.contents()[1]["memory/long.md"]) == 10


def test_what_a_failed_sync_embedded_is_not_lost(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached_embedding, "TEXTS_IN_FLIGHT", 2)
    home.chunker = LineChunker(tokens=8, overlap=0)
    home.sync(rebuild=True)
    world.write(home.root, {"memory/long.md": "\n".join(f"a line of text, number {n:03}" for n in range(5))})
    with pytest.raises(ConnectionError):
        home.sync(Watched(fails_at=3))
    assert home.sync(embedder := Watched()).embedded == 1
    assert embedder.asked == [["a line of text, number 004"]]


@pytest.mark.parametrize("rebuild", [False, True])
def test_a_bad_file_stops_the_run_before_anything_is_written(home: Home, rebuild: bool) -> None:
    before, beside = home.contents(), home.beside()
    world.write(home.root, {"memory/a.md": "A new note.", "memory/tea.md": "A new tea."})
    (home.root / "memory" / "z.md").write_bytes(b"caf\xe9")
    with pytest.raises(InputError, match=r"memory/z\.md is not UTF-8"):
        home.sync(embedder := Watched(), rebuild=rebuild)
    assert (embedder.asked, home.contents(), home.beside()) == ([], before, beside)


@pytest.mark.parametrize(
    ("text", "encoding", "remedy"),
    [
        ("Die Blüte fällt früh.", "cp1252", "iconv -f WINDOWS-1252"),
        ("Ключ лежит под камнем.", "cp1251", "an editor that knows its encoding"),
        ("鍵は石の下にある。", "cp932", "an editor that knows its encoding"),
        ("The key is below it.", "utf-16", "iconv -f UTF-16 "),
        ("The key is below it.", "utf-16-le", "iconv -f UTF-16LE"),
        ("The key is below it.", "utf-16-be", "iconv -f UTF-16BE"),
    ],
)
def test_a_text_in_another_encoding_is_left_out_with_a_remedy_that_fits_it(
    home: Home, text: str, encoding: str, remedy: str
) -> None:
    (home.root / "memory" / "z.md").write_bytes(text.encode(encoding))
    with pytest.raises(InputError, match=r"memory/z\.md is not UTF-8") as error:
        home.sync()
    assert remedy in error.value.remedy


def test_a_skipped_file_stays_as_it_was_indexed(home: Home) -> None:
    before = home.text_of("memory/tea.md")
    (home.root / "memory" / "tea.md").write_bytes(b"caf\xe9")
    (home.root / "memory" / "new.md").write_bytes(b"caf\xe9")
    summary = home.sync(skip=True)
    assert did(summary) == ([], [], [], 5)
    assert [problem.split()[0] for problem in summary.skipped] == ["memory/new.md", "memory/tea.md"]
    assert home.text_of("memory/tea.md") == before
    assert "memory/new.md" not in home.contents()[1]


def test_the_summary_says_what_was_done(home: Home) -> None:
    world.write(home.root, {"memory/new.md": world.NOTES["memory/tea.md"], "memory/bike.md": "A hub."})
    (home.root / "memory" / "both.md").unlink()
    said = str(home.sync())
    assert said.startswith("1 new, 1 changed, 1 deleted, 4 unchanged; 1 chunk embedded, 1 from cache; ")
    assert said.endswith(" s")


@pytest.mark.parametrize("rebuild", [False, True])
def test_an_index_remembers_its_extra_paths_until_others_are_given(home: Home, rebuild: bool) -> None:
    beside = world.write(home.root.parent / "team", {"plan.md": "# Plan\nTea for the team.\n"})
    assert home.sync(extra=[str(beside)]).new == ["../team/plan.md"]
    assert home.sync(rebuild=rebuild).deleted == []
    with home.opened() as index:
        assert outdated(home.root, index) == []
        world.write(beside, {"plan.md": "# Plan\nMore tea.\n"})
        assert outdated(home.root, index) == ["../team/plan.md"]
    assert home.sync().changed == ["../team/plan.md"]
    assert home.sync(extra=[]).deleted == ["../team/plan.md"]
    assert did(home.sync()) == ([], [], [], 6)


def test_an_index_of_another_folder_is_neither_searched_nor_replaced(home: Home) -> None:
    other = world.write(home.root.parent / "branch", {"memory/keys.md": "# Keys\nThe branch has two keys.\n"})
    branch = replace(home, root=other)
    for wrong in (branch.sync, branch.opened):
        with pytest.raises(InputError, match=f"was made of {home.root}: of its 6 files, 0 are in {other}"):
            wrong()
    assert did(home.sync()) == ([], [], [], 6)
    assert branch.sync(rebuild=True).new == ["memory/keys.md"]


def test_a_folder_that_was_moved_keeps_its_index(home: Home) -> None:
    moved = replace(home, root=home.root.rename(home.root.parent / "moved"))
    with moved.opened() as index:
        assert outdated(moved.root, index) == []
    assert did(moved.sync()) == ([], [], [], 6)
    with moved.opened() as index:
        assert index.store.provenance.folder == str(moved.root)


def test_a_copy_of_a_folder_takes_its_index(home: Home) -> None:
    copy = replace(home, root=Path(shutil.copytree(home.root, home.root.parent / "copy")))
    with copy.opened() as index:
        assert outdated(copy.root, index) == []
    assert did(copy.sync()) == ([], [], [], 6)


def kept_vectors(home: Home) -> tuple[int, int]:
    """How many texts have a vector with their chunks, and how many vectors of passages the cache has."""
    with Store.open(home.file) as store:
        cached = store.db.execute("SELECT count(*) FROM embedding_cache WHERE role = 'passage'").get
        return int(store.db.execute("SELECT count(DISTINCT hash) FROM chunks").get), int(cached)


@pytest.mark.parametrize("rebuild", [False, True])
def test_each_vector_is_stored_once_and_goes_with_its_text(home: Home, rebuild: bool) -> None:
    assert kept_vectors(home) == (6, 0)
    (home.root / "memory" / "server.md").unlink()
    world.write(home.root, {"memory/tea.md": "A new tea.", "memory/copy.md": world.NOTES["memory/both.md"]})
    home.sync(rebuild=rebuild)
    assert kept_vectors(home) == (5, 0)


def test_the_vectors_of_another_chunker_stay_while_the_documents_do(home: Home) -> None:
    home.chunker = LineChunker(tokens=8, overlap=0)
    home.sync(rebuild=True)
    home.chunker = LineChunker()
    assert home.sync(embedder := Watched(), rebuild=True).embedded == 0
    assert embedder.asked == []

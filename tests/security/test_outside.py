"""While somebody swaps folders and files for links, nothing from outside the memory is read or indexed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import world
from tests.home import Home
from workbench.errors import InputError
from workbench.memory import sync
from workbench.memory.sources import MemoryFolder

READS, RUNS = 5_000, 15
SECRET = "the-secret-that-lies-outside"
NOTE = "a cup of tea\n"

SWAP = """
import os, sys
inside, outside = sys.argv[1:]
print("ready", flush=True)
while True:
    os.rename(inside, inside + "~")
    os.symlink(outside, inside)
    os.unlink(inside)
    os.rename(inside + "~", inside)
"""
"""Replaces `inside` with a link to `outside` and puts it back, without end."""


@contextmanager
def swapping(inside: Path, outside: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that swaps `inside` for a link to `outside` and back during the block."""
    command = [sys.executable, "-c", SWAP, str(inside), str(outside)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


SWAPPED = [
    ("memory/deep/note.md", "outside/note.md"), ("memory/deep", "outside"), ("memory", "outside-memory"),
]  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A memory whose notes are old, so that reading them does not wait, and secrets beside it."""
    made = world.write(tmp_path / "wren", {"MEMORY.md": NOTE, "memory/deep/note.md": NOTE})
    for note in ("MEMORY.md", "memory/deep/note.md"):
        os.utime(made / note, ns=(1, 1))
    for secret in ("outside/note.md", "outside-memory/deep/note.md"):
        world.write(tmp_path, {secret: SECRET})
        os.utime(tmp_path / secret, ns=(1, 1))
    return made


def outcome(memory: MemoryFolder) -> str:
    """The text of the note, or the kind of error."""
    try:
        return memory.read("memory/deep/note.md").text
    except InputError as error:
        return type(error).__name__


@pytest.mark.parametrize(("inside", "outside"), SWAPPED)
def test_a_raced_read_brings_the_note_or_an_error(root: Path, inside: str, outside: str) -> None:
    memory, found, naive = MemoryFolder(root), Counter[str](), Counter[str]()
    note = root / "memory/deep/note.md"
    with swapping(root / inside, root.parent / outside) as swapper:
        while found.total() < READS or not naive[SECRET] or not found[NOTE]:
            assert swapper.poll() is None
            found[outcome(memory)] += 1
            try:
                naive[note.read_text()] += 1
            except OSError as error:
                naive[type(error).__name__] += 1
    assert found[SECRET] == 0
    assert naive[SECRET] > 0  # a reader that follows links brings the secret in this very race
    assert set(found) <= {NOTE, "InputError", "GoneError"}


@pytest.mark.parametrize(("inside", "outside"), SWAPPED)
def test_a_raced_sync_indexes_nothing_from_outside(home: Home, root: Path, inside: str, outside: str) -> None:
    home.root, ended = root, Counter[str]()
    with swapping(root / inside, root.parent / outside):
        for _ in range(RUNS):
            try:
                home.sync(rebuild=True, skip=True)
                ended["done"] += 1
            except InputError as error:
                ended[error.problem] += 1
            assert SECRET.encode() not in home.file.read_bytes()
    assert ended["done"] > 0


def test_a_link_inside_the_memory_on_the_way_to_an_extra_path_is_not_followed(root: Path) -> None:
    (root / "way").symlink_to(root.parent)
    memory = MemoryFolder(root, ["way/outside"])
    with pytest.raises(InputError, match=r"way/outside/note\.md lies below a symbolic link"):
        [memory.read(path) for path in memory.stamps()]


def test_a_file_is_read_once_in_a_sync(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    read, times = MemoryFolder.read, Counter[str]()

    def counted(memory: MemoryFolder, path: str) -> object:
        times[path] += 1
        return read(memory, path)

    monkeypatch.setattr(MemoryFolder, "read", counted)
    world.write(home.root, {"memory/new.md": "tea", "memory/tea.md": "changed"})
    home.sync()
    assert times == {"memory/new.md": 1, "memory/tea.md": 1}
    times.clear()
    home.sync(rebuild=True)
    assert times == dict.fromkeys([*world.NOTES, "memory/new.md"], 1)


def test_more_documents_than_fit_in_memory_wait_on_the_disk(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    (_, before), beside = home.contents(), home.beside()
    monkeypatch.setattr("workbench.memory.sync.IN_MEMORY", 100)
    home.sync(rebuild=True)
    assert home.contents()[1] == before
    assert len(home.beside()) == len(beside)


@pytest.mark.parametrize("rebuild", [False, True])
def test_a_memory_that_vanishes_in_mid_sync_is_an_error_and_costs_nothing(
    home: Home, monkeypatch: pytest.MonkeyPatch, rebuild: bool
) -> None:
    before, stamps = home.contents(), MemoryFolder.stamps
    world.write(home.root, {"memory/tea.md": "changed"})

    def vanishing(memory: MemoryFolder) -> object:
        listed = stamps(memory)
        memory.root.rename(memory.root.with_name("unplugged"))
        return listed

    monkeypatch.setattr(MemoryFolder, "stamps", vanishing)
    with pytest.raises(InputError, match="does not exist any more"):
        home.sync(rebuild=rebuild)
    assert home.contents() == before


def test_a_memory_that_vanishes_while_it_is_listed_deletes_nothing(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, there = home.contents(), sync.listed

    def vanishing(sources: list[MemoryFolder]) -> object:
        monkeypatch.setattr(sync, "listed", there)
        listed = there(sources)
        home.root.rename(home.root.with_name("unplugged"))
        return {path: found for path, found in listed.items() if path != "memory/tea.md"}

    monkeypatch.setattr(sync, "listed", vanishing)
    with pytest.raises(InputError, match="does not exist any more"):
        home.sync()
    assert home.contents() == before

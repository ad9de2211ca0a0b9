"""Killed, out of room, or read while it is rewritten: an index is whole, and the next sync completes it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from tests import processes, world
from tests.home import Home, unsound
from tests.processes import Notes
from tests.world import written
from workbench.memory.store.contract import DiskFullError, UnwritableError
from workbench.memory.store.sqlite import database
from workbench.memory.store.sqlite.store import Store

KILLS = 200
NOBODY = 65534


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    made = Notes(tmp_path / "memory_of_wren", tmp_path / "index" / "i.sqlite")
    made.rewrite()
    processes.do(made.job(rebuild=False))
    return made


def contents(file: Path) -> dict[str, list[str]]:
    """The stored lines of every note; the index is sound, and its three ways to a chunk lead to the same."""
    with Store.open(file) as store:
        assert unsound(store) == []
        every = np.concatenate([store.rows_of(path) for path in store.stamps()])
        rows, _ = store.matrix()
        assert sorted(every) == rows.tolist() == sorted(store.keyword(written("tea"), store.size + 9).rows)
        assert store.size == every.size
        return {path: [one.text for one in store.chunks(store.rows_of(path))] for path in store.stamps()}


# killed


class Worker:
    """A process that does jobs in children, which can be killed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.jobs, self.answers = process.stdin, process.stdout

    def seconds(self, job: str) -> float:
        """How long a job takes that is left alone."""
        started = time.perf_counter()
        self._begun(job)
        assert self._status() == 0
        return time.perf_counter() - started

    def killed_after(self, seconds: float, job: str) -> bool:
        """Whether the job was killed so long after its beginning; otherwise it was done by then."""
        child = self._begun(job)
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        return os.WIFSIGNALED(self._status())

    def _begun(self, job: str) -> int:
        self.jobs.write(job)
        return int(self.answers.readline())

    def _status(self) -> int:
        self.jobs.write("\n")
        return int(self.answers.readline())


def test_killed_at_200_random_moments_nothing_is_lost_or_doubled(notes: Notes) -> None:
    chance = random.Random(2)
    killed = {False: 0, True: 0}
    with processes.process("work") as process:
        worker = Worker(process)
        longest = {rebuild: worker.seconds(notes.job(rebuild)) for rebuild in (False, True)}
        while sum(killed.values()) < KILLS:
            rebuild, old = bool(chance.getrandbits(1)), notes.contents()
            notes.rewrite()
            new, job = notes.contents(), notes.job(rebuild)
            killed[rebuild] += worker.killed_after(chance.uniform(0, longest[rebuild]), job)
            found = contents(notes.file)
            if rebuild:
                assert found in (old, new)
            else:
                assert all(found.get(path) in (old.get(path), new.get(path)) for path in old | new | found)
            longest[rebuild] = worker.seconds(job)
            assert contents(notes.file) == new
        assert process.stdin is not None
        process.stdin.close()
    assert min(killed.values()) > KILLS / 4
    assert len(os.listdir(notes.file.parent)) == 3


# read meanwhile


def test_four_readers_see_no_torn_note_during_50_syncs_and_5_rebuilds(notes: Notes, tmp_path: Path) -> None:
    with ExitStack() as stack:
        command = "read", notes.root, notes.file, tmp_path / "stop"
        readers = [stack.enter_context(processes.process(*command)) for _ in range(4)]
        assert [one.stdout.readline() for one in readers if one.stdout] == ["ready\n"] * 4
        stack.callback((tmp_path / "stop").touch)
        turns = count()
        while (turn := next(turns)) < 55 or len(list(tmp_path.glob("stop.*"))) < 4:
            notes.rewrite()
            processes.do(notes.job(rebuild=turn % 11 == 10))
            assert {reader.poll() for reader in readers} == {None}
        (tmp_path / "stop").touch()
        told = [json.loads(reader.communicate(timeout=600)[0]) for reader in readers]
    assert [reader.returncode for reader in readers] == [0] * 4
    assert [one["torn"] for one in told] == [[]] * 4


# no room


@contextmanager
def room_for(pages: int) -> Iterator[None]:
    """A disk that is full as soon as a database has that many pages."""
    connect = database._connect

    def connected(*arguments: object) -> object:
        db = connect(*arguments)  # type: ignore[arg-type]
        db.execute(f"PRAGMA max_page_count = {pages}")
        return db

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(database, "_connect", connected)
        yield


def pages_of(file: Path) -> int:
    with Store.open(file) as store:
        return int(store.db.pragma("page_count"))


def write_more(home: Home) -> dict[str, list[str]]:
    """A few long notes more; the ids of the chunks that were there."""
    world.write(home.root, {f"memory/{n}.md": f"tea {n} " + "hub " * 3000 for n in range(8)})
    return home.contents()[1]


@pytest.mark.parametrize("rebuild", [False, True])
def test_on_a_full_disk_every_file_stays_in_its_old_or_new_state(home: Home, rebuild: bool) -> None:
    before, pages = write_more(home), pages_of(home.file)
    for more in (0, 2, 5, 10, 20):
        with room_for(pages + more), pytest.raises(DiskFullError, match="disk is full"):
            home.sync(rebuild=rebuild)
        _, after = home.contents()
        assert {path: after[path] for path in before} == before
        assert len(after) < 14
        assert len(home.beside()) == 3
    home.sync(rebuild=rebuild)
    assert len(home.contents()[1]) == 14


# no permission


@contextmanager
def as_nobody() -> Iterator[None]:
    """This process without root's rights, for as long as it is root."""
    root = os.getuid() == 0
    if root:
        os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        if root:
            os.setresuid(0, 0, 0)


@pytest.mark.parametrize("rebuild", [False, True])
def test_in_a_folder_that_cannot_be_written_the_index_stays_and_answers(rebuild: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        home = Home(world.write(Path(name) / "memory_of_wren"), Path(name) / "index" / "i.sqlite")
        home.sync()
        before, beside = write_more(home), home.beside()
        home.file.parent.chmod(0o555)
        with as_nobody():
            with pytest.raises(
                UnwritableError, match=f"The index {home.file} cannot be written: Permission denied"
            ):
                home.sync(rebuild=rebuild)
            with home.opened() as opened:
                assert opened.vector(opened.embed("a cup"), 99).rows.size == 6
        home.file.parent.chmod(0o755)
        assert (home.contents()[1], home.beside()) == (before, beside)

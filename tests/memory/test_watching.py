"""A watched folder: what has changed is synced once it is at rest, whatever way it was saved."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from tests import world
from tests.commands import Run
from workbench.errors import InputError
from workbench.memory.files import list_files
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench_plugins.agent import watching
from workbench_plugins.agent.watching import Notes, Scope, Timing, Transcripts, Watcher
from workbench_plugins.openclaw.sessions import Sessions, Thresholds

DEADLINE = 120
"""Seconds after which a test fails; each waits for a state."""

# When a sync is due


def at_rest() -> Timing:
    """The timing after its first sync, with a quiet of 1.5 seconds."""
    timing = Timing(quiet=1.5)
    timing.begun()
    timing.succeeded()
    return timing


@pytest.mark.parametrize(
    ("changes", "not_due", "due"),
    [
        ([], 1e9, None),
        ([10.0, 11.0], 12.4, 11.0 + 1.5),
        ([100.0 + second for second in range(31)], 129.9, 130.0),
    ],
    ids=["nothing changed", "until all is quiet", "not put off for ever"],
)
def test_a_sync_is_due_when_all_is_quiet(changes: list[float], not_due: float, due: float | None) -> None:
    timing = at_rest()
    assert Timing().due(0.0)
    for moment in changes:
        timing.changed(moment)
    assert not timing.due(not_due)
    assert due is None or timing.due(due)


def test_a_failed_sync_is_tried_again_after_longer_and_longer() -> None:
    timing, now, waits = Timing(), 0.0, []
    for _ in range(7):
        timing.begun()
        timing.failed(now)
        waits.append(timing.at - now)
        now = timing.at
    assert waits == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0, 60.0]
    timing.changed(now - 50)
    assert timing.due(now - 48.5)
    timing.succeeded()
    timing.failed(now)
    assert timing.at == now + 5.0


# Real files and the real watcher


def texts(root: Path) -> dict[str, str]:
    """What a sync would read."""
    return {path: (root / path).read_text(encoding="utf-8") for path in list_files(root)}


class Clock:
    """The watcher's clock, which a test can stop: then nothing is quiet for long enough."""

    def __init__(self) -> None:
        self.monotonic = time.monotonic

    @contextmanager
    def stopped(self) -> Iterator[None]:
        moment = self.monotonic()
        self.monotonic = lambda: moment
        yield
        behind = time.monotonic() - moment
        self.monotonic = lambda: time.monotonic() - behind


@dataclass
class Watched:
    """A watcher in a thread: `seen` is what each sync read, `failures` what was said of the others.

    `noticed` are all paths that it was told of.
    """

    root: Path
    clock: Clock
    noticed: set[Path]
    seen: list[dict[str, str]] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    told: threading.Condition = field(default_factory=threading.Condition)
    during: Callable[[], None] = lambda: None

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """No time passes for the watcher within this block, and it has noticed all at the end."""
        with self.clock.stopped():
            yield
            self.notices()

    def notices(self) -> None:
        """Waits until the watcher has noticed all that was done. A file that is no note shows it."""
        mark, ends = self.root / "memory" / f"mark{len(self.noticed)}", time.monotonic() + DEADLINE
        mark.touch()
        while mark not in self.noticed:
            assert time.monotonic() < ends, self.noticed
            time.sleep(0.01)

    def write(self, notes: dict[str, str]) -> None:
        """Writes notes at once."""
        with self.at_once():
            world.write(self.root, notes)

    def sync(self) -> None:
        found = texts(self.root)
        self.during()
        with self.told:
            self.seen.append(found)
            self.told.notify_all()

    def failed(self, error: Exception) -> None:
        with self.told:
            self.failures.append(error)
            self.told.notify_all()

    def run(self, scopes: list[Scope]) -> threading.Thread:
        watcher = Watcher(scopes, self.sync, self.failed, Timing(quiet=0.4))
        thread = threading.Thread(target=watcher.run, args=(self.stop,))
        thread.start()
        return thread

    def wait(self, condition: Callable[[], bool]) -> None:
        """Until the condition holds, which is looked at after each sync."""
        with self.told:
            assert self.told.wait_for(condition, timeout=DEADLINE), (self.seen, self.failures)

    def wait_for(self, syncs: int) -> dict[str, str]:
        """What the sync of that number saw."""
        self.wait(lambda: len(self.seen) >= syncs)
        return self.seen[syncs - 1]

    def stays_at(self, syncs: int) -> bool:
        """Whether there is no further sync for some time."""
        time.sleep(0.8)
        return len(self.seen) == syncs


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks for changes five times as often, for these tests to be done sooner."""
    monkeypatch.setattr(watching, "TICK_MS", 50)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(watching, "time", made)
    return made


@pytest.fixture
def noticed(monkeypatch: pytest.MonkeyPatch) -> set[Path]:
    paths, changes = set[Path](), watching._changes

    def noting(*arguments: Any) -> Generator[set[Path]]:
        with closing(changes(*arguments)) as found:
            for changed in found:
                paths.update(changed)
                yield changed

    monkeypatch.setattr(watching, "_changes", noting)
    return paths


@pytest.fixture
def watched(tmp_path: Path, clock: Clock, noticed: set[Path]) -> Iterator[Watched]:
    """The six notes of the toy world, watched, after the first sync."""
    found = Watched(world.write(tmp_path / "wren"), clock, noticed)
    thread = found.run([Notes(found.root)])
    found.wait_for(1)
    yield found
    found.stop.set()
    thread.join(timeout=DEADLINE)
    assert not thread.is_alive()


Pause = Callable[[], None]


def rename_over(note: Path, pause: Pause) -> None:
    note.with_name(".tea.md.tmp").write_text("new", encoding="utf-8")
    pause()
    note.with_name(".tea.md.tmp").replace(note)


def truncate_then_write(note: Path, pause: Pause) -> None:
    with note.open("w", encoding="utf-8") as file:
        file.flush()
        pause()
        file.write("new")


def move_aside_then_write(note: Path, pause: Pause) -> None:
    note.rename(note.with_name("tea.md~"))
    pause()
    note.write_text("new", encoding="utf-8")
    note.with_name("tea.md~").unlink()


def write_beside_then_swap(note: Path, pause: Pause) -> None:
    note.with_name("4913").write_text("", encoding="utf-8")
    note.with_name("4913").unlink()
    note.with_name(".tea.md.swp").write_text("swap", encoding="utf-8")
    pause()
    note.write_text("new", encoding="utf-8")
    note.with_name(".tea.md.swp").unlink()


@pytest.mark.parametrize(
    "save", [rename_over, truncate_then_write, move_aside_then_write, write_beside_then_swap]
)
def test_a_note_saved_by_an_editor_is_whole(watched: Watched, save: Callable[[Path, Pause], None]) -> None:
    with watched.at_once():
        save(watched.root / "memory" / "tea.md", watched.notices)
    assert watched.wait_for(2) == world.NOTES | {"memory/tea.md": "new"}
    assert watched.stays_at(2)


def test_a_new_folder_is_watched_and_under_its_new_name_when_it_is_renamed(watched: Watched) -> None:
    watched.write({"memory/old/deep/note.md": "one"})
    assert watched.wait_for(2)["memory/old/deep/note.md"] == "one"
    with watched.at_once():
        (watched.root / "memory" / "old").rename(watched.root / "memory" / "new")
    third = watched.wait_for(3)
    assert (third.get("memory/old/deep/note.md"), third["memory/new/deep/note.md"]) == (None, "one")
    watched.write({"memory/new/deep/note.md": "two"})
    assert watched.wait_for(4)["memory/new/deep/note.md"] == "two"


def test_deleted_and_renamed_notes_are_synced(watched: Watched) -> None:
    with watched.at_once():
        (watched.root / "memory" / "tea.md").unlink()
        (watched.root / "memory" / "bike.md").rename(watched.root / "memory" / "cycle.md")
    assert watched.wait_for(2).keys() == (
        world.NOTES.keys() - {"memory/tea.md", "memory/bike.md"} | {"memory/cycle.md"}
    )


def test_a_change_during_a_sync_is_seen_by_the_next(watched: Watched) -> None:
    during, done = threading.Event(), threading.Event()

    def hold() -> None:
        during.set()
        done.wait(timeout=DEADLINE)

    watched.during = hold
    watched.write({"memory/tea.md": "before"})
    assert during.wait(timeout=DEADLINE)
    world.write(watched.root, {"memory/bike.md": "during"})
    done.set()
    assert watched.wait_for(2)["memory/bike.md"] != "during"
    assert watched.wait_for(3) == world.NOTES | {"memory/tea.md": "before", "memory/bike.md": "during"}


def test_what_is_no_note_asks_for_no_sync(watched: Watched) -> None:
    watched.write({"memory/.tea.md.swp": "", "memory/4913": "", "memory/.git/index": "", "a.txt": ""})
    texts(watched.root)
    assert watched.stays_at(1)


def test_a_failed_sync_is_said_once_and_retried(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "RETRIES", (0.3,))
    tried = threading.Semaphore(0)

    def refuse() -> None:
        tried.release()
        raise InputError("The index is being written by another process.", "Wait.")

    watched.during = refuse
    watched.write({"memory/tea.md": "new"})
    watched.wait(lambda: len(watched.failures) == 1)
    assert all(tried.acquire(timeout=DEADLINE) for _ in range(3))
    watched.during = lambda: None
    assert watched.wait_for(2)["memory/tea.md"] == "new"
    assert [str(one) for one in watched.failures] == [
        "The index is being written by another process.\n  Wait."
    ]


def test_a_memory_that_comes_back_is_watched(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "RETRIES", (0.3,))
    shutil.rmtree(watched.root)
    watched.wait(lambda: bool(watched.failures))
    world.write(watched.root, {"MEMORY.md": "back"})
    watched.wait(lambda: watched.seen[-1] == {"MEMORY.md": "back"})
    world.write(watched.root, {"MEMORY.md": "and changed"})
    watched.wait(lambda: watched.seen[-1] == {"MEMORY.md": "and changed"})


def append(file: Path, text: str) -> None:
    """Adds to a file, which is never shorter meanwhile."""
    with file.open("a", encoding="utf-8") as opened:
        opened.write(text)


def test_a_transcript_is_synced_once_enough_came(tmp_path: Path, clock: Clock, noticed: set[Path]) -> None:
    found = Watched(world.write(tmp_path / "wren"), clock, noticed)
    sessions = tmp_path / "sessions"
    world.write(sessions, {"a.jsonl": "{}\n" * 10})
    transcripts = Transcripts(Sessions(sessions), Thresholds(bytes=1000, messages=3))
    found.during = transcripts.syncing
    thread = found.run([Notes(found.root), transcripts])
    try:
        found.wait_for(1)
        append(sessions / "a.jsonl", "{}\n" * 2)
        assert found.stays_at(1)
        append(sessions / "a.jsonl", "{}\n")
        found.wait_for(2)
        (sessions / "a.jsonl").unlink()
        found.wait_for(3)
    finally:
        found.stop.set()
        thread.join(DEADLINE)


def test_too_many_folders_are_an_error_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> Iterator[None]:
        raise OSError("OS file watch limit reached.")
        yield

    monkeypatch.setattr(watching.watchfiles, "watch", full)
    with pytest.raises(InputError, match=r"cannot watch 2 folders(.|\n)*max_user_watches"):
        Watcher([Notes(world.write(tmp_path))], lambda: None, pytest.fail).run(threading.Event())


# The command


WATCH = """\
import runpy, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
sys.argv = ["workbench", "watch", *sys.argv[1:]]
runpy.run_module("workbench", run_name="__main__")
"""
"""The command in a process of its own, which no signal of a test can outlive."""


def ended_watching(memory: Path, number: signal.Signals, *options: object) -> tuple[str, str, str, str, int]:
    """Watches `memory`, deletes a note after the first sync, and sends the signal after the second.

    The two lines, all else on stdout and on stderr, and the exit code.
    """
    command = [sys.executable, "-c", WATCH, str(memory), *map(str, options)]
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True) as watching:
        assert watching.stdout is not None
        first = watching.stdout.readline()
        (memory / "memory" / "tea.md").unlink()
        second = watching.stdout.readline()
        watching.send_signal(number)
        rest, errors = watching.communicate()
    return first, second, rest, errors, watching.returncode


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_prints_a_line_a_sync_until_a_signal(number: signal.Signals, tmp_path: Path) -> None:
    root = world.write(tmp_path / "wren")
    index_folder(root, options=Options(index_path=tmp_path / "index.sqlite"))
    first, second, rest, errors, code = ended_watching(root, number, "--index", tmp_path / "index.sqlite")
    assert re.match(r"\d\d:\d\d:\d\d  0 new, 0 changed, 0 deleted, 6 unchanged; ", first)
    assert re.match(r"\d\d:\d\d:\d\d  0 new, 0 changed, 1 deleted, 5 unchanged; ", second)
    assert (code, rest) == (0, "")
    assert errors.splitlines() == [f"Watching {root}. Stop with Ctrl-C.", "Stopped."]


def test_the_command_names_a_bad_file_once_and_syncs_the_others(tmp_path: Path) -> None:
    root = world.write(tmp_path / "wren")
    index_folder(root, options=Options(index_path=tmp_path / "i.sqlite"))
    (root / "memory" / "odd.md").write_bytes(b"caf\xe9")
    world.write(tmp_path / "sessions", {"a.jsonl": "no JSON\n"})
    first, second, _, errors, code = ended_watching(
        root, signal.SIGTERM, "--index", tmp_path / "i.sqlite", "--sessions", tmp_path / "sessions"
    )
    assert "6 unchanged" in first
    assert "1 deleted" in second
    assert errors.count("left out: memory/odd.md is not UTF-8") == 1
    assert errors.count("left out: sessions/a.jsonl:1 is not JSON.") == 1
    assert code == 0


def test_a_pipe_that_is_called_a_transcript_does_not_stop_the_watching(tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()
    os.mkfifo(tmp_path / "sessions" / "pipe.jsonl")
    transcripts = Transcripts(Sessions(tmp_path / "sessions"), Thresholds())
    assert transcripts.counts(tmp_path / "sessions" / "pipe.jsonl")


def test_the_command_refuses_a_folder_that_is_not_there(run: Run, tmp_path: Path) -> None:
    ended = run("watch", tmp_path / "none")
    assert (ended.code, "does not exist" in ended.err) == (2, True)

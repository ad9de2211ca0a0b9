"""The lock: one process at a time, waiting is said, and a dead process holds nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from tests.conftest import PROJECT
from tests.home import Home
from workbench.memory.store.contract import LockedError
from workbench.memory.store.sqlite.location import alone

HOLD = (
    "import sys, time; from pathlib import Path; from workbench.memory.store.sqlite.location import alone\n"
    "with alone(Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
)


@contextmanager
def holder(file: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock."""
    command = [sys.executable, "-c", HOLD, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def test_a_second_sync_waits_says_so_and_gives_up(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    before = home.contents()
    with holder(home.file) as process:
        with pytest.raises(LockedError, match=rf"Process {process.pid} is indexing .* within 0\.2 s"):
            home.sync(wait=0.2)
        assert (
            f"Process {process.pid} is indexing {home.file}: waiting up to 0.2 s" in capsys.readouterr().err
        )
        with home.opened() as opened:  # a reader does not wait
            assert opened.embed("a cup").tolist() == [1, 0, 0]
    assert home.contents() == before


def test_a_killed_process_and_a_failure_hold_nothing(home: Home) -> None:
    with holder(home.file) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert home.sync(wait=0).unchanged == 6
    with pytest.raises(RuntimeError), alone(home.file):
        raise RuntimeError
    assert home.sync(wait=0).unchanged == 6


def test_two_syncs_of_one_process_take_turns(home: Home) -> None:
    turns: list[str] = []

    def second() -> None:
        with alone(home.file):
            turns.append("second")

    with alone(home.file):
        thread = Thread(target=second)
        thread.start()
        thread.join(0.3)
        turns.append("first")
    thread.join(300)
    assert turns == ["first", "second"]


@pytest.mark.parametrize(
    "garbage", [b"", b"\x1b]0;owned\x07", b"\xff\xfe\x9b2J", b"12\nforged line", b"9" * 5000]
)
def test_garbage_in_a_lock_is_hidden(home: Home, capsys: pytest.CaptureFixture[str], garbage: bytes) -> None:
    with holder(home.file):
        Path(f"{home.file}.lock").write_bytes(garbage)
        with pytest.raises(LockedError, match=r"^(Another process|Process 9{1,20}) is indexing"):
            home.sync(wait=0.1)
    assert not set(capsys.readouterr().err) & {"\x1b", "\x07", "\x9b", "\ufffd"}

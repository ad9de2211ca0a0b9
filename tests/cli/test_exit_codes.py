"""The exit code tells the kind of failure: 3 for the storage, 4 for a provider; the index stays as it was."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from tests import world
from tests.commands import Run, runner
from tests.fault_server import KEY, Fault, serving
from tests.home import Home
from tests.memory.test_crash import pages_of, room_for
from workbench.memory.embedding import named
from workbench.memory.store.sqlite import database
from workbench.memory.store.sqlite import location as lock


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(named, "embedder_named", lambda *_: world.EMBEDDER)
    return run


def test_a_full_disk_ends_with_3_and_says_so(run: Run, home: Home) -> None:
    before = home.contents()
    world.write(home.root, {"memory/new.md": "tea " + "hub " * 30_000})
    with room_for(pages_of(home.file)):
        ended = run("index", home.root, "--index", home.file)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith(f"The disk is full: there is no room left to write {home.file}.")
    assert "permission" not in ended.err
    assert home.contents() == before


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_an_output_on_a_full_disk_ends_with_3_and_one_sentence(more: list[str]) -> None:
    command = [sys.executable, "-m", "workbench", "systems", *more]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 3
    assert ended.stderr.splitlines() == [
        "The output or a temporary file cannot be written: No space left on device.",
        "  Free some space, or send the output to another place.",
    ]


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_closed_output_ends_with_3(run: Run, more: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    ended = run("systems", *more)
    assert ended.code == 3
    assert ended.err.startswith("The output cannot be written: it is closed.")


@contextmanager
def writer(file: Path) -> Iterator[None]:
    """Another connection that is in the middle of a write."""
    db = apsw.Connection(str(file))
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        db.close()


def test_a_locked_index_ends_with_3(run: Run, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    before = home.contents()
    monkeypatch.setattr(database, "BUSY_SECONDS", 0)
    world.write(home.root, {"memory/new.md": "tea"})
    with writer(home.file):
        ended = run("index", home.root, "--index", home.file)
    assert ended.code == 3
    assert f"{home.file} is locked: another process" in ended.err
    assert home.contents() == before


def test_an_index_that_another_process_syncs_ends_with_3(
    run: Run, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = home.contents()
    alone = lock.alone
    monkeypatch.setattr(lock, "alone", lambda path, _: alone(path, 0.01))
    with alone(home.file):
        ended = run("index", home.root, "--index", home.file)
    assert ended.code == 3
    assert "is indexing" in ended.err
    assert home.contents() == before


@pytest.mark.parametrize("command", ["index", "search"])
def test_a_damaged_index_ends_with_3_and_stays_as_it_is(run: Run, home: Home, command: str) -> None:
    pages = home.file.read_bytes()
    home.file.write_bytes(pages[:4096] + b"\xff" * (len(pages) - 4096))
    before = home.file.read_bytes()
    asked = ["index", home.root] if command == "index" else ["search", "tea", "--memory", home.root]
    ended = run(*asked, "--index", home.file)
    assert ended.code == 3
    assert f"{home.file} is damaged" in ended.err
    assert "--rebuild" in ended.err
    assert home.file.read_bytes() == before


def test_an_index_below_a_file_ends_with_3(run: Run, home: Home) -> None:
    file = home.root / "MEMORY.md"
    ended = run("index", home.root, "--index", file / "i.sqlite")
    assert ended.code == 3
    assert f"The index {file} cannot be written" in ended.err


def test_a_provider_that_fails_ends_with_4(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = runner(monkeypatch, capsys)  # with the embedders as they are
    file = home.file.with_name("remote.sqlite")
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/openai/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        server.always = Fault(status=401)
        ended = run("index", home.root, "--index", file, "--model", "openai")
    assert ended.code == 4
    assert "failed with status 401" in ended.err
    assert not file.exists()

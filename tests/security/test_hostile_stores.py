"""Hostile stores end in one sentence; `python -m benchmarks.hostile` tries more of them, and measures."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from benchmarks.hostile import commands, ended, prepared, watching_reader
from benchmarks.watching import REACHED
from tests.commands import Run
from tests.security import readers
from tests.security.forged_stores import DECOY, decoy
from tests.security.hostile_stores import ATTACKS, KINDS, numbered, sound
from workbench.errors import InputError
from workbench.memory import guard
from workbench.memory.guard import bounded_memory, check_plain, guarded, read_apart
from workbench.memory.index_files import default_index_path
from workbench_plugins.doctor import store_snapshot
from workbench_plugins.doctor.faults import facts
from workbench_plugins.doctor.store_snapshot import read_store


@pytest.fixture(scope="module")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sound")


@pytest.mark.parametrize("kind", KINDS)
def test_a_sound_store_is_read(run: Run, tmp_path: Path, kind: str) -> None:
    told = run("doctor", sound(kind, tmp_path / kind))
    assert told.code in (0, 1)
    assert "3 chunks" in told.out


def test_the_folder_that_only_a_store_names_is_said_and_is_in_no_command(run: Run, tmp_path: Path) -> None:
    store = sound("ours", tmp_path / "ours")
    db = apsw.Connection(str(store))
    db.execute("UPDATE meta SET value = '/etc; touch ran' WHERE key = 'folder'")
    db.close()
    told = " ".join(run("doctor", store).out.split())
    assert "The file names the folder /etc; touch ran, which was not read." in told
    assert told.count("workbench index FOLDER") >= 1
    assert "index /etc" not in told
    assert "no checksums" in facts(replace(read_store(store), checksums=False))[0]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux alone")
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_store_ends_in_one_sentence(
    tmp_path: Path, sounds: Path, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    prepared()
    at = list(ATTACKS).index(attack)
    chosen = at * len(KINDS) + at % len(KINDS)  # every kind in turn
    kind, made, store = numbered(chosen, sounds, tmp_path / "store")
    assert made == attack
    for command in commands(kind, store)[-2:]:
        got = ended(command, tmp_path / "log")
        assert got.problem == "", (kind, command, got)


@pytest.mark.parametrize(
    ("read", "error", "words"),
    [
        (readers.computes, InputError, "takes too long to read"),
        (readers.waits, InputError, "takes too long to read"),
        (readers.crashes, InputError, r"its reader stopped \(SIGSEGV\)"),
        (readers.raises, InputError, "cannot be read: boom\\.\n  Close it"),
        (readers.is_wrong, RuntimeError, "AssertionError: ours"),
    ],
)
def test_a_reader_that_hangs_or_crashes_ends_in_a_sentence(
    tmp_path: Path,
    read: guard.Reader,
    error: type[Exception],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "too long" in words:
        monkeypatch.setattr(guard, "LEAST_SECONDS", 0.5)
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(error, match=words):
        read_apart(tmp_path / "file", "Close it.", read)


def test_a_reader_has_no_key_and_imports_nothing_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sitecustomize", "json", "numpy", "workbench"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(66)\n")
    (tmp_path / "file é").write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    told = json.loads(read_apart(Path("file é"), "x", readers.tells))
    assert told == {"read": "x", "variables": sorted({*guard.KEPT, *guard.ONE_THREAD} & {*told["variables"]})}


def test_what_a_reader_opens_outside_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("file", "outside"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "home").mkdir()
    log = tmp_path / "home" / "log"
    monkeypatch.setattr(guard, "START", watching_reader(log))
    read_apart(tmp_path / "file", "x", readers.looks_around)
    assert f"{REACHED} {str(tmp_path / 'outside')!r}" in log.read_text(encoding="utf-8")


def test_a_store_is_the_same_from_process_to_process(tmp_path: Path) -> None:
    for kind in KINDS:
        store = sound(kind, tmp_path / kind)
        here, there = (read(store) for read in (store_snapshot._found, read_store))
        for name, value in vars(here).items():
            assert repr(getattr(there, name)) == repr([] if value == () else value), (kind, name)


def test_an_index_at_its_default_place_needs_no_other_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(store_snapshot, "read_apart", None)
    place = default_index_path(tmp_path / "notes")
    place.parent.mkdir(parents=True)
    shutil.copy(sound("ours", tmp_path / "ours"), place)
    assert len(read_store(place).ids) == 3
    place.write_bytes(b"x" * 5_000)
    with pytest.raises(InputError, match="cannot be read"):
        read_store(place)


@pytest.mark.parametrize("end", ["-wal", "-journal", "-shm", ".lock", ".words"])
def test_no_link_beside_an_index_is_written_through_and_a_rebuild_mends_it(
    run: Run, tmp_path: Path, end: str
) -> None:
    store = sound("ours", tmp_path / "ours")
    outside, notes = decoy(store), store.parent / "notes"
    base = store if end[0] == "." else store.resolve()
    name = base.with_name(base.name + end)
    name.unlink(missing_ok=True)
    name.symlink_to(outside)
    asked = ("search", "tea", "-m", notes, "--index", store, "-s", "recommended")
    first = run(*asked)
    assert (first.code == 0) == (end[0] == "."), first
    again = run("index", notes, "--index", store, "--rebuild")
    assert outside.read_text(encoding="utf-8") == DECOY
    if end == ".lock":
        assert (again.code, "symbolic links" in again.err) == (3, True), again
        return
    assert again.code == 0, again
    assert run(*asked).code == 0


def test_what_is_no_plain_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("nothing")
    for place in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(ValueError, match="is not a plain file"):
            check_plain(place)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux alone")
def test_an_allocation_beyond_the_bound_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with (
        pytest.raises(InputError, match="more memory than its size explains"),
        guarded(tmp_path / "file", "x"),
    ):
        bytearray(2_000_000_000)
    with bounded_memory(10_000_000), pytest.raises(MemoryError):
        bytearray(200_000_000)
    assert len(bytearray(200_000_000)) == 200_000_000

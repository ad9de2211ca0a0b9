"""The doctor says when the -wal file beside a database is not as SQLite wrote it, and only then."""

from __future__ import annotations

import random
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from tests.home import Home
from tests.memory.test_damage import flipped
from workbench_plugins.doctor.faults import faults
from workbench_plugins.doctor.store_snapshot import read_store
from workbench_plugins.doctor.write_ahead_log import log_problems


def writing(file: Path, page_size: int) -> apsw.Connection:
    """A writer of a database in WAL mode; as long as it is open, its -wal file stays."""
    db = apsw.Connection(str(file))
    db.pragma("page_size", page_size)
    db.pragma("journal_mode", "wal")
    db.pragma("wal_autocheckpoint", 0)
    db.execute("CREATE TABLE a (b)")
    for number in range(10):
        db.execute("INSERT INTO a VALUES (?)", (str(number) * 3_000,))
    return db


def log_of(file: Path) -> Path:
    return file.with_name(f"{file.name}-wal")


@pytest.fixture(params=[512, 8_192, 65_536])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A database and its -wal, as a killed program leaves them."""
    with writing(tmp_path / "live.sqlite", request.param):
        file = tmp_path / "left.sqlite"
        shutil.copy(tmp_path / "live.sqlite", file)
        shutil.copy(log_of(tmp_path / "live.sqlite"), log_of(file))
    return file


def test_a_log_as_sqlite_wrote_it_is_sound(database: Path) -> None:
    assert log_problems(database) == []


def test_a_changed_bit_anywhere_in_a_log_is_found(database: Path) -> None:
    log, chance = log_of(database), random.Random(5)
    for _ in range(60):
        at, bit = chance.randrange(log.stat().st_size), chance.randrange(8)
        flipped(log, at, bit)
        assert log_problems(database), (at, bit)
        flipped(log, at, bit)
    assert log_problems(database) == []


def test_a_log_that_ends_in_the_middle_of_an_entry_is_sound(database: Path) -> None:
    log = log_of(database)
    log.write_bytes(log.read_bytes()[:-7])
    assert log_problems(database) == []


def test_what_an_earlier_log_has_left_behind_the_entries_is_sound(tmp_path: Path) -> None:
    file = tmp_path / "live.sqlite"
    with writing(file, 4_096) as db:
        size = log_of(file).stat().st_size
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
        db.execute("INSERT INTO a VALUES ('one more')")
        assert log_of(file).stat().st_size == size
        assert log_problems(file) == []


@pytest.mark.parametrize("header", [b"", b"\0" * 31, b"\0" * 32, b"\xff" * 4_096])
def test_any_header_of_a_log_gets_an_answer(header: bytes, tmp_path: Path) -> None:
    file = tmp_path / "a.sqlite"
    log_of(file).write_bytes(header)
    assert len(log_problems(file)) == (len(header) >= 32)


def test_the_doctor_names_a_damaged_log_without_the_notes_until_a_search_removes_it(home: Home) -> None:
    home.sync()
    build = home.file.resolve()
    with closing(apsw.Connection(str(build), vfs="cksmvfs")) as reader:
        reader.execute("BEGIN; SELECT * FROM sqlite_schema").fetchall()
        (home.root / "memory" / "added.md").write_text("Tea on Monday.\n", encoding="utf-8")
        home.sync()
        left = home.file.parent / "left.sqlite"
        shutil.copy(build, left)
        shutil.copy(log_of(build), log_of(left))
    assert not read_store(left).problems
    log = log_of(left)
    flipped(log, log.stat().st_size // 2, 3)
    (found,) = [one for one in faults(read_store(left)) if one.kind == "damaged"]
    assert "left.sqlite-wal" in str(found)
    assert "--rebuild" in str(found)
    with replace(home, file=left).opened() as index:
        assert any("out of date" in one and "added.md" in one for one in map(str, index.remarks))
    assert not log.exists()

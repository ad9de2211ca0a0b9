"""Every bit of an index file is checked before it is used: a changed one is said, and never answered from."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import apsw
import numpy as np
import pytest

from tests.home import Home, no_file_grows
from workbench.errors import InputError, WorkbenchError
from workbench.memory.index import MemoryIndex
from workbench.memory.store.contract import DamagedError
from workbench.memory.store.sqlite.location import words_file
from workbench.memory.store.sqlite.store import Store
from workbench.records import Clause, Query
from workbench_plugins.doctor.faults import faults
from workbench_plugins.doctor.store_snapshot import read_store
from workbench_plugins.recommended.stored_passages import passages_in

QUERY = Query((Clause("tea"),), "OR")


def flipped(file: Path, offset: int, bit: int) -> None:
    """Changes one bit of a file, as a bad disk does."""
    with file.open("r+b") as opened:
        opened.seek(offset)
        (byte,) = opened.read(1)
        opened.seek(offset)
        opened.write(bytes([byte ^ 1 << bit]))


def everything(index: MemoryIndex) -> tuple[object, ...]:
    """All that an index answers from: texts, full text, vectors and stamps."""
    store = index.store
    with index.snapshot():
        rows, vectors = store.matrix()
        found = [store.keyword(QUERY, 50).raw.tolist(), index.keyword(QUERY, 50).rows.tolist()]
        return (
            rows.tolist(),
            vectors.tobytes(),
            index.chunks(rows),
            store.documents(),
            store.stamps(),
            found,
        )


def test_one_changed_bit_anywhere_changes_no_answer_in_silence(home: Home, tmp_path: Path) -> None:
    home.sync()
    with Store.open(home.file) as store:
        store.settle()
    with home.opened() as index:
        sound = everything(index)
    build = home.file.resolve()
    kept = tmp_path / "kept"
    shutil.copyfile(build, kept)
    chance, said = random.Random(1), 0
    for _ in range(200):
        shutil.copyfile(kept, build)
        flipped(build, chance.randrange(kept.stat().st_size), chance.randrange(8))
        try:
            with home.opened() as index:
                assert everything(index) == sound
        except WorkbenchError:
            said += 1
            assert faults(read_store(build))
    assert said > 100


@pytest.mark.parametrize("at", [0, 4, 15, 16, 18, 20, 21, 60, 68, 71, 90, 105, 3_000])
def test_a_changed_bit_of_the_first_page_is_said_by_a_search_and_by_the_doctor(home: Home, at: int) -> None:
    home.sync()
    with Store.open(home.file) as store:
        store.settle()
    flipped(home.file.resolve(), at, 2)
    again = f"workbench index FOLDER --index {home.file} --rebuild"
    said = pytest.raises(DamagedError, match=rf"is damaged: .*\n.*{re.escape(again)}")
    with said, home.opened() as index:
        everything(index)
    (fault,) = faults(read_store(home.file))
    assert (fault.kind, fault.repair) == ("damaged", again)


@pytest.mark.parametrize("table", ["chunks", "chunks_fts_data", "chunks_vec_vector_chunks00", "documents"])
def test_a_changed_bit_of_any_table_names_the_command_that_mends_it(home: Home, table: str) -> None:
    home.sync()
    with Store.open(home.file) as store:
        store.settle()
        (row,) = store.db.execute(f"SELECT * FROM {table} ORDER BY rowid DESC LIMIT 1").fetchall()
        stored = [
            one.encode() if isinstance(one, str) else one for one in row if isinstance(one, str | bytes)
        ]
        needle = max(stored, key=len)
    build = home.file.resolve()
    flipped(build, build.read_bytes().index(needle[:40]) + 3, 2)
    again = f"workbench index FOLDER --index {home.file} --rebuild"
    said = pytest.raises(DamagedError, match=rf"is damaged: .*\n.*{re.escape(again)}")
    with said, home.opened() as index:
        everything(index)
    (fault,) = faults(read_store(build))
    assert "checksum" in fault.example
    home.sync(rebuild=True)
    with home.opened() as index:
        everything(index)


def test_the_doctor_reads_the_file_of_words_too(home: Home) -> None:
    words = words_file(home.file)
    with home.opened() as index:
        passages_in(index, None, words)
    assert read_store(home.file).problems == []
    flipped(words, words.stat().st_size - 50, 1)
    (problem,) = read_store(home.file).problems
    assert words.name in problem


def test_the_doctor_calls_nothing_damaged_where_the_disk_is_full(home: Home) -> None:
    words = words_file(home.file)
    with home.opened() as index:
        passages_in(index, None, words)
    for end in ("-wal", "-shm"):  # a search that found no room has left these
        words.with_name(words.name + end).touch()
    with no_file_grows():
        assert read_store(home.file).problems == []


def test_a_text_that_is_not_that_of_its_id_is_not_answered(home: Home) -> None:
    home.sync()
    with Store.open(home.file) as store, store.writing():
        store.db.execute("UPDATE chunks SET text = 'coffee' WHERE id = 1")
    with home.opened() as index, pytest.raises(DamagedError, match="has another text"):
        everything(index)
    assert "another text" in faults(read_store(home.file))[0].example


def test_a_row_that_the_index_has_not_is_no_damage_of_the_index(home: Home) -> None:
    home.sync()
    with home.opened() as index:
        for row in (-1, 0, 10**9):
            with pytest.raises(InputError, match=f"has no chunk with the row {row}"):
                index.chunks(np.array([1, row], np.int64))
    with Store.open(home.file) as store, store.writing():
        store.db.execute("DELETE FROM chunks WHERE id = 1")
    with home.opened() as index, pytest.raises(DamagedError, match="belongs to no document"):
        index.chunks(np.array([1], np.int64))


def without_checksums(file: Path) -> None:
    """Makes an index file what an older workbench has made."""
    db = apsw.Connection(str(file))
    db.execute("PRAGMA user_version = 1")
    db.close()


def test_an_index_of_an_older_workbench_is_read_and_a_rebuild_embeds_nothing(home: Home) -> None:
    home.sync()
    without_checksums(home.file)
    with home.opened() as index:
        everything(index)
    assert home.sync(rebuild=True).embedded == 0

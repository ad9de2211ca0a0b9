"""An index or an OpenClaw store with other tables or values than it should have gets a message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw
import pytest
import sqlite_vec
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import world
from tests.home import Home, Watched
from tests.openclaw_store import FORMS, OpenClaw
from workbench.errors import InputError, StorageError, WorkbenchError
from workbench.memory.embedding.local import ToyEmbedder
from workbench.memory.options import Options
from workbench.memory.store.contract import DamagedError, LockedError
from workbench.memory.store.sqlite.location import alone
from workbench.memory.sync import index_folder
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import SHIPPED
from workbench_plugins.openclaw.live_index import open_live_store

QUESTION = "tea and the hub"

values = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8"), max_size=8)
    | st.binary(max_size=20)
)
few = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@contextmanager
def connected(file: Path) -> Iterator[apsw.Connection]:
    """The database as another program opens it."""
    db = apsw.Connection(str(file))
    try:
        db.enable_load_extension(True)
        db.load_extension(sqlite_vec.loadable_path())
        yield db
    finally:
        db.close()


def used(home: Home) -> str:
    """What a sync, a search, an explanation and a listing of the index end with."""
    try:
        home.sync(Watched())
        with home.opened() as index, index.snapshot():
            trace = search(QUESTION, SHIPPED, index)
            explain(trace, index, "memory/tea.md")
            list(index.documents())
            index.store.stamps()
    except WorkbenchError as error:
        return str(error)
    return ""


COLUMNS = {
    "meta": ["key", "value"],
    "documents": ["path", "source", "hash", "size", "mtime_ns", "text"],
    "chunks": ["key", "document_id", "start_line", "end_line", "hash", "text", "read_share"],
    "embedding_cache": ["model", "revision", "role", "hash", "vector", "read_share"],
}
FORGED = yaml.safe_load(Path(__file__).with_name("forged_indexes.yaml").read_text(encoding="utf-8"))


def places(columns: dict[str, list[str]]) -> st.SearchStrategy[tuple[str, str]]:
    """A table and one of its columns."""
    return st.sampled_from([(table, column) for table, names in columns.items() for column in names])


@few
@given(place=places(COLUMNS), value=values)
def test_any_value_in_any_column_of_an_index_gets_a_message(
    home: Home, place: tuple[str, str], value: object
) -> None:
    table, column = place
    home.file.unlink()
    home.sync(rebuild=True)
    with connected(home.file) as db, suppress(apsw.ConstraintError):
        db.execute(f"UPDATE OR REPLACE {table} SET {column} = ?", (value,))
    assert len(used(home)) < 1_000


@pytest.mark.parametrize(("sql", "said"), FORGED)
def test_a_forged_index_is_named_with_its_problem(home: Home, sql: str, said: str) -> None:
    with connected(home.file) as db:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('file_rules', '')")
        db.execute("DELETE FROM meta WHERE key = 'file_rules' AND value = ''")
        db.execute("INSERT INTO meta VALUES ('file_rules', '{}')")
        db.execute(sql)
    assert said in used(home)


def test_a_damaged_index_is_built_again_by_a_rebuild(home: Home) -> None:
    with connected(home.file) as db:
        db.execute("CREATE TRIGGER t AFTER INSERT ON chunks BEGIN DELETE FROM documents; END")
    with pytest.raises(DamagedError):
        home.sync()
    home.sync(rebuild=True)
    assert len(home.contents()[1]) == 6


LIVE = {
    "files": ["path", "source", "hash", "mtime", "size"],
    "chunks": ["id", "path", "source", "start_line", "end_line", "model", "text", "embedding"],
    "meta": ["key", "value"],
}


@pytest.mark.parametrize("form", ["2026.2", "2026.9"])
@settings(few, max_examples=15)
@given(place=places(LIVE), value=values)
def test_any_value_in_any_column_of_a_live_store_gets_a_message(
    tmp_path: Path, form: str, place: tuple[str, str], value: object
) -> None:
    openclaw = OpenClaw(tmp_path / "state" / "main.sqlite", FORMS[form])
    for file in (tmp_path / "state").glob("*"):
        file.unlink()
    openclaw.create()
    table = getattr(openclaw.form, place[0])
    with openclaw.opened() as db:
        db.execute(f"CREATE TABLE loose AS SELECT * FROM {table}")
        db.execute(f"DROP TABLE {table}")
        db.execute(f"ALTER TABLE loose RENAME TO {table}")
        db.execute(f"UPDATE {table} SET {place[1]} = ?", (value,))
    said = ""
    try:
        with open_live_store(openclaw.file, world.EMBEDDER) as live, live.snapshot():
            trace = search(QUESTION, SHIPPED, live)
            explain(trace, live, "memory/tea.md")
            search(QUESTION, SYSTEMS["openclaw-2026.9.6"], live)
            live.stamps(), live.documents(), live.store.problems()
    except WorkbenchError as error:
        said = str(error)
    assert len(said) < 1_000


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE chunks_fts; CREATE VIRTUAL TABLE chunks_fts USING fts5 (text, id UNINDEXED)",
        "DROP TABLE chunks_fts; CREATE TABLE chunks_fts (text, id, model)",
        "DROP TABLE chunks; CREATE TABLE chunks (id, path)",
    ],
)
def test_a_live_store_with_other_columns_gets_a_message(tmp_path: Path, sql: str) -> None:
    openclaw = OpenClaw(tmp_path / "state" / "main.sqlite").create()
    with openclaw.opened() as db:
        db.execute(sql)
    refused = pytest.raises((InputError, StorageError), match="not supported")
    with refused, open_live_store(openclaw.file, world.EMBEDDER) as live:
        search(QUESTION, SHIPPED, live)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b"x" * 100_000, b"\x1b]0;title\x07", b"12\n34"])
def test_a_lock_file_with_garbage_is_no_error(
    home: Home, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = home.file.with_name(f"{home.file.name}.lock")
    lock.write_bytes(content)
    assert home.sync().unchanged == 6
    with alone(home.file):
        lock.write_bytes(content)
        with pytest.raises(LockedError, match="Another process is indexing"):
            home.sync(wait=0.01)
    assert "\x1b" not in capsys.readouterr().err


def test_vectors_that_are_too_long_are_refused_and_leave_no_index(tmp_path: Path) -> None:
    root, file = world.write(tmp_path / "wren"), tmp_path / "index" / "i.sqlite"
    for dimensions in (0, 8193):
        with pytest.raises(InputError, match=f"vectors of {dimensions:,} dimensions"):
            index_folder(root, wide(dimensions), options=Options(index_path=file))
        assert [one.name for one in file.parent.iterdir()] == ["i.sqlite.lock"]
    assert len(index_folder(root, wide(8192), options=Options(index_path=file)).new) == len(world.NOTES)


def wide(dimensions: int) -> ToyEmbedder:
    """An embedder with so many axes."""
    return ToyEmbedder({f"axis {number}": ("tea",) for number in range(dimensions)})

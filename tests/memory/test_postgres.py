"""An index in PostgreSQL follows a folder, and each fault of a server is one clear error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psycopg
import pytest

import workbench as wb
from tests import world
from tests.contracts.store_contract import SETTINGS
from tests.postgres import LOCKED_OUT, SECRET, fresh_schema
from workbench.errors import InputError, StorageError, WorkbenchError
from workbench.memory.embedding.local import Embedded, ToyEmbedder
from workbench.memory.store.contract import IndexStore
from workbench.memory.store.places import server_place
from workbench.memory.store.postgres.address import parse
from workbench.memory.store.values import Cached
from workbench.memory.sync import index_folder
from workbench.records import Clause, Query
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import search


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "cache"))
    return world.write(tmp_path / "memory_of_wren")


@pytest.fixture
def address(postgres: str) -> str:
    return fresh_schema(postgres)


def sync(folder: Path, address: str, embedder: ToyEmbedder = world.EMBEDDER, **options: object) -> str:
    return str(index_folder(folder, embedder, store=address, **options)).partition(";")[0]  # type: ignore[arg-type]


def paths(address: str) -> set[str]:
    with server_place(address).open() as store:
        return set(store.stamps())


def on(postgres: str, user: str, database: str = "postgres") -> str:
    return postgres.replace("postgres@/postgres", f"{user}@/{database}")


def test_a_folder_is_followed_and_searched(folder: Path, address: str) -> None:
    count = len(list(folder.rglob("*.md")))
    assert sync(folder, address).startswith(f"{count} new")
    assert sync(folder, address).endswith(f"{count} unchanged")
    (folder / "memory" / "fresh.md").write_text("Marmalade is in the cellar.")
    assert sync(folder, address).startswith("1 new, 0 changed, 0 deleted")
    with wb.open(address, world.EMBEDDER) as index:
        trace = search("marmalade cellar", wb.system("openclaw-2026.2.13"), index)
        assert "memory/fresh.md" in {one.path for one in trace.chunks}
        assert explain(trace, index, "memory/fresh.md").verdicts
    (folder / "memory" / "fresh.md").unlink()
    assert sync(folder, address).startswith("0 new, 0 changed, 1 deleted")
    assert "memory/fresh.md" not in paths(address)


def test_a_rebuild_takes_the_known_vectors_and_replaces_an_open_index(folder: Path, address: str) -> None:
    sync(folder, address)
    with wb.open(address, world.EMBEDDER) as index:
        before = index.size
        (folder / "memory" / "fresh.md").write_text("Marmalade is in the cellar.")
        summary = index_folder(folder, world.EMBEDDER, store=address, rebuild=True)
        assert summary.embedded == 1
        with index.snapshot():
            assert index.size == before + 1


def test_the_numbers_of_the_keyword_leg_have_their_own_name(folder: Path, address: str) -> None:
    sync(folder, address)
    with wb.open(f"{address}&rank=ts_rank", world.EMBEDDER) as index:
        trace = search("rooibos", wb.system("openclaw-2026.2.13"), index)
        assert trace.legs["keyword"].number == "ts_rank"
        assert trace.legs["keyword"].hits.larger_is_better


def test_texts_that_postgresql_cannot_hold_come_back_exactly(folder: Path, address: str) -> None:
    text = "before\0after \U0001f9ad \u202e ' \\ % {} $1"
    (folder / "memory" / "odd.md").write_text(text)
    sync(folder, address)
    with server_place(address).open() as store:
        [found] = [one.text for one in store.documents() if one.path == "memory/odd.md"]
        assert found == text
        assert store.keyword(Query((Clause("before\0after"),)), 5).rows.size == 1


def test_what_was_stored_before_a_lost_connection_stays_and_the_next_sync_completes(
    folder: Path, address: str, postgres: str
) -> None:
    class Cutting(ToyEmbedder):
        def embed(self, texts: Sequence[str], role: str) -> Embedded:
            with psycopg.connect(parse(postgres).conninfo, autocommit=True) as other:
                other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name = 'workbench' AND pid <> pg_backend_pid()"
                )
            return super().embed(texts, role)

    sync(folder, address)
    (folder / "memory" / "fresh.md").write_text("Marmalade is in the cellar.")
    before = paths(address)
    with pytest.raises(StorageError, match=r"connection to .* was lost"):
        sync(folder, address, Cutting(world.AXES))
    assert paths(address) == before
    assert sync(folder, address).startswith("1 new")


def test_an_interrupted_first_index_keeps_its_vectors(folder: Path, address: str) -> None:
    place = server_place(address)
    vector = np.array([1, 0, 0], np.float32)
    with pytest.raises(KeyboardInterrupt), place.rebuilding(SETTINGS) as store:
        _remember_and_stop(store, {"h": Cached(vector, 1.0)})
    assert not place.exists()
    with place.rebuilding(SETTINGS) as store:
        assert "h" in store.cached(SETTINGS, "passage", ["h"])


def _remember_and_stop(store: IndexStore, found: dict[str, Cached]) -> None:
    store.remember(SETTINGS, "passage", found)
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda one: one.replace("host=", "host=/nowhere"), "No PostgreSQL server answers"),
        (lambda one: on(one, LOCKED_OUT), "refuses this user"),
        (lambda one: on(one, f"{LOCKED_OUT}:wrong-{SECRET}"), "refuses this user"),
        (lambda one: on(one, f"{LOCKED_OUT}:{SECRET}", "bare"), "does not have the extension pgvector"),
        (lambda one: on(one, "postgres", "no_such"), "no such database"),
        (lambda one: one + "&schema=pg_catalog", "not a workbench index"),
        (lambda one: one + "&config=klingon", "text search configuration"),
        (lambda one: one + "&schema=A;DROP", "cannot be used"),
        (lambda one: one + "&rank=bm25", "ts_rank"),
        (lambda one: one + "&vectors=hnsw&ef=0", "ef='0' cannot be used"),
        (lambda _: f"postgresql://u:{SECRET}%zz@/x?a b", "cannot be read"),
        (lambda one: one + f"&password={SECRET}&colour=blue", "cannot be read"),
    ],
)
def test_a_fault_is_one_clear_error_without_secrets(
    folder: Path, postgres: str, change: object, message: str
) -> None:
    address = change(postgres)  # type: ignore[operator]
    with pytest.raises(WorkbenchError, match=message) as caught:
        sync(folder, address)
    assert SECRET not in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize("limit", ["connections", "statement"])
def test_a_server_with_too_much_to_do_is_one_clear_error_and_the_next_sync_completes(
    folder: Path, postgres: str, limit: str
) -> None:
    address = fresh_schema(postgres)
    sync(folder, address)
    before = paths(address)
    (folder / "memory" / "fresh.md").write_text("Marmalade is in the cellar.")
    user = f"busy_{limit}"
    busy = address.replace("postgres@/postgres", f"{user}@/postgres")
    with psycopg.connect(parse(postgres).conninfo, autocommit=True) as other:
        other.execute(f"CREATE ROLE {user} LOGIN SUPERUSER".encode())
        try:
            if limit == "connections":
                other.execute(f"ALTER ROLE {user} NOSUPERUSER CONNECTION LIMIT 0".encode())
            else:
                other.execute(f"ALTER ROLE {user} SET statement_timeout = 300".encode())
                schema = parse(address).schema
                other.execute(f"SET search_path = {schema}".encode())
                other.execute("BEGIN")
                other.execute("LOCK TABLE documents IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(StorageError, match=r"too many connections|has ended a statement") as caught:
                sync(folder, busy)
            assert "stored before is unchanged" in str(caught.value)
        finally:
            other.execute("ROLLBACK")
            other.execute(f"DROP ROLE {user}".encode())
    assert paths(address) == before
    assert sync(folder, address).startswith("1 new")


def test_a_schema_with_other_tables_is_never_removed(folder: Path, postgres: str) -> None:
    address = fresh_schema(postgres)
    name = parse(address).schema
    with psycopg.connect(parse(postgres).conninfo, autocommit=True) as other:
        other.execute(f"CREATE SCHEMA {name}; CREATE TABLE {name}.bills (id int)".encode())
        for options in ({}, {"rebuild": True}):
            with pytest.raises(InputError, match="is not a workbench index"):
                sync(folder, address, **options)
        assert other.execute(f"SELECT count(*) FROM {name}.bills".encode()).fetchone() == (0,)


def test_another_model_is_refused_and_the_index_stays(folder: Path, address: str) -> None:
    sync(folder, address)
    other = ToyEmbedder({**world.AXES, "one": ("more",)})
    with pytest.raises(InputError, match="another model"):
        sync(folder, address, other)
    assert sync(folder, address).startswith("0 new")


def test_two_processes_do_not_index_at_once(folder: Path, address: str) -> None:
    with server_place(address).alone(1), pytest.raises(StorageError, match="has been indexing"):
        sync(folder, address, wait=0.05)


def test_the_name_of_an_index_has_no_password() -> None:
    address = parse(f"postgresql://me:{SECRET}@db.example:5433/notes?sslmode=require")
    assert address.name == "postgresql://me@db.example:5433/notes?schema=workbench"
    assert SECRET not in repr(address)


def test_a_query_that_postgresql_cannot_read_leaves_the_session_usable(folder: Path, address: str) -> None:
    sync(folder, address)
    with server_place(address).open() as store, store.reading():
        with pytest.raises(InputError, match="cannot read the query"):
            store.keyword(Query(expression="& |"), 5)
        assert store.keyword(Query((Clause("rooibos"),)), 5).rows.size


@pytest.mark.parametrize("vectors", ["exact", "hnsw"])
def test_the_server_finds_the_vectors_that_the_scan_finds(
    folder: Path, address: str, vectors: str, postgres: str
) -> None:
    there = fresh_schema(postgres, vectors=vectors)
    sync(folder, there)
    sync(folder, address)
    with wb.open(there, world.EMBEDDER) as served, wb.open(address, world.EMBEDDER) as scanned:
        vector = served.embed("rooibos tea")
        ours, theirs = scanned.vector(vector, 3), served.vector(vector, 3)
        assert [c.id for c in served.chunks(theirs.rows)] == [c.id for c in scanned.chunks(ours.rows)]
        assert np.allclose(theirs.raw, ours.raw, atol=1e-6)


def test_known_vectors_come_from_the_index_file_of_the_folder(folder: Path, address: str) -> None:
    index_folder(folder, world.EMBEDDER)
    summary = index_folder(folder, world.EMBEDDER, store=address)
    assert summary.embedded == 0
    assert summary.from_cache == summary.chunks > 0

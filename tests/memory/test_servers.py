"""An index in PostgreSQL or Milvus follows a folder, and each fault of a server is one clear error."""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

import workbench as wb
from tests import world
from tests.contracts.store_contract import SETTINGS, put, words
from tests.milvus import fresh_name, refusing
from tests.postgres import LOCKED_OUT, SECRET, fresh_schema
from workbench.errors import InputError, StorageError, WorkbenchError
from workbench.memory.addresses import server_location
from workbench.memory.embedding.local import Embedded, ToyEmbedder
from workbench.memory.options import Options
from workbench.memory.store.contract import Cached, IndexStore
from workbench.memory.sync import index_folder
from workbench.records import Query
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import search
from workbench_plugins.stores import milvus as milvus_connection
from workbench_plugins.stores.milvus import MilvusStore
from workbench_plugins.stores.milvus import parse as parse_milvus
from workbench_plugins.stores.postgres import parse


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "cache"))
    return world.write(tmp_path / "memory_of_wren")


@pytest.fixture
def in_postgres(postgres: str) -> str:
    return fresh_schema(postgres)


@pytest.fixture
def in_milvus(milvus: str) -> str:
    return fresh_name(milvus)


@pytest.fixture(params=["postgres", "milvus"])
def address(request: pytest.FixtureRequest) -> str:
    """An index in each of the two."""
    found: str = request.getfixturevalue(f"in_{request.param}")
    return found


def sync(
    folder: Path,
    address: str,
    embedder: ToyEmbedder = world.EMBEDDER,
    *,
    rebuild: bool = False,
    **options: Any,
) -> str:
    given = Options(store=address, **options)
    return str(index_folder(folder, embedder, rebuild=rebuild, options=given)).partition(";")[0]


def paths(address: str) -> set[str]:
    with server_location(address).open() as store:
        return set(store.stamps())


def on(postgres: str, user: str, database: str = "postgres") -> str:
    return postgres.replace("postgres@/postgres", f"{user}@/{database}")


def test_a_folder_is_followed_searched_and_rebuilt(folder: Path, address: str) -> None:
    count = len(list(folder.rglob("*.md")))
    assert sync(folder, address).startswith(f"{count} new")
    assert sync(folder, address).endswith(f"{count} unchanged")
    odd = "Marmalade is in the cellar. \0 \" == \\ \U0001f9ad \u202e ' % {} $1" + "long " * 8_000
    (folder / "memory" / 'odd "name" ==.md').write_text(odd)
    assert sync(folder, address).startswith("1 new, 0 changed, 0 deleted")
    with wb.open(address, world.EMBEDDER) as index:
        trace = search("marmalade cellar", wb.system("openclaw-2026.2.13"), index)
        assert 'memory/odd "name" ==.md' in {one.path for one in trace.chunks}
        assert trace.legs["keyword"].number in ("milvus bm25", "ts_rank_cd")
        assert trace.legs["keyword"].hits.larger_is_better == (trace.legs["keyword"].hits.raw >= 0).all()
        assert explain(trace, index, 'memory/odd "name" ==.md').verdicts
        [found] = [one.text for one in index.documents() or () if "odd" in one.path]
        assert found == odd
    (folder / "memory" / 'odd "name" ==.md').unlink()
    assert sync(folder, address).startswith("0 new, 0 changed, 1 deleted")
    assert len(paths(address)) == count


def test_a_rebuild_takes_the_known_vectors_and_replaces_an_open_index(folder: Path, address: str) -> None:
    sync(folder, address)
    with wb.open(address, world.EMBEDDER) as index:
        before = index.size
        (folder / "memory" / "fresh.md").write_text("Marmalade is in the cellar.")
        summary = index_folder(folder, world.EMBEDDER, rebuild=True, options=Options(store=address))
        assert summary.embedded == 1
        with index.snapshot():
            assert index.size == before + 1


def test_another_model_is_refused_and_the_index_stays(folder: Path, address: str) -> None:
    sync(folder, address)
    with pytest.raises(InputError, match="another model"):
        sync(folder, address, ToyEmbedder({**world.AXES, "one": ("more",)}))
    assert sync(folder, address).startswith("0 new")


def test_two_processes_do_not_index_at_once(folder: Path, address: str) -> None:
    with server_location(address).alone(1), pytest.raises(StorageError, match="has been indexing"):
        sync(folder, address, wait=0.05)


def test_an_interrupted_sync_keeps_what_was_complete(folder: Path, address: str) -> None:
    class Tired(ToyEmbedder):
        def embed(self, texts: Sequence[str], role: str) -> Embedded:
            raise KeyboardInterrupt

    sync(folder, address)
    before = paths(address)
    (folder / "memory" / "fresh.md").write_text("Marmalade is in the cellar.")
    with pytest.raises(KeyboardInterrupt):
        sync(folder, address, Tired(world.AXES))
    assert paths(address) == before
    assert sync(folder, address).startswith("1 new")


@pytest.mark.parametrize("vectors", ["exact", "hnsw", "engine"])
def test_a_server_finds_what_the_scan_finds(folder: Path, postgres: str, milvus: str, vectors: str) -> None:
    there = (
        fresh_name(milvus, vectors=vectors)
        if vectors == "engine"
        else fresh_schema(postgres, vectors=vectors)
    )
    sync(folder, there)
    here = there.replace(f"&vectors={vectors}", "")
    with wb.open(there, world.EMBEDDER) as served, wb.open(here, world.EMBEDDER) as scanned:
        vector = served.embed("rooibos tea")
        ours, theirs = scanned.vector(vector, 3), served.vector(vector, 3)
        assert [c.id for c in served.chunks(theirs.rows)] == [c.id for c in scanned.chunks(ours.rows)]
        assert np.allclose(theirs.raw, ours.raw, atol=1e-6)


def test_known_vectors_come_from_the_index_file_of_the_folder(folder: Path, address: str) -> None:
    index_folder(folder, world.EMBEDDER)
    summary = index_folder(folder, world.EMBEDDER, options=Options(store=address))
    assert summary.embedded == 0
    assert summary.from_cache == summary.chunks > 0


def test_the_name_of_an_index_has_no_password() -> None:
    address = parse(f"postgresql://me:{SECRET}@db.example:5433/notes?sslmode=require")
    assert address.name == "postgresql://me@db.example:5433/notes?schema=workbench"
    other = parse_milvus(f"milvus+tls://me:{SECRET}@db.example/notes")
    assert other.name == "milvus+tls://db.example:19530/notes"
    assert SECRET not in repr((address, other))


@pytest.mark.filterwarnings("ignore:The password stands in the address")
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
        (lambda _: f"milvus://me:{SECRET}@127.0.0.1:1/notes", "No Milvus server answers"),
        (lambda _: "milvus:///nowhere/file.txt", "must end in .db"),
        (lambda _: f"milvus://me:{SECRET}@host:port/notes", "cannot be read"),
        (lambda _: f"milvus://host/notes?password={SECRET}", "cannot be used"),
        (lambda _: "milvus://host/no-such-name!", "cannot be used"),
    ],
)
def test_a_fault_is_one_clear_error_without_secrets(
    folder: Path, postgres: str, change: Callable[[str], str], message: str
) -> None:
    with pytest.raises(WorkbenchError, match=message) as caught:
        sync(folder, change(postgres))
    assert SECRET not in str(caught.value)
    assert caught.value.remedy


# PostgreSQL


def test_what_was_stored_before_a_lost_connection_stays_and_the_next_sync_completes(
    folder: Path, in_postgres: str, postgres: str
) -> None:
    class Cutting(ToyEmbedder):
        def embed(self, texts: Sequence[str], role: str) -> Embedded:
            with psycopg.connect(parse(postgres).conninfo, autocommit=True) as other:
                other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name = 'workbench' AND pid <> pg_backend_pid()"
                )
            return super().embed(texts, role)

    sync(folder, in_postgres)
    (folder / "memory" / "fresh.md").write_text("Marmalade is in the cellar.")
    before = paths(in_postgres)
    with pytest.raises(StorageError, match=r"connection to .* was lost"):
        sync(folder, in_postgres, Cutting(world.AXES))
    assert paths(in_postgres) == before
    assert sync(folder, in_postgres).startswith("1 new")


def test_an_interrupted_first_index_keeps_its_vectors(folder: Path, in_postgres: str) -> None:
    place = server_location(in_postgres)
    vector = np.array([1, 0, 0], np.float32)
    with pytest.raises(KeyboardInterrupt), place.rebuilding(SETTINGS) as store:
        _remember_and_stop(store, {"h": Cached(vector, 1.0)})
    assert not place.exists()
    with place.rebuilding(SETTINGS) as store:
        assert "h" in store.cached(SETTINGS, "passage", ["h"])


def _remember_and_stop(store: IndexStore, found: dict[str, Cached]) -> None:
    store.remember(SETTINGS, "passage", found)
    raise KeyboardInterrupt


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


def test_a_query_that_postgresql_cannot_read_leaves_it_usable(folder: Path, in_postgres: str) -> None:
    sync(folder, in_postgres)
    with server_location(f"{in_postgres}&rank=ts_rank").open() as store, store.reading():
        with pytest.raises(InputError, match="cannot read the query"):
            store.keyword(Query(expression="& |"), 5)
        assert not store.keyword(words("before\0after"), 5).rows.size
        hits = store.keyword(words("rooibos"), 5)
        assert (hits.rows.size, hits.number) == (2, "ts_rank")


# Milvus


def test_a_file_that_is_closed_serves_the_next_process(folder: Path, tmp_path: Path) -> None:
    address = f"milvus://{tmp_path}/own.db"
    sync(folder, address)
    asked = (
        "import sys; from workbench.memory.addresses import server_location\n"
        "with server_location(sys.argv[1]).open() as store: print(len(store.stamps()))"
    )
    for _ in range(2):
        ended = subprocess.run([sys.executable, "-c", asked, address], capture_output=True, text=True)
        assert ended.stdout == f"{len(list(folder.rglob('*.md')))}\n", ended.stderr
        assert len(paths(address)) == int(ended.stdout)
    with server_location(address).open(), server_location(address).open() as store:
        assert store.stamps()


def test_a_change_is_seen_as_a_whole_or_not_at_all(folder: Path, in_milvus: str) -> None:
    place = server_location(in_milvus)
    with place.rebuilding(SETTINGS) as store:
        put(store, "memory/tea.md", "A cup of rooibos tea.")
    with place.open() as reader, place.open() as writer, reader.reading():
        put(writer, "memory/tea.md", "Only coffee now.")
        assert reader.keyword(words("rooibos"), 5).rows.size == 1
        assert writer.keyword(words("rooibos"), 5).rows.size == 0
        assert writer.keyword(words("coffee"), 5).rows.size == 1


def test_what_a_dead_process_has_left_is_never_visible_and_is_removed(folder: Path, in_milvus: str) -> None:
    sync(folder, in_milvus)
    before = paths(in_milvus)
    with server_location(in_milvus).open() as store:
        assert isinstance(store, MilvusStore)
        store._pinned, store._depth = store.state | {"generation": str(store.generation + 1)}, 1
        put(store, "memory/half.md", "Half a cup of tea.")
        store.delete("memory/tea.md")  # and the process dies here
    assert paths(in_milvus) == before
    assert sync(folder, in_milvus).startswith("0 new, 0 changed, 0 deleted")
    with server_location(in_milvus).open() as store:
        assert isinstance(store, MilvusStore)
        assert store.rows(store.collection("chunks"), f"added > {store.generation}", ["id"]) == []
        assert store.keyword(words("rooibos"), 5).rows.size


@pytest.mark.parametrize(
    ("code", "reason", "message"),
    [
        (8, "request is rejected by grpc RateLimiter: rate limit exceeded", "takes no more requests"),
        (9, "deny to write, reason: memory quota exceeded", "has no room: .*memory quota exceeded"),
        (800, "database not found[database=shelf]", "no such database"),
        (1400, "privilege not authenticated", "refuses this user"),
        (5, "the coordinator of memory_password_b1 has lost its mind", "refused a request"),
    ],
)
def test_what_a_server_refuses_is_one_clear_error_without_secrets(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: int, reason: str, message: str
) -> None:
    monkeypatch.setattr(milvus_connection, "SECONDS", 0.5)  # the client asks a busy server again for so long
    with refusing(code, reason) as server:
        address = f"milvus://me:{SECRET}@127.0.0.1:{server.port}/notes?db=shelf"
        with pytest.raises(WorkbenchError, match=message) as caught:
            sync(folder, address)
    assert SECRET not in str(caught.value)
    assert caught.value.remedy


def test_a_server_gets_the_token_and_the_database(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILVUS_TOKEN", f"key-{SECRET}")
    with refusing(800, "database not found") as server:
        for user, token in (("", f"key-{SECRET}"), (f"me:{SECRET}@", f"me:{SECRET}")):
            with pytest.raises(InputError):
                sync(folder, f"milvus://{user}127.0.0.1:{server.port}/notes?db=shelf")
            last = server.metadata[-1]
            assert base64.b64decode(last["authorization"]).decode() == token
            assert last["dbname"] == "shelf"

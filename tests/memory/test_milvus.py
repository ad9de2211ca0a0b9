"""An index in Milvus follows a folder, hides what is not complete, and has one clear error for each fault."""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from tests import world
from tests.contracts.store_contract import SETTINGS, put, words
from tests.milvus import fresh_name, refusing
from workbench.errors import InputError, StorageError, WorkbenchError
from workbench.memory.embedding.local import Embedded, ToyEmbedder
from workbench.memory.store.milvus import session
from workbench.memory.store.milvus.address import parse
from workbench.memory.store.places import server_place
from workbench.memory.sync import index_folder
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import search

SECRET = "hunter2"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "cache"))
    return world.write(tmp_path / "memory_of_wren")


@pytest.fixture
def address(milvus: str) -> str:
    return fresh_name(milvus)


def sync(folder: Path, address: str, embedder: ToyEmbedder = world.EMBEDDER, **options: object) -> str:
    return str(index_folder(folder, embedder, store=address, **options)).partition(";")[0]  # type: ignore[arg-type]


def paths(address: str) -> set[str]:
    with server_place(address).open() as store:
        return set(store.stamps())


def test_a_folder_is_followed_searched_and_rebuilt(folder: Path, address: str) -> None:
    count = len(list(folder.rglob("*.md")))
    assert sync(folder, address).startswith(f"{count} new")
    odd = 'Marmalade is in the cellar. \0 " == \\ \u202e ' + "long " * 8_000
    (folder / "memory" / 'odd "name" ==.md').write_text(odd)
    assert sync(folder, address).startswith("1 new, 0 changed, 0 deleted")
    with wb.open(address, world.EMBEDDER) as index:
        trace = search("marmalade cellar", wb.system("openclaw-2026.2.13"), index)
        assert 'memory/odd "name" ==.md' in {one.path for one in trace.chunks}
        assert trace.legs["keyword"].number == "milvus bm25"
        assert explain(trace, index, 'memory/odd "name" ==.md').verdicts
        [found] = [one.text for one in index.documents() or () if "odd" in one.path]
        assert found == odd
    (folder / "memory" / 'odd "name" ==.md').unlink()
    assert sync(folder, address).startswith("0 new, 0 changed, 1 deleted")
    assert index_folder(folder, world.EMBEDDER, store=address, rebuild=True).embedded == 0
    assert len(paths(address)) == count


def test_a_file_that_is_closed_serves_the_next_process(folder: Path, tmp_path: Path) -> None:
    address = f"milvus://{tmp_path}/own.db"
    sync(folder, address)
    asked = (
        "import sys; from workbench.memory.store.places import server_place\n"
        "with server_place(sys.argv[1]).open() as store: print(len(store.stamps()))"
    )
    for _ in range(2):
        ended = subprocess.run([sys.executable, "-c", asked, address], capture_output=True, text=True)
        assert ended.stdout == f"{len(list(folder.rglob('*.md')))}\n", ended.stderr
        assert len(paths(address)) == int(ended.stdout)
    with server_place(address).open(), server_place(address).open() as store:
        assert store.stamps()


def test_a_change_is_seen_as_a_whole_or_not_at_all(folder: Path, address: str) -> None:
    place = server_place(address)
    with place.rebuilding(SETTINGS) as store:
        put(store, "memory/tea.md", "A cup of rooibos tea.")
    with place.open() as reader, place.open() as writer, reader.reading():
        put(writer, "memory/tea.md", "Only coffee now.")
        assert reader.keyword(words("rooibos"), 5).rows.size == 1
        assert writer.keyword(words("rooibos"), 5).rows.size == 0
        assert writer.keyword(words("coffee"), 5).rows.size == 1


def test_what_a_dead_process_has_left_is_never_visible_and_is_removed(folder: Path, address: str) -> None:
    sync(folder, address)
    before = paths(address)
    with server_place(address).open() as store:
        store._pinned, store._depth = (
            store.state.changed(generation=store.generation + 1),
            1,
        )
        put(store, "memory/half.md", "Half a cup of tea.")
        store.delete("memory/tea.md")  # and the process dies here
    assert paths(address) == before
    assert sync(folder, address).startswith("0 new, 0 changed, 0 deleted")
    with server_place(address).open() as store:
        assert store.rows(store.collection("chunks"), f"added > {store.generation}", ["id"]) == []
        assert store.keyword(words("rooibos"), 5).rows.size


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


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (f"milvus://me:{SECRET}@127.0.0.1:1/notes", "No Milvus server answers"),
        ("milvus:///nowhere/file.txt", "must end in .db"),
        (f"milvus://me:{SECRET}@host:port/notes", "cannot be read"),
        (f"milvus://host/notes?password={SECRET}", "cannot be used"),
        ("milvus://host/no-such-name!", "cannot be used"),
    ],
)
def test_a_fault_is_one_clear_error_without_secrets(folder: Path, address: str, message: str) -> None:
    with pytest.raises(WorkbenchError, match=message) as caught:
        sync(folder, address)
    assert SECRET not in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("code", "reason", "message"),
    [
        (
            8,
            "request is rejected by grpc RateLimiter: rate limit exceeded",
            "takes no more requests",
        ),
        (9, "deny to write, reason: memory quota exceeded", "has no room: .*memory quota exceeded"),
        (800, "database not found[database=shelf]", "no such database"),
        (1400, "privilege not authenticated", "refuses this user"),
        (5, "the coordinator of memory_password_b1 has lost its mind", "refused a request"),
    ],
)
def test_what_a_server_refuses_is_one_clear_error_without_secrets(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: int, reason: str, message: str
) -> None:
    monkeypatch.setattr(session, "SECONDS", 0.5)  # the client asks a busy server again for so long
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


def test_the_name_of_an_index_has_no_password() -> None:
    address = parse(f"milvus+tls://me:{SECRET}@db.example/notes")
    assert address.name == "milvus+tls://db.example:19530/notes"
    assert SECRET not in repr(address)


def test_another_model_is_refused_and_the_index_stays(folder: Path, address: str) -> None:
    sync(folder, address)
    with pytest.raises(InputError, match="another model"):
        sync(folder, address, ToyEmbedder({**world.AXES, "one": ("more",)}))
    assert sync(folder, address).startswith("0 new")


def test_two_processes_do_not_index_at_once(folder: Path, address: str) -> None:
    with server_place(address).alone(1), pytest.raises(StorageError, match="has been indexing"):
        sync(folder, address, wait=0.05)


def test_milvus_finds_the_vectors_that_the_scan_finds(folder: Path, milvus: str) -> None:
    engine = fresh_name(milvus, vectors="engine")
    sync(folder, engine)
    with wb.open(engine, world.EMBEDDER) as served, wb.open(engine[:-15], world.EMBEDDER) as scanned:
        vector = served.embed("rooibos tea")
        ours, theirs = scanned.vector(vector, 3), served.vector(vector, 3)
        assert [c.id for c in served.chunks(theirs.rows)] == [c.id for c in scanned.chunks(ours.rows)]
        assert np.allclose(theirs.raw, ours.raw, atol=1e-6)

"""The doctor on stores of six kinds: silent on a healthy one, and each planted fault found, nothing else."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import SAMPLE
from tests.lab.doctor.stores import EMBEDDER, STORES, Row, changed, qdrant, rows_of
from workbench.errors import InputError
from workbench.memory.embedding.local import Embedded, unit
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench_plugins.doctor.faults import facts, faults
from workbench_plugins.doctor.store_snapshot import StoreSnapshot, read_store, unpickled

Plant = Callable[[list[Row], Path], list[Row]]
TURN = np.linalg.qr(np.random.default_rng(5).normal(size=(384, 384)))[0].astype(np.float32)
"""A rotation: what it makes of vectors is another model's space."""


def vectors(of: Callable[[Any], Any], which: slice = slice(3, 6)) -> Plant:
    return lambda rows, _: changed(rows, which, vector=lambda row: of(row.vector))


def file(act: Callable[[Path], None]) -> Plant:
    def plant(rows: list[Row], notes: Path) -> list[Row]:
        act(notes)
        return rows

    return plant


def swapped(rows: list[Row], _: Path) -> list[Row]:
    others = [row.vector for row in rows[1:21]]
    return [replace(row, vector=one) for row, one in zip(rows, others, strict=False)] + rows[20:]


def not_a_number(vector: Any) -> Any:
    return np.where(np.arange(384) == 7, np.nan, vector)


GONE, EDITED = "memory/ghost.md", "memory/stale.md"
PLANTS: dict[str, tuple[Plant, str, int, Sequence[str]]] = {
    "healthy": (lambda rows, _: rows, "", 0, [*STORES]),
    "zero": (vectors(np.zeros_like), "zero", 3, [*STORES]),
    "NaN": (vectors(not_a_number), "NaN", 3, ["ours", "openclaw", "basic-memory", "faiss"]),
    "not of unit length": (
        vectors(lambda one: 3 * one),
        "not unit",
        3,
        [one for one in STORES if one != "chroma"],
    ),
    "shorter than unit length": (
        vectors(lambda one: 0.3 * one),
        "not unit",
        3,
        [one for one in STORES if one != "chroma"],
    ),
    "missing": (vectors(lambda _: None), "no vector", 3, ["ours", "openclaw", "basic-memory"]),
    "another length": (vectors(lambda one: one[:100]), "other length", 3, ["openclaw"]),
    "mixed": (vectors(lambda one: one @ TURN, slice(0, 20)), "mixed models", 0, [*STORES]),
    "few mixed": (vectors(lambda one: one @ TURN, slice(7, 8)), "mixed models", 1, [*STORES]),
    "another text": (swapped, "other text", 0, [*STORES]),
    "a ghost": (file(lambda notes: (notes / GONE).unlink()), "ghosts", 1, [*STORES]),
    "not indexed": (file(lambda _: None), "not indexed", 1, [*STORES]),
    "stale": (file(lambda notes: (notes / EDITED).write_text("Other words.\n")), "stale", 1, [*STORES]),
    "copies": (lambda rows, _: rows + [rows[4]] * 4, "copies", 5, ["qdrant", "chroma", "faiss"]),
    "no keywords": (
        lambda rows, _: changed(rows, slice(3, 6), words=""),
        "no full text",
        3,
        ["ours", "openclaw", "basic-memory"],
    ),
    "other keywords": (
        lambda rows, _: changed(rows, slice(3, 6), words="quite other words"),
        "full text differs",
        3,
        ["ours", "openclaw"],
    ),
}
"""What is planted, the kind of the one finding, its count (0: any), and the stores that can have it."""


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return rows_of(SAMPLE)[:40]


@pytest.mark.parametrize(
    ("fault", "store"), [(fault, store) for fault, (*_, some) in PLANTS.items() for store in some]
)
def test_a_planted_fault_is_the_only_finding(fault: str, store: str, rows: list[Row], tmp_path: Path) -> None:
    build, module = STORES[store]
    if find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    notes, place = tmp_path / "notes", tmp_path / "store"
    place.mkdir()
    texts = {row.path: row.text for row in rows} | {
        GONE: "# Ghost\nA ghost.\n",
        EDITED: "# Tea\nGreen tea.\n",
    }
    for path, text in texts.items():
        (notes / path).parent.mkdir(parents=True, exist_ok=True)
        (notes / path).write_text(text, encoding="utf-8")
    plant, kind, count, _ = PLANTS[fault]
    every = rows_of(notes)
    put = plant(every, notes) if fault not in ("a ghost", "stale", "not indexed") else every
    made = build(put, notes, place)
    plant(every, notes)
    if fault == "not indexed":
        (notes / "memory" / "new.md").write_text("# New\nNot there yet.\n", encoding="utf-8")
    before = {one: one.read_bytes() for one in place.rglob("*") if one.is_file()}
    found = faults(read_store(made), EMBEDDER, notes)
    assert [one.kind for one in found] == ([kind] if kind else []), [*map(str, found)]
    assert {one: one.read_bytes() for one in place.rglob("*") if one.is_file()} == before
    for one in found:
        assert count in (0, one.count)
        assert one.example
        assert one.repair


def test_a_collection_that_compares_by_cosine_scales_its_vectors_itself(
    rows: list[Row], tmp_path: Path
) -> None:
    pytest.importorskip("qdrant_client")
    long = changed(rows, slice(None), vector=lambda row: 3 * row.vector)
    assert faults(read_store(qdrant(long, SAMPLE, tmp_path, "Cosine")), EMBEDDER) == []


class Prefixed:
    """A model of the e5 family whose vectors depend on the prefix; it adds none of its own."""

    name, revision, dimensions = "intfloat/e5-small-v2", "1", 384

    def embed(self, texts: Sequence[str], role: str) -> Embedded:
        turned = [text.startswith(("passage: ", "query: ")) for text in texts]
        plain = [text.removeprefix("passage: ").removeprefix("query: ") for text in texts]
        made = EMBEDDER.embed(plain, "passage").vectors
        both = [one @ TURN if turn else one for one, turn in zip(made, turned, strict=True)]
        return Embedded(unit(np.array(both)), np.ones(len(texts)))


@pytest.mark.parametrize(
    ("prefix", "kinds"), [("", ["query prefix", "passage prefix"]), ("passage: ", ["query prefix"])]
)
def test_a_missing_prefix_is_named(prefix: str, kinds: list[str], rows: list[Row]) -> None:
    made = Prefixed().embed([prefix + row.text for row in rows], "passage").vectors
    given = [[str(at) for at in range(len(rows))], [row.path for row in rows], [row.text for row in rows]]
    found = faults(StoreSnapshot("a store", "mine", "again", *given, [*made]), Prefixed())
    expected = kinds if not prefix else [*kinds, "other model"]
    assert [one.kind for one in found][:1] == expected[:1]


def test_a_pickle_runs_nothing(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "run",))

    unpickled(pickle.dumps({"a": Evil(), "b": [1]}))
    assert not (tmp_path / "run").exists()


def test_what_is_no_store_is_one_sentence(tmp_path: Path) -> None:
    for name, content in (("a.sqlite", b"no database, but a text of some length"), ("b.faiss", b"IwFl0000")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError):
            read_store(tmp_path / name if name.endswith("sqlite") else tmp_path)


def test_a_file_that_indexing_refuses_gets_the_repair_that_indexing_names(tmp_path: Path) -> None:
    notes, index = tmp_path / "notes", tmp_path / "index.sqlite"
    (notes / "memory").mkdir(parents=True)
    (notes / "memory/tea.md").write_text("Tea is at nine.\n", encoding="utf-8")
    index_folder(notes, options=Options(index_path=index))
    (notes / "memory/late.md").write_text("Tea is at ten.\n", encoding="utf-8")
    (notes / "memory/latin.md").write_bytes("Café at nine.\n".encode("latin-1"))
    late, latin = faults(replace(read_store(index), folder=notes))
    assert (late.kind, late.which, late.repair) == (
        "not indexed",
        ("memory/late.md",),
        f"workbench index FOLDER --index {index}",
    )
    assert (latin.kind, latin.which) == ("not indexed", ("memory/latin.md",))
    assert " && iconv -f WINDOWS-1252 -t UTF-8 " in latin.repair


def test_what_the_model_has_not_read_is_a_fact_and_no_fault() -> None:
    held = StoreSnapshot(
        "x", "mine", "again", ["a"], ["a.md"], ["tea"], [np.ones(1, np.float32)], shares=[0.4]
    )
    assert faults(held) == []
    assert "40% of a chunk" in facts(held)[0]

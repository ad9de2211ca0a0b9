"""Stores of six kinds with the same chunks, written by their own packages where these are installed."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from tests.openclaw_store import FORMS, OpenClaw
from workbench.memory.embedding.local import PACKAGED_MODEL, Embedded, LocalEmbedder, Truncated
from workbench.memory.files import content_hash
from workbench.memory.options import Options
from workbench.memory.store.sqlite.database import connect_existing
from workbench.memory.sync import index_folder


class Remembering:
    """The packaged model; each text is embedded once in all tests."""

    def __init__(self) -> None:
        self._model = LocalEmbedder(reading=Truncated())
        self.name, self.revision, self.dimensions = PACKAGED_MODEL, self._model.revision, 384
        self.known: dict[str, Any] = {}

    def embed(self, texts: Sequence[str], role: Any) -> Embedded:
        fresh = [one for one in dict.fromkeys(texts) if one not in self.known]
        self.known |= zip(fresh, self._model.embed(fresh, role).vectors, strict=True)
        return Embedded(np.array([self.known[one] for one in texts]), np.ones(len(texts)))


EMBEDDER = Remembering()


@dataclass(frozen=True)
class Row:
    """A chunk as a store gets it; its keyword row has `words`, or its text."""

    path: str
    text: str
    vector: Any
    words: str | None = None


def rows_of(folder: Path) -> list[Row]:
    """One chunk for each note of a folder."""
    files = sorted(folder.rglob("*.md"))
    texts = [one.read_text(encoding="utf-8")[:400] for one in files]
    vectors = EMBEDDER.embed(texts, "passage").vectors
    return [
        Row(file.relative_to(folder).as_posix(), text, vector)
        for file, text, vector in zip(files, texts, vectors, strict=True)
    ]


def ours(rows: Sequence[Row], notes: Path, place: Path) -> Path:
    """Our index of the notes, and then the rows put into its tables."""
    file = place / "index.sqlite"
    index_folder(notes, EMBEDDER, options=Options(index_path=file))
    db = connect_existing(file)
    known = dict(
        db.execute("SELECT path, chunks.id FROM chunks JOIN documents ON documents.id = document_id")
    )
    for row in rows:
        number = known.get(row.path)
        if number is None or row.vector is None:
            db.execute("DELETE FROM chunks_vec WHERE chunk_id = ?", (number,))
        else:
            blob = np.asarray(row.vector, np.float32).tobytes()
            db.execute("UPDATE chunks_vec SET embedding = ? WHERE chunk_id = ?", (blob, number))
        if row.words is not None:
            (was,) = db.execute("SELECT text FROM chunks WHERE id = ?", (number,)).fetchone()
            db.execute(
                "INSERT INTO chunks_fts (chunks_fts, rowid, text) VALUES ('delete', ?, ?)", (number, was)
            )
            if row.words:
                db.execute("INSERT INTO chunks_fts (rowid, text) VALUES (?, ?)", (number, row.words))
    db.close()
    return file


def openclaw(rows: Sequence[Row], notes: Path, place: Path) -> Path:
    """OpenClaw's file of 2026.2, filled by hand."""
    store = OpenClaw(place / "main.sqlite", FORMS["2026.2"], PACKAGED_MODEL).create({})
    with store.opened() as db, db:
        for at, row in enumerate(rows):
            db.execute(
                "INSERT OR REPLACE INTO files VALUES (?, 'memory', ?, 0, 0)",
                (row.path, content_hash(row.text)),
            )
            vector = json.dumps([] if row.vector is None else np.asarray(row.vector, float).tolist())
            db.execute(
                "INSERT INTO chunks VALUES (?, ?, 'memory', 1, 1, '', ?, ?, ?, 0)",
                (f"c{at}", row.path, PACKAGED_MODEL, row.text, vector),
            )
            if row.words != "":
                db.execute(
                    "INSERT INTO chunks_fts (text, id) VALUES (?, ?)", (row.words or row.text, f"c{at}")
                )
    return store.file


BASIC_MEMORY = """
    CREATE TABLE project (id INTEGER PRIMARY KEY, path TEXT);
    CREATE TABLE entity (id INTEGER PRIMARY KEY, project_id INTEGER, file_path TEXT, checksum TEXT);
    CREATE VIRTUAL TABLE search_index USING fts5 (id UNINDEXED, title, file_path UNINDEXED, type UNINDEXED);
    CREATE TABLE search_vector_chunks (
        id INTEGER PRIMARY KEY AUTOINCREMENT, entity_id INTEGER NOT NULL, project_id INTEGER NOT NULL,
        chunk_key TEXT NOT NULL, chunk_text TEXT NOT NULL, source_hash TEXT NOT NULL,
        entity_fingerprint TEXT NOT NULL, embedding_model TEXT NOT NULL
    );
    CREATE VIRTUAL TABLE search_vector_embeddings USING vec0 (embedding float[384]);
"""


def basic_memory(rows: Sequence[Row], notes: Path, place: Path) -> Path:
    """Basic Memory's file, as releases from 0.19 on lay it out."""
    file = place / "memory.db"
    apsw.Connection(str(file)).execute("CREATE TABLE begun (x)")
    db = connect_existing(file)
    db.execute(BASIC_MEMORY)
    db.execute("INSERT INTO project VALUES (1, ?)", (str(notes),))
    db.execute("BEGIN")
    for at, row in enumerate(rows, 1):
        db.execute("INSERT INTO entity VALUES (?, 1, ?, ?)", (at, row.path, content_hash(row.text)))
        db.execute(
            "INSERT INTO search_vector_chunks VALUES (?, ?, 1, 'k', ?, '', '', ?)",
            (at, at, row.text, f"fastembed:{PACKAGED_MODEL}"),
        )
        if row.words != "":
            db.execute("INSERT INTO search_index VALUES (?, ?, ?, 'entity')", (at, row.path, row.path))
        if row.vector is not None:
            blob = np.asarray(row.vector, np.float32).tobytes()
            db.execute("INSERT INTO search_vector_embeddings (rowid, embedding) VALUES (?, ?)", (at, blob))
    db.execute("COMMIT")
    db.close()
    return file


def qdrant(rows: Sequence[Row], notes: Path, place: Path, distance: str = "Dot") -> Path:
    """A folder of Qdrant's local mode, with payloads as LangChain and as mem0 write them."""
    from qdrant_client import QdrantClient
    from qdrant_client.models import PointStruct, VectorParams

    client = QdrantClient(path=str(place / "qdrant"))
    client.create_collection("notes", VectorParams.model_validate({"size": 384, "distance": distance}))
    points = [
        PointStruct(
            id=str(uuid.UUID(int=at)),
            vector=np.asarray(row.vector, float).tolist(),
            payload=(
                {"data": row.text, "source": row.path}
                if at % 2
                else {"page_content": row.text, "metadata": {"source": row.path}}
            ),
        )
        for at, row in enumerate(rows)
    ]
    client.upsert("notes", points)
    client.close()
    return place / "qdrant"


def chroma(rows: Sequence[Row], notes: Path, place: Path) -> Path:
    """A folder of Chroma; with few rows between two writes of its HNSW files, vectors lie in both places."""
    import chromadb

    client = chromadb.PersistentClient(str(place / "chroma"))
    settings = {"hnsw": {"space": "cosine", "sync_threshold": 20, "batch_size": 10}}
    collection = client.create_collection("notes", configuration=settings, embedding_function=None)
    for begin in range(0, len(rows), 5_000):  # it takes no more at once
        some = rows[begin : begin + 5_000]
        collection.add(
            ids=[f"c{at}" for at in range(begin, begin + len(some))],
            embeddings=[np.asarray(row.vector, np.float32) for row in some],
            documents=[row.text for row in some],
            metadatas=[{"source": row.path} for row in some],
        )
    return place / "chroma"


def faiss(rows: Sequence[Row], notes: Path, place: Path) -> Path:
    """A folder of FAISS as LangChain saves it."""
    from langchain_community.vectorstores import FAISS
    from langchain_core.embeddings import FakeEmbeddings

    store = FAISS.from_embeddings(
        [(row.text, np.asarray(row.vector, float).tolist()) for row in rows],
        FakeEmbeddings(size=384),
        metadatas=[{"source": row.path} for row in rows],
    )
    store.save_local(str(place / "faiss"))
    return place / "faiss"


Build = Callable[[Sequence[Row], Path, Path], Path]
STORES: dict[str, tuple[Build, str]] = {
    "ours": (ours, "workbench"),
    "openclaw": (openclaw, "workbench"),
    "basic-memory": (basic_memory, "workbench"),
    "qdrant": (qdrant, "qdrant_client"),
    "chroma": (chroma, "chromadb"),
    "faiss": (faiss, "langchain_community"),
}
"""How each kind of store is made, and the module that this needs."""


def changed(rows: Sequence[Row], which: slice, **to: Any) -> list[Row]:
    """The rows, some of them with other values; a function gets the row."""
    made = list(rows)
    for at in range(*which.indices(len(made))):
        given = {name: one(made[at]) if callable(one) else one for name, one in to.items()}
        made[at] = replace(made[at], **given)
    return made

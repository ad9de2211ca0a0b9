"""Everything that is kept in SQLite, and all the SQL that is said to it.

One file: documents, chunks, FTS5 (external content), sqlite-vec, the embedding cache, and meta. The
adapter is apsw, whose SQLite is current, has FTS5 and loads extensions.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import numpy as np
import sqlite_vec
from numpy.typing import NDArray

from workbench.memory import schema
from workbench.memory.chunking import chunk_id
from workbench.records import Chunk, Document, Hits, InputError, Passage, Rows, Vector

LARGEST_KNN = 4096
"""vec0 answers no more neighbours than this."""

KEYWORD_SQL = """
    SELECT rowid, bm25(chunks_fts) AS raw FROM chunks_fts
    WHERE chunks_fts MATCH ? ORDER BY raw LIMIT ?
"""
# `ORDER BY rank` sorts every match inside FTS5 and takes twice as long as sorting bm25() outside.

KEYWORD_TIES_SQL = """
    SELECT found.rowid, found.raw
    FROM (SELECT rowid, bm25(chunks_fts) AS raw FROM chunks_fts WHERE chunks_fts MATCH ?) AS found
    JOIN chunks ON chunks.id = found.rowid
    WHERE found.raw <= ? ORDER BY found.raw, chunks.key LIMIT ?
"""

KNN_SQL = "SELECT chunk_id, distance FROM chunks_vec WHERE embedding MATCH ? AND k = ?"

CHUNKS_SQL = """
    SELECT chunks.id, chunks.key, path, source, start_line, end_line, chunks.text, read_share
    FROM chunks JOIN documents ON documents.id = document_id
    WHERE chunks.id IN (SELECT value FROM json_each(?))
"""


@dataclass(frozen=True)
class Settings:
    """What an index was made with; when one of these differs, its vectors or chunks are other ones."""

    model: str
    revision: str
    dimensions: int
    chunker: str


class Stamp(NamedTuple):
    """How a file looked when it was last indexed."""

    hash: str
    size: int
    mtime_ns: int


class Cached(NamedTuple):
    """A vector from the embedding cache, and the share of its text that the model has read."""

    vector: Vector
    read_share: float


class Store:
    """An open index file. Close it, or use it in a `with` statement."""

    def __init__(self, path: Path, db: apsw.Connection) -> None:
        self.path = path
        self.db = db

    @classmethod
    def create(cls, path: Path, settings: Settings) -> Store:
        """A new, empty index at `path`. Raises InputError when the place cannot be written."""
        db = _connect(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        store = cls(path, db)
        db.pragma("journal_mode", "wal")
        with store.writing():
            store.reset(settings)
        return store

    @classmethod
    def open(cls, path: Path, any_version: bool = False) -> Store:
        """The index at `path`. Raises InputError when there is none, or it is not one of this version."""
        if not path.is_file():
            raise InputError(f"There is no index at {path}.", "Make one: workbench index FOLDER")
        store = cls(path, _connect_existing(path))
        try:
            store._check_ours()
            if not any_version:
                store._check_version()
        except InputError:
            store.close()
            raise
        return store

    def _check_ours(self) -> None:
        try:
            ours = self.db.pragma("application_id") == schema.APPLICATION_ID
        except (apsw.NotADBError, apsw.CorruptError):
            ours = False
        if not ours:
            raise InputError(
                f"{self.path} is not a workbench index.",
                "Choose another file with --index, or move this one away.",
            )

    def _check_version(self) -> None:
        if self.version != len(schema.STEPS):
            raise InputError(
                f"The index {self.path} has schema version {self.version}; this workbench reads "
                f"version {len(schema.STEPS)}.",
                "Make it anew: workbench index FOLDER --rebuild",
            )

    @property
    def version(self) -> int:
        """How many schema steps this file has taken."""
        return int(self.db.pragma("user_version"))

    @property
    def writable(self) -> bool:
        return not self.db.readonly("main")

    def close(self) -> None:
        self.db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # meta

    @property
    def settings(self) -> Settings:
        """What this index was made with."""
        return Settings(**json.loads(self._meta("settings")))

    @property
    def generation(self) -> int:
        """A number that grows with every change."""
        return int(self._meta("generation"))

    def _meta(self, key: str) -> str:
        return str(self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).get)

    def _set_meta(self, key: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    # writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, all of it or nothing; within another it is a part of that."""
        if self.db.in_transaction:
            yield
            return
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def reset(self, settings: Settings) -> None:
        """Forgets everything but the embedding cache, and starts again with these settings.

        A file of another schema version forgets its cache too. Within `writing`, readers see the old
        index until the end.
        """
        keep = ("embedding_cache",) if self.version == len(schema.STEPS) else ()
        schema.drop_all(self.db, keep)
        schema.create(self.db, settings.dimensions)
        self._set_meta("settings", json.dumps(asdict(settings)))
        self._set_meta("generation", str(time.time_ns()))

    def stamps(self) -> dict[str, Stamp]:
        """Every indexed file's stamp, by path."""
        rows = self.db.execute("SELECT path, hash, size, mtime_ns FROM documents")
        return {path: Stamp(*stamp) for path, *stamp in rows}

    def replace(self, document: Document, passages: Sequence[Passage], cached: Sequence[Cached]) -> None:
        """The document stored with exactly these passages and vectors, in one transaction.

        Two passages with the same lines and text, as a very long repetitive line gives, are one chunk.
        """
        with self.writing():
            self._delete(document.path)
            document_id = self.db.execute(
                "INSERT INTO documents (path, source, text, hash, size, mtime_ns) "
                "VALUES (:path, :source, :text, :hash, :size, :mtime_ns) RETURNING id",
                asdict(document),
            ).get
            for passage, (vector, read_share) in zip(passages, cached, strict=True):
                self._insert_chunk(document_id, document, passage, vector, read_share)
            self._advance()

    def _insert_chunk(
        self, document_id: int, document: Document, passage: Passage, vector: Vector, read_share: float
    ) -> None:
        lines = passage.start_line, passage.end_line
        key = chunk_id(document.source, document.path, *lines, passage.hash, self._model)
        row = self.db.execute(
            "INSERT INTO chunks (key, document_id, start_line, end_line, hash, text, read_share) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING RETURNING id",
            (key, document_id, *lines, passage.hash, passage.text, read_share),
        ).get
        if row is not None:
            self.db.execute("INSERT INTO chunks_fts (rowid, text) VALUES (?, ?)", (row, passage.text))
            self.db.execute("INSERT INTO chunks_vec VALUES (?, ?)", (row, vector.tobytes()))

    @property
    def _model(self) -> str:
        return self.settings.model

    def delete(self, path: str) -> None:
        """Forgets a file, in one transaction."""
        with self.writing():
            self._delete(path)
            self._advance()

    def _delete(self, path: str) -> None:
        rows = self.db.execute(
            "SELECT id, text FROM chunks WHERE document_id = (SELECT id FROM documents WHERE path = ?)",
            (path,),
        ).fetchall()
        self.db.executemany("INSERT INTO chunks_fts (chunks_fts, rowid, text) VALUES ('delete', ?, ?)", rows)
        ids = [(row,) for row, _ in rows]
        self.db.executemany("DELETE FROM chunks_vec WHERE chunk_id = ?", ids)
        self.db.executemany("DELETE FROM chunks WHERE id = ?", ids)
        self.db.execute("DELETE FROM documents WHERE path = ?", (path,))

    def _advance(self) -> None:
        self._set_meta("generation", str(self.generation + 1))

    def restamp(self, path: str, size: int, mtime_ns: int) -> None:
        """Notes that a file with the same content has another size or time on disk."""
        self.db.execute("UPDATE documents SET size = ?, mtime_ns = ? WHERE path = ?", (size, mtime_ns, path))

    # the embedding cache

    def cached(self, settings: Settings, role: str, hashes: Iterable[str]) -> dict[str, Cached]:
        """The vectors that are known for these text hashes, under the model and revision of `settings`."""
        rows = self.db.execute(
            "SELECT hash, vector, read_share FROM embedding_cache WHERE model = ? AND revision = ? "
            "AND role = ? AND hash IN (SELECT value FROM json_each(?))",
            (settings.model, settings.revision, role, json.dumps(list(hashes))),
        )
        return {hash_: Cached(np.frombuffer(blob, np.float32), share) for hash_, blob, share in rows}

    def remember(self, settings: Settings, role: str, found: Mapping[str, Cached]) -> None:
        """Keeps vectors by model, revision, role, and the hash of their exact text."""
        with self.writing():
            self.db.executemany(
                "INSERT OR REPLACE INTO embedding_cache VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (settings.model, settings.revision, role, hash_, one.vector.tobytes(), one.read_share)
                    for hash_, one in found.items()
                ],
            )

    # reading

    @property
    def size(self) -> int:
        """How many chunks there are."""
        return int(self.db.execute("SELECT count(*) FROM chunks").get)

    @property
    def read_share(self) -> float:
        """The mean share of a chunk that the model has read, 0 to 1; 1 for an index without chunks."""
        return float(self.db.execute("SELECT ifnull(avg(read_share), 1) FROM chunks").get)

    def keyword(self, match: str, limit: int) -> Hits:
        """The chunks that a MATCH expression finds, by (bm25, chunk id), with FTS5's negative bm25."""
        found = self.db.execute(KEYWORD_SQL, (match, limit + 1)).fetchall()
        if len(found) > limit and found[limit][1] == found[limit - 1][1]:
            found = self.db.execute(KEYWORD_TIES_SQL, (match, found[limit][1], limit)).fetchall()
        rows = np.array([row for row, _ in found[:limit]], np.int64)
        raw = np.array([number for _, number in found[:limit]], float)
        return self.by_id(rows, raw)

    def by_id(self, rows: Rows, raw: NDArray[np.float64]) -> Hits:
        """These hits with equal numbers ordered by chunk id."""
        if np.unique(raw).size < raw.size:
            keys = np.array([chunk.id for chunk in self.chunks(rows)], np.str_)
            order = np.lexsort((keys, raw))
        else:
            order = np.argsort(raw, kind="stable")
        return Hits(rows[order], raw[order])

    def nearest(self, query: Vector, limit: int) -> Hits:
        """The nearest chunks by sqlite-vec's own search, with cosine distances.

        Raises InputError for a limit above 4,096, which vec0 cannot answer.
        """
        if limit > LARGEST_KNN:
            raise InputError(f"vec0 answers at most {LARGEST_KNN} neighbours, not {limit}.", "Ask for fewer.")
        found = self.db.execute(KNN_SQL, (query.tobytes(), limit)).fetchall()
        return self.by_id(
            np.array([row for row, _ in found], np.int64),
            np.array([1.0 if far is None else far for _, far in found], float),
        )

    def matrix(self) -> tuple[Rows, NDArray[np.float32]]:
        """All rows and their unit vectors, in row order: shapes (n,) and (n, dimensions)."""
        found = self.db.execute("SELECT chunk_id, embedding FROM chunks_vec ORDER BY chunk_id").fetchall()
        blobs: list[Any] = [blob for _, blob in found]
        vectors = np.frombuffer(b"".join(blobs), np.float32).reshape(-1, self.settings.dimensions)
        return np.array([row for row, _ in found], np.int64), vectors

    def keys(self) -> list[str]:
        """All chunk ids, in row order."""
        return [key for (key,) in self.db.execute("SELECT key FROM chunks ORDER BY id")]

    def documents(self) -> list[Document]:
        """All indexed documents, by path."""
        rows = self.db.execute("SELECT path, source, text, hash, size, mtime_ns FROM documents ORDER BY path")
        return [Document(*row) for row in rows]

    def chunks(self, rows: Rows) -> list[Chunk]:
        """The chunks of these rows, in their order."""
        found = self.db.execute(CHUNKS_SQL, (json.dumps(rows.tolist()),))
        by_row = {row: Chunk(*fields) for row, *fields in found}
        return [by_row[row] for row in rows.tolist()]

    def rows_of(self, path: str) -> Rows:
        """The rows of a file's chunks, in the file's order."""
        found = self.db.execute(
            "SELECT chunks.id FROM chunks JOIN documents ON documents.id = document_id "
            "WHERE path = ? ORDER BY chunks.id",
            (path,),
        )
        return np.array([row for (row,) in found], np.int64)

    def integrity(self) -> list[str]:
        """What SQLite's and FTS5's integrity checks complain of: nothing, in a sound index."""
        problems = [row for (row,) in self.db.execute("PRAGMA integrity_check") if row != "ok"]
        if not self.writable:
            return problems  # FTS5's own check is an INSERT
        try:
            self.db.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('integrity-check', 1)")
        except apsw.CorruptError as error:
            problems.append(f"full-text index: {error}")
        return problems


def _connect_existing(path: Path) -> apsw.Connection:
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return _connect(path, apsw.SQLITE_OPEN_READWRITE)
    # In a folder that cannot be written, SQLite reads a WAL database only as one that nobody changes.
    frozen = f"{path.resolve().as_uri()}?immutable=1"
    return _connect(path, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI, frozen)


def _connect(path: Path, flags: int, name: str | None = None) -> apsw.Connection:
    try:
        db = apsw.Connection(name or str(path), flags=flags)
        db.set_busy_timeout(10_000)
        db.enable_load_extension(True)
        db.load_extension(sqlite_vec.loadable_path())
        db.enable_load_extension(False)
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError) as error:
        raise InputError(
            f"The index {path} cannot be opened: {error}.", "Choose another place with --index FILE."
        ) from None
    return db


def libraries() -> Mapping[str, Any]:
    """The versions of SQLite and sqlite-vec that the index runs on."""
    db = _connect(Path(":memory:"), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    return {"sqlite": apsw.sqlite_lib_version(), "sqlite-vec": db.execute("SELECT vec_version()").get}

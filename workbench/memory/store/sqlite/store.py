"""Everything that is kept in SQLite, and all the SQL that is said to it.

One file: documents, chunks, FTS5 (external content), sqlite-vec, the embedding cache, and meta.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError, WorkbenchError
from workbench.memory.chunking import chunk_id
from workbench.memory.store.errors import UnwritableError
from workbench.memory.store.sqlite import schema
from workbench.memory.store.sqlite.database import (
    Database,
    Identity,
    connect_new,
    identity,
    plain_errors,
)
from workbench.memory.store.sqlite.match import match_expression
from workbench.records import Chunk, Document, Hits, Passage, Query, Rows, Vector

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
    """How a file looked when it was last indexed, and where it came from."""

    hash: str
    size: int
    mtime_ns: int
    source: str = "memory"

    @property
    def look(self) -> tuple[int, int]:
        """What can be seen without reading the file: its size and time."""
        return self.size, self.mtime_ns


class Cached(NamedTuple):
    """A vector from the embedding cache, and the share of its text that the model has read."""

    vector: Vector
    read_share: float


STORED = attrgetter("path", "source", "hash", "size", "mtime_ns", "text")
"""What is kept of a document, column by column."""


class Store(Database):
    """An open index file, for one thread at a time. Close it, or use it in a `with` statement."""

    def __init__(self, path: Path, db: apsw.Connection, seen: Identity | None = None) -> None:
        super().__init__(path, db, seen)
        self._put_off: dict[tuple[Settings, str], dict[str, Cached]] | None = None

    @classmethod
    def create(cls, path: Path, settings: Settings) -> Store:
        """A new, empty index at `path`. Raises InputError when the place cannot be written."""
        store = cls(path, connect_new(path), identity(path))
        try:
            with store.writing():
                store.reset(settings)
        except WorkbenchError:
            store.close()
            raise
        return store

    def check(self, any_version: bool) -> None:
        self._check_ours()
        if not any_version:
            self._check_version()

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

    @property
    def of_this_version(self) -> bool:
        return self.version == len(schema.STEPS)

    def _check_version(self) -> None:
        if not self.of_this_version:
            raise InputError(
                f"The index {self.path} has schema version {self.version}; this workbench reads "
                f"version {len(schema.STEPS)}.",
                "Make it anew: workbench index FOLDER --rebuild",
            )

    # meta

    @property
    def settings(self) -> Settings:
        """What this index was made with."""
        return Settings(**json.loads(self._meta("settings")))

    @property
    def generation(self) -> int:
        """A number that grows with every change."""
        return int(self._meta("generation"))

    @property
    def extra_paths(self) -> tuple[str, ...]:
        """The files and folders beside the memory that are indexed with it, as they were given."""
        return tuple(json.loads(self._meta("extra_paths", "[]")))

    @extra_paths.setter
    def extra_paths(self, paths: Sequence[str]) -> None:
        if tuple(paths) != self.extra_paths:
            with self.writing():
                self._set_meta("extra_paths", json.dumps(list(paths)))

    def _meta(self, key: str, absent: str = "") -> str:
        found = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
        return absent if found is None else str(found)

    def _set_meta(self, key: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    # writing

    def reset(self, settings: Settings) -> None:
        """Forgets everything but the embedding cache, and starts again with these settings.

        A file of another schema version forgets its cache too. Within `writing`, readers see the old
        index until the end.
        """
        keep = ("embedding_cache",) if self.of_this_version else ()
        schema.drop_all(self.db, keep)
        schema.create(self.db, settings.dimensions)
        self._set_meta("settings", json.dumps(asdict(settings)))
        self._set_meta("generation", str(time.time_ns()))
        self._set_meta("extra_paths", "[]")

    def stamps(self) -> dict[str, Stamp]:
        """Every indexed file's stamp, by path."""
        rows = self.db.execute("SELECT path, hash, size, mtime_ns, source FROM documents")
        return {path: Stamp(*stamp) for path, *stamp in rows}

    def replace(self, document: Document, passages: Sequence[Passage], cached: Sequence[Cached]) -> None:
        """The document stored with exactly these passages and vectors, in one transaction.

        Two passages with the same lines and text, as a very long repetitive line gives, are one chunk.
        """
        with self.writing():
            self._delete(document.path)
            model = self.settings.model
            document_id = self.db.execute(
                "INSERT INTO documents (path, source, hash, size, mtime_ns, text) "
                "VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
                STORED(document),
            ).get
            for passage, (vector, read_share) in zip(passages, cached, strict=True):
                lines = passage.start_line, passage.end_line
                key = chunk_id(document.source, document.path, *lines, passage.hash, model)
                self._insert_chunk(key, document_id, passage, vector, read_share)
            self._advance()

    def _insert_chunk(
        self, key: str, document_id: int, passage: Passage, vector: Vector, read_share: float
    ) -> None:
        lines = passage.start_line, passage.end_line
        row = self.db.execute(
            "INSERT INTO chunks (key, document_id, start_line, end_line, hash, text, read_share) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING RETURNING id",
            (key, document_id, *lines, passage.hash, passage.text, read_share),
        ).get
        if row is not None:
            self.db.execute("INSERT INTO chunks_fts (rowid, text) VALUES (?, ?)", (row, passage.text))
            self.db.execute("INSERT INTO chunks_vec VALUES (?, ?)", (row, vector.tobytes()))

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

    def restamp(self, looks: Mapping[str, tuple[int, int]]) -> None:
        """Notes that these files, their content unchanged, have another size or time on disk."""
        rows = [(size, mtime_ns, path) for path, (size, mtime_ns) in looks.items()]
        with self.writing():
            self.db.executemany("UPDATE documents SET size = ?, mtime_ns = ? WHERE path = ?", rows)

    # the embedding cache

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One state of the index for all that is asked within, whatever others write meanwhile.

        What is to be remembered within is written at the end, where that can be done: a question that has
        been answered does not fail for want of room in the cache.
        """
        if self.db.in_transaction:
            yield
            return
        self._put_off = {}
        try:
            with super().reading():
                yield
            found = self._put_off
        finally:
            self._put_off = None
        if self.writable:
            with suppress(UnwritableError):
                for (settings, role), vectors in found.items():
                    self.remember(settings, role, vectors)

    def cached(self, settings: Settings, role: str, hashes: Iterable[str]) -> dict[str, Cached]:
        """The vectors that are known for these text hashes, under the model and revision of `settings`."""
        wanted = list(hashes)
        rows = self.db.execute(
            "SELECT hash, vector, read_share FROM embedding_cache WHERE model = ? AND revision = ? "
            "AND role = ? AND hash IN (SELECT value FROM json_each(?))",
            (settings.model, settings.revision, role, json.dumps(wanted)),
        )
        put_off = (self._put_off or {}).get((settings, role), {})
        found = {hash_: Cached(np.frombuffer(blob, np.float32), share) for hash_, blob, share in rows}
        return found | {hash_: put_off[hash_] for hash_ in wanted if hash_ in put_off}

    def remember(self, settings: Settings, role: str, found: Mapping[str, Cached]) -> None:
        """Keeps vectors by model, revision, role, and the hash of their exact text."""
        if self._put_off is not None:
            self._put_off.setdefault((settings, role), {}).update(found)
            return
        with self.writing():
            self.db.executemany(
                "INSERT OR REPLACE INTO embedding_cache VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (settings.model, settings.revision, role, hash_, one.vector.tobytes(), one.read_share)
                    for hash_, one in found.items()
                ],
            )

    def take_cache(self, file: Path) -> None:
        """Everything that another index file has in its embedding cache, unless it has another schema."""
        with plain_errors(file):
            self.db.execute("ATTACH ? AS other", (str(file),))
            try:
                if self.db.execute("PRAGMA other.user_version").get == self.version:
                    with self.writing():
                        self.db.execute(
                            "INSERT OR IGNORE INTO embedding_cache SELECT * FROM other.embedding_cache"
                        )
            finally:
                self.db.execute("DETACH other")

    # reading

    @property
    def size(self) -> int:
        """How many chunks there are."""
        return int(self.db.execute("SELECT count(*) FROM chunks").get)

    @property
    def read_share(self) -> float:
        """The mean share of a chunk that the model has read, 0 to 1; 1 for an index without chunks."""
        return float(self.db.execute("SELECT ifnull(avg(read_share), 1) FROM chunks").get)

    def keyword(self, query: Query, limit: int) -> Hits:
        """The chunks that match a query, by (bm25, chunk id), with FTS5's negative bm25."""
        match = match_expression(query)
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

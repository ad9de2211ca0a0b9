"""The SQLite store of an index, with all SQL that is run against it.

One file holds documents, chunks, FTS5 (external content), sqlite-vec, the embedding cache and meta.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError, WorkbenchError
from workbench.memory.chunking import chunk_id
from workbench.memory.store.contract import IndexStore
from workbench.memory.store.sqlite import schema
from workbench.memory.store.sqlite.database import connect_new, identity
from workbench.memory.store.sqlite.embedding_cache import EmbeddingCache
from workbench.memory.store.sqlite.match import match_expression
from workbench.memory.store.sqlite.meta import check_dimensions
from workbench.memory.store.sqlite.postings import SQLitePostings
from workbench.memory.store.sqlite.soundness import check_tables, typed
from workbench.memory.store.values import Cached, Settings, Stamp
from workbench.records import Chunk, Document, Hits, Passage, Query, Rows, Vector

LARGEST_KNN = 4096
"""The most neighbours that vec0 returns."""

KEYWORD_SQL = """
    SELECT rowid, bm25(chunks_fts) AS raw FROM chunks_fts
    WHERE chunks_fts MATCH ? ORDER BY raw LIMIT ?
"""
# `ORDER BY rank` sorts every match inside FTS5 and takes twice as long as sorting bm25() outside.

KEYWORD_TIES_SQL = """
    SELECT found.rowid, found.raw
    FROM (SELECT rowid, bm25(chunks_fts) AS raw FROM chunks_fts WHERE chunks_fts MATCH ?) AS found
    JOIN chunks ON chunks.id = found.rowid
    WHERE found.raw <= ? ORDER BY found.raw, {tie} LIMIT ?
"""

KNN_SQL = "SELECT chunk_id, distance FROM chunks_vec WHERE embedding MATCH ? AND k = ?"

CHUNKS_SQL = """
    SELECT chunks.id, chunks.key, path, source, start_line, end_line, chunks.text, read_share
    FROM chunks JOIN documents ON documents.id = document_id
    WHERE chunks.id IN (SELECT value FROM json_each(?))
"""


STORED = attrgetter("path", "source", "hash", "size", "mtime_ns", "text")
"""The stored fields of a document, in the order of their columns."""
STAMP = (str, str, int, int, str)
DOCUMENT = (str, str, str, str, int, int)
CHUNK = (int, str, str, str, int, int, str, float)
"""The types of the values that a query for each gives."""


class Store(EmbeddingCache, IndexStore):
    """An open index file, for one thread at a time. Close it, or use it in a `with` statement."""

    engine = "sqlite"

    @classmethod
    def create(cls, path: Path, settings: Settings) -> Store:
        """A new, empty index at `path`.

        Raises InputError for vectors that are too long, and StorageError when the place cannot be written.
        """
        check_dimensions(settings)
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
        if self.of_this_version:
            check_tables(self.path, self.db, self.settings.dimensions)

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
                "Build it again: workbench index FOLDER --rebuild",
            )

    # writing

    def reset(self, settings: Settings) -> None:
        """Empties the index except for its vectors, and starts again with these settings.

        The vectors are in the embedding cache then. A file of another schema version loses them. Inside
        `writing`, readers see the old index until the end.
        """
        keep = ("embedding_cache",) if self.of_this_version else ()
        if keep:
            self.cache_chunks()
        schema.drop_all(self.db, keep)
        schema.create(self.db, settings.dimensions)
        self.set_meta("settings", json.dumps(asdict(settings)))
        self.set_meta("generation", str(time.time_ns()))

    def stamps(self) -> dict[str, Stamp]:
        """Every indexed file's stamp, by path."""
        rows = self.db.execute("SELECT path, hash, size, mtime_ns, source FROM documents")
        return {path: Stamp(*stamp) for path, *stamp in typed(rows, STAMP, self.damaged)}

    def replace(self, document: Document, passages: Sequence[Passage], cached: Sequence[Cached]) -> None:
        """Stores the document with exactly these passages and vectors, in one transaction.

        Two passages with the same lines and text are one chunk; a very long repetitive line has such.
        """
        with self.writing():
            self._delete(document.path)
            self.db.execute(
                "INSERT INTO documents (path, source, hash, size, mtime_ns, text) VALUES (?, ?, ?, ?, ?, ?)",
                STORED(document),
            )
            document_id = self.db.last_insert_rowid()
            model, stored = self.settings.model, []
            for passage, one in zip(passages, cached, strict=True):
                lines = passage.start_line, passage.end_line
                key = chunk_id(document.source, document.path, *lines, passage.hash, model)
                row = self._insert_chunk(key, document_id, passage, one.read_share)
                if row is not None:
                    stored.append((row, passage.text, one.vector.tobytes()))
            self.db.executemany("INSERT INTO chunks_vec VALUES (?, ?)", [(row, v) for row, _, v in stored])
            self.db.executemany(
                "INSERT INTO chunks_fts (rowid, text) VALUES (?, ?)", [(row, text) for row, text, _ in stored]
            )
            self.drop_stored([passage.hash for passage in passages])
            self._advance()

    def _insert_chunk(self, key: str, document_id: int, passage: Passage, read_share: float) -> int | None:
        # Without RETURNING: SQLite opens a savepoint for that, and FTS5 writes its terms at each savepoint.
        self.db.execute(
            "INSERT INTO chunks (key, document_id, start_line, end_line, hash, text, read_share) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
            (key, document_id, passage.start_line, passage.end_line, passage.hash, passage.text, read_share),
        )
        return self.db.last_insert_rowid() if self.db.changes() else None

    def delete(self, path: str) -> None:
        """Removes a file from the index, in one transaction."""
        with self.writing():
            self._delete(path)
            self._advance()

    def _delete(self, path: str) -> None:
        rows = self.db.execute(
            "SELECT id, text, hash FROM chunks WHERE document_id = (SELECT id FROM documents WHERE path = ?)",
            (path,),
        ).fetchall()
        if not rows:
            self.db.execute("DELETE FROM documents WHERE path = ?", (path,))
            return
        self.cache_chunks(path)
        self._removed.update(str(hash_) for _, _, hash_ in rows)
        self.db.executemany(
            "INSERT INTO chunks_fts (chunks_fts, rowid, text) VALUES ('delete', ?, ?)",
            [(row, text) for row, text, _ in rows],
        )
        ids = [(row,) for row, _, _ in rows]
        self.db.executemany("DELETE FROM chunks_vec WHERE chunk_id = ?", ids)
        self.db.executemany("DELETE FROM chunks WHERE id = ?", ids)
        self.db.execute("DELETE FROM documents WHERE path = ?", (path,))

    def _advance(self) -> None:
        given = str(self.generation + 1)
        self.db.execute("UPDATE meta SET value = ? WHERE key = 'generation'", (given,))

    def restamp(self, looks: Mapping[str, tuple[int, int]]) -> None:
        """Records a new size or time on disk for files whose content is unchanged."""
        rows = [(size, mtime_ns, path) for path, (size, mtime_ns) in looks.items()]
        with self.writing():
            self.db.executemany("UPDATE documents SET size = ?, mtime_ns = ? WHERE path = ?", rows)

    # reading

    @property
    def size(self) -> int:
        """The number of chunks."""
        return int(self.db.execute("SELECT count(*) FROM chunks").get)

    @property
    def read_share(self) -> float:
        """The mean share of a chunk that the model has read, 0 to 1; 1 for an index without chunks."""
        return float(self.db.execute("SELECT ifnull(avg(read_share), 1) FROM chunks").get)

    @property
    def name(self) -> str:
        """The path of the index file."""
        return str(self.path)

    @property
    def busy(self) -> bool:
        return bool(self.db.in_transaction)

    def reopened(self) -> Store:
        return Store.open(self.path)

    def compiled(self, query: Query) -> str:
        """The MATCH expression of a query."""
        return match_expression(query)

    def keyword(self, query: Query, limit: int) -> Hits:
        """The chunks that match a query, by (bm25, chunk id), with FTS5's negative bm25."""
        match = self.compiled(query)
        found = self.db.execute(KEYWORD_SQL, (match, limit + 1)).fetchall()
        if len(found) > limit and found[limit][1] == found[limit - 1][1]:
            sql = KEYWORD_TIES_SQL.format(tie="chunks.id" if self.ties_by_row else "chunks.key")
            found = self.db.execute(sql, (match, found[limit][1], limit)).fetchall()
        rows = np.array([row for row, _ in found[:limit]], np.int64)
        raw = np.array([number for _, number in found[:limit]], float)
        return self.by_id(rows, raw)

    def postings(self) -> SQLitePostings:
        """FTS5's postings of the chunks."""
        return SQLitePostings(self.db, "chunks_fts")

    def by_id(self, rows: Rows, raw: NDArray[np.float64]) -> Hits:
        """The hits by (number, chunk id), or by (number, row) as `ties_by_row` says."""
        if np.unique(raw).size < raw.size:
            by_row = self.ties_by_row
            keys = rows if by_row else np.array([chunk.id for chunk in self.chunks(rows)], np.str_)
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
        joined = np.frombuffer(b"".join(blobs), np.float32)
        # A copy lies in NumPy's own memory, which a large product reads in 60 % of the time.
        vectors = joined.reshape(-1, self.settings.dimensions).copy()
        if not np.isfinite(vectors).all():
            raise self.damaged("a vector has a number that is not finite")
        if len(found) != self.size:
            raise self.damaged(f"it has {self.size} chunks and {len(found)} vectors")
        return np.array([row for row, _ in found], np.int64), vectors

    def keys(self) -> list[str]:
        """What equal hits are ordered by, in row order: the chunk ids, or with `ties_by_row` the rows."""
        key = "printf('%020d', id)" if self.ties_by_row else "key"
        return [key for (key,) in self.db.execute(f"SELECT {key} FROM chunks ORDER BY id")]

    def documents(self) -> list[Document]:
        """All indexed documents, by path."""
        rows = self.db.execute("SELECT path, source, text, hash, size, mtime_ns FROM documents ORDER BY path")
        return [Document(*row) for row in typed(rows, DOCUMENT, self.damaged)]

    def chunks(self, rows: Rows) -> list[Chunk]:
        """The chunks of these rows, in their order."""
        found = self.db.execute(CHUNKS_SQL, (json.dumps(rows.tolist()),))
        sound = typed(found, CHUNK, self.damaged)
        by_row = {row: Chunk(*fields) for row, *fields in sound}
        if len(by_row) < len(set(rows.tolist())):
            raise self.damaged("a chunk belongs to no document")
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
        """The problems that SQLite's and FTS5's integrity checks find; none in a sound index."""
        problems = [row for (row,) in self.db.execute("PRAGMA integrity_check") if row != "ok"]
        if not self.writable:
            return problems  # FTS5's own check is an INSERT
        try:
            self.db.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('integrity-check', 1)")
        except apsw.CorruptError as error:
            problems.append(f"full-text index: {error}")
        return problems

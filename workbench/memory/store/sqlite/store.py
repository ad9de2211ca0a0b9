"""The SQLite store of an index, with the SQL that is run against it.

One file holds documents, chunks, FTS5 (external content), sqlite-vec, the embedding cache and meta. A chunk's
vector is stored once, with the chunk. The embedding cache holds the others: of questions, of texts that are
embedded and not stored yet, of chunks that were indexed without, and of other models and other cuts of the
same documents.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError, WorkbenchError
from workbench.memory.choices import is_default_path
from workbench.memory.store.contract import (
    Cached,
    IndexStore,
    OtherVersionError,
    Settings,
    Stamp,
    damaged,
    hits_of,
    in_order,
    keyed,
    rebuild_command,
    settings_in,
    stopped_after,
    unknown_row,
)
from workbench.memory.store.scan import exact_hits
from workbench.memory.store.sqlite import database
from workbench.memory.store.sqlite.database import check_dimensions, identity, plain_errors, typed
from workbench.memory.store.sqlite.fts5 import SQLitePostings, match_expression
from workbench.memory.store.sqlite.word_listing import update_lists
from workbench.memory.store.sqlite.word_lists import WordLists, are_listed
from workbench.records import Chunk, Document, Hits, Passage, Query, Rows, Vector

LARGEST_KNN = 4096
"""The most neighbours that vec0 returns."""
SPARE = 16
"""How many more neighbours vec0 is asked for, so that the last ones are clearly farther than those wanted."""
LEAST_FOR_VEC0 = 300
"""Chunks. In a smaller index, reading all vectors takes as long: measured at 100 to 100,000."""
VEC0_ROUNDING = 1e-4
"""More than vec0 loses in a cosine distance, which it computes in float32."""
NEAREST_SQL = "SELECT chunk_id, distance FROM chunks_vec WHERE embedding MATCH ? AND k = ? ORDER BY distance"
VECTORS_SQL = """
    SELECT chunk_id, embedding FROM chunks_vec WHERE chunk_id IN (SELECT value FROM json_each(?))
"""

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

CHUNKS_SQL = """
    SELECT chunks.id, chunks.key, path, source, start_line, end_line, chunks.text, read_share
    FROM chunks JOIN documents {places} ON documents.id = document_id
    WHERE chunks.id IN (SELECT value FROM json_each(?))
"""
IS_KNOWN = """
    SELECT EXISTS (SELECT 1 FROM chunks WHERE id = :row)
    OR EXISTS (SELECT 1 FROM chunks_vec WHERE chunk_id = :row)
    OR EXISTS (SELECT 1 FROM chunks_fts_docsize WHERE id = :row)
"""
"""Whether any table has a row: one that an index has found itself is in one of them."""


STORED = attrgetter("path", "source", "hash", "size", "mtime_ns", "text")
PLACED = attrgetter("start_line", "end_line", "hash", "text")
"""The stored fields of a document and of a passage, in the order of their columns."""
INSERT_CHUNK = """
    INSERT INTO chunks (key, document_id, start_line, end_line, hash, text, read_share)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""
STAMP = (str, str, int, int, str)
DOCUMENT = (str, str, str, str, int, int)
CHUNK = (int, str, str, str, int, int, str, float)
"""The types of the values that a query for each gives."""

CACHED = """
    SELECT hash, vector, read_share FROM embedding_cache WHERE model = ? AND revision = ? AND role = ?
    AND hash IN (SELECT value FROM json_each(?))
    AND typeof(vector) = 'blob' AND length(vector) = ? AND typeof(read_share) = 'real'
"""
OF_CHUNKS = """
    SELECT chunks.hash, stored.embedding, chunks.read_share
    FROM chunks JOIN chunks_vec AS stored ON stored.chunk_id = chunks.id
    WHERE chunks.id IN (
        SELECT min(id) FROM chunks WHERE hash IN (SELECT value FROM json_each(?))
        AND id IN (SELECT rowid FROM chunks_vec_rowids) GROUP BY hash
    ) AND typeof(chunks.hash) = 'text' AND typeof(chunks.read_share) = 'real'
"""
CACHE_CHUNKS = """
    INSERT OR IGNORE INTO main.embedding_cache
    SELECT ?, ?, 'passage', chunks.hash, stored.embedding, chunks.read_share
    FROM {source}.documents AS documents
    CROSS JOIN {source}.chunks AS chunks ON chunks.document_id = documents.id
    CROSS JOIN {source}.chunks_vec AS stored ON stored.chunk_id = chunks.id
    WHERE {which}
"""
UNCHANGED = "documents.hash IN (SELECT hash FROM main.documents)"
NOT_HERE = "chunks.hash NOT IN (SELECT hash FROM main.chunks)"
TAKE_CACHE = "INSERT OR IGNORE INTO main.embedding_cache SELECT * FROM other.embedding_cache"
DROP_STORED = """
    DELETE FROM embedding_cache WHERE model = ? AND revision = ? AND role = 'passage'
    AND hash IN (SELECT value FROM json_each(?))
    AND EXISTS (
        SELECT 1 FROM main.chunks JOIN main.chunks_vec_rowids AS stored ON stored.rowid = chunks.id
        WHERE chunks.hash = embedding_cache.hash
    )
"""
NEXT_MODEL = """
    SELECT model, revision FROM embedding_cache WHERE (model, revision) > (?, ?)
    ORDER BY model, revision LIMIT 1
"""
FORGET = """
    DELETE FROM embedding_cache WHERE model = ? AND revision = ? AND role = 'passage'
    AND hash IN ({texts})
    AND NOT EXISTS (SELECT 1 FROM main.chunks WHERE chunks.hash = embedding_cache.hash)
"""
# With model and revision named, a text is found by the cache's key and not by reading every vector.
GONE_SINCE = """
    SELECT chunks.hash FROM other.chunks AS chunks
    JOIN other.documents AS documents ON documents.id = chunks.document_id
    WHERE documents.hash NOT IN (SELECT hash FROM main.documents)
"""


class Store(IndexStore):
    """An open index file, for one thread at a time. Close it, or use it in a `with` statement."""

    def __init__(self, path: Path, db: apsw.Connection) -> None:
        self.path = path
        self.db = db
        self._seen = identity(path)
        self._reading = False
        self._removed: set[str] = set()

    @classmethod
    def create(cls, path: Path, settings: Settings) -> Store:
        """A new, empty index at `path`.

        Raises InputError for vectors that are too long, and StorageError when the path cannot be written.
        """
        check_dimensions(settings)
        store = cls(path, database.connect_new(path))
        try:
            with store.writing():
                database.create(store.db, settings.dimensions)
                store.set_meta("settings", json.dumps(asdict(settings)))
                store.set_meta("generation", str(time.time_ns()))
        except WorkbenchError:
            store.close()
            raise
        return store

    @classmethod
    def open(cls, path: Path) -> Store:
        """The index at `path`.

        Raises InputError when there is none, or a file of another kind or version, and DamagedError for a
        file with other contents than the workbench writes.
        """
        while True:
            seen = identity(path)
            if seen is None:
                raise InputError(f"There is no index at {path}.", "Make one: workbench index FOLDER")
            store = cls(path, database.connect_existing(path))
            try:
                with plain_errors(path):
                    store._check()
                    database.spare_the_disk(store.db)
            except WorkbenchError:
                store.close()
                if identity(path) == seen:
                    raise
            else:
                if identity(path) == seen:
                    return store
                store.close()  # replaced between the look and the first read: its -wal may be gone

    def _check(self) -> None:
        try:
            ours, problem = (
                self.db.pragma("application_id") == database.APPLICATION_ID,
                "it is not marked as an index",
            )
        except (apsw.NotADBError, apsw.CorruptError) as error:
            ours, problem = False, f"SQLite cannot read it: {error}"
        if not ours and (is_default_path(self.path) or database.is_marked(self.path)):
            raise damaged(self.path, problem)
        if not ours:
            raise InputError(
                f"{self.path} is not a workbench index.",
                "Choose another file with --index, or move this one away.",
            )
        version = self.db.pragma("user_version")
        if version not in (database.VERSION, database.WITHOUT_CHECKSUMS):
            raise OtherVersionError(
                f"The index {self.path} has schema version {version}; this workbench reads versions "
                f"{database.WITHOUT_CHECKSUMS} and {database.VERSION}.",
                f"Build it again: {rebuild_command(self.path)}",
            )
        if database.has_lost_checksums(self.db):
            raise damaged(self.path, "its pages have lost their checksums")
        settings = self.settings
        check_dimensions(settings)
        database.check_tables(self.path, self.db, settings.dimensions)

    # The state

    @property
    def name(self) -> str:
        """The path of the index file."""
        return str(self.path)

    def meta(self, key: str) -> str:
        found = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
        return "" if found is None else str(found)

    def set_meta(self, key: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    # Connections and transactions

    def close(self) -> None:
        self.db.close()

    @property
    def writable(self) -> bool:
        return not self.db.readonly("main")

    @property
    def _busy(self) -> bool:
        return bool(self.db.in_transaction)

    def latest(self) -> Store:
        """Another one if the path leads to another file now; always for a file that cannot be written."""
        rebuilt = identity(self.path) not in (self._seen, None)
        outlived = rebuilt or not self.writable
        return self.reopened() if outlived and not self._busy else self

    def reopened(self) -> Store:
        return Store.open(self.path)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, all of it or nothing; within another it is a part of that.

        Raises StorageError, and nothing is changed, when there is no room or the file cannot be written.
        """
        if self._reading:
            raise RuntimeError("What is written while one state is read would be lost.")
        if self._busy:
            yield
            return
        with plain_errors(self.path):
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.db.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One state of the index for all reads inside the block, whatever other processes write meanwhile."""
        if self._busy:
            yield
            return
        with plain_errors(self.path):
            self.db.execute("BEGIN")
            self._reading = True
            try:
                self.db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()  # this fixes the state
                yield
            finally:
                self._reading = False
                self._roll_back()

    def _roll_back(self) -> None:
        if self._busy:  # what a full disk has stopped, SQLite itself has rolled back
            self.db.execute("ROLLBACK")

    def time_limit(self, seconds: float) -> AbstractContextManager[None]:
        return stopped_after(seconds, lambda: self.db.interrupt(), apsw.InterruptError)

    def settle(self) -> None:
        """Everything written is on the disk, in the file itself."""
        with plain_errors(self.path):
            self.db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def stamps(self) -> dict[str, Stamp]:
        """Every indexed file's stamp, by path."""
        rows = self.db.execute("SELECT path, hash, size, mtime_ns, source FROM documents")
        return {path: Stamp(*stamp) for path, *stamp in typed(rows, STAMP, partial(damaged, self.path))}

    # writing

    def replace(self, document: Document, passages: Sequence[Passage], cached: Sequence[Cached]) -> None:
        """Stores the document with exactly these passages and vectors, in one transaction.

        NO_VECTOR stores none.
        """
        with self.writing():
            self._delete(document.path)
            self.db.execute(
                "INSERT INTO documents (path, source, hash, size, mtime_ns, text) VALUES (?, ?, ?, ?, ?, ?)",
                STORED(document),
            )
            document_id = self.db.last_insert_rowid()
            stored = []
            for key, (passage, one) in keyed(self, document, passages, cached).items():
                # Without RETURNING: SQLite opens a savepoint for that, and FTS5 writes its terms at each one.
                self.db.execute(INSERT_CHUNK, (key, document_id, *PLACED(passage), one.read_share))
                stored.append((self.db.last_insert_rowid(), passage.text, one.vector.tobytes()))
            self.db.executemany("INSERT INTO chunks_vec VALUES (?, ?)", ((r, v) for r, _, v in stored if v))
            self.db.executemany(
                "INSERT INTO chunks_fts (rowid, text) VALUES (?, ?)", [(row, text) for row, text, _ in stored]
            )
            self.drop_stored([p.hash for p, one in zip(passages, cached, strict=True) if one.vector.size])
            self._advance()

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
        settings = self.settings
        of_document = CACHE_CHUNKS.format(source="main", which="documents.path = ?")
        self.db.execute(of_document, (settings.model, settings.revision, path))  # the vectors, into the cache
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
        generation = str(self.generation + 1)
        self.db.execute("UPDATE meta SET value = ? WHERE key = 'generation'", (generation,))

    def restamp(self, stamps: Mapping[str, tuple[int, int]]) -> None:
        """Records a new size or time on disk for files whose content is unchanged."""
        rows = [(size, mtime_ns, path) for path, (size, mtime_ns) in stamps.items()]
        with self.writing():
            self.db.executemany("UPDATE documents SET size = ?, mtime_ns = ? WHERE path = ?", rows)

    # reading

    @property
    def size(self) -> int:
        """The number of chunks."""
        return int(self.db.execute("SELECT count(*) FROM chunks").get)

    def compiled(self, query: Query) -> str:
        """The MATCH expression of a query."""
        return match_expression(query)

    def keyword(self, query: Query, limit: int) -> Hits:
        """The chunks that match a query, by (bm25, chunk id), with FTS5's negative bm25."""
        match = self.compiled(query)
        found = self.db.execute(KEYWORD_SQL, (match, limit + 1)).fetchall()
        if len(found) > limit and found[limit][1] == found[limit - 1][1]:
            sql = KEYWORD_TIES_SQL.format(tie="chunks.id" if self.provenance.ties_by_row else "chunks.key")
            found = self.db.execute(sql, (match, found[limit][1], limit)).fetchall()
        return in_order(self, hits_of(found[:limit]))

    def postings(self) -> SQLitePostings:
        """FTS5's postings of the chunks."""
        return SQLitePostings(self.db, "chunks_fts", lists=WordLists(self.db))

    def list_places(self) -> None:
        """Adds the SQL index of the documents' places to an older index file, if it can be written."""
        if self.writable and not database.has_places(self.db):
            with self.writing():
                self.db.execute("DROP INDEX IF EXISTS documents_places")
                self.db.execute(database.PLACES)

    def list_words(self) -> None:
        """Brings the lists of frequent words up to date, if the file can be written: FTS5 knows the same."""
        if self.writable and not are_listed(self.db):
            with self.writing():
                update_lists(self.db, self.postings())

    def matrix(self) -> tuple[Rows, NDArray[np.float32]]:
        """The rows that have a vector, and these unit vectors, in row order: (n,) and (n, dimensions)."""
        found = self.db.execute("SELECT chunk_id, embedding FROM chunks_vec ORDER BY chunk_id").fetchall()
        blobs: list[Any] = [blob for _, blob in found]
        joined = np.frombuffer(b"".join(blobs), np.float32)
        # A copy lies in NumPy's own memory, which a large product reads in 60 % of the time.
        vectors = joined.reshape(-1, self.settings.dimensions).copy()
        if not np.isfinite(vectors).all():
            raise damaged(self.path, "a vector has a number that is not finite")
        if len(found) > self.size or (len(found) < self.size and not self.provenance.vectors_later):
            raise damaged(self.path, f"it has {self.size} chunks and {len(found)} vectors")
        return np.array([row for row, _ in found], np.int64), vectors

    def nearest(self, query: Vector, limit: int, alone: bool = False) -> Hits | None:
        """With `alone`, the nearest chunks of those that vec0 proposes, if it surely proposes all of them."""
        most = limit + SPARE
        if not alone or not SPARE < most <= LARGEST_KNN or query.size != self.settings.dimensions:
            return None
        stored = self.db.execute("SELECT count(*) FROM chunks_vec_rowids").get  # which reads all of the table
        if stored < LEAST_FOR_VEC0 or not most < stored == self.size:
            return None
        proposed: list[Any] = self.db.execute(
            NEAREST_SQL, (query.astype(np.float32).tobytes(), most)
        ).fetchall()
        rows, far = [row for row, _ in proposed], [distance for _, distance in proposed]
        found: list[Any] = self.db.execute(VECTORS_SQL, (json.dumps(rows),)).fetchall()
        vectors = np.frombuffer(b"".join(blob for _, blob in found), np.float32).reshape(-1, query.size)
        hits = in_order(self, exact_hits(np.array([row for row, _ in found], np.int64), vectors, query))
        # A chunk that is not proposed is at least as far as the last one that is, up to rounding.
        if None in far or not np.isfinite(vectors).all() or far[-1] - hits.raw[limit - 1] < VEC0_ROUNDING:
            return None
        return hits.at(slice(limit))

    def keys(self) -> list[str]:
        """What equal hits are ordered by, in row order: the chunk ids, or with `ties_by_row` the rows."""
        key = "printf('%020d', id)" if self.provenance.ties_by_row else "key"
        return [key for (key,) in self.db.execute(f"SELECT {key} FROM chunks ORDER BY id")]

    def documents(self) -> list[Document]:
        """All indexed documents, by path."""
        rows = self.db.execute("SELECT path, source, text, hash, size, mtime_ns FROM documents ORDER BY path")
        return [Document(*row) for row in typed(rows, DOCUMENT, partial(damaged, self.path))]

    def chunks(self, rows: Rows) -> list[Chunk]:
        """The chunks of these rows, in their order. Raises InputError for a row that the index has not."""
        found = self.db.execute(self._chunks_sql, (json.dumps(rows.tolist()),))
        sound = typed(found, CHUNK, partial(damaged, self.path))
        by_row = {row: Chunk(*fields) for row, *fields in sound}
        missing = [row for row in rows.tolist() if row not in by_row]
        if missing and self.db.execute(IS_KNOWN, {"row": missing[0]}).get:
            raise damaged(self.path, "a chunk belongs to no document")
        if missing:
            raise unknown_row(self.name, missing[0])
        return [by_row[row] for row in rows.tolist()]

    @cached_property
    def _chunks_sql(self) -> str:
        places = "INDEXED BY documents_places" if database.has_places(self.db) else ""
        return CHUNKS_SQL.format(places=places)

    def rows_of(self, path: str) -> Rows:
        """The rows of a file's chunks, in the file's order."""
        found = self.db.execute(
            "SELECT chunks.id FROM chunks JOIN documents ON documents.id = document_id "
            "WHERE path = ? ORDER BY chunks.id",
            (path,),
        )
        return np.array([row for (row,) in found], np.int64)

    # The embedding cache

    def cached(self, settings: Settings, role: str, hashes: Iterable[str]) -> dict[str, Cached]:
        wanted = list(hashes)
        asked = settings.model, settings.revision, role, json.dumps(wanted), 4 * settings.dimensions
        with plain_errors(self.path):
            found = _vectors(self.db.execute(CACHED, asked))
            if role == "passage" and _same_vectors(settings, self.settings):
                lacking = json.dumps([one for one in wanted if one not in found])
                found |= _vectors(self.db.execute(OF_CHUNKS, (lacking,)))
        return found

    def drop_stored(self, hashes: Sequence[str]) -> None:
        """Removes the vectors of texts that are stored with their chunks, within `writing`."""
        settings = self.settings
        self.db.execute(DROP_STORED, (settings.model, settings.revision, json.dumps(hashes)))

    def remember(self, settings: Settings, role: str, found: Mapping[str, Cached]) -> None:
        with self.writing():
            self.db.executemany(
                "INSERT OR REPLACE INTO embedding_cache VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (settings.model, settings.revision, role, hash_, one.vector.tobytes(), one.read_share)
                    for hash_, one in found.items()
                ],
            )

    def take_cache(self, file: Path) -> None:
        """Adds the vectors in another index file's cache, unless the file has another schema."""
        with self._attached(file) as other:
            if other is not None:
                with self.writing():
                    self.db.execute(TAKE_CACHE)

    def take_chunks(self, file: Path, left: bool = False) -> None:
        """Adds the vectors of another index file's chunks which this index does not have, to the cache.

        With `left`, only those of documents that this index has, too.
        """
        with self._attached(file) as other:
            if other is not None:
                where = [UNCHANGED] if left else ["true"]
                if _same_vectors(other, self.settings):
                    where.append(NOT_HERE)
                sql = CACHE_CHUNKS.format(source="other", which=" AND ".join(where))
                with self.writing():
                    self.db.execute(sql, (other.model, other.revision))

    def forget_removed_texts(self) -> None:
        """Removes the vectors of passages that were removed through this object and occur nowhere else."""
        if self._removed:
            with self.writing():
                self._forget("SELECT value FROM json_each(?)", json.dumps(sorted(self._removed)))
                self.drop_stored(sorted(self._removed))
            self._removed.clear()

    def _forget(self, texts: str, *values: str) -> None:
        with self.writing():
            for model in self._cached_models():
                self.db.execute(FORGET.format(texts=texts), (*model, *values))

    def _cached_models(self) -> Iterator[tuple[str, str]]:
        """Name and revision of each model that has vectors in the cache, each from one look at the key."""
        found = self.db.execute(NEXT_MODEL, ("", "")).fetchone()
        while found is not None:
            yield found
            found = self.db.execute(NEXT_MODEL, found).fetchone()

    def forget_texts_of(self, file: Path) -> None:
        """Removes the vectors of passages that only deleted or changed documents of another file have."""
        with self._attached(file) as other:
            if other is not None:
                self._forget(GONE_SINCE)

    @contextmanager
    def _attached(self, file: Path) -> Iterator[Settings | None]:
        """Another index file as `other`, and its settings; None if it has another schema."""
        database.check_beside(file)
        with plain_errors(file):
            self.db.execute("ATTACH ? AS other", (str(file),))
            try:
                yield self._settings_of_other(file)
            finally:
                self.db.execute("DETACH other")

    def _settings_of_other(self, file: Path) -> Settings | None:
        version = self.db.execute("PRAGMA other.user_version").get
        known = version in (database.VERSION, database.WITHOUT_CHECKSUMS)
        if not (known and database.has_a_cache(self.db, "other")):
            return None
        text = self.db.execute("SELECT value FROM other.meta WHERE key = 'settings'").get
        if text is None:
            return None
        try:
            other = settings_in(str(text))
        except ValueError:
            raise damaged(file, "it does not say how it was made") from None
        check_dimensions(other)
        return other if database.has_vectors(self.db, "other", other.dimensions) else None


def _vectors(rows: Iterable[Sequence[Any]]) -> dict[str, Cached]:
    return {hash_: Cached(np.frombuffer(blob, np.float32), share) for hash_, blob, share in rows}


def _same_vectors(one: Settings, other: Settings) -> bool:
    return (one.model, one.revision, one.dimensions) == (other.model, other.revision, other.dimensions)

"""The vectors of an index file by model, revision, role and the hash of their text.

A chunk's vector is stored once, with the chunk. The table embedding_cache holds the others: of questions, of
texts that are embedded and not stored yet, and of other models and other cuts of the same documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import apsw
import numpy as np

from workbench.memory.store.errors import DamagedError
from workbench.memory.store.put_off import PutOffWrites
from workbench.memory.store.sqlite.database import Identity, plain_errors
from workbench.memory.store.sqlite.meta import DescribedDatabase, settings_in
from workbench.memory.store.sqlite.soundness import has_a_cache, has_vectors
from workbench.memory.store.values import Cached, Settings

CHUNKS_BY_HASH = "CREATE INDEX IF NOT EXISTS main.chunks_by_hash ON chunks (hash)"
# An index file that was made without it gets it when it first forgets a text.
CACHED = """
    SELECT hash, vector, read_share FROM embedding_cache WHERE model = ? AND revision = ? AND role = ?
    AND hash IN (SELECT value FROM json_each(?))
    AND typeof(vector) = 'blob' AND length(vector) = ? AND typeof(read_share) = 'real'
"""
OF_CHUNKS = """
    SELECT chunks.hash, stored.embedding, chunks.read_share
    FROM chunks JOIN chunks_vec AS stored ON stored.chunk_id = chunks.id
    WHERE chunks.id IN (
        SELECT min(id) FROM chunks WHERE hash IN (SELECT value FROM json_each(?)) GROUP BY hash
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
TAKE_CACHE = """
    INSERT OR IGNORE INTO main.embedding_cache SELECT * FROM other.embedding_cache AS cache
    WHERE NOT (cache.model = ? AND cache.revision = ? AND cache.role = 'passage'
               AND cache.hash IN (SELECT hash FROM other.chunks))
"""
DROP_STORED = """
    DELETE FROM embedding_cache WHERE model = ? AND revision = ? AND role = 'passage'
    AND hash IN (SELECT value FROM json_each(?))
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


class EmbeddingCache(DescribedDatabase, PutOffWrites):
    """A database with an embedding cache, and with chunks that have vectors."""

    def __init__(self, path: Path, db: apsw.Connection, seen: Identity | None = None) -> None:
        super().__init__(path, db, seen)
        self._removed: set[str] = set()
        self._lender: Self | None = None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One state of the index for all reads inside the block, whatever other processes write meanwhile.

        Vectors that are remembered inside are written at its end.
        """
        if self.db.in_transaction:
            yield
            return
        with self.putting_off(super().reading()):
            yield

    def cached(self, settings: Settings, role: str, hashes: Iterable[str]) -> dict[str, Cached]:
        """The known vectors of these text hashes, for the model and revision of `settings`."""
        wanted = list(hashes)
        asked = settings.model, settings.revision, role, json.dumps(wanted), 4 * settings.dimensions
        found = _vectors(self.db.execute(CACHED, asked))
        if role == "passage" and _same_vectors(settings, self.settings):
            found |= _vectors(self.db.execute(OF_CHUNKS, (_lacking(wanted, found),)))
        if self._lender is not None and len(found) < len(wanted):
            found |= self._lent(self._lender, settings, role, [one for one in wanted if one not in found])
        return found | self.waiting(settings, role, wanted)

    def _lent(self, lender: Self, settings: Settings, role: str, hashes: Iterable[str]) -> dict[str, Cached]:
        try:
            with plain_errors(lender.path):
                return lender.cached(settings, role, hashes)
        except DamagedError:  # a rebuild is the remedy for a damaged index
            self._lender = None
            return {}

    def borrow(self, lender: Self | None) -> None:
        """From now on, vectors that this index does not have are looked up in another open one."""
        self._lender = lender

    def drop_stored(self, hashes: Sequence[str]) -> None:
        """Removes the vectors of texts that are stored with their chunks, within `writing`."""
        made = self.settings
        self.db.execute(DROP_STORED, (made.model, made.revision, json.dumps(hashes)))

    def cache_chunks(self, path: str | None = None) -> None:
        """Keeps the vectors of a document's chunks, or of all chunks, in the cache; within `writing`."""
        made = self.settings
        given = () if path is None else (path,)
        sql = CACHE_CHUNKS.format(source="main", which="documents.path = ?" if given else "true")
        self.db.execute(sql, (made.model, made.revision, *given))

    def remember(self, settings: Settings, role: str, found: Mapping[str, Cached]) -> None:
        """Keeps vectors by model, revision, role, and the hash of their exact text."""
        if self.put_off(settings, role, found):
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
        """Adds the vectors in another index file's cache, unless the file has another schema."""
        with self._attached(file) as other:
            if other is not None:
                with self.writing():
                    self.db.execute(TAKE_CACHE, (other.model, other.revision))

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

    def _forget(self, texts: str, *given: str) -> None:
        with self.writing():
            self.db.execute(CHUNKS_BY_HASH)
            for model in self._cached_models():
                self.db.execute(FORGET.format(texts=texts), (*model, *given))

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
        with plain_errors(file):
            self.db.execute("ATTACH ? AS other", (str(file),))
            try:
                same_version = self.db.execute("PRAGMA other.user_version").get == self.version
                sound = same_version and has_a_cache(self.db, "other")
                text = (
                    self.db.execute("SELECT value FROM other.meta WHERE key = 'settings'").get
                    if sound
                    else None
                )
                other = None if text is None else settings_in(text, file)
                yield other if other and has_vectors(self.db, "other", other.dimensions) else None
            finally:
                self.db.execute("DETACH other")


def _vectors(rows: Iterable[Sequence[Any]]) -> dict[str, Cached]:
    return {hash_: Cached(np.frombuffer(blob, np.float32), share) for hash_, blob, share in rows}


def _lacking(wanted: Iterable[str], found: Mapping[str, Cached]) -> str:
    return json.dumps([one for one in wanted if one not in found])


def _same_vectors(one: Settings, other: Settings) -> bool:
    return (one.model, one.revision, one.dimensions) == (other.model, other.revision, other.dimensions)

"""The embedding cache of an index file: vectors by model, revision, role and the hash of their text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw
import numpy as np

from workbench.memory.store.errors import UnwritableError
from workbench.memory.store.sqlite.database import Identity, plain_errors
from workbench.memory.store.sqlite.meta import DescribedDatabase
from workbench.memory.store.sqlite.soundness import has_a_cache
from workbench.memory.store.values import Cached, Settings

CHUNKS_BY_HASH = "CREATE INDEX IF NOT EXISTS main.chunks_by_hash ON chunks (hash)"
# An index file that was made without it gets it when it first forgets a text.
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


class EmbeddingCache(DescribedDatabase):
    """A database with an embedding cache."""

    def __init__(self, path: Path, db: apsw.Connection, seen: Identity | None = None) -> None:
        super().__init__(path, db, seen)
        self._put_off: dict[tuple[Settings, str], dict[str, Cached]] | None = None
        self._removed: set[str] = set()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One state of the index for all reads inside the block, whatever other processes write meanwhile.

        Vectors that are remembered inside are written at its end, if the file can be written: a question that
        has been answered does not fail because the cache has no room.
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
        """The known vectors of these text hashes, for the model and revision of `settings`."""
        wanted = list(hashes)
        rows = self.db.execute(
            "SELECT hash, vector, read_share FROM embedding_cache WHERE model = ? AND revision = ? "
            "AND role = ? AND hash IN (SELECT value FROM json_each(?)) "
            "AND typeof(vector) = 'blob' AND length(vector) = ? AND typeof(read_share) = 'real'",
            (settings.model, settings.revision, role, json.dumps(wanted), 4 * settings.dimensions),
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
        """Adds the vectors in another index file's cache, unless the file has another schema."""
        with self._attached(file) as same_schema:
            if same_schema:
                with self.writing():
                    self.db.execute(
                        "INSERT OR IGNORE INTO embedding_cache SELECT * FROM other.embedding_cache"
                    )

    def forget_removed_texts(self) -> None:
        """Removes the vectors of passages that were removed through this object and occur nowhere else."""
        if self._removed:
            self._forget("SELECT value FROM json_each(?)", json.dumps(sorted(self._removed)))
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
        with self._attached(file) as same_schema:
            if same_schema:
                self._forget(GONE_SINCE)

    @contextmanager
    def _attached(self, file: Path) -> Iterator[bool]:
        """Another index file as `other`, and whether it has the same schema."""
        with plain_errors(file):
            self.db.execute("ATTACH ? AS other", (str(file),))
            try:
                same_version = self.db.execute("PRAGMA other.user_version").get == self.version
                yield same_version and has_a_cache(self.db, "other")
            finally:
                self.db.execute("DETACH other")

"""An index that can be searched: a store, the embedder that filled it, and its vectors in memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from workbench.memory.chunking import whole_characters
from workbench.memory.embedding import Embedder
from workbench.memory.files import content_hash
from workbench.memory.store import Cached, Store
from workbench.records import Chunk, Document, Hits, InputError, Rows, Vector


def default_index_path(root: Path) -> Path:
    """Where a memory's index is kept when nobody says otherwise: the user's cache, never the memory.

    WORKBENCH_HOME, when set, takes the place of the cache folder.
    """
    home = os.environ.get("WORKBENCH_HOME")
    if home is None:
        from platformdirs import user_cache_dir

        home = user_cache_dir("workbench")
    digest = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:12]
    return Path(home) / f"{root.resolve().name}-{digest}.sqlite"


ROUNDING = 1e-5
"""More than float32 loses in a dot product of two unit vectors."""


class MemoryIndex:
    """What a search asks: keyword and vector candidates, chunks, and the vector of a question.

    Vectors are scanned exactly, in NumPy, over a copy that is read again when the store has changed; at
    100,000 chunks that is five times faster than the same scan in vec0.
    """

    def __init__(self, store: Store, embedder: Embedder) -> None:
        self.store = store
        self.embedder = embedder
        self._seen = -1
        self._rows = np.empty(0, np.int64)
        self._by_key = np.empty(0, np.int64)
        self._vectors = np.empty((0, 0), np.float32)

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> MemoryIndex:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def size(self) -> int:
        return self.store.size

    def keyword(self, match: str, limit: int) -> Hits:
        return self.store.keyword(match, limit)

    def vector(self, query: Vector, limit: int) -> Hits:
        self._refresh()
        if query.size != self._vectors.shape[1]:
            raise InputError(
                f"The question's vector has {query.size} dimensions, the index {self._vectors.shape[1]}.",
                "Use the model that made the index, or index again with --rebuild.",
            )
        near = _within(1.0 - self._vectors @ query, limit)
        # One row at a time and in float64: the fast product above rounds a row by where it stands.
        distance = 1.0 - np.einsum("ij,j->i", self._vectors[near].astype(float), query.astype(float))
        best = np.lexsort((self._by_key[near], distance))[:limit]
        return Hits(self._rows[near[best]], distance[best])

    def _refresh(self) -> None:
        generation = self.store.generation
        if generation != self._seen:
            self._rows, self._vectors = self.store.matrix()
            self._by_key = np.argsort(np.argsort(np.array(self.store.keys(), np.str_)))
            self._seen = generation

    def embed(self, question: str) -> Vector:
        """The question's unit vector, from the cache when the question has been asked before."""
        question = whole_characters(question)
        key = content_hash(question)
        settings = self.store.settings
        known = self.store.cached(settings, "query", [key])
        if key not in known:
            embedded = self.embedder.embed([question], "query")
            known[key] = Cached(embedded.vectors[0], float(embedded.read_share[0]))
            if self.store.writable:
                self.store.remember(settings, "query", known)
        return known[key].vector

    @property
    def generation(self) -> int:
        """A number that changes with every change of the index."""
        return self.store.generation

    def documents(self) -> Sequence[Document]:
        """All indexed documents, by path, with their whole text."""
        return self.store.documents()

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        return self.store.chunks(rows)

    def rows_of(self, path: str) -> Rows:
        return self.store.rows_of(path)


def _within(numbers: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """The places of the `count` smallest numbers, and of all that rounding could put among them."""
    if count >= numbers.size:
        return np.arange(numbers.size)
    edge = np.partition(numbers, count - 1)[count - 1]
    return np.flatnonzero(numbers <= edge + ROUNDING)

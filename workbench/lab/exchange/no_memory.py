"""An index without a chunk: for engines that search a memory of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.contracts import Index
from workbench.records import Chunk, Hits, Query, Rows, Vector


class NoMemory(Index):
    """Holds nothing and finds nothing; a `Recorder` needs no more."""

    @property
    def size(self) -> int:
        return 0

    def keyword(self, query: Query, limit: int) -> Hits:
        return Hits(np.empty(0, np.int64), np.empty(0))

    def vector(self, query: Vector, limit: int) -> Hits:
        return Hits(np.empty(0, np.int64), np.empty(0))

    def embed(self, question: str) -> Vector:
        return np.zeros(1, np.float32)

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        return []

    def rows_of(self, path: str) -> Rows:
        return np.empty(0, np.int64)

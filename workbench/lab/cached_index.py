"""An index that remembers its answers, so that many pipelines can be asked the same questions in no time."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from workbench.records import Chunk, Hits, Rows, Vector
from workbench.retrieval.legs import Index, View, snapshot


class CachedIndex:
    """`index`, with every answer kept; for as long as the index itself does not change."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._kept: dict[Hashable, Any] = {}
        self._chunks: dict[int, Chunk] = {}
        self._views: dict[View, CachedIndex] = {}

    def __getattr__(self, name: str) -> Any:
        # What only some systems ask of an index, such as whole documents, is passed on.
        return getattr(self._index, name)

    def _once(self, key: Hashable, method: str, *arguments: Any) -> Any:
        if key not in self._kept:
            self._kept[key] = getattr(self._index, method)(*arguments)
        return self._kept[key]

    def snapshot(self) -> AbstractContextManager[object]:
        """One state of the index for what is asked anew within."""
        return snapshot(self._index)

    @property
    def size(self) -> int:
        return self._index.size

    def keyword(self, match: str, limit: int) -> Hits:
        found: Hits = self._once(("keyword", match, limit), "keyword", match, limit)
        return found

    def vector(self, query: Vector, limit: int) -> Hits:
        found: Hits = self._once(("vector", query.tobytes(), limit), "vector", query, limit)
        return found

    def embed(self, question: str) -> Vector:
        vector: Vector = self._once(("embed", question), "embed", question)
        return vector

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        wanted = rows.tolist()
        missing = [row for row in wanted if row not in self._chunks]
        if missing:
            found = self._index.chunks(np.array(missing, np.int64))
            self._chunks.update(zip(missing, found, strict=True))
        return [self._chunks[row] for row in wanted]

    def rows_of(self, path: str) -> Rows:
        rows: Rows = self._once(("rows_of", path), "rows_of", path)
        return rows

    def laid_out(self, view: View) -> CachedIndex:
        """The index as `view` lays it out, with that one's answers kept too."""
        if view not in self._views:
            self._views[view] = CachedIndex(view.of(self))
        return self._views[view]

"""An index that remembers its answers, so that many pipelines can be asked the same questions in no time."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from workbench.records import Chunk, Hits, Rows, Vector
from workbench.retrieval.legs import Index


class CachedIndex:
    """`index`, with every answer kept; for as long as the index itself does not change."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._kept: dict[Hashable, Any] = {}

    def __getattr__(self, name: str) -> Any:
        # What only some systems ask of an index, such as whole documents, is passed on.
        return getattr(self._index, name)

    def _once(self, key: Hashable, method: str, *arguments: Any) -> Any:
        if key not in self._kept:
            self._kept[key] = getattr(self._index, method)(*arguments)
        return self._kept[key]

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
        return [self._chunk(int(row), rows[place : place + 1]) for place, row in enumerate(rows)]

    def _chunk(self, row: int, rows: Rows) -> Chunk:
        chunk: Chunk = self._once(("chunks", row), "chunks", rows)[0]
        return chunk

    def rows_of(self, path: str) -> Rows:
        rows: Rows = self._once(("rows_of", path), "rows_of", path)
        return rows

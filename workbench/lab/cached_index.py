"""An index wrapper that caches all answers, so that many pipelines can search the same questions quickly."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

from workbench.contracts import Index, Layout
from workbench.records import Chunk, Document, Hits, Query, Rows, Vector
from workbench.retrieval.index_adapters import IndexAdapter

Answer = TypeVar("Answer")


class CachedIndex(IndexAdapter):
    """`index` with a cache of every answer. Use it only while the index does not change."""

    def __init__(self, index: Index) -> None:
        super().__init__(index)
        self._answers: dict[Hashable, Any] = {}
        self._chunks: dict[int, Chunk] = {}
        self._layouts: dict[Layout, CachedIndex] = {}

    def _once(self, key: Hashable, ask: Callable[[], Answer]) -> Answer:
        if key not in self._answers:
            self._answers[key] = ask()
        answer: Answer = self._answers[key]
        return answer

    @property
    def generation(self) -> int:
        return self._once("generation", lambda: self.inner.generation)

    def keyword(self, query: Query, limit: int) -> Hits:
        return self._once(("keyword", query, limit), lambda: self.inner.keyword(query, limit))

    def keyword_with(self, query: Query, limit: int, k1: float, b: float) -> Hits:
        return self._once(
            ("keyword", query, limit, k1, b), lambda: self.inner.keyword_with(query, limit, k1, b)
        )

    def ask_keywords_ahead(self, queries: Sequence[Query], depth: int, k1: float, b: float) -> None:
        """Caches the keyword hits of many queries with these constants of BM25."""
        wanted = list(dict.fromkeys(queries))
        if any(("keyword", one, depth, k1, b) not in self._answers for one in wanted):
            found = self.inner.keyword_of_each(wanted, depth, k1, b)
            for one, hits in zip(wanted, found, strict=True):
                self._answers["keyword", one, depth, k1, b] = hits

    def vector(self, query: Vector, limit: int) -> Hits:
        return self._once(("vector", query.tobytes(), limit), lambda: self.inner.vector(query, limit))

    def ask_ahead(self, queries: Sequence[Vector], depth: int) -> None:
        """Caches the vector hits of many questions, from one matrix product instead of one for each."""
        keys = {("vector", query.tobytes(), depth): query for query in queries if query.any()}
        missing = [key for key in keys if key not in self._answers]
        if missing:
            found = self.inner.nearest_of_each(np.array([keys[key] for key in missing]), depth)
            self._answers.update(zip(missing, found, strict=True))

    def embed(self, question: str) -> Vector:
        return self._once(("embed", question), lambda: self.inner.embed(question))

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        wanted = rows.tolist()
        missing = [row for row in wanted if row not in self._chunks]
        if missing:
            found = self.inner.chunks(np.array(missing, np.int64))
            self._chunks.update(zip(missing, found, strict=True))
        return [self._chunks[row] for row in wanted]

    def rows_of(self, path: str) -> Rows:
        return self._once(("rows_of", path), lambda: self.inner.rows_of(path))

    def documents(self) -> Sequence[Document] | None:
        return self._once("documents", self.inner.documents)

    def laid_out(self, layout: Layout | None) -> Index:
        """The index in this layout, with its own cache."""
        if layout is None:
            return self
        if layout not in self._layouts:
            self._layouts[layout] = CachedIndex(layout.of(self))
        return self._layouts[layout]

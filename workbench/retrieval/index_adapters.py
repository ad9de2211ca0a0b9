"""Indexes that wrap another one, among them a cache, with which many pipelines search the same questions."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from copy import copy
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from workbench.contracts import Index, Layout
from workbench.errors import InputError, brief
from workbench.memory.sources import Indexing
from workbench.memory.store.postings import K1, B
from workbench.records import Chunk, Document, Hits, MadeOtherwise, Query, Rows, Vector

Answer = TypeVar("Answer")
Adapter = TypeVar("Adapter", bound=Index)


def check_open(index: object) -> None:
    """Raises InputError for anything in place of an open index: None, a folder, or one that was closed."""
    if not isinstance(index, Index):
        given = str(index) if isinstance(index, PathLike) else index
        raise InputError(f"{brief(given)} is not an open index.", "workbench.open_index(folder) opens one.")
    if getattr(innermost(index), "is_closed", False):
        raise InputError(f"The index {index.name} is closed.", "Open it again: workbench.open_index(folder)")


class IndexAdapter(Index):
    """An index that answers as `inner` does, unless a subclass overrides a member.

    `nearest_of_each` asks the `vector` of the subclass.
    """

    inner: Index

    def __init__(self, inner: Index) -> None:
        self.inner = inner

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def generation(self) -> int:
        return self.inner.generation

    def made_otherwise(self, indexing: Indexing) -> MadeOtherwise | None:
        return self.inner.made_otherwise(indexing)

    @property
    def size(self) -> int:
        return self.inner.size

    def keyword(self, query: Query, limit: int) -> Hits:
        return self.inner.keyword(query, limit)

    def keyword_with(self, query: Query, limit: int, k1: float, b: float) -> Hits:
        """The answer of `keyword`, with other constants of BM25 in the index below.

        Raises InputError for an adapter that does not ask that index: its own full-text table fixes them.
        """
        below, changed = _OtherConstants(self.inner, k1, b), copy(self)
        changed.inner = below
        hits = changed.keyword(query, limit)
        if not below.asked:
            raise InputError(
                f"The system lays the index {self.name} out in a full-text table that fixes k1 and b.",
                f"Leave them at {K1:g} and {B:g}, or search the chunks without this layout.",
            )
        return hits

    def compiled(self, query: Query) -> str:
        return self.inner.compiled(query)

    def vector(self, query: Vector, limit: int) -> Hits:
        return self.inner.vector(query, limit)

    def embed(self, question: str) -> Vector:
        return self.inner.embed(question)

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        return self.inner.chunks(rows)

    def rows_of(self, path: str) -> Rows:
        return self.inner.rows_of(path)

    def paths(self) -> list[str]:
        return self.inner.paths()

    def documents(self) -> Sequence[Document] | None:
        return self.inner.documents()

    @property
    def newly_read(self) -> int:
        return self.inner.newly_read

    @property
    def left_out(self) -> Sequence[str]:
        return self.inner.left_out

    def snapshot(self) -> AbstractContextManager[object]:
        return self.inner.snapshot()


class _OtherConstants(IndexAdapter):
    """An index whose `keyword` takes other constants of BM25; it knows whether it was asked."""

    def __init__(self, inner: Index, k1: float, b: float) -> None:
        super().__init__(inner)
        self.k1, self.b, self.asked = k1, b, False

    def keyword(self, query: Query, limit: int) -> Hits:
        self.asked = True
        return self.inner.keyword_with(query, limit, self.k1, self.b)


def innermost(index: Index) -> Index:
    """The index below all adapters."""
    while isinstance(index, IndexAdapter):
        index = index.inner
    return index


def state_of(index: Index) -> tuple[str, int]:
    """The name of the index below all adapters, and its generation."""
    return innermost(index).name, index.generation


def adapted(index: Index, kind: type[Adapter]) -> Adapter | None:
    """The adapter of that kind around the index, or None if there is none."""
    while not isinstance(index, kind):
        if not isinstance(index, IndexAdapter):
            return None
        index = index.inner
    return index


_KEPT: dict[int, dict[Hashable, tuple[int, Any]]] = {}
"""What has been built, and for which generation, by the identity of the index; forgotten with the index."""


def memoized(index: Index, key: Hashable, make: Callable[[], Answer]) -> Answer:
    """The result of `make`, computed once for each generation of the index, and forgotten with the innermost.

    The result must not refer to the innermost index.
    """
    generation, index = index.generation, innermost(index)
    if id(index) not in _KEPT:
        _KEPT[id(index)] = {}
        weakref.finalize(index, _KEPT.pop, id(index), None)
    known = _KEPT[id(index)]
    if key not in known or known[key][0] != generation:
        known[key] = generation, make()
    answer: Answer = known[key][1]
    return answer


class CachedIndex(IndexAdapter):
    """`index` with a cache of every answer. Use it only while the index does not change."""

    def __init__(self, index: Index) -> None:
        check_open(index)
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

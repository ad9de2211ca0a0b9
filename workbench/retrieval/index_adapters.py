"""Index wrappers: an index that delegates to another, and what is built for an index once."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from workbench.contracts import Index, Layout
from workbench.errors import InputError
from workbench.records import Chunk, Document, Hits, Query, Rows, Vector

Made = TypeVar("Made")
Adapter = TypeVar("Adapter", bound=Index)


class IndexAdapter(Index):
    """An index that answers as `inner` does, unless a subclass overrides a member."""

    inner: Index

    def __init__(self, inner: Index) -> None:
        self.inner = inner

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def generation(self) -> int:
        return self.inner.generation

    @property
    def size(self) -> int:
        return self.inner.size

    def keyword(self, query: Query, limit: int) -> Hits:
        return self.inner.keyword(query, limit)

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

    def snapshot(self) -> AbstractContextManager[object]:
        return self.inner.snapshot()


def innermost(index: Index) -> Index:
    """The index below all adapters."""
    while isinstance(index, IndexAdapter):
        index = index.inner
    return index


def adapted(index: Index, kind: type[Adapter]) -> Adapter | None:
    """The adapter of that kind around the index, or None if there is none."""
    while not isinstance(index, kind):
        if not isinstance(index, IndexAdapter):
            return None
        index = index.inner
    return index


def whole_documents(index: Index, layout: Layout) -> Sequence[Document]:
    """All documents with their whole text, by path.

    Raises InputError, naming both, if `layout` needs them and the index keeps chunks only.
    """
    documents = index.documents()
    if documents is None:
        raise InputError(
            f"The index {index.name} keeps no whole documents, so it cannot be laid out as: {layout.says}.",
            "Index the folder with `workbench index`, or choose a system that searches chunks as they are.",
        )
    return documents


_KEPT: dict[int, dict[Hashable, tuple[int, Any]]] = {}
"""What has been built, and for which generation, by the identity of the index; forgotten with the index."""


def kept(index: Index, key: Hashable, make: Callable[[], Made]) -> Made:
    """The result of `make`, computed once for each generation of the innermost index; it must not hold it."""
    generation, index = index.generation, innermost(index)
    if id(index) not in _KEPT:
        _KEPT[id(index)] = {}
        weakref.finalize(index, _KEPT.pop, id(index), None)
    known = _KEPT[id(index)]
    if key not in known or known[key][0] != generation:
        known[key] = generation, make()
    made: Made = known[key][1]
    return made

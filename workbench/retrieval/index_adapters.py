"""What a view of an index is made of: an index seen through another, and what is worked out for it once."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

from workbench.records import Chunk, Document, Hits, Rows, Vector
from workbench.retrieval.legs import Index

Made = TypeVar("Made")


class Library(Index, Protocol):
    """An index that has whole documents as well, by path, and a number that changes with every change."""

    @property
    def generation(self) -> int: ...

    def documents(self) -> Sequence[Document]: ...


def library(index: Index) -> Library | None:
    """The index itself, whatever it is seen through, where it gives whole documents; else None."""
    while isinstance(index, SeenThrough):
        index = index.inner
    return cast(Library, index) if hasattr(index, "documents") else None


_KEPT: dict[int, dict[Hashable, tuple[int, Any]]] = {}
"""What has been made, and for which generation, by the identity of the index; forgotten together with it."""


def kept(index: Library, key: Hashable, make: Callable[[], Made]) -> Made:
    """What `make` gives, made once for each generation of an index; it must not hold the index."""
    if id(index) not in _KEPT:
        _KEPT[id(index)] = {}
        weakref.finalize(index, _KEPT.pop, id(index), None)
    known, generation = _KEPT[id(index)], index.generation
    if key not in known or known[key][0] != generation:
        known[key] = generation, make()
    made: Made = known[key][1]
    return made


@dataclass(frozen=True)
class SeenThrough:
    """An index that answers as `inner` does, where a subclass does not say otherwise."""

    inner: Library

    @property
    def generation(self) -> int:
        return self.inner.generation

    def documents(self) -> Sequence[Document]:
        return self.inner.documents()

    @property
    def size(self) -> int:
        return self.inner.size

    def keyword(self, match: str, limit: int) -> Hits:
        return self.inner.keyword(match, limit)

    def vector(self, query: Vector, limit: int) -> Hits:
        return self.inner.vector(query, limit)

    def embed(self, question: str) -> Vector:
        return self.inner.embed(question)

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        return self.inner.chunks(rows)

    def rows_of(self, path: str) -> Rows:
        return self.inner.rows_of(path)

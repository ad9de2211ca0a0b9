"""The two legs of a hybrid search: what they ask the index for, and the union of what they bring."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from workbench.records import KEPT, Chunk, Floats, Hits, Leg, Rows, Trace, Vector


class Index(Protocol):
    """What a search needs of an index. Every answer is ordered by (number, chunk id), best first."""

    @property
    def size(self) -> int:
        """How many chunks there are."""

    def keyword(self, match: str, limit: int) -> Hits:
        """The chunks that match, with FTS5's bm25() as it comes: negative, smaller is better."""

    def vector(self, query: Vector, limit: int) -> Hits:
        """The nearest chunks, with their cosine distance: 0 to 2, smaller is better."""

    def embed(self, question: str) -> Vector:
        """The unit vector of a question."""

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        """The chunks of these rows, in their order."""

    def rows_of(self, path: str) -> Rows:
        """The rows of a file's chunks, in the file's order; none when the file is not indexed."""


class View(Protocol):
    """Another way to lay a memory out: whole notes instead of chunks, or other text in the full-text index.

    A frozen value; what it builds it keeps for as long as the index and its generation are the same.
    """

    @property
    def says(self) -> str: ...

    def of(self, index: Index) -> Index:
        """The index as this view lays it out."""


@runtime_checkable
class KeepsViews(Protocol):
    """An index that keeps what views have made of it, and their answers."""

    def laid_out(self, view: View) -> Index:
        """The index as this view lays it out, from memory where that has been asked before."""


def laid_out(index: Index, view: View | None) -> Index:
    """The index as `view` lays it out; as it is when there is none."""
    if view is None:
        return index
    return index.laid_out(view) if isinstance(index, KeepsViews) else view.of(index)


@runtime_checkable
class Changing(Protocol):
    """An index that others may change while it is searched."""

    def snapshot(self) -> AbstractContextManager[object]:
        """One state of the index for all that is asked within."""


def snapshot(index: Index) -> AbstractContextManager[object]:
    """One state of `index` for all that is asked within; nothing to do for an index that does not change."""
    return index.snapshot() if isinstance(index, Changing) else nullcontext()


class Context(Protocol):
    """What a stage may ask for while it runs."""

    @property
    def index(self) -> Index: ...

    @property
    def limit(self) -> float:
        """How many results the pipeline will return at most."""

    def vector(self) -> Vector:
        """The question's vector, embedded when first asked for."""


@dataclass(frozen=True)
class Depth:
    """How many candidates a leg may bring: `multiplier` times the limit, at least 1, at most `cap`.

    Source: openclaw 2026.2.13, src/memory/manager.ts.

    >>> Depth(4, 200).of(6), Depth(4, 200).of(0.1), Depth(4, 200).of(100)
    (24, 1, 200)
    """

    multiplier: float = 4
    cap: int = 200

    def of(self, limit: float) -> int:
        return min(self.cap, max(1, math.floor(limit * self.multiplier)))

    def __str__(self) -> str:
        return f"{self.multiplier:g} × limit candidates, at most {self.cap}"


@dataclass(frozen=True)
class KeywordLeg:
    """The chunks that the MATCH expression finds, best BM25 first; none without an expression."""

    slot: ClassVar[str] = "keyword_leg"
    name: ClassVar[str] = "keyword"
    depth: Depth = Depth()

    @property
    def says(self) -> str:
        return f"keyword leg: FTS5, ordered by bm25(), {self.depth}"

    def run(self, trace: Trace, context: Context) -> Trace:
        depth = self.depth.of(context.limit)
        found = context.index.keyword(trace.match, depth) if trace.match else no_hits()
        return with_leg(trace, Leg(self.name, trace.match, depth, found))


@runtime_checkable
class ManyAsked(Protocol):
    """A keyword leg that asks more than the trace's one MATCH expression."""

    def every(self, trace: Trace, index: Index) -> Hits | None:
        """All that it would bring if it were deep enough, what it did bring first; None when not asked."""


@dataclass(frozen=True)
class VectorLeg:
    """The chunks nearest to the question, by exact cosine; none for a vector of zeros."""

    slot: ClassVar[str] = "vector_leg"
    name: ClassVar[str] = "vector"
    number: ClassVar[str] = "cosine distance"
    depth: Depth = Depth()

    @property
    def says(self) -> str:
        return f"vector leg: exact cosine over all chunks, {self.depth}"

    def run(self, trace: Trace, context: Context) -> Trace:
        depth = self.depth.of(context.limit)
        query = context.vector()
        if not query.any():
            note = "The question's vector is all zeros, so the vector leg was not asked."
            skipped = replace(trace, notes=(*trace.notes, note))
            return with_leg(skipped, Leg(self.name, None, depth, no_hits(), number=self.number))
        asked, hits = f"{query.size} dimensions", context.index.vector(query, depth)
        return with_leg(trace, Leg(self.name, asked, depth, hits, number=self.number))


@dataclass(frozen=True)
class Union:
    """The candidates: every chunk that a leg brought, once, vector leg first; ranks from 1."""

    slot: ClassVar[str] = "candidates"
    says: ClassVar[str] = "candidates = the union of the legs by chunk; absent is absent"

    def run(self, trace: Trace, context: Context) -> Trace:
        legs = [trace.legs[name] for name in ("vector", "keyword") if name in trace.legs]
        every = np.concatenate([leg.hits.rows for leg in legs])
        _, first = np.unique(every, return_index=True)
        rows = every[np.sort(first)]
        columns: dict[str, Floats] = {}
        for leg in legs:
            raw, rank = aligned(leg.hits, rows)
            columns |= {f"{leg.name}_raw": raw, f"{leg.name}_rank": rank}
        return replace(
            trace,
            rows=rows,
            chunks=tuple(context.index.chunks(rows)),
            columns=columns,
            dropped=np.full(rows.size, KEPT),
            order=np.arange(rows.size),
        )


def aligned(hits: Hits, rows: Rows) -> tuple[Floats, Floats]:
    """A leg's raw numbers and ranks in the order of `rows`, NaN where the leg did not bring the row."""
    raw, rank = np.full(rows.size, np.nan), np.full(rows.size, np.nan)
    sorter = np.argsort(rows)
    where = sorter[np.searchsorted(rows, hits.rows, sorter=sorter)]
    raw[where], rank[where] = hits.raw, np.arange(1, hits.rows.size + 1)
    return raw, rank


def no_hits() -> Hits:
    """The answer of a leg that found nothing."""
    return Hits(np.empty(0, np.int64), np.empty(0))


def with_leg(trace: Trace, leg: Leg) -> Trace:
    """`trace` with what one leg brought."""
    return replace(trace, legs={**trace.legs, leg.name: leg})

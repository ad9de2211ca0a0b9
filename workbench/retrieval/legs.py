"""The legs of a search: what each asks of the index, and the union of what they bring."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from workbench.contracts import Context, Index
from workbench.errors import InputError
from workbench.memory.store.postings import K1, B
from workbench.records import KEPT, Floats, Hits, Leg, Query, Rows, Trace, Vector
from workbench.retrieval.columns import PlainStage
from workbench.safe_text import counted


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
        """The number of candidates for a limit on the results."""
        return min(self.cap, max(1, math.floor(limit * self.multiplier)))

    def __str__(self) -> str:
        return f"{self.multiplier:g} × limit candidates, at most {self.cap}"


@dataclass(frozen=True)
class FixedDepth(Depth):
    """The leg brings `cap` candidates, whatever the limit on the results is.

    >>> FixedDepth(cap=20).of(5)
    20
    """

    def of(self, limit: float) -> int:
        return self.cap

    def __str__(self) -> str:
        return f"{self.cap} candidates"


MOST_WORDS = 10
"""The largest number of words in the sentence about words that a leg does not find."""


def _some_words(words: Sequence[str]) -> str:
    """The words in quotes, the first of many; empty for none."""
    quoted = ", ".join(f"“{word}”" for word in words[:MOST_WORDS])
    rest = len(words) - MOST_WORDS
    return f"{quoted} and {counted(rest, 'other word')}" if rest > 0 else quoted


@dataclass(frozen=True)
class LegRank:
    """The rank of a chunk in one leg, among all matches (None: no match), and the leg's depth.

    `number` names `raw`. `missing` are the clauses of the query that the chunk does not match; only a keyword
    leg knows them. `beyond` says what is unknown of a chunk that the leg does not list. `outside` is the
    scope that the chunk is not in; `passing` is how many of the first `depth` chunks a scope let pass. `of`
    is what `raw` was computed from, if that is not the chunk itself.
    """

    leg: str
    rank: int | None
    matched: int
    depth: int
    raw: float | None
    number: str
    missing: tuple[str, ...] = ()
    beyond: str = ""
    outside: str = ""
    passing: int | None = None
    of: str = ""

    @property
    def brought(self) -> bool:
        """Whether the leg brought the chunk."""
        return self.rank is not None and self.rank <= self.depth and not self.outside

    def line(self, asked: str | None) -> str:
        """Where the leg has the chunk: its rank and the engine's number, or why it has none.

        `asked` is what the leg asked; None for a question that it cannot search.
        """
        leg, lacks = f"{self.leg} leg", _some_words(self.missing)
        if self.rank is None and asked is not None and not lacks:
            listed = f"not among the {counted(self.matched, 'chunk')} that it lists"
            return f"{leg}: {listed if self.matched else 'it lists no chunk'}{self.beyond}"
        if self.rank is None:
            reason = f": it does not find {lacks}" if lacks else ", since it was asked nothing"
            verb = "matches" if self.matched == 1 else "match"
            return f"{leg}: no match{reason} ({counted(self.matched, 'chunk')} {verb})"
        raw = f"{self.number} {self.raw:.4g}" + (f" of {self.of}" if self.of else "")
        pool = "" if self.brought else f", {self._why_not}"
        text = f"{leg}: rank {self.rank} of {self.matched}, {raw}{pool}"
        return text + (f", without a match for {lacks}" if lacks else "")

    @property
    def _why_not(self) -> str:
        if self.outside:
            return f"outside {self.outside}"
        if self.passing is None:
            return f"beyond this leg's depth of {self.depth}"
        return f"beyond the {counted(self.depth, 'chunk')} that are looked at, of which {self.passing} pass"


@dataclass(frozen=True)
class LegStage(PlainStage):
    """Base of a leg: it brings candidates, and it knows the rank of any chunk of the index.

    `name` is the leg's name, `number` what its raw numbers are. `best_raw` holds the raw numbers that a
    perfect hit may have (which one is best depends on the conversion), `worst_raw` that of the worst hit.
    """

    slot: ClassVar[str]
    name: ClassVar[str]
    number: ClassVar[str]
    best_raw: ClassVar[tuple[float, ...]] = ()
    worst_raw: ClassVar[float] = math.nan

    def writes(self) -> tuple[str, ...]:
        return f"{self.name}_raw", f"{self.name}_rank", f"{self.name}_relevance"

    def deepest(self, limit: float) -> int:
        """How many candidates the leg may bring for a limit on the results."""
        raise NotImplementedError(f"{type(self).__name__} does not define its depth")

    def run(self, trace: Trace, context: Context) -> Trace:
        """The trace with what this leg brought."""
        raise NotImplementedError(f"{type(self).__name__} does not define which candidates it brings")

    def every(self, trace: Trace, context: Context) -> Hits | None:
        """All matches without the depth limit, the leg's own hits first; None if it was not asked."""
        raise NotImplementedError(f"{type(self).__name__} does not list all of its matches")

    def missing(self, trace: Trace, index: Index, rows: Rows) -> list[tuple[str, ...]]:
        """For each of these rows, the clauses of the query that it does not match."""
        return [()] * rows.size

    def leg_ranks(self, trace: Trace, context: Context, rows: Rows) -> list[LegRank]:
        """The rank of each of these rows in the leg, in the search that `trace` records."""
        every = self.every(trace, context)
        missing = self.missing(trace, context.index, rows)
        leg = trace.legs[self.name]
        return [_leg_rank(leg, every, row, lacks) for row, lacks in zip(rows.tolist(), missing, strict=True)]


def _leg_rank(leg: Leg, every: Hits | None, row: int, missing: tuple[str, ...]) -> LegRank:
    found = [] if every is None else np.flatnonzero(every.rows == row).tolist()
    return LegRank(
        leg=leg.name,
        rank=found[0] + 1 if found else None,
        matched=every.rows.size if every else 0,
        depth=leg.depth,
        raw=float(every.raw[found[0]]) if every and found else None,
        number=leg.number,
        missing=missing,
    )


@dataclass(frozen=True)
class QueryLeg(LegStage, slot="keyword_leg", name="keyword", number="bm25"):
    """Base of a leg that asks the trace's query. To learn which clauses a chunk lacks, it asks each alone."""

    # Some conversions of bm25() reward large numbers, one rewards numbers near 0.
    best_raw: ClassVar[tuple[float, ...]] = (-1e12, -1e-12)
    worst_raw: ClassVar[float] = -1e-12

    def every(self, trace: Trace, context: Context) -> Hits | None:
        return context.index.keyword(trace.query, context.index.size) if trace.query else None

    def missing(self, trace: Trace, index: Index, rows: Rows) -> list[tuple[str, ...]]:
        return clauses_missing(trace.query, index, rows)


def clauses_missing(query: Query | None, index: Index, rows: Rows) -> list[tuple[str, ...]]:
    """For each of these rows, the clauses of the query that it does not match."""
    clauses = list(dict.fromkeys(query.clauses)) if query else []
    having = [set(index.keyword(Query((one,)), index.size).rows.tolist()) for one in clauses]
    return [
        tuple(one.text for one, rows_with in zip(clauses, having, strict=True) if row not in rows_with)
        for row in rows.tolist()
    ]


@dataclass(frozen=True)
class KeywordLeg(QueryLeg):
    """The chunks that match the query, best BM25 first; none without a query.

    `k1` and `b` are fixed in FTS5. With other values BM25 is computed from FTS5's postings.
    """

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"k1": (0, 100), "b": (0, 1)}
    depth: Depth = Depth()
    k1: float = K1
    b: float = B

    @property
    def description(self) -> str:
        changed = "" if (self.k1, self.b) == (K1, B) else f" with k1 = {self.k1:g} and b = {self.b:g}"
        return f"keyword leg: FTS5, ordered by bm25(){changed}, {self.depth}"

    def _matches(self, trace: Trace, index: Index, limit: int) -> Hits:
        if trace.query is None:
            return no_hits()
        if (self.k1, self.b) == (K1, B):
            return index.keyword(trace.query, limit)
        return index.keyword_with(trace.query, limit, self.k1, self.b)

    def every(self, trace: Trace, context: Context) -> Hits | None:
        return self._matches(trace, context.index, context.index.size) if trace.query else None

    def deepest(self, limit: float) -> int:
        return self.depth.of(limit)

    def run(self, trace: Trace, context: Context) -> Trace:
        depth = self.depth.of(context.limit)
        found = self._matches(trace, context.index, depth)
        return with_leg(trace, Leg(self.name, trace.match, depth, found, number=found.number))


@dataclass(frozen=True)
class FixedKeywordLeg(KeywordLeg):
    """Base of a keyword leg whose engine fixes k1 and b, or has none: they are no parameters of it."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {}
    k1: float = field(default=K1, init=False, repr=False)
    b: float = field(default=B, init=False, repr=False)


@dataclass(frozen=True)
class VectorLeg(LegStage, slot="vector_leg", name="vector", number="cosine distance"):
    """The chunks nearest to the question, by exact cosine; none for a vector of zeros."""

    best_raw: ClassVar[tuple[float, ...]] = (0.0,)
    worst_raw: ClassVar[float] = 2.0
    depth: Depth = Depth()

    @property
    def description(self) -> str:
        return f"vector leg: the nearest chunks by cosine, {self.depth}"

    def deepest(self, limit: float) -> int:
        return self.depth.of(limit)

    def run(self, trace: Trace, context: Context) -> Trace:
        depth = self.depth.of(context.limit)
        query = question_vector(trace, context)
        if not query.any():
            note = "The question's vector is all zeros, so the vector leg was not asked."
            skipped = replace(trace, notes=(*trace.notes, note))
            unasked = "the question's vector is all zeros"
            return with_leg(
                skipped, Leg(self.name, None, depth, no_hits(), number=self.number, unasked=unasked)
            )
        asked, hits = f"{query.size} dimensions", context.index.vector(query, depth)
        return with_leg(trace, Leg(self.name, asked, depth, hits, number=self.number))

    def every(self, trace: Trace, context: Context) -> Hits | None:
        if not trace.legs[self.name].asked:
            return None
        return context.index.vector(question_vector(trace, context), context.index.size)


@dataclass(frozen=True)
class Union(PlainStage, slot="candidates"):
    """The candidates: every chunk that a leg brought, once, with its numbers in each leg.

    The vector leg's come first, then those of the other legs in the order in which they ran. Ranks count
    from 1.
    """

    description: ClassVar[str] = "candidates = the union of the legs by chunk; absent is absent"

    def more(self, trace: Trace, context: Context) -> Rows:
        """Candidates that no leg needs to bring; none here."""
        return np.empty(0, np.int64)

    def run(self, trace: Trace, context: Context) -> Trace:
        legs = sorted(trace.legs.values(), key=lambda leg: leg.name != VectorLeg.name)
        if not legs:
            raise InputError(
                f"No leg ran before the stage {self.slot!r}, so there are no candidates.",
                "Put a leg ahead of it, such as KeywordLeg() or VectorLeg().",
            )
        every = np.concatenate([*(leg.hits.rows for leg in legs), self.more(trace, context)])
        _, first = np.unique(every, return_index=True)
        rows = every[np.sort(first)]
        columns: dict[str, Floats] = {}
        for leg in legs:
            raw, rank = aligned(leg.hits, rows)
            columns |= {
                f"{leg.name}_raw": raw,
                f"{leg.name}_rank": rank,
                f"{leg.name}_relevance": replace(leg.hits, rows=rows, raw=raw).relevance,
            }
        return replace(
            trace,
            rows=rows,
            chunks=tuple(context.index.chunks(rows)),
            columns=columns,
            scales={f"{leg.name}_raw": leg.number for leg in legs},
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


def question_vector(trace: Trace, context: Context) -> Vector:
    """The unit vector of the question as the stages read it."""
    return context.index.embed(trace.read_as) if trace.read_as else context.vector()


def no_hits() -> Hits:
    """The answer of a leg that found nothing."""
    return Hits(np.empty(0, np.int64), np.empty(0))


def with_leg(trace: Trace, leg: Leg) -> Trace:
    """`trace` with what one leg brought."""
    return trace.with_changes(legs={**trace.legs, leg.name: leg})


def legs_of(stages: Sequence[object]) -> list[LegStage]:
    """The legs among these stages, in their order."""
    return [stage for stage in stages if isinstance(stage, LegStage)]

"""Which candidates are left: the order, the floor, and the limit. Candidates are marked, never removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import compress
from operator import attrgetter
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Context
from workbench.records import KEPT, Cutoff, DropKind, Rows, Stage, Threshold, Trace
from workbench.retrieval.columns import PlainStage
from workbench.retrieval.scoring import cosine_similarity, relevance

PLACE = attrgetter("source", "path", "start_line", "end_line")
"""Where a chunk stands: its file and lines."""


@dataclass(frozen=True)
class Order(PlainStage):
    """Best number in the column `by` first; ties by the columns of `ties`, ascending, then by chunk id.

    A candidate that has no number in a column comes after those that have one. To rank by what a reranker
    wrote, name its column in `by`.
    """

    slot: ClassVar[str] = "order"
    ties: tuple[str, ...] = ()
    by: str = "score"

    @property
    def says(self) -> str:
        then = "".join(f", then by {name.replace('_', ' ')}" for name in self.ties)
        return f"order = by falling {self.by.replace('_', ' ')}{then}, then by chunk id"

    def reads(self) -> tuple[str, ...]:
        return (self.by,)

    def may_read(self) -> tuple[str, ...]:
        return self.ties

    def rows(self, trace: Trace) -> Rows:
        """The rows of the candidates, best first."""
        ids = np.array([chunk.id for chunk in trace.chunks], dtype=np.str_)
        ties = [trace.columns[name] for name in reversed(self.ties) if name in trace.columns]
        return np.lexsort((ids, *ties, -trace.columns[self.by]))

    def run(self, trace: Trace, context: Context) -> Trace:
        return trace.but(order=self.rows(trace), ranked_by=self.by)


@dataclass(frozen=True)
class MinScore(PlainStage):
    """Drops every candidate whose number in the column `of` is below `floor`, or that has none."""

    slot: ClassVar[str] = "floor"
    floor: float = 0.35
    of: str = "score"

    @property
    def says(self) -> str:
        what = "scores" if self.of == "score" else f"has a {self.of.replace('_', ' ')}"
        return f"floor: drop what {what} below {self.floor:g}"

    def reads(self) -> tuple[str, ...]:
        return (self.of,)

    def run(self, trace: Trace, context: Context) -> Trace:
        numbers = trace.columns[self.of]
        threshold = Threshold(self.of, numbers, self.floor)
        return dropped(trace, self, ~(numbers >= self.floor), DropKind.FLOOR, threshold)


@dataclass(frozen=True)
class AddedFloor(MinScore):
    """The floor that a caller adds to a system without a floor of its own."""

    slot: ClassVar[str] = "added_floor"

    @property
    def says(self) -> str:
        return f"floor, which the system does not have: drop what scores below {self.floor:g}"


@dataclass(frozen=True)
class EvidenceFloor(PlainStage):
    """Drops every candidate that no leg vouches for. The fused score only orders the candidates.

    The vector leg vouches with a cosine of at least `cosine`, the keyword leg with at least `relevance`
    on the scale r / (1 + r) of FTS5's bm25(). A leg that did not bring the candidate does not vouch for it.
    """

    slot: ClassVar[str] = "floor"
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"cosine": (-1, 1), "relevance": (0, 1)}
    cosine: float = 0.25
    relevance: float = 0.9

    @property
    def says(self) -> str:
        return (
            f"floor: drop what has neither a cosine of {self.cosine:g} nor a keyword relevance "
            f"r / (1 + r) of {self.relevance:g}"
        )

    def reads(self) -> tuple[str, ...]:
        return "vector_raw", "keyword_raw"

    def run(self, trace: Trace, context: Context) -> Trace:
        near, raw = cosine_similarity(trace.columns["vector_raw"]), trace.columns["keyword_raw"]
        said = np.where(np.isnan(raw), np.nan, relevance(raw))
        thresholds = (
            Threshold("cosine", near, self.cosine),
            Threshold("keyword relevance r / (1 + r)", said, self.relevance),
        )
        vouched = (near >= self.cosine) | (said >= self.relevance)
        return dropped(trace, self, ~vouched, DropKind.FLOOR, *thresholds)


@dataclass(frozen=True)
class Limit(PlainStage):
    """Keeps the first `count` candidates that are still in; a fraction is rounded down."""

    slot: ClassVar[str] = "limit"
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"count": (0, 10_000)}
    count: float = 6

    @property
    def says(self) -> str:
        return f"limit: keep the first {self.count:g}"

    def run(self, trace: Trace, context: Context) -> Trace:
        still_in = trace.order[trace.dropped[trace.order] == KEPT]
        places = np.full(trace.dropped.size, np.nan)
        places[still_in] = np.arange(1, still_in.size + 1)
        threshold = Threshold("place among those left", places, int(self.count), at_most=True)
        return dropped(trace, self, places > int(self.count), DropKind.LIMIT, threshold)


@dataclass(frozen=True)
class KeywordRescue(PlainStage):
    """Brings keyword hits back when the floor has dropped every candidate, down to a lower floor of its own.

    Source: openclaw 2026.2.27, src/memory/manager.ts, with 0.3, the keyword weight; 0 by 2026.7.1.
    """

    slot: ClassVar[str] = "rescue"
    floor: float = 0.3

    @property
    def says(self) -> str:
        return f"rescue: when nothing passes the floor, keep keyword hits that score at least {self.floor:g}"

    def reads(self) -> tuple[str, ...]:
        return "score", "keyword_rank"

    def run(self, trace: Trace, context: Context) -> Trace:
        if (trace.dropped == KEPT).any():
            return trace
        asked = [stage.floor for stage in trace.stages if isinstance(stage, MinScore)]
        enough = trace.columns["score"] >= min([self.floor, *asked])
        return _brought_back(trace, keyword_backed(trace, enough))


@dataclass(frozen=True)
class SpareSlots(PlainStage):
    """Gives places that the floor has left empty to keyword hits, behind all that pass the floor.

    When nothing passes, every keyword hit with a score of at least 0 comes back. When something does, only
    those come back that the vector leg did not bring, or whose cosine with the question is 0.
    Source: openclaw 2026.9.6, extensions/memory-core/src/memory/hybrid.ts (openclaw#92524).
    """

    slot: ClassVar[str] = "rescue"
    says: ClassVar[str] = (
        "rescue: places left empty go to hits of the keyword leg alone; when nothing passes the floor, to "
        "all keyword hits that score at least 0"
    )

    def reads(self) -> tuple[str, ...]:
        return "score", "vector_score", "keyword_rank"

    def run(self, trace: Trace, context: Context) -> Trace:
        strict = trace.dropped == KEPT
        if not strict.any():
            return _brought_back(trace, keyword_backed(trace, trace.columns["score"] >= 0))
        unseen = np.nan_to_num(trace.columns["vector_score"], nan=0.0) == 0
        spare = keyword_backed(trace, ~strict & unseen)
        turn = np.where(strict, 0, np.where(spare, 1, 2))[trace.order]
        return _brought_back(trace, spare).but(order=trace.order[np.argsort(turn, kind="stable")])


def keyword_backed(trace: Trace, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which candidates of `among` the keyword leg brought, or one with the same file and lines."""
    found = ~np.isnan(trace.columns["keyword_rank"])
    backed = among & found
    others = np.flatnonzero(among & ~found)
    if others.size:
        places = set(map(PLACE, compress(trace.chunks, found)))
        backed[others] = [PLACE(trace.chunks[row]) in places for row in others.tolist()]
    return backed


def _brought_back(trace: Trace, rows: NDArray[np.bool_]) -> Trace:
    """The trace with these rows brought back if a floor dropped them; other drops stay."""
    floors = [place for place, stage in enumerate(trace.stages) if isinstance(stage, MinScore)]
    return trace.but(dropped=np.where(rows & np.isin(trace.dropped, floors), KEPT, trace.dropped))


def dropped(
    trace: Trace,
    stage: Stage,
    rows: NDArray[np.bool_],
    kind: DropKind,
    *thresholds: Threshold,
    among: NDArray[np.bool_] | None = None,
) -> Trace:
    """`trace` with the candidates in `rows` dropped by `stage`, unless an earlier stage has dropped them.

    The trace records the kind of cut and the thresholds, so that an explanation can state what was compared.
    `among` marks the candidates that the stage looks at: all of them, unless it says otherwise.
    """
    place = trace.place_of(stage)
    still_in = (trace.dropped == KEPT) if among is None else (trace.dropped == KEPT) & among
    return trace.but(
        dropped=np.where(rows & still_in, place, trace.dropped),
        cutoffs={**trace.cutoffs, place: Cutoff(kind, thresholds, still_in)},
    )

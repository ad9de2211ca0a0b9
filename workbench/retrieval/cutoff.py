"""Which candidates are left: the order, the floor, and the limit. Candidates are marked, never removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Context
from workbench.records import KEPT, Cutoff, DropKind, Floats, Rows, Stage, Threshold, Trace
from workbench.retrieval.columns import PlainStage
from workbench.retrieval.scoring import cosine_similarity, relevance


def best_first(scores: Floats, *ties: NDArray[Any]) -> NDArray[np.int64]:
    """The places of the candidates along the first axis: by falling score, then by each of `ties`, rising.

    NaN comes last. With two axes, each column is ordered by itself.
    """
    return np.lexsort((*reversed(ties), -scores), axis=0)


@dataclass(frozen=True)
class Order(PlainStage, slot="order"):
    """Puts the best number in the column `by` first; `ties`, ascending, and then chunk ids decide ties.

    A candidate that has no number in a column comes after those that have one. To rank by what a reranker
    wrote, name its column in `by`.
    """

    ties: tuple[str, ...] = ()
    by: str = "score"

    @property
    def description(self) -> str:
        then = "".join(f", then by {name.replace('_', ' ')}" for name in self.ties)
        return f"order = by falling {self.by.replace('_', ' ')}{then}, then by chunk id"

    def reads(self) -> tuple[str, ...]:
        return (self.by,)

    def may_read(self) -> tuple[str, ...]:
        return self.ties

    def rows(self, trace: Trace) -> Rows:
        """The rows of the candidates, best first."""
        ties = [trace.columns[name] for name in self.ties if name in trace.columns]
        return best_first(trace.columns[self.by], *ties, trace.ids)

    def run(self, trace: Trace, context: Context) -> Trace:
        return trace.with_changes(order=self.rows(trace), ranked_by=self.by)


class Floor(PlainStage, slot="floor"):
    """Base of a floor: it drops every candidate that none of its thresholds lets pass."""

    @property
    def description(self) -> str:
        """The floor in one line."""
        raise NotImplementedError(f"{type(self).__name__} has no description")

    def thresholds(self, columns: Mapping[str, Floats]) -> tuple[Threshold, ...]:
        """What is compared. Columns may have any shape."""
        raise NotImplementedError(f"{type(self).__name__} has no thresholds")

    def run(self, trace: Trace, context: Context) -> Trace:
        return dropped(trace, self, DropKind.FLOOR, *self.thresholds(trace.columns))


@dataclass(frozen=True)
class MinScore(Floor):
    """Drops every candidate whose number in the column `of` is below `floor`, or that has none."""

    floor: float = 0.35
    of: str = "score"

    @property
    def description(self) -> str:
        what = "scores" if self.of == "score" else f"has a {self.of.replace('_', ' ')}"
        return f"floor: drop what {what} below {self.floor:g}"

    def reads(self) -> tuple[str, ...]:
        return (self.of,)

    def thresholds(self, columns: Mapping[str, Floats]) -> tuple[Threshold, ...]:
        return (Threshold(self.of, columns[self.of], self.floor),)


@dataclass(frozen=True)
class AddedFloor(MinScore, slot="added_floor"):
    """The floor that a caller adds to a system without a floor of its own."""

    @property
    def description(self) -> str:
        return f"floor, which the system does not have: drop what scores below {self.floor:g}"


@dataclass(frozen=True)
class EvidenceFloor(Floor):
    """Drops every candidate that no leg vouches for. The fused score only orders the candidates.

    The vector leg vouches with a cosine of at least `cosine`, the keyword leg with at least `relevance`
    on the scale r / (1 + r) of FTS5's bm25(). A leg that did not bring the candidate does not vouch for it.
    """

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"cosine": (-1, 1), "relevance": (0, 1)}
    cosine: float = 0.25
    relevance: float = 0.9

    @property
    def description(self) -> str:
        return (
            f"floor: drop what has neither a cosine of {self.cosine:g} nor a keyword relevance "
            f"r / (1 + r) of {self.relevance:g}"
        )

    def reads(self) -> tuple[str, ...]:
        return "vector_raw", "keyword_raw"

    def thresholds(self, columns: Mapping[str, Floats]) -> tuple[Threshold, ...]:
        near, raw = cosine_similarity(columns["vector_raw"]), columns["keyword_raw"]
        shared = np.where(np.isnan(raw), np.nan, relevance(raw))
        return (
            Threshold("cosine", near, self.cosine),
            Threshold("keyword relevance r / (1 + r)", shared, self.relevance),
        )


@dataclass(frozen=True)
class Limit(PlainStage, slot="limit"):
    """Keeps the first `count` candidates that are still in; a fraction is rounded down."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"count": (0, 10_000)}
    count: float = 6

    @property
    def description(self) -> str:
        return f"limit: keep the first {self.count:g}"

    def run(self, trace: Trace, context: Context) -> Trace:
        still_in = np.take_along_axis(trace.dropped, trace.order, axis=0) == KEPT
        ranks = np.full(trace.dropped.shape, np.nan)
        np.put_along_axis(ranks, trace.order, np.where(still_in, still_in.cumsum(axis=0), np.nan), axis=0)
        threshold = Threshold("place among those left", ranks, int(self.count), at_most=True)
        return dropped(trace, self, DropKind.LIMIT, threshold)


def early_limits(stages: Sequence[Stage]) -> list[Limit]:
    """The limits that stand before the order: each cuts a list that the order has not sorted yet."""
    order = next((number for number, stage in enumerate(stages) if isinstance(stage, Order)), 0)
    return [stage for stage in stages[:order] if isinstance(stage, Limit)]


def dropped(
    trace: Trace,
    stage: Stage,
    kind: DropKind,
    *thresholds: Threshold,
    among: NDArray[np.bool_] | None = None,
) -> Trace:
    """`trace` without the candidates that none of the thresholds lets pass; `stage` drops them.

    What an earlier stage has dropped stays dropped by that one. The trace records the kind of cut and the
    thresholds that decided, so an explanation states what was compared. `among` marks the candidates that
    the stage looks at: all of them, unless it says otherwise.
    """
    number = trace.stage_number(stage)
    passing = np.logical_or.reduce([one.passing for one in thresholds])
    still_in = (trace.dropped == KEPT) if among is None else (trace.dropped == KEPT) & among
    return trace.with_changes(
        dropped=np.where(still_in & ~passing, number, trace.dropped),
        cutoffs={**trace.cutoffs, number: Cutoff(kind, thresholds, still_in)},
    )


def with_left_out(trace: Trace, earlier: Rows, stage: Stage) -> Trace:
    """The trace with the candidates that a stage left out of its order, which it thus drops, at the end.

    `earlier` is the order before the stage ran; it is empty before anything is ordered.
    """
    ordered = trace.order.size > 0 or earlier.size > 0
    if trace.order.ndim > 1 or not ordered or trace.order.size == trace.rows.size:
        return trace
    places = np.full(trace.rows.size, np.nan)
    places[trace.order] = np.arange(1, trace.order.size + 1)
    rest = earlier if earlier.size else np.argsort(trace.ids)
    whole = np.concatenate([trace.order, rest[np.isnan(places[rest])]])
    left = Threshold("place in its list", places, trace.rows.size, at_most=True)
    return dropped(trace.with_changes(order=whole), stage, DropKind.LEFT_OUT, left)

"""AutoMem's candidates, its order, and its adaptive floor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Context
from workbench.records import KEPT, DropKind, Floats, Leg, Threshold, Trace
from workbench.retrieval.columns import PlainStage
from workbench.retrieval.cutoff import Order, dropped
from workbench.retrieval.legs import Depth, QueryLeg, no_hits, with_leg
from workbench.retrieval.query import with_query
from workbench_plugins.automem.memories import graph_query, memories_of

MOST_RESULTS = 100
"""RECALL_MAX_LIMIT: a search with tags fetches this number for any limit."""


def vector_fetch_limit(limit: int, overfetch: int = 4, cap: int = 200, tagged: bool = False) -> int:
    """The number of vectors to fetch: overfetch × limit, at most `cap`, but never fewer than the limit.

    Source: automem 0720da2 (#205). With overfetch 1 it is the limit itself, as before.

    >>> [vector_fetch_limit(5), vector_fetch_limit(5, overfetch=1), vector_fetch_limit(5, cap=3)]
    [20, 5, 5]
    """
    fetched = max(limit, min(limit * overfetch, cap))
    return max(fetched, min(MOST_RESULTS, cap)) if tagged else fetched


def keyword_leg_slots(limit: int, vector_hits: int) -> int:
    """The number of rows that the graph may return: the places that the vector leg leaves free."""
    return max(0, limit - vector_hits)


@dataclass(frozen=True)
class Fetch(Depth):
    """`vector_fetch_limit` of a limit; a limit below 1 counts as 1."""

    multiplier: float = 1
    cap: int = 200

    def of(self, limit: float) -> int:
        return vector_fetch_limit(max(1, int(limit)), int(self.multiplier), self.cap)

    def __str__(self) -> str:
        if self.multiplier == 1:
            return "as many candidates as results"
        return f"{self.multiplier:g} × limit candidates, at most {self.cap} or the limit"


@dataclass(frozen=True)
class GraphQuery(PlainStage, slot="query"):
    """The query for the graph: `graph_query`."""

    says: ClassVar[str] = "MATCH = the question's tokens (3 letters, 25 stop words), and the question itself"

    def run(self, trace: Trace, context: Context) -> Trace:
        return with_query(trace, context, graph_query(trace.question))


@dataclass(frozen=True)
class GraphLeg(QueryLeg, number="raw score"):
    """The graph's keyword search. It only fills places that the vector leg leaves free: mostly none."""

    worst_raw: ClassVar[float] = 0.0
    says: ClassVar[str] = (
        "keyword leg: substrings in texts and tags, only for places that the vector leg leaves free"
    )

    def reads(self) -> tuple[str, ...]:
        """The vector leg, which must have run."""
        return ("vector_rank",)

    def deepest(self, limit: float) -> int:
        return max(1, int(limit))

    def run(self, trace: Trace, context: Context) -> Trace:
        slots = keyword_leg_slots(self.deepest(context.limit), trace.legs["vector"].hits.rows.size)
        hits = context.index.keyword(trace.query, slots) if slots and trace.query else no_hits()
        if not slots:
            note = "The vector leg filled all places, so the graph did not search for keywords."
            trace = replace(trace, notes=(*trace.notes, note))
        return with_leg(trace, Leg(self.name, trace.match, slots, hits, number=self.number))


@dataclass(frozen=True)
class SortKeys(PlainStage, slot="ties"):
    """The tie-breakers: hits of the vector leg, then the better match, the more important, the newer."""

    says: ClassVar[str] = "ties: vector leg first, then the better match, the more important, the newer"

    def reads(self) -> tuple[str, ...]:
        return "vector_rank", "vector_score", "keyword_score"

    def writes(self) -> tuple[str, ...]:
        return "graph_alone", "match_below_0", "importance_below_0"

    def run(self, trace: Trace, context: Context) -> Trace:
        alone = np.isnan(trace.columns["vector_rank"])
        match = np.where(alone, trace.columns["keyword_score"], trace.columns["vector_score"])
        importance = [one.note.importance or 0.0 for one in memories_of(context.index, trace)]
        keys = {
            "graph_alone": alone.astype(float),
            "match_below_0": -match,
            "importance_below_0": -np.array(importance, float),
        }
        return replace(trace, columns={**trace.columns, **keys})


@dataclass(frozen=True)
class FinalOrder(Order):
    """Best score first, then `SortKeys`, then chunk id. Source: automem 8ff266e, used for all commits."""

    ties: tuple[str, ...] = ("graph_alone", "match_below_0", "importance_below_0", "age_days")

    says: ClassVar[str] = "order = by descending score, then by the sort keys, then by chunk id"


def adaptive_floor(scores: Any, share: float, least_kept: int = 0) -> NDArray[np.float64]:
    """The lowest kept score of each list of scores along the last axis; NaN if nothing is cut.

    The function searches the top half for the widest gap between neighbours (the first one, if several are
    equal). If this gap exceeds `share` of the top score, the floor is the score *below* the gap, so one item
    under the gap is kept. There is no floor if fewer than `least_kept` items would be kept, and none for
    three scores or fewer. Differences are binary: 1.0 - 0.85 is above 0.15.

    Source: automem, automem/api/recall.py: #101 (8df3c08), and with the guard #150 (591b2c7).

    >>> adaptive_floor([1.0, 0.99, 0.3, 0.29, 0.28, 0.27, 0.26], 0.15)
    array(0.3)
    """
    falling = -np.sort(-np.asarray(scores, float), axis=-1)
    n = falling.shape[-1]
    if n <= 3:
        return np.full(falling.shape[:-1], np.nan)
    searched = falling[..., : max(3, n // 2)]
    gaps = searched[..., :-1] - searched[..., 1:]
    widest = np.argmax(gaps, axis=-1)[..., None]
    floor = np.take_along_axis(falling, widest + 1, axis=-1)
    fires = np.take_along_axis(gaps, widest, axis=-1) > share * falling[..., :1]
    enough = np.sum(falling >= floor, axis=-1, keepdims=True) >= least_kept
    return np.asarray(np.where(fires & enough, floor, np.nan)[..., 0])


@dataclass(frozen=True)
class AdaptiveFloor(PlainStage, slot="adaptive_floor"):
    """`adaptive_floor` over the results: drops all results below the gap except the first one."""

    unless: ClassVar[str] = ""
    """The exception from the floor, in words."""
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"share": (0, 1)}
    share: float = 0.15

    @property
    def says(self) -> str:
        return (
            f"adaptive floor: if the widest gap in the top half exceeds {self.share:.0%} of the top score, "
            f"drop what scores less than the first result below the gap{self.unless}"
        )

    def least_kept(self, results: int) -> int:
        """The number of results that must be kept; if fewer would be kept, nothing is cut."""
        return 0

    def floors(self, scores: Any) -> NDArray[np.float64]:
        """The floor of each list of scores along the last axis; NaN for no floor."""
        return adaptive_floor(scores, self.share, self.least_kept(np.shape(scores)[-1]))

    def reads(self) -> tuple[str, ...]:
        return ("score",)

    def run(self, trace: Trace, context: Context) -> Trace:
        in_ = trace.dropped == KEPT
        scores = trace.columns["score"]
        floor = float(self.floors(scores[in_]))
        if np.isnan(floor):
            return trace
        noted = replace(trace, notes=(*trace.notes, self._note(scores[in_], floor)))
        return dropped(noted, self, scores < floor, DropKind.FLOOR, Threshold("score", scores, floor))

    def _note(self, scores: Floats, floor: float) -> str:
        gap = float(np.min(scores[scores > floor])) - floor
        return (
            f"The adaptive floor is {floor:.4g}: the gap of {gap:.4g} above it is more than {self.share:.0%} "
            f"of the top score, {np.max(scores):.4g}."
        )


@dataclass(frozen=True)
class HalfKept(AdaptiveFloor):
    """The floor with the guard of issue #128: at least half of the results are kept, rounded down."""

    unless: ClassVar[str] = ", unless fewer than half would be kept"
    share: float = 0.25

    def least_kept(self, results: int) -> int:
        return results // 2


@dataclass(frozen=True)
class LargerHalfKept(HalfKept):
    """The floor with the merged guard: at least half of the results are kept, rounded up."""

    unless: ClassVar[str] = ", unless fewer than half, rounded up, would be kept"

    def least_kept(self, results: int) -> int:
        return (results + 1) // 2


@dataclass(frozen=True)
class NoAdaptiveFloor(AdaptiveFloor):
    """RECALL_ADAPTIVE_FLOOR=false: nothing is cut."""

    says: ClassVar[str] = "adaptive floor: off"

    def floors(self, scores: Any) -> NDArray[np.float64]:
        return np.full(np.shape(scores)[:-1], np.nan)

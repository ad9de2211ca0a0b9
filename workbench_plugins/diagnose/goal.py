"""What is wanted of a file in an answer, and an index that answers one question at many depths."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from workbench.records import Hits, Query, Trace, Vector
from workbench.retrieval.index_adapters import CachedIndex


class Aim(StrEnum):
    """What is wanted of a file in the answer."""

    IN = "in the answer"
    FIRST = "first in the answer"
    OUT = "not in the answer"


@dataclass(frozen=True)
class Goal:
    """A file, and what is wanted of it."""

    path: str
    aim: Aim = Aim.IN

    def reached(self, trace: Trace) -> bool:
        """Whether the answer is as wanted."""
        paths = trace.paths()
        if self.aim is Aim.FIRST:
            return paths[:1] == [self.path]
        return (self.path in paths) is (self.aim is Aim.IN)


class RankedIndex(CachedIndex):
    """A `CachedIndex` that asks for all hits once, and cuts them to each limit.

    It suits one question and many depths. Every answer of an index is ordered, so the first hits of a long
    answer are those of a short one.
    """

    def keyword(self, query: Query, limit: int) -> Hits:
        return _first(super().keyword(query, self.size), limit)

    def vector(self, query: Vector, limit: int) -> Hits:
        return _first(super().vector(query, self.size), limit)


def _first(hits: Hits, limit: int) -> Hits:
    return Hits(hits.rows[:limit], hits.raw[:limit], hits.larger_is_better)

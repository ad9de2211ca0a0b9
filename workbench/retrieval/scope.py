"""A filter on paths and the candidates of the legs: which comes first, and how far each leg looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from workbench.contracts import Context
from workbench.errors import InputError
from workbench.records import Hits, Leg, Trace
from workbench.retrieval.columns import PlainStage
from workbench.retrieval.legs import legs_of

EVERYTHING = 1_000_000
"""The breadth with which the filter comes first: a leg looks at every chunk that it lists."""

FILTER_FIRST_IN = {
    "pgvector": "pgvector 0.8.0 and later: SET hnsw.iterative_scan = strict_order",
    "Qdrant": "Qdrant (client 1.20): the condition as the query's filter, on a field with an index",
    "sqlite-vec": "sqlite-vec 0.1.9: rowid IN (SELECT …), a partition key, or a metadata column beside MATCH",
}
"""The repair in the words of engines, each with the version for which it was checked."""

FILTER_FIRST = f"filter first, or look further until enough pass. {'. '.join(FILTER_FIRST_IN.values())}"
"""The repair in words, and in those of each engine."""


@dataclass(frozen=True)
class Scope(PlainStage, slot="scope"):
    """Each leg looks at its first `breadth` chunks and brings the first `k` of them whose path is in `where`.

    `where` has the beginnings of paths, such as `projects/`. With a `breadth` of k, the k candidates come
    first and the filter after. With EVERYTHING the filter is first. A number between is an iterative scan, or
    an approximate index that ends its search before the filter has let k chunks pass, such as HNSW with its
    `ef_search`. The stage stands before the candidates are united, and its `k` replaces the depth of the
    legs. Raises InputError for a `k` or `breadth` that is not a number from 1 to EVERYTHING.

    Sources: pgvector 0.8.5, README, "Filtering"; pgvector#259, sqlite-vec#152, episodic-memory#126, qmd#775.
    """

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"k": (1, 10_000), "breadth": (1, EVERYTHING)}
    k: float = 24
    where: tuple[str, ...] = ()
    breadth: float = 24

    def __post_init__(self) -> None:
        for name, count in (("k", self.k), ("breadth", self.breadth)):
            if not _is_count(count):
                raise InputError(
                    f"{name} of the scope is {count!r}, which is no number of chunks.",
                    f"Give a number from 1 to {EVERYTHING:,}, such as 24.",
                )

    @property
    def folders(self) -> str:
        """The folders of the filter, in words."""
        return " or ".join(self.where)

    @property
    def description(self) -> str:
        if self.breadth >= EVERYTHING:
            return f"scope: of the chunks in {self.folders}, each leg brings its first {self.k:g}"
        if self.breadth > self.k:
            return (
                f"scope: each leg looks at {self.breadth:g}, until {self.k:g} of them are in {self.folders}"
            )
        return (
            f"scope: each leg brings its first {self.breadth:g}, "
            f"and what is outside {self.folders} is dropped"
        )

    def lets_pass(self, path: str) -> bool:
        """Whether a file is in the scope."""
        return path.startswith(self.where)

    def run(self, trace: Trace, context: Context) -> Trace:
        for stage in legs_of(trace.stages):
            if stage.name in trace.legs and (every := stage.every(trace, context)) is not None:
                leg = self._of(trace.legs[stage.name], every, context)
                trace = trace.with_changes(legs={**trace.legs, stage.name: leg})
        return trace

    def _of(self, leg: Leg, every: Hits, context: Context) -> Leg:
        """A leg with what passes. Its depth becomes the number of chunks that it has looked at."""
        seen, most = every.rows[: int(self.breadth)], int(self.k)
        passing = np.flatnonzero([self.lets_pass(one.path) for one in context.index.chunks(seen)])[:most]
        depth = int(passing[-1]) + 1 if passing.size == most else seen.size
        hits = every.at(passing)
        return replace(leg, depth=depth, hits=hits, scope=self.folders)


def _is_count(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and 1 <= float(value) <= EVERYTHING


def scope(k: float, where: str | tuple[str, ...], breadth: float | None = None) -> Scope:
    """A `Scope`: k candidates of each leg first and the filter after, unless a `breadth` is given.

    >>> scope(3, "notes/").description
    'scope: each leg brings its first 3, and what is outside notes/ is dropped'
    >>> scope(3, "notes/", EVERYTHING).description
    'scope: of the chunks in notes/, each leg brings its first 3'
    """
    return Scope(k, (where,) if isinstance(where, str) else where, k if breadth is None else breadth)

"""Which candidates are left: the order, the floor, and the limit. Candidates are marked, never removed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.records import KEPT, Trace
from workbench.retrieval.legs import Context


@dataclass(frozen=True)
class Order:
    """Best score first; equal scores by the columns of `ties`, ascending, absent last; then by chunk id."""

    slot: ClassVar[str] = "order"
    ties: tuple[str, ...] = ()

    @property
    def says(self) -> str:
        then = "".join(f", then by {name.replace('_', ' ')}" for name in self.ties)
        return f"order = by falling score{then}, then by chunk id"

    def run(self, trace: Trace, context: Context) -> Trace:
        ids = np.array([chunk.id for chunk in trace.chunks], dtype=np.str_)
        ties = [trace.columns[name] for name in reversed(self.ties) if name in trace.columns]
        return replace(trace, order=np.lexsort((ids, *ties, -trace.columns["score"])))


@dataclass(frozen=True)
class MinScore:
    """Drops every candidate whose score is below `floor`, or is no number."""

    slot: ClassVar[str] = "floor"
    floor: float = 0.35

    @property
    def says(self) -> str:
        return f"floor: drop what scores below {self.floor:g}"

    def run(self, trace: Trace, context: Context) -> Trace:
        return marked(trace, self, ~(trace.columns["score"] >= self.floor))


@dataclass(frozen=True)
class Limit:
    """Keeps the first `count` candidates that are still in; a fraction is rounded down."""

    slot: ClassVar[str] = "limit"
    count: float = 6

    @property
    def says(self) -> str:
        return f"limit: keep the first {self.count:g}"

    def run(self, trace: Trace, context: Context) -> Trace:
        still_in = trace.order[trace.dropped[trace.order] == KEPT]
        beyond = np.zeros(trace.dropped.size, bool)
        beyond[still_in[int(self.count) :]] = True
        return marked(trace, self, beyond)


def marked(trace: Trace, stage: Order | MinScore | Limit, drop: NDArray[np.bool_]) -> Trace:
    """`trace` with `stage` as the reason for the candidates in `drop` that nothing has dropped before."""
    place = trace.stages.index(stage)
    return replace(trace, dropped=np.where(drop & (trace.dropped == KEPT), place, trace.dropped))

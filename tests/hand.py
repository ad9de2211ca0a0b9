"""An index that answers as it is told, and a trace's columns in plain Python."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tests.adapters.openclaw_february import FixedIndex
from workbench.records import Chunk, Trace


def answering(
    keyword: Mapping[str, float] | None = None, vector: Mapping[str, float] | None = None
) -> FixedIndex:
    """An index that answers any question with these raw numbers, by chunk id, best first."""

    def hits(raw: Mapping[str, float] | None) -> list[tuple[Chunk, float]]:
        return [(Chunk(name, f"{name}.md", "memory", 1, 1, name), n) for name, n in (raw or {}).items()]

    return FixedIndex(hits(keyword), hits(vector))


def columns(trace: Trace, name: str) -> list[float | None]:
    """A column of a trace in the order of its rows, None for absent."""
    return [None if math.isnan(number) else float(number) for number in trace.columns[name]]


def ids(trace: Trace) -> list[str]:
    return [chunk.id for chunk in trace.chunks]


BOTH = {"keyword": {"a": -3.0, "c": -1.5}, "vector": {"b": 0.1, "a": 0.4}}

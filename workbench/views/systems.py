"""Systems as tables and as data, and the answers of several systems to one question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType

from workbench.records import Candidate, Trace
from workbench.retrieval.pipeline import Difference, Pipeline
from workbench.views.console import PlainTable, plain
from workbench.views.text import ABSENT

SHOWN = 10
"""The number of results that a comparison shows of each answer."""


def systems_table(pipelines: Sequence[Pipeline]) -> PlainTable:
    """One line per system: its name, its source, and its changes."""
    table = PlainTable()
    for name in ("system", "source", "changes"):
        table.add_column(name, no_wrap=name == "system")
    for one in pipelines:
        source = one.source
        where = " ".join(part for part in (source.repository, source.release, source.issue) if part)
        table.add_row(one.name, where, ", ".join(change.name for change in one.changes) or ABSENT)
    return table


def system_data(pipeline: Pipeline) -> dict[str, Any]:
    """A system: its stages by slot, its changes, and its source."""
    return {
        "name": pipeline.name,
        "layout": pipeline.layout.says if pipeline.layout else None,
        "stages": [{"slot": stage.slot, "says": stage.says} for stage in pipeline.stages],
        "changes": [{"name": one.name, "slot": one.stage.slot, "why": one.why} for one in pipeline.changes],
        "source": asdict(pipeline.source),
    }


def diff_data(differences: Sequence[Difference]) -> list[dict[str, Any]]:
    """The differences by slot; null if a system has no such stage."""
    return [
        {
            "slot": one.slot,
            "before": one.before.says if one.before else None,
            "after": one.after.says if one.after else None,
        }
        for one in differences
    ]


def comparison_table(traces: Sequence[Trace]) -> RenderableType:
    """The answers to the same question, with one column per system."""
    table = PlainTable(padding=(0, 2, 0, 0))
    table.add_column("#", justify="right")
    for trace in traces:
        table.add_column(plain(trace.system))
    results = [trace.results for trace in traces]
    for place in range(min(SHOWN, max((len(some) for some in results), default=0))):
        table.add_row(str(place + 1), *(_cell(some, place) for some in results))
    asked = plain(f"“{traces[0].question}”" if traces else "")
    return Group(asked, table, *map(plain, _silent(traces)))


def _cell(results: Sequence[Candidate], place: int) -> str:
    if place >= len(results):
        return ABSENT
    found = results[place]
    return f"{found.score:.3f} {found.chunk.place}"


def _silent(traces: Sequence[Trace]) -> list[str]:
    return [
        f"{trace.system}: nothing returned, of {len(trace.chunks)} candidates"
        for trace in traces
        if not trace.results
    ]

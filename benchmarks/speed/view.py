"""A run of the speed benchmark as tables, and two runs side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Group, RenderableType

from benchmarks.speed.ours import ThisWorkbench
from benchmarks.speed.report import (
    Built,
    Changed,
    Search,
    SpeedReport,
    Spread,
    Synced,
    Target,
    growth,
    ratios,
    targets,
)
from workbench.views.text import PlainTable, plain


def speed_tables(report: SpeedReport) -> RenderableType:
    """Searches, indexes, syncs, growth and promises of a run, and what was left out."""
    about = ", ".join(f"{name} {value}" for name, value in report.machine.items())
    parts: list[RenderableType] = [
        plain("Without the question's embedding. Ratios: that system's time / ours, question by question,"),
        plain("median (quartiles). CPU time is steadier than wall time on a busy machine."),
        plain(about),
        plain(""),
        _searches(report),
        plain(""),
        _indexes(report.built),
    ]
    if report.synced:
        parts += [plain(""), _syncs(report.synced)]
    if rows := list(growth(report)):
        parts += [plain(""), _growth(rows)]
    if promises := targets(report):
        parts += [plain(""), _targets(promises)]
    return Group(*parts, *(plain(f"Left out: {one}") for one in report.skipped))


def _table(*columns: str) -> PlainTable:
    table = PlainTable()
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place < 2 else "right")
    return table


def _searches(report: SpeedReport) -> PlainTable:
    table = _table("search", "system", "chunks", "wall ms", "CPU ms", "wall ratio", "CPU ratio")
    wall, cpu = ({id(one): spread for one, spread in ratios(report, cpu)} for cpu in (False, True))
    for one in sorted(report.searches, key=_place):
        own = one.system == ThisWorkbench.name
        table.add_row(
            one.kind,
            one.system,
            f"{one.chunks:,}",
            f"{np.median(one.wall_ms):.2f}",
            f"{np.median(one.cpu_ms):.2f}",
            "1" if own else spread_text(wall.get(id(one))),
            "1" if own else spread_text(cpu.get(id(one))),
        )
    return table


def _place(one: Search) -> tuple[int, str, bool, float]:
    return one.chunks, one.kind, one.system != ThisWorkbench.name, float(np.median(one.cpu_ms))


def spread_text(spread: Spread | None) -> str:
    """A median and its quartiles; a dash where there is none."""
    return f"{spread.median:.2f} ({spread.low:.2f}–{spread.high:.2f})" if spread else "–"


def _indexes(built: Sequence[Built]) -> PlainTable:
    table = _table(
        "index of", "chunks", "wall s", "CPU s", "bytes a chunk beyond text", "cold start s", "peak MB"
    )
    for one in built:
        table.add_row(
            one.system,
            f"{one.chunks:,}",
            f"{one.wall_seconds:.2f}",
            f"{one.cpu_seconds:.2f}",
            _number(one.bytes_beyond_text, ",.0f"),
            _number(one.cold_seconds, ".2f"),
            _number(one.peak_mb, ".0f"),
        )
    return table


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _syncs(synced: Sequence[Synced]) -> PlainTable:
    table = _table(
        "sync of files",
        "chunks",
        "first s",
        "from the cache s",
        "unchanged s",
        "one file s",
        "bare walk s",
    )
    for one in synced:
        times = one.first, one.cached, one.unchanged, one.one_file
        cells = (f"{wall:.3f} (CPU {cpu:.3f})" for wall, cpu in times)
        table.add_row(f"{one.files:,}", f"{one.chunks:,}", *cells, f"{one.walk_seconds:.3f}")
    return table


def _growth(rows: Sequence[tuple[str, str, float]]) -> PlainTable:
    table = _table("growth of", "system", "exponent of CPU time by chunks (1 = linear)")
    for system, kind, exponent in rows:
        table.add_row(kind, system, f"{exponent:.2f}")
    return table


def _targets(promises: Sequence[Target]) -> PlainTable:
    table = _table("promise", "kept", "limit", "measured (CPU time)")
    for one in promises:
        table.add_row(one.what, "yes" if one.kept else "no", f"{one.limit:g}", f"{one.measured:.2f}")
    return table


def changes_table(changes: Sequence[Changed]) -> RenderableType:
    """Which ratios have changed by more than their spread since a saved run."""
    table = _table("search", "system", "chunks", "CPU ratio then", "now", "beyond the spread")
    for one in changes:
        table.add_row(
            one.kind,
            one.system,
            f"{one.chunks:,}",
            spread_text(one.before),
            spread_text(one.after),
            "yes" if one.beyond_spread else "no",
        )
    beyond = sum(one.beyond_spread for one in changes)
    verdict = f"{beyond} of {len(changes)} ratios have changed by more than their spread."
    return Group(table, plain(verdict if changes else "The two runs have no search in common."))

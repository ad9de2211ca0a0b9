"""A run of the speed benchmark as tables, and two runs side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
from workbench.tables import Part, Table, numbers


def speed_tables(report: SpeedReport) -> list[Part]:
    """Searches, indexes, syncs, growth and promises of a run, and what was left out."""
    about = ", ".join(f"{name} {value}" for name, value in report.machine.items())
    parts: list[Part] = [
        "Without the question's embedding. Ratios: that system's time / ours, question by question,",
        "median (quartiles). CPU time is steadier than wall time on a busy machine.",
        about,
        "",
        _searches(report),
        "",
        _indexes(report.built),
    ]
    if report.synced:
        parts += ["", _syncs(report.synced)]
    if rows := list(growth(report)):
        parts += ["", _growth(rows)]
    if promises := targets(report):
        parts += ["", _targets(promises)]
    return [*parts, *(f"Left out: {one}" for one in report.skipped)]


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    return Table("", [*names[:2], *numbers(*names[2:])], rows)


def _searches(report: SpeedReport) -> Table:
    names = ("search", "system", "chunks", "wall ms", "CPU ms", "wall ratio", "CPU ratio")
    rows = []
    wall, cpu = ({id(one): spread for one, spread in ratios(report, cpu)} for cpu in (False, True))
    for one in sorted(report.searches, key=_place):
        own = one.system == ThisWorkbench.name
        rows.append(
            (
                one.kind,
                one.system,
                f"{one.chunks:,}",
                f"{np.median(one.wall_ms):.2f}",
                f"{np.median(one.cpu_ms):.2f}",
                "1" if own else spread_text(wall.get(id(one))),
                "1" if own else spread_text(cpu.get(id(one))),
            )
        )
    return _table(names, rows)


def _place(one: Search) -> tuple[int, str, bool, float]:
    return one.chunks, one.kind, one.system != ThisWorkbench.name, float(np.median(one.cpu_ms))


def spread_text(spread: Spread | None) -> str:
    """A median and its quartiles; a dash where there is none."""
    return f"{spread.median:.2f} ({spread.low:.2f}–{spread.high:.2f})" if spread else "–"


def _indexes(built: Sequence[Built]) -> Table:
    names = ("index of", "chunks", "wall s", "CPU s", "bytes a chunk beyond text", "cold start s", "peak MB")
    rows = [
        (
            one.system,
            f"{one.chunks:,}",
            f"{one.wall_seconds:.2f}",
            f"{one.cpu_seconds:.2f}",
            _number(one.bytes_beyond_text, ",.0f"),
            _number(one.cold_seconds, ".2f"),
            _number(one.peak_mb, ".0f"),
        )
        for one in built
    ]
    return _table(names, rows)


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _syncs(synced: Sequence[Synced]) -> Table:
    rows = []
    names = (
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
        rows.append((f"{one.files:,}", f"{one.chunks:,}", *cells, f"{one.walk_seconds:.3f}"))
    return _table(names, rows)


def _growth(rows: Sequence[tuple[str, str, float]]) -> Table:
    names = ("growth of", "system", "exponent of CPU time by chunks (1 = linear)")
    return _table(names, [(kind, system, f"{exponent:.2f}") for system, kind, exponent in rows])


def _targets(promises: Sequence[Target]) -> Table:
    rows = [
        (one.what, "yes" if one.kept else "no", f"{one.limit:g}", f"{one.measured:.2f}") for one in promises
    ]
    return _table(("promise", "kept", "limit", "measured (CPU time)"), rows)


def changes_table(changes: Sequence[Changed]) -> list[Part]:
    """Which ratios have changed by more than their spread since a saved run."""
    names = ("search", "system", "chunks", "CPU ratio then", "now", "beyond the spread")
    rows = [
        (
            one.kind,
            one.system,
            f"{one.chunks:,}",
            spread_text(one.before),
            spread_text(one.after),
            "yes" if one.beyond_spread else "no",
        )
        for one in changes
    ]
    beyond = sum(one.beyond_spread for one in changes)
    verdict = f"{beyond} of {len(changes)} ratios have changed by more than their spread."
    return [_table(names, rows), verdict if changes else "The two runs have no search in common."]

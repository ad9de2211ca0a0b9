"""Benchmark results as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Group, RenderableType

from workbench.lab.bench.figures import Figures
from workbench.lab.bench.ranking import RankedRun
from workbench.lab.bench.runs import Result
from workbench.lab.paired import Paired, holm, paired_values
from workbench.views.console import PlainTable, plain


def rendered_results(results: Sequence[Result]) -> RenderableType:
    """One line per system, and below recall@5 by LoCoMo's category number."""
    heading = plain("recall@5 (and questions) by category number")
    return Group(_overall(results), plain(""), heading, _by_category(results))


def _overall(results: Sequence[Result]) -> PlainTable:
    table = PlainTable()
    table.add_column("system")
    for name in ("unit", "n", "recall@5", "recall@10", "MRR"):
        table.add_column(name, justify="right")
    table.add_column("also counted")
    for one in results:
        counted = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in one.counted.items())
        table.add_row(one.system, one.unit, *_numbers(one.overall), counted)
    return table


def _numbers(figures: Figures) -> list[str]:
    return [
        str(figures.n),
        f"{figures.recall_5:.3f}",
        f"{figures.recall_10:.3f}",
        f"{figures.mrr:.3f}",
    ]


def _by_category(results: Sequence[Result]) -> PlainTable:
    table = PlainTable()
    table.add_column("system")
    numbers = sorted({number for one in results for number in one.by_category})
    for number in numbers:
        table.add_column(str(number), justify="right")
    for one in results:
        found = [one.by_category.get(number) for number in numbers]
        table.add_row(one.system, *(f"{f.recall_5:.3f} ({f.n})" if f else "–" for f in found))
    return table


def against_first(runs: Sequence[RankedRun]) -> list[Paired]:
    """Each later run against the first, by each question's evidence recall@5, corrected for their number."""
    found = [paired_values(runs[0].values(), one.values(), "evidence@5") for one in runs[1:]]
    corrected = holm([one.p for one in found])
    return [replace(one, p_holm=p, comparisons=len(found)) for one, p in zip(found, corrected, strict=True)]


def rendered_ranked(runs: Sequence[RankedRun], saved: Mapping[str, Paired]) -> RenderableType:
    """One line per system, then each against the first, then each against its saved run."""
    table = PlainTable()
    table.add_column("system")
    for name in ("n", *runs[0].figures()):
        table.add_column(name, justify="right")
    for run in runs:
        table.add_row(run.system, str(len(run.answers)), *(f"{one:.3f}" for one in run.figures().values()))
    lines = [
        f"{run.system} against {runs[0].system}: {paired}"
        for run, paired in zip(runs[1:], against_first(runs), strict=True)
    ]
    lines += [f"{system} against its saved run: {paired}" for system, paired in saved.items()]
    said = (
        "evidence: the share of a question's right documents; any: whether one is there; ties count against"
    )
    return Group(table, plain(said), plain(""), *(plain(line) for line in lines))


def ranked_data(runs: Sequence[RankedRun], saved: Mapping[str, Paired]) -> list[dict[str, Any]]:
    """The figures of each system, with the comparisons, for JSON."""
    firsts = [None, *against_first(runs)]
    return [
        {"system": run.system, "n": len(run.answers), **run.figures()}
        | ({"against_first": first.as_json()} if first else {})
        | ({"against_saved": saved[run.system].as_json()} if run.system in saved else {})
        for run, first in zip(runs, firsts, strict=True)
    ]

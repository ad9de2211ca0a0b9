"""Benchmark results as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType

from workbench.lab.bench.figures import Figures
from workbench.lab.bench.runs import Result
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

"""Benchmark results as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType

from benchmarks.published.figures import Figures
from benchmarks.published.ranking import RankedRun
from benchmarks.published.runs import Result
from workbench.measure.paired import Paired, corrected, paired_values
from workbench.views.text import PlainTable, plain


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


MOST_GROUPS = 12
"""More groups or kinds than these are not printed one by one."""


def against_chosen(runs: Sequence[RankedRun], chosen: str) -> dict[str, Paired]:
    """Each other run against the chosen one by evidence recall@5, with Holm's correction for their number."""
    before = next(one for one in runs if one.system == chosen).values()
    others = [one for one in runs if one.system != chosen]
    found = corrected([paired_values(before, one.values(), "evidence@5") for one in others])
    return {one.system: verdict for one, verdict in zip(others, found, strict=True)}


def rendered_ranked(runs: Sequence[RankedRun], chosen: str, saved: Mapping[str, Paired]) -> RenderableType:
    """One line per system, the same by group and by kind, then each against the chosen and the saved one."""
    table = PlainTable()
    table.add_column("system")
    for name in ("n", *runs[0].figures()):
        table.add_column(name, justify="right")
    for run in runs:
        table.add_row(run.system, str(len(run.answers)), *(f"{one:.3f}" for one in run.figures().values()))
    parts: list[RenderableType] = [table, plain(SAID)]
    for what, split in (("group", _by_group), ("kind", _by_kind)):
        if 1 < len(split(runs[0])) <= MOST_GROUPS:
            parts += [plain(""), plain(f"evidence@5 (and questions) by {what}"), _split_table(runs, split)]
    lines = [
        f"{system} against {chosen}: {paired}" for system, paired in against_chosen(runs, chosen).items()
    ]
    lines += [f"{system} against its saved run: {paired}" for system, paired in saved.items()]
    return Group(*parts, plain(""), *(plain(line) for line in lines))


SAID = (
    "evidence: the share of a question's right documents; any: whether one is there; own group: among the "
    "documents of the question's own group; silent: nothing is returned; a tie counts against the system"
)


def _by_group(run: RankedRun) -> dict[str, RankedRun]:
    return run.split(lambda question: question.group)


def _by_kind(run: RankedRun) -> dict[str, RankedRun]:
    return run.split(lambda question: question.kind)


def _split_table(
    runs: Sequence[RankedRun], split: Callable[[RankedRun], Mapping[str, RankedRun]]
) -> PlainTable:
    table = PlainTable()
    table.add_column("system")
    parts = [split(run) for run in runs]
    for name, part in sorted(parts[0].items()):
        table.add_column(f"{name} ({len(part.answers)})", justify="right")
    for run, its in zip(runs, parts, strict=True):
        table.add_row(run.system, *(f"{its[name].values().mean():.3f}" for name in sorted(its)))
    return table


def ranked_data(runs: Sequence[RankedRun], chosen: str, saved: Mapping[str, Paired]) -> list[dict[str, Any]]:
    """The figures of each system, with the comparisons, for JSON."""
    against = against_chosen(runs, chosen)
    return [
        {"system": run.system, "n": len(run.answers), **run.figures()}
        | {"by_group": _figures_of(_by_group(run)), "by_kind": _figures_of(_by_kind(run))}
        | ({"against": {"system": chosen, **against[run.system].as_json()}} if run.system in against else {})
        | ({"against_saved": saved[run.system].as_json()} if run.system in saved else {})
        for run in runs
    ]


def _figures_of(parts: Mapping[str, RankedRun]) -> dict[str, dict[str, float]]:
    return {name: {"n": len(part.answers), **part.figures()} for name, part in sorted(parts.items())}

"""Benchmark results as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.published.figures import Figures
from benchmarks.published.ranking import RankedRun
from benchmarks.published.runs import Result
from workbench.measure.paired import Paired, corrected
from workbench.tables import Part, Table, numbers


def results_view(results: Sequence[Result]) -> list[Part]:
    """One line per system, and below recall@5 by LoCoMo's category number."""
    heading = "recall@5 (and questions) by category number"
    return [_overall(results), "", heading, _by_category(results)]


def _overall(results: Sequence[Result]) -> Table:
    rows = []
    for one in results:
        counted = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in one.counted.items())
        rows.append((one.system, one.unit, *_numbers(one.overall), counted))
    figures = numbers("unit", "n", "recall@5", "recall@10", "MRR")
    return Table("", ["system", *figures, "also counted"], rows)


def _numbers(figures: Figures) -> list[str]:
    return [
        str(figures.n),
        f"{figures.recall_5:.3f}",
        f"{figures.recall_10:.3f}",
        f"{figures.mrr:.3f}",
    ]


def _by_category(results: Sequence[Result]) -> Table:
    categories = sorted({number for one in results for number in one.by_category})
    rows = []
    for one in results:
        found = [one.by_category.get(number) for number in categories]
        rows.append((one.system, *(f"{f.recall_5:.3f} ({f.n})" if f else "–" for f in found)))
    return Table("", ["system", *numbers(*map(str, categories))], rows)


MOST_GROUPS = 12
"""More groups or kinds than these are not printed one by one."""


def against_chosen(runs: Sequence[RankedRun], chosen: str) -> dict[str, Paired]:
    """Each other run against the chosen one by evidence recall@5, with Holm's correction for their number."""
    before = next(one for one in runs if one.system == chosen).values()
    others = [one for one in runs if one.system != chosen]
    found = corrected([one.compared_with(before) for one in others])
    return {one.system: verdict for one, verdict in zip(others, found, strict=True)}


def ranked_view(runs: Sequence[RankedRun], chosen: str, saved: Mapping[str, Paired]) -> list[Part]:
    """One line per system, the same by group and by kind, then each against the chosen and the saved one."""
    rows = [
        (run.system, str(len(run.answers)), *(f"{one:.3f}" for one in run.figures().values())) for run in runs
    ]
    table = Table("", ["system", *numbers("n", *runs[0].figures())], rows)
    parts: list[Part] = [table, SAID]
    for what, split in (("group", _by_group), ("kind", _by_kind)):
        if 1 < len(split(runs[0])) <= MOST_GROUPS:
            parts += ["", f"evidence@5 (and questions) by {what}", _split_table(runs, split)]
    lines = [
        f"{system} against {chosen}: {paired}" for system, paired in against_chosen(runs, chosen).items()
    ]
    lines += [f"{system} against its saved run: {paired}" for system, paired in saved.items()]
    return [*parts, "", *lines]


SAID = (
    "evidence: the share of a question's right documents; any: whether one is there; own group: among the "
    "documents of the question's own group; silent: nothing is returned; a tie counts against the system"
)


def _by_group(run: RankedRun) -> dict[str, RankedRun]:
    return run.split(lambda question: question.group)


def _by_kind(run: RankedRun) -> dict[str, RankedRun]:
    return run.split(lambda question: question.kind)


def _split_table(runs: Sequence[RankedRun], split: Callable[[RankedRun], Mapping[str, RankedRun]]) -> Table:
    parts = [split(run) for run in runs]
    names = numbers(*(f"{name} ({len(part.answers)})" for name, part in sorted(parts[0].items())))
    rows = [
        (run.system, *(f"{its[name].values().mean():.3f}" for name in sorted(its)))
        for run, its in zip(runs, parts, strict=True)
    ]
    return Table("", ["system", *names], rows)


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

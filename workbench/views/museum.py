"""The bug museum as tables and text: the list of specimens, and one specimen in full."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType

from workbench.lab.museum.specimen import Answer, Side, Specimen, SpecimenRun, SpecimenRuns
from workbench.views.console import PlainTable, plain
from workbench.views.text import rendered


def specimens_table(specimens: Iterable[Specimen]) -> PlainTable:
    """One line per specimen: its name, its first report, and the symptom."""
    table = _table("specimen", "reported in", "symptom")
    for one in specimens:
        table.add_row(one.name, one.references[0], one.symptom)
    return table


def _table(*names: str) -> PlainTable:
    table = PlainTable()
    for name in names:
        table.add_column(name, no_wrap=name in ("specimen", "shown"))
    return table


@rendered.register(SpecimenRuns)
def rendered_runs(runs: Sequence[SpecimenRun]) -> RenderableType:
    """One line per specimen with whether it shows its bug, and below the number of those that do."""
    table = _table("specimen", "reported in", "symptom", "shown")
    for run in runs:
        one = run.specimen
        table.add_row(one.name, one.references[0], one.symptom, "yes" if run.shows else "no")
    shown = sum(run.shows for run in runs)
    total = f"{shown} of {len(runs)} specimens have their bug as shipped, and lose it with the change."
    return Group(table, plain(total))


def run_data(run: SpecimenRun) -> dict[str, Any]:
    """A specimen and its answers as a plain dictionary, for JSON."""
    one = run.specimen
    return {
        "name": one.name,
        "references": list(one.references),
        "symptom": one.symptom,
        "mechanism": one.mechanism,
        "change": one.change,
        "world": one.world,
        "expected": one.expected,
        "note": one.note,
        "shipped": _side_data(one.sides.shipped, run.shipped, run.shipped_healthy),
        "fixed": _side_data(one.sides.fixed, run.fixed, run.fixed_healthy),
        "shows": run.shows,
    }


def _side_data(side: Side, answer: Answer, healthy: bool) -> dict[str, Any]:
    answers = [{"name": name, "score": score} for name, score in answer.items()]
    return {"does": side.says, "answers": answers, "as_expected": healthy}


@rendered.register
def rendered_run(run: SpecimenRun) -> RenderableType:
    """A specimen in full: the report in words, both answers, and whether each is as expected."""
    one = run.specimen
    report = {
        "symptom": one.symptom,
        "mechanism": one.mechanism,
        "change": one.change,
        "input": one.world,
        "expected": one.expected,
    }
    parts: list[RenderableType] = [
        plain(one.name, "bold"),
        plain(", ".join(one.references), "dim"),
        _report_table(report),
        answers_table(run),
        plain(run_outcome(run)),
    ]
    if one.note:
        parts.append(plain(one.note, "dim"))
    return Group(*parts)


def _report_table(report: dict[str, str]) -> PlainTable:
    table = PlainTable(show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, text in report.items():
        table.add_row(name, text)
    return table


def answers_table(run: SpecimenRun) -> PlainTable:
    """Both sides: what each does, its answer (best first), and whether the answer is as expected."""
    table = _table("", "does", "answers", "as expected")
    sides = run.specimen.sides
    rows = (
        ("shipped", sides.shipped.says, run.shipped, run.shipped_healthy),
        ("fixed", sides.fixed.says, run.fixed, run.fixed_healthy),
    )
    for name, says, answer, healthy in rows:
        table.add_row(name, says, answer_text(answer), "yes" if healthy else "no")
    return table


def answer_text(answer: Answer) -> str:
    """An answer in a line: `exact 0.5, vec-1 0.5`."""
    return ", ".join(f"{name} {score:.4g}" for name, score in answer.items()) or "nothing"


def run_outcome(run: SpecimenRun) -> str:
    """A sentence that says whether the specimen shows its bug."""
    if run.shows:
        return "The shipped side has the bug, and the change fixes it."
    state = {True: "as expected", False: "not as expected"}
    return (
        f"This specimen does not show its bug: the shipped answer is {state[run.shipped_healthy]}, "
        f"the fixed answer is {state[run.fixed_healthy]}."
    )

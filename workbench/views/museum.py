"""The bug museum in words: a table of the specimens, and one of them run and explained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType

from workbench.lab.museum.specimen import Answer, Side, Specimen, SpecimenRun
from workbench.views.console import PlainTable, plain
from workbench.views.text import rendered


def specimens_table(specimens: Iterable[Specimen]) -> PlainTable:
    """One line a specimen: its name, where it was reported, and what was seen."""
    table = _table("specimen", "reported in", "what was seen")
    for one in specimens:
        table.add_row(one.name, one.references[0], one.symptom)
    return table


def _table(*names: str) -> PlainTable:
    table = PlainTable()
    for name in names:
        table.add_column(name, no_wrap=name in ("specimen", "shows it"))
    return table


def rendered_runs(findings: Sequence[SpecimenRun]) -> RenderableType:
    """The specimens that have been run, a line each, and how many of them show their bug."""
    table = _table("specimen", "reported in", "what was seen", "shows it")
    for finding in findings:
        one = finding.specimen
        table.add_row(one.name, one.references[0], one.symptom, "yes" if finding.shows else "no")
    shown = sum(finding.shows for finding in findings)
    total = f"{shown} of {len(findings)} show their bug as shipped, and lose it with the change."
    return Group(table, plain(total))


def run_data(finding: SpecimenRun) -> dict[str, Any]:
    """A specimen that has been run, as a plain dictionary."""
    one = finding.specimen
    return {
        "name": one.name,
        "references": list(one.references),
        "symptom": one.symptom,
        "mechanism": one.mechanism,
        "change": one.change,
        "world": one.world,
        "expected": one.expected,
        "note": one.note,
        "shipped": _side_data(one.shipped, finding.shipped, finding.shipped_healthy),
        "fixed": _side_data(one.fixed, finding.fixed, finding.fixed_healthy),
        "shows": finding.shows,
    }


def _side_data(side: Side, answer: Answer, healthy: bool) -> dict[str, Any]:
    answers = [{"name": name, "score": score} for name, score in answer.items()]
    return {"does": side.says, "answers": answers, "as_expected": healthy}


@rendered.register
def rendered_run(finding: SpecimenRun) -> RenderableType:
    """A specimen that has been run: the story in words, both answers, and whether each is as expected."""
    one = finding.specimen
    story = {
        "seen": one.symptom,
        "why": one.mechanism,
        "the change": one.change,
        "the world": one.world,
        "expected": one.expected,
    }
    parts: list[RenderableType] = [
        plain(one.name, "bold"),
        plain(", ".join(one.references), "dim"),
        _story_table(story),
        answers_table(finding),
        plain(run_outcome(finding)),
    ]
    if one.note:
        parts.append(plain(one.note, "dim"))
    return Group(*parts)


def _story_table(story: dict[str, str]) -> PlainTable:
    table = PlainTable(show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, text in story.items():
        table.add_row(name, text)
    return table


def answers_table(finding: SpecimenRun) -> PlainTable:
    """Both sides: what each does, what it answers, best first, and whether that is as expected."""
    table = _table("", "does", "answers", "as expected")
    one = finding.specimen
    rows = (
        ("shipped", one.shipped.says, finding.shipped, finding.shipped_healthy),
        ("fixed", one.fixed.says, finding.fixed, finding.fixed_healthy),
    )
    for name, says, answer, healthy in rows:
        table.add_row(name, says, answer_text(answer), "yes" if healthy else "no")
    return table


def answer_text(answer: Answer) -> str:
    """An answer in a line: `exact 0.5, vec-1 0.5`."""
    return ", ".join(f"{name} {score:.4g}" for name, score in answer.items()) or "nothing"


def run_outcome(finding: SpecimenRun) -> str:
    """Whether the specimen shows its bug, in a sentence."""
    if finding.shows:
        return "The bug is there as shipped, and gone with the change."
    state = {True: "as expected", False: "not as expected"}
    return (
        f"This specimen does not show its bug: shipped is {state[finding.shipped_healthy]}, "
        f"fixed is {state[finding.fixed_healthy]}."
    )

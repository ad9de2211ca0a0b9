"""`workbench reproduce`: what a pasted bug report says, with places, a verdict, and perhaps a case."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.app import AsJson, Details
from workbench.cli.output import print_error, print_output
from workbench.errors import InputError
from workbench.memory.addresses import SCHEME
from workbench.memory.files import read_input
from workbench.safe_text import counted, one_line
from workbench.systems.catalogue import SYSTEMS
from workbench.tables import Block, Code, Part, hanging
from workbench_plugins.cases.commands import Out, Overwrite
from workbench_plugins.cases.making import file_name
from workbench_plugins.cases.model import CaseNote, file_in_case, save_case
from workbench_plugins.reproduce.facts import GIVEN, KINDS, Fact, System, given_setting
from workbench_plugins.reproduce.judge import proposed
from workbench_plugins.reproduce.reading import read_report
from workbench_plugins.reproduce.report_patterns import WORDS
from workbench_plugins.reproduce.verdicts import NEEDS, STAND_IN, Verdict, verdict_of

LARGEST = 4_000_000
"""Bytes of a report."""
NAME_IT = "Paste the report into a file: workbench reproduce FILE; or pipe it in: … | workbench reproduce -"
"""What to type where a report cannot be read."""
MOST_SHOWN = 5
"""Lines that show the verdict; --details prints all."""

NAMED = ("symptom", "mechanism", "outside")
"""The kinds of facts whose name says more than their words."""

Question = Annotated[str, typer.Option(help="The question that fails, where another one was read.")]
Target = Annotated[str, typer.Option(help="The file that should be in the answer.")]
SystemName = Annotated[
    str, typer.Option("--system", help="The system of the report; see: workbench systems.")
]
Settings = Annotated[list[str] | None, typer.Option("--set", help="SLOT.PARAMETER=VALUE; can be repeated.")]
Notes = Annotated[list[Path] | None, typer.Option("--note", readable=False, help="A file with a note.")]
Memory = Annotated[
    Path | None,
    typer.Option("--memory", "-m", hidden=True, readable=False, help="Refused: a report has its own notes."),
]
Happened = Annotated[str, typer.Option(help=f"What happened: {', '.join(WORDS['memories']['happened'])}.")]


def reproduce(
    issue: Annotated[str, typer.Argument(help="The report in Markdown, or - for stdin.")],
    out: Out = None,
    overwrite: Overwrite = False,
    question: Question = "",
    target: Target = "",
    system: SystemName = "",
    happened: Happened = "",
    settings: Settings = None,
    notes: Notes = None,
    memory: Memory = None,
    judge: Annotated[
        str,
        typer.Option(
            help="MODEL@URL of an OpenAI-compatible server that may propose facts; it gets the text."
        ),
    ] = "",
    details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Read a pasted bug report and say what can be said. Exit codes: 0, 1, and 10, 11, 12 (docs/reports.md).

    Each fact has its line. Options correct what was read. Without --judge, no language model is asked.
    """
    if memory is not None:
        raise InputError(
            "A report is run on its own notes, and not on a memory.",
            f"Give the notes that it needs: --note FILE. To save a search of your own as a case: "
            f'workbench case new "QUESTION" --target FILE --memory {shlex.quote(str(memory))}',
        )
    text = _text(issue)
    report = read_report(text)
    if judge:
        report = report.with_given(*proposed(report, judge))
    facts = [
        Fact(kind, value, source=GIVEN)
        for kind, value in (("question", question), ("target", target))
        if value
    ]
    facts += [given_setting(one) for one in settings or ()]
    if happened:
        facts.append(_happened(happened))
    own = _notes(notes or [])
    facts += [Fact("note", one.path, source=GIVEN) for one in own]
    named = System(SYSTEMS.named(system).name, system, True) if system else None
    verdict = verdict_of(report.with_given(*facts, notes=own, system=named))
    file = _saved(verdict, out, overwrite)
    name = "report" if issue == "-" else one_line(Path(issue).name)
    print_output(verdict_data(verdict, file) if as_json else reply(verdict, name, details), as_json)
    if file is not None:
        print_error(f"Run it: workbench case run {shlex.quote(str(file))}")
    raise typer.Exit(verdict.exit_code)


def _saved(verdict: Verdict, out: Path | None, overwrite: bool) -> Path | None:
    """The file of the case; None without a case, or where a file of the case's own name is kept."""
    if verdict.case is None:
        return None
    path = out or Path(file_name(verdict.case))
    if out is None and path.exists() and not overwrite:
        print_error(f"{path} is there and was kept. --force replaces it, --out NAME writes this case, too.")
        return None
    return save_case(verdict.case, path, overwrite)


def _happened(name: str) -> Fact:
    if name not in WORDS["memories"]["happened"]:
        known = ", ".join(WORDS["memories"]["happened"])
        raise InputError(f"{name!r} is not something that may happen.", f"Give one of these: {known}.")
    return Fact("symptom", name, name=name, source=GIVEN)


def _notes(files: list[Path]) -> tuple[CaseNote, ...]:
    return tuple(
        CaseNote(path=file_in_case(one.name), text=read_input(one, "The note", LARGEST)) for one in files
    )


def _text(issue: str) -> str:
    if not issue:
        raise InputError("The name of the report is empty.", NAME_IT)
    if SCHEME in issue and not os.path.exists(issue):
        raise InputError(f"{issue} is an address, and the workbench fetches nothing.", NAME_IT)
    if issue != "-":
        return read_input(issue, "The report", LARGEST)
    data = sys.stdin.buffer.read(LARGEST + 1)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"The report is not UTF-8: {error}.", "Convert it to UTF-8.") from None
    if len(data) > LARGEST:
        raise InputError(f"The report has more than {LARGEST:,} bytes.", "Leave out the log.")
    return text


def verdict_data(verdict: Verdict, file: Path | None) -> dict[str, Any]:
    """A verdict as JSON: places count the characters of the report as it was pasted, from 0."""
    return {
        "verdict": verdict.kind,
        "exit_code": verdict.exit_code,
        "says": verdict.sentence,
        "more": list(verdict.more),
        "ask": list(verdict.ask),
        "case": str(file) if file else None,
        "system": asdict(verdict.report.system),
        "facts": [_fact(one) for one in verdict.report.facts],
        "candidates": [_fact(one) for one in verdict.report.candidates],
    }


def _fact(one: Fact) -> dict[str, Any]:
    return asdict(one) | {
        "what": one.kind,
        "why": one.source,
        "assumed": not one.line and one.source != GIVEN,
    }


def reply(verdict: Verdict, file: str, details: bool = False) -> list[Part]:
    """The verdict, what it rests on, and the next step; with `details`, each fact on a line of its own."""
    report = verdict.report
    perhaps = [one for one in report.candidates if one.kind != "question" and not report.of(one.kind)]
    rests = [*verdict.more, *_by_kind(report.facts, file)]
    rests += [_line(one, file, "perhaps ") for one in perhaps]
    if details:
        sure, unsure = report.facts, report.candidates
        rests = [*verdict.more, *(_line(one, file) for one in sure)]
        rests += [_line(one, file, "perhaps ") for one in unsure]
    shown = rests if details else rests[:MOST_SHOWN]
    parts: list[Part] = [Block(verdict.sentence, style="bold")]
    if shown:
        parts += ["", *map(hanging, shown)]
    if len(rests) > len(shown):
        parts.append(f"{counted(len(rests) - len(shown), 'more line')}: --details")
    if verdict.ask and verdict.kind == STAND_IN and not details:  # the report itself names the cause
        parts += ["", "What a reproduction in the program itself would need: --details"]
    elif verdict.ask:
        parts += [
            "",
            "Next, find out, or ask whoever reported it:",
            *(Code(f"> {one_line(one)}") for one in verdict.ask),
        ]
    if report.offered:
        parts += [
            "",
            "Was one of these the question? Then add it to the command:",
            *(Code(f"--question {shlex.quote(one_line(one.value))}") for one in report.offered),
        ]
    wrong = (
        "If you know it, or something was misread" if verdict.kind == NEEDS else "If something was misread"
    )
    options = "--question, --target, --system, --happened, --set NAME=VALUE, --note FILE"
    return [*parts, "", f"{wrong}: {options}."]


def _by_kind(facts: Sequence[Fact], file: str) -> Iterator[str]:
    """A line for each kind of fact, with the place of the first one, in the order of KINDS."""
    released = any(one.kind == "release" for one in facts)
    for kind in KINDS:
        some = [one for one in facts if one.kind == kind]
        if kind in NAMED:
            some = list({one.name: one for one in reversed(some)}.values())[::-1]
        if some and not (kind == "engine" and released):
            yield f"{some[0].where(file)}: {kind}: {', '.join(dict.fromkeys(map(_value, some)))}"


def _value(one: Fact) -> str:
    said = one_line(one.value)[:200]
    if one.kind == "setting":
        return f"{one.name}={said}"
    if one.kind in NAMED:
        return f'{one.name}, "{said}"'
    if one.kind == "image":
        return KINDS[one.kind]
    name = f" ({one.name})" if one.name and one.name != one.value and one.kind != "note" else ""
    return f'"{said}"{name}'


def _line(one: Fact, file: str, before: str = "") -> str:
    return f"{one.where(file)}: {before}{one.kind}: {_value(one)}"

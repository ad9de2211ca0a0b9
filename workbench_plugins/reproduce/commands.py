"""`workbench reproduce`: a bug report as it was pasted becomes a case, with a verdict and a reply."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.app import (
    AsJson,
)
from workbench.cli.output import print_error, print_output
from workbench.errors import InputError
from workbench.memory.files import read_input
from workbench.safe_text import one_line
from workbench_plugins.cases.commands import Out, Overwrite
from workbench_plugins.cases.making import file_name
from workbench_plugins.cases.model import save_case
from workbench_plugins.reproduce.judge import told
from workbench_plugins.reproduce.reading import read_report
from workbench_plugins.reproduce.trying import REPRODUCED, Verdict, tried

LARGEST = 4_000_000
"""Bytes of a report."""


def reproduce(
    issue: Annotated[Path, typer.Argument(readable=False, help="The report in Markdown, or - for stdin.")],
    out: Out = None,
    overwrite: Overwrite = False,
    judge: Annotated[
        str,
        typer.Option(help="MODEL@URL of an OpenAI-compatible server that may fill blanks; it gets the text."),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Make a running case of a bug report as it was pasted. Exit code 1 if it is not reproduced.

    The reply says for each thing where it was read, or what was assumed. Without --judge, no language model
    is asked.
    """
    text = _text(issue)
    verdict = tried(read_report(text, told(text, judge) if judge else None))
    file = save_case(verdict.run.case, out or Path(file_name(verdict.run.case)), overwrite)
    print_output(verdict_data(verdict, file) if as_json else reply(verdict, file), as_json)
    print_error(f"Run it: workbench case run {file}")
    raise typer.Exit(0 if verdict.kind in REPRODUCED else 1)


def _text(issue: Path) -> str:
    if str(issue) != "-":
        return read_input(issue, "The report", LARGEST)
    data = sys.stdin.buffer.read(LARGEST + 1)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"The report is not UTF-8: {error}.", "Convert it to UTF-8.") from None
    if len(data) > LARGEST:
        raise InputError(f"The report has more than {LARGEST:,} bytes.", "Leave out the log.")
    return text


def verdict_data(verdict: Verdict, file: Path) -> dict[str, Any]:
    """A verdict as JSON."""
    facts = [asdict(one) | {"assumed": not one.line} for one in verdict.facts]
    return {"verdict": verdict.kind, "says": verdict.description, "case": str(file), "facts": facts}


def reply(verdict: Verdict, file: Path) -> str:
    """The text of a reply to the report, in Markdown; what the report said stands in code spans alone."""
    rows = [f"| {one.what} | {_span(one.value)} | {one.description} |" for one in verdict.facts]
    return "\n".join(
        [
            verdict.description,
            "",
            "| what | value | where |",
            "|---|---|---|",
            *rows,
            "",
            "Please correct what was assumed. The case is attached:",
            f"`workbench case run {one_line(file.name)}` runs it.",
        ]
    )


def _span(text: str) -> str:
    return f"`{one_line(text).replace('`', chr(39)).replace('|', '¦')[:200]}`"

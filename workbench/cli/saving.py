"""The option --case of commands that search: it saves the search as a case."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.output import tell

if TYPE_CHECKING:
    from workbench.lab.cases.model import Case

CaseOut = Annotated[
    Path | None,
    typer.Option("--case", help="Save the search as a case in this file: NAME.case.yaml. See docs/cases.md."),
]


def saved_as_case(out: Path | None, made: Callable[[], Case]) -> None:
    """Saves the case that `made` gives, if the user asks for it. Raises InputError for a file that exists."""
    if out is None:
        return
    from workbench.lab.cases.files import save_case

    save_case(made(), out)
    tell(f"Saved as a case. Run it: workbench case run {out}")

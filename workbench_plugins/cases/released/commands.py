"""`workbench case confirm` and `bisect`: a released system judges a case, or its bounds among releases."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.app import (
    AsJson,
)
from workbench.cli.output import answer, print_error, print_output
from workbench.errors import InputError
from workbench.retrieval.pipeline import Pipeline
from workbench.safe_text import counted
from workbench_plugins.cases import SUFFIX
from workbench_plugins.cases.case_index import other_chunks
from workbench_plugins.cases.model import CaseFile, load_case
from workbench_plugins.cases.released import confirming
from workbench_plugins.cases.released.installing import Installed
from workbench_plugins.cases.running import pipeline_of_case, run_releases

File = Annotated[Path, typer.Argument(readable=False, help="The case file.")]


@dataclass(frozen=True)
class ReleaseOptions:
    """Options that say how a release is installed and run."""

    yes: Annotated[bool, typer.Option("--yes", "-y", help="Install releases without asking.")] = False
    offline: Annotated[bool, typer.Option("--offline", help="Install nothing; say what is missing.")] = False
    node: Annotated[
        Path | None, typer.Option("--node", help="A folder with the node that runs OpenClaw. Default: npm's.")
    ] = None
    python: Annotated[str, typer.Option("--python", help="A Python 3.12 or newer, for Basic Memory.")] = (
        "python3.12"
    )
    from_source: Annotated[
        bool, typer.Option("--from-source", help="Let packages without a wheel run their own scripts.")
    ] = False

    def consents(self, question: str, needed: Callable[[], Sequence[str]]) -> bool:
        """Names all packages and asks the person at the terminal; without one the answer is no.

        With --yes they are named too.
        """
        if self.offline:
            missing = question.removeprefix("Install ")[:-1]
            raise InputError(f"Offline, and missing: {missing}.", "Leave out --offline.")
        if not self.yes and not sys.stdin.isatty():
            return False
        packages = needed()
        print_error(f"It needs {counted(len(packages), 'package')}: {', '.join(packages)}.")
        return self.yes or typer.confirm(question)

    def confirmed(
        self, loaded: CaseFile, own: Pipeline, release: str = "", out: Path | None = None
    ) -> confirming.Confirmation:
        """What the release returns beside our system; a difference is saved."""
        judge = confirming.release_of(loaded.case, own, release)
        # Said before a large release is installed for nothing.
        if told := other_chunks(loaded.case, judge.ours, loaded.folder):
            print_error(told)
        installed = Installed(judge.package, judge.version, self.node, self.python, self.from_source)
        installed = installed.install(self.consents, judge.until)
        found = confirming.confirm(loaded.case, installed, judge.ours, loaded.folder)
        if not found.same:
            name = f"{loaded.path.name.removesuffix(SUFFIX)}.{judge.package}-{installed.version}.record.json"
            print_error(f"Saved: {confirming.save(found, loaded.case, out or loaded.path.with_name(name))}")
        return found


def confirm(
    file: File,
    how: ReleaseOptions,
    release: Annotated[
        str, typer.Option("--release", help="The release, such as 2026.9.6. Default: that of the case.")
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where a difference is saved. Default: beside the case."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let the released OpenClaw or Basic Memory answer a case, and compare its lists with ours.

    The release is installed once, after asking. Exit code 1 if a list differs. Our model of the release is
    wrong then, unless the case has other chunks than the release makes. The difference is saved as a record.
    """
    loaded = load_case(file)
    found = how.confirmed(loaded, pipeline_of_case(loaded.case.system, loaded.folder), release, out)
    answer(found, as_json, yes=found.same)


def bisect(
    file: File,
    how: ReleaseOptions,
    ours: Annotated[bool, typer.Option("--ours", help="Ask our systems alone, and no released one.")] = False,
) -> None:
    """Find the first release in which a case fails, and the first in which it holds again.

    All releases run as systems of ours; the released system then judges both. Exit code 1 if the case fails
    on a release.
    """
    loaded = load_case(file)
    matrix = run_releases(loaded.case, folder=loaded.folder)
    if matrix.holds:
        print_output("The case holds on every release; there is nothing to look for.")
        return
    for what, run in (("first bad", matrix.first_bad), ("first good", matrix.first_good)):
        release = run.pipeline.source.release if run else ""
        print_output(f"{what}: {release} ({run.pipeline.name})" if run else f"{what}: none")
        if run and not ours:
            try:
                print_output(how.confirmed(loaded, run.pipeline))
            except InputError as error:
                print_error(f"Not confirmed: {error.problem} {error.remedy}")
    raise typer.Exit(1)

"""Commands that let a released system judge a case: one release, or the first bad and the first good one."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.confirm import confirming
from benchmarks.confirm.releases import Installed
from workbench.cli import main
from workbench.cli.app import AsJson, shared_options
from workbench.cli.output import put, tell
from workbench.errors import InputError
from workbench_plugins.cases import SUFFIX
from workbench_plugins.cases.commands import File
from workbench_plugins.cases.model import CaseFile, load_case
from workbench_plugins.cases.running import run_releases

released = typer.Typer(
    help="Lets a released system judge a case.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@dataclass(frozen=True)
class ReleaseOptions:
    """Options that say how a release is installed and run."""

    yes: Annotated[bool, typer.Option("--yes", "-y", help="Install the release without asking.")] = False
    offline: Annotated[bool, typer.Option("--offline", help="Install nothing; say what is missing.")] = False
    node: Annotated[
        Path | None, typer.Option("--node", help="A folder with the node that runs OpenClaw.")
    ] = None
    python: Annotated[str, typer.Option("--python", help="A Python 3.12 or newer, for Basic Memory.")] = (
        "python3.12"
    )

    def consents(self, question: str) -> bool:
        """Asks the person at the terminal; without one the answer is no, unless it was given."""
        if self.offline:
            missing = question.removeprefix("Install ")[:-1]
            raise InputError(f"Offline, and missing: {missing}.", "Leave out --offline.")
        return self.yes or (sys.stdin.isatty() and typer.confirm(question))

    def confirmed(self, loaded: CaseFile, release: str, out: Path | None = None) -> confirming.Confirmation:
        """What the release returns beside ours; a difference is saved."""
        package, version, ours = confirming.release_of(loaded.case, release, loaded.folder)
        installed = Installed(package, version, self.node, self.python)
        installed.install(self.consents)
        found = confirming.confirm(loaded.case, installed, ours, loaded.folder)
        if not found.same:
            name = f"{loaded.path.name.removesuffix(SUFFIX)}.{package}-{version}.record.json"
            tell(f"Saved: {confirming.save(found, loaded.case, out or loaded.path.with_name(name))}")
        return found


@released.command()
@shared_options
def confirm(
    file: File,
    how: ReleaseOptions,
    release: Annotated[str, typer.Option("--release", help="The release, such as 2026.9.6.")] = "",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where a difference is saved. Default: beside the case."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let the released OpenClaw or Basic Memory answer a case, and compare its lists with ours.

    The release is installed once, after asking. Exit code 1 if a list differs: a finding about our system,
    which is saved as a record.
    """
    found = how.confirmed(load_case(file), release, out)
    put(found.as_json() if as_json else found, as_json)
    raise typer.Exit(0 if found.same else 1)


@released.command()
@shared_options
def bisect(
    file: File,
    how: ReleaseOptions,
    judged: Annotated[
        bool, typer.Option("--confirm", help="Let the released system answer on the bounds, too.")
    ] = False,
) -> None:
    """Find the first release in which a case fails, and the first in which it holds again.

    The releases run as systems of ours. Exit code 1 if the case fails on one of them.
    """
    loaded = load_case(file)
    matrix = run_releases(loaded.case, folder=loaded.folder)
    for what, run in (("first bad", matrix.first_bad), ("first good", matrix.first_good)):
        release = run.pipeline.source.release if run else ""
        put(f"{what}: {release} ({run.pipeline.name})" if run else f"{what}: none")
        if judged and run:
            try:
                put(how.confirmed(loaded, release))
            except InputError as error:
                tell(f"Not confirmed: {error.problem} {error.remedy}")
    raise typer.Exit(0 if matrix.holds else 1)


if __name__ == "__main__":
    main(released)

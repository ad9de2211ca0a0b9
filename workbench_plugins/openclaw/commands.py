"""`workbench config`: the settings in use of an openclaw.json, and what each of its keys does here."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from workbench.cli.app import (
    AsJson,
)
from workbench.cli.output import print_output
from workbench.masking import masked
from workbench_plugins.openclaw.config import Configuration, read
from workbench_plugins.openclaw.config_values import FEBRUARY_FORM, SEPTEMBER_FORM

NO_KEYS = (
    "The file sets no key of memory search. OpenClaw reads such keys under "
    f"{FEBRUARY_FORM} or {SEPTEMBER_FORM}."
)
MARKS = {"used": "✓", "no effect": "–", "unknown": "?"}


def configuration_text(configuration: Configuration) -> str:
    """The settings in use, then one line per key: ✓ used, – no effect, ? unknown. Secrets are masked."""
    lines = [f"{name:<10} {value}" for name, value in _summary(configuration).items()]
    keys = [
        f"{MARKS[one.fate]} {one.key} = {one.value}\n    {one.description}" for one in configuration.findings
    ]
    return masked("\n".join([*lines, "", *(keys or [NO_KEYS])]))


def configuration_data(configuration: Configuration) -> dict[str, Any]:
    """The same for JSON."""
    keys = [{name: masked(text) for name, text in one.as_json().items()} for one in configuration.findings]
    return {**{name: masked(text) for name, text in _summary(configuration).items()}, "keys": keys}


def _summary(configuration: Configuration) -> dict[str, str]:
    return {
        "agent": configuration.agent,
        "system": configuration.pipeline.name,
        "release": f"{configuration.choice.release}, because {configuration.choice.why}",
        "model": configuration.model or "the workbench's own",
        "chunker": configuration.chunker.name,
        "store": str(configuration.store),
    }


def config(
    file: Annotated[str, typer.Argument(help="An openclaw.json, or FILE#AGENT.")],
    release: Annotated[
        str, typer.Option("--release", help="The release of OpenClaw that reads the file.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Print what each key of an openclaw.json does here. Exit code 1 when one is not known."""
    configuration = read(file, release=release)
    print_output(configuration_data(configuration) if as_json else configuration_text(configuration), as_json)
    raise typer.Exit(1 if any(one.fate == "unknown" for one in configuration.findings) else 0)

"""An openclaw.json on the command line: `--config` before any command, and what became of its keys."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.app import AsJson, app, count
from workbench.cli.output import put, tell

if TYPE_CHECKING:
    from workbench.systems.openclaw.config.system import Configuration


def asked_of(context: typer.Context) -> Configuration | None:
    """The configuration that `--config` names, None without it."""
    found: Configuration | None = context.obj
    return found


@app.callback()
def options(
    context: typer.Context,
    config: Annotated[
        str | None,
        typer.Option("--config", help="An openclaw.json, or FILE#AGENT: the defaults of what follows."),
    ] = None,
) -> None:
    """What comes before a command: a configuration takes the place of the options' defaults.

    Its addresses of providers become the environment of this process.
    """
    if config is None:
        return
    from workbench.systems.openclaw.config.system import read

    made = context.obj = read(config)
    os.environ.update(made.environment)
    for variable, address in made.environment.items():
        tell(f"{variable} is {address}, as {config} says: texts and your key go there.")
    usual = _defaults(config, made)
    context.default_map = dict.fromkeys(_commands(), usual) | {
        "config": {"file": config},
        "show": {"name": config},
    }
    if made.unused and context.invoked_subcommand != "config":
        tell(
            f"{config}: {count(made.unused, 'key')} have no effect here or are not known "
            f"(first: {made.unused[0].key}).\n  All of them: workbench config {config}"
        )


def _commands() -> list[str]:
    return [str(one.name or getattr(one.callback, "__name__", "")) for one in app.registered_commands]


def _defaults(config: str, made: Configuration) -> dict[str, Any]:
    """Values by the names of the parameters that commands have; each command takes those that it knows."""
    usual: dict[str, Any] = {
        "system": config,
        "systems": [config],
        "extra": made.extra_paths,
        "citations": made.citations,
    }
    if made.model:
        usual["model"] = made.model
    if made.sessions:
        usual["sessions"] = made.sessions
    if made.workspace:
        usual |= {"memory": made.workspace, "folder": made.workspace}
    return usual


@app.command()
def config(
    file: Annotated[str, typer.Argument(help="An openclaw.json, or FILE#AGENT.")],
    as_json: AsJson = False,
) -> None:
    """Print what each key of an openclaw.json became here. Exit code 1 when one is not known."""
    from workbench.systems.openclaw.config.system import read
    from workbench.views.configuration import configuration_data, configuration_text

    made = read(file)
    put(configuration_data(made) if as_json else configuration_text(made), as_json)
    raise typer.Exit(1 if any(one.fate == "unknown" for one in made.findings) else 0)

"""OpenClaw configurations on the command line: the options before a command, and `workbench config`."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.app import CONFIG_FILE, AsJson, app, name_of
from workbench.cli.output import put, tell
from workbench.errors import InputError
from workbench.safe_text import counted

if TYPE_CHECKING:
    from workbench.memory.embedding.engines import ModelVariant
    from workbench.memory.embedding.local import Embedder, LocalEmbedder, UsualReading
    from workbench.systems.openclaw.config.system import Configuration


def asked_of(context: typer.Context) -> Configuration | None:
    """The configuration of `--config`, None without it."""
    found: Configuration | None = context.obj
    return found


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        put(f"workbench {version('hybrid-search-workbench')}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    config: Annotated[
        str | None,
        typer.Option("--config", help="An openclaw.json, or FILE#AGENT: its settings become the defaults."),
    ] = None,
    release: Annotated[
        str, typer.Option("--release", help="With --config: the release of OpenClaw that reads the file.")
    ] = "",
    _: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit."),
    ] = False,
    base_url: Annotated[
        str | None,
        typer.Option(
            "--base-url", help="With --config: the address of its provider, which gets your texts and key."
        ),
    ] = None,
) -> None:
    """Teach, explore and reproduce how hybrid search fails."""
    CONFIG_FILE.set(None)
    if config is None:
        if base_url is not None or release:
            raise InputError("--base-url and --release belong to a --config file.", "Add --config FILE.")
        return
    from workbench.systems.openclaw.config.system import read

    made = context.obj = read(config, release=release)
    CONFIG_FILE.set(config)
    if base_url is not None:
        os.environ.update(dict.fromkeys(made.address_variables, base_url))
    for address in dict.fromkeys(made.unnamed_addresses().values()):
        tell("\n  ".join(_unnamed_message(made, address)))
    usual = _defaults(config, made)
    context.default_map = dict.fromkeys(map(name_of, app.registered_commands), usual) | {
        "config": {"file": config, "release": release},
        "show": {"name": usual["system"]},
    }
    if context.invoked_subcommand == "config":
        return
    tell(f"{config}: read as a file of OpenClaw {made.choice.release}, because {made.choice.why}.")
    if made.unused:
        tell(
            f"{config}: {counted(len(made.unused), 'key')} without effect here or unknown "
            f"(first: {made.unused[0].key}).\n  All of them: workbench config {config}"
        )


def configured_embedder(
    context: typer.Context,
    model: str,
    reading: str | None,
    usual: UsualReading,
    download: bool = False,
    variant: ModelVariant | None = None,
) -> Embedder:
    """The embedder of that name; in fp32 if this processor does not gain by the precision of `variant`.

    A local model has the `usual` reading if none is named; stderr says so if that cuts long chunks off anew.
    Raises InputError when the configuration wants its provider at an address that the user has not named:
    the texts and the user's key would go there.
    """
    from workbench.memory.embedding.local import READ_WHOLE, LocalEmbedder, Truncated, reading_named
    from workbench.memory.embedding.providers.catalogue import embedder_named
    from workbench.memory.embedding.providers.embedder import RemoteEmbedder

    if not model.strip():
        raise InputError("--model is empty.", "Name a model: --model all-MiniLM-L6-v2, or leave it out.")
    named = None if reading is None else reading_named(reading)
    embedder, made = embedder_named(model, named, download, variant, usual.reading), asked_of(context)
    if made is not None and isinstance(embedder, RemoteEmbedder):
        address = made.unnamed_addresses().get(embedder.provider.url_variable)
        if address is not None:
            raise InputError(*_unnamed_message(made, address))
    if not isinstance(embedder, LocalEmbedder):
        return embedder
    if reading is None and not usual.kept and embedder.reading == Truncated():
        tell(
            f"The memory has more than {READ_WHOLE / 1e6:.0f} MB: of each chunk, only what fits into the "
            "model's window is embedded.\n  --reading windowed embeds all of it, and takes 1.5 times as long."
        )
    return _usable(embedder)


def _usable(embedder: LocalEmbedder) -> LocalEmbedder:
    """The embedder in its own precision, or else in fp32. Prints on stderr which, and why."""
    from workbench.memory.embedding.engines import usable

    wanted = embedder.variant
    variant, found = usable(wanted, lambda one: embedder.engine if one == wanted else embedder.engine_of(one))
    if found and variant == wanted:
        tell(f"{wanted.name}: {found}.")
    elif found:
        tell(f"{wanted.name} is not used: {found}. The vectors are computed in fp32.")
    return embedder if variant == wanted else replace(embedder, variant=variant)


def _unnamed_message(made: Configuration, address: str) -> tuple[str, str]:
    variables = " or ".join(f"export {one}={address}" for one in made.unnamed_addresses())
    return (
        f"{made.file} asks for {made.search.provider} at {address}, an address that you have not named. "
        "It would get your texts and your key.",
        f"If you trust it: workbench --config {made.file} --base-url {address} … or {variables}",
    )


def _defaults(config: str, made: Configuration) -> dict[str, Any]:
    """Default values by parameter name; each command uses those that it has."""
    usual: dict[str, Any] = {
        "system": f"{made.choice.pipeline.name}@{config}",
        "systems": [f"{made.choice.pipeline.name}@{config}"],
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
    release: Annotated[
        str, typer.Option("--release", help="The release of OpenClaw that reads the file.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Print what each key of an openclaw.json does here. Exit code 1 when one is not known."""
    from workbench.systems.openclaw.config.system import read
    from workbench.views.configuration import configuration_data, configuration_text

    made = read(file, release=release)
    put(configuration_data(made) if as_json else configuration_text(made), as_json)
    raise typer.Exit(1 if any(one.fate == "unknown" for one in made.findings) else 0)

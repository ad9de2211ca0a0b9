"""The command that opens a page on a memory, for people who write no code."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from typing import Annotated

import typer

from workbench.cli.app import SAMPLE, IndexFile, ReEmbed, app, opened_index
from workbench.cli.output import tell


class Theme(StrEnum):
    """The colours of the page."""

    LIGHT = "light"
    DARK = "dark"


@app.command()
def explore(
    memory: Annotated[
        str, typer.Argument(help="The memory's folder, an OpenClaw SQLite file, or the address of an index.")
    ] = SAMPLE,
    index_file: IndexFile = None,
    re_embed: ReEmbed = False,
    theme: Annotated[Theme, typer.Option(help="The colours of the page.")] = Theme.LIGHT,
    port: Annotated[int, typer.Option(help="The port of the page.")] = 8866,
    browser: Annotated[bool, typer.Option(help="Whether to open a browser.")] = True,
) -> None:
    """Open one page on a memory: ask, compare two systems, move a threshold, and read the chunks."""
    from workbench.cli.jupyter import serve
    from workbench.cli.voila import check, launch
    from workbench.memory.files import memory_root
    from workbench.memory.index import default_index_path
    from workbench.systems.opening import folder_of

    check()
    folder = folder_of(memory)
    if folder is not None:
        root = memory_root(folder)  # before anything starts
        memory = str(root)
        if not (index_file or default_index_path(root)).exists():
            tell(f"Indexing {folder}. The first time takes a minute or two.")
            own = ["--index", str(index_file)] if index_file else []
            if code := serve([sys.executable, "-m", "workbench", "index", memory, *own], os.environ):
                raise typer.Exit(code)
    with opened_index(memory, index_file, re_embed):
        pass  # what cannot be opened ends the command here
    tell("Starting the page, which takes some seconds. Ctrl-C ends it.")
    raise typer.Exit(launch(memory, index_file, re_embed, theme.value, port, browser))

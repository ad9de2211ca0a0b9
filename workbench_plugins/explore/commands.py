"""The command that opens a page on a memory, for people who write no code."""

from __future__ import annotations

import os
import sys
import webbrowser
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.app import SAMPLE, IndexFile, IndexOptions, ReEmbed
from workbench.cli.lab import check_installed, serve
from workbench.cli.numbers import port_number
from workbench.cli.output import print_error
from workbench.errors import InputError, Interrupted


def _labelled(memory: str) -> Any:
    """The labelled questions in the memory's folder; None if it has none."""
    from workbench.measure.questions import labels_of
    from workbench.memory.opening import folder_of

    folder = folder_of(memory)
    return None if folder is None else labels_of(folder)


def explore(
    memory: Annotated[
        str, typer.Argument(help="The memory's folder, an OpenClaw SQLite file, or the address of an index.")
    ] = SAMPLE,
    index_file: IndexFile = None,
    re_embed: ReEmbed = False,
    questions: Annotated[
        Path, typer.Option(help="The file to which the page adds questions with their right answers.")
    ] = Path("explored-questions.yaml"),
    port: Annotated[
        int, typer.Option(parser=port_number, help="The port of the page; 0 takes any free one.")
    ] = 8866,
    browser: Annotated[bool, typer.Option(help="Whether to open a browser.")] = True,
) -> None:
    """Open one page on a memory: ask, compare two systems, move a threshold, and read the chunks."""
    from workbench.memory.files import memory_root
    from workbench.memory.index_files import file_to_open
    from workbench.memory.opening import folder_of

    check_installed("starlette", "Starlette, which serves the page,")
    if questions.is_dir():
        raise InputError(f"{questions} is a folder, and no file.", "Name a file in it: --questions FILE.yaml")
    folder = folder_of(memory)
    if folder is not None:
        root = memory_root(folder)  # before anything starts
        memory = str(root)
        if not (index_file or file_to_open(root)).exists():
            print_error(f"Indexing {folder}. The first time takes a minute or two.")
            own = ["--vectors", *(["--index", str(index_file)] if index_file else [])]
            if code := serve([sys.executable, "-m", "workbench", "index", memory, *own], os.environ):
                raise typer.Exit(code)

    def ready(address: str, once: str) -> None:
        # Not `print_error`, which hides what follows a question mark: here that is the token.
        print(f"The page is at {address}\nCtrl-C ends it.", file=sys.stderr, flush=True)
        if browser:
            webbrowser.open(once)

    with IndexOptions(memory, index_file, re_embed).opened() as index:
        # The model is loaded while the rest of the page is: both take most of a second.
        with ThreadPoolExecutor(1) as beside:
            beside.submit(index.embedder.embed, ["ready"], "query")
            from workbench_plugins.explore.page_server import serve_page
        try:
            serve_page(index, _labelled(memory), questions, port, ready)
        except KeyboardInterrupt:
            raise Interrupted("Stopped.") from None

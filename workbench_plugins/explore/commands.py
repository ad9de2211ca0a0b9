"""Starts Voila on the page of `workbench explore`: a notebook with one hidden cell.

The command that opens a page on a memory, for people who write no code.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.app import SAMPLE, IndexFile, IndexOptions, ReEmbed, app
from workbench.cli.lab import check_installed, serve
from workbench.cli.output import tell

if TYPE_CHECKING:
    from workbench.memory.index import OpenIndex

HERE = Path(__file__).parent
ASKED = "WORKBENCH_EXPLORE"
"""The variable that tells the page which memory to open, as JSON: a name with any character passes."""

QUIET = {
    "Voila": {
        "logging_config": {
            "filters": {"plain": {"()": "workbench_plugins.explore.commands.Plain"}},
            "handlers": {"console": {"filters": ["plain"]}},
            "loggers": {"tornado.general": {"level": "ERROR"}},
        }
    },
    "VoilaConfiguration": {"file_allowlist": []},
    # Sockets in a folder of this user, and no ports: Python's kernels warn that others could read those.
    "KernelManager": {"transport": "ipc"},
}
"""Settings of Voila: no file of the folder is served, and its log says where the page is and what fails."""

CELL = "from workbench_plugins.explore.commands import page\npage()"


class Plain(logging.Filter):
    """Lets pass what a reader of Voila's log needs: the address of the page, and errors."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record says one of these."""
        return record.levelno >= logging.ERROR or "http://127.0.0.1" in record.getMessage()


def launch(memory: str, index_file: Path | None, re_embed: bool, theme: str, port: int, browser: bool) -> int:
    """Serves the page until it is ended; returns the exit code of Voila."""
    with tempfile.TemporaryDirectory(prefix="workbench-explore-") as folder:
        command = [*command_line(Path(folder), theme, port), *([] if browser else ["--no-browser"])]
        return serve(command, environment(Path(folder), memory, index_file, re_embed))


def command_line(folder: Path, theme: str, port: int) -> list[str]:
    """The command that shows the page, on the loopback address only; it writes the notebook to `folder`.

    A token keeps other users of this machine out. Voila prints the address with it.
    """
    notebook = folder / "explore.ipynb"
    notebook.write_text(json.dumps(_notebook()), encoding="utf-8")
    return [
        sys.executable, "-m", "voila", str(notebook), "--Voila.ip=127.0.0.1", f"--port={port}", "--token",
        "--template=workbench", f"--theme={theme}",
    ]  # fmt: skip


def _notebook() -> dict[str, Any]:
    cell: dict[str, Any] = {
        "cell_type": "code",
        "id": "page",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
    }
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    title = {"title": "workbench explore", "kernelspec": kernel}
    return {"cells": [{**cell, "source": CELL}], "metadata": title, "nbformat": 4, "nbformat_minor": 5}


def environment(folder: Path, memory: str, index_file: Path | None, re_embed: bool) -> dict[str, str]:
    """This process's environment, with the memory to open, the template of the page and Voila's settings.

    The settings are written to `folder`.
    """
    (folder / "voila.json").write_text(json.dumps(QUIET), encoding="utf-8")
    asked = json.dumps([memory, str(index_file) if index_file else None, re_embed])
    paths = [str(HERE / "page"), os.environ.get("JUPYTER_PATH", "")]
    settings = [str(folder), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    return os.environ | {
        ASKED: asked,
        "JUPYTER_PATH": os.pathsep.join(path for path in paths if path),
        "JUPYTER_CONFIG_PATH": os.pathsep.join(path for path in settings if path),
        "JUPYTER_PREFER_ENV_PATH": "1",
    }


def page() -> Any:
    """The page on the memory that was asked for; an error becomes a page that says it in plain words."""
    from workbench_plugins.explore.page import MemoryPage, problem_page

    try:
        memory, index_file, re_embed = json.loads(os.environ[ASKED])
        index = _opened(memory, index_file, re_embed)
        return MemoryPage(index, _labelled(memory))
    except Exception as error:  # a page is all that the reader sees
        return problem_page(error)


def _opened(memory: str, index_file: str | None, re_embed: bool) -> OpenIndex:
    from workbench.memory.opening import open_memory

    return open_memory(memory, index_path=Path(index_file) if index_file else None, re_embed=re_embed)


def _labelled(memory: str) -> Any:
    """The labelled questions in the memory's folder; None if it has none."""
    from workbench.measure.questions import labels_of
    from workbench.memory.opening import folder_of

    folder = folder_of(memory)
    return None if folder is None else labels_of(folder)


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
    from workbench.memory.files import memory_root
    from workbench.memory.index import default_index_path
    from workbench.memory.opening import folder_of

    check_installed("voila", "Voila, which shows the page,")
    folder = folder_of(memory)
    if folder is not None:
        root = memory_root(folder)  # before anything starts
        memory = str(root)
        if not (index_file or default_index_path(root)).exists():
            tell(f"Indexing {folder}. The first time takes a minute or two.")
            own = ["--index", str(index_file)] if index_file else []
            if code := serve([sys.executable, "-m", "workbench", "index", memory, *own], os.environ):
                raise typer.Exit(code)
    with IndexOptions(memory, index_file, re_embed).opened():
        pass  # what cannot be opened ends the command here
    tell("Starting the page, which takes some seconds. Ctrl-C ends it.")
    raise typer.Exit(launch(memory, index_file, re_embed, theme.value, port, browser))

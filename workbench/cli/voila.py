"""Starts Voila on the page of `workbench explore`: a notebook with one hidden cell."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.cli.jupyter import serve
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.memory.index import OpenIndex

HERE = Path(__file__).parent
ASKED = "WORKBENCH_EXPLORE"
"""The variable that tells the page which memory to open, as JSON: a name with any character passes."""

QUIET = {
    "Voila": {
        "logging_config": {
            "filters": {"plain": {"()": "workbench.cli.voila.Plain"}},
            "handlers": {"console": {"filters": ["plain"]}},
            "loggers": {"tornado.general": {"level": "ERROR"}},
        }
    },
    "VoilaConfiguration": {"file_allowlist": []},
    # Sockets in a folder of this user, and no ports: Python's kernels warn that others could read those.
    "KernelManager": {"transport": "ipc"},
}
"""Settings of Voila: no file of the folder is served, and its log says where the page is and what fails."""

CELL = "from workbench.cli.voila import page\npage()"


class Plain(logging.Filter):
    """Lets pass what a reader of Voila's log needs: the address of the page, and errors."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record says one of these."""
        return record.levelno >= logging.ERROR or "http://127.0.0.1" in record.getMessage()


def check() -> None:
    """Raises InputError when Voila is not installed."""
    if importlib.util.find_spec("voila") is None:
        raise InputError(
            "Voila is not installed, which shows the page.",
            "Install it with the workbench: pip install 'hybrid-search-workbench[lab]'",
        )


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
    from workbench.views.widgets.page import MemoryPage, problem_page

    try:
        memory, index_file, re_embed = json.loads(os.environ[ASKED])
        index = _opened(memory, index_file, re_embed)
        return MemoryPage(index, _labelled(memory))
    except Exception as error:  # a page is all that the reader sees
        return problem_page(error)


def _opened(memory: str, index_file: str | None, re_embed: bool) -> OpenIndex:
    from workbench.systems.opening import open_memory

    return open_memory(memory, index_path=Path(index_file) if index_file else None, re_embed=re_embed)


def _labelled(memory: str) -> Any:
    """The labelled questions in the memory's folder; None if it has none."""
    from workbench.lab.questions import labels_of
    from workbench.systems.opening import folder_of

    folder = folder_of(memory)
    return None if folder is None else labels_of(folder)

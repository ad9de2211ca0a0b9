"""A released Basic Memory on this machine: indexed in a home of its own, and asked over MCP.

Only two things are given to it: the address of the server in `embeddings.py`, and pysqlite3 in place of a
sqlite3 that cannot load extensions.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workbench_plugins.cases.released.installing import Installed, settings
from workbench_plugins.cases.released.release_answers import Ask

LEAST = 0.3
SQLITE = """
import sys
import pysqlite3.dbapi2
sys.modules.update({"sqlite3": pysqlite3, "sqlite3.dbapi2": pysqlite3.dbapi2})
"""
COMMAND = ("-m", "basic_memory.cli.main")


def environment(home: Path, url: str, dimensions: int, least: float) -> dict[str, str]:
    """The variables of the release's process: its home, and OpenAI's API at `url` for embeddings."""
    return {
        **settings("basic-memory"),
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(home / "shim"),
        "PYTHONSAFEPATH": "1",
        "OPENAI_BASE_URL": url,
        "BASIC_MEMORY_SEMANTIC_EMBEDDING_DIMENSIONS": f"{dimensions}",
        "BASIC_MEMORY_SEMANTIC_MIN_SIMILARITY": f"{least:g}",
    }


def prepare(home: Path, folder: Path) -> None:
    """A home whose project main holds a copy of the folder's notes; the release writes heads into them."""
    notes = home / "basic-memory"
    shutil.copytree(folder, notes, ignore=lambda _, names: [name for name in names if _is_no_note(name)])
    (home / "shim").mkdir()
    (home / "shim" / "sitecustomize.py").write_text(SQLITE, encoding="utf-8")


def _is_no_note(name: str) -> bool:
    return "." in name and not name.endswith(".md")


@contextmanager
def running(
    installed: Installed,
    folder: Path,
    url: str,
    dimensions: int = 384,
    least: float = LEAST,
    more: Mapping[str, str] | None = None,
) -> Iterator[Ask]:
    """A release that has indexed a copy of the folder; its tool search_notes returns (permalink, score).

    `url` is the server of vectors, which have so many `dimensions`, and `least` the least similarity of a
    result. `more` are further variables of the release's process, such as those of another database.
    """
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        prepare(home, folder)
        variables = environment(home, url, dimensions, least) | dict(more or {})
        command = [installed.interpreter, *COMMAND, "reindex"]
        subprocess.run(command, cwd=home, env=variables, check=True, capture_output=True)
        with _served(installed, variables) as ask:
            yield ask


@contextmanager
def _served(installed: Installed, variables: Mapping[str, str]) -> Iterator[Ask]:
    """The release as an MCP server on stdio, in whose event loop each question is asked."""
    from anyio.from_thread import start_blocking_portal
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(
        command=installed.interpreter, args=[*COMMAND, "mcp"], env=dict(variables), cwd=variables["HOME"]
    )
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server)) as client:

        def ask(question: str, **arguments: Any) -> list[list[Any]]:
            return portal.call(_rows, client, {"query": question, **arguments})

        yield ask


async def _rows(client: Any, arguments: Mapping[str, Any]) -> list[list[Any]]:
    import anyio

    with anyio.fail_after(120):
        result = await client.call_tool("search_notes", {**settings("search_notes"), **arguments})
    said = result.structured_content or {}
    found = said.get("result", said)
    return [[row["permalink"], row["score"]] for row in found["results"]]

"""A released Basic Memory on this machine: indexed in a home of its own, and asked over MCP.

Only two things are given to it: the address of the server in `embeddings.py`, and pysqlite3 in place of a
sqlite3 that cannot load extensions.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.progress import progress_bar
from workbench_plugins.cases.released.installing import settings

MODES = ("text", "vector", "hybrid")
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


async def answers(
    python: str, variables: Mapping[str, str], questions: Iterable[str], modes: Sequence[str] = MODES
) -> dict[str, Any]:
    """The rows of every mode and question."""
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(
        command=python, args=[*COMMAND, "mcp"], env=dict(variables), cwd=variables["HOME"]
    )
    every = list(questions)
    async with Client(server) as client:
        return {
            mode: {
                one: await _rows(client, mode, one) for one in progress_bar(every, desc=mode, unit="question")
            }
            for mode in modes
        }


async def _rows(client: Any, mode: str, question: str) -> list[list[Any]]:
    import anyio

    with anyio.fail_after(120):
        result = await client.call_tool(
            "search_notes",
            {**settings("search_notes"), "query": question, "search_type": mode},
        )
    said = result.structured_content or {}
    found = said.get("result", said)
    return [[row["permalink"], row["score"]] for row in found["results"]]


def recorded(
    python: str,
    folder: Path,
    questions: Iterable[str],
    url: str,
    dimensions: int = 384,
    least: float = LEAST,
    modes: Sequence[str] = MODES,
    more: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A folder indexed by a release and asked every question in every mode: rows of permalink and score.

    `more` are variables of the release's process, such as those of another database.
    """
    import anyio

    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        prepare(home, folder)
        variables = environment(home, url, dimensions, least) | dict(more or {})
        command = [python, *COMMAND, "reindex"]
        subprocess.run(command, cwd=home, env=variables, check=True, capture_output=True)
        return anyio.run(answers, python, variables, questions, modes)

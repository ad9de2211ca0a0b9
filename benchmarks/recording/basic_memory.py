"""Record what a release of Basic Memory answers about folders of notes.

    python3.12 -m venv RELEASE && RELEASE/bin/pip install basic-memory==0.23.2 pysqlite3-binary
    python -m benchmarks.recording.basic_memory RELEASE/bin/python OUT.json --release 0.23.2 \\
        --workspace sample=sample_memory --questions RECORD.json

The release runs unmodified, in a process and a home of its own, and is asked over MCP, through its tool
search_notes. Only two things are given to it: the address of `benchmarks.recording.embeddings`, and pysqlite3
in place of a sqlite3 that cannot load extensions. The questions are those of another record. The result is
results[workspace][mode][question] = rows of permalink and score.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from tqdm.auto import tqdm

from benchmarks.recording import questions_of, write
from benchmarks.recording.embeddings import served

MODES = ("text", "vector", "hybrid")
LEAST = 0.3
PAGE = 10
ABOUT = (
    "search_notes of the real server, ten results a page; files without front matter in the project main; "
    f"packaged all-MiniLM-L6-v2, truncated, min similarity {LEAST:g}; rows are (permalink, score)"
)
SQLITE = """
import sys
import pysqlite3.dbapi2
sys.modules["sqlite3"] = sys.modules["pysqlite3"]
sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2
"""
COMMAND = ("-m", "basic_memory.cli.main")


def environment(home: Path, url: str, library: Path | None) -> dict[str, str]:
    """The variables of the release's process: its home, and OpenAI's API at `url` for embeddings."""
    settings = {
        "SEMANTIC_SEARCH_ENABLED": "true",
        "SEMANTIC_EMBEDDING_PROVIDER": "openai",
        "SEMANTIC_EMBEDDING_MODEL": "all-MiniLM-L6-v2",
        "SEMANTIC_EMBEDDING_DIMENSIONS": "384",
        "SEMANTIC_MIN_SIMILARITY": f"{LEAST:g}",
        "AUTO_UPDATE": "false",
        "LOG_LEVEL": "ERROR",
    }
    paths = [str(path) for path in (library, home / "shim") if path]
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": os.pathsep.join(paths),
        "OPENAI_BASE_URL": url,
        "OPENAI_API_KEY": "none",
        **{f"BASIC_MEMORY_{name}": value for name, value in settings.items()},
    }


def prepare(home: Path, folder: Path) -> None:
    """A home whose project main holds a copy of the folder's notes; the release writes heads into them."""
    notes = home / "basic-memory"
    shutil.copytree(folder, notes, ignore=lambda _, names: [name for name in names if _is_no_note(name)])
    (home / "shim").mkdir()
    (home / "shim" / "sitecustomize.py").write_text(SQLITE, encoding="utf-8")


def _is_no_note(name: str) -> bool:
    return "." in name and not name.endswith(".md")


async def answers(python: str, variables: Mapping[str, str], questions: Iterable[str]) -> dict[str, Any]:
    """The rows of every mode and question."""
    server = StdioServerParameters(command=python, args=[*COMMAND, "mcp"], env=dict(variables))
    every = list(questions)
    async with Client(server) as client:
        return {
            mode: {one: await _rows(client, mode, one) for one in tqdm(every, desc=mode, disable=None)}
            for mode in MODES
        }


async def _rows(client: Client, mode: str, question: str) -> list[list[Any]]:
    with anyio.fail_after(120):
        result = await client.call_tool(
            "search_notes",
            {
                "query": question,
                "project": "main",
                "search_type": mode,
                "page_size": PAGE,
                "output_format": "json",
                "entity_types": ["entity"],
            },
        )
    said = result.structured_content or {}
    found = said.get("result", said)
    return [[row["permalink"], row["score"]] for row in found["results"]]


def recorded(
    python: str, folder: Path, questions: Iterable[str], url: str, library: Path | None = None
) -> dict[str, Any]:
    """A folder indexed by a release and asked every question in every mode."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        prepare(home, folder)
        variables = environment(home, url, library)
        subprocess.run([python, *COMMAND, "reindex"], env=variables, check=True, stdout=subprocess.DEVNULL)
        return anyio.run(answers, python, variables, questions)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recording.basic_memory")
    parser.add_argument("python", help="the interpreter of the environment that has the release")
    parser.add_argument("out", type=Path, help="the record to write, .json or .json.gz")
    parser.add_argument("--release", required=True, help="what the record says of the release")
    parser.add_argument("--workspace", required=True, action="append", metavar="NAME=FOLDER")
    parser.add_argument(
        "--questions", required=True, type=Path, help="a record that asks the same workspaces"
    )
    parser.add_argument(
        "--packages", type=Path, help="a folder that is put before the environment's packages"
    )
    given = parser.parse_args(arguments)
    results = {}
    with served() as server:
        for name, folder in (one.split("=", 1) for one in given.workspace):
            asked = questions_of(given.questions, name)
            results[name] = recorded(given.python, Path(folder), asked, server.url, given.packages)
    write(given.out, {"release": f"basic-memory {given.release}", "about": ABOUT, "results": results})


if __name__ == "__main__":
    main()

"""Record what a release of OpenClaw answers about a folder, through the tools of its running gateway.

    python -m benchmarks.recording.openclaw 2026.3.7 OUT.json \\
        --workspace sample=sample_memory --questions RECORD.json

The release is installed from npm into the cache of `workbench case confirm`, with a Node beside it unless
--node names one, and it runs unmodified, with a state of its own. Provider openai is pointed at a server of
vectors on this machine. The questions and the arguments are those of another record. The result is
results[workspace][arguments as JSON][question] = rows.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from benchmarks.recording import questions_of, write
from workbench_plugins.cases.released.embeddings import served
from workbench_plugins.cases.released.installing import Installed
from workbench_plugins.cases.released.openclaw import gateway, results

ARGUMENTS = ({}, {"maxResults": 10, "minScore": 0})
DIGITS = 12


def asked(address: str, question: str, arguments: Mapping[str, Any]) -> Any:
    """The rows of one question, or the tool's error."""
    found = results(address, question, arguments)
    return found if isinstance(found, Mapping) else [_row(one) for one in found]


def _row(result: Mapping[str, Any]) -> list[Any]:
    text = result["snippet"]
    if "citation" in result:
        text = text.removesuffix(f"Source: {result['citation']}")
    digest = hashlib.sha256(text.strip().encode("utf-8", "replace")).hexdigest()[:DIGITS]
    place = [result["path"], result["startLine"], result["endLine"], result["score"], digest]
    return [*place, *(result[leg] for leg in ("vectorScore", "textScore") if leg in result)]


def recorded(
    release: Installed, folder: Path, questions: Sequence[str], url: str, tokenizer: str
) -> dict[str, Any]:
    """A folder indexed by the release, and every question asked with each of the ARGUMENTS."""
    with gateway(release, folder, url, tokenizer) as address:
        return {
            json.dumps(arguments): {
                one: asked(address, one, arguments) for one in tqdm(questions, disable=None, unit="question")
            }
            for arguments in ARGUMENTS
        }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recording.openclaw")
    parser.add_argument("release")
    parser.add_argument("out", type=Path, help="the record to write, .json or .json.gz")
    parser.add_argument("--workspace", required=True, action="append", metavar="NAME=FOLDER")
    parser.add_argument(
        "--questions", required=True, type=Path, help="a record that asks the same workspaces"
    )
    parser.add_argument("--node", type=Path, help="a folder to put first in PATH")
    parser.add_argument("--tokenizer", default="", help="store.fts.tokenizer, where the release has it")
    given = parser.parse_args(arguments)
    release = Installed("openclaw", given.release, given.node).install(lambda _: True)
    found = {}
    with served() as server:
        for name, folder in (one.split("=", 1) for one in given.workspace):
            every = list(questions_of(given.questions, name))
            found[name] = recorded(release, Path(folder), every, server.url, given.tokenizer)
    about = {
        "what": "what the memory_search tool of a running OpenClaw gateway returned (POST /tools/invoke)",
        "release": f"openclaw@{given.release} from npm, unmodified",
        "embeddings": "provider openai at a loopback server: all-MiniLM-L6-v2, truncated, a text at a time",
        "row": "path, start line, end line, score, sha256 of the trimmed snippet (12 digits), leg scores",
        "clock": "has no influence",
    }
    write(given.out, {"about": about, "results": found})


if __name__ == "__main__":
    main()

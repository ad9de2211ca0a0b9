"""Record what a release of OpenClaw answers about a folder, through the tools of its running gateway.

    python -m benchmarks.recording.openclaw 2026.3.7 OUT.json \\
        --workspace sample=sample_memory --questions RECORD.json

The release is installed from npm into the cache of `workbench case confirm`, with a Node beside it unless
--node names one, and it runs unmodified, with a state of its own. Provider openai is pointed at a server of
vectors on this machine. The questions and the arguments are those of another record. The result is
results[workspace][arguments as JSON][question] = rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.recording import arguments_of, recorded, write
from workbench_plugins.cases.released.installing import Installed
from workbench_plugins.cases.released.openclaw_gateway import running

ARGUMENTS: Sequence[Mapping[str, int]] = ({}, {"maxResults": 10, "minScore": 0})
DIGITS = 12


def row(result: Mapping[str, Any]) -> list[Any]:
    """A result as its place, score, digest of the snippet, and the scores of the legs."""
    text = result["snippet"]
    if "citation" in result:
        text = text.removesuffix(f"Source: {result['citation']}")
    digest = hashlib.sha256(text.strip().encode("utf-8", "replace")).hexdigest()[:DIGITS]
    place = [result["path"], result["startLine"], result["endLine"], result["score"], digest]
    return [*place, *(result[leg] for leg in ("vectorScore", "textScore") if leg in result)]


def rows(answer: Any) -> Any:
    """The rows of a question, or the tool's error."""
    return answer if isinstance(answer, Mapping) else [row(one) for one in answer]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = arguments_of("openclaw", "the release on npm, such as 2026.3.7")
    parser.add_argument("--node", type=Path, help="a folder to put first in PATH")
    parser.add_argument("--tokenizer", default="", help="store.fts.tokenizer, where the release has it")
    given = parser.parse_args(arguments)
    release = Installed("openclaw", given.release, given.node).install(lambda _, needed: bool(needed()))
    calls = {json.dumps(one): one for one in ARGUMENTS}
    found = recorded(given, partial(running, release, tokenizer=given.tokenizer), calls)
    about = {
        "what": "what the memory_search tool of a running OpenClaw gateway returned (POST /tools/invoke)",
        "release": f"openclaw@{given.release} from npm, unmodified",
        "embeddings": "provider openai at a loopback server: all-MiniLM-L6-v2, truncated, a text at a time",
        "row": "path, start line, end line, score, sha256 of the trimmed snippet (12 digits), leg scores",
        "clock": "has no influence",
    }
    results = {
        name: {call: {one: rows(answer) for one, answer in every.items()} for call, every in of_calls.items()}
        for name, of_calls in found.items()
    }
    write(given.out, {"about": about, "results": results})


if __name__ == "__main__":
    main()

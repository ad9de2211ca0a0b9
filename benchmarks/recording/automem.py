"""Record the scores that AutoMem's own scoring module gives, by release or commit.

    git -C AUTOMEM archive v0.16.1 automem | tar x -C RELEASES/v0.16.1        (one folder for each)
    pip install --target PACKAGES python-dotenv
    python -m benchmarks.recording.automem RELEASES PACKAGES OUT.json.gz \\
        8df3c08 e59e9ca 591b2c7 3653ddf v0.16.1

AutoMem is a server and on no package index; its scoring module can be imported alone. Each release scores
the same results: pieces of the sample memory, with questions of it, and tags, metadata, importance,
confidence and ages from a seeded generator. The record is {"now", "inputs", "expected": {release: scores}}.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from benchmarks.recording import write
from workbench_plugins.automem.memories import query_tokens

MEMORY = Path(__file__).parent.parent.parent / "sample_memory"
SEED = 12
CASES = 120
KINDS = ("vector", "keyword", "metadata", "relation", "trending")
SCORED = """
import datetime, json, sys
from automem.utils import scoring
given = json.load(sys.stdin)
real, now = datetime.datetime, datetime.datetime.fromisoformat(given["now"])
class Fixed(real):
    @classmethod
    def now(cls, tz=None):
        return now
scoring.datetime = datetime.datetime = Fixed
for module in list(sys.modules.values()):
    if getattr(module, "datetime", None) is real:
        module.datetime = Fixed
rows = [(one["result"], one["query"], one["tokens"]) for one in given["inputs"]]
print(json.dumps([scoring._compute_metadata_score(*row)[0] for row in rows]))
"""
"""What runs in the release's own process, with its clock held at the record's."""


def inputs(now: datetime) -> list[dict[str, Any]]:
    """The results to be scored, the same for every release."""
    chance = random.Random(SEED)
    notes = [path.read_text("utf-8") for path in sorted(MEMORY.rglob("*.md"))]
    questions = [
        one["question"] for one in yaml.safe_load((MEMORY / "questions.yaml").read_text("utf-8"))["questions"]
    ]
    return [_input(chance, chance.choice(notes), chance.choice(questions), now) for _ in range(CASES)]


def _input(chance: random.Random, note: str, question: str, now: datetime) -> dict[str, Any]:
    start = chance.randrange(max(1, len(note) - 200))
    tokens = query_tokens(question)
    words = [*note[start : start + 60].split(), *tokens]
    kind = chance.choice(KINDS)
    memory = {
        "content": note[start : start + chance.choice([40, 120, 200])],
        "tags": chance.sample(words, min(len(words), chance.randrange(4))),
        "importance": round(chance.random(), 3),
        "confidence": round(chance.random(), 3),
        "timestamp": (now - timedelta(days=chance.uniform(0, 250))).isoformat(),
        "metadata": {"topic": chance.choice([question, " ".join(words[:3])]), "nested": {"names": words[:2]}},
    }
    present = {name: value for name, value in memory.items() if name == "content" or chance.random() < 0.7}
    score = chance.uniform(0, 12) if kind == "keyword" else chance.random()
    result = {"match_type": kind, "match_score": round(score, 4), "memory": present}
    if kind == "relation":
        result["relation_score"] = round(chance.random(), 4)
    return {"result": result, "query": question, "tokens": tokens}


def scores(release: Path, packages: Path, now: str, given: list[dict[str, Any]]) -> list[float]:
    """What the release in this folder makes of the results."""
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join([str(release), str(packages)])}
    asked = json.dumps({"now": now, "inputs": given})
    ran = subprocess.run(
        [sys.executable, "-c", SCORED], input=asked, env=variables, capture_output=True, text=True, check=True
    )
    found: list[float] = json.loads(ran.stdout.splitlines()[-1])
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recording.automem")
    parser.add_argument("releases", type=Path)
    parser.add_argument("packages", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="+")
    given = parser.parse_args(arguments)
    now = datetime(2026, 2, 11, tzinfo=UTC)
    asked = inputs(now)
    expected = {
        name: scores(given.releases / name, given.packages, now.isoformat(), asked) for name in given.names
    }
    write(given.out, {"now": now.isoformat(), "inputs": asked, "expected": expected})


if __name__ == "__main__":
    main()

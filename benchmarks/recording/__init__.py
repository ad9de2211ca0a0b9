"""Scripts that record what the released systems answer, each run by hand; the tests replay the records.

A release runs unmodified in a home of its own, and embeds through a server on this machine. OpenClaw and
Basic Memory are installed and run by the code behind `workbench case confirm`.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from workbench_plugins.cases.released.embeddings import served
from workbench_plugins.cases.released.release_answers import Ask, answers


def read(file: Path) -> dict[str, Any]:
    """A record, compressed or not."""
    text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    record: dict[str, Any] = json.loads(text)
    return record


def write(file: Path, record: Mapping[str, Any]) -> None:
    """The record as a file, the same bytes for the same record."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    file.write_bytes(gzip.compress(text, mtime=0) if file.suffix == ".gz" else text)


def arguments_of(script: str, release: str) -> argparse.ArgumentParser:
    """The arguments of every script: the release, the record to write, and what is asked of which folders."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.recording.{script}")
    parser.add_argument("release", help=release)
    parser.add_argument("out", type=Path, help="the record to write, .json or .json.gz")
    parser.add_argument("--workspace", required=True, action="append", metavar="NAME=FOLDER")
    parser.add_argument(
        "--questions", required=True, type=Path, help="a record that asks the same workspaces"
    )
    return parser


def workspaces(given: argparse.Namespace) -> Iterator[tuple[str, Path, list[str]]]:
    """The name and the folder of each workspace, and its questions in the record `--questions`."""
    asked = read(given.questions)["results"]
    for name, folder in (one.split("=", 1) for one in given.workspace):
        first, *_ = asked[name].values()
        yield name, Path(folder), list(first)


def recorded(
    given: argparse.Namespace,
    running: Callable[[Path, str], AbstractContextManager[Ask]],
    calls: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """results[workspace][call][question]: what a release answers to each of the calls by their names.

    `running` starts the release on a folder, with the address of the server of vectors.
    """
    found = {}
    with served() as server:
        for name, folder, questions in workspaces(given):
            with running(folder, server.url) as ask:
                found[name] = {call: answers(ask, questions, how) for call, how in calls.items()}
    return found

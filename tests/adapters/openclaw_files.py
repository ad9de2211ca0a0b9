"""OpenClaw 2026.2.12 and 2026.2.13: which files are memory, and what becomes of a session's transcript."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any

from tests.adapters import Given, adapts
from tests.adapters.openclaw_february import FEBRUARY
from workbench.errors import InputError
from workbench.memory.files import extra_paths, list_files
from workbench.memory.sources import MemoryFolder
from workbench_plugins.openclaw.release_indexing import is_memory_path
from workbench_plugins.openclaw.sessions import Pending, Sessions, Thresholds


@contextmanager
def empty_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name).resolve()


@adapts("is-memory-path", *FEBRUARY)
def memory_path(given: Given) -> bool:
    return is_memory_path(given["relPath"])


@adapts("extra-paths", *FEBRUARY)
def extra(given: Given) -> list[str]:
    return [str(one) for one in extra_paths(Path(given["workspaceDir"]), given["extraPaths"])]


@adapts("list-files", *FEBRUARY)
def listed(given: Given) -> list[str]:
    """The files that can be read: OpenClaw passes over a link in silence, where reading it here says so."""
    with empty_folder() as root:
        for line in given["tree"]:
            plant(root, line)
        return list(_readable(MemoryFolder(root, given["extraPaths"])))


def plant(root: Path, line: str, text: str = "a note") -> None:
    """Write the file that a line of a tree names, or the link that it names as `path -> target`."""
    path, _, target = line.partition(" -> ")
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    if target:
        file.symlink_to(target)
    else:
        file.write_text(text, encoding="utf-8")


def _readable(memory: MemoryFolder) -> Iterator[str]:
    for path in list_files(memory.root, memory.extra):
        with suppress(InputError):
            yield memory.read(path).path


@adapts("session-text", *FEBRUARY)
def session_text(given: Given) -> dict[str, Any]:
    with empty_folder() as folder:
        lines = "".join(f"{json.dumps(one)}\n" for one in given["jsonlLines"])
        (folder / "s.jsonl").write_text(lines, encoding="utf-8")
        read = Sessions(folder).read("sessions/s.jsonl")
    return {"path": read.path, "content": read.text, "lineMap": list(read.line_map), "hash": read.hash}


@adapts("session-delta", *FEBRUARY)
def session_delta(given: Given) -> list[dict[str, Any]]:
    """What is pending at each size of a file whose newlines are spread evenly over its bytes."""
    thresholds = Thresholds(given["thresholds"]["deltaBytes"], given["thresholds"]["deltaMessages"])
    pending, found = Pending(), []
    with empty_folder() as folder:
        for state in given["fileSizesWithNewlines"]:
            line = b"x" * (state["bytes"] // state["newlines"] - 1) + b"\n"
            (folder / "s.jsonl").write_bytes(line * state["newlines"])
            pending = pending.now(folder / "s.jsonl", thresholds)
            found.append(_delta(state["bytes"], pending, pending.enough(thresholds)))
    return found


def _delta(size: int, pending: Pending, synced: bool) -> dict[str, Any]:
    last, come, messages = astuple(pending)
    return {
        "size": size,
        "synced": synced,
        "pendingBytes": come,
        "pendingMessages": messages,
        "lastSize": last,
    }


@adapts("should-sync-sessions", *FEBRUARY)
def should_sync(given: Given) -> bool:
    """Whether OpenClaw's sync includes transcripts: a rebuild that the watcher starts leaves them out."""
    due = given["needsFullReindex"] or (given["sessionsDirty"] and given["dirtyFiles"] > 0)
    return bool(given["force"] or (given["reason"] not in ("session-start", "watch") and due))

"""Chat transcripts as documents: what was said, on which line of the JSONL, and how much has come since.

Source: openclaw 2026.2.13, src/memory/session-files.ts and manager.ts, which also blackens what looks like
a secret before a transcript is indexed; this does not.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from workbench.errors import InputError
from workbench.memory.chunking import Chunker, remap_lines, whole_characters
from workbench.memory.files import Place, open_plain, settled
from workbench.memory.sources import Look, looks
from workbench.records import Document, Passage

SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True)
class Transcript(Document):
    """A session as text, one line a message; text line n comes from line `line_map[n - 1]` of the file."""

    line_map: tuple[int, ...] = ()


@dataclass(frozen=True)
class Sessions:
    """The *.jsonl files of a folder, as a source of documents `sessions/NAME.jsonl`.

    `broken` names the lines that hold no JSON in the transcripts read so far, by path. They are passed
    over; so is a last line that is still being written, which is not named.
    """

    name: ClassVar[str] = "sessions"
    folder: Path
    broken: dict[str, list[int]] = field(default_factory=dict, compare=False)

    def stamps(self) -> dict[str, Look]:
        """Every transcript's look, by path. Raises InputError for a folder that cannot be read."""
        try:
            with os.scandir(self.folder) as entries:
                files = sorted(one.name for one in entries if one.name.endswith(SUFFIX))
        except OSError as error:
            raise InputError(
                f"The folder {self.folder} of sessions cannot be read: {error.strerror}.",
                f"Give the folder that holds the agent's *{SUFFIX} files.",
            ) from None
        return looks((f"{self.name}/{file}", f"{self.folder}{os.sep}{file}") for file in files)

    def read(self, path: str) -> Transcript:
        """What was said in one transcript. Raises InputError for a link, and for what cannot be read."""
        place = Place(self.folder.resolve(), (path.removeprefix(f"{self.name}/"),))
        with open_plain(place, path) as file:
            info = settled(file)
            said, self.broken[path] = messages(file)
        text, line_map = "\n".join(said.values()), tuple(said)
        digest = hashlib.sha256(f"{text}\n{','.join(map(str, line_map))}".encode()).hexdigest()
        return Transcript(path, self.name, text, digest, info.st_size, info.st_mtime_ns, line_map)

    def cut(self, document: Document, chunker: Chunker) -> list[Passage]:
        """The passages of a transcript, none of them blank, in lines of its JSONL file."""
        assert isinstance(document, Transcript)
        passages = [one for one in chunker.chunk(document.text) if one.text.strip()]
        return remap_lines(passages, document.line_map)


def messages(lines: Iterable[bytes]) -> tuple[dict[int, str], list[int]]:
    """What user and assistant said, by line of the JSONL from 1; and the lines that hold no JSON.

    A last line without its newline is not among these: it is still being written.
    """
    said, broken = {}, []
    for number, line in enumerate(lines, 1):
        try:
            text = message(json.loads(line.decode(errors="replace"))) if line.strip() else ""
        except (ValueError, RecursionError):
            if line.endswith(b"\n"):
                broken.append(number)
        else:
            if text:
                said[number] = text
    return said, broken


def message(record: Any) -> str:
    """`User: …` or `Assistant: …` on one line; empty for a record of any other kind, or without text.

    >>> message({"type": "message", "message": {"role": "user", "content": " two\\n words "}})
    'User: two words'
    """
    match record:
        case {"type": "message", "message": {"role": "user" | "assistant" as role, "content": content}}:
            text = whole_characters(" ".join(_text(content).split()))
            return f"{role.capitalize()}: {text}" if text else ""
    return ""


def _text(content: Any) -> str:
    """The text of a message, without thoughts, tool calls and pictures."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = (one.get("text") for one in blocks if isinstance(one, dict) and one.get("type") == "text")
    return " ".join(one for one in texts if isinstance(one, str))


# How much has come


@dataclass(frozen=True)
class Thresholds:
    """How many new bytes, or new lines, make a transcript worth another sync; 0 or less means any at all."""

    bytes: int = 100_000
    messages: int = 50


@dataclass(frozen=True)
class Pending:
    """What has come to a transcript since it was indexed; `size` is its size when it was last looked at."""

    size: int = 0
    bytes: int = 0
    messages: int = 0

    def now(self, file: Path, thresholds: Thresholds) -> Pending:
        """What is pending after another look at the file. Raises OSError when it cannot be read.

        A file that has shrunk counts whole. Lines are counted while bytes alone are not enough.
        """
        size = file.stat().st_size
        start = self.size if size >= self.size else 0
        come = self.bytes + size - start
        lines = _newlines(file, start, size) if come < thresholds.bytes else 0
        return Pending(size, come, self.messages + lines)

    def enough(self, thresholds: Thresholds) -> bool:
        """Whether it is worth a sync."""
        return self.bytes >= max(thresholds.bytes, 1) or self.messages >= max(thresholds.messages, 1)


def _newlines(file: Path, start: int, end: int) -> int:
    with file.open("rb") as opened:
        opened.seek(start)
        return opened.read(end - start).count(b"\n")


def takes_sessions(reason: str, *, force: bool, rebuild: bool, dirty: bool, dirty_files: int) -> bool:
    """Whether a sync of OpenClaw's takes transcripts along; not when a watcher or a new session asks.

    So a rebuild that the watcher begins leaves an index without sessions.
    """
    if force:
        return True
    return reason not in ("session-start", "watch") and (rebuild or (dirty and dirty_files > 0))

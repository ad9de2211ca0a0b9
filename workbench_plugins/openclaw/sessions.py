"""Chat transcripts as documents: the messages, their lines in the JSONL file, and how much was added since.

Source: openclaw 2026.2.13, src/memory/session-files.ts and manager.ts. OpenClaw also masks text that looks
like a secret before it indexes a transcript; this module does not.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from workbench.errors import InputError
from workbench.memory.files import FileLocation, open_below, open_plain, settled
from workbench.memory.sources import Chunker, Look, stamps_of, whole_characters
from workbench.records import Document, Passage

SUFFIX = ".jsonl"
LARGEST_TRANSCRIPT = 100_000_000
"""Bytes."""
LONGEST_LINE = 10_000_000
"""Bytes."""


@dataclass(frozen=True, slots=True)
class Transcript(Document):
    """A session as text, one line per message. Line n of the text is line `line_map[n - 1]` of the file."""

    line_map: tuple[int, ...] = ()


@dataclass(frozen=True)
class Sessions:
    """The *.jsonl files of a folder, as a source of documents `sessions/NAME.jsonl`.

    `broken` has, by path, the numbers of the lines that are not JSON in the transcripts read so far. These
    lines are left out. A last line that is still being written is left out too, but not listed.
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
        return stamps_of((f"{self.name}/{file}", f"{self.folder}{os.sep}{file}") for file in files)

    def read(self, path: str) -> Transcript:
        """The messages of one transcript. Raises InputError for a link and for a file that cannot be read."""
        location = FileLocation(self.folder.resolve(), (path.removeprefix(f"{self.name}/"),))
        with open_plain(location, path) as file:
            info = settled(file)
            _check_size(info.st_size, path)
            said, self.broken[path] = messages(_lines(file))
        text, line_map = "\n".join(said.values()), tuple(said)
        digest = hashlib.sha256(f"{text}\n{','.join(map(str, line_map))}".encode()).hexdigest()
        return Transcript(path, self.name, text, digest, info.st_size, info.st_mtime_ns, line_map=line_map)

    def cut(self, document: Document, chunker: Chunker) -> list[Passage]:
        """The passages of a transcript, blank ones left out, with line numbers of its JSONL file."""
        assert isinstance(document, Transcript)
        passages = [one for one in chunker.chunk(document.text) if one.text.strip()]
        return remap_lines(passages, document.line_map)


def remap_lines(passages: Sequence[Passage], line_map: Sequence[int]) -> list[Passage]:
    """The passages with line n replaced by `line_map[n - 1]` where that exists.

    Source: openclaw 2026.2.13, src/memory/internal.ts, remapChunkLines.
    """

    def mapped(line: int) -> int:
        return line_map[line - 1] if line <= len(line_map) else line

    return [Passage(p.text, mapped(p.start_line), mapped(p.end_line), p.hash) for p in passages]


def _check_size(size: int, path: str) -> None:
    if size > LARGEST_TRANSCRIPT:
        raise InputError(
            f"{path} has {size / 1e6:.0f} MB; a transcript has at most {LARGEST_TRANSCRIPT / 1e6:.0f} MB.",
            "Move it out of the folder of sessions.",
        )


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a transcript; only the first LONGEST_LINE bytes of each, which then is no JSON."""
    while line := file.readline(LONGEST_LINE):
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(LONGEST_LINE)
        yield line if line.endswith(b"\n") or not rest else line[:-1] + b"\n"


def messages(lines: Iterable[bytes]) -> tuple[dict[int, str], list[int]]:
    """The messages of user and assistant by line of the JSONL, from 1; and the lines that are not JSON.

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


# How much was added


@dataclass(frozen=True)
class Thresholds:
    """How many new bytes or new lines of a transcript start a sync; 0 or less means any."""

    bytes: int = 100_000
    messages: int = 50


@dataclass(frozen=True)
class Pending:
    """What was added to a transcript since it was indexed; `size` is its size at the last check."""

    size: int = 0
    bytes: int = 0
    messages: int = 0

    def now(self, file: Path, thresholds: Thresholds) -> Pending:
        """What is pending after another check of the file.

        Raises OSError when it cannot be read or is not a plain file. The whole of a file that has shrunk is
        pending. Lines are counted only while the bytes do not reach a threshold above 0.
        """
        with open_below(FileLocation(file.parent.resolve(), (file.name,))) as opened:
            size = os.fstat(opened.fileno()).st_size
            start = self.size if size >= self.size else 0
            added = self.bytes + size - start
            counts = thresholds.messages > 0 and (thresholds.bytes <= 0 or added < thresholds.bytes)
            lines = _newlines(opened, start, size) if counts else 0
        return Pending(size, added, self.messages + lines)

    def enough(self, thresholds: Thresholds) -> bool:
        """Whether a sync should start."""
        return self.bytes >= max(thresholds.bytes, 1) or self.messages >= max(thresholds.messages, 1)


def _newlines(file: BinaryIO, start: int, end: int) -> int:
    file.seek(start)
    return file.read(end - start).count(b"\n")

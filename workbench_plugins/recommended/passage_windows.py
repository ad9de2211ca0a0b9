"""Cuts the chunks of a file into windows, and writes in front of each what it is a part of.

A window has a title, the headings that it stands under, and in a transcript the names of those who speak.
Nothing else of the file tells a model that "she said yes" is about a wedding in Leeds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import PurePosixPath

from workbench.memory.embedding.local import without_runs
from workbench.records import Chunk

HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*$")
FENCE = re.compile(r"\s*(```|~~~)")
TITLE = re.compile(r"title:\s*(.+?)\s*$", re.IGNORECASE)
TOML_TITLE = re.compile(r"title\s*=\s*(.+?)\s*$", re.IGNORECASE)
TOML = "+++"
"""The first line of a front matter in TOML, as Hugo has it."""
SPEAKER = re.compile(
    r"\s*(?:[-*>]\s+)?(?:\*\*|__)?([^\W\d_][\w .'’-]{0,30}?)(?::(?:\*\*|__)|(?:\*\*|__)?:)\s"
)
LONGEST_HEADER = 200
"""Characters."""
MOST_PIECES = 48
"""Word pieces of a header, so that a window keeps most of the model's attention for its own text."""
SPOKEN = 0.5
"""A file is a transcript if at least this share of its lines, without blanks and headings, has a speaker."""
MOST_SPEAKERS = 8

Counter = Callable[[Sequence[str]], list[int]]
"""Counts the word pieces of texts."""


@dataclass(frozen=True)
class Window:
    """A part of one chunk, by the chunk's number in the file, and the header that is embedded in front."""

    row: int
    header: str
    text: str
    start_line: int

    @property
    def embedded(self) -> str:
        """The text that the model reads."""
        return f"{self.header}\n{self.text}"


@dataclass(frozen=True)
class Outline:
    """What the lines of one file stand under: its title, its speakers, and the headings above each line."""

    title: str
    speakers: tuple[str, ...]
    headings: Mapping[int, tuple[str, ...]]

    def header(self, line: int) -> str:
        """The header of a window that begins in this line."""
        parts = [self.title, *self.headings.get(line, ()), ", ".join(self.speakers)]
        return " – ".join(dict.fromkeys(part for part in parts if part))[:LONGEST_HEADER]


def outline(path: str, chunks: Sequence[Chunk]) -> Outline:
    """The outline of a file, read from its chunks, so that an index without whole documents has one too."""
    lines = lines_of(chunks)
    headings: dict[int, tuple[str, ...]] = {}
    stack: list[tuple[int, str]] = []
    title, named, fenced = "", "", False
    statement = TOML_TITLE if begins_with_toml(chunks) else TITLE
    for number in sorted(lines):
        line = lines[number]
        fenced ^= bool(FENCE.match(line))
        found = None if fenced else HEADING.match(line)
        if found and len(found[1]) == 1 and not title:
            title, stack = found[2], []
        elif found:
            level = len(found[1])
            stack = [(depth, text) for depth, text in stack if depth < level] + [(level, found[2])]
        elif not named and number < 30 and (stated := statement.match(line)):
            named = stated[1].strip("\"'")
        headings[number] = tuple(text for _, text in stack)
    stem = PurePosixPath(path).stem.replace("-", " ").replace("_", " ")
    return Outline(title or named or stem, _speakers(list(lines.values())), headings)


def begins_with_toml(chunks: Sequence[Chunk]) -> bool:
    """Whether a file begins with a front matter in TOML."""
    return any(one.start_line == 1 and one.text.partition("\n")[0].rstrip() == TOML for one in chunks)


def lines_of(chunks: Sequence[Chunk]) -> dict[int, str]:
    """The lines of a file, each once, by their numbers."""
    lines: dict[int, str] = {}
    for chunk in chunks:
        for number, line in enumerate(chunk.text.split("\n"), chunk.start_line):
            lines.setdefault(number, line)
    return lines


def _speakers(lines: Sequence[str]) -> tuple[str, ...]:
    """Who speaks in a transcript, in the order of their first line; nobody in another file."""
    with_text = [line for line in lines if line.strip() and not HEADING.match(line)]
    found = [match[1].strip() for line in with_text if (match := SPEAKER.match(line))]
    names = [name for name in dict.fromkeys(found) if found.count(name) > 1]
    spoken = sum(name in names for name in found)
    return (
        tuple(names)
        if with_text and spoken / len(with_text) >= SPOKEN and len(names) <= MOST_SPEAKERS
        else ()
    )


def windows_of(chunks: Sequence[Chunk], path: str, count: Counter, room: int) -> list[Window]:
    """The windows of one file's chunks, in order: each of at most `room` word pieces with its header.

    The windows of a chunk have nearly equal lengths, and are cut between lines where that is possible. Long
    runs without a blank are left out: a model takes minutes to read an image in base64, and learns nothing.
    """
    about = outline(path, chunks)
    found: list[Window] = []
    for row, chunk in enumerate(chunks):
        pieces = _pieces(without_runs(chunk.text), count, room - MOST_PIECES)
        lengths = count([text for text, _ in pieces])
        for group in _balanced(lengths, room - MOST_PIECES):
            text = "\n".join(pieces[number][0] for number in group).strip("\n")
            line = chunk.start_line + pieces[group[0]][1]
            if text.strip():
                found.append(Window(row, about.header(line), text, line))
    return found


def _pieces(text: str, count: Counter, room: int) -> list[tuple[str, int]]:
    """The lines of a text with their numbers; a line that has no room in a window is cut between words."""
    lines = text.split("\n")
    pieces: list[tuple[str, int]] = []
    for number, (line, length) in enumerate(zip(lines, count(lines), strict=True)):
        if length <= room:
            pieces.append((line, number))
            continue
        parts = math.ceil(length / (room * 0.9))
        step = math.ceil(len(line) / parts)
        start = 0
        while start < len(line):
            end = min(start + step, len(line))
            blank = line.rfind(" ", start + step // 2, end) if end < len(line) else -1
            end = blank + 1 if blank > 0 else end
            pieces.append((line[start:end], number))
            start = end
    return pieces


def _balanced(lengths: Sequence[int], room: int) -> list[list[int]]:
    """The numbers of the pieces in as few groups as have room, of nearly equal lengths."""
    total = sum(lengths)
    parts = max(1, math.ceil(total / room))
    ends = list(accumulate(lengths))
    groups: list[list[int]] = [[]]
    size = 0
    for number, length in enumerate(lengths):
        begun = ends[number] - length / 2 > total * len(groups) / parts
        if groups[-1] and (begun or size + length > room):
            groups.append([])
            size = 0
        groups[-1].append(number)
        size += length
    return groups

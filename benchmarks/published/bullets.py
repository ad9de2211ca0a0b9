"""Basic Memory's chunker: each bullet is a passage, and other sections share passages.

Source: basicmachines-co/basic-memory, repository/semantic_chunking.py; written from a description of the
rules: split at headings and top-level bullets, merge sections up to 900 characters, split longer ones by
paragraphs and then by windows of 900 that overlap by 120.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from workbench.errors import InputError
from workbench.memory.files import content_hash
from workbench.records import Passage
from workbench_plugins.basic_memory.notes import Note

HEADING = re.compile(r"#{1,6}\s")
BULLET = re.compile(r"[-*+]\s+")
BLANK_LINE = "\n\n"


class Piece(NamedTuple):
    """A piece of text with its first and last line, counted from 1."""

    text: str
    first: int
    last: int

    def joined(self, other: Piece) -> Piece:
        """Both pieces, with a blank line between them."""
        return Piece(self.text + BLANK_LINE + other.text, self.first, other.last)


@dataclass(frozen=True)
class BulletChunker:
    """One passage for each top-level bullet; other sections are joined up to `longest` characters.

    A longer section is split at blank lines, and a longer paragraph into windows of `longest` characters that
    overlap by `overlap`. The last part of a split section may share a passage with the next section.
    """

    longest: int = 900
    overlap: int = 120

    def __post_init__(self) -> None:
        if not 0 <= self.overlap < self.longest:
            raise InputError(
                f"Windows of {self.longest} characters that overlap by {self.overlap} cannot advance.",
                "Use at least 1 character, and an overlap from 0 to one less than that.",
            )

    @property
    def name(self) -> str:
        return f"basic-memory longest={self.longest} overlap={self.overlap}"

    def chunk(self, text: str) -> list[Passage]:
        """The passages of `text` in order; none for an empty text."""
        return [
            Passage(piece.text, piece.first, piece.last, content_hash(piece.text))
            for piece in self._pieces(self._sections(text))
        ]

    def _pieces(self, sections: Iterable[Piece]) -> Iterator[Piece]:
        waiting: Piece | None = None
        for section in sections:
            *closed, last = self._cut(section)
            if self._stands_alone(section) or closed or not self._fit(waiting, last):
                yield from _present(waiting)
                waiting = None
            yield from closed
            if self._stands_alone(section):
                yield last
            else:
                waiting = waiting.joined(last) if waiting else last
        yield from _present(waiting)

    def _fit(self, one: Piece | None, other: Piece) -> bool:
        return one is not None and len(one.joined(other).text) <= self.longest

    def _sections(self, text: str) -> Iterator[Piece]:
        """Pieces that begin at a heading or a top-level bullet; blank pieces are left out."""
        return _stretches(text, 1, lambda line: bool(HEADING.match(line) or BULLET.match(line)))

    def _stands_alone(self, section: Piece) -> bool:
        return bool(BULLET.match(section.text))

    def _cut(self, section: Piece) -> list[Piece]:
        """The section as pieces that are short enough; paragraphs are joined if they fit."""
        if len(section.text) <= self.longest:
            return [section]
        pieces: list[Piece] = []
        for paragraph in _paragraphs(section):
            if len(paragraph.text) > self.longest:
                pieces += self._windows(paragraph)
            elif pieces and self._fit(pieces[-1], paragraph):
                pieces[-1] = pieces[-1].joined(paragraph)
            else:
                pieces.append(paragraph)
        return pieces

    def _windows(self, paragraph: Piece) -> Iterator[Piece]:
        text = paragraph.text
        for start in range(0, max(len(text) - self.overlap, 1), self.longest - self.overlap):
            first = paragraph.first + text.count("\n", 0, start)
            yield from _stripped(text[start : start + self.longest], first)


def _present(piece: Piece | None) -> list[Piece]:
    return [piece] if piece else []


@dataclass(frozen=True)
class LineChunker(BulletChunker):
    """The chunker of 0.24.1: bullets are lines like others, and a long section is packed line by line."""

    @property
    def name(self) -> str:
        return f"basic-memory-0.24 longest={self.longest} overlap={self.overlap}"

    def _sections(self, text: str) -> Iterator[Piece]:
        return _stretches(text, 1, lambda line: bool(HEADING.match(line)))

    def _stands_alone(self, section: Piece) -> bool:
        return False

    def _cut(self, section: Piece) -> list[Piece]:
        if len(section.text) <= self.longest:
            return [section]
        pieces: list[Piece] = []
        packed = Piece("", section.first, section.first)
        for number, line in enumerate(section.text.split("\n"), section.first):
            longer = f"{packed.text}\n{line}" if packed.text else line
            if len(longer) <= self.longest:
                packed = Piece(longer, packed.first if packed.text else number, number)
                continue
            pieces += _stripped(packed.text, packed.first)
            packed = Piece(line, number, number)
            if len(line) > self.longest:
                pieces += self._windows(packed)
                packed = Piece("", number, number)
        return [*pieces, *_stripped(packed.text, packed.first)]


def _paragraphs(section: Piece) -> Iterator[Piece]:
    """The pieces between blank lines."""
    return _stretches(section.text, section.first, lambda line: not line.strip())


def _stretches(text: str, first: int, begins: Callable[[str], bool]) -> Iterator[Piece]:
    current: list[str] = []
    for line in text.split("\n"):
        if begins(line) and current:
            yield from _stripped("\n".join(current), first)
            first += len(current)
            current = []
        current.append(line)
    yield from _stripped("\n".join(current), first)


def _stripped(text: str, first: int) -> Iterator[Piece]:
    """The text, which begins in line `first`, without blank ends; no piece if nothing is left."""
    bare = text.strip()
    if bare:
        first += text[: text.index(bare)].count("\n")
        yield Piece(bare, first, first + bare.count("\n"))


def vector_text(note: Note) -> str:
    """The text of a note that is cut and embedded: title, permalink and body, with blank lines between."""
    return "\n\n".join([note.title, note.permalink, note.content_snippet])

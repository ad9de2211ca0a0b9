"""How Basic Memory indexes notes: what its model reads of a note, how that is cut, and which files are notes.

The model reads the title, the permalink and the body, without the front matter. Up to 0.23.2 each bullet is a
passage of its own, and other sections share passages up to 900 characters; longer ones are split by
paragraphs, and then by windows of 900 that overlap by 120. 0.24.1 treats bullets as other lines, and packs a
long section line by line.
Source: basicmachines-co/basic-memory, repository/semantic_chunking.py; written from a description of the
rules, and compared with what the releases answer (tests/systems/test_basic_memory_records.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from workbench.errors import InputError
from workbench.memory.files import SOURCE, FileRules, content_hash
from workbench.memory.sources import Chunker, Indexing
from workbench.records import Document, Passage
from workbench_plugins.basic_memory.notes import Note, note_of, plain_lines

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
class SectionChunker(BulletChunker):
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
    return BLANK_LINE.join([note.title, note.permalink, note.content_snippet])


@dataclass(frozen=True)
class NoteChunker:
    """Cuts the `vector_text` of a note with another chunker; lines are counted in the note's file.

    A passage that begins in the title or the permalink begins in line 1. `path` is the file that is cut.
    """

    chunker: Chunker
    project: str = "main"
    path: str = ""

    @property
    def name(self) -> str:
        return f"{self.chunker.name} project={self.project}"

    def of_file(self, path: str) -> Chunker:
        """The chunker of one note."""
        return replace(self, path=path)

    def chunk(self, text: str) -> list[Passage]:
        """The passages of a note with this text, in order."""
        note = note_of(Document(self.path, SOURCE, text, "", 0, 0), self.project)
        read, body = vector_text(note), note.content_snippet
        above = read.count("\n") - body.count("\n")
        plain = plain_lines(text).rstrip()
        before = plain[: len(plain) - len(body)].count("\n")

        def in_file(line: int) -> int:
            return line - above + before if line > above else 1

        return [
            replace(one, start_line=in_file(one.start_line), end_line=in_file(one.end_line))
            for one in self.chunker.chunk(read)
        ]


EVERY_NOTE = FileRules(whole_folder=True)

UP_TO_0_23 = Indexing("bm-head", NoteChunker(BulletChunker()), EVERY_NOTE, reading="truncated")
SINCE_0_24 = Indexing("bm-0.24.1", NoteChunker(SectionChunker()), EVERY_NOTE, reading="truncated")
"""The reading is that of the records: all-MiniLM-L6-v2 reads the first window of a passage."""

INDEXINGS = (UP_TO_0_23, SINCE_0_24)

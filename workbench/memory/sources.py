"""Where documents come from, and how their texts are cut into passages.

A source lists its documents with their sizes and times, and reads one document at a time. A chunker cuts its
text by the rules of a system that the workbench reproduces.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from workbench.errors import InputError
from workbench.memory.files import (
    GENERAL,
    SOURCE,
    FileRules,
    content_hash,
    list_files,
    location_of,
    read_document,
)
from workbench.records import Chunk, Document, Passage


class Chunker(Protocol):
    """Cuts text into passages. Chunkers that cut differently have different names."""

    @property
    def name(self) -> str: ...

    def chunk(self, text: str) -> list[Passage]: ...


def chunker_of_file(chunker: Chunker, path: str) -> Chunker:
    """The chunker of one file of the memory: `chunker.of_file(path)` where it cuts some files differently."""
    of_file: Callable[[str], Chunker] | None = getattr(chunker, "of_file", None)
    return of_file(path) if of_file else chunker


class ChunkSizes(NamedTuple):
    """How long a chunk is at most, and how much of it the next chunk repeats, in tokens of four characters.

    >>> str(ChunkSizes(200, 40)), ChunkSizes.parsed("200/40") == ChunkSizes(200, 40)
    ('200/40', True)
    """

    tokens: int
    overlap: int

    def __str__(self) -> str:
        return f"{self.tokens}/{self.overlap}"

    @property
    def advances(self) -> bool:
        """Whether each chunk begins after the one before."""
        return 0 <= self.overlap < self.tokens

    @classmethod
    def parsed(cls, text: str) -> Self:
        """The sizes that `text` names. Raises InputError for a text of another form."""
        found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text.strip())
        sizes = None if found is None else cls(int(found[1]), int(found[2]))
        if sizes is None or not sizes.advances:
            raise InputError(
                f"{text!r} are no sizes of chunks.",
                "Give the tokens of a chunk, and of its overlap, which is smaller: 200/40.",
            )
        return sizes


def sizes_in(name: str) -> ChunkSizes | None:
    """The sizes that the name of a chunker has; None for a name without them.

    >>> sizes_in(LineChunker(200, 40).name)
    ChunkSizes(tokens=200, overlap=40)
    """
    found = re.search(r" tokens=([0-9]{1,9}) overlap=([0-9]{1,9})(?: |$)", name)
    sizes = None if found is None else ChunkSizes(int(found[1]), int(found[2]))
    return sizes if sizes is not None and sizes.advances else None


def resized(chunker: Chunker, sizes: ChunkSizes) -> Chunker:
    """The same chunker with other sizes. Raises InputError for a chunker that has none."""
    cuts: Any = chunker
    names = {one.name for one in fields(cuts)} if is_dataclass(cuts) else set()
    if {"tokens", "overlap"} <= names:
        changed: Chunker = replace(cuts, tokens=sizes.tokens, overlap=sizes.overlap)
    elif "chunker" in names:  # one that cuts again, or differently, what another one cuts
        changed = replace(cuts, chunker=resized(cuts.chunker, sizes))
    else:
        raise InputError(
            f"The chunker {chunker.name} has no sizes.", "Choose a chunker with tokens and overlap."
        )
    return changed


HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def utf16_length(text: str) -> int:
    """The length in UTF-16 code units, as JavaScript counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def chunk_id(source: str, path: str, start_line: int, end_line: int, hash_: str, model: str) -> str:
    """A chunk's stable id: sha256 of `source:path:start:end:hash:model`.

    Source: openclaw 2026.2.13, src/memory/manager.ts.
    """
    key = f"{source}:{path}:{start_line}:{end_line}:{hash_}:{model}"
    return hashlib.sha256(key.encode()).hexdigest()


def is_sound(chunk: Chunk, model: str) -> bool:
    """Whether a chunk of an index of that model has the place and the text that its id was made of."""
    made_of = chunk.source, chunk.path, chunk.start_line, chunk.end_line, content_hash(chunk.text)
    return chunk.id == chunk_id(*made_of, model)


def whole_characters(text: str) -> str:
    """The text with every lone surrogate replaced by U+FFFD."""
    return text if text.isascii() else HALF_CHARACTER.sub("\ufffd", text)


class Segment(NamedTuple):
    """A line, or a piece of a line too long for one chunk; `cost` is its length with the line's end."""

    text: str
    line: int
    cost: int


@dataclass(frozen=True)
class LineChunker:
    """Whole lines up to tokens × 4 UTF-16 units, at least overlap × 4 of them repeated in the next chunk.

    It ignores Markdown: a chunk can end between a heading and its text. A longer line is cut into pieces that
    share its line number. The overlap consists of whole segments of any length, so a chunk can reach about
    twice the budget (openclaw#138722).
    Source: openclaw 2026.2.13, src/memory/internal.ts, chunkMarkdown.
    """

    tokens: int = 400
    overlap: int = 80

    def __post_init__(self) -> None:
        if self.tokens < 1 or not 0 <= self.overlap < max(self.tokens, 1):
            raise InputError(
                f"A chunker of {self.tokens} tokens with {self.overlap} overlapping cannot advance.",
                "Use at least 1 token, and an overlap from 0 to tokens - 1.",
            )

    @property
    def name(self) -> str:
        return f"openclaw-2026.2.13 tokens={self.tokens} overlap={self.overlap}"

    @property
    def budget(self) -> int:
        """The longest chunk in UTF-16 units, or in what a subclass counts."""
        return max(32, self.tokens * 4)

    def chunk(self, text: str) -> list[Passage]:
        """The passages of `text` in order; an empty text is one empty passage."""
        return self.passages(text.split("\n"), 1)

    def passages(self, lines: Sequence[str], first: int) -> list[Passage]:
        """The passages of these lines; `first` is the number of the first one."""
        passages: list[Passage] = []
        current: list[Segment] = []
        size = 0
        for number, line in enumerate(lines, first):
            for segment in self.segments(line, number):
                if current and size + segment.cost > self.budget:
                    passages.append(_passage(current))
                    current = self.carried(current, segment)
                    size = sum(one.cost for one in current)
                current.append(segment)
                size += segment.cost
        return [*passages, _passage(current)]

    def segments(self, line: str, number: int) -> Iterator[Segment]:
        """The line, or pieces of a long one; a cut surrogate pair becomes U+FFFD, as JavaScript writes it."""
        length = utf16_length(line)
        if length <= self.budget:
            yield Segment(line, number, length + 1)
            return
        data = line.encode("utf-16-le", "surrogatepass")
        for start in range(0, len(data), self.budget * 2):
            piece = data[start : start + self.budget * 2].decode("utf-16-le", "surrogatepass")
            yield Segment(whole_characters(piece), number, utf16_length(piece) + 1)

    def carried(self, segments: Sequence[Segment], incoming: Segment) -> list[Segment]:
        """The last segments of a chunk, which the next one repeats: as many as reach the overlap."""
        size, first = 0, len(segments)
        while first > 0 and size < self.overlap * 4:
            first -= 1
            size += segments[first].cost
        return list(segments[first:])


def _passage(segments: Sequence[Segment]) -> Passage:
    text = "\n".join(segment.text for segment in segments)
    return Passage(text, segments[0].line, segments[-1].line, content_hash(text))


USUAL_LONGEST = 8192
"""Bytes of one text that an embedding model usually takes, as OpenClaw counts."""


def parts(text: str, most: int) -> list[str]:
    """The text in pieces of at most `most` bytes, cut between characters wherever the limit falls.

    >>> parts("naïve", 4)
    ['naï', 've']
    """
    data, found = text.encode(), []
    while len(data) > most:
        end = most
        while data[end] & 0xC0 == 0x80:  # within a character
            end -= 1
        found.append(data[:end].decode())
        data = data[end:]
    return [*found, data.decode()]


LONGEST_CHARACTER = 4
"""Bytes in UTF-8."""


@dataclass(frozen=True)
class LimitedChunker:
    """What another chunker cuts, cut again to at most `most` bytes; the parts of a passage share its lines.

    Source: openclaw 2026.2.13, src/memory/embedding-chunk-limits.ts, enforceEmbeddingMaxInputTokens.
    """

    chunker: Chunker
    most: int

    def __post_init__(self) -> None:
        if self.most < LONGEST_CHARACTER:
            raise InputError(
                f"A limit of {self.most} bytes is too small for some characters.",
                f"Use at least {LONGEST_CHARACTER}.",
            )

    @property
    def name(self) -> str:
        return f"{self.chunker.name} bytes={self.most}"

    def of_file(self, path: str) -> Chunker:
        """The same limit for the chunker of one file."""
        return LimitedChunker(chunker_of_file(self.chunker, path), self.most)

    def chunk(self, text: str) -> list[Passage]:
        """The passages of `text` in order, each of at most `most` bytes."""
        return [part for passage in self.chunker.chunk(text) for part in within(passage, self.most)]


def within(passage: Passage, most: int) -> list[Passage]:
    """The passage in parts of at most `most` bytes, each with its own hash and all of its lines."""
    return [
        Passage(text, passage.start_line, passage.end_line, content_hash(text))
        for text in parts(passage.text, most)
    ]


class Look(NamedTuple):
    """What is known of a file without reading it: its size in bytes and its modification time."""

    size: int
    mtime_ns: int


class DocumentSource(Protocol):
    """Documents of one kind. Sync deletes a document when no source of its kind has it any more.

    Each method raises InputError for input that cannot be used; `read` raises its subclass `files.GoneError`
    for a file that was deleted since it was listed. A document's size and time are from before it was read.
    """

    @property
    def name(self) -> str:
        """The `source` of its documents: `memory` or `sessions`."""

    def stamps(self) -> dict[str, Look]:
        """The look of every document, by path. No file is opened."""

    def read(self, path: str) -> Document:
        """The document at one of these paths."""

    def cut(self, document: Document, chunker: Chunker) -> list[Passage]:
        """Its passages, blank ones left out, with line numbers of the original file."""


def stamps_of(files: Iterable[tuple[str, str]]) -> dict[str, Look]:
    """The stamps of files by path, from pairs of a path and a file; one that does not exist is left out."""
    found = {}
    for path, file in files:
        try:
            info = os.lstat(file)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            found[path] = Look(0, 0)  # so that reading it says what is wrong
            continue
        found[path] = Look(info.st_size, info.st_mtime_ns)
    return found


@dataclass(frozen=True)
class MemoryFolder:
    """The Markdown files of a memory's folder and of extra paths beside it."""

    name: ClassVar[str] = SOURCE
    root: Path
    extra: Sequence[str] = ()
    rules: FileRules = GENERAL

    def stamps(self) -> dict[str, Look]:
        listed = list_files(self.root, self.extra, self.rules)
        return stamps_of((path, f"{self.root}{os.sep}{path}") for path in listed)

    def read(self, path: str) -> Document:
        return read_document(location_of(self.root, path, self.extra), path)

    def cut(self, document: Document, chunker: Chunker) -> list[Passage]:
        cut = chunker_of_file(chunker, document.path).chunk(document.text)
        return [passage for passage in cut if passage.text.strip()]


@dataclass(frozen=True)
class Indexing:
    """How a release indexes a memory: which files it reads, how it cuts them, and the order of equal hits.

    With `ties_by_row`, hits with equal numbers come in the order in which they were stored, as an SQL query
    without a further ORDER BY returns them; otherwise in the order of their chunk ids. `reading` names how a
    local model reads a passage that is longer than its window; empty for the usual way.
    """

    name: str
    chunker: Chunker
    rules: FileRules = GENERAL
    ties_by_row: bool = False
    reading: str = ""


Listed = tuple[DocumentSource, Look]
"""Which source lists a document, and its look."""


def listed(sources: Iterable[DocumentSource]) -> dict[str, Listed]:
    """Every document by its path."""
    return {path: (source, look) for source in sources for path, look in source.stamps().items()}

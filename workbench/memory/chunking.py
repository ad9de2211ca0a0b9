"""Cuts a document's text into passages, by the rules of the systems that the workbench reproduces."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

from workbench.errors import InputError
from workbench.memory.files import content_hash
from workbench.records import Passage


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

    def chunk(self, text: str) -> list[Passage]:
        """The passages of `text` in order; an empty text is one empty passage."""
        budget, carry = max(32, self.tokens * 4), max(0, self.overlap * 4)
        passages: list[Passage] = []
        current: list[Segment] = []
        size = 0
        for segment in _segments(text, budget):
            if current and size + segment.cost > budget:
                passages.append(_passage(current))
                current = _carried(current, carry)
                size = sum(kept.cost for kept in current)
            current.append(segment)
            size += segment.cost
        passages.append(_passage(current))
        return passages


def _segments(text: str, budget: int) -> Iterator[Segment]:
    for number, line in enumerate(text.split("\n"), 1):
        length = utf16_length(line)
        if length <= budget:
            yield Segment(line, number, length + 1)
        else:
            pieces = _utf16_pieces(line, budget)
            yield from (Segment(piece, number, utf16_length(piece) + 1) for piece in pieces)


def _utf16_pieces(line: str, units: int) -> Iterator[str]:
    """Pieces of `units` code units. A cut surrogate pair becomes U+FFFD, as when JavaScript writes UTF-8."""
    data = line.encode("utf-16-le", "surrogatepass")
    for start in range(0, len(data), units * 2):
        yield whole_characters(data[start : start + units * 2].decode("utf-16-le", "surrogatepass"))


def _carried(segments: Sequence[Segment], wanted: int) -> list[Segment]:
    if wanted <= 0:
        return []
    size, first = 0, len(segments)
    while first > 0 and size < wanted:
        first -= 1
        size += segments[first].cost
    return list(segments[first:])


def _passage(segments: Sequence[Segment]) -> Passage:
    text = "\n".join(segment.text for segment in segments)
    return Passage(text, segments[0].line, segments[-1].line, content_hash(text))


def remap_lines(passages: Sequence[Passage], line_map: Sequence[int]) -> list[Passage]:
    """The passages with line n replaced by `line_map[n - 1]` where that exists.

    Source: openclaw 2026.2.13, src/memory/internal.ts, remapChunkLines.
    """

    def mapped(line: int) -> int:
        return line_map[line - 1] if line <= len(line_map) else line

    return [Passage(p.text, mapped(p.start_line), mapped(p.end_line), p.hash) for p in passages]

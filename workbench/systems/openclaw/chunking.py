"""Cuts a document's text into passages as OpenClaw 2026.9.6 does: by weighted characters, bounded overlap.

Two rules changed since 2026.2.13 (`chunking.LineChunker`). A character's weight follows the tokens that it
becomes, so Chinese text is no longer four times over its budget. The text carried into the next chunk can no
longer push that chunk past its budget (openclaw#138722, fixed by #138798).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from workbench.errors import InputError
from workbench.memory.chunking import utf16_length
from workbench.memory.files import content_hash
from workbench.records import Passage

CHARACTERS_PER_TOKEN = 4

# Characters that weigh more than their UTF-16 units, by the weight of one code point.
WEIGHTS: dict[int, tuple[tuple[int, int], ...]] = {
    # Common: middle dot, kana and CJK punctuation, unified ideographs, Hangul syllables, fullwidth forms.
    4: ((0xB7, 0xB7), (0x3000, 0x319F), (0x4E00, 0x9FA5), (0xAC00, 0xD7AF), (0xFF01, 0xFF60)),
    # Rarer ones of the basic plane: jamo, radicals, enclosed letters, extension A, Yi, compatibility.
    12: (
        (0x1100, 0x11FF), (0x2E80, 0x2FFF), (0x31A0, 0x4DFF), (0x9FA6, 0x9FFF), (0xA000, 0xA4FF),
        (0xA700, 0xA707), (0xA960, 0xA97F), (0xD7B0, 0xD7FF), (0xF900, 0xFAFF), (0x1D360, 0x1D371),
    ),
    # Tone marks, vertical and halfwidth forms, fullwidth signs.
    8: (
        (0x2C7, 0x2C7), (0x2C9, 0x2CB), (0x2D9, 0x2D9), (0x2EA, 0x2EB), (0x305, 0x305), (0x323, 0x323),
        (0xFE10, 0xFE4F), (0xFF61, 0xFFDC), (0xFFE0, 0xFFE6),
    ),
    # Supplementary planes: rare kana, enclosed ideographs, extensions B and later.
    16: (
        (0x16FE0, 0x16FFF), (0x1AFF0, 0x1AFFF), (0x1B000, 0x1B16F), (0x1F200, 0x1F2FF), (0x20000, 0x2FA1F),
        (0x30000, 0x3347F),
    ),
}  # fmt: skip

_HEAVY = re.compile(
    "|".join(
        f"(?P<w{weight}>[{''.join(f'{chr(first)}-{chr(last)}' for first, last in ranges)}])"
        for weight, ranges in WEIGHTS.items()
    )
)


def weight(text: str) -> int:
    """The weight of a text: four for each token that it is likely to become.

    >>> weight("abc"), weight("中文"), weight("a中"), weight("😀"), weight("\\U00020000")
    (3, 8, 5, 2, 16)
    """
    units = utf16_length(text)
    if text.isascii():
        return units
    return units + sum(
        int(found.lastgroup[1:]) - utf16_length(found[0])
        for found in _HEAVY.finditer(text)
        if found.lastgroup
    )


class _Segment(NamedTuple):
    """A line or a piece of one, its line number, and its weight with its line break."""

    text: str
    line: int
    cost: int


class Entry(NamedTuple):
    """A range of lines, counted from 1, both ends included; `bullet` if it is a list item."""

    start_line: int
    end_line: int
    bullet: bool


@dataclass(frozen=True)
class WeightedChunker:
    """Cuts whole lines up to a `weight` of tokens × 4, and repeats at most overlap × 4 in the next chunk.

    A line that is too heavy is cut between characters; all pieces keep its line number. The overlap is whole
    lines from the end, or the tail of the last one, and never more than the next line leaves room for.
    Source: openclaw 2026.9.6, packages/memory-host-sdk/src/host/markdown-chunks.ts (chunking version 5).
    `indexing` removes comments such as `<!-- importance: … -->` from the text before it is cut.
    """

    tokens: int = 400
    overlap: int = 80

    def __post_init__(self) -> None:
        if self.tokens < 1 or not 0 <= self.overlap < self.tokens:
            raise InputError(
                f"A chunker of {self.tokens} tokens with {self.overlap} overlapping cannot advance.",
                "Use at least 1 token, and an overlap from 0 to tokens - 1.",
            )

    @property
    def name(self) -> str:
        return f"openclaw-2026.9.6 tokens={self.tokens} overlap={self.overlap}"

    @property
    def budget(self) -> int:
        return max(32, self.tokens * CHARACTERS_PER_TOKEN)

    def chunk(self, text: str) -> list[Passage]:
        """The passages of `text` in order; an empty text gives one empty passage."""
        return self._passages(text.split("\n"), 1)

    def _passages(self, lines: Sequence[str], first_line: int) -> list[Passage]:
        passages: list[Passage] = []
        current: list[_Segment] = []
        for number, line in enumerate(lines, first_line):
            for segment in self._segments(line, number):
                if current and _cost(current) + segment.cost > self.budget:
                    passages.append(_passage(current))
                    current = self._carried(current, segment)
                current.append(segment)
        passages.append(_passage(current))
        return passages

    def _segments(self, line: str, number: int) -> Iterator[_Segment]:
        return _segments(line, number, self.budget)

    def _carried(self, segments: Sequence[_Segment], incoming: _Segment) -> list[_Segment]:
        room = max(0, self.budget - incoming.cost)
        return _carried(segments, min(self.overlap * CHARACTERS_PER_TOKEN, room))


@dataclass(frozen=True)
class EntryChunker(WeightedChunker):
    """Cuts each entry with `WeightedChunker`: no chunk reaches into the next bullet or heading.

    OpenClaw 2026.9.6 does this for the root MEMORY.md and USER.md only.
    """

    @property
    def name(self) -> str:
        return f"openclaw-2026.9.6-entries tokens={self.tokens} overlap={self.overlap}"

    def chunk(self, text: str) -> list[Passage]:
        return [passage for passage, _ in self.by_entry(text)]

    def by_entry(self, text: str) -> list[tuple[Passage, Entry]]:
        """Each passage with the entry that it belongs to."""
        lines = text.split("\n")
        return [
            (passage, entry)
            for entry in entries(text)
            for passage in self._passages(lines[entry.start_line - 1 : entry.end_line], entry.start_line)
        ]


_UNSPACED = re.compile(
    "[\u2e80-\u9fff\ua000-\ua4ff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60\uffe0-\uffe6\U00020000-\U0002fa1f]"
)


def july_weight(text: str) -> int:
    """What a text costs in 2026.7.1: four for a character of Chinese, Japanese or Korean, else UTF-16 units.

    >>> july_weight("abc"), july_weight("a中"), july_weight("😀"), july_weight("\\U00020000")
    (3, 5, 2, 4)
    """
    return utf16_length(text) + sum(4 - utf16_length(found) for found in _UNSPACED.findall(text))


@dataclass(frozen=True)
class JulyChunker(WeightedChunker):
    """Between February's cutting and September's: characters stay whole, and the overlap is not bounded.

    A line of more than the budget is cut at that many UTF-16 units; a piece that is too heavy then is cut
    again, into pieces of `tokens` units. Whole segments are carried, of any length.
    Source: openclaw 2026.7.1, packages/memory-host-sdk/src/host/internal.ts, chunkMarkdown.
    """

    @property
    def name(self) -> str:
        return f"openclaw-2026.7.1 tokens={self.tokens} overlap={self.overlap}"

    def _segments(self, line: str, number: int) -> Iterator[_Segment]:
        if not line:
            yield _Segment("", number, 1)
        for coarse in _whole_units(line, self.budget):
            pieces = _fine(coarse, self.tokens) if july_weight(coarse) > self.budget else [coarse]
            yield from (_Segment(piece, number, july_weight(piece) + 1) for piece in pieces)

    def _carried(self, segments: Sequence[_Segment], incoming: _Segment) -> list[_Segment]:
        wanted, first, size = self.overlap * CHARACTERS_PER_TOKEN, len(segments), 0
        while first > 0 and size < wanted:
            first -= 1
            size += segments[first].cost
        return list(segments[first:])


def _fine(text: str, units: int) -> Iterator[str]:
    """Pieces of `units` UTF-16 units; a character that begins within a piece ends in it."""
    start, size = 0, 0
    for place, character in enumerate(text):
        if size >= units:
            yield text[start:place]
            start, size = place, 0
        size += utf16_length(character)
    yield text[start:]


HEADING = re.compile(r"#{1,6}(?:\s|$)")


def entries(text: str) -> list[Entry]:
    """The entries of a text: each begins at a line that starts with `- ` or is a heading."""
    lines = text.split("\n")
    later = enumerate(lines[1:], 2)
    starts = [1, *(number for number, line in later if line.startswith("- ") or HEADING.match(line))]
    ends = [*(start - 1 for start in starts[1:]), len(lines)]
    return [
        Entry(start, end, lines[start - 1].startswith("- ")) for start, end in zip(starts, ends, strict=True)
    ]


def _segments(line: str, number: int, budget: int) -> Iterator[_Segment]:
    if not line:
        yield _Segment("", number, 1)
    for coarse in _whole_units(line, budget):
        for piece in _light_pieces(coarse, budget):
            yield _Segment(piece, number, weight(piece) + 1)


def _whole_units(line: str, units: int) -> Iterator[str]:
    """Pieces of at most `units` UTF-16 units; a surrogate pair is never split."""
    data = line.encode("utf-16-le", "surrogatepass")
    start = 0
    while start < len(data):
        end = min(start + units * 2, len(data))
        if end < len(data) and 0xD8 <= data[end - 1] <= 0xDB and 0xDC <= data[end + 1] <= 0xDF:
            end -= 2
        yield data[start:end].decode("utf-16-le", "surrogatepass")
        start = end


def _light_pieces(text: str, budget: int) -> Iterator[str]:
    if weight(text) <= budget:
        yield text
        return
    start, size = 0, 0
    for place, character in enumerate(text):
        heavier = weight(character)
        if size + heavier > budget:
            yield text[start:place]
            start, size = place, 0
        size += heavier
    yield text[start:]


def _carried(segments: Sequence[_Segment], window: int) -> list[_Segment]:
    """The last segments that fit into `window`; at least the tail of the last one, if that fits."""
    kept: list[_Segment] = []
    for segment in reversed(segments):
        room = window - _cost(kept)
        if room <= 0:
            break
        if segment.cost > room:
            tail = "" if kept else _tail(segment.text, room - 1)
            return [_Segment(tail, segment.line, weight(tail) + 1)] if tail else kept
        kept.insert(0, segment)
    return kept


def _tail(text: str, room: int) -> str:
    size, start = 0, len(text)
    while start > 0 and size + weight(text[start - 1]) <= room:
        start -= 1
        size += weight(text[start])
    return text[start:]


def _cost(segments: Sequence[_Segment]) -> int:
    return sum(segment.cost for segment in segments)


def _passage(segments: Sequence[_Segment]) -> Passage:
    text = "\n".join(segment.text for segment in segments)
    return Passage(text, segments[0].line, segments[-1].line, content_hash(text))

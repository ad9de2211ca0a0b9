"""How OpenClaw's releases index a memory: which files they list, what comments say, and how files are cut.

Two rules of cutting changed from 2026.2.13 (`memory.chunking.LineChunker`) to 2026.9.6. A character's weight
follows the tokens that it becomes, so Chinese text is no longer four times over its budget. The text carried
into the next chunk can no longer push that chunk past its budget (openclaw#138722, fixed by #138798).

Annotations are comments in a note that state its importance, its triggers and its projects. OpenClaw
2026.9.6 removes `<!-- importance: 8 -->`, `<!-- project: x; y -->` and `<!-- trigger: a, b -->` from the text
before it cuts and embeds it, and stores their values separately. Importance and triggers count only in the
root MEMORY.md and USER.md, and there only on lines that end with `-->`. Projects count in all files except
USER.md. Source: openclaw 2026.9.6, packages/memory-host-sdk/src/host/curated-annotations.ts, and
extensions/memory-core/src/memory/manager-index-preparation.ts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, Protocol, runtime_checkable

from workbench.contracts import Index
from workbench.memory.data_files import load_data
from workbench.memory.files import HEADS, SOURCE, TREE, FileRules
from workbench.memory.sources import (
    USUAL_LONGEST,
    Chunker,
    LimitedChunker,
    LineChunker,
    Segment,
    utf16_length,
)
from workbench.records import Chunk, Document, Passage
from workbench.retrieval.index_adapters import innermost, memoized
from workbench.retrieval.query import BLANKS
from workbench.systems.openclaw import FEBRUARY

ROOT_FILES = ("MEMORY.md", "USER.md")
"""The files that are cut by entry, and whose comments give importance and triggers."""
INVALID_PROJECT = "!invalid-project-annotation"
"""OpenClaw stores this for a chunk whose project comment it cannot read, and never returns such a chunk."""
MOST_CHUNKS = 8_192
"""The annotations of so many chunks are kept."""

MARKER = re.compile(rf"<!--[{BLANKS}]*(trigger|importance|project)[{BLANKS}]*:", re.ASCII | re.IGNORECASE)
LINE_END = re.compile(r"[\r\n]")
TRAILING_BLANKS = re.compile(r"(?<![ \t])[ \t]++(?=[\r\n\u2028\u2029]|\Z)")
LEVELS = {str(level): level for level in range(1, 11)}


@dataclass(frozen=True)
class Annotations:
    """The annotations of a chunk: importance from 1 to 10; triggers and projects, separated by `; `."""

    importance: int | None = None
    triggers: str | None = None
    projects: str | None = None


NOTHING_SAID = Annotations()


class Comment(NamedTuple):
    """One comment: its position in the text, its kind in lower case, and its trimmed value."""

    start: int
    end: int
    kind: str
    value: str


def comments(text: str, within_lines: bool = False) -> Iterator[Comment]:
    """The annotation comments of a text, in order; `within_lines` skips values that span lines."""
    offset, closing, line_end = 0, -1, -1
    while marker := MARKER.search(text, offset):
        offset = marker.end()
        if closing < offset:
            closing = text.find("-->", offset)
            if closing < 0:
                return
        if within_lines and line_end < offset:
            found = LINE_END.search(text, offset)
            line_end = found.start() if found else len(text)
        if within_lines and line_end < closing:
            continue
        value = text[offset:closing].strip(BLANKS)
        offset = closing + len("-->")
        yield Comment(marker.start(), offset, marker[1].lower(), value)


def without_annotations(text: str) -> str:
    """A text without its annotations; if it has any, trailing blanks of all lines are removed too.

    >>> without_annotations("Tea at four. <!-- importance: 8 -->")
    'Tea at four.'
    """
    parts, cursor = [], 0
    for comment in comments(text, within_lines=True):
        parts.append(text[cursor : comment.start])
        cursor = comment.end
    if not cursor:
        return text
    return TRAILING_BLANKS.sub("", "".join([*parts, text[cursor:]]))


def annotations_of_lines(path: str, lines: Sequence[str]) -> Annotations:
    """The annotations in these lines of a file of the memory.

    >>> annotations_of_lines("MEMORY.md", ["- Tea. <!-- importance: 3 --> <!-- importance: 8 -->"])
    Annotations(importance=8, triggers=None, projects=None)
    """
    projects = None if path.upper() == "USER.MD" else _projects("\n".join(lines))
    if path not in ROOT_FILES:
        return Annotations(projects=projects)
    ended = [line for line in lines if line.rstrip(BLANKS).endswith("-->")]
    said = [comment for line in ended for comment in comments(line)]
    levels = [_level(one.value) for one in said if one.kind == "importance"]
    phrases = [re.split("[,;]", one.value) for one in said if one.kind == "trigger"]
    triggers = [phrase.strip(BLANKS) for some in phrases for phrase in some]
    return Annotations(
        max((level for level in levels if level is not None), default=None),
        "; ".join(dict.fromkeys(filter(None, triggers))) or None,
        projects,
    )


def _level(value: str) -> int | None:
    """A written level, with or without leading zeros; None unless it is a whole number from 1 to 10."""
    return LEVELS.get(value.lstrip("0")) if value.isascii() else None


def _projects(text: str) -> str | None:
    """The projects that a text names, each once; `INVALID_PROJECT` if one of its comments names none."""
    opened = sum(marker[1].lower() == "project" for marker in MARKER.finditer(text))
    if not opened:
        return None
    closed = list(_project_comments(text))
    keys = [_project(key) for value in closed for key in value.split(";")]
    if len(closed) != opened or not all(keys):
        return INVALID_PROJECT
    return "; ".join(dict.fromkeys(key for key in keys if key))


def _project_comments(text: str) -> Iterator[str]:
    """The values of project comments, also of those inside other comments."""
    offset = 0
    while marker := MARKER.search(text, offset):
        offset = marker.end()
        closing = text.find("-->", offset)
        if closing < 0:
            return
        if marker[1].lower() == "project":
            yield text[offset:closing].strip(BLANKS)
            offset = closing + len("-->")


def _project(text: str) -> str | None:
    """A project's key: `github.com/a/B` for `GitHub.com/a/B`; None if the text is not a key."""
    key = text.strip(BLANKS)
    if not key or re.search(r"[\r\n<>]", key):
        return None
    host, slash, path = key.partition("/")
    return key if key.startswith("path:") or not host else f"{host.lower()}{slash}{path}" if slash else key


class Entry(NamedTuple):
    """A range of lines, counted from 1, both ends included; `bullet` if it is a list item."""

    start_line: int
    end_line: int
    bullet: bool


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


# Annotations of the chunks of an index


@runtime_checkable
class Annotated(Protocol):
    """An index that stores the annotations of its chunks, by chunk id."""

    def annotations(self) -> Mapping[str, Annotations]: ...


def annotations_of(index: Index) -> Callable[[Chunk], Annotations]:
    """A function that gives a chunk's annotations: from the index, or else from the lines of its document."""
    return memoized(index, "annotations", lambda: _reader(index))


def _reader(index: Index) -> Callable[[Chunk], Annotations]:
    store = innermost(index)
    if isinstance(store, Annotated):
        known = store.annotations()
        return lambda chunk: known.get(chunk.id, NOTHING_SAID)
    documents = index.documents()
    if documents is None:
        return lambda chunk: annotations_of_lines(chunk.path, chunk.text.split("\n"))
    with_comments = (one for one in documents if one.source == SOURCE and MARKER.search(one.text))
    files = {one.path: AnnotatedFile.of(one) for one in with_comments}
    read = lru_cache(maxsize=MOST_CHUNKS)(lambda chunk: files[chunk.path].of_chunk(chunk))
    return lambda chunk: read(chunk) if chunk.path in files else NOTHING_SAID


@dataclass(frozen=True)
class AnnotatedFile:
    """The lines of a file with comments, and its entries (list items), if it is cut by entry."""

    path: str
    lines: Sequence[str]
    entries: Sequence[Entry]

    @classmethod
    def of(cls, document: Document) -> AnnotatedFile:
        """The file of a document."""
        lines = document.text.replace("\r\n", "\n").split("\n")
        bullets = entries(without_annotations(document.text)) if document.path in ROOT_FILES else []
        return cls(document.path, lines, [one for one in bullets if one.bullet])

    def of_chunk(self, chunk: Chunk) -> Annotations:
        """The annotations of a chunk: from its whole entry if it lies within one, else from its lines."""
        first, last = chunk.start_line, chunk.end_line
        for entry in self.entries:
            if entry.start_line <= first and last <= entry.end_line:
                first, last = entry.start_line, entry.end_line
        return annotations_of_lines(self.path, self.lines[first - 1 : last])


CHARACTERS_PER_TOKEN = 4


WEIGHTS: Mapping[int, Sequence[tuple[int, int]]] = load_data(__file__, "weights.yaml")
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


@dataclass(frozen=True)
class WeightedChunker(LineChunker):
    """Cuts whole lines up to a `weight` of tokens × 4, and repeats at most overlap × 4 in the next chunk.

    A line that is too heavy is cut between characters; all pieces keep its line number. The overlap is whole
    lines from the end, or the tail of the last one, and never more than the next line leaves room for.
    Source: openclaw 2026.9.6, packages/memory-host-sdk/src/host/markdown-chunks.ts (chunking version 5).
    Comments such as `<!-- importance: … -->` are removed from the text before it is cut.
    """

    @property
    def name(self) -> str:
        return f"openclaw-2026.9.6 tokens={self.tokens} overlap={self.overlap}"

    def segments(self, line: str, number: int) -> Iterator[Segment]:
        if not line:
            yield Segment("", number, 1)
        for coarse in _whole_units(line, self.budget):
            for piece in _light_pieces(coarse, self.budget):
                yield Segment(piece, number, weight(piece) + 1)

    def carried(self, segments: Sequence[Segment], incoming: Segment) -> list[Segment]:
        """The last segments that fit; at least the tail of the last one, if that fits."""
        window = min(self.overlap * CHARACTERS_PER_TOKEN, max(0, self.budget - incoming.cost))
        kept: list[Segment] = []
        for segment in reversed(segments):
            room = window - sum(one.cost for one in kept)
            if room <= 0:
                break
            if segment.cost > room:
                tail = "" if kept else _tail(segment.text, room - 1)
                return [Segment(tail, segment.line, weight(tail) + 1)] if tail else kept
            kept.insert(0, segment)
        return kept


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
            for passage in self.passages(lines[entry.start_line - 1 : entry.end_line], entry.start_line)
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
class JulyChunker(LineChunker):
    """Between February's cutting and September's: characters stay whole, and the overlap is not bounded.

    A line of more than the budget is cut at that many UTF-16 units; a piece that is too heavy then is cut
    again, into pieces of `tokens` units. Whole segments are carried, of any length.
    Source: openclaw 2026.7.1, packages/memory-host-sdk/src/host/internal.ts, chunkMarkdown.
    """

    @property
    def name(self) -> str:
        return f"openclaw-2026.7.1 tokens={self.tokens} overlap={self.overlap}"

    def segments(self, line: str, number: int) -> Iterator[Segment]:
        if not line:
            yield Segment("", number, 1)
        for coarse in _whole_units(line, self.budget):
            pieces = _fine(coarse, self.tokens) if july_weight(coarse) > self.budget else [coarse]
            yield from (Segment(piece, number, july_weight(piece) + 1) for piece in pieces)


def _fine(text: str, units: int) -> Iterator[str]:
    """Pieces of `units` UTF-16 units; a character that begins within a piece ends in it."""
    start, size = 0, 0
    for offset, character in enumerate(text):
        if size >= units:
            yield text[start:offset]
            start, size = offset, 0
        size += utf16_length(character)
    yield text[start:]


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
    for offset, character in enumerate(text):
        heavier = weight(character)
        if size + heavier > budget:
            yield text[start:offset]
            start, size = offset, 0
        size += heavier
    yield text[start:]


def _tail(text: str, room: int) -> str:
    size, start = 0, len(text)
    while start > 0 and size + weight(text[start - 1]) <= room:
        start -= 1
        size += weight(text[start])
    return text[start:]


# Each release


def is_memory_path(path: str) -> bool:
    """Whether a path, relative to the workspace, is MEMORY.md, memory.md or something below memory/.

    Dots and slashes at its beginning do not count, so `../memory/a.md` passes: the code that opens the file
    has to refuse `..`. Source: openclaw 2026.2.13, src/memory/internal.ts, isMemoryPath.
    """
    plain = path.strip().lstrip("./").replace("\\", "/")
    return plain in HEADS or plain.startswith(f"{TREE}/")


JULY_FILES = FileRules(("MEMORY.md",), anywhere=False, every_folder=True)
"""Source: openclaw 2026.7.1, packages/memory-host-sdk/src/host/internal.ts, listMemoryFiles."""

SEPTEMBER_FILES = FileRules(ROOT_FILES, anywhere=False, every_folder=True)
"""Source: openclaw 2026.9.6, packages/memory-host-sdk/src/host/internal.ts, listMemoryFiles."""


@dataclass(frozen=True)
class UnannotatedChunker:
    """Removes the annotations from a text, and then cuts the text with another chunker."""

    chunker: Chunker

    @property
    def name(self) -> str:
        return f"{self.chunker.name} without annotations"

    def chunk(self, text: str) -> list[Passage]:
        """The passages of the text without its annotations."""
        return self.chunker.chunk(without_annotations(text))


@dataclass(frozen=True)
class SeptemberChunker(WeightedChunker):
    """Cuts as 2026.9.6 does: it removes annotations, and cuts the root MEMORY.md and USER.md by entry.

    Transcripts keep their annotations. Source: openclaw 2026.9.6,
    extensions/memory-core/src/memory/manager-index-preparation.ts.
    """

    @property
    def name(self) -> str:
        return f"openclaw-2026.9.6-by-file tokens={self.tokens} overlap={self.overlap}"

    def of_file(self, path: str) -> Chunker:
        """The chunker of one file of the memory."""
        kind = EntryChunker if path in ROOT_FILES else WeightedChunker
        return UnannotatedChunker(kind(self.tokens, self.overlap))


JULY = replace(
    FEBRUARY,
    name="openclaw-2026.7.1",
    chunker=LimitedChunker(JulyChunker(), USUAL_LONGEST),
    rules=JULY_FILES,
)
SEPTEMBER = replace(FEBRUARY, name="openclaw-2026.9.6", chunker=SeptemberChunker(), rules=SEPTEMBER_FILES)

SAME = {
    "openclaw-2026.2.12": FEBRUARY,
    "openclaw-2026.2.15": FEBRUARY,
    "openclaw-2026.2.27": FEBRUARY,
    "openclaw-2026.3.7": FEBRUARY,
    "openclaw-2026.3.31-trigram": FEBRUARY,
    "openclaw-2026.9.6-trigram": SEPTEMBER,
}
"""Releases that index as another one does."""

INDEXINGS = (FEBRUARY, JULY, SEPTEMBER, *(replace(one, name=name) for name, one in SAME.items()))

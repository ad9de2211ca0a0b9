"""Annotations: comments in a note that state its importance, its triggers and its projects.

OpenClaw 2026.9.6 removes `<!-- importance: 8 -->`, `<!-- project: x; y -->` and `<!-- trigger: a, b -->` from
the text before it cuts and embeds it, and stores their values separately. Importance and triggers count only
in the root MEMORY.md and USER.md, and there only on lines that end with `-->`. Projects count in all files
except USER.md. Source: openclaw 2026.9.6, packages/memory-host-sdk/src/host/curated-annotations.ts, and
extensions/memory-core/src/memory/manager-index-preparation.ts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol, runtime_checkable

from workbench.contracts import Index
from workbench.memory.files import SOURCE
from workbench.records import Chunk, Document
from workbench.retrieval.index_adapters import innermost, kept
from workbench.retrieval.query import BLANKS

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
    place, closing, line_end = 0, -1, -1
    while marker := MARKER.search(text, place):
        place = marker.end()
        if closing < place:
            closing = text.find("-->", place)
            if closing < 0:
                return
        if within_lines and line_end < place:
            found = LINE_END.search(text, place)
            line_end = found.start() if found else len(text)
        if within_lines and line_end < closing:
            continue
        value = text[place:closing].strip(BLANKS)
        place = closing + len("-->")
        yield Comment(marker.start(), place, marker[1].lower(), value)


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
    place = 0
    while marker := MARKER.search(text, place):
        place = marker.end()
        closing = text.find("-->", place)
        if closing < 0:
            return
        if marker[1].lower() == "project":
            yield text[place:closing].strip(BLANKS)
            place = closing + len("-->")


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
    return kept(index, "annotations", lambda: _reader(index))


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

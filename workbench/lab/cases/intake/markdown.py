"""Reads Markdown as sections with their fenced blocks and plain lines; every part knows its line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*(.*)")
HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*))?")


@dataclass
class MarkdownPart:
    """A line, a heading or a fenced block: its kind, its text, and its line, counted from 1.

    `depth` is the number of # of a heading, and `word` the word after an opening fence. `closed` is False for
    a fenced block without an end.
    """

    kind: str
    line: int
    text: str
    depth: int = 0
    word: str = ""
    closed: bool = True


@dataclass
class Section:
    """A section of an issue: its name as the template writes it, the line of its heading, and its parts."""

    name: str
    line: int
    parts: list[MarkdownPart] = field(default_factory=list)

    @property
    def lines(self) -> list[MarkdownPart]:
        """The plain lines that are not blank."""
        return [one for one in self.parts if one.kind == "line" and one.text]

    @property
    def blocks(self) -> list[MarkdownPart]:
        """The fenced blocks."""
        return [one for one in self.parts if one.kind == "block"]

    @property
    def empty(self) -> bool:
        """Whether nothing is written below the heading."""
        return not self.parts or all(one.kind == "line" and not one.text for one in self.parts)


def parts_of(text: str) -> Iterator[MarkdownPart]:
    """The headings, fenced blocks and plain lines of a Markdown text, without its HTML comments.

    Plain lines have no space around them. A block has its lines as they are.
    """
    block: MarkdownPart | None = None
    inside: list[str] = []
    fence, comment = "", False
    for number, line in enumerate(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"), start=1):
        if block is not None:
            if _closes(line, fence):
                block.text = "\n".join(inside)
                yield block
                block = None
            else:
                inside.append(line)
            continue
        plain, comment = _uncommented(line, comment)
        opened = FENCE.fullmatch(plain)
        if opened:
            fence, inside = opened[1], []
            block = MarkdownPart("block", number, "", word=opened[2].strip())
        elif headed := HEADING.fullmatch(plain.strip()):
            yield MarkdownPart(
                "heading", number, (headed[2] or "").strip().rstrip("#").strip(), len(headed[1])
            )
        else:
            yield MarkdownPart("line", number, plain.strip())
    if block is not None:
        block.text, block.closed = "\n".join(inside), False
        yield block


def _closes(line: str, fence: str) -> bool:
    mark = line.strip()
    return len(mark) >= len(fence) and set(mark) == {fence[0]}


def _uncommented(line: str, inside: bool) -> tuple[str, bool]:
    """The line without its comments, and whether a comment is open at its end."""
    kept: list[str] = []
    while line:
        before, found, line = line.partition("-->" if inside else "<!--")
        kept += [] if inside else [before]
        inside = inside != bool(found)
    return "".join(kept), inside


def sections_of(
    parts: Iterable[MarkdownPart], names: Iterable[str]
) -> tuple[MarkdownPart | None, list[Section], list[MarkdownPart]]:
    """The title (the first heading of depth 1), the sections with these names, and what is in none of them.

    Headings of depth 1 to 3 begin a section if they have its name; others belong to the section above. A
    heading of depth 2 that has none of the names is in no section, with all that stands below it.
    """
    known = {one.casefold(): one for one in names}
    title: MarkdownPart | None = None
    found: list[Section] = []
    rest: list[MarkdownPart] = []
    here: list[MarkdownPart] = rest
    for one in parts:
        name = known.get(one.text.rstrip(":?").casefold()) if one.kind == "heading" else None
        if name is not None and one.depth <= 3:
            found.append(Section(name, one.line))
            here = found[-1].parts
        elif one.kind == "heading" and one.depth == 1 and title is None and not found:
            title = one
        else:
            if one.kind == "heading" and one.depth == 2:
                here = rest
            here.append(one)
    return title, found, rest

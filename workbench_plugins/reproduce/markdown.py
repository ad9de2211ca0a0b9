"""The headings, fenced blocks and plain lines of a Markdown text, each with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

FENCE = re.compile(r" {0,3}(`{3,}|~{3,}).*")
HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*))?")


@dataclass
class MarkdownPart:
    """A line, a heading or a fenced block: its kind, its text, and its line, counted from 1.

    `depth` is the number of # of a heading. `closed` is False for a fenced block without an end.
    """

    kind: str
    line: int
    text: str
    depth: int = 0
    closed: bool = True


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
            block = MarkdownPart("block", number, "")
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

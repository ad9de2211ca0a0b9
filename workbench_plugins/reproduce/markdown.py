"""The headings, fenced blocks and plain lines of a Markdown text, each with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import unescape

FENCE = re.compile(r" {0,3}(`{3,}|~{3,}).*")
PRE = re.compile(r"<pre\b[^>]*>(?:\s*<code\b[^>]*>)?|(?:</code>\s*)?</pre>", re.IGNORECASE)
PRE_MARK = "~~~~~~~~"
"""The fence that stands for both ends of <pre>; ``` inside does not end it."""
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


def parts_of(text: str, html: Mapping[str, str]) -> Iterator[MarkdownPart]:
    """The headings, fenced blocks and plain lines of a Markdown text, without its HTML comments.

    `html` has the Markdown for each expression of a tag. Plain lines have no space around them. A block has
    its lines as they are.
    """
    block: MarkdownPart | None = None
    inside: list[str] = []
    fence, comment = "", False
    for number, line in _numbered(text.removeprefix("\ufeff").replace("\r\n", "\n")):
        if block is not None:
            if _closes(line, fence):
                block.text = "\n".join(inside)
                yield block
                block = None
            else:
                inside.append(_plain(line, html) if fence == PRE_MARK else line)
            continue
        plain, comment = _uncommented(line, comment)
        plain = _plain(plain, html)
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


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers; <pre> and its end stand on lines of their own, before and after."""
    for number, line in enumerate(text.split("\n"), start=1):
        parts = PRE.split(line)
        for place, part in enumerate(parts, start=1):
            if part.strip() or len(parts) == 1:
                yield number, part
            if place < len(parts):
                yield number - bool(parts[place].strip()), PRE_MARK


def _plain(line: str, html: Mapping[str, str]) -> str:
    if "<" in line:
        for tag, mark in html.items():
            line = re.sub(tag, mark, line, flags=re.IGNORECASE)
    return unescape(line)


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

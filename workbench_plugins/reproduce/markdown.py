"""The headings, fenced blocks and plain lines of a Markdown text, each with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import unescape

FENCE = re.compile(r" {0,3}(`{3,}|~{3,}).*")
PRE = re.compile(r"<pre\b[^<>]*>(?:\s*<code\b[^<>]*>)?|(?:</code>\s*)?</pre>", re.IGNORECASE)
PRE_MARK = "~~~~~~~~"
"""The fence that stands for both ends of <pre>; ``` inside does not end it."""
COMMENT = re.compile(
    r"^( {0,3}(?P<fence>`{3,}|~{3,}).*?(?:^[ \t]*(?P=fence)|\Z))|<!--.*?(?:-->|\Z)", re.DOTALL | re.MULTILINE
)
"""A comment, or a fenced block, in which there are none."""
HEADING = re.compile(r"#{1,6}(?:[ \t]+(.*))?|\*\*([^*]{2,60})\*\*:?")
"""A heading, or a line in bold, which is one in many forms."""


@dataclass(frozen=True)
class MarkdownPart:
    """A line, a heading or a fenced block: its kind, its text, and its line, counted from 1."""

    kind: str
    line: int
    text: str


def parts_of(text: str, html: Mapping[str, str]) -> Iterator[MarkdownPart]:
    """The headings, fenced blocks and plain lines of a Markdown text, without its HTML comments.

    `html` has the Markdown for each expression of a tag. Plain lines have no space around them. A block has
    its lines as they are.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    text = COMMENT.sub(lambda found: found[1] or "\n" * found[0].count("\n"), text)
    begun, fence, inside = 0, "", list[str]()
    for number, line in _numbered(text):
        plain = _plain(line, html)
        if fence and re.fullmatch(rf"\s*{fence}{fence[0]}*\s*", line):
            yield MarkdownPart("block", begun, "\n".join(inside))
            fence = ""
        elif fence:
            inside.append(plain if fence == PRE_MARK else line)
        elif opened := FENCE.fullmatch(plain):
            begun, fence, inside = number, opened[1], []
        elif headed := HEADING.fullmatch(plain.strip()):
            yield MarkdownPart("heading", number, (headed[1] or headed[2] or "").strip().rstrip("#").strip())
        else:
            yield MarkdownPart("line", number, plain.strip())
    if fence:
        yield MarkdownPart("block", begun, "\n".join(inside))


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

"""A report as it was pasted: its lines without secrets and markup, and where each character stands in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.masking import MASK, secret_spans
from workbench_plugins.reproduce.report_patterns import WORDS, form

FIRST_LINES, LAST_LINES, LONGEST_LINE = 1_000, 300, 2_000
"""What is read of a report: a log between says nothing new."""
MOST_CHARACTERS, SHORT_LINE = 300_000, 200
"""Beyond that many characters only beginnings of lines are read. No report on GitHub has more than 65,536."""
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
PRE = re.compile(r"<pre\b[^<>]*>(?:\s*<code\b[^<>]*>)?|(?:</code>\s*)?</pre>", re.IGNORECASE)
PRE_MARK = "~~~~~~~~"
"""The fence that stands for both ends of <pre>; ``` inside does not end it."""
COMMENT = re.compile(
    r"^( {0,3}(?P<fence>`{3,}|~{3,}).*?(?:^[ \t]*(?P=fence)|\Z))|<!--.*?(?:-->|\Z)"
    r"|<(?:script|style)\b[^<>]*>[^<]*(?:<(?!/?(?:script|style)\b)[^<]*)*</(?:script|style)>",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
"""A comment, a script or a style of a page, or a fenced block, in which there are none."""
HEADING = re.compile(r"#{1,6}(?:[ \t]+(.*))?|\*\*([^*]{2,60})\*\*:?")
"""A heading, or a line in bold, which is one in many forms."""
UNSEEN = re.compile("[\u00ad\u200b\u2060\u202a-\u202e\u2066-\u2069\ufeff]")
"""Signs without a picture that part words or turn their order. Those that join letters belong to words."""
ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,31});")


@dataclass(frozen=True)
class LocatedText:
    """A text that was made of a report, and for each character its place in the report."""

    text: str
    offsets: NDArray[np.int64]

    def part(self, first: int, last: int) -> LocatedText:
        """The characters from one place of this text to another."""
        return LocatedText(self.text[first:last], self.offsets[first:last])

    def stripped(self) -> LocatedText:
        """The text without blanks around it, and without the mark of a quotation."""
        first = len(self.text) - len(self.text.lstrip().removeprefix("> "))
        return self.part(first, max(first, len(self.text.rstrip())))

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Where in the report the characters from `first` to `last` stand."""
        if not self.text:
            return 0, 0
        last = max(first + 1, last)
        return int(self.offsets[min(first, len(self.text) - 1)]), int(self.offsets[last - 1]) + 1

    def with_replacements(self, pattern: re.Pattern[str], instead: Any) -> LocatedText:
        """The text with each match replaced by what `instead` makes of it; a new sign stands at its place."""
        texts, offsets, end = [], [], 0
        for found in pattern.finditer(self.text):
            said = instead(found) if callable(instead) else instead
            if said == found[0]:
                continue
            texts += [self.text[end : found.start()], said]
            offsets += [self.offsets[end : found.start()], np.full(len(said), self.offsets[found.start()])]
            end = found.end()
        if not texts:
            return self
        return LocatedText(
            "".join([*texts, self.text[end:]]),
            np.concatenate([*offsets, self.offsets[end:]]).astype(np.int64),
        )


@dataclass(frozen=True)
class Line:
    """A line of a report that is not blank, with the heading above it.

    `block` numbers the fenced block that it is in, from 1; 0 for prose. `info` is what follows the fence.
    `title` says that it is the first heading. `raw` is the line with the blanks before it.
    """

    number: int
    located: LocatedText
    raw: str
    heading: str = ""
    block: int = 0
    info: str = ""
    title: bool = False

    @property
    def text(self) -> str:
        """What the line says."""
        return self.located.text

    @property
    def code(self) -> bool:
        """Whether it is in a fenced block."""
        return self.block > 0


def pasted(text: str) -> LocatedText:
    """The lines of a report that are read, without its secrets."""
    rows, offsets, start, read = [], [], 0, 0
    lines = text.split("\n")
    last = max(FIRST_LINES, len(lines) - LAST_LINES)
    for number, line in enumerate(lines):
        fence = FENCE.match(line) or PRE.search(line[:LONGEST_LINE])
        most = LONGEST_LINE if read < MOST_CHARACTERS else SHORT_LINE
        kept = line[:most] if fence or not FIRST_LINES <= number < last else None
        if kept is not None:
            rows.append(kept.removesuffix("\r"))
            read += len(kept)
            offsets.append(np.arange(start, start + len(rows[-1]) + 1, dtype=np.int64))
        start += len(line) + 1
    whole = LocatedText("\n".join(rows), np.concatenate(offsets)[:-1])
    secrets = secret_spans(whole.text)
    texts, kept_offsets, end = [], [], 0
    for first, until in secrets:
        texts += [whole.text[end:first], MASK]
        kept_offsets.append(whole.offsets[end : first + 1])
        end = until
    return LocatedText(
        "".join([*texts, whole.text[end:]]), np.concatenate([*kept_offsets, whole.offsets[end:]])
    )


def lines_of(report: str) -> list[Line]:
    """The lines of a report that are not blank, without comments, markup and what its form adds."""
    ends = [found.start() for found in re.finditer("\n", report)]
    whole = pasted(report.removeprefix("\ufeff"))
    if report.startswith("\ufeff"):
        whole = LocatedText(whole.text, whole.offsets + 1)
    whole = whole.with_replacements(UNSEEN, "")
    whole = whole.with_replacements(COMMENT, lambda found: found[1] or "\n" * found[0].count("\n"))
    whole = whole.with_replacements(PRE, f"\n{PRE_MARK}\n")
    made = list(_lines(whole, ends))
    first = next((number for number, one in enumerate(made) if one.title), 0)
    return [*made[first : first + 1], *made[:first], *made[first + 1 :]]


def _lines(whole: LocatedText, ends: list[int]) -> Iterator[Line]:
    heading, fence, info, block, start, titled = "", "", "", 0, 0, False
    for text in whole.text.split("\n"):
        raw = whole.part(start, start + len(text))
        start += len(text) + 1
        if fence and re.fullmatch(rf"\s*{fence}{fence[0]}*\s*", text):
            fence = ""
            continue
        plain = _plain(raw) if not fence or fence == PRE_MARK else raw
        if not fence and (opened := FENCE.fullmatch(plain.text)):
            fence, info, block = opened[1], opened[2].strip(), block + 1
            continue
        said, is_heading = plain.stripped(), False
        if not fence and (headed := HEADING.fullmatch(said.text)):
            group = 1 if headed[1] is not None else 2
            said, is_heading = said.part(*headed.span(group)).stripped(), True
            heading = said.text.rstrip("#").strip()
        if said.text and (fence or not form("form").fullmatch(said.text)):
            number = bisect_left(ends, int(said.offsets[0])) + 1
            above = "" if is_heading else heading
            title = is_heading and not titled and raw.text.lstrip().startswith("#")
            titled = titled or title
            heading = "" if title and raw.text.startswith("# ") else heading
            yield Line(
                number,
                said,
                plain.text,
                heading=above,
                block=block if fence else 0,
                info=info if fence else "",
                title=title,
            )


def _plain(line: LocatedText) -> LocatedText:
    """The line with the Markdown that says the same as its tags and entities."""
    if "<" in line.text:
        for tag, mark in WORDS["html"].items():
            line = line.with_replacements(re.compile(tag, re.IGNORECASE), mark)
    return line.with_replacements(ENTITY, lambda found: unescape(found[0])) if "&" in line.text else line

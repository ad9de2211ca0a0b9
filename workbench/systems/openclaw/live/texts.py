"""Joins the text of a file from the chunks that OpenClaw cut it into."""

from __future__ import annotations

from collections.abc import Iterable


def whole_text(pieces: Iterable[tuple[int, int, str]]) -> str:
    """Joins pieces (first line, last line, text), which are in order; lines that pieces share appear once.

    A piece with more or fewer lines than it states, such as a part of one very long line, is taken whole.

    >>> whole_text([(1, 2, "a\\nb"), (2, 3, "b\\nc")])
    'a\\nb\\nc'
    """
    lines: dict[int, str] = {}
    for first, last, text in pieces:
        split = text.split("\n")
        if len(split) == last - first + 1:
            for number, line in enumerate(split, first):
                lines.setdefault(number, line)
        else:
            lines[first] = f"{lines[first]}\n{text}" if first in lines else text
    return "\n".join(lines[number] for number in sorted(lines))

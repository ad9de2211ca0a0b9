"""A file's text put together from the chunks that OpenClaw has cut it into."""

from __future__ import annotations

from collections.abc import Iterable


def whole_text(pieces: Iterable[tuple[int, int, str]]) -> str:
    """A text out of (first line, last line, text) in its order, the lines that pieces share taken once.

    A piece that has more or fewer lines than it says, as a part of one very long line has, is taken whole.

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

"""The lines of a file that an agent asks for, cut as two releases of OpenClaw cut them."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

from workbench.memory.sources import utf16_length
from workbench.safe_text import beginning

DEFAULT_LINES = 120
MOST_UNITS = 12_000
"""In 2026.9.6: the number of lines when none is given, and the most UTF-16 units of an answer."""

TOO_LONG = "[More content available. Requested excerpt exceeded the default maxChars budget.]"


def window(text: str, start: int | None, count: int | None) -> str:
    """`count` lines from line `start`, both at least 1; the whole text when neither is given, or both are 0.

    Source: openclaw 2026.2.13, src/memory/manager.ts, readFile.

    >>> window("a\\nb\\nc\\n", 2, 1), window("a\\nb\\nc\\n", 3, None), window("a\\nb\\nc\\n", 9, 1)
    ('b', 'c\\n', '')
    """
    if not start and not count:
        return text
    lines = text.split("\n")
    first = max(1, start or 1)
    wanted = len(lines) if count is None else max(1, count)
    return "\n".join(lines[first - 1 : first - 1 + wanted])


class Excerpt(NamedTuple):
    """Some lines of a file: the number of the first, how many, and the line to continue from, if any."""

    text: str
    start: int
    lines: int
    truncated: bool
    next_start: int | None


def bounded(text: str, start: int | None = None, count: int | None = None, most: int = MOST_UNITS) -> Excerpt:
    """`count` lines from line `start`, whole ones up to `most` UTF-16 units, and a notice if more follows.

    Without `count`, up to 120 lines. A first line longer than `most` is cut, without a line to continue from.
    Source: openclaw 2026.9.6, packages/memory-host-sdk/src/host/read-file-shared.ts.

    >>> print(bounded("a\\nb\\nc\\n", 2, 1).text)
    b
    <BLANKLINE>
    [More content available. Use from=3 to continue.]
    """
    lines = text.removesuffix("\n").split("\n") if text else []
    first = start or 1
    asked = lines[first - 1 : first - 1 + (count or DEFAULT_LINES)]
    sizes = list(accumulate(utf16_length(line) + 1 for line in asked))
    fitting = max(sum(size - 1 <= most for size in sizes), min(1, len(asked)))
    kept = "\n".join(asked[:fitting])
    if utf16_length(kept) > most:
        return Excerpt(f"{beginning(kept, most)}\n\n{TOO_LONG}", first, fitting, True, None)
    after = first + fitting
    if not asked or after > len(lines):
        return Excerpt(kept, first, fitting, False, None)
    notice = f"[More content available. Use from={after} to continue.]"
    return Excerpt(f"{kept}\n\n{notice}" if kept else kept, first, fitting, True, after)

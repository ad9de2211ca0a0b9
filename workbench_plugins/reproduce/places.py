"""Where facts stand in a report: their places, and the lines that say what should be and not what is."""

from __future__ import annotations

import re

from workbench_plugins.reproduce.facts import Fact
from workbench_plugins.reproduce.pasted import Line
from workbench_plugins.reproduce.report_patterns import WORDS, pattern

LONGEST_ANSWER = 200
"""Characters of the answer below a form's heading that are read."""
ENDING = r"\.(?:md|markdown|txt|jsonl?)"
PATH = re.compile(rf"(?<![\w/.@:-])((?:[\w@-][\w@.-]*/){{0,6}}[\w@-][\w@.-]{{0,80}}{ENDING})\b")


def fact(kind: str, line: Line, span: tuple[int, int] | None = None, value: str = "", name: str = "") -> Fact:
    """A fact at a place of a line, by default the whole line; `value` is what is read, if not its words."""
    first, last = span or (0, len(line.text))
    start, end = line.located.span(first, last)
    return Fact(kind, value or line.text[first:last], start, end, line.number, name)


def aside(line: Line) -> bool:
    """Whether a line says what should be, what was proposed or what helps, and not what happened."""
    section, begun = (pattern(WORDS["aside"][one]) for one in ("section", "line"))
    return (
        section.fullmatch(line.heading[:LONGEST_ANSWER]) is not None or begun.fullmatch(line.text) is not None
    )

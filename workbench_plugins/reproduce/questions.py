"""Reads what was asked: of the spans of a report that may be a question, those that are one.

A span whose signs weigh more than nothing is a question; the best of the others are offered. Nothing is made:
each is a part of the report.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench_plugins.reproduce.facts import Fact, aside, fact
from workbench_plugins.reproduce.pasted import Line
from workbench_plugins.reproduce.report_patterns import WORDS, pattern
from workbench_plugins.reproduce.spans import Span, spans_of

MOST_OF_A_KIND, OFFERED, LEAST = 5, 3, -3.0
"""Questions of a kind that are read, candidates that are offered, and the least weight of one."""
CERTAIN, JUDGED = 2.5, 100
"""A weight above which the earlier one of two questions is first, and how many of them are judged."""
FOLLOWING = 4
"""Lines after a question in which its outcome may stand."""


def questions_of(lines: Sequence[Line], returned: bool = False) -> tuple[list[Fact], list[Fact]]:
    """The questions with what became of them, and what may be one.

    Where something wrong is `returned`, what a question brings does not say that it works. One works only
    beside another that does not.
    """
    spans = sorted(spans_of(lines), key=lambda one: (-min(one.weight, CERTAIN), one.line.number, one.place))
    found = [one for one in spans if one.weight > 0]
    sure = list({(one.line.number, one.text): one for one in reversed(found)}.values())[::-1][:JUDGED]
    judged = [(one, "" if returned else _outcome(lines, found, one)) for one in sure]
    judged.sort(key=lambda pair: pair[1] != "fails")
    contrast = any(outcome != "works" for _, outcome in judged)
    facts = []
    for one, outcome in judged:
        name = "" if outcome == "works" and not contrast else outcome
        kind = "question that works" if name == "works" else "question"
        facts.append(fact(kind, one.line, one.place, one.text, name))
    read = {one.text for one in found}
    less = {one.text: one for one in reversed(spans) if one.text not in read and one.weight > LEAST}
    offered = list(less.values())[::-1][:OFFERED]
    return facts[: 2 * MOST_OF_A_KIND], [fact("question", one.line, one.place, one.text) for one in offered]


def _outcome(lines: Sequence[Line], asked: Sequence[Span], one: Span) -> str:
    """What is said after a question: *fails*, *works*, or empty."""
    fails, works = (pattern(WORDS["outcome"][name]) for name in ("fails", "works"))
    line, end, others = one.line, one.place[1], {each.line.number for each in asked}
    later = min((each.place[0] for each in asked if each.line is line and each.place[0] >= end), default=None)
    texts, place = [line.text[end:later]], lines.index(line)
    for each in lines[place + 1 : place + 1 + FOLLOWING] if later is None else ():
        if each.number in others or aside(each) or each.heading != line.heading:
            break
        texts.append(each.text)
    for text in texts:
        bad, good = fails.search(text), works.search(text)
        if bad and (good is None or bad.start() < good.start()):
            return "fails"
        if good:
            return "works"
    return ""

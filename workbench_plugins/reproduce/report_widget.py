"""A pasted report in a notebook: its facts in colour, its verdict, and both corrected with the mouse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from workbench.masking import MASK, secret_places
from workbench.safe_text import visible
from workbench_plugins.reproduce.facts import GIVEN, Fact, Report
from workbench_plugins.reproduce.reading import read_report
from workbench_plugins.reproduce.report_patterns import WORDS
from workbench_plugins.reproduce.verdicts import Verdict, verdict_of

CHOICES = [
    ("question", "", "question that fails"),
    ("question that works", "", "question that works"),
    ("target", "", "expected file"),
    *(("symptom", name, text) for name, text in WORDS["memories"]["happened"].items()),
]
"""What a selected text can be: a kind, a name, and the label of its button."""


class ReportReader(anywidget.AnyWidget):
    """A pasted report: select text to make a fact of it, click a mark to take it away.

    `report` has the facts, `result` is the verdict that follows from them. Raises InputError for a text
    without a word.
    """

    _esm = Path(__file__).with_name("report_widget.js")
    _css = Path(__file__).with_name("report_widget.css")
    pieces: traitlets.List[Any] = traitlets.List().tag(sync=True)
    facts: traitlets.List[Any] = traitlets.List().tag(sync=True)
    choices = traitlets.List(CHOICES).tag(sync=True)
    verdict = traitlets.Dict().tag(sync=True)

    def __init__(self, text: str) -> None:
        super().__init__()
        self.on_msg(self._hear)
        self._secrets = secret_places(text)
        self._take(read_report(text))

    def reject(self, place: int) -> None:
        """Take away the fact at this place of the list."""
        facts = self.report.facts
        self._take(replace(self.report, facts=(*facts[:place], *facts[place + 1 :])))

    def add(self, kind: str, start: int, end: int, name: str = "") -> None:
        """Make a fact of the characters from `start` to `end`; another one of its kind goes."""
        text = self.report.text
        if (kind, name) not in [choice[:2] for choice in CHOICES] or not 0 <= start < end <= len(text):
            return
        line = text.count("\n", 0, start) + 1
        self._take(self.report.with_given(Fact(kind, text[start:end], start, end, line, name, GIVEN)))

    def _take(self, report: Report) -> None:
        self.report: Report = report
        self.result: Verdict = verdict_of(report)
        with self.hold_sync():
            self.facts = [
                {
                    "line": one.line,
                    "source": one.source,
                    "label": f"{one.kind}: {one.name}" if one.name else one.kind,
                    "value": visible(one.value),
                }
                for one in report.facts
            ]
            self.verdict = {
                "kind": self.result.kind,
                "says": visible(self.result.says),
                "ask": list(map(visible, self.result.ask)),
            }
            self.pieces = list(self._pieces())

    def _pieces(self) -> list[dict[str, Any]]:
        """The text in pieces: each is of one fact, the shortest at its place, or of none."""
        text, facts = self.report.text, self.report.facts
        placed = [(one.start, one.end, number) for number, one in enumerate(facts) if one.end > one.start]
        ends = {0, len(text), *(end for one in (*placed, *self._secrets) for end in one[:2])}
        pieces, cuts = [], sorted(end for end in ends if end <= len(text))
        for start, end in pairwise(cuts):
            over = [one for one in placed if one[0] <= start and end <= one[1]]
            number = min(over, key=lambda one: one[1] - one[0])[2] if over else None
            hidden = any(first <= start and end <= last for first, last in self._secrets)
            shown = MASK if hidden else visible(text[start:end])
            kind = "" if number is None else facts[number].kind
            pieces.append({"start": start, "text": shown, "fact": number, "kind": kind})
        return pieces

    def _hear(self, _: Any, content: Mapping[str, Any], __: Any) -> None:
        """What the page sends: a mark that was clicked, or a selection with what it is."""
        place, chosen = content.get("reject"), content.get("add")
        if isinstance(place, int) and 0 <= place < len(self.report.facts):
            self.reject(place)
        elif isinstance(chosen, Mapping) and all(
            isinstance(chosen.get(one), int) for one in ("start", "end")
        ):
            self.add(str(chosen.get("kind")), chosen["start"], chosen["end"], str(chosen.get("name", "")))

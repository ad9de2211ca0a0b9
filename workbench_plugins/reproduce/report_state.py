"""A pasted report as a page shows it: its facts in colour, its verdict, and a form that corrects both."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import traitlets

from workbench.errors import InputError
from workbench.masking import MASK, masked, secret_spans
from workbench.safe_text import visible
from workbench.systems.catalogue import SYSTEMS
from workbench.tables import Table
from workbench.views.living.selection import Link
from workbench.views.living.state import State, setting
from workbench_plugins.cases.model import CaseNote, file_in_case
from workbench_plugins.reproduce.facts import GIVEN, Fact, Report, System, given_setting
from workbench_plugins.reproduce.reading import read_report
from workbench_plugins.reproduce.report_patterns import WORDS
from workbench_plugins.reproduce.verdicts import Verdict, verdict_of

HAPPENED = WORDS["memories"]["happened"]
CHOICES = [
    ("question", "", "question that fails"),
    ("question that works", "", "question that works"),
    ("target", "", "expected file"),
    *(("symptom", name, text) for name, text in HAPPENED.items()),
]
"""What a selected text can be: a kind, a name, and the label of its button."""


NOTE_HEAD = re.compile(r"^=== *(\S.*?) *=*$", re.MULTILINE)
"""The line that begins a note in the form: `=== memory/tea.md`."""


class ReportState(State):
    """The facts and the verdict of a report: see `ReportReader`."""

    name, view, main = "report-reader", "report", "question"
    asks = ("question", "target", "system", "happened", "parameters", "notes")

    question = setting(traitlets.Unicode())
    target = setting(traitlets.Unicode())
    system = setting(traitlets.Unicode())
    happened = setting(traitlets.Unicode())
    parameters = setting(traitlets.Unicode())
    notes = setting(traitlets.Unicode())
    report: Report
    result: Verdict

    def __init__(self, text: str, link: Link = False) -> None:
        if not isinstance(text, str):
            raise InputError(f"A report is a text, not {type(text).__name__}.", "Give its text.")
        super().__init__()
        self._secrets = secret_spans(text)
        self.report = read_report(text)
        self.options = {"system": ["", *SYSTEMS], "happened": ["", *HAPPENED]}
        for name, value in self._read.items():
            setattr(self, name, value)
        self.begin(link)

    @property
    def _read(self) -> dict[str, str]:
        """The settings that the present facts give, without secrets: a saved notebook has them."""
        report = self.report
        system = report.system.name
        return {
            "question": masked(report.value("question")),
            "target": masked(report.value("target")),
            "system": system if system in SYSTEMS else "",
            "happened": report.symptom if report.symptom in HAPPENED else "",
            "parameters": masked(", ".join(f"{name}={value}" for name, value in report.settings.items())),
            "notes": masked("".join(f"=== {one.path}\n{one.whole.rstrip()}\n" for one in report.notes)),
        }

    def reject(self, number: int) -> None:
        """Take away the fact at this place of the list."""
        facts = self.report.facts
        self._become(replace(self.report, facts=(*facts[:number], *facts[number + 1 :])))

    def add(self, kind: str, start: int, end: int, name: str = "") -> None:
        """Make a fact of the characters from `start` to `end`; another one of its kind goes."""
        text = self.report.text
        if (kind, name) not in [choice[:2] for choice in CHOICES] or not 0 <= start < end <= len(text):
            return
        line = text.count("\n", 0, start) + 1
        self._become(
            self.report.with_given(Fact(kind, text[start:end], start, end, line, name=name, source=GIVEN))
        )

    def _become(self, report: Report) -> None:
        self.report = report
        self.take(self._read)
        self.look()
        self.show()

    def look(self) -> None:
        """Puts what the form says in place of what was read, and judges the report."""
        report, read = self.report, self._read
        said = {"question": self.question, "target": self.target, "symptom": self.happened}
        for (kind, value), before in zip(
            said.items(), (read["question"], read["target"], read["happened"]), strict=True
        ):
            if value != before:
                name = value if kind == "symptom" else ""
                report = _with(report, kind, [Fact(kind, value, name=name, source=GIVEN)] if value else [])
        if self.parameters != read["parameters"]:
            given = [given_setting(one.strip()) for one in self.parameters.split(",") if one.strip()]
            report = _with(report, "setting", given)
        if self.notes != read["notes"]:
            report = replace(report, notes=_notes(self.notes, self.target))
        if self.system != read["system"]:
            system = System(self.system, self.system, True) if self.system else System()
            report = replace(report, system=system)
        self.report, self.result = report, verdict_of(report)
        for name, value in self._read.items():  # as the report has it, and without secrets
            self._put(name, value)

    @property
    def facts(self) -> Mapping[str, Any]:
        """The report in pieces, its facts and its verdict for the page."""
        return self.words | {
            "pieces": list(self._pieces()),
            "facts": [self._shown(one) for one in self.report.facts],
            "offered": [
                {"start": one.start, "end": one.end, "value": self._value(one)} for one in self.report.offered
            ],
            "choices": CHOICES,
            "happened": [["", "not said"], *map(list, HAPPENED.items())],
            "systems": self.options["system"],
            "verdict": {
                "kind": self.result.kind,
                "says": self.sentence,
                "more": [masked(visible(one)) for one in self.result.more],
                "ask": [masked(visible(one)) for one in self.result.ask],
            },
        }

    @property
    def sentence(self) -> str:
        return masked(visible(self.result.sentence))

    def _shown(self, fact: Fact) -> dict[str, Any]:
        """A fact as the page shows it; its kind gives it the colour that its words have in the report."""
        place = {"line": fact.line, "source": fact.source}
        return place | {"kind": fact.kind, "label": _label(fact), "value": self._value(fact)}

    def _value(self, fact: Fact) -> str:
        """The value of a fact, or a mask in place of a secret."""
        hidden = any(first < fact.end and fact.start < last for first, last in self._secrets)
        named = masked(f"{fact.name}={fact.value}").removeprefix(f"{fact.name}=")
        return MASK if hidden else visible(named)

    @property
    def table(self) -> Table:
        """Every fact with its place."""
        rows = [(str(one.line or one.source), _label(one), self._value(one)) for one in self.report.facts]
        return Table("What the report says", ("line", "what", "words"), rows)

    @property
    def code(self) -> str:
        return (
            "from workbench_plugins.reproduce.reading import read_report\n"
            "from workbench_plugins.reproduce.verdicts import verdict_of\n\n"
            "# `text` is the report; workbench reproduce has an option for each correction.\n"
            "print(verdict_of(read_report(text)).sentence)"
        )

    def _pieces(self) -> list[dict[str, Any]]:
        """The text in pieces: each is of one fact, the shortest at its place, or of none."""
        text, facts = self.report.text, self.report.facts
        spans = [(one.start, one.end, number) for number, one in enumerate(facts) if one.end > one.start]
        ends = {0, len(text), *(end for one in (*spans, *self._secrets) for end in one[:2])}
        pieces, cuts = [], sorted(end for end in ends if end <= len(text))
        for start, end in pairwise(cuts):
            over = [one for one in spans if one[0] <= start and end <= one[1]]
            number = min(over, key=lambda one: one[1] - one[0])[2] if over else None
            hidden = any(first <= start and end <= last for first, last in self._secrets)
            shown = MASK if hidden else visible(text[start:end])
            kind, label = ("", "") if number is None else (facts[number].kind, _label(facts[number]))
            pieces.append({"start": start, "text": shown, "fact": number, "kind": kind, "label": label})
        return pieces

    def pressed(self, button: Mapping[str, Any]) -> None:
        """What the page sends: a fact to take away, or a selection with what it is."""
        number, chosen = button.get("reject"), button.get("add")
        if isinstance(number, int) and 0 <= number < len(self.report.facts):
            self.reject(number)
        elif isinstance(chosen, Mapping) and all(
            isinstance(chosen.get(one), int) for one in ("start", "end")
        ):
            self.add(str(chosen.get("kind")), chosen["start"], chosen["end"], str(chosen.get("name", "")))


def _label(one: Fact) -> str:
    """What a fact is, in the words of the button that makes one."""
    if one.kind == "question":
        return "question that fails" if one.name == "fails" else one.kind
    if one.kind == "target":
        return "expected file"
    if one.kind == "symptom":
        return f"what happened: {HAPPENED.get(one.name, one.name)}"
    return f"{one.kind}: {one.name}" if one.name else one.kind


def _with(report: Report, kind: str, facts: list[Fact]) -> Report:
    """The report with these facts of a kind in place of all others of it."""
    return replace(report, facts=(*facts, *(one for one in report.facts if one.kind != kind)))


def _notes(text: str, target: str) -> tuple[CaseNote, ...]:
    """The notes of the form. What stands before the first line `=== PATH` is a note of the expected file."""
    first, *others = NOTE_HEAD.split(text)
    pairs = [(target or "memory/note.md", first), *zip(others[::2], others[1::2], strict=True)]
    return tuple(
        CaseNote(path=file_in_case(path), text=f"{body.strip()}\n") for path, body in pairs if body.strip()
    )

"""What a report says: facts with their places in it, and what may be one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from workbench.errors import InputError, brief
from workbench_plugins.cases.model import CaseNote
from workbench_plugins.reproduce.pasted import Line
from workbench_plugins.reproduce.report_patterns import WORDS, pattern
from workbench_plugins.reproduce.verdict_facts import Scored

LONGEST_ANSWER = 200
"""Characters of the answer below a form's heading that are read."""
ENDING = r"\.(?:md|markdown|txt|jsonl?)"
PATH = re.compile(rf"(?<![\w/.@:-])((?:[\w@-][\w@.-]*/){{0,6}}[\w@-][\w@.-]{{0,80}}{ENDING})\b")

GIVEN = "given"
"""The source of a fact that the user gave."""

KINDS = {
    "question": "a question whose answer is wrong",
    "question that works": "a question whose answer is right",
    "target": "the file that should be in the answer",
    "note": "the text of a note",
    "engine": "the program",
    "release": "its release",
    "model": "the embedding model",
    "setting": "a setting",
    "result": "a result with its scores",
    "symptom": "what happened",
    "mechanism": "words that name a known mechanism",
    "outside": "words that say that it is not about ranking",
    "image": "a picture, which is not read",
}
"""The kinds of facts."""


@dataclass(frozen=True)
class Fact:
    """Something that a report says: its kind, its words, and their place in the report.

    `name` says which setting, symptom, mechanism or engine it is. `line` counts from 1. `source` is empty for
    what the report says, GIVEN for what the user gave, or the name of a language model that proposed it.
    """

    kind: str
    value: str
    start: int = 0
    end: int = 0
    line: int = 0
    name: str = ""
    source: str = ""

    def where(self, file: str) -> str:
        """The place as an editor understands it, or who said it."""
        return f"{file}:{self.line}" if self.line else self.source


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


def given_setting(text: str) -> Fact:
    """The setting that NAME=VALUE gives. Raises InputError for another form."""
    name, _, value = map(str.strip, text.partition("="))
    if not (name and value):
        raise InputError(f"{brief(text)} is no setting.", "Write NAME=VALUE, such as min_score=0.3")
    return Fact("setting", value, name=name, source=GIVEN)


@dataclass(frozen=True)
class System:
    """The system that a report is about: its name here, empty if none is known, and the program's name.

    `exact` says that the system behaves as the release that the report names, or was given by the user.
    """

    name: str = ""
    engine: str = ""
    exact: bool = False
    why: str = ""


@dataclass(frozen=True)
class Report:
    """A report as it was read: its text, its title, facts, and what may be a fact, the likeliest first."""

    text: str
    lines: tuple[Line, ...]
    title: str
    facts: tuple[Fact, ...]
    candidates: tuple[Fact, ...] = ()
    system: System = System()
    notes: tuple[CaseNote, ...] = ()
    results: tuple[Scored, ...] = ()
    references: tuple[str, ...] = ()

    def of(self, kind: str) -> list[Fact]:
        """The facts of a kind, what was given first."""
        return sorted((one for one in self.facts if one.kind == kind), key=lambda one: not one.source)

    def value(self, kind: str) -> str:
        """What the first fact of a kind says; empty if there is none."""
        return next((one.value for one in self.of(kind)), "")

    @property
    def symptom(self) -> str:
        """What happened, as a word: missing, order, noise, limit or low; empty if it was not read."""
        return next((one.name for one in self.of("symptom")), "")

    @property
    def settings(self) -> dict[str, str]:
        """The settings by their names."""
        return {one.name: one.value for one in reversed(self.of("setting"))}

    @property
    def offered(self) -> list[Fact]:
        """What may be the question, the likeliest first, where none was read."""
        asked = self.of("question") or self.of("question that works")
        return [] if asked else [one for one in self.candidates if one.kind == "question"]

    def with_given(
        self, *facts: Fact, notes: tuple[CaseNote, ...] = (), system: System | None = None
    ) -> Report:
        """The report with what the user gave, which stands in place of what was read of the same kind."""
        single = {one.kind for one in facts} - {"setting", "note"}
        named = {one.name for one in facts if one.kind == "setting"}
        kept = [
            one
            for one in self.facts
            if one.kind not in single
            and not (one.kind == "setting" and one.name in named)
            and not (one.kind == "note" and notes)
        ]
        return replace(
            self,
            facts=(*facts, *kept),
            notes=notes or self.notes,
            system=system or self.system,
        )

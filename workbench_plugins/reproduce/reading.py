"""Reads a bug report in anybody's own words: each thing with its line, or as assumed, and why.

A report is Markdown: plain text, an issue form as GitHub renders it, or a file of the workbench's template.
Nothing of it is run, no link is followed, and what looks like a secret is masked before anything is read.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.retrieval.query import check_question
from workbench.safe_text import masked, one_line
from workbench.systems.registry import SYSTEMS
from workbench_plugins.cases.issue import MarkdownPart, parts_of
from workbench_plugins.cases.model import CaseNote
from workbench_plugins.history import LINES

MOST_LINES, LONGEST_LINE = 3_000, 2_000
"""What is read of a report: a log after that says nothing new."""

STAND_IN = "openclaw-2026.2.13"
QUESTION = "where is the spare key of the shed"
MADE = "memory/answer.md"
ENDING = r"\.(?:md|markdown|txt|jsonl?)"
PATH = re.compile(rf"(?<![\w/.@:-])((?:[\w@-][\w@.-]*/){{0,6}}[\w@-][\w@.-]{{0,80}}{ENDING})\b")
RELEASE = re.compile(r"(?<![\d.])v?(20\d\d\.\d{1,2}\.\d{1,2})(?![\d.])")
REFERENCE = re.compile(r"(?:github\.com/)?([\w-]+/[\w.-]+)(?:#|/issues/|/pull/)(\d+)\b")
CONTENT = re.compile(r"""["'](?:content|text|memory|page_content)["']\s*:\s*["']([^"'\n]{8,400})["']""")
NO_QUESTION = re.compile(r"[<>{}$]|https?:|^[\w.-]+\s*[:=]\s*\S+$")
"""A placeholder, an address, or a setting."""
MARKS = " \t*_`\"'“”„«»「」『』"


@dataclass(frozen=True)
class Fact:
    """Something that a report says: what it is, its value, its line (0: assumed), and the reason."""

    what: str
    value: str
    line: int = 0
    why: str = ""

    @property
    def says(self) -> str:
        """Where it was read, or why it is assumed."""
        return f"line {self.line}" if self.line else f"assumed: {self.why}"


@dataclass(frozen=True)
class Report:
    """A bug report as it was read. `facts` say where each thing comes from; `notes` are those it quotes.

    `happened` is `missing`, `order` or `noise`. `exact` says that the words of the question are in the file.
    `engine` is empty for an engine that is not known here, for which `system` stands in.
    """

    title: str
    question: str
    expected: str
    happened: str
    exact: bool
    system: str
    engine: str
    settings: dict[str, str]
    notes: tuple[CaseNote, ...]
    references: tuple[str, ...]
    facts: tuple[Fact, ...]


@cache
def words() -> dict[str, Any]:
    """The words that reports use, from `words.toml`."""
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


def pattern(text: str) -> re.Pattern[str]:
    """One of these expressions, which ignore case."""
    return re.compile(text, re.IGNORECASE)


@dataclass(frozen=True)
class Line:
    """A line of a report: its number, its text, the heading above it, and whether it is in a fenced block."""

    number: int
    text: str
    heading: str
    code: bool


def lines_of(parts: Sequence[MarkdownPart]) -> Iterator[Line]:
    """The lines of a report that are not blank."""
    heading = ""
    for part in parts:
        if part.kind == "heading":
            heading = part.text
        block = part.kind == "block"
        for number, text in enumerate(part.text.split("\n"), part.line + block):
            if text.strip():
                yield Line(number, text.strip(), "" if part.kind == "heading" else heading, block)


def read_report(text: str) -> Report:
    """What a report says. Raises InputError for a text without a word."""
    kept = "\n".join(line[:LONGEST_LINE] for line in text.split("\n")[:MOST_LINES])
    parts = list(parts_of(masked(kept)))
    lines = list(lines_of(parts))
    if not any(one.text.strip("#->*` ") for one in lines):
        raise InputError("The report has no text.", "Paste what was reported, with the question.")
    title = next((one.text for one in parts if one.kind == "heading"), lines[0].text)[:300]
    question = question_of(lines)
    notes = notes_of(parts, question.value)
    expected = expected_of(lines, notes, question.value)
    happened = happened_of(lines)
    exact = _first(lines, words()["exact"])
    system, engine = system_of(lines)
    settings = settings_of(lines)
    facts = [question, expected, happened, system, *settings]
    facts += [Fact("note", one.path, line) for one, line in notes]
    if exact:
        facts.append(Fact("the words of the question are in the file", exact.text[:80], exact.number))
    known = [f"{name}#{number}" for name, number in REFERENCE.findall("\n".join(one.text for one in lines))]
    return Report(
        title=one_line(title),
        question=question.value,
        expected=expected.value,
        happened=happened.value,
        exact=exact is not None,
        system=system.value,
        engine=engine,
        settings={one.what: one.value for one in settings},
        notes=tuple(one for one, _ in notes),
        references=tuple(dict.fromkeys(known))[:3],
        facts=tuple(facts),
    )


def _first(lines: Sequence[Line], text: str) -> Line | None:
    found = pattern(text)
    return next((one for one in lines if found.search(one.text)), None)


def question_of(lines: Sequence[Line]) -> Fact:
    """The question: named by its line or section, in quotation marks, or assumed."""
    label = words()["question"]
    named = pattern(rf"(?:[-*+>]\s+|\d+\.\s+)?\W{{0,3}}(?:{label})\W{{0,3}}\s*[:：]\s*(.+)")
    section = pattern(rf"\W*(?:{label})\W*")
    quoted = [pattern(one) for one in words()["quoted"]]
    candidates: list[tuple[int, int, str]] = []
    for one in lines:
        if found := named.fullmatch(one.text):
            candidates.append((0, one.number, found[1]))
        if one.heading and section.fullmatch(one.heading):
            candidates.append((1, one.number, one.text))
        for place, expression in enumerate(quoted, 2):
            candidates += [(place, one.number, found.groups()[-1]) for found in expression.finditer(one.text)]
        if found := re.fullmatch(r"[-*+]\s+(?:[\w ]{1,30}[:：]\s*)?([\"'“`].{2,200}[\"'”`])", one.text):
            candidates.append((9, one.number, found[1]))
    for _, number, text in sorted(candidates):
        begun = re.match(r"""[\s*_]*(?:"([^"]{2,})"|`([^`]{2,})`|“([^”]{2,})”|'([^']{2,})'(?=\W|$))""", text)
        text = next(filter(None, begun.groups())) if begun else re.sub(r"^[-*+]\s+", "", text)
        cleaned = text.strip(MARKS + ".,;")
        if len(cleaned) > 1 and not NO_QUESTION.search(cleaned):
            try:
                return Fact("question", check_question(cleaned), number)
            except InputError:
                continue
    return Fact("question", QUESTION, why="the report has no question in its own words")


def notes_of(parts: Sequence[MarkdownPart], question: str) -> list[tuple[CaseNote, int]]:
    """The notes that a report quotes, with their lines: blocks below a path, and contents in code."""
    found: dict[str, tuple[CaseNote, int]] = {}
    path, said = "", set[str]()
    for part in parts:
        named = PATH.fullmatch(part.text.strip(MARKS + ":")) if part.kind != "block" else None
        if named:
            path = named[1]
        elif part.kind == "block" and path:
            found.setdefault(path, (CaseNote(path=path, text=part.text), part.line))
            path = ""
        elif part.kind == "block":
            for number, line in enumerate(part.text.split("\n"), part.line + 1):
                for text in CONTENT.findall(line):
                    if text != question and text not in said:
                        said.add(text)
                        made = CaseNote(path=f"memory/{len(said)}.md", text=text + "\n")
                        found.setdefault(made.path, (made, number))
        elif part.text:
            path = ""
    return list(found.values())


def expected_of(lines: Sequence[Line], notes: Sequence[tuple[CaseNote, int]], question: str) -> Fact:
    """The file that should be in the answer: named as such, the note nearest to the question, or made."""
    wanted = pattern(words()["meant"])
    quoted = {one.path for one, _ in notes}
    for one in lines:
        path = PATH.search(one.text)
        meant = wanted.search(one.heading) or wanted.search(one.text)
        if path and meant and (not quoted or path[1] in quoted):
            return Fact("expected file", path[1], one.number)
    if notes:
        asked = set(question.lower().split())
        best, _ = max(notes, key=lambda one: len(asked & set(re.findall(r"\w+", one[0].whole.lower()))))
        return Fact("expected file", best.path, why="of the notes, it shares most words with the question")
    return Fact("expected file", MADE, why="the report names no file, so one is written")


def happened_of(lines: Sequence[Line]) -> Fact:
    """What happened: what the title says, or else what most lines say."""
    kinds = {name: pattern(text) for name, text in words()["happened"].items()}
    counts = {name: [one.number for one in lines if found.search(one.text)] for name, found in kinds.items()}
    title = {name: found.search(lines[0].text) for name, found in kinds.items()}
    best = max(kinds, key=lambda name: (title[name] is not None, len(counts[name])))
    if not counts[best]:
        return Fact("what happened", "missing", why="the report does not say it in words that are known here")
    return Fact("what happened", best, counts[best][0])


def system_of(lines: Sequence[Line]) -> tuple[Fact, str]:
    """The system, and the engine that the report names; empty for one that is not known here."""
    openclaw = _first(lines, words()["openclaw"])
    if openclaw:
        told = [(one, found[1]) for one in lines if (found := RELEASE.search(one.text))]
        named = [pair for pair in told if re.search("openclaw|version|release", pair[0].text, re.I)]
        for one, release in named or told:
            return _release(release, one.number), "OpenClaw"
        return Fact("system", STAND_IN, why="OpenClaw without a release"), "OpenClaw"
    for expression, system in words()["engines"].items():
        line = _first(lines, expression)
        if line and system in SYSTEMS:
            why = f"line {line.number} names the engine, and this system answers in its way"
            return Fact("system", system, why=why), expression
    return Fact("system", STAND_IN, why="the engine is not known here, so OpenClaw 2026.2.13 stands in"), ""


def _release(release: str, line: int) -> Fact:
    """The system of a release of OpenClaw: itself, or the last one before it that is known here."""
    known = [one.name for one in LINES.named("OpenClaw").releases] if "OpenClaw" in LINES else [STAND_IN]
    numbered = {_numbers(name.partition("-")[2]): name for name in known}
    if exact := numbered.get(_numbers(release)):
        return Fact("system", exact, line)
    before = [one for one in numbered if one <= _numbers(release)]
    nearest = numbered[max(before)] if before else numbered[min(numbered)]
    return Fact("system", nearest, why=f"line {line} says {release}, which is not known here; it is nearest")


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(one) for one in re.findall(r"\d+", release))


def settings_of(lines: Sequence[Line]) -> list[Fact]:
    """The settings: the first value of each, in JSON, YAML or prose."""
    found = []
    between = r"[^\w\n.-]{1,6}(?:(?:of|to|is|default|defaults to|was)\s+\W{0,3})?"
    for name, text in words()["settings"].items():
        value = pattern(rf"{text}{between}(\d+(?:\.\d+)?)(?![\w.]\d)")
        for one in lines:
            if told := value.search(one.text):
                found.append(Fact(name, told[1], one.number))
                break
    return found

"""Reads a bug report in anybody's own words: each thing with its line, or as assumed, and why.

A report is Markdown: plain text, an issue form as GitHub renders it, or a file of the workbench's template.
Nothing of it is run, no link is followed, and what looks like a secret is masked before anything is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from urllib.parse import unquote_plus

from workbench.errors import InputError
from workbench.masking import masked
from workbench.retrieval.query import STOP_WORDS, check_question, content_words, unicode_words
from workbench.safe_text import one_line
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.history import LINES
from workbench_plugins.cases.model import CaseNote
from workbench_plugins.reproduce.markdown import FENCE, PRE, MarkdownPart, parts_of
from workbench_plugins.reproduce.report_patterns import WORDS, form, pattern
from workbench_plugins.reproduce.verdict_facts import Scored, number, results_of, tables

FIRST_LINES, LAST_LINES, LONGEST_LINE = 2_500, 500, 2_000
"""What is read of a report: a log between says nothing new."""
MOST_NOTES, LONGEST_ANSWER = 40, 200
"""Notes, and characters of the answer below a form's heading, that are read."""

STAND_IN = "openclaw-2026.2.13"
QUESTION = "where is the spare key of the shed"
MADE = "memory/answer.md"
ENDING = r"\.(?:md|markdown|txt|jsonl?)"
PATH = re.compile(rf"(?<![\w/.@:-])((?:[\w@-][\w@.-]*/){{0,6}}[\w@-][\w@.-]{{0,80}}{ENDING})\b")
KEYS = r"""["']?(?:content|text|memory|page_content|doc|document|body|fact|passage|chunk|note)s?["']?"""
CONTENT = re.compile(rf"""{KEYS}\s*[:=]\s*["']([^"'\n]{{8,400}})["']""")
CONTENTS = re.compile(rf"""(?:{KEYS}\s*[:=]\s*|add_texts\(|from_texts\()\[([^\]\n]{{8,2000}})\]""")
MARKS = " \t*_`\"'“”„«»「」『』"


FILLED = "filled this blank"


@dataclass(frozen=True)
class Fact:
    """Something that a report says: what it is, its value, its line (0: assumed), and the reason."""

    what: str
    value: str
    line: int = 0
    why: str = ""

    @property
    def description(self) -> str:
        """Where it was read, or why it is assumed."""
        return f"line {self.line}" if self.line else f"assumed: {self.why}"

    @property
    def told(self) -> bool:
        """Whether the report says it, or a language model that was asked."""
        return bool(self.line) or self.why.endswith(FILLED)


@dataclass(frozen=True)
class Report:
    """A bug report as it was read. `facts` say where each thing comes from; `notes` are those it quotes.

    `happened` is a word of `words.toml`, such as `missing`, or `error` for a failure that is no answer.
    `exact` says that the words of the question are in the file. `engine` is empty for an engine that is not
    known here, for which `system` stands in. `results` are those with scores.
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
    results: tuple[Scored, ...] = ()

    def fact(self, what: str) -> Fact:
        """The fact of this name. Raises StopIteration if there is none."""
        return next(one for one in self.facts if one.what == what)


@dataclass(frozen=True)
class Told:
    """What a language model says of a report: its name with its host, and values by the names of facts."""

    by: str = ""
    values: dict[str, str] = field(default_factory=dict)

    def fills(self, fact: Fact) -> Fact:
        """The fact, with the value of the model if the report itself has none."""
        value = "" if fact.line else self.values.get(fact.what, "")
        return Fact(fact.what, value, why=f"{self.by} {FILLED}") if value else fact


@dataclass(frozen=True)
class Line:
    """A line of a report: its number, its text, the heading above it, and whether it is in a fenced block."""

    number: int
    text: str
    heading: str
    code: bool


def lines_of(parts: Sequence[MarkdownPart]) -> Iterator[Line]:
    """The lines of a report that are not blank, without what its form adds."""
    heading = ""
    for part in parts:
        if part.kind == "heading":
            heading = part.text
        block = part.kind == "block"
        for line, text in enumerate(part.text.split("\n"), part.line + block):
            said = text.strip().removeprefix("> ")
            if said and (block or not form("form").fullmatch(said)):
                yield Line(line, said, "" if part.kind == "heading" else heading, block)


def read_report(text: str, told: Told | None = None) -> Report:
    """What a report says; what it does not say is as `told`. Raises InputError for a text without a word."""
    told = told or Told()
    kept = masked("\n".join(_shortened(text.split("\n"))))
    parts = list(parts_of(kept, WORDS["html"]))
    lines = list(lines_of(parts))
    if not any(one.text.strip("#->*` ") for one in lines):
        raise InputError("The report has no text.", "Paste what was reported, with the question.")
    title = next((one.text for one in parts if one.kind == "heading"), lines[0].text)[:300]
    results = results_of(lines)
    question = told.fills(question_of(lines))
    notes = notes_of(parts, kept.split("\n"), question.value, results)
    if not question.line and question.what not in told.values and notes:
        question = _of_note(*notes[0])
    expected = told.fills(expected_of(lines, notes, question.value))
    happened = told.fills(happened_of(lines))
    if happened.value == "noise" and any(_shared(question.value, one.whole)[0] for one, _ in notes):
        why = f"line {happened.line} is about noise, but a note has words of the question and should be first"
        happened = Fact("what happened", "order", why=why)
    exact = _first(lines, WORDS["exact"])
    system, engine = system_of(lines, results)
    settings = settings_of(lines, parts)
    facts = [question, expected, happened, system, *settings]
    facts += [Fact("note", one.path, line) for one, line in notes]
    facts += [Fact("result", f"{one.name[:80]}: {one.description}", one.line) for one in results]
    if exact:
        facts.append(Fact("the words of the question are in the file", exact.text[:80], exact.number))
    known = [
        f"{name}#{number}" for name, number in form("reference").findall("\n".join(one.text for one in lines))
    ]
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
        results=tuple(results),
    )


def _shortened(lines: Sequence[str]) -> Iterator[str]:
    """The first and the last lines, and blank ones for those between that begin or end no block."""
    last = max(FIRST_LINES, len(lines) - LAST_LINES)
    for place, line in enumerate(lines):
        block = FENCE.match(line) or PRE.search(line[:LONGEST_LINE])
        yield line[:LONGEST_LINE] if block or not FIRST_LINES <= place < last else ""


def _of_note(note: CaseNote, line: int) -> Fact:
    """A question in the words of a note, for a report that has none of its own."""
    plain = re.sub(r"\[[^\]\n]*\]", "", note.whole[:LONGEST_LINE])
    content = content_words(unicode_words(plain))[:4] or [QUESTION]
    return Fact(
        "question", " ".join(content), why=f"the report has none, so it has words of the note of line {line}"
    )


def _first(lines: Sequence[Line], text: str) -> Line | None:
    found = pattern(text)
    return next((one for one in lines if found.search(one.text)), None)


def _written(text: str) -> Iterator[str]:
    """The questions that a piece of code or a command asks in quotation marks."""
    for expression in WORDS["written"]:
        found = (
            one for one in pattern(expression).finditer(text) if not form("compiled").match(text, one.end())
        )
        yield from (one.groups()[-1] for one in found)
    yield from (unquote_plus(one[1]) for one in pattern(WORDS["address"]).finditer(text))


def _asked(line: Line) -> Iterator[tuple[int, str]]:
    """What a line of prose says was asked, with how sure that is; smaller is surer."""
    asks, answers, ends = pattern(WORDS["asks"]), pattern(WORDS["answers"]), 0
    asked = pattern(WORDS["asked"])
    yield from ((4, one) for one in (*_written(line.text), *pattern(WORDS["said"]).findall(line.text)))
    for found in form("quoted").finditer(line.text):
        before, ends = line.text[ends : found.start()][-60:], found.end()
        said = next(one for name, one in found.groupdict().items() if one)
        if found["code"] is not None:
            yield from ((2, one) for one in _written(said))
        *_, last = [None, *asks.finditer(before)]
        if asked.match(line.text, ends):
            yield 3, said
        elif (
            last is not None and not answers.search(before[last.end() :]) and "." not in before[last.end() :]
        ):
            yield (4 if found["bold"] else 3), said
        elif found["bold"] is None and said.rstrip().endswith(("?", "？")):
            yield 8, said


def _candidates(lines: Sequence[Line]) -> Iterator[tuple[int, int, str]]:
    """What may be the question: how sure it is (smaller is surer), its line, and its text."""
    label = WORDS["question"]
    named = pattern(rf"(?:[-*+>]\s+|\d+\.\s+)?[^\w\[]{{0,3}}(?:{label})\W{{0,3}}\s*[:：]\s*(.+)")
    section, command = pattern(rf"\W*(?:{label})\W*"), pattern(WORDS["command"])
    for above, one in pairwise((Line(0, "", "", False), *lines)):
        if found := named.fullmatch(one.text):
            yield 0, one.number, form("after").split(found[1])[0]
        first = one.heading != above.heading and len(one.text) <= LONGEST_ANSWER
        if first and one.heading and section.fullmatch(one.heading):
            yield 1, one.number, one.text
        for place, text in _asked(one) if not one.code else ((2, text) for text in _written(one.text)):
            yield place, one.number, text
        if one.code and (found := command.fullmatch(one.text)):
            yield 5, one.number, found[1]
        if found := re.fullmatch(r"[-*+]\s+(?:[\w ]{1,30}[:：]\s*)?([\"'“`].{2,200}[\"'”`])", one.text):
            yield 9, one.number, found[1]
    for table in tables(lines):
        for column in (place for place, head in enumerate(table.header) if section.fullmatch(head)):
            yield from ((1, line, row[column]) for line, row in table.rows if number(row[column]) is None)


def question_of(lines: Sequence[Line]) -> Fact:
    """The question: named by its line, section or column, in quotation marks, in a command, or assumed."""
    for _, line, text in sorted(_candidates(lines)):
        begun = re.match(r"""[\s*_]*(?:"([^"]{2,})"|`([^`]{2,})`|“([^”]{2,})”|'([^']{2,})'(?=\W|$))""", text)
        text = next(filter(None, begun.groups())) if begun else re.sub(r"^[-*+]\s+", "", text)
        cleaned = text.strip(MARKS + ".,;")
        said = {one.lower() for one in unicode_words(cleaned)}
        if len(cleaned) > 1 and not form("no_question").search(cleaned) and not (said and said <= STOP_WORDS):
            try:
                return Fact("question", check_question(cleaned), line)
            except InputError:
                continue
    return Fact("question", QUESTION, why="the report has no question in its own words")


def notes_of(
    parts: Sequence[MarkdownPart], raw: Sequence[str], question: str, results: Sequence[Scored] = ()
) -> list[tuple[CaseNote, int]]:
    """The notes that a report quotes, with their lines: named blocks, files of a shell, texts in code.

    `raw` are all lines of the report. Texts of results are notes if there are no others.
    """
    found: dict[str, tuple[CaseNote, int]] = {}
    description = pattern(PATH.pattern + WORDS["says"])
    scored = {one.name for one in results}
    said: dict[str, int] = {}
    path = ""
    for part in parts:
        if part.kind != "block":
            for place, text in description.findall(part.text):
                found.setdefault(place, (CaseNote(path=place, text=f"{text}\n"), part.line))
            named = PATH.search(part.text) if part.text.rstrip(MARKS).endswith((":", "：")) else None
            named = PATH.fullmatch(part.text.strip(MARKS + ":：")) or named
            path = named[1] if named else "" if part.text else path
            continue
        if not path and re.match(r"\s*[`~]{3,}\s*(?:md|markdown)\b", raw[part.line - 1]):
            path = f"memory/{len(found) + 1}.md"
        inside = PATH.search(raw[part.line - 1]) or PATH.fullmatch(part.text.split("\n")[0].strip("#/<!-> "))
        path = path or (inside[1] if inside else "")
        for note, offset in _by_shell(part.text):
            found.setdefault(note.path, (note, part.line + 1 + offset))
        if path and part.text.strip():
            found.setdefault(path, (CaseNote(path=path, text=part.text), part.line))
        elif not path:
            for line, text in enumerate(part.text.split("\n"), part.line + 1):
                listed = [one for group in CONTENTS.findall(text) for one in form("strings").findall(group)]
                single = [
                    one for one in (*CONTENT.findall(text), *form("added").findall(text)) if one != question
                ]
                for one in (*listed, *single):
                    said.setdefault(one, line)
        path = ""
    texts = {one: line for one, line in said.items() if one not in scored}
    texts = texts or {one.name: one.line for one in results if _is_text(one.name)}
    for text, line in texts.items():
        note = CaseNote(path=f"memory/{len(found) + 1}.md", text=text + "\n")
        found.setdefault(note.path, (note, line))
    return list(found.values())[:MOST_NOTES]


def _is_text(name: str) -> bool:
    """Whether what names a result is its text, and not a path."""
    return form("sentence").search(name) is not None and (" " in name or not name.isascii())


def _by_shell(text: str) -> Iterator[tuple[CaseNote, int]]:
    """The files that commands write with echo or a here-document, with their lines in the block."""
    for found in form("written").finditer(text):
        yield CaseNote(path=found[3].lstrip("~./"), text=found[2] + "\n"), text.count("\n", 0, found.start())
    for found in form("heredoc").finditer(text):
        _, _, rest = text[found.end() :].partition("\n")
        body = re.split(r"\n\s*(?:EOF|END|MD)\b", f"\n{rest}")[0].strip("\n")
        path = (found[1] or found[2]).strip("\"'").lstrip("~./")
        if path and body:
            yield CaseNote(path=one_line(path)[:200], text=body + "\n"), text.count("\n", 0, found.start())


def expected_of(lines: Sequence[Line], notes: Sequence[tuple[CaseNote, int]], question: str) -> Fact:
    """The file that should be in the answer: named as such, the note nearest to the question, or made."""
    wanted, rather = pattern(WORDS["meant"]), pattern(WORDS["rather"] + PATH.pattern)
    quoted = {one.path for one, _ in notes}
    for one in lines:
        if path := rather.search(one.text):
            return Fact("expected file", path[1], one.number)
        told = wanted.search(one.text)
        if not (told or wanted.search(one.heading)):
            continue
        near = told.start() if told else 0
        path = min(PATH.finditer(one.text), key=lambda path: abs(path.start() - near), default=None)
        if path and (not quoted or path[1] in quoted):
            return Fact("expected file", path[1], one.number)
        said = next((note.path for note, _ in notes if note.whole.strip() in one.text), "")
        if said and not one.code:
            return Fact("expected file", said, one.number)
    if notes:
        best, _ = max(notes, key=lambda one: _shared(question, one[0].whole))
        return Fact("expected file", best.path, why="of the notes, it shares most words with the question")
    named = {path: one.number for one in lines if not one.code for path in PATH.findall(one.text)}
    for only, line in named.items() if len(named) == 1 else ():
        return Fact("expected file", only, why=f"line {line} names it, and no other file is named")
    return Fact("expected file", MADE, why="the report names no file, so one is written")


def _shared(question: str, text: str) -> tuple[int, int, int]:
    """How many words a text shares with a question, how many signs (for Chinese), and how short it is."""
    asked, said = (set(unicode_words(one.lower())) for one in (question, text))
    return len(asked & said - STOP_WORDS), len(set(question) & set(text) - set(" ")), -len(text)


def happened_of(lines: Sequence[Line]) -> Fact:
    """What happened: what the title says, or else what most lines say."""
    kinds = {name: pattern(text) for name, text in WORDS["happened"].items()}
    counts = {name: [one.number for one in lines if found.search(one.text)] for name, found in kinds.items()}
    title = {name: found.search(lines[0].text) for name, found in kinds.items()}
    error = pattern(WORDS["error"]).search(lines[0].text) and not any(title.values())
    if error or pattern(WORDS["crash"]).search(lines[0].text):
        return Fact("what happened", "error", lines[0].number)
    rare = [name for name in ("limit", "low") if title[name]]  # a title also has the words of other kinds
    best = max(rare or kinds, key=lambda name: (title[name] is not None, len(counts[name])))
    if not counts[best]:
        return Fact("what happened", "missing", why="the report does not say it in words that are known here")
    return Fact("what happened", best, counts[best][0])


def system_of(lines: Sequence[Line], results: Sequence[Scored] = ()) -> tuple[Fact, str]:
    """The system, and the engine that the report names; empty for one that is not known here.

    The title counts more than other lines, and a release more than a name. Without a name, scores that are
    sums of reciprocal ranks tell a fusion.
    """
    fits: list[tuple[int, dict[str, Any], Line, str]] = []
    for engine in WORDS["engine"]:
        found = pattern(engine["words"])
        named = [one for one in lines if found.search(one.text)]
        if named and engine["system"] in SYSTEMS:
            release = re.compile(engine.get("release", "(?!)"))  # which nothing fits
            close = pattern(f"{engine['words']}|version|release")
            told = [(one, got[1]) for one in lines if (got := release.search(one.text))]
            near = [pair for pair in told if close.search(pair[0].text)]
            near = near or (told if engine["name"] == "OpenClaw" else [])
            weight = 10 * (named[0] is lines[0]) + len(named) + 3 * bool(near)
            line, said = near[0] if near else (named[0], "")
            fits.append((weight - 100 * (engine["name"] == WORDS["technique"]), engine, line, said))
    if fits:
        _, engine, line, said = max(fits, key=lambda one: one[0])
        if said:
            return _release(engine, said, line.number), engine["name"]
        why = f"line {line.number} names {engine['name']} without a release that is known here"
        return Fact("system", engine["system"], why=why), engine["name"]
    if ranks := [one for one in results if any(_reciprocal(value) for value in one.scores.values())]:
        why = f"the score of line {ranks[0].line} is a sum of reciprocal ranks, as 1/61"
        return Fact("system", "engine-rrf-60", why=why), "rrf"
    return Fact("system", STAND_IN, why="the engine is not known here, so OpenClaw 2026.2.13 stands in"), ""


def _reciprocal(value: float) -> bool:
    """Whether a score is that of a first rank in one list or in two, with the usual constant 60."""
    return any(abs(value - times / (60 + first)) < 5e-6 for times in (1, 2) for first in (0, 1))


def _release(engine: dict[str, Any], release: str, line: int) -> Fact:
    """The system of a release: itself, or the last one before it that is known here."""
    known: dict[str, str] = engine.get("releases", {})
    if engine["name"] in LINES and not known:
        known = {one.name.partition("-")[2]: one.name for one in LINES.named(engine["name"]).releases}
    numbered = {_numbers(number): name for number, name in known.items()} or {(0,): engine["system"]}
    if exact := numbered.get(_numbers(release)):
        return Fact("system", exact, line)
    before = [one for one in numbered if one <= _numbers(release)]
    nearest = numbered[max(before)] if before else numbered[min(numbered)]
    return Fact("system", nearest, why=f"line {line} says {release}, which is not known here; it is nearest")


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(one) for one in re.findall(r"\d+", release))


def settings_of(lines: Sequence[Line], parts: Sequence[MarkdownPart] = ()) -> list[Fact]:
    """The settings: the first value of each in JSON, YAML, variables or prose, and OpenClaw's own keys."""
    found: dict[str, Fact] = {}
    for name, text in WORDS["settings"].items():
        value = pattern(rf"{text}{WORDS['between']}(0,\d+|\d+(?:\.\d+)?)(?![\w.]\d)(?![a-z\d_])")
        for one in (*lines[1:], *lines[:1]):  # a title often names the value that would be right
            if not form("sql").search(one.text) and (told := value.search(one.text)):
                found[name] = Fact(name, told[1].replace(",", "."), one.number)
                break
    if (alpha := found.pop("alpha", None)) and float(alpha.value) <= 1:
        share = float(alpha.value)
        for name, weight in (("fusion.vector", share), ("fusion.keyword", 1 - share)):
            found.setdefault(name, Fact(name, f"{weight:g}", alpha.line))
    for setting, text in WORDS["words"].items():
        name, _, value = setting.partition("=")
        if (line := _first(lines, text)) and name not in found:
            found[name] = Fact(name, value, line.number)
    for key in _keys(parts):
        leaf = key.what.rpartition(".")[2]
        if not any(pattern(text).fullmatch(leaf) for text in WORDS["settings"].values()):
            found.setdefault(key.what, key)
    return list(found.values())


def _keys(parts: Sequence[MarkdownPart]) -> Iterator[Fact]:
    """The keys of OpenClaw's settings in the blocks that can be read as an openclaw.json, or a part of it."""
    try:
        from workbench_plugins.openclaw.config_keys import key_of
        from workbench_plugins.openclaw.config_values import parsed
    except ImportError:
        return
    for part in parts:
        if part.kind != "block" or "{" not in part.text[:200] or len(part.text) > 20_000:
            continue
        try:
            content = parsed(part.text, "the block")
        except InputError:
            continue
        for place, value in _leaves(content):
            key = key_of(f"{place}=") or key_of(f"query.{place}=")
            if key and isinstance(value, bool | int | float | str):
                line = part.text[: part.text.find(key.rpartition(".")[2])].count("\n")
                yield Fact(
                    key, str(value).lower() if isinstance(value, bool) else str(value), part.line + 1 + line
                )


def _leaves(tree: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a tree with their places below the settings of memory search."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, "" if key in ("memorySearch", "search") else f"{above}{key}.")
        else:
            yield f"{above}{key}", value

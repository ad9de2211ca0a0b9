"""A Markdown issue that follows docs/examples/issue.md as a case; for any other, what is missing in it.

The issue is read as sections with their fenced blocks and plain lines, and every part knows its line. Each
section gives a part of the case, or says what is missing on which line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from workbench.errors import InputError
from workbench.memory.files import read_input
from workbench.retrieval.query import check_question
from workbench.systems.registry import LANGUAGES
from workbench_plugins.cases.indexing import opened_memory, read_folder
from workbench_plugins.cases.making import Travelling, carried, environment
from workbench_plugins.cases.model import (
    LARGEST_FILE,
    Case,
    CaseConfiguration,
    CaseEnvironment,
    CaseNote,
    CaseSystem,
    Expected,
    Observed,
)
from workbench_plugins.cases.running import CaseRun, pipeline_of_case, run_case, with_observations

FENCE = re.compile(r" {0,3}(`{3,}|~{3,}).*")
HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*))?")


@dataclass
class MarkdownPart:
    """A line, a heading or a fenced block: its kind, its text, and its line, counted from 1.

    `depth` is the number of # of a heading. `closed` is False for a fenced block without an end.
    """

    kind: str
    line: int
    text: str
    depth: int = 0
    closed: bool = True


@dataclass
class Section:
    """A section of an issue: its name as the template writes it, the line of its heading, and its parts."""

    name: str
    line: int
    parts: list[MarkdownPart] = field(default_factory=list)

    @property
    def lines(self) -> list[MarkdownPart]:
        """The plain lines that are not blank."""
        return [one for one in self.parts if one.kind == "line" and one.text]

    @property
    def blocks(self) -> list[MarkdownPart]:
        """The fenced blocks."""
        return [one for one in self.parts if one.kind == "block"]

    @property
    def empty(self) -> bool:
        """Whether nothing is written below the heading."""
        return not self.parts or all(one.kind == "line" and not one.text for one in self.parts)


def parts_of(text: str) -> Iterator[MarkdownPart]:
    """The headings, fenced blocks and plain lines of a Markdown text, without its HTML comments.

    Plain lines have no space around them. A block has its lines as they are.
    """
    block: MarkdownPart | None = None
    inside: list[str] = []
    fence, comment = "", False
    for number, line in enumerate(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"), start=1):
        if block is not None:
            if _closes(line, fence):
                block.text = "\n".join(inside)
                yield block
                block = None
            else:
                inside.append(line)
            continue
        plain, comment = _uncommented(line, comment)
        opened = FENCE.fullmatch(plain)
        if opened:
            fence, inside = opened[1], []
            block = MarkdownPart("block", number, "")
        elif headed := HEADING.fullmatch(plain.strip()):
            yield MarkdownPart(
                "heading", number, (headed[2] or "").strip().rstrip("#").strip(), len(headed[1])
            )
        else:
            yield MarkdownPart("line", number, plain.strip())
    if block is not None:
        block.text, block.closed = "\n".join(inside), False
        yield block


def _closes(line: str, fence: str) -> bool:
    mark = line.strip()
    return len(mark) >= len(fence) and set(mark) == {fence[0]}


def _uncommented(line: str, inside: bool) -> tuple[str, bool]:
    """The line without its comments, and whether a comment is open at its end."""
    kept: list[str] = []
    while line:
        before, found, line = line.partition("-->" if inside else "<!--")
        kept += [] if inside else [before]
        inside = inside != bool(found)
    return "".join(kept), inside


def sections_of(
    parts: Iterable[MarkdownPart], names: Iterable[str]
) -> tuple[MarkdownPart | None, list[Section], list[MarkdownPart]]:
    """The title (the first heading of depth 1), the sections with these names, and what is in none of them.

    Headings of depth 1 to 3 begin a section if they have its name; others belong to the section above. A
    heading of depth 2 that has none of the names is in no section, with all that stands below it.
    """
    known = {one.casefold(): one for one in names}
    title: MarkdownPart | None = None
    found: list[Section] = []
    rest: list[MarkdownPart] = []
    here: list[MarkdownPart] = rest
    for one in parts:
        name = known.get(one.text.rstrip(":?").casefold()) if one.kind == "heading" else None
        if name is not None and one.depth <= 3:
            found.append(Section(name, one.line))
            here = found[-1].parts
        elif one.kind == "heading" and one.depth == 1 and title is None and not found:
            title = one
        else:
            if one.kind == "heading" and one.depth == 2:
                here = rest
            here.append(one)
    return title, found, rest


ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)")
PAIR = re.compile(r"([A-Za-z_][\w .-]{0,40}?)[ \t]*:[ \t]*(.*)")
NOTHING = "nothing"
M = TypeVar("M", bound=BaseModel)


@dataclass
class Problems:
    """What is missing in an issue or cannot be used, each with its line; `folder` is that of the issue."""

    folder: Path
    found: list[tuple[int, str]] = field(default_factory=list)

    def add(self, line: int, problem: str) -> None:
        """Adds a problem of a line."""
        self.found.append((line, problem))

    def made(self, line: int, kind: type[M], values: dict[str, Any]) -> M | None:
        """A part of the case with these values; None, and a problem, if they cannot be used."""
        try:
            return kind.model_validate(values)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(str(one) for one in first["loc"])
            said = first["msg"].removeprefix("Value error, ")
            self.add(line, f"{place}: {said}" if place else said)
            return None


def item(text: str) -> str:
    """A line without the mark of a list, and without backticks around all of it."""
    listed = ITEM.fullmatch(text)
    text = listed[1].strip() if listed else text
    return text[1:-1].strip() if len(text) > 2 and text[0] == text[-1] == "`" else text


def pairs(
    section: Section, lines: Sequence[MarkdownPart], keys: Sequence[str], problems: Problems
) -> dict[str, str]:
    """The `key: value` lines of a section; another line or key is a problem."""
    found: dict[str, str] = {}
    for one in lines:
        pair = PAIR.fullmatch(item(one.text))
        key = pair[1].casefold() if pair else ""
        if pair is None or key not in keys:
            wanted = ", ".join(f"`{name}: …`" for name in keys)
            problems.add(one.line, f"{section.name}: {one.text[:80]!r} is none of {wanted}")
        elif key in found:
            problems.add(one.line, f"{section.name}: {key} is there twice")
        elif not pair[2].strip():
            problems.add(one.line, f"{section.name}: {key} has no value")
        else:
            found[key] = item(pair[2].strip())
    return found


def question_of(section: Section, problems: Problems) -> str:
    """The question: one line, or one fenced block."""
    written = section.blocks or section.lines
    if len(written) != 1 or (section.blocks and section.lines):
        problems.add(section.line, "Question: write one question, in one line or in one fenced block")
        return ""
    text = written[0].text
    try:
        return check_question(text if section.blocks else item(text))
    except InputError as error:
        problems.add(written[0].line, f"Question: {error.problem}")
        return ""


EXPECTING = ("found", "within", "not found", "order", "same as")


def expected_of(section: Section, problems: Problems) -> Expected | None:
    """What the answer should be, in the terms of a case."""
    plain = [one for one in section.lines if item(one.text).casefold() != NOTHING]
    before = len(problems.found)
    given = pairs(section, plain, EXPECTING, problems)
    if len(problems.found) > before:
        return None
    values: dict[str, Any] = {key.replace(" ", "_"): text for key, text in given.items()}
    if "order" in values:
        values["order"] = [item(one.strip()) for one in values["order"].split(",")]
    if len(plain) < len(section.lines):
        values["nothing"] = True
    return problems.made(section.line, Expected, values)


def observed_of(section: Section, problems: Problems) -> list[str]:
    """The files that were returned, in their order; anything else is a problem."""
    given = [(item(one.text), one) for one in section.lines]
    if [text.casefold() for text, _ in given] == [NOTHING]:
        return []
    if not given:
        problems.add(section.line, "Observed: list the files that were returned, or write `nothing`")
    for _, one in given:
        if not ITEM.fullmatch(one.text):
            problems.add(
                one.line,
                f"Observed: {one.text[:80]!r} is no list item with a path: `- memory/a.md`",
            )
    return list(dict.fromkeys(text for text, _ in given))


SYSTEM = ("system", "changes", "limit", "min score", "release", "agent")
SET = re.compile(r"set[ \t]*:[ \t]*(\S.*)", re.IGNORECASE)


def system_of(section: Section, problems: Problems) -> CaseSystem | None:
    """The system by its name, or an openclaw.json without its secrets."""
    sets = [found[1] for one in section.lines if (found := SET.fullmatch(item(one.text)))]
    rest = [one for one in section.lines if not SET.fullmatch(item(one.text))]
    text = pairs(section, rest, SYSTEM, problems)
    values: dict[str, Any] = {
        "name": text.get("system", ""),
        "changes": [one.strip() for one in text["changes"].split(",")] if "changes" in text else [],
        "settings": [item(one.strip()) for one in sets],
        "limit": text.get("limit"),
        "min_score": text.get("min score"),
    }
    if len(section.blocks) > 1 or bool(section.blocks) == bool(values["name"]):
        problems.add(section.line, "System: write either `system: NAME`, or openclaw.json in one block")
        return None
    more = {key: text.get(key, "") for key in ("release", "agent")}
    for block in section.blocks:
        try:
            content = LANGUAGES.named("openclaw.json").parsed(block.text, "System: the fenced block")
        except InputError as error:
            problems.add(block.line, error.problem.rstrip("."))
            return None
        configuration = {"content": content, **more}
        values["openclaw"] = problems.made(block.line, CaseConfiguration, configuration)
    if not section.blocks and any(more.values()):
        problems.add(section.line, "System: release and agent belong to an openclaw.json")
    system = problems.made(section.line, CaseSystem, values)
    try:
        if system is not None:
            pipeline_of_case(system)
    except InputError as error:
        problems.add(section.line, f"System: {error.problem.rstrip('.')} ({error.remedy.rstrip('.')})")
    return system


def notes_of_issue(section: Section, problems: Problems) -> list[CaseNote]:
    """The notes: a heading with the path and a fenced block for each, or a folder beside the issue."""
    folder = [one for one in section.lines if PAIR.fullmatch(item(one.text))]
    if folder and all(one.kind == "line" for one in section.parts):
        given = pairs(section, section.lines, ("folder",), problems)
        try:
            return read_folder(given["folder"], problems.folder) if given else []
        except InputError as error:
            problems.add(folder[0].line, f"Memory: {error.problem.rstrip('.')}")
            return []
    notes: dict[str, CaseNote] = {}
    path: MarkdownPart | None = None
    for one in section.parts:
        if one.kind == "heading":
            _unfilled(path, problems)
            path = one
        elif one.kind == "line" and one.text:
            problems.add(
                one.line,
                f"Memory: {one.text[:80]!r} is in no fenced block; write the heading ### PATH, and "
                "the note in a fenced block below it",
            )
        elif one.kind == "block" and path is None:
            problems.add(one.line, "Memory: this block has no heading ### PATH")
        elif one.kind == "block" and path is not None:
            name = item(path.text)
            if name in notes:
                problems.add(path.line, f"Memory: two notes have the path {name}")
            elif (note := problems.made(path.line, CaseNote, {"path": name, "text": one.text})) is not None:
                notes[name] = note
            path = None
    _unfilled(path, problems)
    return list(notes.values())


def _unfilled(path: MarkdownPart | None, problems: Problems) -> None:
    if path is not None:
        problems.add(path.line, f"Memory: the note {path.text[:80]} has no fenced block with its text")


def versions_of(section: Section, problems: Problems) -> tuple[CaseEnvironment | None, str]:
    """The versions that a case has a place for, and all others as a sentence."""
    known: dict[str, str] = {}
    other: list[str] = []
    for one in section.lines:
        pair = PAIR.fullmatch(item(one.text))
        if pair is None:
            problems.add(one.line, f"Versions: {one.text[:80]!r} is not `name: version`")
        elif pair[1].casefold() in CaseEnvironment.model_fields:
            known[pair[1].casefold()] = pair[2].strip()
        else:
            other.append(f"{pair[1]} {pair[2].strip()}")
    return CaseEnvironment(**known) if known else None, ", ".join(other)


NEEDED = {
    "Question": "the question, word for word",
    "Expected": "what the answer should be, such as `found: memory/a.md`",
    "Observed": "the files that were returned, as a list, or `nothing`",
    "System": "`system: NAME`, or openclaw.json in a fenced block",
    "Memory": "the notes, each in a fenced block below a heading ### PATH, or `folder: NAME`",
}
OPTIONAL = ("Versions", "Note")
MOST_LISTED = 30


def case_of_issue(path: str | os.PathLike[str], vectors: Travelling = "float32") -> CaseRun:
    """The case of a Markdown issue, with the notes inside, and its run here.

    Only the issue and the folder that it names beside itself are read. Raises InputError for an issue that
    does not follow the template: the message lists what is missing or cannot be used, with the lines.
    """
    file = Path(path)
    text = read_input(file, "The issue", LARGEST_FILE)
    title, sections, rest = sections_of(parts_of(text), (*NEEDED, *OPTIONAL))
    problems = Problems(file.parent)
    there = _by_name(sections, rest, problems, text.count("\n") + 1)
    question = question_of(there["Question"], problems) if "Question" in there else ""
    expected = expected_of(there["Expected"], problems) if "Expected" in there else None
    returned = observed_of(there["Observed"], problems) if "Observed" in there else []
    system = system_of(there["System"], problems) if "System" in there else None
    before = len(problems.found)
    notes = notes_of_issue(there["Memory"], problems) if "Memory" in there else []
    paths = {one.path for one in notes}
    named = {"Expected": expected.targets if expected else [], "Observed": returned}
    for name, files in named.items() if "Memory" in there and len(problems.found) == before else ():
        for one in files:
            if one not in paths:
                problems.add(there[name].line, f"{name}: {one[:200]} is not among the notes; add it")
    versions, others = versions_of(there["Versions"], problems) if "Versions" in there else (None, "")
    values = {
        "title": (title.text if title else "")[:500] or question[:200],
        "note": _note(there, others),
        "system": system,
        "questions": [{"question": question, "expect": expected, "observed": Observed(returned=returned)}],
        "memory": {"notes": notes},
        "environment": versions or environment(),
    }
    case = None if problems.found else problems.made(1, Case, values)
    if case is None:
        raise _incomplete(file, problems)
    if vectors != "none":
        with opened_memory(case) as index:
            memory, model, questions = carried(case.questions, index, vectors)
        case = case.model_copy(update={"memory": memory, "model": model, "questions": questions})
    run = run_case(case)
    return replace(run, case=with_observations(run)) if run.as_observed else run


def _by_name(
    sections: Iterable[Section], rest: Iterable[MarkdownPart], problems: Problems, last: int
) -> dict[str, Section]:
    """The sections by name. Missing, empty and repeated ones are problems, and so is text outside of them."""
    found: dict[str, Section] = {}
    for one in sections:
        if one.name in found:
            problems.add(one.line, f"the section {one.name} is there twice")
        found.setdefault(one.name, one)
        for part in one.parts:
            if not part.closed:
                problems.add(part.line, "this fenced block has no end")
    strayed = next((one for one in rest if one.kind != "line" or one.text), None)
    if strayed is not None:
        problems.add(
            strayed.line, f"{strayed.text[:80]!r} is in no section of the template; put it below ## Note"
        )
    for name, what in NEEDED.items():
        if name not in found:
            problems.add(last, f"the section ## {name} is missing: {what}")
        elif found[name].empty:
            problems.add(found[name].line, f"{name} is empty: write {what}")
            del found[name]
    return found


def _note(sections: dict[str, Section], versions: str) -> str:
    """What a case has no field for: the note, the output as it was printed, and other versions."""
    note = sections["Note"].parts if "Note" in sections else []
    printed = sections["Observed"].blocks if "Observed" in sections else []
    written = ["\n".join(one.text for one in some).strip() for some in (note, printed)]
    return "\n\n".join(one for one in (*written, f"Versions: {versions}" * bool(versions)) if one)


def _incomplete(file: Path, problems: Problems) -> InputError:
    listed = sorted(problems.found, key=lambda one: one[0])
    lines = [
        f"  line {line}: {problem.replace(chr(10), ' ')[:500]}." for line, problem in listed[:MOST_LISTED]
    ]
    more = [f"  and {len(listed) - MOST_LISTED} more."] if len(listed) > MOST_LISTED else []
    return InputError(
        "\n".join([f"{file} does not follow the template:", *lines, *more]),
        "docs/examples/issue.md is the template, and docs/cases.md has an example.",
    )

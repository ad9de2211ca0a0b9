"""Reads the sections of an issue: each gives a part of the case, or says what is missing on which line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from workbench.errors import InputError
from workbench.lab.cases.intake.markdown import MarkdownPart, Section
from workbench.lab.cases.model import (
    CaseConfiguration,
    CaseEnvironment,
    CaseNote,
    CaseSystem,
    Expected,
)
from workbench.retrieval.query import check_question
from workbench.safe_text import MASK, is_secret_name, masked
from workbench.systems.openclaw.config.file import parsed

ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)")
PAIR = re.compile(r"([A-Za-z_][\w .-]{0,40}?)[ \t]*:[ \t]*(.*)")
NOTHING = "nothing"
M = TypeVar("M", bound=BaseModel)


@dataclass
class Problems:
    """What is missing in an issue or cannot be used, each with its line."""

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


def pairs(section: Section, keys: Sequence[str], problems: Problems) -> dict[str, tuple[str, int]]:
    """The `key: value` lines of a section with their lines; another line or key is a problem."""
    found: dict[str, tuple[str, int]] = {}
    for one in section.lines:
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
            found[key] = (item(pair[2].strip()), one.line)
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
    nothing = len(plain) < len(section.lines)
    before = len(problems.found)
    given = {key: text for key, (text, _) in pairs(_only(section, plain), EXPECTING, problems).items()}
    if len(problems.found) > before:
        return None
    values: dict[str, Any] = {key.replace(" ", "_"): text for key, text in given.items()}
    if "order" in values:
        values["order"] = [item(one.strip()) for one in values["order"].split(",")]
    if "within" in values:
        values["within"] = _whole(values["within"])
    if nothing:
        values["nothing"] = True
    return problems.made(section.line, Expected, values)


def observed_of(section: Section, problems: Problems) -> list[str] | None:
    """The files that were returned, in their order; None, and a problem, for anything else."""
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


SYSTEM = ("system", "changes", "set", "limit", "min score", "release", "agent")


def system_of(section: Section, problems: Problems) -> CaseSystem | None:
    """The system by its name, or an openclaw.json without its secrets."""
    *sets, rest = _repeated(section, "set")
    given = pairs(rest, [one for one in SYSTEM if one != "set"], problems)
    text = {key: value for key, (value, _) in given.items()}
    values: dict[str, Any] = {
        "name": text.get("system", ""),
        "changes": [one.strip() for one in text["changes"].split(",")] if "changes" in text else [],
        "settings": sets,
        "limit": _whole(text["limit"]) if "limit" in text else None,
        "min_score": _number(text["min score"]) if "min score" in text else None,
    }
    if len(section.blocks) > 1 or bool(section.blocks) == bool(values["name"]):
        problems.add(section.line, "System: write either `system: NAME`, or openclaw.json in one block")
        return None
    if section.blocks:
        (block,) = section.blocks
        content = _content(block, problems)
        if content is None:
            return None
        configuration = {
            "content": content,
            "release": text.get("release", ""),
            "agent": text.get("agent", ""),
        }
        values["openclaw"] = problems.made(block.line, CaseConfiguration, configuration)
    elif "release" in text or "agent" in text:
        problems.add(section.line, "System: release and agent belong to an openclaw.json")
    return problems.made(section.line, CaseSystem, values)


def _content(block: MarkdownPart, problems: Problems) -> dict[str, Any] | None:
    try:
        content = parsed(block.text, "System: the fenced block")
    except InputError as error:
        problems.add(block.line, error.problem.rstrip("."))
        return None
    made: dict[str, Any] = without_secrets(content)
    return made


def without_secrets(value: Any) -> Any:
    """A configuration with an ellipsis in place of each secret."""
    if isinstance(value, dict):
        return {
            key: MASK if is_secret_name(key) and isinstance(one, str) else without_secrets(one)
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [without_secrets(one) for one in value]
    return masked(value) if isinstance(value, str) else value


def notes_of_issue(
    section: Section, problems: Problems, read: Callable[[str], list[CaseNote]]
) -> list[CaseNote]:
    """The notes: a heading with the path and a fenced block for each, or a folder, which `read` reads."""
    folder = [one for one in section.lines if PAIR.fullmatch(item(one.text))]
    headed = any(one.kind != "line" for one in section.parts)
    if folder and not headed:
        given = pairs(section, ("folder",), problems)
        try:
            return read(given["folder"][0]) if "folder" in given else []
        except InputError as error:
            problems.add(given["folder"][1], f"Memory: {error.problem.rstrip('.')}")
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


def versions_of(section: Section | None, problems: Problems) -> tuple[CaseEnvironment | None, str]:
    """The versions that a case has a place for, and all others as a sentence."""
    if section is None or section.empty:
        return None, ""
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


def _repeated(section: Section, key: str) -> tuple[Any, ...]:
    """The values of a key that may be repeated, and the section without them."""
    found, rest = [], []
    for one in section.lines:
        pair = PAIR.fullmatch(item(one.text))
        if pair and pair[1].casefold() == key and pair[2].strip():
            found.append(item(pair[2].strip()))
        else:
            rest.append(one)
    return (*found, _only(section, rest))


def _only(section: Section, lines: list[MarkdownPart]) -> Section:
    return Section(section.name, section.line, lines)


def _whole(text: str) -> int | str:
    """The number, or the text, which the case then refuses by name."""
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else text


def _number(text: str) -> float | str:
    return float(text) if re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{1,20})?", text) else text

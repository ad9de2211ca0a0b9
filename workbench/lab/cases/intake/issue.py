"""A Markdown issue that follows docs/issue_template.md as a case; for any other, what is missing in it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from workbench.errors import InputError
from workbench.lab.cases.files import LARGEST_FILE
from workbench.lab.cases.indexing import opened_memory, read_folder
from workbench.lab.cases.intake.fields import (
    Problems,
    expected_of,
    notes_of_issue,
    observed_of,
    question_of,
    system_of,
    versions_of,
)
from workbench.lab.cases.intake.markdown import MarkdownPart, Section, parts_of, sections_of
from workbench.lab.cases.making import Travelling, environment, memory_of
from workbench.lab.cases.model import (
    Case,
    CaseNote,
    CaseSystem,
    Expected,
    Observed,
)
from workbench.lab.cases.running import CaseRun, run_case
from workbench.lab.cases.systems import pipeline_of_case
from workbench.lab.cases.vectors import packed
from workbench.memory.files import read_input

NEEDED = {
    "Question": "the question, word for word",
    "Expected": "what the answer should be, such as `found: memory/a.md`",
    "Observed": "the files that were returned, as a list, or `nothing`",
    "System": "`system: NAME`, or openclaw.json in a fenced block",
    "Memory": "the notes, each in a fenced block below a heading ### PATH, or `folder: NAME`",
}
OPTIONAL = ("Versions", "Note")
MOST_LISTED = 30


@dataclass(frozen=True)
class Intake:
    """The case of an issue, and its run here."""

    case: Case
    run: CaseRun

    @property
    def agrees(self) -> bool:
        """Whether the issue's observation is made here, too."""
        return self.run.as_observed


def case_of_issue(path: str | os.PathLike[str], vectors: Travelling = "float32") -> Intake:
    """The case of a Markdown issue, with the notes inside.

    Only the issue and the folder that it names beside itself are read. Raises InputError for an issue that
    does not follow the template: the message lists what is missing or cannot be used, with the lines.
    """
    file = Path(path)
    text = read_input(file, "The issue", LARGEST_FILE)
    title, sections, rest = sections_of(parts_of(text), (*NEEDED, *OPTIONAL))
    problems, last = Problems(), text.count("\n") + 1
    by_name = _by_name(sections, rest, problems, last)
    read = _Read(by_name, problems, file.parent)
    if problems.found:
        raise _incomplete(file, problems)
    asked = {"question": read.question, "expect": read.expected, "observed": Observed(returned=read.returned)}
    values = {
        "title": (title.text if title else "")[:500] or read.question[:200],
        "note": read.note,
        "system": read.system,
        "questions": [asked],
        "memory": {"notes": read.notes},
        "environment": read.versions or environment(),
    }
    case = problems.made(1, Case, values)
    if case is None:
        raise _incomplete(file, problems)
    return _with_vectors(case, vectors)


def _with_vectors(case: Case, vectors: Travelling) -> Intake:
    """The case with the vectors of its notes, run; where the run agrees, with the fate and stage, too."""
    with opened_memory(case) as index:
        if vectors != "none":
            memory, model = memory_of(index, vectors)
            asked = [
                one.model_copy(update={"vector": packed(index.embed(one.question), vectors)})
                for one in case.questions
            ]
            case = case.model_copy(update={"memory": memory, "model": model, "questions": asked})
    run = run_case(case)
    if run.as_observed:
        seen = [one.asked.model_copy(update={"observed": one.observed}) for one in run.answers]
        case = case.model_copy(update={"questions": seen})
    return Intake(case, run)


class _Read:
    """The parts of a case as the sections give them; what they do not give is among the problems."""

    question: str = ""
    expected: Expected | None = None
    returned: list[str] | None = None
    system: CaseSystem | None = None

    def __init__(self, sections: dict[str, Section], problems: Problems, folder: Path) -> None:
        self.notes: list[CaseNote] = []
        if "Question" in sections:
            self.question = question_of(sections["Question"], problems)
        if "Expected" in sections:
            self.expected = expected_of(sections["Expected"], problems)
        if "Observed" in sections:
            self.returned = observed_of(sections["Observed"], problems)
        if "System" in sections:
            self.system = system_of(sections["System"], problems)
            _check_system(self.system, sections["System"].line, problems)
        if "Memory" in sections:
            before = len(problems.found)
            self.notes = notes_of_issue(sections["Memory"], problems, lambda name: read_folder(name, folder))
            if len(problems.found) == before:
                self._check_paths(sections, problems)
        self.versions, others = versions_of(sections.get("Versions"), problems)
        self.note = _note(sections, others)

    def _check_paths(self, sections: dict[str, Section], problems: Problems) -> None:
        paths = {one.path for one in self.notes}
        named = {"Expected": self.expected.targets if self.expected else [], "Observed": self.returned or []}
        for name, files in named.items():
            for one in files:
                if one not in paths:
                    problems.add(sections[name].line, f"{name}: {one[:200]} is not among the notes; add it")


def _check_system(system: CaseSystem | None, line: int, problems: Problems) -> None:
    try:
        if system is not None:
            pipeline_of_case(system)
    except InputError as error:
        problems.add(line, f"System: {error.problem.rstrip('.')} ({error.remedy.rstrip('.')})")


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
    written = [_text(sections[name], name) for name in ("Note", "Observed") if name in sections]
    return "\n\n".join(one for one in (*written, f"Versions: {versions}" * bool(versions)) if one)


def _text(section: Section, name: str) -> str:
    parts = section.blocks if name == "Observed" else section.parts
    return "\n".join(one.text for one in parts).strip()


def _incomplete(file: Path, problems: Problems) -> InputError:
    listed = sorted(problems.found, key=lambda one: one[0])
    lines = [
        f"  line {line}: {problem.replace(chr(10), ' ')[:500]}." for line, problem in listed[:MOST_LISTED]
    ]
    more = [f"  and {len(listed) - MOST_LISTED} more."] if len(listed) > MOST_LISTED else []
    return InputError(
        "\n".join([f"{file} does not follow the template:", *lines, *more]),
        "docs/issue_template.md is the template, and docs/cases.md has an example.",
    )

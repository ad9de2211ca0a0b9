"""Looks for the smallest memory in which what was reported happens, and says a verdict with its case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.errors import InputError
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.query import content_words, unicode_words
from workbench.safe_text import counted
from workbench_plugins.cases.indexing import opened_memory
from workbench_plugins.cases.making import carried, environment
from workbench_plugins.cases.model import (
    Case,
    CaseMemory,
    CaseNote,
    CaseQuestion,
    CaseSystem,
    Elsewhere,
    Expected,
)
from workbench_plugins.cases.running import (
    CaseRun,
    pipeline_of_case,
    releases_of_case,
    run_case,
    run_on,
    with_observations,
)
from workbench_plugins.reproduce.reading import Fact, Report

NEUTRAL = (
    "The kettle in the kitchen was descaled on Tuesday.",
    "Rain is likely at the weekend, so the walk moves to Monday.",
    "The printer on the second floor has new toner.",
    "Bread needs a longer second rise in a cold room.",
    "The bus to the station leaves ten minutes earlier now.",
    "Two chairs of the meeting room wobble.",
    "The beans in the garden came up after the frost.",
    "A parcel waits with the neighbour on the left.",
)
"""Sentences that have nothing to do with a question."""
HAPPENED = {
    "missing": "the file is not in the answer",
    "order": "the file is not the first one",
    "noise": "something is returned although no note has an answer",
}


@dataclass(frozen=True)
class Verdict:
    """What came of a report: the kind of verdict, a sentence, the report, the facts, and a case with its run.

    `kind` is `reproduced`, `elsewhere` (on another release), `stand-in` (on a system that stands in for an
    engine that is not known here), `not reproduced`, or `cannot be told`.
    """

    kind: str
    says: str
    report: Report
    facts: tuple[Fact, ...]
    run: CaseRun


def others(count: int) -> list[CaseNote]:
    """So many neutral notes."""
    return [CaseNote(path=f"memory/other-{n + 1}.md", text=f"{NEUTRAL[n]}\n") for n in range(count)]


def sentences(report: Report) -> Iterator[str]:
    """Sentences that answer the question: with all of its words, with fewer of them, and with one."""
    words = unicode_words(report.question)
    content = content_words(words) or words
    yield f"Note on {report.question.rstrip('?？ ')}: it is settled."
    if not report.exact:
        yield f"Settled: {', '.join(content)}."
        yield f"Settled: {', '.join(content[: max(1, len(content) // 2)])}."
        yield f"Settled: {content[0]}."


def memories(report: Report) -> Iterator[list[CaseNote]]:
    """The memories to try, smaller ones first: the report's own notes alone, or notes that are written."""
    if report.notes:
        for count in (0, 3, len(NEUTRAL)):
            yield [*report.notes, *others(count)]
        return
    if report.happened == "noise":
        yield from (others(count) for count in (1, 3, len(NEUTRAL)))
        return
    around = "\n".join(NEUTRAL * 3)
    words = content_words(unicode_words(report.question)) or [report.question]
    rivals = [CaseNote(path=f"memory/rival-{n + 1}.md", text=f"{word}\n") for n, word in enumerate(words[:6])]
    for beside in ([], others(3), others(len(NEUTRAL)), rivals):
        for sentence in sentences(report):
            yield [CaseNote(path=report.expected, text=f"{sentence}\n"), *beside]
    for sentence in sentences(report):
        yield [CaseNote(path=report.expected, text=f"{around}\n{sentence}\n{around}\n"), *rivals, *others(3)]


def expectation(report: Report) -> Expected:
    """What the answer should be, if what was reported had not happened."""
    if report.happened == "noise":
        return Expected(nothing=True)
    return Expected(found=report.expected, within=1 if report.happened == "order" else None)


def usable(report: Report) -> tuple[CaseSystem, list[Fact]]:
    """The system with those of the settings that it takes, and a fact for each that it does not take."""
    system, left = CaseSystem(name=report.system), []
    for name, value in report.settings.items():
        changes: dict[str, dict[str, Any]] = {
            "min_score": {"min_score": float(value)},
            "limit": {"limit": int(float(value))},
        }
        setting = {"settings": [*system.settings, f"{name}={value}"]}
        changed = system.model_copy(update=changes.get(name, setting))
        try:
            pipeline_of_case(changed)
            system = changed
        except InputError:
            left.append(Fact("left out", f"{name} = {value}", why=f"{report.system} cannot be asked with it"))
    return system, left


def tried(report: Report) -> Verdict:
    """The verdict on a report. Raises InputError for a system that cannot be run."""
    system, left = usable(report)
    here, releases = pipeline_of_case(system), _releases(system)
    spread = Fact("the words of the question", "in no one passage", why="all of them together, it is found")
    ways = [(report, left)]
    if report.exact and not report.notes:
        ways.append((replace(report, exact=False), [*left, spread]))
    known = [(facts, _case(way, system, notes)) for way, facts in ways for notes in memories(way)]
    for facts, case in known:
        if shows(run := run_case(case, here)):
            return _verdict("reproduced", report, facts, _smallest(run, here), releases)
    for facts, case in known:
        if found := next(filter(shows, run_on(case, releases)), None):
            return _verdict("elsewhere", report, facts, found, [])
    return _verdict("not reproduced", report, left, run_case(known[0][1], here), [])


def shows(run: CaseRun) -> bool:
    """Whether what was reported happens: for an order, another file must be in the answer."""
    (answer,) = run.answers
    return not answer.holds and (answer.asked.expect.within is None or bool(answer.trace.results))


def _releases(system: CaseSystem) -> list[Pipeline]:
    try:
        return releases_of_case(_plain(system))
    except InputError:
        return []


def _plain(system: CaseSystem) -> Case:
    note = CaseNote(path="a.md", text="a")
    asked = CaseQuestion(question="a", expect=Expected(nothing=True))
    return Case(system=system, questions=[asked], memory=CaseMemory(notes=[note]))


def _case(report: Report, system: CaseSystem, notes: Sequence[CaseNote]) -> Case:
    asked = CaseQuestion(question=report.question, expect=expectation(report))
    return _plain(system).model_copy(update={"questions": [asked], "memory": CaseMemory(notes=list(notes))})


def _smallest(run: CaseRun, here: Pipeline) -> CaseRun:
    """The run without the notes that what happens does not need; the file that is expected stays."""
    notes = list(run.case.memory.notes or ())
    for one in list(notes):
        fewer = [other for other in notes if other is not one]
        if fewer and one.path not in run.case.questions[0].expect.targets:
            memory = run.case.memory.model_copy(update={"notes": fewer})
            smaller = run_case(run.case.model_copy(update={"memory": memory}), here)
            if shows(smaller):
                run, notes = smaller, fewer
    return run


def _verdict(
    kind: str, report: Report, left: Sequence[Fact], run: CaseRun, releases: Sequence[Pipeline]
) -> Verdict:
    facts = (*report.facts, *left)
    size = counted(len(run.case.memory.notes or ()), "note")
    name = run.pipeline.name
    happens = f"on {name}, {HAPPENED[report.happened]}, in a memory of {size}"
    stands_in = "Cannot be told of the engine of the report, which is not known here."
    says = {
        "reproduced": f"Reproduced: {happens}.",
        "elsewhere": f"Not reproduced on {report.system}. But {happens}.",
        "not reproduced": f"Not reproduced: on {name}, no memory that was tried shows it.",
    }[kind]
    if not report.engine and kind == "not reproduced":
        kind, says = "cannot be told", f"{stands_in} On {name}, which stands in, nothing like it happens."
    elif not report.engine:
        kind, says = "stand-in", f"{stands_in} But {happens}; it stands in."
    names = {one.name for one in releases}
    good = [one for one in run_on(run.case, releases) if one.holds] if names else []
    if good:
        says += f" {good[-1].pipeline.name} answers as expected."
    later = [Elsewhere(system=CaseSystem(name=one.pipeline.name)) for one in good[-1:]]
    run = _whole(run, report, facts, [one for one in later if one.system.name != name])
    return Verdict(kind, says, report, facts, run)


def _whole(run: CaseRun, report: Report, facts: Sequence[Fact], elsewhere: Sequence[Elsewhere]) -> CaseRun:
    """The run of the case as it is saved: with vectors, observations, and what was read and assumed."""
    read = [f"{one.what}: {one.value} ({one.says})" for one in facts]
    blanks = [f"BLANK: {one.what}. {one.value} is assumed; {one.why}." for one in facts if not one.line]
    case = run.case
    with opened_memory(case) as index:
        memory, model, questions = carried(case.questions, index, "float32")
    system = case.system
    if run.pipeline.name != pipeline_of_case(system).name:
        system = system.model_copy(update={"name": run.pipeline.name})
    whole = case.model_copy(
        update={
            "title": report.title,
            "note": "\n".join([*blanks, "Read of the report:", *read]),
            "references": list(report.references),
            "known_bug": "" if run.holds else "as reported",
            "system": system,
            "elsewhere": list(elsewhere),
            "memory": memory,
            "model": model,
            "questions": questions,
            "environment": environment(),
        }
    )
    again = run_case(whole)
    return run_case(with_observations(again))

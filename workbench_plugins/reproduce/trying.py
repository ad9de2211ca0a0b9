"""Looks for the smallest memory in which what was reported happens, and says a verdict with its case."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from workbench.errors import InputError
from workbench.records import Fate
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.query import content_words, unicode_words
from workbench.safe_text import counted
from workbench_plugins.cases.case_index import opened_memory
from workbench_plugins.cases.case_results import CaseRun
from workbench_plugins.cases.making import carried
from workbench_plugins.cases.model import (
    Case,
    CaseLists,
    CaseMemory,
    CaseNote,
    CaseQuestion,
    CaseSystem,
    Elsewhere,
    Expected,
    environment,
)
from workbench_plugins.cases.running import (
    pipeline_of_case,
    releases_of_case,
    run_case,
    run_on,
    with_observations,
)
from workbench_plugins.reproduce.reading import Fact, Report
from workbench_plugins.reproduce.report_patterns import WORDS, pattern

NEUTRAL: list[str] = WORDS["memories"]["neutral"]
"""Sentences that have nothing to do with a question."""
LARGER = 20
"""The limit with which a smaller one is compared, and the floor for a score that is said to be too low."""
FLOOR = 0.3
SENTENCE = re.compile(r"[^\n.!?。！？]+[.!?。！？]*\s*")
REPRODUCED = ("reproduced", "stand-in")
MOST_REMOVALS = 6
"""How often sentences are left out of a note: all but the answering one, then half of them, and so on."""


@dataclass(frozen=True)
class Verdict:
    """What came of a report: the kind of verdict, a sentence, the report, the facts, and a case with its run.

    `kind` is `reproduced`, `elsewhere` (on another release), `stand-in` (on a system that stands in for an
    engine that is not known here), `not reproduced`, or `cannot be told`.
    """

    kind: str
    description: str
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


def memories(report: Report) -> Iterator[CaseMemory]:
    """The memories to try, smaller ones first: the report's lists and notes, or notes that are written."""
    if lists := own_lists(report):
        yield CaseMemory(lists=lists)
    yield from (CaseMemory(notes=notes) for notes in _notes(report))


def own_lists(report: Report) -> CaseLists | None:
    """What two legs returned, where the report shows the scores of both; None if it does not."""
    columns = [pattern(WORDS["scores"][one]) for one in ("vector", "keyword")]
    legs = [{one.name: score for one in report.results if (score := one.of(leg))} for leg in columns]
    asked = [set(one.scores) for one in report.results if all(one.of(leg) is not None for leg in columns)]
    return CaseLists(vector=legs[0], keyword=legs[1]) if len(asked) > 1 and legs[0] != legs[1] else None


def _notes(report: Report) -> Iterator[list[CaseNote]]:
    if report.happened == "noise" and not report.notes:
        yield from (others(count) for count in (1, 3, len(NEUTRAL)))
        return
    around = "\n".join(NEUTRAL * 3)
    content = (content_words(unicode_words(report.question)) or [report.question])[:6]
    if report.happened == "limit":  # more rivals than the smaller limit fetches
        content = [f"{before}{word}" for before in ("", "My ", "The other ") for word in content]
    rivals = [CaseNote(path=f"memory/rival-{n + 1}.md", text=f"{text}\n") for n, text in enumerate(content)]
    besides: tuple[list[CaseNote], ...] = ([], others(3), others(len(NEUTRAL)), rivals)
    if report.notes:
        yield from ([*report.notes, *beside] for beside in besides[:3])
        return
    for beside in besides:
        for sentence in sentences(report):
            yield [CaseNote(path=report.expected, text=f"{sentence}\n"), *beside]
    for sentence in sentences(report):
        yield [CaseNote(path=report.expected, text=f"{around}\n{sentence}\n{around}\n"), *rivals, *others(3)]


def expectation(report: Report, system: CaseSystem) -> Expected:
    """What the answer should be, if what was reported had not happened."""
    if report.happened == "noise":
        return Expected(nothing=True)
    if report.happened == "limit":
        return Expected(same_as=system.with_changes(limit=LARGER), within=1)
    return Expected(found=report.expected, within=1 if report.happened == "order" else None)


def usable(report: Report) -> tuple[CaseSystem, list[Fact]]:
    """The system with those of the settings that it takes, and a fact for each that it does not take."""
    system, left = CaseSystem(name=report.system), []
    if report.happened == "limit" and "limit" not in report.settings:
        system = CaseSystem(name=report.system, limit=1)
        left.append(Fact("limit", "1", why="the report names no number of results"))
    if report.happened == "low" and "min_score" not in report.settings:
        system = CaseSystem(name=report.system, min_score=FLOOR)
        left.append(Fact("floor", f"{FLOOR}", why="the report does not say for what the score is too low"))
    for name, value in report.settings.items():
        changes: dict[str, object] = {"settings": [*system.settings, f"{name}={value}"]}
        if name in ("min_score", "limit"):
            changes = {name: float(value) if name == "min_score" else int(float(value))}
        changed = system.with_changes(**changes)
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
    known = [(facts, _case(way, system, memory)) for way, facts in ways for memory in memories(way)]
    known = [(facts, case) for facts, case in known if not case.memory.lists or _runs(case, [here])]
    if reason := untold(report):
        run = _whole(run_case(known[0][1], here), report, report.facts, [])
        return Verdict("cannot be told", f"Cannot be told, because {reason}.", report, report.facts, run)
    known = list(zip((facts for facts, _ in known), _embedded([case for _, case in known]), strict=True))
    for facts, case in known:
        if shows(run := run_case(case, here), report.happened):
            return _verdict("reproduced", report, facts, _smallest(run, here, report.happened), releases)
    if report.settings:  # a report may also name what would be right
        read = Fact("settings", "none of those that were read", why="with them, nothing like it happens")
        bare = tried(replace(report, settings={}, facts=(*report.facts, read)))
        if bare.kind in REPRODUCED:
            return bare
    for facts, case in known:
        runs = _elsewhere(case, releases)
        if found := next((one for one in runs if shows(one, report.happened)), None):
            return _verdict("elsewhere", report, facts, found, [])
    return _verdict("not reproduced", report, left, run_case(known[0][1], here), [])


def untold(report: Report) -> str:
    """Why nothing can be told of a report; empty if something can."""
    happened = report.fact("what happened")
    if report.happened == "error":
        return f"line {happened.line} is about an error, and not about what a search returns"
    if not happened.told and not report.fact("question").told:
        return "it says neither what was searched for nor what came back"
    return ""


def _embedded(cases: Sequence[Case]) -> list[Case]:
    """The cases with the vectors of their notes and of the question, each text embedded once."""
    texts = dict.fromkeys(one.text or "" for case in cases for one in case.memory.notes or ())
    if not texts:
        return list(cases)
    notes = [CaseNote(path=f"{place}.md", text=text) for place, text in enumerate(texts)]
    union = cases[0].with_changes(memory=CaseMemory(notes=notes))
    with opened_memory(union) as index:
        memory, model, questions = carried(union.questions, index, "float32")
    by_path = {one.path: one for one in memory.notes or ()}
    known = {text: by_path[f"{place}.md"] for place, text in enumerate(texts)}

    def with_vectors(case: Case) -> Case:
        given = [known[one.text or ""].with_changes(path=one.path) for one in case.memory.notes or ()]
        if not given:
            return case
        memory = case.memory.with_changes(notes=given)
        return case.with_changes(memory=memory, model=model, questions=questions)

    return [with_vectors(one) for one in cases]


def shows(run: CaseRun, happened: str) -> bool:
    """Whether what was reported happens: for an order, another file must be in the answer.

    For a score that is too low, the floor must be what drops the file.
    """
    (answer,) = run.answers
    other = answer.asked.expect.within is None or bool(answer.trace.results)
    return (
        not answer.holds and other and (happened != "low" or answer.observed.fate == Fate.BELOW_FLOOR.value)
    )


def _releases(system: CaseSystem) -> list[Pipeline]:
    try:
        return releases_of_case(_plain(system))
    except InputError:
        return []


def _elsewhere(case: Case, releases: Sequence[Pipeline]) -> list[CaseRun]:
    """The case on other releases; an answer that is compared with its own system is, with that release."""
    (asked,) = case.questions
    if asked.expect.same_as is None:
        return _runs(case, releases)
    runs = []
    for one in releases:
        system = case.system.with_changes(name=one.name)
        same_as = asked.expect.same_as.with_changes(name=one.name)
        question = asked.with_changes(expect=asked.expect.with_changes(same_as=same_as))
        runs.append(run_case(case.with_changes(system=system, questions=[question])))
    return runs


def _runs(case: Case, pipelines: Sequence[Pipeline]) -> list[CaseRun]:
    """The case on each of these; one that cannot run on the lists of two legs is left out."""
    if not case.memory.lists:
        return run_on(case, pipelines)
    runs = []
    for one in pipelines:
        with suppress(InputError):
            runs += run_on(case, [one])
    return runs


def _plain(system: CaseSystem) -> Case:
    note = CaseNote(path="a.md", text="a")
    asked = CaseQuestion(question="a", expect=Expected(nothing=True))
    return Case(system=system, questions=[asked], memory=CaseMemory(notes=[note]))


def _case(report: Report, system: CaseSystem, memory: CaseMemory) -> Case:
    asked = CaseQuestion(question=report.question, expect=expectation(report, system))
    return _plain(system).with_changes(questions=[asked], memory=memory)


def _smallest(run: CaseRun, here: Pipeline, happened: str) -> CaseRun:
    """The run without the notes and the sentences that what happens does not need.

    The file that is expected stays, and in each note the sentence that shares most words with the question.
    """
    for one in list(run.case.memory.notes or ()):
        fewer = [other for other in run.case.memory.notes or () if other is not one]
        if fewer and one.path not in run.case.questions[0].expect.targets:
            run = _without(run, fewer, here, happened)
    asked = set(unicode_words(run.case.questions[0].question.lower()))
    for place in range(len(run.case.memory.notes or ())):
        parts = SENTENCE.findall((run.case.memory.notes or ())[place].text or "")
        answering = max(parts, key=lambda one: len(asked & set(unicode_words(one.lower()))), default="")
        size = len(parts) - 1
        for _ in range(MOST_REMOVALS if parts else 0):
            kept = [one for number, one in enumerate(parts) if number >= size or one == answering]
            notes = list(run.case.memory.notes or ())
            notes[place] = CaseNote(path=notes[place].path, text="".join(kept).rstrip() + "\n")
            smaller = _without(run, notes, here, happened) if len(kept) < len(parts) else run
            parts, size = (parts, size // 2) if smaller is run else (kept, len(kept) - 1)
            run = smaller
    return run


def _without(run: CaseRun, notes: Sequence[CaseNote], here: Pipeline, happened: str) -> CaseRun:
    """The run with these notes alone, if what was reported still happens; else the run as it is."""
    memory = run.case.memory.with_changes(notes=list(notes))
    smaller = run_case(run.case.with_changes(memory=memory), here)
    return smaller if shows(smaller, happened) else run


def _verdict(
    kind: str, report: Report, left: Sequence[Fact], run: CaseRun, releases: Sequence[Pipeline]
) -> Verdict:
    facts = (*report.facts, *left)
    size = f"a memory of {counted(len(run.case.memory.notes or ()), 'note')}"
    size = "the report's own lists" if run.case.memory.lists else size
    name = run.pipeline.name
    happens = f"on {name}, {WORDS['memories']['happened'][report.happened]}, in {size}"
    stands_in = "Cannot be told of the engine of the report, which is not known here."
    description = {
        "reproduced": f"Reproduced: {happens}.",
        "elsewhere": f"Not reproduced on {report.system}. But {happens}.",
        "not reproduced": f"Not reproduced: on {name}, no memory that was tried shows it.",
    }[kind]
    if not report.engine and kind == "not reproduced":
        kind, description = (
            "cannot be told",
            f"{stands_in} On {name}, which stands in, nothing like it happens.",
        )
    elif not report.engine:
        kind, description = "stand-in", f"{stands_in} But {happens}; it stands in."
    if name.startswith("engine-"):
        description += " Of the engine, only the fusion is known here; the legs are ours."
    names = {one.name for one in releases}
    good = [one for one in _elsewhere(run.case, releases) if one.holds] if names else []
    if good:
        description += f" {good[-1].pipeline.name} answers as expected."
    later = [Elsewhere(system=CaseSystem(name=one.pipeline.name)) for one in good[-1:]]
    run = _whole(run, report, facts, [one for one in later if one.system.name != name])
    return Verdict(kind, description, report, facts, run)


def _whole(run: CaseRun, report: Report, facts: Sequence[Fact], elsewhere: Sequence[Elsewhere]) -> CaseRun:
    """The run of the case as it is saved: with vectors, observations, and what was read and assumed."""
    read = [f"{one.what}: {one.value} ({one.description})" for one in facts]
    blanks = [f"BLANK: {one.what}. {one.value} is assumed; {one.why}." for one in facts if not one.line]
    case = run.case
    memory, model, questions = case.memory, case.model, case.questions
    if not memory.lists:
        with opened_memory(case) as index:
            memory, model, questions = carried(case.questions, index, "float32")
    system = case.system
    if run.pipeline.name != pipeline_of_case(system).name:
        system = system.with_changes(name=run.pipeline.name)
    whole = case.with_changes(
        title=report.title,
        note="\n".join([*blanks, "Read of the report:", *read]),
        references=list(report.references),
        known_bug="" if run.holds else "as reported",
        system=system,
        elsewhere=list(elsewhere),
        memory=memory,
        model=model,
        questions=questions,
        environment=environment(),
    )
    again = run_case(whole)
    return run_case(with_observations(again))

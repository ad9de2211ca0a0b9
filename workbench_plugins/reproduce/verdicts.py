"""Says what can be said of a report: only what was read or given, and what was then computed.

*Reproduced* needs the question, the system with its release and what happened from the report, and a run that
does it. What we make ourselves, a memory, is made in three ways, and the outcome must not depend on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.errors import InputError
from workbench.memory.embedding.local import PACKAGED_MODEL
from workbench.records import Fate
from workbench.retrieval.query import check_length, unicode_words
from workbench.retrieval.scope import FILTER_FIRST, FILTER_FIRST_IN
from workbench.safe_text import counted
from workbench.stop_words import content_words
from workbench_plugins.cases.case_index import opened_memory
from workbench_plugins.cases.case_results import CaseRun
from workbench_plugins.cases.making import carried, case_of_specimen
from workbench_plugins.cases.model import (
    Case,
    CaseMemory,
    CaseModel,
    CaseNote,
    CaseQuestion,
    CaseSystem,
    Expected,
    environment,
)
from workbench_plugins.cases.running import run_case, with_observations
from workbench_plugins.engines.museum import specimen
from workbench_plugins.reproduce.checks import Check, checks_of
from workbench_plugins.reproduce.facts import Fact, Report
from workbench_plugins.reproduce.report_patterns import WORDS

REPRODUCED, STAND_IN, NOT_REPRODUCED = "reproduced", "stand-in", "not reproduced"
NEEDS, NOT_RANKING = "needs", "not a relevance bug"
EXIT_CODES = {REPRODUCED: 0, NOT_REPRODUCED: 1, NEEDS: 10, STAND_IN: 11, NOT_RANKING: 12}
"""The exit code of each verdict; 2, 3 and 4 are those of errors."""

HEADLINES = {
    REPRODUCED: "Reproduced",
    STAND_IN: "Shown on a stand-in, which is not a reproduction",
    NOT_REPRODUCED: "Not reproduced",
    NEEDS: "Needs an answer",
    NOT_RANKING: "Not a relevance bug",
}

MADE = "memory/answer.md"
"""The file that we write where the report has no note."""
LARGER = 20
"""The limit with which a smaller one is compared."""
FLOORS = (0.1, 0.2, 0.3)
"""The floors for a score that is said to be as low as noise, made in three ways as a memory is."""
NEUTRAL: list[str] = WORDS["memories"]["neutral"]
"""Sentences that have nothing to do with a question."""


TOLD_IN_TITLES = ("symptom", "mechanism", "outside")
"""The kinds of facts that make a heading the title of a report."""

OPTION = re.compile(r"--[\w-]+(?:[ =][\w.]+)?|\w+=[\w.]+")
"""An option of a command, or an argument of a call."""

DISTANCES = re.compile(r"\bdistances?\b", re.IGNORECASE)
"""Where more results bring nearer ones, an exact search says whether the index is what misses them."""


@dataclass(frozen=True)
class Verdict:
    """What can be said of a report: a kind, a sentence, more sentences, and a case if there is one.

    `ask` are the questions to send back to whoever wrote the report.
    """

    kind: str
    sentence: str
    report: Report
    more: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    case: Case | None = None

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return EXIT_CODES[self.kind]


def verdict_of(report: Report) -> Verdict:
    """The verdict on a report.

    Raises InputError for a system or a setting of the user that is not there, and for a question that is too
    long.
    """
    for one in (*report.of("question"), *report.of("question that works")):
        check_length(one.value)
    if said := contradiction(report) or second_report(report):
        return needs(report, said)
    checks = checks_of(report)
    if outside := _outside(report, checks):
        return outside
    if decided := next((one for one in checks if one.kind), None):
        return _decided(decided, report, checks)
    ran = _ran(report) or needs(report)
    shown = _stand_in(report) if ran.kind == NEEDS else None
    verdict = replace(shown, more=(*shown.more, *ran.more), ask=ran.ask) if shown else ran
    return replace(verdict, more=(*verdict.more, *_sentences(checks)))


def _decided(check: Check, report: Report, checks: Sequence[Check]) -> Verdict:
    sentence = f"{HEADLINES[check.kind]}: {check.sentence}"
    return Verdict(check.kind, sentence, report, _sentences(checks, check), case=check.case)


def _sentences(checks: Sequence[Check], without: Check | None = None) -> tuple[str, ...]:
    return tuple(one.sentence[0].upper() + one.sentence[1:] for one in checks if one is not without)


# What is missing


def contradiction(report: Report) -> str:
    """Where a report says of a question, asked in one way, that it fails and that it works; or empty."""
    works = {_asked_as(report, one): one for one in report.of("question that works") if one.line}
    for one in report.of("question"):
        other = works.get(_asked_as(report, one)) if one.line else None
        if other and one.name == "fails":
            return (
                f"line {one.line} says that this question fails and line {other.line} that it works: "
                f"which command and which settings does each of them have?"
            )
    return ""


def second_report(report: Report) -> str:
    """Where a second report begins: a title, as the first one is, that says what happened; or empty."""
    told = {one.line for one in (*report.facts, *report.candidates) if one.kind in TOLD_IN_TITLES}
    titles = [one for one in report.lines if not one.code and one.raw.startswith("# ")]
    if titles[:1] != [report.lines[0]] or not all(one.number in told for one in titles[:2]) or not titles[1:]:
        return ""
    return f"line {titles[1].number} begins another report: please give each of them by itself"


def _asked_as(report: Report, one: Fact) -> str:
    """The line up to the end of a question, with the options behind it."""
    begun, end = report.text.rfind("\n", 0, one.start) + 1, report.text.find("\n", one.end)
    options = OPTION.findall(report.text[one.end : end if end > 0 else None])
    return " ".join([re.sub(r"^[\s>*+-]*(?:\d+[.)])?\s*", "", report.text[begun : one.end]), *options])


def needs(report: Report, said: str = "") -> Verdict:
    """What is missing for a verdict, and the questions to send back."""
    if said:
        ask = f"{said[0].upper()}{said[1:]}"
        return Verdict(NEEDS, f"{HEADLINES[NEEDS]}: {said.rstrip('?')}.", report, ask=(ask,))
    missing = dict(_missing(report)) or dict([_vectors(report)])
    names = " and ".join(filter(None, (", ".join(list(missing)[:-1]), list(missing)[-1])))
    here = f"{report.system.why}." if report.system.why else ""
    why = (here,) if here and report.value("release") else ()
    return Verdict(
        NEEDS, f"{HEADLINES[NEEDS]}: the report seems to lack {names}.", report, why, tuple(missing.values())
    )


def _missing(report: Report) -> Iterator[tuple[str, str]]:
    """The facts that were not read in a report, each with the question that asks for it."""
    asked, release = report.of("question"), report.value("release")
    if not asked:
        image = next((one.line for one in report.of("image")), 0)
        where = f" It may be in the picture of line {image}: please type it." if image else ""
        yield (
            "the question",
            f"Which words exactly did you search for, and which file or text should have come?{where}",
        )
    if not report.symptom:
        yield "what came", "What came instead: nothing, another file first, or unrelated results?"
    if report.symptom == "limit" and DISTANCES.search(report.text):
        yield "an exact search", WORDS["outside"]["approximate"]["ask"]
    if not report.system.exact and not release:
        named = f"You name {report.system.engine}. " if report.system.engine else ""
        yield (
            "the version with its settings",
            f"{named}Which version is it, and with which search settings (mode, threshold, limit, weights)?",
        )
    elif not report.system.name:
        yield (
            "the search itself",
            "Please show the search itself, with its limit and its filter, and its five best results with "
            "their scores.",
        )
    elif not report.system.exact:
        yield (
            "the scores of each search",
            "Please show the five best results of the vector search alone and of the keyword search alone, "
            "with their scores.",
        )
    if asked and report.symptom in ("missing", "order", "limit") and not report.notes:
        other = "" if report.symptom == "missing" else ", and of the one that came instead"
        yield "the text of the note", f"Can you paste the text of the note that should have come{other}?"


def _vectors(report: Report) -> tuple[str, str]:
    """What the vectors of a report cannot be told without: the model, or what its search gives."""
    score = "which score has this note in the vector search alone?"
    if not report.of("model"):
        return "the embedding model", f"Which embedding model is it, and {score}"
    return "the score of the vector search", f"{score[0].upper()}{score[1:]}"


def _outside(report: Report, checks: Sequence[Check]) -> Verdict | None:
    """Not a relevance bug, where the report says so, or where its own numbers do."""
    designed = next((one for one in checks if one.kind == NOT_RANKING), None)
    if designed:
        return _decided(designed, report, checks)
    said, mechanisms = report.of("outside"), report.of("mechanism")
    titled = [one for one in said if one.value in report.title]
    rivals = [one for one in mechanisms if one.value in report.title] if titled else mechanisms
    decides = [] if rivals else titled or said
    if not decides or any(not one.line for one in report.of("question")):
        return None
    one = decides[0]
    if one.name in ("speed", "error"):
        crash = one.name == "error" and report.symptom == "missing"  # a crash returns nothing, too
        same = mechanisms if crash else [*mechanisms, *report.of("symptom")]
        if any(fact.line == one.line for fact in same):
            return None  # the same line says what was returned, or why
    told = WORDS["outside"][one.name]
    where = f"line {one.line} says “{one.value}”"
    command = told.get("commands", {}).get(report.system.engine)
    ask = f"Please run `{command}` and ask again: is the answer still wrong?" if command else told["ask"]
    return Verdict(NOT_RANKING, f"Not a relevance bug, but {told['says']}: {where}.", report, ask=(ask,))


# A mechanism in another engine


def _stand_in(report: Report) -> Verdict | None:
    """The mechanism that the report names, shown by a specimen of the museum that does the same thing."""
    for one in report.of("mechanism"):
        if report.symptom not in WORDS["mechanism"][one.name]["shows"]:
            continue
        run = specimen(one.name).run()
        if not run.shows:
            continue
        shown = run.specimen
        try:
            case = case_of_specimen(shown)
        except InputError:
            case = None
        says = (
            f"{HEADLINES[STAND_IN]}: line {one.line} says “{one.value}”, and the specimen {shown.name} runs "
            "that mechanism."
        )
        sides = (f"{name.capitalize()}: {_answer(answer)}." for name, _, answer, _ in run.by_side)
        more = (
            f"Mechanism: {shown.mechanism}",
            f"Specimen: {shown.world}. Expected: {shown.expected}. {' '.join(sides)}",
            f"Run it: workbench museum {shown.name}",
            *_repair(report, one.name),
        )
        return Verdict(STAND_IN, says, report, more, case=case)
    return None


def _repair(report: Report, mechanism: str) -> Iterator[str]:
    """What makes a filter come first, in the words of the engine that the report names."""
    if WORDS["mechanism"][mechanism].get("filter_first"):
        engine = report.system.engine
        yield f"Repair: {FILTER_FIRST_IN.get(engine, FILTER_FIRST)}."


def _answer(answer: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {score:.3g}" for name, score in list(answer.items())[:3]) or "nothing"


# A run


def _ran(report: Report) -> Verdict | None:
    """The run of what was read, if the question, the exact system and what happened were read or given."""
    asked = report.value("question")
    if not (asked and report.system.name and report.system.exact and report.symptom):
        return None
    if report.symptom in ("order", "limit", "missing") and report.notes and not _about(report):
        return None  # the notes of the report are about something else
    if not report.notes and report.symptom in ("order", "limit"):
        return None
    try:
        cases = [_case(report, memory, floor) for memory, floor in _memories(report)]
        own = [run_case(one) for one in cases]
        helped, alone = (
            [shows(run_case(_imagined(one, helpful)), report.symptom) for one in cases]
            for helpful in (True, False)
        )
    except InputError:
        return None  # a setting that this system does not have
    shown = [shows(one, report.symptom) for one in own]
    happens = f"on {own[0].pipeline.name}, {WORDS['memories']['happened'][report.symptom]}"
    given = any(one.source for one in report.of("note"))
    notes = f"with {counted(len(report.notes), 'note')} {'given' if given else 'of the report'}"
    made = "whatever the memory is (three were tried, which are ours)"
    memory = notes if report.notes else made
    if all(shown) and all(helped):
        says = f"Reproduced: {happens}, {memory}, however well its vectors fit."
        return Verdict(REPRODUCED, says, report, case=_whole(own[0], report))
    if not report.notes:
        return None
    if all(shown) and all(alone) and report.of("mechanism"):
        says = f"Reproduced: {happens}, {memory} and vectors of {PACKAGED_MODEL}, as the report explains it."
        return Verdict(REPRODUCED, says, report, case=_whole(own[0], report))
    if all(shown) and (model := _packaged(report)):
        says = f"Reproduced: {happens}, {memory} and the vectors of {PACKAGED_MODEL}, which {model} names."
        return Verdict(REPRODUCED, says, report, case=_whole(own[0], report))
    if not any(shown) and not any(alone):
        says = f"Not reproduced: {memory}, it does not happen on {own[0].pipeline.name}."
        return Verdict(NOT_REPRODUCED, says, report, case=_whole(own[0], report))
    depends = (
        f"On {own[0].pipeline.name}, {memory}, it depends on the vectors: with those of {PACKAGED_MODEL} it "
        f"{'happens' if all(shown) else 'does not happen'}."
    )
    return replace(needs(report), more=(depends,))


def _packaged(report: Report) -> str:
    """Where the report names the model of the vectors here, such as *line 3*; empty if it does not."""
    named = next(iter(report.of("model")), None)
    return f"line {named.line}" if named and named.value.lower() == PACKAGED_MODEL.lower() else ""


NEAR, FAR = [1.0, 0.0], [0.0, 1.0]
"""The vector of each question, and one that has nothing to do with it."""


def _imagined(case: Case, helpful: bool) -> Case:
    """The case with vectors that lead to the right answer, or that say nothing, whatever the model is."""
    targets = case.questions[0].expect.targets
    with opened_memory(case) as index:
        memory, _, questions = carried(case.questions, index, "float32")
    notes = [
        one.with_changes(
            passages=[
                each.with_changes(vector=NEAR if helpful and one.path in targets else FAR)
                for each in one.passages or ()
            ]
        )
        for one in memory.notes or ()
    ]
    return case.with_changes(
        memory=memory.with_changes(notes=notes),
        model=CaseModel(name="imagined", dimensions=2, vectors="float32"),
        questions=[one.with_changes(vector=NEAR) for one in questions],
    )


def _about(report: Report) -> bool:
    """Whether the target is one of the notes, or a note shares a word or a sign with the question."""
    asked = report.value("question").lower()
    words = set(content_words(unicode_words(asked))) | {one for one in asked if ord(one) > 0x2E80}
    told = [(one.path, one.whole) for one in report.notes]
    named = report.value("target")
    return any(
        named in (path, text.strip()) or any(word in text.lower() for word in words) for path, text in told
    )


def _memories(report: Report) -> Iterator[tuple[CaseMemory, float]]:
    """The memory of the report, or three that are made, each with a floor for low scores."""
    if report.notes:
        yield from ((CaseMemory(notes=list(report.notes)), floor) for floor in FLOORS)
        return
    if report.symptom == "noise":
        yield from (
            (CaseMemory(notes=others(count)), floor) for count, floor in zip((1, 3, 8), FLOORS, strict=True)
        )
        return
    asked = [report.value("question"), *(one.value for one in report.of("question that works"))]
    words = ", ".join(content_words(unicode_words(" ".join(asked))) or asked)
    path = report.value("target") if report.value("target").endswith((".md", ".txt")) else MADE
    texts = (
        f"Note on {' and '.join(one.rstrip('?？ ') for one in asked)}: it is settled.",
        f"{NEUTRAL[0]}\n{NEUTRAL[1]}\nSettled: {words}.\n{NEUTRAL[2]}",
        f"Settled: {words}.",
    )
    for text, count, floor in zip(texts, (0, 3, 8), FLOORS, strict=True):
        yield CaseMemory(notes=[CaseNote(path=path, text=f"{text}\n"), *others(count)]), floor


def others(count: int) -> list[CaseNote]:
    """Neutral notes, as many as are asked for."""
    return [CaseNote(path=f"memory/other-{n + 1}.md", text=f"{NEUTRAL[n]}\n") for n in range(count)]


def _case(report: Report, memory: CaseMemory, floor: float) -> Case:
    """A case of the questions that fail, and of one that works where the report contrasts the two."""
    system = CaseSystem(name=report.system.name)
    for name, value in report.settings.items():
        if name in ("min_score", "limit"):
            system = system.with_changes(**{name: float(value) if name == "min_score" else int(float(value))})
        else:
            system = system.with_changes(settings=[*system.settings, f"{name}={value}"])
    if report.symptom == "low" and system.min_score is None:
        system = system.with_changes(min_score=floor)
    target = _target(report, memory)
    expected = {
        "missing": Expected(found=target),
        "low": Expected(found=target),
        "order": Expected(found=target, within=1),
        "noise": Expected(nothing=True),
        "limit": Expected(same_as=system.with_changes(limit=LARGER), within=1),
    }[report.symptom]
    questions = [CaseQuestion(question=report.value("question"), expect=expected)]
    if report.symptom == "missing":
        works = [one.value for one in report.of("question that works")][:1]
        questions += [CaseQuestion(question=one, expect=Expected(found=target)) for one in works]
    return Case(system=system, questions=questions, memory=memory)


def _target(report: Report, memory: CaseMemory) -> str:
    """The file that should be found: the one that is named, or the note nearest to the question."""
    notes = memory.notes or []
    named = report.value("target")
    said = next((one.path for one in notes if named and named in (one.path, one.whole.strip())), "")
    asked = set(unicode_words(report.value("question").lower()))
    nearest = max(notes, key=lambda one: len(asked & set(unicode_words(one.whole.lower()))))
    return said or nearest.path


def shows(run: CaseRun, symptom: str) -> bool:
    """Whether what was reported happens, and the question that works does.

    For an order, another file must be in the answer; for a low score, the floor must be what drops the file.
    """
    first, *works = run.answers
    if symptom == "order" and not first.trace.results:
        return False
    if symptom == "low" and first.observed.fate != Fate.BELOW_FLOOR.value:
        return False
    return not first.holds and all(one.holds for one in works)


def _whole(run: CaseRun, report: Report) -> Case:
    """The case as it is saved: with vectors, observations, and what was read."""
    with opened_memory(run.case) as index:
        memory, model, questions = carried(run.case.questions, index, "float32")
    read = [f"{one.kind}: {one.value} ({one.where('line')})" for one in report.facts]
    made = [] if report.notes else ["The notes are ours; with three different memories, the same happens."]
    whole = run.case.with_changes(
        title=report.title,
        note="\n".join([*made, "Read of the report:", *read]),
        references=list(report.references),
        known_bug="" if run.holds else "as reported",
        memory=memory,
        model=model,
        questions=questions,
        environment=environment(),
    )
    return with_observations(run_case(whole))

"""A recording as a case: the two lists, a system with the same fusion, and what was expected.

And the other way: what loses the file of a case that is made of lists.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from workbench.errors import InputError
from workbench.measure.questions import Question, QuestionSet
from workbench.records import Stage
from workbench.retrieval.cutoff import AddedFloor
from workbench_plugins.cases.case_results import CaseRun
from workbench_plugins.cases.model import (
    Case,
    CaseLists,
    CaseMemory,
    CaseQuestion,
    CaseSystem,
    Expected,
    environment,
)
from workbench_plugins.cases.running import run_case
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.fixes import Fix
from workbench_plugins.diagnose.page import Diagnosis
from workbench_plugins.diagnose.parameters import settings_between
from workbench_plugins.engines.lists import Asked, Scores
from workbench_plugins.engines.presets import PIPELINES
from workbench_plugins.engines.whose_fusion import lists_of
from workbench_plugins.recorder.fusion_causes import forms_of_ids
from workbench_plugins.recorder.recorded_index import ListsOfCase
from workbench_plugins.recorder.recording import Recording, as_known


def case_of(recording: Recording, target: str) -> Case:
    """A case that expects `target` in the answer to the recorded question.

    Raises InputError for other legs than `vector` and `keyword`, for a fusion that no system `engine-…` has,
    and for a case that does not return what was recorded, such as where equal scores decide.
    """
    trace, pipeline = recording.trace, recording.pipeline
    if set(trace.legs) != {"vector", "keyword"}:
        raise InputError(
            "A case of lists has the legs vector and keyword.", f"This has {', '.join(trace.legs)}."
        )
    name, settings = _system(as_known(pipeline["fusion"]))
    vector, keyword = lists_of({one.chunk.id: one for one in trace.candidates})
    case = Case(
        case=1,
        title=f"{target} is missing in an answer of {recording.recorder.engine}",
        note=f"{recording.description}.",
        system=CaseSystem(
            name=name,
            settings=settings,
            limit=max(1, int(min(pipeline.limit, len(trace.chunks)))),
            min_score=pipeline.floor if pipeline.floor > -math.inf else None,
        ),
        questions=[CaseQuestion(question=recording.question, expect=Expected(found=target))],
        memory=CaseMemory(lists=CaseLists(vector=dict(vector), keyword=dict(keyword))),
        environment=environment(),
    )
    (answer,) = run_case(case).answers
    if answer.trace.paths() != trace.paths():
        raise InputError(
            f"As a case the lists give {', '.join(answer.trace.paths()) or 'nothing'}, and the recording "
            f"{', '.join(trace.paths()) or 'nothing'}.",
            "Use the recording itself: it keeps the order of equal scores.",
        )
    return case


def _system(fusion: Stage) -> tuple[str, list[str]]:
    """The name of a system that has a fusion of this kind, and the settings in which it differs."""
    for one in PIPELINES:
        if type(one["fusion"]) is type(fusion):
            wanted = one.with_stage(fusion)
            settings = settings_between(one, wanted)
            if settings or one.stages == wanted.stages:
                return one.name, list(settings)
    raise InputError(
        "No system here fuses lists as this recording does, so no case can hold it.",
        f"These can: {', '.join(one.name for one in PIPELINES)}.",
    )


def cause_in_lists(ran: CaseRun) -> list[str]:
    """What loses the file of the first question that fails, for a case of lists: the cause, and its repair.

    The repair is one of the case's own system, and is told only if the case holds with it. Empty for a case
    of notes, and for one that holds or expects something else than a file.
    """
    failing = next((one for one in ran.answers if not one.holds and one.asked.expect.found), None)
    lists = ran.case.memory.lists
    if lists is None or failing is None or failing.asked.expect.found in failing.trace.paths()[:1]:
        return []
    legs = {"vector": _recorded(lists.vector), "keyword": _recorded(lists.keyword)}
    if told := _as_distances(ran.case, failing.asked) or _under_one_id(ran.case, failing.asked):
        return told
    question, target = failing.asked.question, failing.asked.expect.found or ""
    known = dict.fromkeys([*lists.vector, *lists.keyword, target], "")
    index = ListsOfCase("the given lists", legs, known)
    alone = QuestionSet(questions=(Question(question=question, target=target),))
    found = diagnose(question, ran.pipeline, index, target, questions=alone)
    return [found.headline, *_repairs(ran.case, found)]


FEWEST_RISING = 3
"""The least number of rising numbers that are hardly in this order by accident."""


def _as_distances(case: Case, asked: CaseQuestion) -> list[str]:
    """A list that is written with its smallest number first: tried with 1 - each number; empty if in vain."""
    lists = case.memory.lists or CaseLists.model_construct()
    for leg, scores in (("vector", lists.vector), ("keyword", lists.keyword)):
        if len(scores) < FEWEST_RISING or [*scores.values()] != sorted({*scores.values()}):
            continue
        similar = {id_: 1 - distance for id_, distance in scores.items()}
        if _holds(case, asked, CaseLists(**{**dict(lists), leg: similar})):
            return [
                f"Cause: {leg} leg: its list begins with the smallest number, as distances do, "
                "and a case takes the largest number for the best",
                f"Repair: write 1 - the number for each number of the {leg} list: the case holds then",
            ]
    return []


def _under_one_id(case: Case, asked: CaseQuestion) -> list[str]:
    """Documents whose ids the lists write in two ways: tried with one id for both; empty if in vain.

    A way of writing is tried only if no two ids of one list are the same in it.
    """
    lists, target = case.memory.lists or CaseLists.model_construct(), asked.expect.found or ""
    for form, how, fewest in forms_of_ids([lists.vector, lists.keyword]):
        first = {form(one): one for one in (*lists.keyword, *lists.vector, target)}
        alike = [
            {first[form(one)]: score for one, score in scores.items()}
            for scores in (lists.vector, lists.keyword)
        ]
        twice = [one for one in (*lists.vector, *lists.keyword) if first[form(one)] != one]
        if len(twice) < fewest or [*map(len, alike)] != [len(lists.vector), len(lists.keyword)]:
            continue
        if _holds(case, asked, CaseLists(vector=alike[0], keyword=alike[1])):
            return [
                f"Cause: ids: the lists write the id of one document in two ways: {first[form(twice[0])]} "
                f"and {twice[0]}",
                f"Repair: write the ids in one way in both lists, {how}: the case holds then",
            ]
    return []


def _holds(case: Case, asked: CaseQuestion, lists: CaseLists) -> bool:
    """Whether a question of a case has its expected answer with other lists."""
    ran = run_case(case.with_changes(memory=CaseMemory(lists=lists)))
    return any(one.holds for one in ran.answers if one.asked == asked)


def _recorded(scores: Scores) -> Asked:
    best_first = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return Asked(lambda *_: best_first, number="given score", again=False)


def _repairs(case: Case, found: Diagnosis) -> list[str]:
    """The first repair with which the case holds, as keys of its system."""
    for fix in found.fixes:
        for told, system in _with_fix(case.system, fix):
            try:
                holds = run_case(case.with_changes(system=system)).holds
            except InputError:  # the system of a case does not take every setting
                continue
            if holds:
                return [f"Repair: in the case's system, {told}"]
    return []


def _with_fix(system: CaseSystem, fix: Fix) -> Iterator[tuple[str, CaseSystem]]:
    """The ways to write a fix into the system of a case, each in words."""
    floors = [one for one in fix.pipeline.stages if isinstance(one, AddedFloor)]
    if fix.undoes and system.min_score is not None and not floors:
        yield "leave out min_score", system.with_changes(min_score=None)
    words = (fix.as_set or "").split()
    settings = words[1::2] if words[::2] == ["--set"] * len(words[::2]) else []
    if settings:
        changed = system.with_changes(settings=[*system.settings, *settings])
        yield f"settings: [{', '.join(settings)}]", changed

"""Finds why a file is lost: what happened to it, who did it, and what would have saved it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeVar

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.paired import Paired, corrected
from workbench.measure.questions import Question, QuestionSet, check_targets
from workbench.measure.reruns import Reruns
from workbench.memory.index import MemoryIndex
from workbench.records import Hits, Query, Trace, Vector
from workbench.retrieval.cutoff import Limit
from workbench.retrieval.explain import explain
from workbench.retrieval.index_adapters import CachedIndex, innermost
from workbench.retrieval.pipeline import Pipeline, check_pipeline
from workbench.retrieval.query import check_question
from workbench_plugins.diagnose.ahead import for_this_question
from workbench_plugins.diagnose.asked import Asked
from workbench_plugins.diagnose.causes import Cause, causes_inside, is_yours, repaired_slots
from workbench_plugins.diagnose.chunk_causes import cause_in_chunk, is_unread, without_other_chunks
from workbench_plugins.diagnose.chunk_sizes import cut_index, is_quick, tried, untried
from workbench_plugins.diagnose.fixes import MOST_FIXES, Fix, best_fixes, fixes_of_many, verified
from workbench_plugins.diagnose.note_causes import causes_in_note
from workbench_plugins.diagnose.outscored import higher, outscored
from workbench_plugins.diagnose.outside import causes_outside, check_known
from workbench_plugins.diagnose.own_legs import values_of_own_legs
from workbench_plugins.diagnose.page import LONG_ANSWER, Diagnosis
from workbench_plugins.diagnose.parameters import Aim, Goal
from workbench_plugins.diagnose.prices import Prices
from workbench_plugins.diagnose.question_causes import (
    causes_of_form,
    causes_of_words,
    lacks_words,
    other_words,
    unknown_name,
)
from workbench_plugins.diagnose.repairs import Repair, repairs, without_stop_words
from workbench_plugins.diagnose.stages_as_code import search_code
from workbench_plugins.diagnose.vector_causes import without_foreign_vectors

FEW_CHUNKS = 6
"""The words of so many chunks of a file are tried in place of the question's own."""


@dataclass(frozen=True, slots=True)
class Trials:
    """What a diagnosis tries besides other settings of the pipeline.

    With `rechunk`, the notes of the index are also cut into chunks of other sizes, in a temporary index for
    each of them; texts that have no vector yet are embedded, which can take long. `file` is the name under
    which `workbench.system` reads the pipeline from a file of settings: what is to paste is tried in it.
    """

    rechunk: bool = False
    file: str = ""


SETTINGS_ALONE = Trials()


def diagnose(
    question: str,
    pipeline: Pipeline,
    index: Index,
    target: str,
    *,
    questions: QuestionSet | None = None,
    trials: Trials = SETTINGS_ALONE,
) -> Diagnosis:
    """Why the file `target` is not in the answer: causes, fixes, and their price.

    A target that is returned, but not first, is diagnosed for the first place. Prices are over `questions`;
    without them over the memory's own lines. Every cause in the pipeline and every fix has been run.

    Raises InputError for a file that is not in the index (naming the nearest), and one that is first already;
    for a pipeline with nothing to change, for labels whose files are not in the index, and with
    `trials.rechunk` for an index whose notes cannot be cut anew.
    """
    with index.snapshot():
        check_known(index, target)
        return _diagnosed(question, pipeline, index, partial(_wanted, target), questions, trials)


def diagnose_unwanted(
    question: str,
    pipeline: Pipeline,
    index: Index,
    unwanted: str,
    *,
    questions: QuestionSet | None = None,
    trials: Trials = SETTINGS_ALONE,
) -> Diagnosis:
    """Why a file is in the answer that does not belong there: causes, what keeps it out, and the price.

    As `diagnose`; raises InputError for a file that is not in the answer, too.
    """
    with index.snapshot():
        check_known(index, unwanted)
        return _diagnosed(question, pipeline, index, partial(_kept_out, unwanted), questions, trials)


def _diagnosed(
    question: str,
    pipeline: Pipeline,
    index: Index,
    goal_of: Callable[[Trace], Goal],
    questions: QuestionSet | None,
    trials: Trials,
) -> Diagnosis:
    check_pipeline(pipeline)
    asked = check_question(question)
    if questions is not None:
        check_targets(questions, index.paths())
    if trials.rechunk:
        cut_index(index)  # which says at once if it cannot be done
    usable = without_foreign_vectors(index, asked, pipeline)
    runs = Reruns(asked, pipeline, RankedIndex(usable))
    goal = goal_of(runs.base)
    diagnosed = Question(question=asked, target=goal.path)
    prices = Prices(pipeline, CachedIndex(usable), questions, diagnosed)
    return _page(runs, goal, prices, index, trials)


class RankedIndex(CachedIndex):
    """A `CachedIndex` that asks for all hits once, and cuts them to each limit.

    It suits one question and many depths. Every answer of an index is ordered, so the first hits of a long
    answer are those of a short one.
    """

    def keyword(self, query: Query, limit: int) -> Hits:
        return super().keyword(query, self.size).at(slice(limit))

    def vector(self, query: Vector, limit: int) -> Hits:
        return super().vector(query, self.size).at(slice(limit))


def _page(runs: Reruns, goal: Goal, prices: Prices, given: Index, trials: Trials) -> Diagnosis:
    """The diagnosis; `given` is the index without adapters, whose notes can be cut anew."""
    chunks = tried(runs, goal, prices, given, trials.file) if trials.rechunk else None
    asked = _asked(runs, goal)
    every = _of_engine([*repairs(runs.pipeline), *values_of_own_legs(runs, goal)], runs.pipeline, runs.index)
    outside = _outside(runs, goal, asked)
    inside = _inside(every, outside, asked, runs, goal, prices)
    in_search = inside if outside.causes else _in_search(inside, asked, runs, goal)
    causes = _in_order(outside, in_search) or higher(runs, goal, asked)
    fixes, found = _fixes(every, causes, inside, runs, goal, prices)
    few = [verified(one, runs, goal, trials.file) for one in _few(fixes)]
    if chunks is None and causes and causes[0].where == ("chunk",) and is_quick(given):
        chunks = tried(runs, goal, prices, given, trials.file)
    if chunks is None:
        chunks = untried(given)
    elif not chunks.fixes:
        causes = [without_other_chunks(one) for one in causes]
    if causes:
        causes = [for_this_question(causes[0], few[0] if few else None, runs, goal), *causes[1:]]
    return Diagnosis(
        explanation=explain(runs.base, runs.index, goal.path, runs.vector),
        goal=goal,
        pipeline=runs.pipeline,
        causes=tuple(causes),
        fixes=tuple(_corrected(_shown(few, chunks.fixes))),
        found=found + len(chunks.fixes),
        chunking=chunks.description,
        prices=prices,
        search=search_code(runs.question, given),
    )


class Outside(NamedTuple):
    """The causes outside the stages: in the index, in the note and in the question's form.

    The repair of a `refuted` one was tried in vain, and nothing shows that it is a cause. Those in `sure` are
    proven or plain, and lie outside the note. `of_note` has those in the note, also if they are no cause.
    """

    causes: list[Cause]
    refuted: list[Cause]
    sure: list[Cause]
    of_note: list[Cause]


def _outside(runs: Reruns, goal: Goal, asked: Asked | None) -> Outside:
    found = [] if goal.aim is Aim.OUT else list(causes_outside(runs, goal))
    sure = [one for one in found if one.verified or one.certain]
    of_note: list[Cause] = []
    if not any(one.verified for one in found):
        of_note = list(causes_in_note(runs, goal))
        mended = [one for one in of_note if one.verified or one.certain]
        found = [*mended, *of_question(causes_of_form, asked), *found]
    refuted = [one for one in found if one.refuted and not one.certain]
    return Outside([one for one in found if one not in refuted], refuted, sure, of_note)


def _inside(
    every: Sequence[Repair], outside: Outside, asked: Asked | None, runs: Reruns, goal: Goal, prices: Prices
) -> list[Cause]:
    """The causes in the stages, those left out that are also found outside of them."""
    known = {one.where for one in outside.causes}
    inside = [one for one in causes_inside(every, runs, goal, prices) if one.where not in known]
    return [*outscored(runs, goal, inside, asked), *inside]


def _in_search(inside: Sequence[Cause], asked: Asked | None, runs: Reruns, goal: Goal) -> list[Cause]:
    """The causes in the stages, in the question's words and in a chunk, the likeliest first."""
    of_words = of_question(causes_of_words, asked)
    if not of_words and not inside:
        of_words = of_question(other_words, asked)
    elif not of_words:
        lacking = [] if is_yours(inside[0]) else of_question(lacks_words, asked)
        if _is_far_behind(inside, runs.base, goal.path, len(runs.index.paths())):
            of_words = lacking
        if not of_words:
            inside = [_with_words(inside[0], asked, lacking), *inside[1:]]
    if of_words:
        return [*inside, *of_words] if _is_unusual(inside) else [*of_words, *inside]
    return _likelier(cause_in_chunk(runs, goal), inside)


def _with_words(first: Cause, asked: Asked | None, lacking: Sequence[Cause]) -> Cause:
    """The first cause, which also says what the notes lack of the question's words."""
    unknown = [f"no note has “{one}”" for one in of_question(unknown_name, asked)]
    too = unknown or [cause.description for cause in lacking]
    return replace(first, description="; and ".join([first.description, *too]))


def _in_order(outside: Outside, in_search: Sequence[Cause]) -> list[Cause]:
    """All causes: what is proven outside the stages, then the user's own settings, then the others.

    Where a stage is measured to lower the file's score, what was not tried is no likelier than that.
    """
    in_note = [one for one in outside.of_note if one not in outside.causes]
    causes = [*outside.causes, *in_search, *in_note, *outside.refuted]
    measured = any(one.lowers for one in causes)

    def order(one: Cause) -> tuple[bool, bool, bool]:
        return one not in outside.sure, not is_yours(one), measured and not (one.lowers or one.verified)

    return sorted(causes, key=order)


def _fixes(
    every: Sequence[Repair],
    causes: Sequence[Cause],
    inside: Sequence[Cause],
    runs: Reruns,
    goal: Goal,
    prices: Prices,
) -> tuple[list[Fix], int]:
    """The best fixes, and how many were found; several changes at once where no single one is enough."""
    changed = repaired_slots(causes[0]) if causes else ()
    offered = [*every, *without_stop_words(runs.pipeline)]
    fixes, found = best_fixes(offered, changed, runs, goal, prices)
    of_first = fixes_of_many([causes[0].repairs], runs, goal, prices) if causes else []
    if not fixes:
        of_all = fixes_of_many([one.repairs for one in inside], runs, goal, prices)
        first = [one.pipeline for one in of_first]
        return sorted(of_all, key=lambda one: one.pipeline not in first), len(of_all)
    if causes and len(causes[0].repairs) > 1:
        fixes = [*of_first, *fixes]
    return fixes, found


def _likelier(in_chunk: Sequence[Cause], inside: Sequence[Cause]) -> list[Cause]:
    """The causes of both kinds.

    A chunk is likelier than stages of which none is enough alone, and one that the model has not read whole
    is likelier than any stage.
    """
    many = bool(inside) and len(inside[0].repairs) > 1
    return [*in_chunk, *inside] if many or any(map(is_unread, in_chunk)) else [*inside, *in_chunk]


def _is_far_behind(inside: Sequence[Cause], trace: Trace, path: str, files: int) -> bool:
    """Whether only a limit is at fault, and half of the memory's files or more are before this one."""
    ahead = list(dict.fromkeys(one.chunk.path for one in trace.candidates))
    limited = bool(inside) and inside[0].where == (Limit.slot,)
    return limited and path in ahead and 2 * ahead.index(path) >= files


def _is_unusual(inside: Sequence[Cause]) -> bool:
    """Whether the likeliest stage is a setting of the user, or one that no known system has."""
    repairs_of_first = inside[0].repairs if inside else ()
    return bool(repairs_of_first) and all(one.own or not one.usual for one in repairs_of_first)


def _of_engine(every: Sequence[Repair], pipeline: Pipeline, index: Index) -> list[Repair]:
    """The repairs that can be made in the engine that was recorded; all of them for a pipeline of ours."""
    offers = getattr(innermost(index), "offers", None)
    return [
        one
        for one in every
        if offers is None or all(offers(pipeline, edit.slot, edit.content) for edit in one.edits)
    ]


Found = TypeVar("Found")


def _asked(runs: Reruns, goal: Goal) -> Asked | None:
    """The question to examine; None if the file is not in the index, or not wanted in the answer."""
    index = runs.index
    rows = index.rows_of(goal.path)
    if goal.aim is Aim.OUT or not rows.size or not isinstance(innermost(index), MemoryIndex):
        return None
    near = [*(one.text for one in index.chunks(rows[:FEW_CHUNKS])), goal.path]

    def works(trace: Trace) -> bool:
        return goal.reached(trace) and goal.path in trace.paths()[:LONG_ANSWER]

    return Asked(runs.question, runs.pipeline, index, works, deep=True, wanted=goal.path, near=near)


def of_question(causes: Callable[[Asked], list[Found]], asked: Asked | None) -> list[Found]:
    """What is wrong with the question itself, where it is to be examined."""
    return [] if asked is None else causes(asked)


def _shown(few: Sequence[Fix], of_chunks: Sequence[Fix]) -> Sequence[Fix]:
    """The best few fixes, and every size of chunks that works, since somebody has waited for these."""
    return sorted([*few, *of_chunks], key=lambda one: one.collateral) if of_chunks else few


def _few(fixes: Sequence[Fix]) -> list[Fix]:
    """The best fixes, with the best one of each group and the best key of the file of settings among them."""
    needed: dict[object, int] = {}
    for number, one in enumerate(fixes):
        for what in (one.group, *(["key"] if one.is_key else [])):
            needed.setdefault(what, number)
    numbers = list(dict.fromkeys([*needed.values(), *range(len(fixes))]))[:MOST_FIXES]
    return [fixes[number] for number in sorted(numbers)]


def _corrected(fixes: Sequence[Fix]) -> list[Fix]:
    """The fixes with their p values corrected for the number of fixes that are shown (Holm)."""
    hits = _holm([one.price.hits for one in fixes])
    silence = _holm([one.price.silence for one in fixes])
    return [
        replace(one, price=replace(one.price, hits=hit, silence=silent))
        for one, hit, silent in zip(fixes, hits, silence, strict=True)
    ]


def _holm(verdicts: Sequence[Paired | None]) -> list[Paired | None]:
    known = [one for one in verdicts if one is not None]
    return [*corrected(known)] if len(known) == len(verdicts) else list(verdicts)


def _wanted(target: str, trace: Trace) -> Goal:
    paths = trace.paths()
    if paths[:1] == [target]:
        raise InputError(
            f"{target} is already the first file in the answer of {trace.system}.",
            "Ask why another file came in: give that as the unwanted one (--unwanted FILE).",
        )
    return Goal(target, Aim.FIRST if target in paths else Aim.IN)


def _kept_out(unwanted: str, trace: Trace) -> Goal:
    if unwanted not in trace.paths():
        raise InputError(
            f"{unwanted} is not in the answer of {trace.system}, so nothing has to keep it out.",
            "Name a file of the answer: workbench search QUESTION lists them.",
        )
    return Goal(unwanted, Aim.OUT)

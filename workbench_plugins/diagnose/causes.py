"""Causes: the smallest sets of repairs that change the answer as wanted."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, groupby, islice
from textwrap import shorten
from typing import Any, TypeVar

import numpy as np

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.edits import edited
from workbench.measure.reruns import Reruns
from workbench.records import Candidate, DropKind, Trace
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.explain import Explanation, Verdict, explain, steps
from workbench.retrieval.legs import LegRank, legs_of
from workbench.retrieval.own_stages import is_own, place_of
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.scope import Scope
from workbench.safe_text import counted
from workbench_plugins.diagnose.fixes import lets_all, silences
from workbench_plugins.diagnose.parameters import Aim, Goal, settings_between
from workbench_plugins.diagnose.prices import Marks, Prices
from workbench_plugins.diagnose.repairs import SCORE, Repair, combined, repairs
from workbench_plugins.diagnose.stage_settings import content_of, short_settings
from workbench_plugins.diagnose.suspects import Suspects, drops_all, early_text, scales_apart, suspects

Thing = TypeVar("Thing")


MOST_TRIED = 800
"""The largest number of sets of one size that are tried. Then a large set is made smaller, one by one."""

MOST_CAUSES = 4
FEW = 3
"""To order many repairs, every third question is asked; the shown ones are asked all questions."""


@dataclass(frozen=True)
class Cause:
    """What keeps the answer from being as wanted: where it is, in words, and the evidence.

    `where` are slots of the pipeline, or `question`, `note`, `index`, `vectors`, `ids` or `chunk`. `repair`
    says what changes the answer; with `verified`, this has been run, and with `refuted` it has been run and
    does not suffice. `parameters` are the settings that make the repair, as `--set` takes them, if there are
    such. `after` is what the repaired pipeline makes of the questions. A `certain` cause is seen in the index
    or the folder, whether or not its repair was run. One that `lowers` is a stage that takes most of the
    file's score. The description of a `plain` one says what a known stage does, and nothing of this question;
    where it was replaced by what that does to this question, `stage` has it.
    """

    where: tuple[str, ...]
    description: str
    repair: str
    evidence: str
    verified: bool
    repairs: tuple[Repair, ...] = field(default=(), repr=False)
    after: Marks | None = field(default=None, repr=False)
    parameters: tuple[str, ...] = ()
    refuted: bool = False
    certain: bool = False
    lowers: bool = False
    plain: bool = False
    stage: str = ""

    def as_json(self) -> dict[str, Any]:
        """The cause in the form that docs/commands.md describes."""
        return {
            "where": list(self.where),
            "parameters": list(self.parameters),
            "says": self.description,
            "repair": self.repair,
            "evidence": f"{self.evidence} {self.stage}".strip(),
            "verified": self.verified,
            "hits_after": self.after.hits if self.after else None,
            "silent_after": self.after.silences if self.after else None,
        }


def causes_inside(every: Sequence[Repair], runs: Reruns, goal: Goal, prices: Prices) -> list[Cause]:
    """The causes in the pipeline's own stages, the likeliest first; empty if no set of `every` repair helps.

    Each is enough alone. A setting with which the pipeline differs from the system of its name comes first,
    then what no known system has, then a difference from the nearest system, then known repairs, then longer
    answers, and last removals. Among equals, the order is by how right the repaired pipeline's answers are
    over all questions: the repair of a fault helps other questions too, while a way around it costs some.
    """
    pipeline = runs.pipeline

    def works(some: Sequence[Repair]) -> bool:
        return _works(pipeline, some, runs, goal)

    found: list[tuple[Repair, ...]] = [(one,) for one in every if works([one])]
    found = found or smallest([one for one in every if one.removes or one.change], works)
    found = found or smallest([one for one in every if one.opens], works)
    yours = [one for one in every if one.own and not one.loosens]
    if not any((one,) in found for one in yours):
        found += smallest(yours, works)[:1]
    lowered = {some[0].slot for some in found if _lowers(some, runs, goal)}
    suspected = suspects(runs, prices.traces, goal).with_lowered(lowered)
    if suspected.odd and not any(one.slot in suspected.odd for some in found for one in some):
        found += _with_odd(every, suspected.odd, works)
    by_where: dict[tuple[str, ...], Sequence[Repair]] = {}
    for some in _likeliest(found, runs, goal, prices, FEW, suspected):
        by_where.setdefault(tuple(one.slot for one in some), some)
        if len(by_where) == 2 * MOST_CAUSES:
            break
    best = islice(_likeliest(by_where.values(), runs, goal, prices, 1, suspected), MOST_CAUSES)
    return [_cause(some, suspected, runs, goal, prices) for some in best]


MUCH = 2
"""A stage that divides the score of a file by so much is a suspect of its own."""


def _lowers(some: Sequence[Repair], runs: Reruns, goal: Goal) -> str:
    """A sentence for a single repair that gives the file much more of its score; empty if it does not.

    Such a stage writes a factor, as a decay does: it is no leg's score, no fusion and no cut.
    """
    pipeline, slot = runs.pipeline, some[0].slot
    stage = next((one for one in pipeline.stages if one.slot == slot), None)
    if goal.aim is not Aim.IN or len(some) > 1 or not _is_factor(stage):
        return ""
    traces = (runs.base, runs.trace(combined(pipeline, some)))
    before, after = (_best_score(one, goal.path) for one in traces)
    if not 0 < MUCH * before <= after:
        return ""
    return f" (this file scores {before:.3f}, and {after:.3f} with the change “{some[0].name}”)"


def _is_factor(stage: Any) -> bool:
    return isinstance(stage, ColumnStage) and not stage.output.endswith(SCORE)


def _best_score(trace: Trace, path: str) -> float:
    """The best fused score of a file; NaN if it has none."""
    scores = trace.columns.get(SCORE, np.empty(0))
    own = [score for score, chunk in zip(scores, trace.chunks, strict=False) if chunk.path == path]
    return max(own, default=math.nan)


LETS_IN = ": it drops nothing of this file, and lets through what stands before it"


def repaired_slots(cause: Cause) -> tuple[str, ...]:
    """Where the repairs of a cause change the pipeline: in its own slots, or else where their edits are."""
    found: dict[str, None] = {}
    for one in cause.repairs:
        edited_slots = [edit.slot for edit in one.edits]
        found |= dict.fromkeys([one.slot] if one.slot in edited_slots else edited_slots)
    return tuple(found) or cause.where


def _with_odd(
    every: Sequence[Repair], odd: Collection[str], works: Callable[[Sequence[Repair]], bool]
) -> list[tuple[Repair, ...]]:
    """The pairs that work of a repair where a stage behaves as a fault does, and another one."""
    faults = [one for one in every if one.slot in odd and not one.removes]
    pairs = [(one, other) for one in faults for other in every if other.slot not in odd]
    return [one for one in pairs[:MOST_TRIED] if works(one)]


def is_yours(cause: Cause) -> bool:
    """Whether a cause is a setting of the user, or several, without which the system's own value works.

    A lower limit is none: it cuts any answer, whatever else is at fault.
    """
    return bool(cause.repairs) and all(one.own and not one.loosens for one in cause.repairs)


def _works(pipeline: Pipeline, some: Sequence[Repair], runs: Reruns, goal: Goal) -> bool:
    if len({one.slot for one in some}) < len(some):
        return False
    try:
        repaired = combined(pipeline, some)
        after = _trace(repaired, some, runs) if any(legs_of(repaired.stages)) else None
        return after is not None and goal.reached(after) and not silences(runs.base, after)
    except InputError:
        return False


def _trace(repaired: Pipeline, some: Sequence[Repair], runs: Reruns) -> Trace:
    return (runs.at_same_depth if _removes(some) else runs.trace)(repaired)


def _removes(some: Sequence[Repair]) -> bool:
    return any(one.removes for one in some)


def _likeliest(
    sets: Iterable[Sequence[Repair]],
    runs: Reruns,
    goal: Goal,
    prices: Prices,
    every: int,
    suspected: Suspects,
) -> Iterator[Sequence[Repair]]:
    """Sets of repairs, the likeliest first. The questions are asked only to order sets that are alike."""

    def kind(some: Sequence[Repair]) -> tuple[int, ...]:
        after = _trace(combined(runs.pipeline, some), some, runs)
        return _kind(some, suspected, lets_all(runs.base, after, goal))

    for _, alike in groupby(sorted(sets, key=kind), kind):
        some = list(alike)
        if len(some) > 1:
            some.sort(key=lambda one: _helpful(runs.pipeline, one, prices, every))
        yield from some


def _kind(some: Sequence[Repair], suspected: Suspects, blinds: bool) -> tuple[int, ...]:
    """What kind of repairs a set has, the likeliest kind first.

    A set that `blinds` lets every candidate through, or gives all the same score: that mends no fault.

    A stage that behaves as a fault does is the likeliest, after a setting of the user. A removal and a longer
    answer show where the file is lost, but they also let everything else through. What no known system has is
    a likelier fault than what one ships, and a slot in which the file is lost than another one. A floor
    that does not drop the file is no cause of its own: a higher one only drops what stands before the file.
    """
    return (
        sum(one.slot in suspected.lets_in and not one.own for one in some) if len(some) == 1 else 0,
        sum(one.removes and one.slot not in suspected.odd for one in some),
        not all(one.own for one in some),
        not any(one.slot in suspected.odd for one in some),
        blinds,
        sum(one.slot not in suspected.odd for one in some),
        sum(one.usual for one in some),
        sum(not one.restores for one in some),
        sum(one.loosens for one in some),
        sum(one.slot not in suspected.lost for one in some),
        sum(one.removes for one in some),
    )


def _helpful(pipeline: Pipeline, some: Sequence[Repair], prices: Prices, every: int) -> tuple[float, int]:
    """Where a set of repairs stands among those of its kind: the most right answers first."""
    slots = {"layout", *(stage.slot for stage in pipeline.stages)}
    marks = prices.marks(combined(pipeline, some), same_depth=_removes(some), every=every)
    return -round(marks.right, 12), sum(one.slot not in slots for one in some)


def _cause(some: Sequence[Repair], suspected: Suspects, runs: Reruns, goal: Goal, prices: Prices) -> Cause:
    pipeline = runs.pipeline
    repaired = combined(pipeline, some)
    after = _trace(repaired, some, runs)
    told = [evidence(runs.base, after, runs.index, goal.path, one.slot) for one in some]
    says = _state(some, suspected, runs, goal, prices)
    return Cause(
        tuple(one.slot for one in some),
        says,
        " and ".join(_repair_text(pipeline, one) for one in some),
        " ".join(dict.fromkeys(told)),
        verified=goal.reached(after),
        repairs=tuple(some),
        after=prices.marks(repaired, same_depth=_removes(some)),
        parameters=short_settings(runs, goal, repaired)[0],
        lowers=len(some) == 1 and some[0].slot in suspected.lowered,
        plain=_is_plain(says, some, runs),
    )


def _repair_text(pipeline: Pipeline, repair: Repair) -> str:
    if repair.removes or repair.moves:
        return f"{repair.name}: {repair.why}"
    told = repair.edits[0].description
    same = told == _stage_text(pipeline, repair.slot) and repair.edits[0].content is not None
    return f"{repair.name}: {repair.edits[0].content!r}" if same else f"{repair.name}: {told}"


TWO_LINES = 160
"""The number of letters that fill two lines of a usual terminal."""

MOST_OF_A_STAGE = 100
"""The number of letters of a stage's words that leave room for the rest of a cause."""


def _state(some: Sequence[Repair], suspected: Suspects, runs: Reruns, goal: Goal, prices: Prices) -> str:
    """What the pipeline has in the slots of a cause.

    Where that fills more than two lines, a stage that the user has set is told by its words or by the
    settings alone, whichever is shorter, and of any other stage's words the first ones, if more is told.
    """
    lets_in = LETS_IN if len(some) == 1 and some[0].slot in suspected.lets_in else ""

    def told(brief: bool) -> str:
        return "; and ".join(_state_of(one, suspected, runs, goal, prices, brief) for one in some) + lets_in

    whole = told(False)
    fits = len(f"Cause: {whole}") <= TWO_LINES or _is_plain(whole, some, runs)
    return whole if fits else told(True)


def _is_plain(says: str, some: Sequence[Repair], runs: Reruns) -> bool:
    """Whether a sentence says only what known stages do, and how many candidates share a number."""
    stages = stages_text(runs.pipeline, some)
    alike = _alike_text(runs.base, some[0].slot) if len(some) == 1 else ""
    return says in (stages, stages + alike) and all(one.usual for one in some)


def stages_text(pipeline: Pipeline, some: Sequence[Repair]) -> str:
    """The stages in the slots of a cause, in their own words."""
    return "; and ".join(in_slot(one.slot, _stage_text(pipeline, one.slot)) for one in some)


def _state_of(
    repair: Repair, suspected: Suspects, runs: Reruns, goal: Goal, prices: Prices, brief: bool
) -> str:
    pipeline, slot = runs.pipeline, repair.slot
    usual, settings = _difference(pipeline, repair)
    how = f"by {', '.join(settings)}" if settings else f"in {slot.replace('_', ' ')}"
    differs = f"differs from {usual} {how}" if usual else ""
    facts = (
        _missed(runs.base, goal.path, slot)
        + ("" if repair.now else _beyond_text(runs, goal, slot))
        + early_text(runs.base, slot)
        + _own(pipeline, slot, suspected.ways)
        + (f", with {repair.now}: it does not list this file" if repair.now else "")
        + ("" if repair.now else _empty_text(runs.base, slot))
        + scales_apart(runs.base, slot)
        + (_lowers((repair,), runs, goal) if slot in suspected.lowered else _alike_text(runs.base, slot))
        + (_above_all(prices) if slot == "floor" else "")
    )
    stage = _stage_text(pipeline, slot)
    if brief and settings:
        return in_slot(slot, min(stage, differs, key=len) + facts)
    if brief:
        stage = shorten(stage, MOST_OF_A_STAGE, placeholder=" …")
    return in_slot(slot, f"{stage}{facts}{'; ' if differs else ''}{differs}")


def _empty_text(trace: Trace, slot: str) -> str:
    """A remark for the slot of a leg that brings nothing; empty for any other slot."""
    legs = [one.name for one in legs_of(trace.stages) if one.slot == slot]
    silent = [name for name in legs if name in trace.legs and not trace.legs[name].hits.rows.size]
    return " (here it brings nothing)" if silent else ""


def _alike_text(trace: Trace, slot: str) -> str:
    """A remark for a part of the score of which several candidates have the highest value, as if clamped."""
    stage: Any = next((one for one in trace.stages if one.slot == slot), None)
    if not isinstance(stage, ColumnStage) or stage.output == SCORE:
        return ""
    scores = trace.columns.get(stage.output, np.empty(0))
    scores = scores[~np.isnan(scores)]
    alike = int(np.count_nonzero(scores == scores.max())) if scores.size else 0
    return (
        f" ({alike} candidates share the highest one, {scores.max():.4g})" if 1 < alike < scores.size else ""
    )


def in_slot(slot: str, text: str) -> str:
    """A text with the name of its slot before it, if it does not begin so itself."""
    name = slot.replace("_", " ")
    return text if text.startswith(name) else f"{name}: {text}"


def _difference(pipeline: Pipeline, repair: Repair) -> tuple[str, Sequence[str]]:
    """The system from which the pipeline differs in the slot of a repair, and the user's settings there.

    It is the difference that the repair undoes, or else the user's own one in its slot; empty for none.
    """
    of_user = (one for one in repairs(pipeline) if one.own and one.slot == repair.slot)
    undone = repair if repair.restores else next(of_user, None)
    if undone is None:
        return "", ()
    return undone.restores, settings_between(edited(pipeline, undone.edits), pipeline) if undone.own else ()


def _stage_text(pipeline: Pipeline, slot: str) -> str:
    """The stage that the pipeline has in a slot, in its own words."""
    if slot == "layout":
        return f"layout: {pipeline.layout.description if pipeline.layout else 'the index as it is'}"
    stage = content_of(pipeline, slot)
    return f"there is no {slot}" if stage is None else stage.description


def _own(pipeline: Pipeline, slot: str, ways: Mapping[str, str]) -> str:
    """Where a stage of one's own is written, and what it does as a fault does."""
    stage = next((one for one in pipeline.stages if one.slot == slot), None)
    if stage is None or not is_own(stage):
        return ""
    place = place_of(stage)
    return (f" ({place})" if place else "") + (f": {ways[slot]}" if slot in ways else "")


def _missed(trace: Trace, path: str, slot: str) -> str:
    """What the best chunk of a file has, where a floor or a limit in this slot drops it."""
    best = next((one for one in trace.candidates if one.chunk.path == path), None)
    if best is None or best.drop is None or best.drop.stage.slot != slot:
        return ""
    if best.drop.kind not in (DropKind.FLOOR, DropKind.LEG_FLOOR, DropKind.LIMIT):
        return ""  # other stages compare numbers of their own
    misses = best.drop.misses
    names = [f"{one.measure} " if len(misses) > 1 else "" for one in misses]
    told = [f"{name}{one.shown}" for name, one in zip(names, misses, strict=True)]
    return f" ({_whose(trace, best)}: {', '.join(told)})"


def _beyond_text(runs: Reruns, goal: Goal, slot: str) -> str:
    """The rank of a file that is no candidate in the leg of a slot; empty for another slot or file."""
    trace = runs.base
    legs = [one.name for one in legs_of(trace.stages) if one.slot == slot]
    if not legs or any(one.path == goal.path for one in trace.chunks):
        return ""
    verdicts = explain(trace, runs.index, goal.path).verdicts[:1]
    ranks = [
        one.rank for two in verdicts for one in two.leg_ranks if one.leg in legs and one.rank is not None
    ]
    return f" (this file: rank {ranks[0]})" if ranks else ""


def _whose(trace: Trace, best: Candidate) -> str:
    """Whose the numbers are with which a candidate misses: its file's, or all candidates' alike."""
    cutoff = trace.cutoffs.get(trace.stage_number(best.drop.stage)) if best.drop else None
    values = [one.values for one in cutoff.thresholds] if cutoff else []
    alike = all(np.unique(one[~np.isnan(one)]).size == 1 for one in values)
    return "the whole answer" if values and alike and trace.rows.size > 1 else "this file"


def _above_all(prices: Prices) -> str:
    """A remark for a floor above the best score of every question, which drops whatever is found."""
    best = drops_all(prices.traces)
    if best is None:
        return ""
    asked = "" if prices.alone else f" of {counted(len(prices.questions), 'other question')}"
    return f", above every score: the best{asked} is {best:.3g}, so it drops everything"


# The arithmetic behind a cause


def evidence(before: Trace, after: Trace, index: Index, target: str, slot: str) -> str:
    """What the stage in `slot` did with the best chunk of a file now, and what comes of it when repaired."""
    now, then = (explain(trace, index, target) for trace in (before, after))
    if not now.verdicts or not then.verdicts:
        return f"now {now.fate}, repaired {then.fate}"
    chunk = then.verdicts[0].chunk
    mine = next((one for one in now.verdicts if one.chunk.id == chunk.id), now.verdicts[0])
    told = f"{mine.chunk.location}: {_fate_text(now, mine, slot)}"
    return f"{told}. Repaired: {_fate_text(then, then.verdicts[0], slot)}, {_outcome(then)}."


def _fate_text(explanation: Explanation, verdict: Verdict, slot: str) -> str:
    """The lines about one chunk that belong to a slot; if there are none, its fate."""
    trace = explanation.trace
    legs = [one.line(trace.legs[one.leg].asked) for one in verdict.leg_ranks if _concerns(one, slot)]
    if verdict.candidate is None:
        return "; ".join(legs) or str(verdict.fate)
    columns = {name for stage in trace.stages if stage.slot == slot for name in stage.writes()}
    made = steps(trace, trace.chunks.index(verdict.chunk))
    formulas = [str(one) for one in made if one.column in {*columns, trace.ranked_by}]
    cut = [verdict.candidate.reason] if verdict.candidate.drop else []
    return "; ".join([*legs, *formulas, *cut])


def _concerns(leg_rank: LegRank, slot: str) -> bool:
    """Whether a slot decides what a leg brings: its own, the query's, the layout's or the scope's."""
    if slot == Scope.slot:
        return leg_rank.rank is not None
    return slot == f"{leg_rank.leg}_leg" or (slot in ("query", "layout") and leg_rank.leg != "vector")


def _outcome(explanation: Explanation) -> str:
    paths = explanation.trace.paths()
    if explanation.target not in paths:
        return f"{explanation.fate}"
    return f"file {1 + paths.index(explanation.target)} of {len(paths)} in the answer"


def smallest(things: Sequence[Thing], works: Callable[[Sequence[Thing]], bool]) -> list[tuple[Thing, ...]]:
    """Every single thing or every pair that works, in the order of `things`; empty if none is found.

    A size is tried if it has at most MOST_TRIED sets. If none works, things are left out of all together, one
    by one, until none of the rest can be: one set that is minimal, but perhaps not the smallest.
    """
    for size in (1, 2):
        if math.comb(len(things), size) > MOST_TRIED:
            break
        found = [some for some in combinations(things, size) if works(some)]
        if found:
            return found
    left = tuple(things)
    if not left or not works(left):
        return []
    while (fewer := next(filter(works, combinations(left, len(left) - 1)), ())) != ():
        left = fewer
    return [left]

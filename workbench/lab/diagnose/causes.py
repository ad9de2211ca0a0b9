"""Who lost the file: the smallest sets of stages whose removal or known repair changes the answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, groupby, islice
from typing import TypeVar

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.lab.diagnose.repairs import Repair, combined
from workbench.lab.diagnose.runs import Goal, Reruns
from workbench.lab.diagnose.yardstick import Marks, Yardstick
from workbench.records import Compared, Trace
from workbench.retrieval.explain import Explanation, StageOutcome, Verdict, decisions, explain, steps
from workbench.retrieval.legs import Standing
from workbench.retrieval.pipeline import Pipeline

Thing = TypeVar("Thing")

MOST_TRIED = 800
"""So many sets of one size are tried at most; beyond that a large set is made smaller step by step."""

MOST_CAUSES = 4
FEW = 3
"""To order many repairs, every third question is asked; the shown ones are asked all questions."""


@dataclass(frozen=True)
class Cause:
    """What keeps the answer from being as wanted: where it is, in words, and the evidence.

    `where` are slots of the pipeline, or `index`, `vectors` or `chunk`. `repair` says what changes the
    answer; with `verified`, this has been run. `after` is what the repaired pipeline makes of the questions.
    """

    where: tuple[str, ...]
    says: str
    repair: str
    evidence: str
    verified: bool
    repairs: tuple[Repair, ...] = field(default=(), repr=False)
    after: Marks | None = field(default=None, repr=False)


def causes_inside(
    every: Sequence[Repair], runs: Reruns, goal: Goal, yardstick: Yardstick, index: Index
) -> list[Cause]:
    """The causes in the pipeline's own stages, the likeliest first; empty if no set of `every` repair helps.

    Each is enough alone. A setting with which the pipeline differs from the system of its name comes first,
    then what no known system has, then a difference from the nearest system, then known repairs, then longer
    answers, and last removals. Among equals, the order is by how right the repaired pipeline's answers are
    over all questions: the repair of a fault helps other questions too, while a way around it costs some.
    """
    pipeline = runs.pipeline
    found = [(one,) for one in every if _works(pipeline, [one], runs, goal)] or smallest(
        [one for one in every if one.removes or one.change], lambda some: _works(pipeline, some, runs, goal)
    )
    by_where: dict[tuple[str, ...], Sequence[Repair]] = {}
    for some in _likeliest(found, pipeline, yardstick, FEW):
        by_where.setdefault(tuple(one.slot for one in some), some)
        if len(by_where) == 2 * MOST_CAUSES:
            break
    best = islice(_likeliest(by_where.values(), pipeline, yardstick, 1), MOST_CAUSES)
    return [_cause(pipeline, some, runs, goal, yardstick, index) for some in best]


def _works(pipeline: Pipeline, some: Sequence[Repair], runs: Reruns, goal: Goal) -> bool:
    if len({one.slot for one in some}) < len(some):
        return False
    try:
        return goal.reached(_trace(combined(pipeline, some), some, runs))
    except InputError:
        return False


def _trace(repaired: Pipeline, some: Sequence[Repair], runs: Reruns) -> Trace:
    return (runs.at_same_depth if _removes(some) else runs.trace)(repaired)


def _removes(some: Sequence[Repair]) -> bool:
    return any(one.removes for one in some)


def _likeliest(
    sets: Iterable[Sequence[Repair]], pipeline: Pipeline, yardstick: Yardstick, every: int
) -> Iterator[Sequence[Repair]]:
    """Sets of repairs, the likeliest first. The questions are asked only to order sets that are alike."""
    for _, alike in groupby(sorted(sets, key=_kind), _kind):
        some = list(alike)
        if len(some) > 1:
            some.sort(key=lambda one: _helpful(pipeline, one, yardstick, every))
        yield from some


def _kind(some: Sequence[Repair]) -> tuple[int, ...]:
    """What kind of repairs a set has, the likeliest kind first.

    A removal and a longer answer show where the file is lost, but they also let everything else through. A
    setting of the user, and one that no known system has, are likelier faults than one that a system ships.
    """
    return (
        sum(one.removes for one in some),
        sum(not one.own for one in some),
        sum(one.usual for one in some),
        sum(not one.restores for one in some),
        sum(one.loosens for one in some),
    )


def _helpful(
    pipeline: Pipeline, some: Sequence[Repair], yardstick: Yardstick, every: int
) -> tuple[float, int]:
    """Where a set of repairs stands among those of its kind: the most right answers first."""
    slots = {"layout", *(stage.slot for stage in pipeline.stages)}
    marks = yardstick.marks(combined(pipeline, some), same_depth=_removes(some), every=every)
    return -round(marks.right, 12), sum(one.slot not in slots for one in some)


def _cause(
    pipeline: Pipeline,
    some: Sequence[Repair],
    runs: Reruns,
    goal: Goal,
    yardstick: Yardstick,
    index: Index,
) -> Cause:
    repaired = combined(pipeline, some)
    after = _trace(repaired, some, runs)
    told = [evidence(runs.base, after, index, goal.path, one.slot) for one in some]
    return Cause(
        tuple(one.slot for one in some),
        "; and ".join(_says(pipeline, one.slot) + _differs(one) for one in some),
        " and ".join(_repair_text(one) for one in some),
        " ".join(dict.fromkeys(told)),
        verified=goal.reached(after),
        repairs=tuple(some),
        after=yardstick.marks(repaired, same_depth=_removes(some)),
    )


def _repair_text(repair: Repair) -> str:
    if repair.removes:
        return f"{repair.name}: {repair.why}"
    return f"{repair.name}: {repair.edits[0].says}"


def _differs(repair: Repair) -> str:
    """For a repair that undoes a difference: from which system the pipeline differs, and in what."""
    return f"; differs from {repair.restores} in {repair.slot.replace('_', ' ')}" if repair.restores else ""


def _says(pipeline: Pipeline, slot: str) -> str:
    """The stage that the pipeline has in a slot, in its own words."""
    if slot == "layout":
        return f"layout: {pipeline.layout.says if pipeline.layout else 'the index as it is'}"
    return next((stage.says for stage in pipeline.stages if stage.slot == slot), f"there is no {slot}")


# The arithmetic behind a cause


def evidence(before: Trace, after: Trace, index: Index, target: str, slot: str) -> str:
    """What the stage in `slot` did with the best chunk of a file now, and what comes of it when repaired."""
    now, then = (explain(trace, index, target) for trace in (before, after))
    if not now.verdicts or not then.verdicts:
        return f"now {now.fate}, repaired {then.fate}"
    chunk = then.verdicts[0].chunk
    mine = next((one for one in now.verdicts if one.chunk.id == chunk.id), now.verdicts[0])
    told = f"{mine.chunk.place}: {_told(now, mine, slot)}"
    return f"{told}. Repaired: {_told(then, then.verdicts[0], slot)}, {_outcome(then)}."


def _told(explanation: Explanation, verdict: Verdict, slot: str) -> str:
    """The lines about one chunk that belong to a slot; if there are none, its ranks in the legs."""
    trace = explanation.trace
    legs = [f"{one.leg} leg: {_standing(one)}" for one in verdict.standings if _concerns(one, slot)]
    if verdict.candidate is None:
        return "; ".join(legs) or str(verdict.fate)
    row = trace.chunks.index(verdict.chunk)
    columns = [name for stage in trace.stages if stage.slot == slot for name in stage.writes()]
    wanted = {*columns, trace.ranked_by}
    made = [
        f"{one.column.replace('_', ' ')} = {one.formula} = {float(one.formula):.6g}"
        for one in steps(trace, row)
        if one.column in wanted
    ]
    cut = [
        f"{' and '.join(map(_compared, one.compared))}: dropped"
        for one in decisions(trace, row)
        if one.outcome is StageOutcome.DROPPED
    ]
    return "; ".join([*legs, *made, *cut])


def _concerns(standing: Standing, slot: str) -> bool:
    """Whether a slot decides what a leg brings: its own, the query's, the layout's or the limit's."""
    return slot == f"{standing.leg}_leg" or (slot in ("query", "layout") and standing.leg != "vector")


def _standing(standing: Standing) -> str:
    lacks = ", ".join(f"“{word}”" for word in standing.missing)
    without = f", it lacks {lacks}" if lacks else ""
    if standing.rank is None:
        return f"no match{without}"
    beyond = "" if standing.brought else f", beyond its depth of {standing.depth}"
    return f"rank {standing.rank} of {standing.matched}{beyond}{without}"


def _compared(one: Compared) -> str:
    if not isinstance(one.value, str) and math.isnan(one.value):
        return f"{one.measure} is absent"
    value = one.value if isinstance(one.value, str) else f"{one.value:.6g}"
    limit = one.limit if isinstance(one.limit, str) else f"{one.limit:.6g}"
    sign = {(True, True): "≤", (False, True): ">", (True, False): "≥", (False, False): "<"}
    return f"{one.measure} {value} {sign[one.reached, one.at_most]} {limit}"


def _outcome(explanation: Explanation) -> str:
    paths = explanation.trace.paths()
    if explanation.target not in paths:
        return f"{explanation.fate}"
    return f"file {1 + paths.index(explanation.target)} of {len(paths)} in the answer"


# Delta debugging


def smallest(
    things: Sequence[Thing], works: Callable[[Sequence[Thing]], bool], largest: int = 2
) -> list[tuple[Thing, ...]]:
    """Every set of the smallest size that works, in the order of `things`; empty if none is found.

    Sets of up to `largest` things are tried size by size, as long as a size has at most MOST_TRIED sets.
    Beyond that, all things together are reduced until no single one can be left out (Zeller's ddmin), which
    finds one set that is minimal, but perhaps not the smallest.
    """
    for size in range(1, largest + 1):
        if math.comb(len(things), size) > MOST_TRIED:
            break
        found = [some for some in combinations(things, size) if works(some)]
        if found:
            return found
    reduced = minimal(things, works)
    return [] if reduced is None else [tuple(reduced)]


def minimal(things: Sequence[Thing], works: Callable[[Sequence[Thing]], bool]) -> list[Thing] | None:
    """A part of `things` that works and of which nothing can be left out; None if all together do not work.

    Source: Zeller and Hildebrandt, Simplifying and isolating failure-inducing input, 2002: ddmin.
    """
    left = list(things)
    if not left or not works(left):
        return None
    parts = 2
    while len(left) > 1:
        size = -(-len(left) // parts)
        cut = [left[start : start + size] for start in range(0, len(left), size)]
        without = [[one for other in cut if other is not part for one in other] for part in cut]
        smaller = next((some for some in (*cut, *without) if len(some) < len(left) and works(some)), None)
        if smaller is not None:
            parts = 2 if smaller in cut else max(2, parts - 1)
            left = smaller
        elif parts >= len(left):
            break
        else:
            parts = min(len(left), 2 * parts)
    return left

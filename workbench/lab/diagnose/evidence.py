"""The arithmetic behind a cause: what a stage did with a file before and after a repair."""

from __future__ import annotations

import math

from workbench.contracts import Index
from workbench.records import Compared, Trace
from workbench.retrieval.explain import Explanation, StageOutcome, Verdict, decisions, explain, steps
from workbench.retrieval.legs import Standing


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

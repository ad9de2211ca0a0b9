"""Where nothing is at fault: another file scores higher, perhaps by weights that were fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from workbench.measure.reruns import Reruns
from workbench.records import KEPT, Trace, first_of
from workbench.retrieval.columns import Columns
from workbench.retrieval.explain import column_name
from workbench.retrieval.fusion import WeightedSum
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.parameters import Aim, Goal
from workbench_plugins.diagnose.repairs import SCORE, fitted_slots

REPAIR = "ask with more of the words that the file has"
FITTED = "The weights were fitted to many questions, and one is no reason to change them"


def outscored(runs: Reruns, goal: Goal, inside: Sequence[Cause]) -> list[Cause]:
    """The cause that another file scores higher; none where a known repair makes the wanted file the first.

    Only for a fitted weighted sum that orders the answer. Taking a stage away is no repair of it.
    """
    trace = runs.base
    fusion = first_of(runs.pipeline.stages, WeightedSum)
    if fusion is None or fusion.slot not in fitted_slots(runs.pipeline) or trace.ranked_by != SCORE:
        return []
    if any(not one.removes for one in (inside[0].repairs if inside else ())):
        return []
    parts = {leg: np.nan_to_num(fusion.part(Columns(trace.columns), leg)) for leg in fusion.legs}
    found = []
    for cause in higher(runs, goal):
        first, mine = _two(trace, goal)
        leads = {leg: part[first] - part[mine] for leg, part in parts.items()}
        most = max(leads, key=leads.__getitem__)
        lead = f"its largest lead is in the {fusion.score_name(most)}: {leads[most]:.3g} of the score"
        found.append(replace(cause, repair=f"{REPAIR}. {FITTED}", evidence=f"{lead}; {cause.evidence}"))
    return found


def higher(runs: Reruns, goal: Goal) -> list[Cause]:
    """The cause that another file is before the wanted one, by the numbers that order the answer."""
    trace = runs.base
    writer = next((one.slot for one in runs.pipeline.stages if trace.ranked_by in one.writes()), "")
    if goal.aim is not Aim.FIRST or not writer:
        return []
    first, mine = _two(trace, goal)
    one, other = float(trace.scores[first]), float(trace.scores[mine])
    if not one > other:  # another stage orders the answer
        return []
    name = "scores" if trace.ranked_by == SCORE else f"has a {column_name(trace.ranked_by, trace.names)} of"
    says = f"{trace.chunks[first].path} {name} {one:.4g}, and this file {other:.4g}"
    return [Cause((writer,), says, REPAIR, f"the whole difference is {one - other:.3g}", verified=False)]


def _two(trace: Trace, goal: Goal) -> tuple[int, int]:
    """The rows of the first result, and of the first one of the wanted file."""
    returned = trace.order[trace.dropped[trace.order] == KEPT].tolist()
    return returned[0], next(row for row in returned if trace.chunks[row].path == goal.path)

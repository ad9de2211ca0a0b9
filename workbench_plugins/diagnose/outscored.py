"""Where nothing is at fault: another file scores higher with weights that were fitted to many questions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.measure.blame import Reruns
from workbench.records import KEPT
from workbench.retrieval.columns import Columns
from workbench.retrieval.fusion import WeightedSum
from workbench_plugins.diagnose.causes import SCORE, Cause, fitted_slots
from workbench_plugins.diagnose.parameters import Aim, Goal

REPAIR = (
    "ask with more of the words that the file has. The weights were fitted to many questions, and one is no "
    "reason to change them"
)


def outscored(runs: Reruns, goal: Goal, inside: Sequence[Cause]) -> list[Cause]:
    """The cause that another file scores higher; none where a known repair makes the wanted file the first.

    Only for a fitted weighted sum that orders the answer. Taking a stage away is no repair of it.
    """
    trace = runs.base
    fusion = next((one for one in runs.pipeline.stages if isinstance(one, WeightedSum)), None)
    if fusion is None or fusion.slot not in fitted_slots(runs.pipeline) or trace.ranked_by != SCORE:
        return []
    repaired = any(not one.removes for one in (inside[0].repairs if inside else ()))
    if goal.aim is not Aim.FIRST or repaired:
        return []
    returned = trace.order[trace.dropped[trace.order] == KEPT]
    first, mine = returned[0], next(row for row in returned if trace.chunks[row].path == goal.path)
    difference = trace.scores[first] - trace.scores[mine]
    if difference == 0:
        return []
    parts = {leg: np.nan_to_num(fusion.part(Columns(trace.columns), leg)) for leg in fusion.legs}
    leads = {leg: part[first] - part[mine] for leg, part in parts.items()}
    most = max(leads, key=leads.__getitem__)
    return [
        Cause(
            (fusion.slot,),
            f"{trace.chunks[first].path} scores {trace.scores[first]:.4g}, "
            f"and this file {trace.scores[mine]:.4g}",
            REPAIR,
            f"its largest lead is in the {fusion.score_name(most)}: {leads[most]:.3g} of the score; "
            f"the whole difference is {difference:.3g}",
            verified=False,
        )
    ]

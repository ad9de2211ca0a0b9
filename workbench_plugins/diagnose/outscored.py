"""Where nothing is at fault: another file scores higher with weights that were fitted to many questions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.measure.blame import Reruns
from workbench.records import KEPT
from workbench.retrieval.cutoff import Limit
from workbench.retrieval.fusion import WeightedSum
from workbench_plugins.diagnose.causes import Cause, fitted_slots
from workbench_plugins.diagnose.parameters import Aim, Goal

REPAIR = (
    "ask with more of the words that the file has; the weights were fitted to many questions, and one is no "
    "reason to change them"
)


def outscored(runs: Reruns, goal: Goal, inside: Sequence[Cause]) -> list[Cause]:
    """The cause that another file scores higher; none where a known repair makes the wanted file the first.

    Only for a fitted weighted sum. Taking a leg away is no repair of it.
    """
    fusion = next((one for one in runs.pipeline.stages if isinstance(one, WeightedSum)), None)
    repaired = any(not one.removes for one in (inside[0].repairs if inside else ()))
    if (
        fusion is None
        or fusion.slot not in fitted_slots(runs.pipeline)
        or repaired
        or goal.aim is not Aim.FIRST
    ):
        return []
    trace = runs.base
    kept = (KEPT, *(number for number, one in enumerate(trace.stages) if isinstance(one, Limit)))
    ranked = [int(row) for row in trace.order if trace.dropped[row] in kept]
    mine = next((row for row in ranked if trace.chunks[row].path == goal.path), None)
    scores = trace.scores
    if mine is None or scores[mine] >= scores[ranked[0]]:
        return []
    first = ranked[0]
    ahead = {
        leg: weight * float(np.nan_to_num(trace.columns[f"{leg}_score"])[[first, mine]] @ [1, -1])
        for leg, weight in fusion.weights.items()
    }
    most = max(ahead, key=ahead.__getitem__)
    difference = scores[first] - scores[mine]
    return [
        Cause(
            (fusion.slot,),
            f"{trace.chunks[first].path} scores {scores[first]:.3g}, and this file {scores[mine]:.3g}",
            REPAIR,
            f"its largest lead is in the {fusion.score_name(most)}: {ahead[most]:.3g} of the score; "
            f"the whole difference is {difference:.3g}",
            verified=False,
        )
    ]

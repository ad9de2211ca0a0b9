"""Values of a leg of one's own with which it brings a file that it does not list now."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.measure.edits import Edit
from workbench.measure.reruns import Reruns
from workbench.retrieval.legs import LegStage, legs_of
from workbench.retrieval.own_stages import is_own
from workbench_plugins.diagnose.parameters import (
    Aim,
    Goal,
    Parameter,
    nearest_values,
    parameters_of,
    setting_text,
)
from workbench_plugins.diagnose.repairs import Repair
from workbench_plugins.diagnose.suspects import has


def values_of_own_legs(runs: Reruns, goal: Goal) -> list[Repair]:
    """A repair for each nearest value with which a leg of one's own brings the wanted file.

    Only for a leg that does not list the file at any depth: where it does, its depth is at fault.
    """
    if goal.aim is Aim.OUT:
        return []
    silent = {leg.slot for leg in legs_of(runs.pipeline.stages) if _is_silent(leg, runs, goal)}
    named = ((one.name.partition(".")[0], one) for one in parameters_of(runs.pipeline) if silent)
    return [
        found
        for slot, parameter in named
        if slot in silent
        for found in _of_parameter(slot, parameter, runs, goal)
    ]


def _is_silent(leg: LegStage, runs: Reruns, goal: Goal) -> bool:
    asked = is_own(leg) and leg.name in runs.base.legs
    return asked and not has(leg.every(runs.base, runs.context), runs.context.index.rows_of(goal.path))


def _of_parameter(slot: str, parameter: Parameter, runs: Reruns, goal: Goal) -> Iterator[Repair]:
    name, wanted = parameter.name.partition(".")[2], runs.context.index.rows_of(goal.path)
    for found in nearest_values(parameter, runs, goal):
        changed = parameter.put(found.value)
        leg, legs = changed[slot], runs.trace(changed).legs
        if isinstance(leg, LegStage) and leg.name in legs and has(legs[leg.name].hits, wanted):
            value, now = setting_text(found.value), f"{name} = {setting_text(parameter.now)}"
            yield Repair(slot, f"{name} = {value}", (Edit(slot, leg),), "the leg then brings it", now=now)

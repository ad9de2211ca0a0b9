"""Stages and traces as data, so that another language computes an answer again when a setting moves.

A formula that computes a column, and prints itself, also writes itself: it is run once with names in place of
columns and parameters. `workbench/views/living/pipeline.js` evaluates what this module writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from math import isnan
from typing import Any

import numpy as np

from workbench.errors import InputError
from workbench.records import KEPT, Floats, Stage, Trace
from workbench.retrieval.columns import ColumnStage, Names, parameters
from workbench.retrieval.cutoff import Floor, Limit, Order
from workbench.retrieval.expressions import expression
from workbench.retrieval.legs import LegStage, Union, legs_of
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.settings import with_parameter

MOST = 5_000
"""A page gets so many candidates of a trace at most: the best ones."""


def as_data(value: Any) -> Any:
    """A formula or a number as data: see `Expression.data`."""
    return expression(value).data


def symbolic(stage: Stage, of: Names) -> Stage:
    """The stage with a name in place of each number that a person can set."""
    for name, value in parameters(stage).items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            stage = with_parameter(stage, name, of.parameter(name, value))
    return stage


@singledispatch
def step(_: Any, __: Names) -> dict[str, Any] | None:
    """What a stage does, as data; None for one that cannot be computed from the columns alone.

    A feature registers its own kinds of stages.
    """
    return None


@step.register
def _column(stage: ColumnStage, of: Names) -> dict[str, Any] | None:
    if not _inherits(stage, ColumnStage, "run", "computed"):
        return None
    formula = stage.formula(of)
    return {"column": stage.output, "formula": as_data(formula), "present": stage.present}


@step.register
def _order(stage: Order, of: Names) -> dict[str, Any] | None:
    ties = [name for name in stage.ties if name in of.values]
    return {"by": stage.by, "ties": ties} if _inherits(stage, Order, "run", "rows") else None


@step.register
def _floor(stage: Floor, of: Names) -> dict[str, Any] | None:
    if not _inherits(stage, Floor, "run"):
        return None
    compared = stage.thresholds({name: of[name] for name in of.values})  # type: ignore[misc]
    return {
        "thresholds": [
            {"measure": one.measure, "value": as_data(one.values), "limit": as_data(one.limit)}
            for one in compared
        ]
    }


@step.register
def _limit(stage: Limit, _: Names) -> dict[str, Any] | None:
    return {"count": as_data(stage.count)} if _inherits(stage, Limit, "run") else None


def _inherits(stage: Any, base: type, *names: str) -> bool:
    """Whether a class has these methods as the base has them."""
    return all(getattr(type(stage), name) is getattr(base, name) for name in names)


def first_step(pipeline: Pipeline) -> int:
    """The place of the first stage that works on candidates: what comes before asks the index."""
    kinds = [isinstance(stage, LegStage | Union) for stage in pipeline.stages]
    return len(kinds) - kinds[::-1].index(True) if True in kinds else 0


def exported(pipeline: Pipeline, columns: Mapping[str, Floats]) -> dict[str, Any]:
    """A pipeline as data: its steps from the first that works on candidates, with formulas and parameters.

    `columns` are those of one of its traces. A parameter is `here` if moving it needs nothing but the trace;
    any other must be asked of Python.
    """
    first = first_step(pipeline)
    steps = []
    for number, stage in enumerate(pipeline.stages[first:], first):
        late = {name for one in pipeline.stages[number:] for name in one.writes()}
        late -= set(getattr(stage, "observed", ()))
        known = {name: column for name, column in columns.items() if name not in late}
        steps.append(_step(stage, known) | {"slot": stage.slot, "says": symbolic_description(stage)})
    _mark_parameters(pipeline, first, steps)
    return {"system": pipeline.name, "first": first, "steps": steps}


def symbolic_description(stage: Stage) -> str:
    """What a stage says, with formulas in braces in place of the numbers that can be moved."""
    try:
        return symbolic(stage, Names()).description
    except (InputError, TypeError):
        return stage.description


def _step(stage: Stage, known: Mapping[str, Floats]) -> dict[str, Any]:
    for named in (True, False):
        of = Names(known)
        try:
            found = step(symbolic(stage, of) if named else stage, of)
        except (InputError, TypeError, KeyError):
            continue  # with names in place of its parameters, or at all, this stage has no written form
        if found is not None:
            return found | {"guards": of.guards}
    return {"recorded": list(stage.writes()), "guards": []}


def _mark_parameters(pipeline: Pipeline, first: int, steps: list[dict[str, Any]]) -> None:
    for number, (stage, one) in enumerate(zip(pipeline.stages[first:], steps, strict=True)):
        named = _names(one, "parameter")
        one["parameters"] = {
            name: {
                "value": value,
                "span": stage.ranges.get(name, (0, 1)),
                "here": name in named and _computable(pipeline, first, number, steps),
            }
            for name, value in parameters(stage).items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }


def _computable(pipeline: Pipeline, first: int, number: int, steps: list[dict[str, Any]]) -> bool:
    """Whether no later stage that is only recorded could turn out differently if this one did."""
    legs, stages = legs_of(pipeline.stages), pipeline.stages[first:]
    if "count" in steps[number] and any(leg.deepest(1) != leg.deepest(9999) for leg in legs):
        return False
    moved, decides = set(stages[number].writes()), "column" not in steps[number]
    for stage, one in zip(stages[number + 1 :], steps[number + 1 :], strict=True):
        touched = bool(moved.intersection((*stage.reads(), *stage.may_read())))
        # A stage that says itself what it reads may observe the trace and not only texts.
        observes = bool(getattr(stage, "observed", ())) and not _inherits(stage, ColumnStage, "reads")
        recorded = "recorded" in one
        if (recorded or observes) and (touched or decides or not stage.writes()):
            return False
        decides = decides or not stage.writes()
        if touched:
            moved.update(stage.writes())
    return True


def _names(data: Any, kind: str) -> set[str]:
    """The names of all columns, or of all parameters, in lists and dictionaries."""
    if isinstance(data, Mapping):
        return set().union(*(_names(one, kind) for one in data.values()))
    if not isinstance(data, list | tuple):
        return set()
    if len(data) == 2 and data[0] == kind:
        return {data[1]}
    return set().union(*(_names(one, kind) for one in data))


def read_columns(steps: list[dict[str, Any]]) -> set[str]:
    """The columns that the steps read, and do not compute themselves."""
    computed = {one.get("column") for one in steps}
    read = [{one.get("by"), one.get("present"), *one.get("ties", ())} for one in steps]
    return _names(steps, "column").union(*read) - computed - {None}


def exported_trace(trace: Trace, pipeline_data: Mapping[str, Any]) -> dict[str, Any]:
    """A trace as data for the steps of `exported`.

    Of a trace with more than MOST candidates, it has the best ones alone. Its keys:

    - `question`: the question.
    - `columns`: the columns that the steps read, and the ranks, by name; null for an absent number. A column
      with the same number everywhere is that one number. Absent numbers at a column's end are left out.
    - `ties`: the place of each candidate in the order of the chunk ids.
    - `files`: the file of each candidate.
    - `recorded`: the order and the drops after each step that is only recorded and has changed one of them.
    - `kept`: the row of each candidate in the trace.
    - `cut`: the number of candidates that the trace has, if some are left out; otherwise 0.
    - `spots`: the source and place of each candidate, for pipelines that rescue chunks; otherwise empty.
    """
    steps, cut = pipeline_data["steps"], len(trace.chunks) > MOST
    rows = np.sort(trace.order[:MOST]).tolist()
    computed = {one["column"] for one in steps if cut and "column" in one}
    ranks = {f"{leg}_rank" for leg in trace.legs}
    read = sorted((read_columns(steps) | computed | ranks) & trace.columns.keys())
    recorded = {
        str(number): after
        for number, one in enumerate(steps)
        if "recorded" in one and (after := _after(trace, steps, one["slot"], rows))
    }
    chunks = [trace.chunks[row] for row in rows]
    spots = (
        [f"{one.source} {one.location}" for one in chunks] if any("rescued" in one for one in steps) else []
    )
    return {
        "question": trace.question,
        "columns": {name: _numbers(trace.columns[name][rows]) for name in read},
        "ties": np.argsort(np.argsort(trace.ids[rows])).tolist(),
        "files": [one.path for one in chunks],
        "recorded": recorded,
        "kept": rows,
        "cut": len(trace.chunks) * cut,
        "spots": spots,
    }


def _numbers(column: Floats) -> Any:
    values = column.tolist()
    numbers = [None if isnan(value) else int(value) if value.is_integer() else value for value in values]
    if len(set(numbers)) == 1:
        return numbers[0]
    while numbers and numbers[-1] is None:
        numbers.pop()
    return numbers


def _after(trace: Trace, steps: list[dict[str, Any]], slot: str, rows: list[int]) -> dict[str, Any] | None:
    """The order and the drops after a step; None if it has changed neither."""
    slots = [stage.slot for stage in trace.stages]
    number = slots.index(slot)
    if number >= len(trace.moments):
        return None
    before, after = trace.moments[number - 1], trace.moments[number]
    if np.array_equal(before.order, after.order) and np.array_equal(before.dropped, after.dropped):
        return None
    numbers = {slots.index(one["slot"]): n for n, one in enumerate(steps) if one["slot"] in slots}
    order = [rows.index(one) for one in after.order.tolist() if one in rows]
    return {"order": order, "dropped": [numbers.get(one, KEPT) for one in after.dropped[rows].tolist()]}

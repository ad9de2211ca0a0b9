"""What the living view computes from: evaluations as data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import Any

import numpy as np

from workbench.measure.distributions import axis_name, deciding_floor, is_of_questions
from workbench.measure.evaluation import Evaluation
from workbench.measure.reach import Reach, reaches
from workbench.measure.reliability import diagram_data
from workbench.records import Chunk, Floats, Trace
from workbench.retrieval.cutoff import Floor, MinScore
from workbench.retrieval.formula_export import MOST, exported, exported_trace
from workbench.retrieval.pipeline import Pipeline
from workbench.views.living.as_code import pipeline_code

LEGS = ("keyword", "vector")
LONGEST_WORD = 30
"""A run of more characters without a space is cut: not every language writes spaces."""


@dataclass(frozen=True)
class Axis:
    """The ends of the axis of a system's floor, and the floor's step along it."""

    low: float
    high: float
    step: float


def axis_of(numbers: Floats, limit: float) -> Axis:
    """An axis that covers the numbers and a limit: 0 to 1, wider, or narrower if none is above 0.1."""
    every = np.append(numbers[np.isfinite(numbers)], [0.0, limit if isfinite(limit) else 0.0])
    most = float(every.max())
    unit = 10.0 ** floor(log10(most)) / 2 if most > 0 else 1.0
    high = 1.0 if 0.1 < most <= 1 or most <= 0 else ceil(most / unit) * unit
    low = floor(float(every.min()) / (high / 10)) * (high / 10)
    return Axis(low, high, 10.0 ** (floor(log10(high)) - 2))


class Chunks:
    """The chunks of several traces, each written once, in the order of their ids."""

    def __init__(self, traces: Iterable[Trace]) -> None:
        found = {
            (one := trace.chunks[row]).id: one for trace in traces for row in trace.order[:MOST].tolist()
        }
        ordered = [found[name] for name in sorted(found)]
        self._numbers = {chunk.id: number for number, chunk in enumerate(ordered)}
        self.data = [
            {
                "id": one.id,
                "path": one.path,
                "lines": one.location.removeprefix(one.path),
                "text": _beginning(one),
            }
            for one in ordered
        ]

    def number_of(self, chunk: Chunk) -> int:
        """The place of a chunk in `data`."""
        return self._numbers[chunk.id]


def _beginning(chunk: Chunk) -> str:
    """The snippet of a chunk. Where its text goes on, the last word is whole and an ellipsis follows."""
    snippet = chunk.snippet
    if snippet == chunk.text:
        return snippet
    words, _, last = snippet.rpartition(" ")
    return f"{words if len(last) < LONGEST_WORD else snippet} …"


@dataclass(frozen=True)
class Judged:
    """An evaluation, the axis of its floor, the floor of the system as it is, and what was moved in it."""

    evaluation: Evaluation
    axis: Axis
    own: float
    moved: Mapping[str, float]


def lab_data(judged: Sequence[Judged]) -> dict[str, Any]:
    """The evaluations for the threshold lab."""
    first = judged[0].evaluation
    chunks = Chunks(trace for one in judged for trace in one.evaluation.traces)
    asked = [{"question": one.question.question, "target": one.question.target} for one in first.asked]
    unanswerable = [{"question": trace.question, "target": None} for trace in first.controls]
    systems = [_system(each, chunks) for each in judged]
    seen: dict[str, int] = {}  # systems that differ after their legs have the same traces: written once
    for number, one in enumerate(systems):
        if (same := seen.setdefault(json.dumps(one["traces"]), number)) != number:
            one["traces"] = same
    return {
        "view": "threshold", "questions": [*asked, *unanswerable], "systems": systems,
        "chunks": chunks.data,
    }  # fmt: skip


def floor_name(pipeline: Pipeline) -> str:
    """The name of the floor that `min_score` sets, as a setting."""
    return f"{_added_floor(pipeline.asking(min_score=0.0)).slot}.floor"


def _added_floor(pipeline: Pipeline) -> MinScore:
    (added,) = (stage for stage in pipeline.stages if isinstance(stage, MinScore))
    return added


def _system(judged: Judged, chunks: Chunks) -> dict[str, Any]:
    evaluation, axis = judged.evaluation, judged.axis
    pipeline = evaluation.pipeline.asking(min_score=max(axis.low, evaluation.pipeline.floor))
    added = _added_floor(pipeline)
    cut = deciding_floor(evaluation.pipeline) or added
    traces = evaluation.traces
    columns = max(traces, key=lambda trace: len(trace.chunks)).columns
    pipeline_data, column = exported(pipeline, columns), evaluation.pipeline.floored
    if any(len(trace.chunks) > MOST for trace in traces):
        # Another column would take the candidates that the page does not have.
        for one in pipeline_data["steps"]:
            for parameter in one["parameters"].values() if "column" in one else ():
                parameter["here"] = False
    return {
        "pipeline": pipeline_data,
        "traces": [trace_data(trace, pipeline_data, chunks) for trace in traces],
        "floor": floor_name(pipeline), "own": judged.own, "moved": judged.moved, "column": column,
        "cut": cut.slot, "axes": _axes(cut, axis, traces), "of_questions": is_of_questions(cut, traces),
        "axis": axis_name(column), "span": [axis.low, axis.high], "step": axis.step,
        "reaches": [_reach(leg, reaches(evaluation.pipeline)) for leg in LEGS],
        "diagram": diagram_data(evaluation),
        "source": "\n".join(pipeline_code(evaluation.pipeline)),
    }  # fmt: skip


def _axes(cut: Floor, own: Axis, traces: Sequence[Trace]) -> list[dict[str, Any]]:
    """An axis for each number that a floor compares, in the order of its thresholds."""
    if isinstance(cut, MinScore):
        return [{"low": own.low, "high": own.high, "step": own.step, "axis": axis_name(cut.of)}]
    compared = [cut.thresholds(trace.columns) for trace in traces if len(trace.chunks)]
    axes = []
    for some in zip(*compared, strict=True):
        axis = axis_of(np.concatenate([np.asarray(one.values) for one in some]), float(some[0].limit))
        axes.append({"low": axis.low, "high": axis.high, "step": axis.step, "axis": some[0].measure})
    return axes


def trace_data(trace: Trace, pipeline_data: Mapping[str, Any], chunks: Chunks) -> dict[str, Any]:
    """A trace for the living view, with the places of its chunks, and what each leg brought."""
    found = exported_trace(trace, pipeline_data)
    rows = [chunks.number_of(trace.chunks[row]) for row in found.pop("kept")]
    legs = [(leg.name, int(leg.hits.rows.size), leg.asked) for leg in trace.legs.values()]
    for known in ("question", "files", "ties"):  # which the page has with the chunks and the questions
        del found[known]
    return {name: value for name, value in found.items() if value} | {"rows": rows, "legs": legs}


def unknown_reach(found: Reach | None) -> str:
    """Why a leg of a system has no highest score; empty if it has one."""
    if found is None:
        return "also depends on the texts"
    return "" if isfinite(found.score) else "is no finite number"


def _reach(leg: str, every: Mapping[str, Reach | None]) -> dict[str, Any]:
    found = every.get(leg)
    if unknown := unknown_reach(found):
        return {"leg": leg, "asked": leg in every, "unknown": unknown}
    assert found
    formula = "" if found.formula.text == f"{found.score:g}" else str(found.formula)
    return {"leg": leg, "asked": True, "score": found.score, "formula": formula}

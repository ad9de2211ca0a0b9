"""What a floor compares: the numbers of an evaluation by file, and how they lie around the floor."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.measure.thresholds import scores
from workbench.records import KEPT, Floats, Trace
from workbench.retrieval.cutoff import Floor, MinScore
from workbench.retrieval.pipeline import Pipeline

if TYPE_CHECKING:
    from workbench.figures import Figure, Shape
    from workbench.measure.evaluation import Evaluation

AXES = {"score": "fused score (no unit)", "answerable": "stated probability of an answer"}
"""The name of an axis by the column that stands on it."""


class Compared(NamedTuple):
    """The numbers that a floor compares, in three groups with a column for each threshold.

    A row is a candidate that reaches the floor, or with `of_questions` a question: the floor compares one
    number a question, and `other` is empty. `limits` are the thresholds.
    """

    axis: str
    right: Floats
    other: Floats
    control: Floats
    limits: tuple[float, ...]
    of_questions: bool


def axis_name(column: str) -> str:
    """The name of the axis on which the numbers of a column stand."""
    return AXES.get(column, column.replace("_", " "))


def deciding_floor(pipeline: Pipeline) -> Floor | None:
    """The floor of a system; None for a system without one."""
    floors = [stage for stage in pipeline.stages if isinstance(stage, Floor)]
    return next((one for one in floors if isinstance(one, MinScore)), floors[0] if floors else None)


def is_of_questions(cut: Floor, traces: Sequence[Trace]) -> bool:
    """Whether a floor compares one number a question, such as a stated probability."""
    if not isinstance(cut, MinScore):
        return False
    some = [(trace.columns[cut.of], trace.ranked_by) for trace in traces if len(trace.chunks) > 1]
    return bool(some) and all(by != cut.of and bool(np.all(one == one[0])) for one, by in some)


def compared_numbers(evaluation: Evaluation) -> Compared:
    """What a system's floor compares: of the right files, of other files, and of unanswerable questions."""
    pipeline = evaluation.pipeline.asking(min_score=evaluation.pipeline.floor)
    cut = deciding_floor(evaluation.pipeline) or deciding_floor(pipeline)
    assert cut
    number = pipeline.stages.index(cut)
    traces = evaluation.traces
    targets = [one.question.target for one in evaluation.asked]
    of_questions = is_of_questions(cut, traces)
    groups: tuple[list[Floats], list[Floats], list[Floats]] = ([], [], [])
    limits: list[float] = []
    for trace, target in zip_longest(traces, targets):
        if not len(trace.chunks):
            continue
        thresholds = cut.thresholds(trace.columns)
        limits = [float(one.limit) for one in thresholds]
        reached = (trace.dropped == KEPT) | (trace.dropped >= number)
        rows = np.stack([np.asarray(one.values, float) for one in thresholds], axis=1)[reached]
        mine = np.array([of_questions or one.path == target for one in trace.chunks])[reached]
        if of_questions:
            rows, mine = rows[:1], mine[:1]
        for group, some in zip(groups, _grouped(rows, mine, target), strict=True):
            group.append(some)
    none = np.empty((0, max(1, len(limits))))
    right, other, control = (np.concatenate([none, *group]) for group in groups)
    named = axis_name(cut.of if isinstance(cut, MinScore) else "evidence")
    return Compared(named, right, other, control, tuple(limits), of_questions=of_questions)


def _grouped(rows: Floats, mine: NDArray[np.bool_], target: str | None) -> tuple[Floats, Floats, Floats]:
    """Rows of one trace as those of the right file, of other files, and of an unanswerable question."""
    nothing = rows[:0]
    return (nothing, nothing, rows) if target is None else (rows[mine], rows[~mine], nothing)


def distribution(
    evaluation: Evaluation, shape: Shape = "histogram", threshold: float | None = None
) -> Figure:
    """How the numbers that the floor compares lie around it, or around another threshold.

    A floor on the evidence of both legs is drawn as the region that passes. Raises InputError if no search
    has a candidate.
    """
    from workbench import figures  # which loads plotly

    found = compared_numbers(evaluation)
    if len(found.limits) == 2:
        cosine, relevance = found.limits
        return figures.evidence(found.right, found.other, found.control, cosine, relevance)
    limit = evaluation.pipeline.floor if threshold is None else threshold
    axis = f"{evaluation.pipeline.name}: {found.axis}"
    if found.of_questions:
        return figures.stated(found.right, found.control, limit, shape, axis)
    return figures.scores(found.right, found.other, found.control, limit, shape, axis)


def answered(evaluations: Sequence[Evaluation]) -> Figure:
    """Hits against unanswerable questions with no result, as the floor of each system moves."""
    from workbench import figures

    curves, own = {}, {}
    for one in evaluations:
        found, name = scores(one), one.pipeline.name
        curves[name] = [(found.hits(floor), found.silent(floor)) for floor in found.floors]
        own[name] = (one.overall.hits, one.silent.hits)
    first = evaluations[0]
    return figures.answered(curves, own, first.overall.n, first.silent.n)

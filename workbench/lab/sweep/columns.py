"""The answers of many settings from one table of candidates, without a trace for each question.

A stage computes with its own formula on the table. For a hit only the best candidate of the right file is
ranked: those with a better score are counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from workbench.lab.sweep.table import CandidateTable, ColumnsOfMany, Marks, Numbers
from workbench.records import KEPT, Floats, Stage, Trace
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.cutoff import AddedFloor, EvidenceFloor, Limit, MinScore, Order
from workbench.retrieval.legs import Union
from workbench.retrieval.pipeline import Pipeline

NUMBERS_AT_ONCE = 100_000
"""The numbers of a column that are computed at once: 800 KB."""
FLOORS = (MinScore, AddedFloor, EvidenceFloor)


def first_after_candidates(pipeline: Pipeline) -> int:
    """The place of the first stage that works on a pipeline's candidates."""
    return next(place for place, stage in enumerate(pipeline.stages) if isinstance(stage, Union)) + 1


def not_in_columns(pipeline: Pipeline) -> str | None:
    """Why the settings of a pipeline cannot be swept in columns; None if they can."""
    if not any(isinstance(stage, Union) for stage in pipeline.stages):
        return "it has no union of legs"
    rest = pipeline.stages[first_after_candidates(pipeline) :]
    strange = [stage.slot for stage in rest if not _runs_in_columns(stage)]
    if strange:
        return f"its stage {strange[0]} needs whole traces"
    kinds = [type(stage) for stage in rest]
    if kinds.count(Order) != 1 or kinds.count(Limit) != 1 or kinds[-1] is not Limit:
        return "it does not end with a limit on one order"
    if any(issubclass(kind, ColumnStage) for kind in kinds[kinds.index(Order) :]):
        return "it computes scores after it has ranked"
    written = {name for stage in rest for name in stage.writes()}
    return "it ranks by several computed scores" if written & set(ties_of(pipeline)) else None


def ties_of(pipeline: Pipeline) -> tuple[str, ...]:
    """The columns by which a pipeline orders equal scores."""
    return next((stage.ties for stage in pipeline.stages if isinstance(stage, Order)), ())


def _runs_in_columns(stage: Stage) -> bool:
    if isinstance(stage, ColumnStage):
        ours = type(stage).run is ColumnStage.run and type(stage).computed is ColumnStage.computed
        return ours and not stage.observed
    return type(stage) in (*FLOORS, Limit, Order)


@dataclass(frozen=True)
class Answers:
    """Which questions hit, and which got any answer, for each setting: shape (settings, questions).

    `rank` is the right file's rank among the files returned, 0 if it is not among them, and `returned` the
    number of these files. Both are empty if nobody asked for them.
    """

    hits: Marks
    answered: Marks
    rank: Numbers = field(default_factory=lambda: np.empty((1, 0), np.int64))
    returned: Numbers = field(default_factory=lambda: np.empty((1, 0), np.int64))


class UnusualNumbersError(Exception):
    """A score is not finite, so that its rank depends on rules that only the stages know."""


def answers(table: CandidateTable, pipelines: Sequence[Pipeline], ranks: bool = False) -> Answers:
    """The answers of pipelines that differ only in stages after the candidates. See `not_in_columns`.

    Raises UnusualNumbersError for scores that are not finite.
    """
    shape = len(pipelines), table.questions
    hits, answered = np.zeros(shape, bool), np.zeros(shape, bool)
    rank, returned = (np.zeros(shape if ranks else (len(pipelines), 0), np.int64) for _ in range(2))
    for part, block in table.blocks(NUMBERS_AT_ONCE):
        ranked = _Ranked(block)
        for place, pipeline in enumerate(pipelines):
            scores, floor, limit = ranked.of(pipeline)
            if ranks:
                rank[place, part], returned[place, part] = file_ranks(block, scores, floor, limit)
            standing = ranked.standing(scores)
            inside = (standing.best >= floor) & (standing.better < limit)
            near = np.flatnonzero(inside)
            inside[near] = standing.better[near] + tied_before(block, scores, standing.best, near) < limit
            hits[place, part] = inside
            answered[place, part] = (standing.top >= floor) & (limit > 0)
    return Answers(hits, answered, rank, returned)


class TargetStanding(NamedTuple):
    """For each question: the right file's best score, how many candidates are better, the top score."""

    best: Floats
    better: Numbers
    top: Floats


class _Ranked:
    """The scores of one block of questions. What two settings have in common is computed once."""

    def __init__(self, table: CandidateTable) -> None:
        self._table = table
        self._done: list[tuple[ColumnStage, dict[str, Floats]]] = []
        self._by = ""
        self._scores: Floats = np.empty(0)
        self._standing: tuple[Floats, TargetStanding] | None = None
        self._filled: dict[tuple[str, float], tuple[Floats, Floats]] = {}

    def standing(self, scores: Floats) -> TargetStanding:
        """Where the right file stands in these scores. A floor on them does not move it."""
        if self._standing is None or self._standing[0] is not scores:
            self._standing = scores, target_standing(self._table, scores)
        return self._standing[1]

    def of(self, pipeline: Pipeline) -> tuple[Floats, float, int]:
        """The scores that candidates are ranked by, minus infinity for none; the floor, and the limit."""
        rest = pipeline.stages[first_after_candidates(pipeline) :]
        (order,) = [stage for stage in rest if isinstance(stage, Order)]
        columns = self._columns([stage for stage in rest if isinstance(stage, ColumnStage)], order.by)
        own = [stage.floor for stage in rest if isinstance(stage, MinScore) and stage.of == order.by]
        scores = self._scores
        for stage in rest:
            if type(stage) in FLOORS and not (isinstance(stage, MinScore) and stage.of == order.by):
                scores = np.where(self._passing(stage, columns), scores, -np.inf)
        # No floor: a candidate that another floor dropped has minus infinity, and must not pass.
        return scores, max([*own, float(np.finfo(float).min)]), max(0, int(pipeline.limit))

    def _columns(self, stages: Sequence[ColumnStage], by: str) -> dict[str, Floats]:
        same = 0
        while same < min(len(stages), len(self._done)) and self._done[same][0] == stages[same]:
            same += 1
        known = same == len(stages) and self._by == by
        del self._done[same:]
        columns = self._done[-1][1] if self._done else dict(self._table.columns)
        for stage in stages[same:]:
            with np.errstate(divide="ignore", invalid="ignore"):  # a question may have no candidate
                columns = {**columns, stage.output: stage.computed(columns, self._read)}
            self._done.append((stage, columns))
        if not known:
            self._by, self._scores = by, self._finite(columns[by])
        return columns

    def _read(self, columns: Mapping[str, Floats]) -> ColumnsOfMany:
        return ColumnsOfMany(columns, self._filled)

    def _finite(self, scores: Floats) -> Floats:
        if not self._table.full:
            scores = np.where(self._table.there, scores, 0.0)
        if not np.isfinite(scores.sum()):
            raise UnusualNumbersError
        return scores if self._table.full else np.where(self._table.there, scores, -np.inf)

    def _passing(self, stage: Stage, columns: dict[str, Floats]) -> Marks:
        """What a floor on other columns lets pass, as the stage itself says."""
        shape = self._table.there.shape
        flat = {name: np.ascontiguousarray(column).ravel() for name, column in columns.items()}
        size = self._table.there.size
        trace = Trace("", "", (stage,), columns=flat, dropped=np.full(size, KEPT), order=np.arange(size))
        return np.reshape(stage.run(trace, None).dropped == KEPT, shape)


def target_standing(table: CandidateTable, scores: Floats) -> TargetStanding:
    """Where the best candidate of the right file stands among those with other scores."""
    own = np.where(table.own_there, np.take_along_axis(scores, table.own, axis=0), -np.inf)
    best = own.max(axis=0, initial=-np.inf)
    return TargetStanding(best, _count(scores > best), scores.max(axis=0, initial=-np.inf))


def tied_before(table: CandidateTable, scores: Floats, best: Floats, some: Numbers) -> Numbers:
    """How many candidates with the right file's best score come before it, for some of the questions."""
    before = np.zeros(some.size, np.int64)
    # A few columns are picked first; for many, comparing all of them takes less time.
    few = 4 * some.size < scores.shape[1]
    same = scores[:, some] == best[some] if few else (scores == best)[:, some]
    several = np.flatnonzero(_count(same) > 1)
    if several.size:
        same, tied = same[:, several], some[several]
        ties = table.ties[:, tied]
        first = np.where(same & table.mine[:, tied], ties, np.iinfo(np.int64).max).min(axis=0)
        before[several] = _count(same & (ties < first))
    return before


def _count(marks: Marks) -> Numbers:
    """The number of marks of each question."""
    small = marks.shape[0] < np.iinfo(np.uint8).max
    counted = np.add.reduce(marks.view(np.uint8), axis=0, dtype=np.uint8 if small else np.uint32)
    return np.array(counted, np.int64)


def file_ranks(table: CandidateTable, scores: Floats, floor: float, limit: int) -> tuple[Numbers, Numbers]:
    """The rank of the right file among the files returned, 0 if it is not, and the number of these files."""
    order = np.lexsort((table.ties, -scores), axis=0)[:limit]
    passing = np.take_along_axis(scores, order, axis=0) >= floor
    files = np.where(passing, np.take_along_axis(table.files, order, axis=0), -1)
    mine = np.take_along_axis(table.mine, order, axis=0) & passing
    rank, returned = np.zeros(table.questions, np.int64), np.zeros(table.questions, np.int64)
    for place, file in enumerate(files):
        returned += (file >= 0) & ~(files[:place] == file).any(axis=0)
        rank = np.where((rank == 0) & mine[place], returned, rank)
    return rank, returned


def from_stages(traces: Sequence[Trace], targets: Sequence[str | None], ranks: bool) -> Answers:
    """The answers of one setting whose searches have run."""
    paths = [trace.paths() for trace in traces]
    places = [
        some.index(target) + 1 if target in some else 0 for some, target in zip(paths, targets, strict=True)
    ]
    rank, returned = np.array([places], np.int64), np.array([[len(some) for some in paths]], np.int64)
    found = Answers(rank > 0, returned > 0)
    return replace(found, rank=rank, returned=returned) if ranks else found


def together(parts: Sequence[Answers]) -> Answers:
    """The answers of several groups of settings, in their order."""
    names = ("hits", "answered", "rank", "returned")
    return Answers(**{name: np.concatenate([getattr(one, name) for one in parts]) for name in names})

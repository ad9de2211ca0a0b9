"""The effect of a floor: every candidate's score by file, and the answers at any floor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.measures import Share
from workbench.records import KEPT, Floats, Tabular, Trace
from workbench.retrieval.cutoff import Limit, MinScore
from workbench.retrieval.pipeline import Pipeline, Running, before, run
from workbench.tables import ABSENT, Line, Part, Table, Types, numbers, tidy

if TYPE_CHECKING:
    from workbench.measure.evaluation import Evaluation

FLOORS: Types = {
    "system": "str", "floor": "float64", "own_floor": "bool", "questions": "int64", "hits": "int64",
    "returned_chunks": "int64", "right_chunks": "int64", "precision": "float64", "unanswerable": "int64",
    "nothing_returned": "int64",
}  # fmt: skip
"""The columns of the table of pandas."""

STEPS = 20
"""The number of floors that are compared, about."""

Marks = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Outcome:
    """The answers at one floor.

    `hits` counts the questions whose target is returned, `right` the chunks of the right file among all
    returned chunks, and `silent` the unanswerable questions with an empty answer.
    """

    hits: Share
    right: Share
    silent: Share

    @property
    def precision(self) -> float | None:
        """The share of the returned chunks that are from the right file; None if nothing is returned.

        The chunks of all questions have equal weight. Controls have no right file and are left out.
        """
        return self.right.rate if self.right.n else None


class Counts(NamedTuple):
    """For each trace, the number of returned chunks of the right file, and of all returned chunks."""

    right: Numbers
    returned: Numbers


class Cut(Protocol):
    """The stages after the fused order of many traces: a floor, a limit, and others."""

    def at(self, floor: float) -> Counts:
        """The number of results of each trace at this floor."""


@dataclass(frozen=True)
class Scores(Tabular):
    """The fused scores of one evaluation, before any floor.

    `target`, `other` and `control` are flat arrays: the scores of candidates from the right files, from other
    files, and of the controls. `column` names the number that the floor looks at, where it is not the score.
    """

    system: str
    floor: float
    target: Floats
    other: Floats
    control: Floats
    questions: int
    cut: Cut = field(repr=False)
    column: str = "score"

    def at(self, floor: float) -> Outcome:
        """The answers at this floor; they equal those of a new evaluation with this floor."""
        right, returned = self.cut.at(floor)
        answers, of_controls = returned[: self.questions], returned[self.questions :]
        return Outcome(
            Share(int(np.count_nonzero(right)), self.questions),
            Share(int(right.sum()), int(answers.sum())),
            Share(int(np.count_nonzero(of_controls == 0)), of_controls.size),
        )

    @property
    def floors(self) -> list[float]:
        """About STEPS round floors from the lowest score to the highest, and the system's own floor."""
        every = np.concatenate([self.target, self.other, self.control, [0.0]])
        every = every[np.isfinite(every)]
        step = _round_step(float(np.ptp(every)) / STEPS)
        lowest, highest = np.floor(every.min() / step), np.ceil(every.max() / step)
        grid = [round(float(number) * step, 12) for number in np.arange(lowest, highest + 1)]
        return sorted({*grid, *([self.floor] if np.isfinite(self.floor) else [])})

    def hits(self, floor: float) -> int:
        """The number of questions that hit at this floor."""
        return self.at(floor).hits.hits

    def silent(self, floor: float) -> int:
        """The number of controls with an empty answer at this floor."""
        return self.at(floor).silent.hits

    def view(self) -> list[Part]:
        """One line per floor: the questions that hit, the precision, and the unanswerable questions."""
        rows = []
        for floor in self.floors:
            found = self.at(floor)
            rows.append(
                (
                    f"{floor:g}",
                    f"{found.hits.hits}/{found.hits.n}",
                    f"{found.right.hits}/{found.right.n}",
                    ABSENT if found.precision is None else f"{found.precision:.1%}",
                    f"{found.silent.hits}/{found.silent.n}" if found.silent.n else ABSENT,
                    "its own floor" if floor == self.floor else "",
                )
            )
        heads = ("floor", "questions\nwith a hit", "returned chunks\nof the right file", "precision")
        table = Table("", [*numbers(*heads, "unanswerable,\nnothing\nreturned"), ""], rows)
        return [Line(self.system, "dim"), table]

    def observations(self) -> Table:
        """One row for each floor."""
        rows = []
        for floor in self.floors:
            found = self.at(floor)
            counts = [found.hits.n, found.hits.hits, found.right.n, found.right.hits, found.precision]
            own = floor == self.floor
            rows.append([self.system, floor, own, *counts, found.silent.n, found.silent.hits])
        return tidy(FLOORS, rows)


@dataclass(frozen=True)
class FloorAndLimit:
    """A floor and then a limit, for all traces at once: for systems without later stages.

    `score` has one row per trace, in fused order, with NaN for no candidate; `mine` marks the candidates from
    the right file.
    """

    score: Floats
    mine: Marks
    limit: int

    def at(self, floor: float) -> Counts:
        passing = self.score >= floor
        returned = passing & (np.cumsum(passing, axis=1) <= self.limit)
        return Counts(np.sum(returned & self.mine, axis=1), np.sum(returned, axis=1))


@dataclass(frozen=True)
class StagesAgain:
    """Run the stages from the floor on again for each trace: for rescues, and for floors after a limit.

    The traces have their state before the floor. This takes milliseconds; `FloorAndLimit` is much faster.
    """

    pipeline: Pipeline
    traces: Sequence[Trace]
    mine: Sequence[Marks]
    index: Index | None

    def at(self, floor: float) -> Counts:
        floored = self.pipeline.asking(min_score=floor)
        first = _floor_number(floored)
        returned = [self._again(trace, floored, first).dropped == KEPT for trace in self.traces]
        right = [np.count_nonzero(some & mine) for some, mine in zip(returned, self.mine, strict=True)]
        return Counts(np.array(right, np.int64), np.array([some.sum() for some in returned], np.int64))

    def _again(self, trace: Trace, floored: Pipeline, first: int) -> Trace:
        if self.index is None:
            raise InputError(
                f"The evaluation of {floored.name} does not know its index, so its stages cannot run again.",
                "Evaluate with workbench.evaluate(), which keeps the index.",
            )
        context = Running(self.index.laid_out(floored.layout), trace.question, floored.limit)
        return run(replace(trace, stages=floored.stages), context, first)


def scores(evaluation: Evaluation) -> Scores:
    """The scores of an evaluation by file, with the stages that follow."""
    mine = [_of_file(one.trace, one.question.target) for one in evaluation.asked]
    fused = [compared(one.trace, evaluation.pipeline) for one in evaluation.asked]
    return Scores(
        system=evaluation.pipeline.name,
        floor=evaluation.pipeline.floor,
        target=_flat([column[yes] for column, yes in zip(fused, mine, strict=True)]),
        other=_flat([column[~yes] for column, yes in zip(fused, mine, strict=True)]),
        control=_flat([compared(trace, evaluation.pipeline) for trace in evaluation.controls]),
        questions=len(evaluation.asked),
        cut=_cut(evaluation, mine),
        column=evaluation.pipeline.floored,
    )


def _round_step(least: float) -> float:
    """The smallest of 1, 2 or 5 times a power of ten that is at least `least`; 0.05 for no distance.

    >>> _round_step(0.031), _round_step(0.0006), _round_step(0)
    (0.05, 0.001, 0.05)
    """
    if least <= 0:
        return 0.05
    power = 10.0 ** np.floor(np.log10(least))
    return next(round(float(times * power), 12) for times in (1, 2, 5, 10) if times * power >= least)


def compared(trace: Trace, pipeline: Pipeline) -> Floats:
    """The numbers that the pipeline's floor compares; those that rank where the search did not make them."""
    return trace.columns.get(pipeline.floored, trace.scores)


def _of_file(trace: Trace, path: str) -> Marks:
    return np.array([chunk.path == path for chunk in trace.chunks], bool)


def _flat(columns: list[Floats]) -> Floats:
    return np.concatenate(columns) if columns else np.empty(0)


def _cut(evaluation: Evaluation, mine: Sequence[Marks]) -> Cut:
    pipeline = evaluation.pipeline.asking(min_score=evaluation.pipeline.floor)
    number = _floor_number(pipeline)
    traces = evaluation.traces
    mine = [*mine, *(np.zeros(len(trace.chunks), bool) for trace in evaluation.controls)]
    if all(isinstance(stage, Limit) for stage in pipeline.stages[number + 1 :]):
        scores = [np.where(_reaches(trace, number), compared(trace, pipeline), np.nan) for trace in traces]
        orders = [trace.order for trace in traces]
        return FloorAndLimit(
            _rows([column[order] for column, order in zip(scores, orders, strict=True)]),
            _rows([marks[order].astype(float) for marks, order in zip(mine, orders, strict=True)]) == 1,
            int(pipeline.limit),
        )
    return StagesAgain(pipeline, [before(trace, number) for trace in traces], mine, evaluation.index)


def _floor_number(pipeline: Pipeline) -> int:
    return next(i for i, stage in enumerate(pipeline.stages) if isinstance(stage, MinScore))


def _reaches(trace: Trace, number: int) -> Marks:
    """The candidates that no stage before `number` drops."""
    reached: Marks = (trace.dropped == KEPT) | (trace.dropped >= number)
    return reached


def _rows(rows: Sequence[Floats]) -> Floats:
    """Rows of different lengths as one array, padded with NaN."""
    table = np.full((len(rows), max((row.size for row in rows), default=0)), np.nan)
    for number, row in enumerate(rows):
        table[number, : row.size] = row
    return table

"""Why is this chunk in the answer, or not? Answered for every chunk of an index, found or not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from workbench.contracts import Context, Index
from workbench.errors import InputError
from workbench.records import KEPT, Candidate, Chunk, Compared, DropKind, Shown, Stage, Trace, Vector
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.cutoff import Limit
from workbench.retrieval.expressions import Expression
from workbench.retrieval.legs import LegRank, legs_of
from workbench.retrieval.pipeline import Running


class Fate(StrEnum):
    """What happened to a chunk, from best to worst."""

    RETURNED = "returned"
    BEYOND_LIMIT = "beyond the limit"
    BELOW_FLOOR = "below the floor"
    BELOW_LEG_FLOOR = "below the floor of its leg"
    FILTERED = "removed by a filter"
    FOLDED = "folded under a better chunk of its file"
    BEYOND_POOL = "beyond the pool"
    NO_MATCH = "listed by no leg"
    NEVER_INDEXED = "not in the index"


FATES = {
    DropKind.LIMIT: Fate.BEYOND_LIMIT,
    DropKind.FLOOR: Fate.BELOW_FLOOR,
    DropKind.LEG_FLOOR: Fate.BELOW_LEG_FLOOR,
    DropKind.FILTER: Fate.FILTERED,
    DropKind.FOLD: Fate.FOLDED,
}
"""The fate of a candidate, by the kind of cut that dropped it."""


@dataclass(frozen=True)
class Verdict:
    """One chunk's fate, with its candidate if it was one, and its rank in each leg."""

    chunk: Chunk
    fate: Fate
    candidate: Candidate | None
    leg_ranks: tuple[LegRank, ...]


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """What happened to a file in a search: the verdict on each of its chunks, best first."""

    trace: Trace
    target: str
    fate: Fate
    verdicts: tuple[Verdict, ...]

    def __repr__(self) -> str:
        """One line; `workbench.show` prints all, and a notebook shows all."""
        return f"<Explanation: {self.target} is {self.fate} for {self.trace.question!r}, {self.trace.system}>"


def explain(trace: Trace, index: Index, target: str, vector: Vector | None = None) -> Explanation:
    """The fate of the file `target` in `trace`, and of each of its chunks; NEVER_INDEXED for an unknown file.

    `index` must be the one that was searched, in the same state: what was beyond the pool is looked up
    there. If it may change meanwhile, put search and explain into one `index.snapshot()`. `vector` is the
    question's vector, if `search` was given one.
    """
    with index.snapshot():
        limit = next((stage.count for stage in trace.stages if isinstance(stage, Limit)), math.inf)
        context = Running(index.laid_out(trace.layout), trace.question, limit, vector)
        return _explained(trace, context, target)


def _explained(trace: Trace, context: Context, target: str) -> Explanation:
    rows = context.index.rows_of(target)
    if rows.size == 0:
        return Explanation(trace, target, Fate.NEVER_INDEXED, ())
    asked = [leg for leg in legs_of(trace.stages) if leg.name in trace.legs]
    leg_ranks = [leg.leg_ranks(trace, context, rows) for leg in asked]
    verdicts = [
        _verdict(trace, int(row), chunk, tuple(per_leg[i] for per_leg in leg_ranks))
        for i, (row, chunk) in enumerate(zip(rows, context.index.chunks(rows), strict=True))
    ]
    verdicts.sort(key=_best_first)
    return Explanation(trace, target, verdicts[0].fate, tuple(verdicts))


def _verdict(trace: Trace, row: int, chunk: Chunk, leg_ranks: tuple[LegRank, ...]) -> Verdict:
    place = np.flatnonzero(trace.rows == row)
    if place.size == 0:
        matched = any(leg_rank.rank is not None for leg_rank in leg_ranks)
        return Verdict(chunk, Fate.BEYOND_POOL if matched else Fate.NO_MATCH, None, leg_ranks)
    candidate = trace.candidate(int(place[0]))
    return Verdict(chunk, fate_of(candidate), candidate, leg_ranks)


def fate_of(candidate: Candidate) -> Fate:
    """What happened to a candidate: returned, or dropped by a cut of some kind."""
    return Fate.RETURNED if candidate.drop is None else FATES[candidate.drop.kind]


def _best_first(verdict: Verdict) -> tuple[int, float, int, str]:
    position = verdict.candidate.position if verdict.candidate else math.inf
    nearest = min((s.rank for s in verdict.leg_ranks if s.rank is not None), default=1 << 31)
    return list(Fate).index(verdict.fate), position, nearest, verdict.chunk.id


@dataclass(frozen=True)
class Step:
    """One computed number of a candidate: its column, and the formula that computed it."""

    column: str
    formula: Expression


def steps(trace: Trace, row: int, digits: int = 4) -> list[Step]:
    """How each computed number of the candidate in `row` was computed, in the order of the stages.

    Each formula uses the columns as they were when its stage ran. Raises InputError if a formula does not
    give the number that its stage computed, rather than print a false explanation.
    """
    made = []
    for stage, moment in zip(trace.stages, trace.moments, strict=False):
        if isinstance(stage, ColumnStage) and not np.isnan(moment.columns[stage.output][row]):
            formula = stage.in_row(moment.columns, row, digits)
            _check_value(stage, formula.value, float(moment.columns[stage.output][row]))
            made.append(Step(stage.output, formula))
    return made


def _check_value(stage: ColumnStage, value: float, computed: float) -> None:
    if not (value == computed or math.isclose(value, computed, rel_tol=1e-9, abs_tol=1e-9)):
        raise InputError(
            f"The formula of the stage {stage.slot!r} gives {value:g} for a row that holds {computed:g}.",
            "Write the formula with NumPy functions alone, so that rows and columns take the same way.",
        )


class StageOutcome(StrEnum):
    """What a cut-off stage did with a candidate."""

    PASSED = "passed"
    DROPPED = "dropped"
    BROUGHT_BACK = "brought back"


@dataclass(frozen=True)
class Decision:
    """What one stage did with a candidate, and the thresholds that it compared at that moment."""

    stage: Stage
    outcome: StageOutcome
    compared: tuple[Compared, ...] = ()


def decisions(trace: Trace, row: int) -> list[Decision]:
    """What each stage that drops or brings back candidates did with the candidate in `row`, in order."""
    found, was = [], KEPT
    for place, (stage, moment) in enumerate(zip(trace.stages, trace.moments, strict=False)):
        if not moment.dropped.size:
            continue
        now, cutoff = int(moment.dropped[row]), trace.cutoffs.get(place)
        if was != KEPT and now == KEPT:
            found.append(Decision(stage, StageOutcome.BROUGHT_BACK))
        elif cutoff is not None and cutoff.applied[row]:
            compared = tuple(one.compared(row) for one in cutoff.thresholds)
            outcome = StageOutcome.PASSED if now == KEPT else StageOutcome.DROPPED
            found.append(Decision(stage, outcome, compared))
        was = now
    return found

"""Why is this chunk in the answer, or not? Answered for every chunk of an index, found or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from workbench.records import Candidate, Chunk, Hits, Rows, Trace, Vector
from workbench.retrieval.columns import ColumnStage, Row
from workbench.retrieval.cutoff import Limit, MinScore
from workbench.retrieval.formula import Term
from workbench.retrieval.legs import Index, ManyAsked, laid_out, snapshot
from workbench.retrieval.query import JoinedWords, ascii_words, quoted


class Fate(StrEnum):
    """What became of a chunk, from best to worst."""

    RETURNED = "returned"
    BEYOND_LIMIT = "beyond the limit"
    BELOW_FLOOR = "below the floor"
    BEYOND_POOL = "beyond the pool"
    NO_MATCH = "matched by no leg"
    NEVER_INDEXED = "never indexed"


@dataclass(frozen=True)
class Standing:
    """Where a chunk stands in one leg: its rank among all chunks (None: not matched) and the leg's depth.

    `number` says what `raw` is. `missing` are the words of the question that the chunk does not have; only
    the keyword leg says them.
    """

    leg: str
    rank: int | None
    matched: int
    depth: int
    raw: float | None
    number: str
    missing: tuple[str, ...] = ()

    @property
    def brought(self) -> bool:
        return self.rank is not None and self.rank <= self.depth


@dataclass(frozen=True)
class Verdict:
    """One chunk's fate, with its candidate when it was one, and its standing in each leg."""

    chunk: Chunk
    fate: Fate
    candidate: Candidate | None
    standings: tuple[Standing, ...]


@dataclass(frozen=True, repr=False)
class Explanation:
    """What became of a file in a search: the verdict on each of its chunks, best first."""

    trace: Trace
    target: str
    fate: Fate
    verdicts: tuple[Verdict, ...]

    def __repr__(self) -> str:
        """One line; `workbench.show` prints all."""
        return f"<Explanation: {self.target} is {self.fate} for {self.trace.question!r}, {self.trace.system}>"


def explain(trace: Trace, index: Index, target: str, vector: Vector | None = None) -> Explanation:
    """The fate of the file `target` in `trace`, and of each of its chunks; NEVER_INDEXED for an unknown file.

    `index` must be the one that was searched, and as it was then: what was beyond the pool is looked up
    there. Where it may change meanwhile, put both into one `snapshot(index)`. `vector` is the question's,
    where `search` was given one.
    """
    with snapshot(index):
        return _explained(trace, laid_out(index, trace.view), target, vector)


def _explained(trace: Trace, index: Index, target: str, vector: Vector | None) -> Explanation:
    rows = index.rows_of(target)
    if rows.size == 0:
        return Explanation(trace, target, Fate.NEVER_INDEXED, ())
    standings = [
        _keyword_standings(trace, index, rows)
        if leg == "keyword"
        else _vector_standings(trace, index, rows, vector)
        for leg in trace.legs
    ]
    verdicts = [
        _verdict(trace, int(row), chunk, tuple(per_leg[i] for per_leg in standings))
        for i, (row, chunk) in enumerate(zip(rows, index.chunks(rows), strict=True))
    ]
    verdicts.sort(key=_best_first)
    return Explanation(trace, target, verdicts[0].fate, tuple(verdicts))


def _verdict(trace: Trace, row: int, chunk: Chunk, standings: tuple[Standing, ...]) -> Verdict:
    place = np.flatnonzero(trace.rows == row)
    if place.size == 0:
        matched = any(standing.rank is not None for standing in standings)
        return Verdict(chunk, Fate.BEYOND_POOL if matched else Fate.NO_MATCH, None, standings)
    candidate = trace.candidate(int(place[0]))
    return Verdict(chunk, fate_of(candidate), candidate, standings)


def fate_of(candidate: Candidate) -> Fate:
    """What became of a candidate: returned, or dropped by the limit or by a floor."""
    match candidate.dropped_by:
        case None:
            return Fate.RETURNED
        case Limit():
            return Fate.BEYOND_LIMIT
        case _:
            return Fate.BELOW_FLOOR


def _best_first(verdict: Verdict) -> tuple[int, float, int, str]:
    position = verdict.candidate.position if verdict.candidate else float("inf")
    nearest = min((s.rank for s in verdict.standings if s.rank is not None), default=1 << 31)
    return list(Fate).index(verdict.fate), position, nearest, verdict.chunk.id


def _vector_standings(trace: Trace, index: Index, rows: Rows, vector: Vector | None) -> list[Standing]:
    query = index.embed(trace.question) if vector is None else vector
    every = index.vector(query, index.size) if trace.legs["vector"].asked else None
    return [_standing(trace, "vector", every, int(row)) for row in rows]


def _keyword_standings(trace: Trace, index: Index, rows: Rows) -> list[Standing]:
    every = _every_match(trace, index)
    words = list(dict.fromkeys(_words(trace)))
    having = {word: set(index.keyword(quoted(word), index.size).rows.tolist()) for word in words}
    return [
        _standing(trace, "keyword", every, int(row), tuple(w for w in words if int(row) not in having[w]))
        for row in rows
    ]


def _every_match(trace: Trace, index: Index) -> Hits | None:
    """All that the keyword leg would bring if it were deep enough; None when it was not asked."""
    for stage in trace.stages:
        if isinstance(stage, ManyAsked):
            return stage.every(trace, index)
    return index.keyword(trace.match, index.size) if trace.match else None


def _words(trace: Trace) -> list[str]:
    readers = [stage.words for stage in trace.stages if isinstance(stage, JoinedWords)]
    return (readers[0] if readers else ascii_words)(trace.question)


def _standing(trace: Trace, leg: str, every: Hits | None, row: int, missing: Sequence[str] = ()) -> Standing:
    depth, number = trace.legs[leg].depth, trace.legs[leg].number
    if every is None:
        return Standing(leg, None, 0, depth, None, number, tuple(missing))
    place = np.flatnonzero(every.rows == row)
    rank = int(place[0]) + 1 if place.size else None
    raw = float(every.raw[place[0]]) if place.size else None
    return Standing(leg, rank, every.rows.size, depth, raw, number, tuple(missing))


@dataclass(frozen=True)
class Step:
    """One computed number of a candidate: the column, and the formula that made it, digits and all."""

    column: str
    formula: Term


def steps(trace: Trace, row: int, digits: int = 4) -> list[Step]:
    """How each computed number of the candidate in `row` came about, in the order of the stages.

    The formulas are made by the same functions that made the columns, from the same numbers.
    """
    made = []
    for stage in trace.stages:
        if isinstance(stage, ColumnStage) and not np.isnan(trace.columns[stage.output][row]):
            made.append(Step(stage.output, stage.formula(Row(trace.columns, row, digits))))
    return made


def floor_of(trace: Trace) -> float | None:
    """The least score that this search keeps, where it has a floor."""
    return next((stage.floor for stage in trace.stages if isinstance(stage, MinScore)), None)

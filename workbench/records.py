"""Shared data types: frozen values that can be read and shown, and do nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Vector = NDArray[np.float32]

KEPT = -1
"""The value in `Trace.dropped` for a candidate that no stage has dropped."""


class Shown:
    """A value that shows itself: as HTML in a notebook, and as the text of `workbench.show` elsewhere.

    Its look belongs to `workbench.views`, which imports this module. The view is therefore found by its name
    when it is first needed, as `import workbench` finds its names, so no room imports one above it.
    """

    __slots__ = ()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        bundle: dict[str, str] = import_module("workbench.views.html").bundle(self)
        return bundle


class Tabular(Shown):
    """A value that is also a table of pandas; `docs/commands.md` describes the columns of each."""

    __slots__ = ()

    def to_frame(self) -> Any:
        """The value as a `pandas.DataFrame`. Raises InputError if pandas is not installed."""
        return import_module("workbench.views.frames").frame(self)


@dataclass(frozen=True, slots=True)
class Document:
    """A file of the memory as it was read: `path` is relative to the memory, with forward slashes."""

    path: str
    source: str
    text: str
    hash: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a document, cut but not yet stored; lines count from 1 and both ends belong to it."""

    text: str
    start_line: int
    end_line: int
    hash: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored passage. `read_share` is the part of its word pieces that the model has read, 0 to 1."""

    id: str
    path: str
    source: str
    start_line: int
    end_line: int
    text: str = field(repr=False)
    read_share: float = 1.0

    @property
    def place(self) -> str:
        """Where to look: `memory/a.md:3-17`."""
        return f"{self.path}:{self.start_line}-{self.end_line}"


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that a query looks for: a word, or a phrase whose words must stand together.

    With `prefix` the last word may be longer. A `bare` clause is sent without quotes, so that the engine
    reads operators in it.
    """

    text: str
    phrase: bool = False
    prefix: bool = False
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """What a keyword leg asks for: clauses joined with AND or OR. The index that is asked compiles it.

    A question that is written in an engine's own syntax has no clauses: it is the `expression`.
    """

    clauses: tuple[Clause, ...] = ()
    operator: Literal["AND", "OR"] = "AND"
    expression: str | None = None


@dataclass(frozen=True, slots=True)
class Hits:
    """The answer of an engine, best first: store rows, and the engine's own number for each row.

    `larger_is_better` gives the direction of the raw numbers: False for FTS5's bm25() and for distances.
    `number` names the raw numbers of a full-text search.
    """

    rows: Rows
    raw: Floats
    larger_is_better: bool = False
    number: str = "bm25"

    @property
    def relevance(self) -> Floats:
        """The raw numbers, negated where smaller is better: larger is always better."""
        return self.raw if self.larger_is_better else -self.raw


@dataclass(frozen=True, slots=True)
class Leg:
    """What one leg of a search did: what it asked, how many hits it could bring, and the hits it brought.

    `number` names the raw numbers of the hits.
    """

    name: str
    asked: str | None
    depth: int
    hits: Hits
    number: str = field(default="bm25", kw_only=True)


class Stage(Protocol):
    """A step of a pipeline: a frozen value that fills one slot and describes itself in a sentence."""

    @property
    def slot(self) -> str: ...

    @property
    def says(self) -> str: ...

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """The allowed values of parameters by their names, from the least to the greatest."""

    def reads(self) -> tuple[str, ...]:
        """The columns that must exist before this stage runs."""

    def may_read(self) -> tuple[str, ...]:
        """The columns that this stage uses if an earlier stage has written them."""

    def writes(self) -> tuple[str, ...]:
        """The columns that this stage adds. No other stage of the pipeline may write them."""

    def run(self, trace: Trace, context: Any) -> Trace: ...


class DropKind(StrEnum):
    """Why a stage drops a candidate."""

    FLOOR = "floor"
    LEG_FLOOR = "leg floor"
    FILTER = "filter"
    FOLD = "fold"
    LIMIT = "limit"


Value = float | str
"""What a cut-off stage compares: a number, or for a filter the name of a source."""


def reaches(value: Any, limit: Value, at_most: bool = False) -> Any:
    """Whether a value, or each value of an array, is within a limit; an absent value never is.

    A number must be at least `limit`, with `at_most` at most. A name must be one of those in `limit`.
    """
    if isinstance(limit, str):
        return np.isin(value, limit.split(", "))
    return value <= limit if at_most else value >= limit


@dataclass(frozen=True, slots=True)
class Compared:
    """One candidate's value beside the limit of a threshold."""

    measure: str
    value: Value
    limit: Value
    at_most: bool = False

    @property
    def reached(self) -> bool:
        """Whether the value is within the limit; an absent value never is."""
        return bool(reaches(self.value, self.limit, self.at_most))


@dataclass(frozen=True, slots=True)
class Threshold:
    """One threshold of a cut-off stage: a measure, the value of each candidate, and the limit.

    A candidate passes with a value of at least `limit`; with `at_most`, with a value of at most `limit`. A
    filter passes the values that `limit` names.
    """

    measure: str
    values: NDArray[Any]
    limit: Value
    at_most: bool = False

    @property
    def passing(self) -> NDArray[np.bool_]:
        """The candidates that pass, in the shape of the values; an absent value never does."""
        return np.asarray(reaches(self.values, self.limit, self.at_most), bool)

    def compared(self, row: int) -> Compared:
        """The value of the candidate in this row beside the limit."""
        return Compared(self.measure, self.values[row].item(), self.limit, self.at_most)


@dataclass(frozen=True, slots=True)
class Cutoff:
    """What a cut-off stage decided: the kind of cut, and what it compared.

    A candidate passes when one of the thresholds lets it pass. `applied` marks the candidates that were
    still in when the stage ran.
    """

    kind: DropKind
    thresholds: tuple[Threshold, ...]
    applied: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Drop:
    """Why a candidate is not in the answer: the stage that dropped it, the kind of cut, what it missed."""

    stage: Stage
    kind: DropKind
    misses: tuple[Compared, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One row of a trace: a chunk, its numbers by column name, its position in the order, and its fate.

    `position` counts from 1 over all candidates. `drop` is None for a result. `ranked_by` names the column
    that the candidates are ranked by.
    """

    chunk: Chunk
    numbers: Mapping[str, float]
    position: int
    drop: Drop | None
    ranked_by: str = "score"

    @property
    def score(self) -> float:
        """The number that the candidate is ranked by."""
        return self.numbers[self.ranked_by]

    @property
    def dropped_by(self) -> Stage | None:
        """The stage that dropped the candidate; None for a result."""
        return self.drop.stage if self.drop else None


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of a trace after one of its stages."""

    columns: Mapping[str, Floats]
    dropped: NDArray[np.int64]
    order: NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Trace(Tabular):
    """What one search did, in columns: row i of every column belongs to `chunks[i]`.

    `columns` hold float64 with NaN for absent: for each leg `<leg>_raw` as the engine gave it, `<leg>_rank`
    from 1 and `<leg>_relevance` with larger better, then what the stages computed. `scales` says what the
    numbers of a column mean. `dropped` holds the index of the stage that dropped the row, or KEPT, and
    `cutoffs` what each cut-off stage compared, by the index of the stage. `order` lists rows best first,
    ranked by the column `ranked_by`. `moments` holds the state after each stage that ran. `layout` is the
    layout of the index that was searched.
    """

    question: str
    system: str
    stages: tuple[Stage, ...]
    query: Query | None = None
    match: str | None = None
    legs: Mapping[str, Leg] = field(default_factory=dict)
    chunks: tuple[Chunk, ...] = ()
    rows: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    columns: Mapping[str, Floats] = field(default_factory=dict)
    scales: Mapping[str, str] = field(default_factory=dict)
    dropped: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    cutoffs: Mapping[int, Cutoff] = field(default_factory=dict)
    order: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    ranked_by: str = "score"
    notes: tuple[str, ...] = ()
    layout: Any = None
    moments: tuple[Moment, ...] = ()

    def __repr__(self) -> str:
        """One line; `workbench.show` prints all, and a notebook shows all."""
        returned = int(np.sum(self.dropped == KEPT))
        counted = f"{returned} of {len(self.chunks)} candidates returned"
        return f"<Trace: {self.question!r}, {self.system}, {counted}>"

    def but(self, **changed: Any) -> Trace:
        """This trace with some fields changed, as by `dataclasses.replace`, in a fifth of the time."""
        if not changed.keys() <= self.__dict__.keys():
            raise TypeError(f"A trace has no {', '.join(sorted(changed.keys() - self.__dict__.keys()))}.")
        # All of `__dict__` is copied. A cached property would be copied too, so a trace has none.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **changed)
        return other

    @property
    def scores(self) -> Floats:
        """The column that the candidates are ranked by."""
        return self.columns[self.ranked_by]

    @property
    def ids(self) -> NDArray[Any]:
        """The ids of the candidates."""
        return np.array([chunk.id for chunk in self.chunks], np.str_)

    def place_of(self, stage: Stage) -> int:
        """The index of a stage."""
        # Most often it is this very stage, and comparing stages takes longer than looking for it.
        same = (place for place, one in enumerate(self.stages) if one is stage)
        place = next(same, None)
        return self.stages.index(stage) if place is None else place

    def candidate(self, row: int) -> Candidate:
        """The candidate in row `row` of the columns."""
        position = int(np.flatnonzero(self.order == row)[0]) + 1
        return self._candidate(row, position)

    def _candidate(self, row: int, position: int) -> Candidate:
        numbers = {name: float(column[row]) for name, column in self.columns.items()}
        return Candidate(self.chunks[row], numbers, position, self.drop(row), self.ranked_by)

    def drop(self, row: int) -> Drop | None:
        """Why the candidate in this row was dropped; None for a result."""
        place = int(self.dropped[row])
        if place == KEPT:
            return None
        cut = self.cutoffs[place]
        return Drop(self.stages[place], cut.kind, tuple(one.compared(row) for one in cut.thresholds))

    @property
    def candidates(self) -> list[Candidate]:
        """Every candidate in order, dropped ones included."""
        return [self._candidate(int(row), place) for place, row in enumerate(self.order, 1)]

    @property
    def results(self) -> list[Candidate]:
        """The candidates that no stage dropped, best first: the answer."""
        places = enumerate(self.order.tolist(), 1)
        return [self._candidate(row, place) for place, row in places if self.dropped[row] == KEPT]

    def paths(self) -> list[str]:
        """The files of the results, each once, in the order of their best chunk."""
        kept = self.order[self.dropped[self.order] == KEPT]
        return list(dict.fromkeys(self.chunks[row].path for row in kept))

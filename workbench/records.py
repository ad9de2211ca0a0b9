"""The nouns that every room shares: frozen, and without behaviour beyond reading themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Vector = NDArray[np.float32]

KEPT = -1
"""The value of `Trace.dropped` for a candidate that no stage has dropped."""


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
    """A stretch of a document, cut but not yet stored; lines count from 1 and both ends belong to it."""

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
class Hits:
    """What an engine answered, best first: store rows and the engine's own numbers, one of each per hit."""

    rows: Rows
    raw: Floats


@dataclass(frozen=True, slots=True)
class Leg:
    """One leg of a search: what it was asked, how many hits it might bring, and those it brought.

    `number` says what the raw numbers of its hits are.
    """

    name: str
    asked: str | None
    depth: int
    hits: Hits
    number: str = field(default="bm25", kw_only=True)


class Stage(Protocol):
    """A step of a pipeline: a frozen value that fills one slot and says in a sentence what it does."""

    @property
    def slot(self) -> str: ...

    @property
    def says(self) -> str: ...

    def run(self, trace: Trace, context: Any) -> Trace: ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """One row of a trace: a chunk, its numbers by column name, its place in the order, and its fate.

    `position` counts from 1 over all candidates in fused order. `dropped_by` is None for a result.
    """

    chunk: Chunk
    numbers: Mapping[str, float]
    position: int
    dropped_by: Stage | None

    @property
    def score(self) -> float:
        return self.numbers["score"]


@dataclass(frozen=True, repr=False)
class Trace:
    """What one search did, in columns: row i of every column belongs to `chunks[i]`.

    `columns` hold float64 with NaN for absent: `keyword_raw` and `vector_raw` as the engine gave them,
    `keyword_rank` and `vector_rank` from 1, `keyword_score` and `vector_score` larger is better, `score`.
    `view` is how the pipeline laid the index out before it searched, where it did.
    `dropped` holds the index of the stage that dropped the row, or KEPT. `order` lists rows best first.
    """

    question: str
    system: str
    stages: tuple[Stage, ...]
    match: str | None = None
    legs: Mapping[str, Leg] = field(default_factory=dict)
    chunks: tuple[Chunk, ...] = ()
    rows: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    columns: Mapping[str, Floats] = field(default_factory=dict)
    dropped: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    order: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    notes: tuple[str, ...] = ()
    view: Any = None

    def __repr__(self) -> str:
        """One line, since a notebook prints what a cell ends with; `workbench.show` prints all."""
        returned = int(np.sum(self.dropped == KEPT))
        counted = f"{returned} of {len(self.chunks)} candidates returned"
        return f"<Trace: {self.question!r} asked of {self.system}, {counted}>"

    def candidate(self, row: int) -> Candidate:
        """The candidate in row `row` of the columns."""
        position = int(np.flatnonzero(self.order == row)[0]) + 1
        return self._candidate(row, position)

    def _candidate(self, row: int, position: int) -> Candidate:
        numbers = {name: float(column[row]) for name, column in self.columns.items()}
        stage = None if self.dropped[row] == KEPT else self.stages[self.dropped[row]]
        return Candidate(self.chunks[row], numbers, position, stage)

    @property
    def candidates(self) -> list[Candidate]:
        """Every candidate in fused order, dropped ones included."""
        return [self._candidate(int(row), place) for place, row in enumerate(self.order, 1)]

    @property
    def results(self) -> list[Candidate]:
        """The candidates that no stage dropped, best first: the answer."""
        return [found for found in self.candidates if found.dropped_by is None]

    def paths(self) -> list[str]:
        """The files of the results, each once, in the order of their best chunk."""
        kept = self.order[self.dropped[self.order] == KEPT]
        return list(dict.fromkeys(self.chunks[row].path for row in kept))

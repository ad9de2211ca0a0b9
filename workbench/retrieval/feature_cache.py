"""Computes per-chunk features once and caches them, for all questions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from threading import RLock
from typing import TypeVar

import numpy as np

from workbench.contracts import Index
from workbench.records import Chunk, Floats, Rows, Trace
from workbench.retrieval.index_adapters import kept

MOST_CHUNKS = 512
MOST_COLUMNS = 2_048
"""The cache holds this many chunks, and this many numbers of each. Beyond that it is emptied."""
MOST_TABLES = 32
"""The cache holds so many tables of pairs, of 2 MB each. Beyond that it forgets the one not used longest."""
UNKNOWN = np.inf

Name = TypeVar("Name", bound=Hashable)


def square(table: Floats, places: Rows) -> Floats:
    """The rows and the columns of `places`; several times as fast as by np.ix_."""
    result: Floats = table.take(places, axis=0).take(places, axis=1)
    return result


class FeatureCache:
    """Numbers of chunks by name, and numbers of pairs of chunks. A number may be NaN, but not infinite."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._forget()

    def _forget(self) -> None:
        self._places: Rows = np.empty(0, np.int64)
        self._chunks = 0
        self._columns: dict[Hashable, Floats] = {}
        self._tables: dict[Hashable, Floats] = {}

    def columns(
        self,
        names: Sequence[Name],
        rows: Rows,
        chunks: Sequence[Chunk],
        work_out: Callable[[Name, Chunk], float],
    ) -> Floats:
        """A number of each name for each of these chunks, whose rows are distinct: shape (names, chunks)."""
        if rows.size > MOST_CHUNKS:
            numbers = [work_out(name, chunk) for name in names for chunk in chunks]
            return np.array(numbers, float).reshape(len(names), rows.size)
        with self._lock:
            if len(self._columns) > MOST_COLUMNS:
                self._forget()
            places = self._places_of(rows)
            for name in names:
                if name not in self._columns:
                    self._columns[name] = np.full(MOST_CHUNKS, UNKNOWN)
            columns = [self._columns[name] for name in names]
            found = np.array([column[places] for column in columns], float).reshape(len(names), rows.size)
            for row, place in np.argwhere(found == UNKNOWN).tolist():
                found[row, place] = columns[row][places[place]] = work_out(names[row], chunks[place])
            return found

    def pairs(
        self,
        name: Hashable,
        rows: Rows,
        work_out: Callable[[Rows, Rows], Floats],
        every: Callable[[], Rows] | None = None,
    ) -> Floats:
        """A number for every two of these rows, which are distinct: shape (n, n).

        `work_out(rows, some)` computes the numbers of some rows with all rows; `some` are their positions
        among the rows. `every` gives the rows of a whole index, if it is small. Its pairs are computed as
        soon as a second set of rows lacks some, since further questions would lack others.
        """
        if rows.size > MOST_CHUNKS:
            return work_out(rows, np.arange(rows.size))
        with self._lock:
            again = name in self._tables
            found = self._filled(name, rows, None if again and every is not None else work_out)
            if found is None and every is not None:
                whole = every()
                if rows.size < whole.size <= MOST_CHUNKS:
                    self._filled(name, whole, work_out)
                found = self._filled(name, rows, work_out)
            assert found is not None  # with `work_out` there are no holes
            return found

    def _filled(
        self, name: Hashable, rows: Rows, work_out: Callable[[Rows, Rows], Floats] | None
    ) -> Floats | None:
        """The numbers of these rows, holes filled with `work_out`; None if there are holes and no such."""
        places = self._places_of(rows)
        table = self._table(name)
        found = square(table, places)
        holes = np.flatnonzero((found == UNKNOWN).any(axis=1))
        if holes.size == 0:
            return found
        if work_out is None:
            return None
        found[holes] = work_out(rows, holes)
        found[:, holes] = found[holes].T
        table[np.ix_(places, places)] = found
        return found

    def _table(self, name: Hashable) -> Floats:
        """The table of a name, as the one that was used last."""
        table = self._tables.pop(name, None)
        if table is None:
            if len(self._tables) >= MOST_TABLES:
                del self._tables[next(iter(self._tables))]
            table = np.full((MOST_CHUNKS, MOST_CHUNKS), UNKNOWN)
        self._tables[name] = table
        return table

    def _places_of(self, rows: Rows) -> Rows:
        beyond = int(rows.max(initial=-1)) + 1 - self._places.size
        if beyond > 0:
            self._places = np.concatenate([self._places, np.full(beyond, -1)])
        new = rows[self._places[rows] < 0]
        if self._chunks + new.size > MOST_CHUNKS:
            self._forget()
            return self._places_of(rows)
        self._places[new] = np.arange(self._chunks, self._chunks + new.size)
        self._chunks += new.size
        places: Rows = self._places[rows]
        return places


def feature_cache_of(index: Index) -> FeatureCache:
    """The feature cache of an index, for as long as the index does not change."""
    return kept(index, "features", FeatureCache)


def of_candidates(trace: Trace, index: Index, name: Hashable, work_out: Callable[[Chunk], float]) -> Floats:
    """A number for each candidate, computed once for each chunk and name."""
    features = feature_cache_of(index)
    (column,) = features.columns([name], trace.rows, trace.chunks, lambda _, chunk: work_out(chunk))
    numbers: Floats = column
    return numbers

"""The candidates of many questions as one table, so that a stage runs for all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.records import Floats, Trace
from workbench.retrieval.columns import Columns, over_present

Marks = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class CandidateTable:
    """Candidates of many questions, in the order of their traces: shape (candidates, questions).

    `columns` have NaN for absent. `there` marks the places that hold a candidate, and `mine` those of the
    right file. `ties` orders equal candidates. `files` numbers the files. The candidates are the
    first axis, so that a sum over them is fast.
    """

    columns: Mapping[str, Floats]
    there: Marks
    mine: Marks
    ties: Numbers
    files: Numbers

    @classmethod
    def of(
        cls, traces: Sequence[Trace], targets: Sequence[str | None], order: Sequence[str] = ()
    ) -> CandidateTable:
        """The table of traces as they are when their candidates are known, with the right file of each.

        Equal candidates are ordered by the columns of `order`, and then by chunk id.
        """
        shape = max((len(trace.chunks) for trace in traces), default=0), len(traces)
        names = dict.fromkeys(name for trace in traces for name in trace.columns)
        columns = {name: np.full(shape, np.nan) for name in names}
        there, ties, files = np.zeros(shape, bool), np.zeros(shape, np.int64), np.full(shape, -1)
        numbers: dict[str, int] = {}
        for place, trace in enumerate(traces):
            count = len(trace.chunks)
            for name, column in trace.columns.items():
                columns[name][:count, place] = column
            there[:count, place] = True
            ids = np.array([one.id for one in trace.chunks], np.str_)
            keys = [trace.columns[name] for name in reversed(order) if name in trace.columns]
            ties[:count, place] = np.argsort(np.lexsort((ids, *keys)))
            files[:count, place] = [numbers.setdefault(one.path, len(numbers)) for one in trace.chunks]
        wanted = np.array([numbers.get(one or "", -2) for one in targets], np.int64)
        return cls(columns, there, files == wanted, ties, files)

    @cached_property
    def full(self) -> bool:
        """Whether every place holds a candidate."""
        return bool(self.there.all())

    @cached_property
    def own(self) -> Numbers:
        """The places of the right file's candidates: shape (the most of them, questions)."""
        most = int(self.mine.sum(axis=0).max(initial=0))
        return np.argsort(~self.mine, axis=0, kind="stable")[:most]

    @cached_property
    def own_there(self) -> Marks:
        """Which of `own` are candidates of the right file."""
        return np.take_along_axis(self.mine, self.own, axis=0)

    @property
    def questions(self) -> int:
        """The number of questions."""
        return int(self.there.shape[1])

    def blocks(self, numbers: int) -> Iterator[tuple[slice, CandidateTable]]:
        """The table in blocks of questions, of about so many numbers a column, to fit a processor's cache."""
        size = max(1, numbers // max(1, self.there.shape[0]))
        for start in range(0, self.questions, size):
            part = slice(start, start + size)
            columns = {name: np.ascontiguousarray(one[:, part]) for name, one in self.columns.items()}
            there, mine = np.ascontiguousarray(self.there[:, part]), np.ascontiguousarray(self.mine[:, part])
            ties, files = np.ascontiguousarray(self.ties[:, part]), np.ascontiguousarray(self.files[:, part])
            yield part, CandidateTable(columns, there, mine, ties, files)


@dataclass(frozen=True)
class ColumnsOfMany(Columns):
    """The columns of many questions. A statistic of a column is taken over each question's candidates.

    `known` keeps filled columns for all settings of a sweep, each with the column that it was filled from.
    """

    known: dict[tuple[str, float], tuple[Floats, Floats]] = field(default_factory=dict)

    def filled(self, name: str, absent: float) -> Floats:
        column = self.values[name]
        before, found = self.known.get((name, absent), (None, column))
        if before is not column:
            found = super().filled(name, absent)
            self.known[name, absent] = column, found
        return found

    def over(self, statistic: Callable[[Floats], Any], name: str) -> Any:
        column = self.values[name]
        if statistic is np.min:
            return _least(column)
        if statistic is np.max:
            return -_least(-column)
        return np.array([over_present(statistic, column[:, place]) for place in range(column.shape[1])])


def _least(column: Floats) -> Floats:
    """The smallest number of each question, NaN for a question without one."""
    return np.asarray(np.fmin.reduce(column, axis=0))

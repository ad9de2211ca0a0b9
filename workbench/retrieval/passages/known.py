"""Numbers of chunks for a question, computed once for each chunk."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray

from workbench.records import Rows

Numbers = NDArray[np.float32]
MOST_QUESTIONS = 1024
"""Questions whose numbers are kept, so that a server's memory does not grow with every question. The oldest
one is dropped first."""


class KnownNumbers:
    """Numbers of chunks, for each of the last questions; those of a chunk depend on no other chunk."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Rows, Numbers]] = {}

    def of(self, question: Hashable, rows: Rows, work_out: Callable[[Rows], Numbers]) -> Numbers:
        """The numbers of these chunks: (chunks, numbers). `work_out` computes those that are not known."""
        if question not in self._known:
            if len(self._known) >= MOST_QUESTIONS:
                del self._known[next(iter(self._known))]
            self._known[question] = _in_order(rows, work_out(rows))
        known, numbers = self._known[question]
        new = np.setdiff1d(rows, known)
        if new.size:
            known, numbers = _in_order(np.concatenate([known, new]), np.concatenate([numbers, work_out(new)]))
            self._known[question] = known, numbers
        found: Numbers = numbers[np.searchsorted(known, rows)]
        return found


def _in_order(rows: Rows, numbers: Numbers) -> tuple[Rows, Numbers]:
    order = np.argsort(rows)
    return rows[order], numbers[order]

"""Open indexes of one memory, so that searches run side by side: one index for each thread that searches."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from workbench.memory.embedding.local import Embedder
from workbench.memory.index import OpenIndex

MOST_SEARCHES = 8
SEARCH_SECONDS = 20.0


def side_by_side() -> int:
    """How many searches run at the same time: one for each core, and at most MOST_SEARCHES."""
    return min(os.cpu_count() or 1, MOST_SEARCHES)


class IndexPool:
    """Lends an open index to each thread that searches; a thread waits when all of them are lent.

    An index is opened when it is first needed, and kept. All of them use one embedder, so that a model is
    loaded once, and share the vectors of one state of the store.
    """

    def __init__(self, opened: Callable[[], OpenIndex], most: int, seconds: float = SEARCH_SECONDS) -> None:
        self._opened = opened
        self._seconds = seconds
        self._room = threading.BoundedSemaphore(most)
        self._lock = threading.Lock()
        self._idle: list[OpenIndex] = []
        self._closings = 0
        self._embedder: Embedder | None = None

    @contextmanager
    def lend(self) -> Iterator[OpenIndex]:
        """An index in one state, for the calling thread alone.

        Raises what opening it raises, and InputError when the search takes more than `seconds`.
        """
        with self._room:
            with self._lock:
                index, closings = self._idle.pop() if self._idle else None, self._closings
            index = index or self._opened()
            try:
                with index.snapshot():
                    self._share_embedder(index)
                    with index.time_limit(self._seconds):
                        yield index
            finally:
                self._take_back(index, closings)

    def _share_embedder(self, index: OpenIndex) -> None:
        """Gives the index the embedder that the others use, unless it has been rebuilt with another model."""
        with self._lock:
            known, own = self._embedder, index.embedder
            if known is not None and (known.name, known.revision) == (own.name, own.revision):
                index.embedder = known
            else:
                self._embedder = own

    def _take_back(self, index: OpenIndex, closings: int) -> None:
        with self._lock:
            if closings == self._closings:
                self._idle.append(index)
                return
        index.close()

    def close(self) -> None:
        """Closes every index: those that are lent when they come back. A later search opens a new one."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._closings += 1
        for index in idle:
            index.close()

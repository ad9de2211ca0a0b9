"""The nearest rows by exact cosine: every vector is looked at, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.records import Hits, Rows, Vector

ROUNDING = 1e-5
"""More than float32 loses in a dot product of two unit vectors."""


class Scan:
    """Rows with their chunk ids and unit vectors, of shape (n, dimensions), that can be scanned.

    At 100,000 chunks that is five times faster than the same scan in vec0.
    """

    def __init__(self, rows: Rows, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        self.rows = rows
        self.vectors = vectors
        self._by_id = np.argsort(np.argsort(np.array(ids, np.str_)))

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.rows.size

    @property
    def dimensions(self) -> int:
        return int(self.vectors.shape[1])

    def nearest(self, query: Vector, limit: int) -> Hits:
        """The nearest rows to a unit vector of as many dimensions, by (cosine distance, chunk id)."""
        near = _within(1.0 - self.vectors @ query, limit)
        # One row at a time and in float64: the fast product above rounds a row by where it stands.
        distance = 1.0 - np.einsum("ij,j->i", self.vectors[near].astype(float), query.astype(float))
        best = np.lexsort((self._by_id[near], distance))[:limit]
        return Hits(self.rows[near[best]], distance[best])


def _within(numbers: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """The places of the `count` smallest numbers, and of all that rounding could put among them."""
    if count >= numbers.size:
        return np.arange(numbers.size)
    edge = np.partition(numbers, count - 1)[count - 1]
    return np.flatnonzero(numbers <= edge + ROUNDING)

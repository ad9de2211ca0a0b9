"""The nearest rows by exact cosine, in NumPy: every vector that could be among them is looked at.

Vectors by their main directions: a short part of each, and how much of its length is outside.

A dot product is that of the two parts plus that of the two rests, and the second is at most the product of
the rests' lengths (Cauchy and Schwarz). So the parts alone prove of most rows that they are not among the
nearest. Nothing is approximated: rows without such a proof are left for an exact comparison.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.records import Hits, Rows, Vector

SAMPLE = 4_096
"""The directions come from so many of the rows, evenly spaced."""
INSIDE = 0.95
"""The share of the squared length that the directions hold: of MiniLM's 384 dimensions, about 160."""
LARGEST_SHARE = 0.1
"""With more rows left than this share, comparing them one by one costs more than one product with all."""
LEAST_SAVED = 8_000_000
"""Bytes. The parts are used if reading them instead of the vectors saves at least so much."""
SLACK = 1e-5
"""Added to squared lengths of rests, which are differences of float32 numbers."""


class MainDirections:
    """The main directions of at least one vector: shape (n, dimensions), kept and not copied.

    `useful` says whether `possible` may be asked: whether it would be faster than a comparison of all.
    A direction's numbers lie side by side: BLAS then takes half of the time for the product with a question.
    """

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self._vectors = vectors
        self._directions = directions_of(vectors)
        self.useful = vectors.nbytes * (1 - self._directions.shape[1] / vectors.shape[1]) >= LEAST_SAVED
        if self.useful:
            parts = np.empty((self._directions.shape[1] + 1, len(vectors)), np.float32)
            np.matmul(self._directions.T, vectors.T, out=parts[:-1])
            parts[-1] = _rests(vectors, parts[:-1].T)
            self._parts_and_rest = parts

    def possible(self, query: Vector, limit: int, rounding: float) -> NDArray[np.int64] | None:
        """The places of rows that can be among the `limit` of largest dot product; None if too many can.

        `limit` is less than the number of rows. `rounding` is what float32 can lose in one dot product.
        """
        part = query @ self._directions
        most = np.append(part, _rests(query[None], part[None])) @ self._parts_and_rest
        first = largest(most, limit)
        reached = (self._vectors[first] @ query).min() - 2 * rounding
        found = np.flatnonzero(most >= reached)
        return found if found.size <= LARGEST_SHARE * most.size else None


COLUMN = 64
"""Numbers are looked through in columns of so many."""


def largest(numbers: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """The places of the `count` largest of more numbers, in any order.

    They are in the columns with the `count` largest maxima, which takes less time to find out than a
    selection among all numbers.
    """
    columns = numbers.size // COLUMN
    if columns <= count:
        return np.argpartition(numbers, -count)[-count:]
    table = numbers[: COLUMN * columns].reshape(COLUMN, columns)
    best = np.argpartition(table.max(axis=0), -count)[-count:]
    last = np.arange(table.size, numbers.size)
    some = np.concatenate([(np.arange(COLUMN)[:, None] * columns + best).ravel(), last])
    found: NDArray[np.int64] = some[np.argpartition(numbers[some], -count)[-count:]]
    return found


def directions_of(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The fewest orthogonal unit vectors that hold INSIDE of the squared length: (dimensions, directions)."""
    sample = vectors[:: max(1, len(vectors) // SAMPLE)].astype(float)
    strengths, directions = np.linalg.eigh(sample.T @ sample)
    shares = np.cumsum(strengths[::-1]) / max(strengths.sum(), np.finfo(float).tiny)
    count = min(shares.size, int(np.searchsorted(shares, INSIDE)) + 1)
    return np.ascontiguousarray(directions[:, ::-1][:, :count], np.float32)


def _rests(vectors: NDArray[np.float32], parts: NDArray[np.float32]) -> NDArray[np.float32]:
    """The length of each vector outside of the directions, rounded up."""
    outside = np.einsum("ij,ij->i", vectors, vectors) - np.einsum("ij,ij->i", parts, parts)
    lengths: NDArray[np.float32] = np.sqrt(np.maximum(outside, 0) + np.float32(SLACK))
    return lengths


ROUNDING = 1e-5
"""More than float32 loses in a dot product of two unit vectors."""
NUMBERS_AT_ONCE = 16_000_000
"""The number of distances that are computed at once for several questions: 64 MB."""
SUMMARISED_AFTER = 8
"""The main directions are computed after so many questions; a single one does not pay for them."""


class Scan:
    """Rows with their chunk ids and unit vectors, of shape (n, dimensions), that can be scanned.

    Numbers in the order of the chunk ids serve as ids.

    At 100,000 chunks that is five times faster than the same scan in vec0. After a few questions, the main
    directions of the vectors say which of them cannot be among the nearest; the others are compared exactly.
    """

    def __init__(self, rows: Rows, ids: Sequence[str] | Rows, vectors: NDArray[np.float32]) -> None:
        self.rows = rows
        self.vectors = vectors
        self._by_id = np.argsort(np.argsort(np.asarray(ids)))
        self._asked = 0
        self._main: MainDirections | None = None

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.rows.size

    @property
    def dimensions(self) -> int:
        return int(self.vectors.shape[1])

    def nearest(self, query: Vector, limit: int) -> Hits:
        """The nearest rows to a unit vector of as many dimensions, by (cosine distance, chunk id)."""
        near = self._possible(query, limit)
        if near is None:
            near = _within(self.vectors @ query, limit)
        return self._exactly(query, near, limit)

    def _possible(self, query: Vector, limit: int) -> NDArray[np.int64] | None:
        """Few rows with the nearest among them; None where all rows must be compared."""
        self._asked += 1
        if self._asked <= SUMMARISED_AFTER or limit > LARGEST_SHARE * self.size or limit < 1:
            return None
        if self.vectors.nbytes < LEAST_SAVED:
            return None
        if self._main is None:
            self._main = MainDirections(self.vectors)
        return self._main.possible(query, limit, ROUNDING) if self._main.useful else None

    def nearest_of_each(self, queries: NDArray[np.float32], limit: int) -> list[Hits]:
        """The answers of `nearest` to several unit vectors, one in each row, from a few matrix products."""
        at_once = max(1, NUMBERS_AT_ONCE // max(1, self.size))
        blocks = [queries[start : start + at_once] for start in range(0, len(queries), at_once)]
        return [
            self._exactly(query, _within(near, limit), limit)
            for block in blocks
            for query, near in zip(block, block @ self.vectors.T, strict=True)
        ]

    def _exactly(self, query: Vector, near: NDArray[np.int64], limit: int) -> Hits:
        hits = exact_hits(self.rows[near], self.vectors[near], query)
        best = np.lexsort((self._by_id[near], hits.raw))[:limit]
        return hits.at(best)


def exact_hits(rows: Rows, vectors: NDArray[np.float32], query: Vector) -> Hits:
    """These rows in their order, with the exact cosine distances of their unit vectors from a unit vector."""
    # One row at a time and in float64: a product by BLAS rounds a row by where it stands.
    return Hits(rows, 1.0 - np.einsum("ij,j->i", vectors.astype(float), query.astype(float)))


def _within(cosines: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """The places of the `count` largest numbers, and of all that rounding could put among them."""
    if count >= cosines.size:
        return np.arange(cosines.size)
    edge = np.partition(cosines, cosines.size - count)[cosines.size - count]
    return np.flatnonzero(cosines >= edge - ROUNDING)

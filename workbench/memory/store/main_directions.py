"""Vectors by their main directions: a short part of each, and how much of its length is outside.

A dot product is that of the two parts plus that of the two rests, and the second is at most the product of
the rests' lengths (Cauchy and Schwarz). So the parts alone prove of most rows that they are not among the
nearest. Nothing is approximated: rows without such a proof are left for an exact comparison.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.records import Vector

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
    """

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self._vectors = vectors
        self._directions = directions_of(vectors)
        self.useful = vectors.nbytes * (1 - self._directions.shape[1] / vectors.shape[1]) >= LEAST_SAVED
        self._parts = vectors @ self._directions if self.useful else vectors[:0]
        self._rests = _rests(vectors, self._parts) if self.useful else vectors[0, :0]

    def possible(self, query: Vector, limit: int, rounding: float) -> NDArray[np.int64] | None:
        """The places of rows that can be among the `limit` of largest dot product; None if too many can.

        `limit` is less than the number of rows. `rounding` is what float32 can lose in one dot product.
        """
        part = query @ self._directions
        inside = self._parts @ part
        first = np.argpartition(inside, -limit)[-limit:]
        reached = (self._vectors[first] @ query).min() - 2 * rounding
        rest = _rests(query[None], part[None])[0]
        found = np.flatnonzero(inside + rest * self._rests >= reached)
        return found if found.size <= LARGEST_SHARE * inside.size else None


def directions_of(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The fewest orthogonal unit vectors that hold INSIDE of the squared length: (dimensions, directions)."""
    sample = vectors[:: max(1, len(vectors) // SAMPLE)].astype(float)
    strengths, directions = np.linalg.eigh(sample.T @ sample)
    held = np.cumsum(strengths[::-1]) / max(strengths.sum(), np.finfo(float).tiny)
    count = min(held.size, int(np.searchsorted(held, INSIDE)) + 1)
    return np.ascontiguousarray(directions[:, ::-1][:, :count], np.float32)


def _rests(vectors: NDArray[np.float32], parts: NDArray[np.float32]) -> NDArray[np.float32]:
    """The length of each vector outside of the directions, rounded up."""
    outside = np.einsum("ij,ij->i", vectors, vectors) - np.einsum("ij,ij->i", parts, parts)
    lengths: NDArray[np.float32] = np.sqrt(np.maximum(outside, 0) + np.float32(SLACK))
    return lengths

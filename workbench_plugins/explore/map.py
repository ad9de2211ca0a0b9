"""A map of a memory: its chunks in two dimensions, with a question and its neighbours among them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError
from workbench.memory.index import OpenIndex
from workbench.records import Vector

MOST = 5_000
"""Chunks that are drawn."""
NEIGHBOURS = 8


def memory_map(index: OpenIndex, question: str) -> dict[str, Any]:
    """The chunks' places on the plane of their two main directions (PCA), the question's, and its neighbours.

    Of more than `MOST` chunks, evenly spread ones stand for all. `shares` are the parts of the variance of
    the vectors that the two axes show. Raises InputError for an index without vectors, and for one of fewer
    than three chunks.
    """
    from workbench import figures  # which loads plotly

    rows, vectors = index.vectors()
    if rows.size < 3:
        raise InputError(
            f"A map takes three chunks, and this memory has {rows.size}.", "Add notes, and index again."
        )
    query = index.embed(question)
    near = index.vector(query, NEIGHBOURS)
    drawn = np.unique(np.linspace(0, rows.size - 1, min(MOST, rows.size)).astype(int))
    shown = np.union1d(drawn, np.flatnonzero(np.isin(rows, near.rows)))
    centre, axes, shares = main_plane(vectors[drawn])
    chunks = index.chunks(rows[shown])
    order = {int(row): n for n, row in enumerate(rows[shown])}
    first, second = (f"{share:.0%}" for share in shares)
    points = np.round((vectors[shown] - centre) @ axes, 4)
    at = np.round((query - centre) @ axes, 4)
    names = [one.location for one in chunks]
    neighbours = [order[int(row)] for row in near.rows]
    figure = figures.memory_map(
        [(float(x), float(y)) for x, y in points],
        names,
        neighbours,
        (float(at[0]), float(at[1])),
        (f"first direction ({first} of the variance)", f"second direction ({second} of the variance)"),
    )
    return {
        "figure": figure.spec,
        "near": [
            {"name": names[one], "cosine": round(1 - float(distance), 4)}
            for one, distance in zip(neighbours, near.raw, strict=True)
        ],
        "shares": shares,
        "sentence": (
            f"{shown.size:,} of {rows.size:,} chunks on the two main directions of their vectors (PCA), "
            f"which show {first} and {second} of the variance. Distance on this map is not the cosine: two "
            "chunks can be near here and far apart in the other directions. The list has the cosines."
        ),
    }


def main_plane(vectors: NDArray[np.float32]) -> tuple[Vector, NDArray[np.float64], list[float]]:
    """The mean of vectors, their two main directions as columns, and the share of the variance of each.

    The sign of a direction is such that its largest component is above 0.
    """
    centre = vectors.mean(axis=0)
    spread = (vectors - centre).astype(np.float64)
    values, directions = np.linalg.eigh(spread.T @ spread)
    axes = directions[:, :-3:-1]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    return centre, axes, [float(one) for one in values[:-3:-1] / max(values.sum(), 1e-12)]

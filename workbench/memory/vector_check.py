"""The check of stored vectors: does the model give them for their texts?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.memory.embedding.local import Embedder, has_runs

SAME_VECTOR = 0.98
"""The least cosine of a stored vector and its new one; backends and batches differ by far less."""


def cosines_again(
    embedder: Embedder, texts: Sequence[str], stored: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The cosine of each stored unit vector with that of its passage embedded again: shape (n,).

    `stored` has the shape (n, dimensions of the model). NaN stands for a text that has no vector, as a toy
    model gives for words that it does not know. It also stands for a text with long runs of data, which an
    older workbench embedded, too.
    """
    fresh = embedder.embed(texts, "passage").vectors
    surely = fresh.any(axis=1) & np.array([not has_runs(text) for text in texts], bool)
    return np.where(surely, np.einsum("ij,ij->i", stored, fresh), np.float32(np.nan))

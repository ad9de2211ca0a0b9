"""Vectors of words in 50 bytes each, and MaxSim over them.

A vector of 384 numbers becomes its 384 signs and one number, the mean of their sizes. The question's own
vectors stay exact. Source: RaBitQ and ColBERTv2 keep more; on our data the signs alone lose nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.records import Floats


@dataclass(frozen=True)
class WordCodes:
    """Signs, packed into bytes, and the mean size of the numbers: a row for each word."""

    signs: NDArray[np.uint8]
    sizes: NDArray[np.float16]

    @property
    def bytes(self) -> int:
        """The number of bytes that these codes take."""
        return self.signs.nbytes + self.sizes.nbytes

    def of(self, words: slice | NDArray[np.int64]) -> WordCodes:
        """The codes of some of the words."""
        return WordCodes(self.signs[words], self.sizes[words])


def coded(vectors: NDArray[np.float32]) -> WordCodes:
    """The codes of these vectors, one row each."""
    return WordCodes(np.packbits(vectors > 0, axis=1), np.abs(vectors).mean(axis=1).astype(np.float16))


def similarities(question: NDArray[np.float32], codes: WordCodes) -> NDArray[np.float32]:
    """About the cosine of each coded word with each of the question's words: (coded, asked)."""
    bits = np.unpackbits(codes.signs, axis=1, count=question.shape[1]).astype(np.float32)
    signed: NDArray[np.float32] = 2 * (bits @ question.T) - question.sum(axis=1)
    return signed * codes.sizes[:, None].astype(np.float32)


def max_sim(question: NDArray[np.float32], codes: WordCodes, starts: NDArray[np.int64]) -> Floats:
    """MaxSim of each text: for each word of the question its best match in the text, and the mean of these.

    `starts` holds the place of each text's first word; no text is empty. Source: ColBERT, SIGIR 2020, with
    the mean in place of the sum, so that long and short questions have one scale.
    """
    if not starts.size:
        return np.empty(0)
    best = np.maximum.reduceat(similarities(question, codes), starts, axis=0)
    return np.asarray(best.mean(axis=1), float)

"""Synthetic chunks of any number: Zipfian words, vectors of a few topics, and questions of the same words.

A question has 5 to 12 words, 45 % of them stop words, so OR over all of them matches about nine rows in
ten, as with English questions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workbench.memory.embedding.local import unit
from workbench.records import Vector

VOCABULARY = 30_000
COMMON = 120
"""The most frequent words, which stand for stop words."""
DIMENSIONS = 384
"""The dimensions of MiniLM's vectors."""
TOPICS = 32
"""The dimensions in which the vectors differ most. Independent numbers would have no neighbours to find."""
NOISE = 0.2

ZIPF = 1.0 / np.arange(1, VOCABULARY + 1)
ZIPF /= ZIPF.sum()
REACHED = np.cumsum(ZIPF)
WORDS = np.array([f"w{rank}" for rank in range(VOCABULARY + 1)], object)


@dataclass(frozen=True)
class Asked:
    """A question with its unit vector."""

    text: str
    vector: Vector


@dataclass(frozen=True)
class Corpus:
    """Texts of about 1,000 characters with unit vectors of shape (n, 384), the same for the same seed."""

    chunks: int
    seed: int = 1

    @cached_property
    def texts(self) -> list[str]:
        """The texts; each is another one."""
        random = np.random.default_rng(self.seed)
        return [random_text(random, int(random.integers(30, 300))) for _ in range(self.chunks)]

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """The unit vectors, in the order of the texts: 32 topics in 384 dimensions, and noise."""
        return self._directions(self.chunks, self.seed)

    def questions(self, count: int) -> list[Asked]:
        """Questions with vectors of the same topics."""
        return [*map(Asked, questions(count, self.seed + 1), self._directions(count, self.seed + 1))]

    def _directions(self, count: int, seed: int) -> NDArray[np.float32]:
        axes = np.random.default_rng(0).standard_normal((TOPICS, DIMENSIONS), np.float32)
        random = np.random.default_rng(seed)
        made = random.standard_normal((count, TOPICS), np.float32) @ axes
        noise = random.standard_normal((count, DIMENSIONS), np.float32)
        made /= np.float32(np.sqrt(TOPICS))  # in place: a million vectors take 1.5 GB
        noise *= NOISE
        made += noise
        del noise
        return unit(made)

    @property
    def text_bytes(self) -> int:
        """The bytes of all texts."""
        return sum(map(len, self.texts))


def questions(count: int, seed: int = 2) -> list[str]:
    """Questions of 5 to 12 words, of which a little under half are common."""
    random = np.random.default_rng(seed)
    return [" ".join(_question_words(random)) for _ in range(count)]


def _question_words(random: np.random.Generator) -> Iterator[str]:
    length = int(random.integers(5, 13))
    common = random.random(length) < 0.45
    stop = random.choice(COMMON, length, p=ZIPF[:COMMON] / ZIPF[:COMMON].sum())
    content = COMMON + random.choice(VOCABULARY - COMMON, length, p=ZIPF[COMMON:] / ZIPF[COMMON:].sum())
    yield from (f"w{word}" for word in np.where(common, stop, content))


def random_text(random: np.random.Generator, words: int) -> str:
    """That many words, each as frequent as its rank says."""
    return " ".join(WORDS[np.searchsorted(REACHED, random.random(words))].tolist())

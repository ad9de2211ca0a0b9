"""A synthetic index of any size: Zipfian words, random unit vectors, and questions of the same words.

A question has 5 to 12 words, 45 % of them stop words, so OR over all of them matches about nine rows in
ten, as with English questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workbench.memory.chunking import LineChunker
from workbench.memory.embedding.local import Embedded, Role, unit
from workbench.memory.files import content_hash
from workbench.memory.index import MemoryIndex
from workbench.memory.store.sqlite.store import Store
from workbench.memory.store.values import Cached, Settings
from workbench.records import Document, Passage

VOCABULARY = 30_000
COMMON = 120
"""The most frequent words, which stand for stop words."""

ZIPF = 1.0 / np.arange(1, VOCABULARY + 1)
ZIPF /= ZIPF.sum()


@dataclass(frozen=True)
class RandomEmbedder:
    """Random unit vectors of MiniLM's size; the same text gives the same vector."""

    name: str = "random"
    revision: str = "1"
    dimensions: int = 384

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        seeds = (int(content_hash(text)[:8], 16) for text in texts)
        rows = [np.random.default_rng(seed).standard_normal(self.dimensions) for seed in seeds]
        return Embedded(unit(np.array(rows, np.float32)), np.ones(len(texts)))


def build(path: Path, chunks: int, seed: int = 1) -> MemoryIndex:
    """An index of `chunks` chunks of about 1,000 characters, ten per document."""
    random, embedder = np.random.default_rng(seed), RandomEmbedder()
    settings = Settings(embedder.name, embedder.revision, embedder.dimensions, LineChunker().name)
    store = Store.create(path, settings)
    for number in range(chunks // 10):
        texts = [random_text(random, int(random.integers(30, 300))) for _ in range(10)]
        passages = [Passage(text, i + 1, i + 1, content_hash(text)) for i, text in enumerate(texts)]
        vectors = embedder.embed(texts, "passage").vectors
        whole = "\n".join(texts)
        document = Document(f"memory/{number}.md", "memory", whole, content_hash(whole), len(whole), 0)
        store.replace(document, passages, [Cached(vector, 1.0) for vector in vectors])
    return MemoryIndex(store, embedder)


def questions(count: int, seed: int = 2) -> list[str]:
    """Questions of 5 to 12 words, of which a little under half are common."""
    random = np.random.default_rng(seed)
    return [" ".join(_question_words(random)) for _ in range(count)]


def _question_words(random: np.random.Generator) -> list[str]:
    length = int(random.integers(5, 13))
    common = random.random(length) < 0.45
    stop = random.choice(COMMON, length, p=ZIPF[:COMMON] / ZIPF[:COMMON].sum())
    content = COMMON + random.choice(VOCABULARY - COMMON, length, p=ZIPF[COMMON:] / ZIPF[COMMON:].sum())
    return [f"w{word}" for word in np.where(common, stop, content)]


def random_text(random: np.random.Generator, words: int) -> str:
    return " ".join(f"w{rank}" for rank in random.choice(VOCABULARY, words, p=ZIPF))

"""This workbench as a subject, and the bare product of NumPy that its vector leg is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed.corpus import DIMENSIONS, Asked, Corpus
from benchmarks.speed.subject import DEPTH, Ask, Subject
from workbench.memory.embedding.local import Embedded, Role, unit
from workbench.memory.files import content_hash
from workbench.memory.index import MemoryIndex
from workbench.memory.sources import LineChunker
from workbench.memory.store.contract import Cached, Settings
from workbench.memory.store.sqlite.store import Store
from workbench.records import Document, Passage, Trace
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WORKAROUND

A_DOCUMENT = 10
"""The chunks of one document."""

HYBRID, KEYWORD, VECTOR = "hybrid", "keyword", "vector"
FIRST = "hybrid, asked first"
"""A hybrid search for a question whose words may be new to the process, and are read from the disk."""
AS_SHIPPED, VECTOR_TRACE, LEG = "hybrid AND, trace", "vector, trace", "vector leg"


@dataclass(frozen=True)
class RandomEmbedder:
    """Random unit vectors of MiniLM's size; the same text gives the same vector."""

    name: str = "random"
    revision: str = "1"
    dimensions: int = DIMENSIONS

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        """One vector a text, shape (n, 384)."""
        seeds = (int(content_hash(text)[:8], 16) for text in texts)
        rows = [np.random.default_rng(seed).standard_normal(self.dimensions) for seed in seeds]
        return Embedded(unit(np.array(rows, np.float32)), np.ones(len(texts)))


class ThisWorkbench(Subject):
    """SQLite, with FTS5's postings and an exact scan in memory. Its traces are whole, texts included."""

    name = "workbench"

    def __init__(self) -> None:
        self.index: MemoryIndex | None = None

    def build(self, corpus: Corpus, folder: Path) -> None:
        embedder = RandomEmbedder()
        settings = Settings(embedder.name, embedder.revision, embedder.dimensions, LineChunker().name)
        store = Store.create(folder / "index.sqlite", settings)
        for document, passages, vectors in documents(corpus):
            cached = [Cached(vector, 1.0) for vector in vectors]
            hashes = [passage.hash for passage in passages]
            store.remember(settings, "passage", dict(zip(hashes, cached, strict=True)))
            store.replace(document, passages, cached)
        store.list_words()
        store.settle()
        self.index = MemoryIndex(store, embedder)

    def open(self, folder: Path) -> None:
        self.index = MemoryIndex.open(folder / "index.sqlite", RandomEmbedder())

    @property
    def asks(self) -> Mapping[str, Ask]:
        index = self.opened()
        return {
            HYBRID: _traced(THREE_FIXES, index),
            AS_SHIPPED: _traced(SHIPPED, index),
            VECTOR_TRACE: _traced(WORKAROUND, index),
            KEYWORD: lambda asked: index.chunks(
                index.keyword(THREE_FIXES["query"].query(asked.text), DEPTH).rows  # type: ignore[attr-defined]
            ),
            VECTOR: lambda asked: index.chunks(index.vector(asked.vector, DEPTH).rows),
            LEG: lambda asked: index.vector(asked.vector, DEPTH),
        }

    def opened(self) -> MemoryIndex:
        """The index, once it is built or opened."""
        if self.index is None:
            raise ValueError("build or open the index first")
        return self.index

    def close(self) -> None:
        self.opened().close()


def _traced(pipeline: Pipeline, index: MemoryIndex) -> Callable[[Asked], Trace]:
    def ask(asked: Asked) -> Trace:
        trace = search(asked.text, pipeline, index, asked.vector)
        _ = trace.results
        return trace

    return ask


def documents(corpus: Corpus) -> Iterator[tuple[Document, list[Passage], NDArray[np.float32]]]:
    """The corpus as documents of ten chunks, each with its passages and their vectors."""
    for start in range(0, corpus.chunks, A_DOCUMENT):
        texts = corpus.texts[start : start + A_DOCUMENT]
        passages = [Passage(text, line, line, content_hash(text)) for line, text in enumerate(texts, 1)]
        whole = "\n".join(texts)
        document = Document(f"memory/{start}.md", "memory", whole, content_hash(whole), len(whole), 0)
        yield document, passages, corpus.vectors[start : start + A_DOCUMENT]


class BareNumPy(Subject):
    """A matrix product, a selection of the best and their order: what any exact vector search has to do."""

    name = "bare NumPy"
    keeps_texts = False

    def build(self, corpus: Corpus, folder: Path) -> None:
        self.vectors = corpus.vectors
        np.save(folder / "vectors.npy", self.vectors)

    def open(self, folder: Path) -> None:
        self.vectors = np.load(folder / "vectors.npy")

    @property
    def asks(self) -> Mapping[str, Ask]:
        return {LEG: self._nearest}

    def _nearest(self, asked: Asked) -> NDArray[np.int64]:
        scores = self.vectors @ asked.vector
        near = np.argpartition(scores, -DEPTH)[-DEPTH:]
        best: NDArray[np.int64] = near[np.argsort(-scores[near])]
        return best

"""txtai: a vector index (approximate above 5,000 rows) and its own BM25, added up with weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed.corpus import Asked, Corpus
from benchmarks.speed.ours import HYBRID
from benchmarks.speed.subject import DEPTH, Ask, Subject, library


class Txtai(Subject):
    """`hybrid=True` with its texts in SQLite; vectors are given by text."""

    name = "txtai"
    needs = ("txtai", "faiss")

    def __init__(self) -> None:
        self.known: dict[str, NDArray[np.float32]] = {}

    def build(self, corpus: Corpus, folder: Path) -> None:
        self.known = dict(zip(corpus.texts, corpus.vectors, strict=True))
        self.index = library("txtai").Embeddings(
            method="external", transform=self._transform, content=True, hybrid=True
        )
        self.index.index((place, text, None) for place, text in enumerate(corpus.texts))
        self.known.clear()
        self.index.config.pop("transform")  # a function cannot be saved
        self.index.save(str(folder / "txtai"))

    def open(self, folder: Path) -> None:
        self.index = library("txtai").Embeddings()
        self.index.load(str(folder / "txtai"), config={"transform": self._transform})

    @property
    def _transform(self) -> Callable[[list[str]], NDArray[np.float32]]:
        return lambda texts: np.array([self.known[text] for text in texts])

    @property
    def asks(self) -> Mapping[str, Ask]:
        return {HYBRID: self._hybrid}

    def _hybrid(self, asked: Asked) -> Any:
        self.known = {asked.text: asked.vector}
        return self.index.search(asked.text, DEPTH)

    def close(self) -> None:
        self.index.close()

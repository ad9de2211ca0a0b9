"""FAISS: a flat index, which compares with every vector."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.speed.corpus import Asked, Corpus
from benchmarks.speed.ours import LEG
from benchmarks.speed.subject import DEPTH, Ask, Subject, library


class Faiss(Subject):
    """IndexFlatIP: exact, without texts."""

    name = "FAISS flat"
    needs = ("faiss",)
    keeps_texts = False

    def build(self, corpus: Corpus, folder: Path) -> None:
        faiss = library("faiss")
        self.index = faiss.IndexFlatIP(corpus.vectors.shape[1])
        self.index.add(corpus.vectors)
        faiss.write_index(self.index, str(folder / "flat.faiss"))

    def open(self, folder: Path) -> None:
        self.index = library("faiss").read_index(str(folder / "flat.faiss"))

    @property
    def asks(self) -> Mapping[str, Ask]:
        return {LEG: self._nearest}

    def _nearest(self, asked: Asked) -> Any:
        return self.index.search(asked.vector[None, :], DEPTH)

"""Chroma: approximate vector search by HNSW with its documents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.speed.corpus import Asked, Corpus
from benchmarks.speed.ours import VECTOR
from benchmarks.speed.subject import DEPTH, Ask, Subject, library

AT_ONCE = 1000


class Chroma(Subject):
    """A persistent collection with cosine distances and the default HNSW."""

    name = "Chroma (HNSW)"
    needs = ("chromadb",)
    largest = 10_000
    why_largest = "building its graph takes minutes on one core, and it has no keyword leg to compare"

    def build(self, corpus: Corpus, folder: Path) -> None:
        made = self._client(folder).create_collection("chunks", metadata={"hnsw:space": "cosine"})
        for start in range(0, corpus.chunks, AT_ONCE):
            here = slice(start, start + AT_ONCE)
            ids = [str(place) for place in range(corpus.chunks)[here]]
            made.add(ids, embeddings=corpus.vectors[here], documents=corpus.texts[here])
        self.collection = made

    def open(self, folder: Path) -> None:
        self.collection = self._client(folder).get_collection("chunks")

    def _client(self, folder: Path) -> Any:
        settings = library("chromadb.config").Settings(anonymized_telemetry=False)
        return library("chromadb").PersistentClient(str(folder / "chroma"), settings)

    @property
    def asks(self) -> Mapping[str, Ask]:
        return {VECTOR: self._vector}

    def _vector(self, asked: Asked) -> Any:
        return self.collection.query(query_embeddings=[asked.vector], n_results=DEPTH, include=["documents"])

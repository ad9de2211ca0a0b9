"""Qdrant's local mode: dense and sparse vectors in Python, fused by RRF."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.speed.corpus import Asked, Corpus
from benchmarks.speed.ours import HYBRID, VECTOR
from benchmarks.speed.subject import DEPTH, Ask, Subject, library

AT_ONCE = 500


class Qdrant(Subject):
    """The client without a server. Its sparse vectors hold the counts of words, weighted by IDF."""

    name = "qdrant-client, local"
    needs = ("qdrant_client",)
    largest = 10_000
    why_largest = "its local mode is for tests: it advises a server above 20,000 points"

    def build(self, corpus: Corpus, folder: Path) -> None:
        self.open(folder)
        models = self.models
        size = corpus.vectors.shape[1]
        self.client.create_collection(
            "chunks",
            vectors_config={"dense": models.VectorParams(size=size, distance=models.Distance.COSINE)},
            sparse_vectors_config={"words": models.SparseVectorParams(modifier=models.Modifier.IDF)},
        )
        for start in range(0, corpus.chunks, AT_ONCE):
            places = range(start, min(corpus.chunks, start + AT_ONCE))
            self.client.upsert("chunks", [self._point(corpus, place) for place in places])

    def _point(self, corpus: Corpus, place: int) -> Any:
        text = corpus.texts[place]
        vectors = {"dense": corpus.vectors[place].tolist(), "words": self._sparse(text)}
        return self.models.PointStruct(id=place, vector=vectors, payload={"text": text})

    def _sparse(self, text: str) -> Any:
        counts = Counter(int(word[1:]) for word in text.split())
        return self.models.SparseVector(indices=list(counts), values=[float(one) for one in counts.values()])

    def open(self, folder: Path) -> None:
        self.models = library("qdrant_client.models")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.client = library("qdrant_client").QdrantClient(path=str(folder / "qdrant"))

    @property
    def asks(self) -> Mapping[str, Ask]:
        return {HYBRID: self._hybrid, VECTOR: self._vector}

    def _hybrid(self, asked: Asked) -> Any:
        models = self.models
        legs = [
            models.Prefetch(query=asked.vector.tolist(), using="dense", limit=DEPTH),
            models.Prefetch(query=self._sparse(asked.text), using="words", limit=DEPTH),
        ]
        fusion = models.FusionQuery(fusion=models.Fusion.RRF)
        return self.client.query_points("chunks", prefetch=legs, query=fusion, limit=DEPTH)

    def _vector(self, asked: Asked) -> Any:
        return self.client.query_points("chunks", query=asked.vector.tolist(), using="dense", limit=DEPTH)

    def close(self) -> None:
        self.client.close()

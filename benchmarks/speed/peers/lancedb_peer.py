"""LanceDB: a table with a full-text index and an exact vector search, fused by its RRFReranker."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.speed.corpus import Asked, Corpus
from benchmarks.speed.ours import HYBRID, KEYWORD, VECTOR
from benchmarks.speed.subject import DEPTH, Ask, Subject, library


class LanceDB(Subject):
    """No approximate index: the vector search is exact."""

    name = "LanceDB"
    needs = ("lancedb", "pyarrow")

    def build(self, corpus: Corpus, folder: Path) -> None:
        arrow = library("pyarrow")
        flat = arrow.array(corpus.vectors.ravel())
        vectors = arrow.FixedSizeListArray.from_arrays(flat, corpus.vectors.shape[1])
        rows = arrow.table({"text": corpus.texts, "vector": vectors})
        self.table = library("lancedb").connect(str(folder)).create_table("chunks", rows)
        self.table.create_fts_index("text")
        self.reranker = library("lancedb.rerankers").RRFReranker()

    def open(self, folder: Path) -> None:
        self.table = library("lancedb").connect(str(folder)).open_table("chunks")
        self.reranker = library("lancedb.rerankers").RRFReranker()

    @property
    def asks(self) -> Mapping[str, Ask]:
        return {HYBRID: self._hybrid, KEYWORD: self._keyword, VECTOR: self._vector}

    def _hybrid(self, asked: Asked) -> Any:
        asking = self.table.search(query_type="hybrid").vector(asked.vector).text(asked.text)
        return asking.distance_type("cosine").rerank(self.reranker).limit(DEPTH).to_arrow()

    def _keyword(self, asked: Asked) -> Any:
        return self.table.search(asked.text, query_type="fts").limit(DEPTH).to_arrow()

    def _vector(self, asked: Asked) -> Any:
        return self.table.search(asked.vector).distance_type("cosine").limit(DEPTH).to_arrow()

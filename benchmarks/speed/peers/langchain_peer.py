"""LangChain: BM25Retriever (rank_bm25) and FAISS in an EnsembleRetriever."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed.corpus import Asked, Corpus
from benchmarks.speed.ours import HYBRID
from benchmarks.speed.subject import DEPTH, Ask, Subject, library


class LangChain(Subject):
    """As its documentation puts them together, with equal weights."""

    name = "LangChain ensemble"
    needs = ("langchain_classic", "langchain_community", "rank_bm25", "faiss")
    largest = 10_000
    why_largest = "rank_bm25 scores every chunk in Python's objects: half a second a question"
    reopens = False

    def build(self, corpus: Corpus, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            retrievers = library("langchain_community.retrievers")
            stores = library("langchain_community.vectorstores")
        ensemble = library("langchain_classic.retrievers").EnsembleRetriever
        base = library("langchain_core.embeddings").Embeddings
        self.vector: NDArray[np.float32] = np.empty(0, np.float32)
        given = type("Given", (base,), {"embed_documents": self._refuse, "embed_query": self._given})()
        pairs = ((text, vector.tolist()) for text, vector in zip(corpus.texts, corpus.vectors, strict=True))
        store = stores.FAISS.from_embeddings(pairs, given)
        words = retrievers.BM25Retriever.from_texts(corpus.texts)
        words.k = DEPTH
        near = store.as_retriever(search_kwargs={"k": DEPTH})
        self.ensemble = ensemble(retrievers=[words, near], weights=[0.5, 0.5])

    def _refuse(self, *_: object) -> Any:
        raise ValueError("the vectors are given")

    def _given(self, *_: object) -> list[float]:
        vector: list[float] = self.vector.tolist()
        return vector

    @property
    def asks(self) -> Mapping[str, Ask]:
        return {HYBRID: self._hybrid}

    def _hybrid(self, asked: Asked) -> Any:
        self.vector = asked.vector
        return self.ensemble.invoke(asked.text)

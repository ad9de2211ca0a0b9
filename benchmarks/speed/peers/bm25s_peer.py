"""bm25s: sparse BM25 scores in memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.speed.corpus import Asked, Corpus
from benchmarks.speed.ours import KEYWORD
from benchmarks.speed.subject import DEPTH, Ask, Subject, library


class BM25S(Subject):
    """Its own tokenizer without stop words, and the texts of the hits."""

    name = "bm25s"
    needs = ("bm25s",)

    def build(self, corpus: Corpus, folder: Path) -> None:
        self.bm25s = library("bm25s")
        self.index = self.bm25s.BM25()
        tokens = self.bm25s.tokenize(corpus.texts, stopwords=None, show_progress=False)
        self.index.index(tokens, show_progress=False)
        self.index.save(str(folder), corpus=corpus.texts)
        self.texts = corpus.texts

    def open(self, folder: Path) -> None:
        self.bm25s = library("bm25s")
        self.index = self.bm25s.BM25.load(str(folder), load_corpus=True)
        self.texts = [one["text"] for one in self.index.corpus]

    @property
    def asks(self) -> Mapping[str, Ask]:
        return {KEYWORD: self._keyword}

    def _keyword(self, asked: Asked) -> list[str]:
        tokens = self.bm25s.tokenize([asked.text], stopwords=None, show_progress=False)
        places, _ = self.index.retrieve(tokens, corpus=range(len(self.texts)), k=DEPTH, show_progress=False)
        return [self.texts[place] for place in places[0]]

"""The keyword leg of LangChain's BM25Retriever: words split at blanks, with capitals and punctuation.

Source: langchain-community 0.4.2, retrievers/bm25.py, and rank_bm25 0.2.2, BM25Okapi.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from workbench.contracts import Context, Index
from workbench.records import Clause, Floats, Hits, Leg, Query, Rows, Trace
from workbench.retrieval.columns import PlainStage
from workbench.retrieval.index_adapters import memoized
from workbench.retrieval.legs import Depth, QueryLeg, no_hits, with_leg

K1, B = 1.5, 0.75
"""The constants of BM25Okapi."""
EPSILON = 0.25
"""A word that more than half of the texts have weighs this share of the mean weight."""


@dataclass(frozen=True)
class SplitWords(PlainStage, slot="query"):
    """The query: the question split at blanks, each word with its capitals and its punctuation."""

    description: ClassVar[str] = "words = the question split at blanks, with capitals and punctuation"

    def run(self, trace: Trace, context: Context) -> Trace:
        words = trace.question.split()
        return trace.with_changes(query=Query(tuple(map(Clause, words)), "OR"), match=" ".join(words))


@dataclass(frozen=True)
class SplitTexts:
    """The words of all chunks, split at blanks: how often each stands in which text, and the lengths."""

    rows: Rows
    having: dict[str, dict[int, int]]
    lengths: Floats
    weights: dict[str, float]

    @classmethod
    def of(cls, rows: Rows, texts: Sequence[str]) -> SplitTexts:
        """Those of these texts, in their order."""
        split = [text.split() for text in texts]
        having: dict[str, dict[int, int]] = {}
        for place, words in enumerate(split):
            for word, count in Counter(words).items():
                having.setdefault(word, {})[place] = count
        return cls(rows, having, np.array([*map(len, split)], float), _weights(having, len(split)))

    def scores(self, words: Sequence[str]) -> Floats:
        """BM25Okapi of each text; a word that the question has twice counts twice."""
        total = np.zeros(self.rows.size)
        mean = self.lengths.mean() if self.lengths.any() else 1.0
        for word in words:
            counts = np.zeros(self.rows.size)
            for place, count in self.having.get(word, {}).items():
                counts[place] = count
            norm = K1 * (1 - B + B * self.lengths / mean)
            total += self.weights.get(word, 0.0) * (counts * (K1 + 1) / (counts + norm))
        return total


def _weights(having: dict[str, dict[int, int]], texts: int) -> dict[str, float]:
    """The IDF of each word; for a negative one, EPSILON of the mean of all."""
    counts = {word: len(some) for word, some in having.items()}
    found = {word: math.log(texts - count + 0.5) - math.log(count + 0.5) for word, count in counts.items()}
    least = EPSILON * sum(found.values()) / max(1, len(found))
    return {word: least if weight < 0 else weight for word, weight in found.items()}


@dataclass(frozen=True)
class SplitWordsLeg(QueryLeg):
    """The chunks with the highest BM25Okapi, as many as the depth says, even where no word matches.

    Of equal scores the later chunk is first, as in the reversed argsort of BM25Retriever.
    """

    best_raw: ClassVar[tuple[float, ...]] = (1e12, 0.0)
    worst_raw: ClassVar[float] = 0.0
    depth: Depth

    @property
    def description(self) -> str:
        return f"keyword leg: BM25Okapi of words split at blanks, also without a match, {self.depth}"

    def deepest(self, limit: float) -> int:
        return self.depth.of(limit)

    def run(self, trace: Trace, context: Context) -> Trace:
        depth = self.depth.of(context.limit)
        every = self.every(trace, context)
        found = Hits(every.rows[:depth], every.raw[:depth], larger_is_better=True)
        return with_leg(trace, Leg(self.name, trace.match, depth, found, number=self.number))

    def every(self, trace: Trace, context: Context) -> Hits:
        texts = _texts(context.index)
        if not texts.rows.size:
            return no_hits()
        scores = texts.scores(_words(trace))
        order = np.argsort(scores, kind="stable")[::-1]
        return Hits(texts.rows[order], scores[order], larger_is_better=True)

    def missing(self, trace: Trace, index: Index, rows: Rows) -> list[tuple[str, ...]]:
        words = list(dict.fromkeys(_words(trace)))
        held = [set(chunk.text.split()) for chunk in index.chunks(rows)]
        return [tuple(word for word in words if word not in one) for one in held]


def _words(trace: Trace) -> list[str]:
    return [clause.text for clause in trace.query.clauses] if trace.query else []


def _texts(index: Index) -> SplitTexts:
    """The split texts of an index, made once for each of its generations."""

    def made() -> SplitTexts:
        rows = np.sort(np.concatenate([np.empty(0, np.int64), *map(index.rows_of, index.paths())]))
        return SplitTexts.of(rows, [chunk.text for chunk in index.chunks(rows)])

    return memoized(index, SplitWordsLeg, made)

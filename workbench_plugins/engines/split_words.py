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
from workbench.records import Floats, Hits, Leg, Rows, Trace
from workbench.retrieval.index_adapters import memoized
from workbench.retrieval.legs import Depth, QueryLeg, no_hits, with_leg
from workbench_plugins.engines.presets import PositiveRank

K1, B = 1.5, 0.75
"""The constants of BM25Okapi."""
EPSILON = 0.25
"""A word that more than half of the texts have weighs this share of the mean weight."""


@dataclass(frozen=True)
class SplitTexts:
    """The words of chunks, split at blanks: how often each stands in which text, and the lengths."""

    rows: Rows
    having: dict[str, dict[int, int]]
    lengths: Floats
    weights: dict[str, float]

    @classmethod
    def of(cls, rows: Rows, texts: Sequence[str]) -> SplitTexts:
        """Those of these texts, in their order."""
        split = [text.split() for text in texts]
        having: dict[str, dict[int, int]] = {}
        for number, words in enumerate(split):
            for word, count in Counter(words).items():
                having.setdefault(word, {})[number] = count
        return cls(rows, having, np.array([*map(len, split)], float), _weights(having, len(split)))

    def scores(self, words: Sequence[str]) -> Floats:
        """BM25Okapi of each text; a word that the question has twice counts twice."""
        total = np.zeros(self.rows.size)
        mean = self.lengths.mean() if self.lengths.any() else 1.0
        for word in words:
            counts = np.zeros(self.rows.size)
            for number, count in self.having.get(word, {}).items():
                counts[number] = count
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
class OkapiScore(PositiveRank, scale="bm25"):
    """The keyword score is BM25Okapi's number, larger for a better match."""

    description: ClassVar[str] = "keyword score = BM25Okapi"


@dataclass(frozen=True)
class SplitWordsLeg(QueryLeg):
    """The chunks with the highest BM25Okapi, as many as the depth says, even where no word matches.

    Equal scores are ordered by chunk id; BM25Retriever has them in the order of NumPy's unstable sort.
    """

    best_raw: ClassVar[tuple[float, ...]] = (1e12, 0.0)
    worst_raw: ClassVar[float] = 0.0
    depth: Depth

    @property
    def description(self) -> str:
        return f"keyword leg: BM25Okapi of the question split at blanks, also without a match, {self.depth}"

    def deepest(self, limit: float) -> int:
        return self.depth.of(limit)

    def run(self, trace: Trace, context: Context) -> Trace:
        depth = self.depth.of(context.limit)
        every = self.every(trace, context)
        found = Hits(every.rows[:depth], every.raw[:depth], larger_is_better=True)
        return with_leg(trace, Leg(self.name, " ".join(_words(trace)), depth, found, number=self.number))

    def every(self, trace: Trace, context: Context) -> Hits:
        texts = _texts(context.index)
        if not texts.rows.size:
            return no_hits()
        scores = texts.scores(_words(trace))
        order = np.argsort(-scores, kind="stable")
        return Hits(texts.rows[order], scores[order], larger_is_better=True)

    def missing(self, trace: Trace, index: Index, rows: Rows) -> list[tuple[str, ...]]:
        words = list(dict.fromkeys(_words(trace)))
        held = [set(chunk.text.split()) for chunk in index.chunks(rows)]
        return [tuple(word for word in words if word not in one) for one in held]


def _words(trace: Trace) -> list[str]:
    return trace.question.encode("utf-8", "replace").decode().split()


def _texts(index: Index) -> SplitTexts:
    """The split texts of an index, made once for each of its generations."""

    def build() -> SplitTexts:
        listed = [index.rows_of(path) for path in index.paths()]
        rows = np.concatenate(listed) if listed else np.arange(index.size)
        by_id = sorted(zip(index.chunks(rows), rows.tolist(), strict=True), key=lambda one: one[0].id)
        return SplitTexts.of(np.array([row for _, row in by_id], np.int64), [one.text for one, _ in by_id])

    return memoized(index, SplitWordsLeg, build)

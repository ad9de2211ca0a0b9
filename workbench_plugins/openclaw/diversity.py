"""Maximal marginal relevance: candidates that repeat a higher-ranked one move down.

Source: Carbonell and Goldstein, SIGIR 1998; openclaw 2026.2.15, src/memory/mmr.ts (openclaw#18097).
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Context, Index
from workbench.memory.sources import beginning
from workbench.records import Floats, Rows, Trace
from workbench.retrieval.columns import ColumnStage, Numbers
from workbench.retrieval.index_adapters import kept

WORD = re.compile(r"[a-z0-9_]+")
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u1100-\u11ff]")
"""Kana, Han, Hangul: scripts that write words without spaces between them."""
MOST_CHUNKS, MOST_TABLES = 512, 32
"""The similarities of an index with so many chunks are computed once: 2 MB for each way to read the texts."""


def words_of(text: str) -> list[str]:
    """The distinct ASCII words of a text, in lower case.

    >>> words_of("Hello hello_world 你好")
    ['hello', 'hello_world']
    """
    return list(dict.fromkeys(WORD.findall(text.lower())))


def words_and_characters_of(text: str) -> list[str]:
    """`words_of`, then every pair of neighbouring characters of an unspaced script, then each character.

    >>> words_and_characters_of("我喜欢hello你好")
    ['hello', '我喜', '喜欢', '你好', '我', '喜', '欢', '你', '好']
    """
    if text.isascii():
        return words_of(text)
    lower = text.lower()
    places = [match.start() for match in UNSPACED.finditer(lower)]
    pairs = [lower[a : a + 2] for a, b in pairwise(places) if b == a + 1]
    return list(dict.fromkeys([*words_of(text), *pairs, *(lower[place] for place in places)]))


def jaccard(one: Sequence[str], other: Sequence[str]) -> float:
    """The Jaccard index |A ∩ B| / |A ∪ B|; 1 for two empty sets.

    >>> jaccard("abc", "bcd"), jaccard("", ""), jaccard("a", "")
    (0.5, 1.0, 0.0)
    """
    left, right = set(one), set(other)
    return len(left & right) / len(left | right) if left or right else 1.0


def jaccard_index(shared: Floats, one: Floats, other: Floats) -> Floats:
    """`jaccard` in columns, from the numbers of shared tokens and of all tokens; 0 for two empty sets."""
    union = one + other - shared
    result: Floats = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    return result


def mmr_score(relevance: Any, similarity: Any, weight: Any) -> Any:
    """weight × relevance - (1 - weight) × similarity. Works on columns, numbers and terms."""
    return weight * relevance - (1 - weight) * similarity


def relevances(scores: Floats) -> Floats:
    """Scores scaled to the range 0 to 1; all 1 if the scores are equal."""
    spread = np.ptp(scores) if scores.size else 0.0
    return np.ones(scores.size) if spread == 0 else (scores - scores.min()) / spread


class Picked(NamedTuple):
    """The places in the order in which they were picked, and each one's relevance and similarity then."""

    order: NDArray[np.int64]
    relevance: Floats
    similarity: Floats


def pick(scores: Floats, similarity: Floats, weight: float) -> Picked:
    """Picks all places one by one: next is the best `mmr_score` against the places picked so far.

    `scores` are in descending order, and `similarity` has the shape (n, n), from 0 to 1. Ties go to the
    earlier place, which has the higher score. With weight 1 the order stays as it is. The weight is clamped
    to the range 0 to 1.
    """
    weight = min(1.0, max(0.0, weight))
    relevance = relevances(scores)
    value = mmr_score(relevance, 0.0, weight)
    # Row i holds upper bounds of the values once i has been picked. Only the most similar picked place
    # counts, and it gives the smallest value. argmax takes the first of equal values.
    after = mmr_score(relevance, similarity, weight)
    np.fill_diagonal(after, -np.inf)
    rows, picked = list(after), []
    for _ in range(scores.size):
        best = value.argmax()
        picked.append(best)
        np.minimum(value, rows[best], out=value)
    order = np.array(picked, np.int64)
    place = np.empty(scores.size, np.int64)
    place[order] = np.arange(scores.size)
    earlier = place[None, :] < place[:, None]
    return Picked(order, relevance, np.where(earlier, similarity, 0.0).max(axis=1, initial=0.0))


@dataclass(frozen=True)
class MMR(
    ColumnStage,
    slot="diversity",
    output="mmr_score",
    scale="MMR",
    observed=("mmr_relevance", "mmr_similarity", "mmr_position"),
):
    """Reorders all candidates by `pick`. Scores do not change, so a floor drops the same candidates.

    Two candidates are similar if the first 700 UTF-16 units of their texts share words.
    Source: openclaw 2026.2.17.
    """

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {
        "relevance_weight": (0, 1),
        "units": (0, 1_000_000),
    }
    relevance_weight: float = 0.7
    units: int = 700

    @property
    def says(self) -> str:
        return (
            f"reorder by MMR: {self.relevance_weight:g} × relevance - {1 - self.relevance_weight:.3g} × "
            "similarity to higher-ranked texts; scores do not change"
        )

    def tokens(self, text: str) -> list[str]:
        return words_of(text)

    def alike(self, one: str, other: str) -> bool:
        """Whether two texts without tokens count as equal."""
        return True

    def groups(self, trace: Trace) -> list[NDArray[np.int64]]:
        """Groups of rows, in order; MMR reorders the rows within each group."""
        return [trace.order]

    def scores(self, trace: Trace) -> Floats:
        return trace.columns["score"]

    def formula(self, of: Numbers) -> Any:
        weight = of.constant(min(1.0, max(0.0, self.relevance_weight)))
        return mmr_score(of["mmr_relevance"], of["mmr_similarity"], weight)

    def reads(self) -> tuple[str, ...]:
        return (*super().reads(), "score")

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        relevance, similarity, position = np.full((3, len(trace.chunks)), np.nan)
        scores, placed = self.scores(trace), 0
        for group in self.groups(trace):
            group = group[np.argsort(-scores[group], kind="stable")]
            alike = self.similarity(trace, group, context.index)
            picked = pick(scores[group], alike, self.relevance_weight)
            relevance[group], similarity[group] = picked.relevance, picked.similarity
            position[group[picked.order]] = np.arange(placed + 1, placed + group.size + 1)
            placed += group.size
        return {"mmr_relevance": relevance, "mmr_similarity": similarity, "mmr_position": position}

    def run(self, trace: Trace, context: Context) -> Trace:
        trace = super().run(trace, context)
        return trace.but(order=np.argsort(trace.columns["mmr_position"]))

    def similarity(self, trace: Trace, group: Rows, index: Index) -> Floats:
        """`similarities` of the candidates in these rows of the trace: shape (n, n).

        Those of a small index are computed once, for all of its chunks.
        """
        rows, every = trace.rows[group], kept(index, "rows", lambda: _every_row(index))
        if every.size > MOST_CHUNKS or not np.isin(rows, every).all():
            return self._of(index, rows)
        tables = kept(index, "similarities", dict[Hashable, Floats])
        cut = any(2 * len(chunk.text) > self.units for chunk in trace.chunks)
        name = type(self), self.units if cut else None
        if name not in tables:
            if len(tables) >= MOST_TABLES:
                tables.clear()
            tables[name] = self._of(index, every)
        places = np.searchsorted(every, rows)
        # Several times as fast as np.ix_.
        return tables[name].take(places, axis=0).take(places, axis=1)

    def _of(self, index: Index, rows: Rows) -> Floats:
        return self.similarities([beginning(chunk.text, self.units) for chunk in index.chunks(rows)])

    def similarities(self, texts: Sequence[str]) -> Floats:
        """`jaccard` of every two texts: shape (n, n)."""
        has = _incidence([self.tokens(text) for text in texts])
        shared = (has.common @ has.common.T).astype(float)
        np.fill_diagonal(shared, has.sizes)
        result = jaccard_index(shared, has.sizes[:, None], has.sizes)
        for one, other in np.argwhere((has.sizes[:, None] == 0) & (has.sizes == 0)):
            result[one, other] = self.alike(texts[one], texts[other])
        return result


def _every_row(index: Index) -> Rows:
    """The rows of all chunks in ascending order; none for an index that does not list its files."""
    return np.sort(np.concatenate([np.empty(0, np.int64), *map(index.rows_of, index.paths())]))


class _Incidence(NamedTuple):
    """Which text has which token (tokens of two or more texts only), and how many tokens each text has."""

    common: NDArray[np.float32]
    sizes: Floats


def _incidence(tokens: Sequence[Sequence[str]]) -> _Incidence:
    numbers: dict[str, int] = {}
    every = np.array([numbers.setdefault(one, len(numbers)) for one in chain.from_iterable(tokens)], np.int64)
    sizes = np.array([len(some) for some in tokens], np.int64)
    several = np.bincount(every, minlength=len(numbers)) > 1
    columns, shared = np.cumsum(several) - 1, several[every]
    common = np.zeros((len(tokens), int(several.sum())), np.float32)
    common[np.repeat(np.arange(len(tokens)), sizes)[shared], columns[every[shared]]] = 1
    return _Incidence(common, sizes.astype(float))


@dataclass(frozen=True)
class UnspacedMMR(MMR):
    """`MMR` that also compares the characters of unspaced scripts. Source: openclaw 2026.9.6, mmr.ts."""

    def tokens(self, text: str) -> list[str]:
        return words_and_characters_of(text)

    def alike(self, one: str, other: str) -> bool:
        return one == other

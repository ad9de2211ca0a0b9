"""The keyword search in memory: FTS5's bm25() from FTS5's own postings, without scoring in SQL.

The postings of a phrase say which chunks contain it, and how often. They are read when a query first needs
them, and kept in a cache of bounded size. A question with common words then costs a few sums of columns.
"""

from __future__ import annotations

import math
import re
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.memory.files import is_utf8
from workbench.records import Clause, Floats, Hits, Query, Rows

K1, B = 1.2, 0.75
"""The constants of FTS5's bm25()."""
SMALLEST_IDF = 1e-6
"""FTS5's IDF of a phrase that half of the chunks or more contain."""
BYTES_PER_CHUNK = 2_048
LEAST_BYTES = 16_000_000
"""The cache of postings holds this many bytes for each chunk of the index, or LEAST_BYTES if that is more."""
BARE_WORD = re.compile(r"[A-Za-z0-9_\x80-\U0010ffff]+")
"""A text that FTS5 reads as one phrase without quotes, unless it is an operator."""
OPERATORS = {"AND", "OR", "NOT", "NEAR"}
COMMON_SHARE = 0.5
"""A phrase that so large a share of the chunks contains has its weights in a column of all chunks, too."""
OFFSET_BITS = 24
"""An offset in a chunk has fewer bits."""

Ordinals = NDArray[np.integer[Any]]
Counts = NDArray[np.integer[Any]]
"""In as few bytes as hold the largest: to keep a new page of memory takes as long as to fill it."""


class NoPostingsError(Exception):
    """A query cannot be answered from postings; the message says why."""


class Sizes(NamedTuple):
    """The rows of a full-text table, ascending, each one's length in tokens, and the table's own totals."""

    rows: Rows
    lengths: Rows
    total_rows: int
    total_tokens: int


class Instances(NamedTuple):
    """Where a term stands, ordered: the row of each instance, and its offset in tokens."""

    rows: Rows
    offsets: Rows


class Having(NamedTuple):
    """The rows that contain a phrase, ascending, and how often each does."""

    rows: Rows
    counts: Counts


class PostingsSource(ABC):
    """What a full-text table of one column says about itself. Ask it within one state of the store."""

    @abstractmethod
    def tokens(self, text: str) -> list[str]:
        """The terms of a phrase, as the table's tokenizer makes them."""

    @abstractmethod
    def sizes(self) -> Sizes:
        """The length of every row. Raises NoPostingsError if the table does not keep lengths."""

    @abstractmethod
    def having(self, term: str) -> Having:
        """The rows that contain a term. Raises NoPostingsError for too many instances."""

    @abstractmethod
    def instances(self, term: str) -> Instances:
        """The instances of a term with their offsets. Raises NoPostingsError for too many instances."""


class Postings(NamedTuple):
    """The chunks that contain a phrase, as ascending numbers in the list of rows, and how often each does."""

    ordinals: Ordinals
    counts: Counts
    weights: Floats
    """The phrase's part of each chunk's BM25 score, with FTS5's k1 and b."""
    column: Floats | None = None
    """For a common phrase its part of the score of every chunk, 0 where it does not stand."""

    @property
    def bytes(self) -> int:
        """The size in memory."""
        column = 0 if self.column is None else self.column.nbytes
        return self.ordinals.nbytes + self.counts.nbytes + self.weights.nbytes + column


class Scored(NamedTuple):
    """All chunks that match a query, as ordinals in the list of rows, and their scores; larger is better."""

    ordinals: Ordinals
    scores: Floats


def fts5_idf(rows: int, having: int) -> float:
    """FTS5's weight of a phrase that `having` of `rows` contain; 0.000001 where that is not above 0.

    Source: SQLite, ext/fts5/fts5_aux.c.
    """
    weight = math.log((rows - having + 0.5) / (having + 0.5))
    return weight if weight > 0 else SMALLEST_IDF


WITHOUT_LENGTH = "the full-text table has a row without a length"


@dataclass(frozen=True)
class Collection:
    """What BM25 takes from all chunks of a table. The arithmetic is in FTS5's order, so sums are the same.

    Source: SQLite, ext/fts5/fts5_aux.c, fts5Bm25Function.
    """

    sizes: Sizes

    def norms(self, k1: float, b: float) -> Floats:
        """k1 × (1 - b + b × length / mean length) for each row."""
        lengths, total = self.sizes.lengths.astype(float), self.sizes.total_tokens
        mean = total / self.sizes.total_rows if total else 1.0
        norms: Floats = k1 * (1 - b + b * lengths / mean)
        return norms

    @cached_property
    def _fts5_norms(self) -> Floats:
        return self.norms(K1, B)

    @cached_property
    def _ordinals(self) -> Ordinals:
        """The place of each row in the list of rows, by the row; -1 for rows that are not there."""
        rows = self.sizes.rows
        ordinals = np.full(int(rows[-1]) + 1 if rows.size else 0, -1, np.int32)
        ordinals[rows] = np.arange(rows.size)
        return ordinals

    def postings(self, having: Having) -> Postings:
        """The postings of a phrase from the rows that contain it."""
        rows, counts = having
        if rows.size and not 0 <= rows[-1] < self._ordinals.size:
            raise NoPostingsError(WITHOUT_LENGTH)
        ordinals = self._ordinals.take(rows)
        if ordinals.size and ordinals.min() < 0:
            raise NoPostingsError(WITHOUT_LENGTH)
        weights = self.weights(ordinals, counts, self._fts5_norms, K1)
        if ordinals.size < COMMON_SHARE * self.sizes.rows.size:
            return Postings(ordinals, counts, weights)
        column = np.zeros(self.sizes.rows.size)
        column[ordinals] = weights
        return Postings(ordinals, counts, weights, column)

    def weights(self, ordinals: Ordinals, counts: Counts, norms: Floats, k1: float) -> Floats:
        """The part of each posting in its chunk's score: idf × count × (k1 + 1) / (count + norm)."""
        weights: Floats = counts.astype(float)
        divisors = norms.take(ordinals)
        divisors += weights
        weights *= k1 + 1.0
        weights /= divisors
        weights *= fts5_idf(self.sizes.total_rows, ordinals.size)  # in place: a new array a step takes longer
        return weights


def each_once(rows: Rows) -> Having:
    """Each of the ascending rows once, and how often it is among them."""
    begins = np.ones(rows.size + 1, bool)  # the last one is the end of all
    begins[1:-1] = rows[1:] != rows[:-1]
    bounds = np.flatnonzero(begins)
    return Having(rows[bounds[:-1]], (bounds[1:] - bounds[:-1]).astype(np.int32))


def phrases_of(query: Query) -> list[str]:
    """The phrases of a query, in its order. Raises NoPostingsError if it is more than a list of phrases."""
    if query.expression is not None:
        raise NoPostingsError("it is written in FTS5's own syntax")
    if not query.clauses:
        raise NoPostingsError("it has no clauses")
    return [_phrase(clause) for clause in query.clauses]


def _phrase(clause: Clause) -> str:
    if clause.prefix:
        raise NoPostingsError(f"{clause.text}* is a prefix")
    if clause.bare and (clause.text in OPERATORS or not BARE_WORD.fullmatch(clause.text)):
        raise NoPostingsError(f"{clause.text} is written in FTS5's own syntax")
    if "\0" in clause.text or not is_utf8(clause.text):
        raise NoPostingsError("a clause has a character that SQLite does not take")
    return clause.text


def consecutive(instances: Sequence[Instances]) -> Rows:
    """The row of each instance of a phrase whose terms have these instances, ascending.

    Instances may overlap: "a a" stands twice in "a a a".
    """
    starts = _starts(instances[0], 0)
    for offset, term in enumerate(instances[1:], 1):
        starts = np.intersect1d(starts, _starts(term, offset), assume_unique=True)
    rows: Rows = starts >> OFFSET_BITS
    return rows


def _starts(term: Instances, offset: int) -> Rows:
    """For each instance of a phrase's term, one number for the row and the offset where the phrase starts."""
    inside = term.offsets >= offset
    starts: Rows = (term.rows[inside] << OFFSET_BITS) + (term.offsets[inside] - offset)
    return starts


class KeywordPostings:
    """The keyword search of one state of a store. Indexes that search this state share it.

    `keys` gives what equal scores are ordered by, in row order. A source is given with each question, since
    each index reads through its own connection.
    """

    def __init__(self, source: PostingsSource) -> None:
        self.collection = Collection(source.sizes())
        self._known: OrderedDict[tuple[str, ...], Postings] = OrderedDict()
        self.bytes = 0
        """The size of the cache."""
        self._lock = threading.Lock()
        self._tie_ranks: Rows | None = None
        self._norms: tuple[float, float, Floats] | None = None

    @property
    def most_bytes(self) -> int:
        """The largest size of the cache."""
        return max(LEAST_BYTES, BYTES_PER_CHUNK * self.collection.sizes.rows.size)

    def best(
        self,
        query: Query,
        limit: int,
        source: PostingsSource,
        keys: Callable[[], list[str]],
        k1: float = K1,
        b: float = B,
    ) -> Hits:
        """The hits of FTS5 for a query: by (bm25, chunk id), with the negative numbers of bm25().

        Raises NoPostingsError for a query that must be asked in SQL.
        """
        ordinals, scores = self.scored(query, source, limit, k1, b)
        near = np.flatnonzero(scores >= _edge(scores, limit))
        ordinals, scores = ordinals[near], scores[near]
        if len(set(scores.tolist())) < scores.size:
            order = np.lexsort((self._ties(keys)[ordinals], -scores))[:limit]
        else:
            order = np.argsort(-scores)[:limit]
        return Hits(self.collection.sizes.rows[ordinals[order]], -scores[order])

    def scored(
        self, query: Query, source: PostingsSource, limit: int, k1: float = K1, b: float = B
    ) -> Scored:
        """The chunks that match a query, those that are surely not among the best `limit` left out."""
        found = [self.postings(phrase, source) for phrase in phrases_of(query)]
        if query.operator == "AND":
            return matching_all([(one.ordinals, self._weights(one, k1, b)) for one in found])
        return self._matching_any(found, limit, k1, b)

    def _weights(self, one: Postings, k1: float, b: float) -> Floats:
        if (k1, b) == (K1, B):
            return one.weights
        norms = self._norms
        if norms is None or norms[:2] != (k1, b):
            norms = self._norms = k1, b, self.collection.norms(k1, b)
        return self.collection.weights(one.ordinals, one.counts, norms[2], k1)

    def _matching_any(self, found: Sequence[Postings], limit: int, k1: float, b: float) -> Scored:
        total = np.zeros(self.collection.sizes.rows.size)
        for one in found:
            if one.column is not None and (k1, b) == (K1, B):
                total += one.column  # adding 0 changes no number
            else:
                np.add.at(total, one.ordinals, self._weights(one, k1, b))
        # The best of the chunks with a rare word are a bound that most other chunks do not reach.
        enough = [one.ordinals for one in found if one.ordinals.size >= limit]
        bound = _edge(total[min(enough, key=len)], limit) if enough else 0.0
        near = np.flatnonzero(total >= bound if bound > 0 else total > 0)
        return Scored(near, total[near])

    def postings(self, phrase: str, source: PostingsSource) -> Postings:
        """The postings of a phrase. Raises NoPostingsError if they cannot be read."""
        terms = tuple(source.tokens(phrase))
        with self._lock:
            if terms in self._known:
                self._known.move_to_end(terms)
                return self._known[terms]
        found = self.collection.postings(_having(terms, source))
        with self._lock:
            if terms not in self._known:
                self._known[terms] = found
                self.bytes += found.bytes
            while self.bytes > self.most_bytes and self._known:
                _, oldest = self._known.popitem(last=False)
                self.bytes -= oldest.bytes
        return found

    def _ties(self, keys: Callable[[], list[str]]) -> Rows:
        """For each row its rank among equal scores."""
        if self._tie_ranks is None:
            names = keys()
            if len(names) != self.collection.sizes.rows.size:
                raise NoPostingsError("the full-text table has other rows than the index")
            self._tie_ranks = np.argsort(np.argsort(np.array(names, np.str_)))
        return self._tie_ranks


def _having(terms: tuple[str, ...], source: PostingsSource) -> Having:
    if len(terms) == 1:
        return source.having(terms[0])
    if not terms:
        return each_once(np.empty(0, np.int64))
    return each_once(consecutive([source.instances(term) for term in terms]))


def matching_all(parts: Sequence[tuple[Ordinals, Floats]]) -> Scored:
    """The ordinals that every part has, and the sums of their weights in the order of the parts."""
    every = min((ordinals for ordinals, _ in parts), key=len)
    for ordinals, _ in parts:
        every = every[np.isin(every, ordinals, assume_unique=True)]
    total = np.zeros(every.size)
    for ordinals, weights in parts:
        total += weights[np.searchsorted(ordinals, every)]
    return Scored(every, total)


def _edge(scores: Floats, limit: int) -> float:
    """The smallest of the `limit` largest scores; minus infinity if there are no more than `limit`."""
    if limit >= scores.size:
        return -math.inf
    return math.inf if limit < 1 else float(np.partition(scores, scores.size - limit)[scores.size - limit])

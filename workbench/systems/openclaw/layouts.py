"""The full-text tables of OpenClaw's keyword search: chunks cut into trigrams, and the paths of files.

Source: openclaw, packages/memory-host-sdk/src/host/memory-schema.ts; `store.fts.tokenizer` since #56707.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from workbench.contracts import Index, Layout
from workbench.records import Chunk, Floats, Hits, Query, Rows
from workbench.retrieval.index_adapters import IndexAdapter, adapted, kept, whole_documents
from workbench.retrieval.scoring import relevance
from workbench.systems.openclaw.fts_table import Substring, TextTable, Tokenizer
from workbench.systems.openclaw.words import (
    KNOWN,
    Apart,
    KeywordPlan,
    exact_path_tier,
    path_key,
    path_plans,
    planned,
    too_short,
    too_short_and_unspaced,
)

NO_CHUNK = -1
"""The row of a file that has no chunk."""
MOST_PATHS = 200
"""The largest number of exact paths that OpenClaw looks up."""


# Chunks cut into trigrams


class TextsLaidOut(NamedTuple):
    """A table of the chunks' texts, in the order of their ids, and the row of each in the index."""

    table: TextTable
    rows: Rows


def _texts(index: Index, paths: Sequence[str], substring: Substring) -> TextsLaidOut:
    rows = np.concatenate([np.empty(0, np.int64), *(index.rows_of(path) for path in paths)])
    by_id = sorted(zip(index.chunks(rows), rows.tolist(), strict=True), key=lambda pair: pair[0].id)
    table = TextTable([chunk.text for chunk, _ in by_id], "trigram", substring)
    return TextsLaidOut(table, np.array([row for _, row in by_id], np.int64))


class TrigramIndex(IndexAdapter):
    """An index whose keyword search uses trigrams, and substrings for the words that `apart` selects."""

    def __init__(self, inner: Index, texts: TextsLaidOut, apart: Apart) -> None:
        super().__init__(inner)
        self.texts, self.apart = texts, apart

    def keyword(self, query: Query, limit: int) -> Hits:
        """The chunks that match; only an AND of words is split into words and substrings."""
        plan = KeywordPlan(query)
        if query.operator == "AND" and query.expression is None:
            plan = planned([clause.text for clause in query.clauses], self.apart)
        hits = self.texts.table.search(plan.query, plan.substrings, limit)
        return Hits(self.texts.rows[hits.rows], hits.raw)


@dataclass(frozen=True)
class TrigramLayout:
    """Chunks in a full-text index of trigrams, as in 2026.3.31: any three characters can be found.

    Short words of Chinese, Japanese and Korean are searched with LIKE. A hit that only LIKE found gets a bm25
    of 0, which is the best possible value.
    """

    substring: ClassVar[Substring] = "like"
    says: ClassVar[str] = (
        "a full-text index of trigrams; words of one or two characters are searched with LIKE in Chinese, "
        "Japanese and Korean, and are not found in other scripts"
    )

    def apart(self, word: str) -> bool:
        """Whether a word is searched as a substring."""
        return too_short_and_unspaced(word)

    def of(self, index: Index) -> Index:
        """The index with its chunks in trigrams, built once for each generation.

        Raises InputError for an index that does not keep whole documents.
        """

        def arranged() -> TextsLaidOut:
            return _texts(index, _paths_of(index, self), self.substring)

        return TrigramIndex(index, kept(index, self, arranged), self.apart)


def _paths_of(index: Index, layout: Layout) -> list[str]:
    return [one.path for one in whole_documents(index, layout)]


@dataclass(frozen=True)
class ShortWordsLayout(TrigramLayout):
    """`TrigramLayout` as in 2026.9.6: short words of any script are searched as substrings.

    Composed and decomposed Unicode count as equal.
    """

    substring: ClassVar[Substring] = "composed"
    says: ClassVar[str] = (
        "a full-text index of trigrams; words of one or two characters are searched as substrings"
    )

    def apart(self, word: str) -> bool:
        return too_short(word)


# Paths


def _path_table(index: Index, files: Sequence[str], tokenizer: Tokenizer) -> Paths:
    paths = sorted(files)
    return Paths(paths, np.array([_first_chunk(index, path) for path in paths], np.int64), tokenizer)


def _first_chunk(index: Index, path: str) -> int:
    rows = index.rows_of(path)
    first = min(zip(index.chunks(rows), rows.tolist(), strict=True), key=_place, default=None)
    return first[1] if first else NO_CHUNK


def _place(pair: tuple[Chunk, int]) -> tuple[int, int, str]:
    chunk, _ = pair
    return chunk.start_line, chunk.end_line, chunk.id


def exact_path_tiers(question: str, index: Index, chunks: Sequence[Chunk]) -> Floats:
    """`exact_path_tier` of each chunk's path."""
    paths = adapted(index, PathIndex)
    if paths and not paths.exact_paths(question).size:
        return np.zeros(len(chunks))
    return np.array([exact_path_tier(question, chunk.path) for chunk in chunks], float)


class Paths:
    """The paths of files in a full-text table; `first` holds the row of each file's first chunk, or NO_CHUNK.

    A file without chunks is never found, but its path counts in the bm25 of the others.
    """

    def __init__(self, paths: Sequence[str], first: Rows, tokenizer: Tokenizer) -> None:
        self._paths = paths
        self._first = first
        self._tokenizer = tokenizer
        self._table = TextTable(paths, tokenizer, "composed")
        # The table and the paths never change, and different questions share terms.
        self.matching = lru_cache(maxsize=KNOWN)(self._matching)
        self.exactly = lru_cache(maxsize=KNOWN)(self._exactly)

    def _matching(self, question: str) -> Hits:
        best: dict[int, tuple[float, float]] = {}
        for plan in path_plans(question, self._tokenizer):
            hits = self._table.search(plan.query, plan.substrings, len(self._paths))
            scores = relevance(hits.raw).tolist()
            for place, score, raw in zip(hits.rows.tolist(), scores, hits.raw.tolist(), strict=True):
                if self._first[place] != NO_CHUNK:
                    best[place] = max(best.get(place, (0.0, 0.0)), (score, raw))
        order = sorted(best, key=lambda place: (-best[place][0], path_key(self._paths[place])))
        return Hits(self._first[order], np.array([best[place][1] for place in order], float))

    def _exactly(self, question: str) -> Rows:
        found = [place for place, row in enumerate(self._first.tolist()) if row != NO_CHUNK]
        tiers = [(-exact_path_tier(question, self._paths[place]), place) for place in found]
        exact = sorted((tier, place) for tier, place in tiers if tier)[:MOST_PATHS]
        return self._first[[place for _, place in exact]]


class PathIndex(IndexAdapter):
    """An index that also searches the paths of files, and knows its tokenizer."""

    def __init__(self, inner: Index, paths: Paths, tokenizer: Tokenizer) -> None:
        super().__init__(inner)
        self.path_table, self.tokenizer = paths, tokenizer

    def path_hits(self, question: str, limit: int) -> Hits:
        """The files whose path has all words of the question, each as its first chunk, best first.

        `raw` is bm25 over the paths. A file that only substrings found gets 0, the best possible value.
        """
        found = self.path_table.matching(question)
        return Hits(found.rows[:limit], found.raw[:limit])

    def exact_paths(self, question: str) -> Rows:
        """The first chunks of the files whose path, name or stem is the question, at most 200."""
        return self.path_table.exactly(question)


@dataclass(frozen=True)
class PathsLayout:
    """A full-text index of the files' paths beside the one of the chunks, as in 2026.9.6.

    With the tokenizer trigram, both tables hold trigrams.
    """

    tokenizer: Tokenizer = "unicode61"

    @property
    def says(self) -> str:
        chunks = ShortWordsLayout.says if self.tokenizer == "trigram" else "the full-text index of the chunks"
        return f"{chunks}, and another one of the files' paths"

    def of(self, index: Index) -> Index:
        """The index with a table of its paths, built once for each generation.

        Raises InputError for an index that does not keep whole documents.
        """
        paths = kept(index, self, lambda: _path_table(index, _paths_of(index, self), self.tokenizer))
        chunks = ShortWordsLayout().of(index) if self.tokenizer == "trigram" else index
        return PathIndex(chunks, paths, self.tokenizer)

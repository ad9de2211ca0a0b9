"""How OpenClaw lays a memory out for its keyword search: chunks cut into trigrams, and the paths of files.

Source: openclaw, packages/memory-host-sdk/src/host/memory-schema.ts; `store.fts.tokenizer` since #56707.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple, Protocol, cast

import numpy as np

from workbench.records import Chunk, Floats, Hits, Rows
from workbench.retrieval.index_adapters import Library, SeenThrough, kept, library
from workbench.retrieval.legs import Index
from workbench.retrieval.scoring import relevance
from workbench.systems.openclaw.fts_table import Substring, TextTable, Tokenizer
from workbench.systems.openclaw.words import (
    KNOWN,
    Apart,
    exact_path_tier,
    path_key,
    path_plans,
    planned,
    too_short,
    too_short_and_unspaced,
)

QUOTED = re.compile(r'"((?:[^"]|"")*)"')
MOST_PATHS = 200
"""How many exact paths OpenClaw looks at."""


# Chunks cut into trigrams


class TextsLaidOut(NamedTuple):
    """A table of the chunks' texts, in the order of their ids, and the row of each in the index."""

    table: TextTable
    rows: Rows


def _texts(index: Library, substring: Substring) -> TextsLaidOut:
    rows = np.concatenate([np.empty(0, np.int64), *(index.rows_of(one.path) for one in index.documents())])
    by_id = sorted(zip(index.chunks(rows), rows.tolist(), strict=True), key=lambda pair: pair[0].id)
    table = TextTable([chunk.text for chunk, _ in by_id], "trigram", substring)
    return TextsLaidOut(table, np.array([row for _, row in by_id], np.int64))


@dataclass(frozen=True)
class TrigramIndex(SeenThrough):
    """An index whose keyword search is by trigrams, and by substrings for the words that `apart` names."""

    texts: TextsLaidOut
    apart: Apart

    def keyword(self, match: str, limit: int) -> Hits:
        """The chunks that match; an expression that is no AND of words is put to FTS5 as it is."""
        words = [word.replace('""', '"') for word in QUOTED.findall(match)]
        plan = planned(words, self.apart)
        if QUOTED.sub("", match).replace(" AND ", ""):
            plan = plan._replace(match=match, substrings=())
        hits = self.texts.table.search(plan.match, plan.substrings, limit)
        return Hits(self.texts.rows[hits.rows], hits.raw)


@dataclass(frozen=True)
class TrigramView:
    """Chunks in a full-text index of trigrams, as 2026.3.31 has it: any three characters can be found.

    Short words of Chinese, Japanese and Korean are looked for with LIKE. What LIKE alone has found has a
    bm25 of 0, which is the best there is. An index without whole documents is searched as it is.
    """

    substring: ClassVar[Substring] = "like"
    says: ClassVar[str] = (
        "a full-text index of trigrams; words of one or two characters are looked for with LIKE in Chinese, "
        "Japanese and Korean, and never found in other scripts"
    )

    def apart(self, word: str) -> bool:
        """Whether a word is looked for as a substring."""
        return too_short_and_unspaced(word)

    def of(self, index: Index) -> Index:
        """The index with its chunks in trigrams, laid out once for each generation."""
        whole = library(index)
        return index if whole is None else self.trigrams(whole)

    def trigrams(self, index: Library) -> TrigramIndex:
        """The same, for an index that has whole documents."""
        return TrigramIndex(index, kept(index, self, lambda: _texts(index, self.substring)), self.apart)


@dataclass(frozen=True)
class ShortWordsView(TrigramView):
    """`TrigramView` as 2026.9.6 has it: short words of any script are substrings, in either composition."""

    substring: ClassVar[Substring] = "composed"
    says: ClassVar[str] = (
        "a full-text index of trigrams; words of one or two characters are looked for as substrings"
    )

    def apart(self, word: str) -> bool:
        return too_short(word)


# Paths


class SearchesPaths(Protocol):
    """An index that searches the paths of files too, and says which of FTS5's tokenizers it is under."""

    @property
    def tokenizer(self) -> Tokenizer: ...

    def path_hits(self, question: str, limit: int) -> Hits:
        """The files whose path has all words of the question, each as its first chunk, best first."""

    def exact_paths(self, question: str) -> Rows:
        """The first chunks of the files whose path, name or stem is the question."""


def _paths(index: Library, tokenizer: Tokenizer) -> Paths:
    first = {one.path: row for one in index.documents() if (row := _first_chunk(index, one.path)) is not None}
    paths = sorted(first)
    return Paths(paths, np.array([first[path] for path in paths], np.int64), tokenizer)


def _first_chunk(index: Index, path: str) -> int | None:
    rows = index.rows_of(path)
    first = min(zip(index.chunks(rows), rows.tolist(), strict=True), key=_place, default=None)
    return first[1] if first else None


def _place(pair: tuple[Chunk, int]) -> tuple[int, int, str]:
    chunk, _ = pair
    return chunk.start_line, chunk.end_line, chunk.id


def searches_paths(index: Index) -> SearchesPaths | None:
    """The index, where it searches paths; else None."""
    return cast(SearchesPaths, index) if hasattr(index, "path_hits") else None


def exact_path_tiers(question: str, index: Index, chunks: Sequence[Chunk]) -> Floats:
    """`exact_path_tier` of each chunk's path; an index that searches paths knows when there is none."""
    paths = searches_paths(index)
    if paths and not paths.exact_paths(question).size:
        return np.zeros(len(chunks))
    return np.array([exact_path_tier(question, chunk.path) for chunk in chunks], float)


class Paths:
    """The paths of files in a full-text table; `first` has the row of each file's first chunk."""

    def __init__(self, paths: Sequence[str], first: Rows, tokenizer: Tokenizer) -> None:
        self._paths = paths
        self._first = first
        self._tokenizer = tokenizer
        self._table = TextTable(paths, tokenizer, "composed")
        # Neither the table nor the paths ever change, and terms come back from question to question.
        self.matching = lru_cache(maxsize=KNOWN)(self._matching)
        self.exactly = lru_cache(maxsize=KNOWN)(self._exactly)

    def _matching(self, question: str) -> Hits:
        best: dict[int, tuple[float, float]] = {}
        for plan in path_plans(question, self._tokenizer):
            hits = self._table.search(plan.match, plan.substrings, len(self._paths))
            scores = relevance(hits.raw).tolist()
            for place, score, raw in zip(hits.rows.tolist(), scores, hits.raw.tolist(), strict=True):
                best[place] = max(best.get(place, (0.0, 0.0)), (score, raw))
        order = sorted(best, key=lambda place: (-best[place][0], path_key(self._paths[place])))
        return Hits(self._first[order], np.array([best[place][1] for place in order], float))

    def _exactly(self, question: str) -> Rows:
        tiers = [exact_path_tier(question, path) for path in self._paths]
        exact = sorted((-tier, place) for place, tier in enumerate(tiers) if tier)[:MOST_PATHS]
        return self._first[[place for _, place in exact]]


@dataclass(frozen=True)
class PathIndex(SeenThrough):
    """An index that searches the paths of files too."""

    paths: Paths
    tokenizer: Tokenizer

    def path_hits(self, question: str, limit: int) -> Hits:
        """The files whose path has all words of the question, each as its first chunk, best first.

        `raw` is bm25 over the paths, and 0, the best there is, for a file that substrings alone have found.
        """
        found = self.paths.matching(question)
        return Hits(found.rows[:limit], found.raw[:limit])

    def exact_paths(self, question: str) -> Rows:
        """The first chunks of the files whose path, name or stem is the question, at most 200."""
        return self.paths.exactly(question)


@dataclass(frozen=True)
class PathsView:
    """The paths of files in a full-text index beside that of the chunks, as 2026.9.6 has it.

    Under the tokenizer trigram both are of trigrams. An index without whole documents is searched as it is.
    """

    tokenizer: Tokenizer = "unicode61"

    @property
    def says(self) -> str:
        chunks = ShortWordsView.says if self.tokenizer == "trigram" else "the full-text index of the chunks"
        return f"{chunks}; beside it one of the files' paths"

    def of(self, index: Index) -> Index:
        """The index with its paths beside it, laid out once for each generation."""
        whole = library(index)
        if whole is None:
            return index
        paths = kept(whole, self, lambda: _paths(whole, self.tokenizer))
        chunks = ShortWordsView().trigrams(whole) if self.tokenizer == "trigram" else whole
        return PathIndex(chunks, paths, self.tokenizer)

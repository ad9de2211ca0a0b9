"""A memory index as AutoMem's graph sees it: chunks searched by substring, with what their notes say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np

from workbench.memory.frontmatter import BLOCK, NOTHING, FrontMatter, front_matter
from workbench.records import Chunk, Floats, Hits, Rows, Trace
from workbench.retrieval.index_adapters import Library, SeenThrough, kept, library
from workbench.retrieval.legs import Index
from workbench.retrieval.query import quoted
from workbench.systems.automem.text import (
    content_words,
    graph_raw,
    metadata_terms,
    phrase_of,
    query_tokens,
    tag_words,
)

TRENDING = "*"
ASKED = re.compile(r'(PHRASE )?"((?:[^"]|"")*)"')


def graph_match(question: str) -> str:
    """What the graph is asked: the tokens, and the whole question as a phrase; `*` when there is neither.

    >>> print(graph_match("Which hub did AutoJack fix?"))
    "which" OR "hub" OR "did" OR "autojack" OR "fix" OR PHRASE "which hub did autojack fix?"
    >>> print(graph_match("C"))
    *
    """
    phrase = phrase_of(question)
    sought = [quoted(token) for token in query_tokens(question)]
    return " OR ".join([*sought, f"PHRASE {quoted(phrase)}"] if phrase else sought) or TRENDING


def asked_of(match: str) -> tuple[list[str], str]:
    """The keywords and the phrase of a `graph_match`.

    >>> asked_of('"hub" OR PHRASE "the hub"')
    (['hub'], 'the hub')
    """
    parts = [(bool(mark), text.replace('""', '"').lower()) for mark, text in ASKED.findall(match)]
    return [text for mark, text in parts if not mark], "".join(text for mark, text in parts if mark)


@dataclass(frozen=True)
class Memory:
    """One memory: its content and what its note says about itself. What is read of them is read once."""

    content: str
    note: FrontMatter = NOTHING

    @cached_property
    def lower(self) -> str:
        """The content in small letters."""
        return self.content.lower()

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the content: `content_words`."""
        return content_words(self.content)

    @cached_property
    def terms(self) -> frozenset[str]:
        """The metadata terms: `metadata_terms` of every key that has no field of its own."""
        return metadata_terms(self.note.rest)

    @cached_property
    def labels(self) -> frozenset[str]:
        """The metadata terms and the tags."""
        return self.terms | tag_words(self.note.tags)


@dataclass(frozen=True)
class Laid:
    """Every memory by its row, rows in order of path and place, with their chunk ids; the newest date."""

    memories: Mapping[int, Memory]
    ids: Any
    newest: datetime | None

    @cached_property
    def rows(self) -> Rows:
        """The rows of the memories, in their order."""
        return np.array(list(self.memories), np.int64)


@dataclass(frozen=True)
class Memories(SeenThrough):
    """An index with AutoMem's keyword search in place of the full-text one. Raw scores: larger is better."""

    laid: Laid

    def keyword(self, match: str, limit: int) -> Hits:
        """The chunks that hold a keyword or the phrase, by (falling raw score, chunk id).

        For `*` the raw score is the importance: AutoMem's trending rows. Source: automem,
        automem/api/recall.py; that trending is for questions with nothing to look for is inferred.
        """
        raw = self._importance() if match == TRENDING else self._raw(*asked_of(match))
        found = np.flatnonzero(raw >= 0 if match == TRENDING else raw > 0)
        best = found[np.lexsort((self.laid.ids[found], -raw[found]))][:limit]
        return Hits(self.laid.rows[best], raw[best])

    def _raw(self, keywords: Sequence[str], phrase: str) -> Floats:
        every = self.laid.memories.values()
        return np.array([graph_raw(one.lower, one.note.tags, keywords, phrase) for one in every], float)

    def _importance(self) -> Floats:
        return np.array([one.note.importance or 0.0 for one in self.laid.memories.values()], float)


@dataclass(frozen=True)
class GraphOfMemories:
    """Each chunk is a memory; its note's front matter gives tags, importance, confidence, date, metadata.

    An index that does not give whole documents is searched as it is, without any of these.
    """

    says = "a chunk is a memory; the keyword search looks for substrings in texts and tags"

    def of(self, index: Index) -> Index:
        whole = library(index)
        return index if whole is None else Memories(whole, kept(whole, self, lambda: _laid(whole)))


def _laid(index: Library) -> Laid:
    notes = {one.path: front_matter(one.path, one.text) for one in index.documents()}
    found = [(row, chunk) for path in notes for row, chunk in _chunks_of(index, path)]
    dates = [note.date for note in notes.values() if note.date]
    return Laid(
        {row: _memory(chunk, notes[chunk.path]) for row, chunk in found},
        np.array([chunk.id for _, chunk in found], np.str_),
        max(dates, default=None),
    )


def _chunks_of(index: Library, path: str) -> Iterator[tuple[int, Chunk]]:
    rows = index.rows_of(path)
    return zip(rows.tolist(), index.chunks(rows), strict=True)


def _memory(chunk: Chunk, note: FrontMatter) -> Memory:
    """The memory of a chunk; front matter is no content."""
    block = BLOCK.match(chunk.text) if chunk.start_line == 1 and note != NOTHING else None
    return Memory(chunk.text[block.end() :] if block else chunk.text, note)


def memories_of(index: Index, trace: Trace) -> list[Memory]:
    """The memory of each candidate; of an index that has none, its text and nothing about itself."""
    laid = getattr(index, "laid", None)
    if laid is None:
        return [Memory(chunk.text) for chunk in trace.chunks]
    return [laid.memories[row] for row in trace.rows.tolist()]


def newest_date(index: Index) -> datetime | None:
    """The newest date that a note gives itself; None where none does."""
    laid = getattr(index, "laid", None)
    return None if laid is None else laid.newest

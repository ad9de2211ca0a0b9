"""An index laid out like AutoMem's graph: chunks are searched by substring and have their note's metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np

from workbench.contracts import Index
from workbench.memory.frontmatter import BLOCK, NOTHING, FrontMatter, front_matter
from workbench.memory.store.sqlite.match import quoted
from workbench.records import Chunk, Clause, Document, Floats, Hits, Query, Rows, Trace
from workbench.retrieval.index_adapters import IndexAdapter, adapted, kept, whole_documents
from workbench.systems.automem.text import (
    content_words,
    graph_raw,
    metadata_terms,
    phrase_of,
    query_tokens,
    tag_words,
)

TRENDING = "*"
"""How a trace shows a query without clauses; the graph answers it with its most important memories."""


def graph_query(question: str) -> Query:
    """The query for the graph: the tokens, and the whole question as a phrase; no clause means trending.

    >>> [clause.text for clause in graph_query("Which hub did AutoJack fix?").clauses]
    ['which', 'hub', 'did', 'autojack', 'fix', 'which hub did autojack fix?']
    >>> graph_query("C").clauses
    ()
    """
    phrase = phrase_of(question)
    tokens = [Clause(token) for token in query_tokens(question)]
    return Query((*tokens, Clause(phrase, phrase=True)) if phrase else tuple(tokens), "OR")


@dataclass(frozen=True)
class Memory:
    """One memory: its content, and the front matter of its note. Derived values are computed once."""

    content: str
    note: FrontMatter = NOTHING

    @cached_property
    def lower(self) -> str:
        """The content in lower case."""
        return self.content.lower()

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the content: `content_words`."""
        return content_words(self.content)

    @cached_property
    def terms(self) -> frozenset[str]:
        """The metadata terms: `metadata_terms` of every key of the front matter that is not a known field."""
        return metadata_terms(self.note.rest)

    @cached_property
    def labels(self) -> frozenset[str]:
        """The metadata terms and the tags."""
        return self.terms | tag_words(self.note.tags)


@dataclass(frozen=True)
class ArrangedMemories:
    """The memories by row, in the order of path and place, with their chunk ids and the newest date."""

    memories: Mapping[int, Memory]
    ids: Any
    newest: datetime | None

    @cached_property
    def rows(self) -> Rows:
        """The rows of the memories, in their order."""
        return np.array(list(self.memories), np.int64)


class Memories(IndexAdapter):
    """An index with AutoMem's keyword search instead of full-text search. Raw scores: larger is better."""

    def __init__(self, inner: Index, laid: ArrangedMemories) -> None:
        super().__init__(inner)
        self.laid = laid

    def compiled(self, query: Query) -> str:
        """The query as a line for display; AutoMem's graph has no text query."""
        parts = [f"PHRASE {quoted(one.text)}" if one.phrase else quoted(one.text) for one in query.clauses]
        return " OR ".join(parts) or TRENDING

    def keyword(self, query: Query, limit: int) -> Hits:
        """The chunks that contain a keyword or the phrase, by (falling raw score, chunk id).

        For a query without clauses the raw score is the importance: AutoMem's trending rows. Source: automem,
        automem/api/recall.py. We infer that trending answers questions without tokens.
        """
        words = [one.text.lower() for one in query.clauses if not one.phrase]
        phrase = "".join(one.text.lower() for one in query.clauses if one.phrase)
        raw = self._raw(words, phrase) if query.clauses else self._importance()
        found = np.flatnonzero(raw > 0 if query.clauses else raw >= 0)
        best = found[np.lexsort((self.laid.ids[found], -raw[found]))][:limit]
        return Hits(self.laid.rows[best], raw[best], larger_is_better=True)

    def _raw(self, keywords: Sequence[str], phrase: str) -> Floats:
        every = self.laid.memories.values()
        return np.array([graph_raw(one.lower, one.note.tags, keywords, phrase) for one in every], float)

    def _importance(self) -> Floats:
        return np.array([one.note.importance or 0.0 for one in self.laid.memories.values()], float)


@dataclass(frozen=True)
class GraphOfMemories:
    """Each chunk is a memory with the tags, importance, confidence, date and metadata of its note."""

    says = "a chunk is a memory; the keyword search finds substrings in texts and tags"

    def of(self, index: Index) -> Index:
        """The index as memories. Raises InputError for an index that has no whole documents."""
        return Memories(index, kept(index, self, lambda: _laid(index, whole_documents(index, self))))


def _laid(index: Index, documents: Sequence[Document]) -> ArrangedMemories:
    notes = {one.path: front_matter(one.path, one.text) for one in documents}
    found = [(row, chunk) for path in notes for row, chunk in _chunks_of(index, path)]
    dates = [note.date for note in notes.values() if note.date]
    return ArrangedMemories(
        {row: _memory(chunk, notes[chunk.path]) for row, chunk in found},
        np.array([chunk.id for _, chunk in found], np.str_),
        max(dates, default=None),
    )


def _chunks_of(index: Index, path: str) -> Iterator[tuple[int, Chunk]]:
    rows = index.rows_of(path)
    return zip(rows.tolist(), index.chunks(rows), strict=True)


def _memory(chunk: Chunk, note: FrontMatter) -> Memory:
    """The memory of a chunk; the front matter is not part of the content."""
    block = BLOCK.match(chunk.text) if chunk.start_line == 1 and note != NOTHING else None
    return Memory(chunk.text[block.end() :] if block else chunk.text, note)


def memories_of(index: Index, trace: Trace) -> list[Memory]:
    """The memory of each candidate; in an index without memories, its text without metadata."""
    memories = adapted(index, Memories)
    if memories is None:
        return [Memory(chunk.text) for chunk in trace.chunks]
    return [memories.laid.memories[row] for row in trace.rows.tolist()]


def newest_date(index: Index) -> datetime | None:
    """The newest date in the front matter of the notes; None if no note has a date."""
    memories = adapted(index, Memories)
    return None if memories is None else memories.laid.newest

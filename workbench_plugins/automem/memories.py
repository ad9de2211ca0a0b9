"""An index laid out like AutoMem's graph: chunks are searched by substring and have their note's metadata.

How AutoMem splits a question, a memory's text, and a memory's metadata into words.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np

from workbench.contracts import Index
from workbench.memory.store.sqlite.fts5 import quoted
from workbench.memory.whole_files import whole_documents
from workbench.records import Chunk, Clause, Document, Hits, Query, Rows, Trace
from workbench.retrieval.index_adapters import IndexAdapter, adapted, memoized
from workbench_plugins.automem.frontmatter import BLOCK, NOTHING, FrontMatter, front_matter

STOPWORDS = frozenset({
    "the", "and", "for", "with", "that", "this", "from", "into", "using", "have", "will", "your", "about",
    "after", "before", "when", "then", "than", "also", "just", "very", "more", "less", "over", "under",
})  # fmt: skip
"""Words that are not tokens of a question. Question words such as did, what and who are not in the list."""

SHORTEST = 3
LONGEST_TERM = 256
QUERY_WORDS = re.compile(r"[a-z0-9_-]+")
CONTENT_WORDS = re.compile(r"\b[a-z0-9]+\b")


def query_tokens(question: str) -> tuple[str, ...]:
    """The tokens of a question: lower case, inner hyphens and underscores, 3 characters or more, each once.

    Source: automem, automem/utils/text.py; it is the same in all commits that we use.

    >>> query_tokens("When did Melanie paint a multi-hop sunrise in the naïve café?")
    ('did', 'melanie', 'paint', 'multi-hop', 'sunrise', 'caf')
    """
    words = (word.strip("-_") for word in QUERY_WORDS.findall(question.lower()))
    return tuple(dict.fromkeys(word for word in words if len(word) >= SHORTEST and word not in STOPWORDS))


def content_words(content: str) -> frozenset[str]:
    """The words of a memory's text, by another rule than a question's: multi-hop is two, foo_bar is none.

    >>> sorted(content_words("A multi-hop foo_bar"))
    ['a', 'hop', 'multi']
    """
    return frozenset(CONTENT_WORDS.findall(content.lower()))


def metadata_terms(metadata: Any, skipped: Iterable[str] = ()) -> frozenset[str]:
    """Every string in the metadata at any depth, and its words; keys and long strings are left out.

    `skipped` names keys whose values are left out, as AutoMem does for `entities` since 8ff266e.

    >>> sorted(metadata_terms({"topic": "Alpha beta", "more": [{"n": 1, "x": "gamma-ray"}]}))
    ['alpha', 'alpha beta', 'beta', 'gamma-ray']
    """
    terms: set[str] = set()
    for string in _strings(metadata, frozenset(skipped)):
        terms |= {string, *QUERY_WORDS.findall(string)}
    return frozenset(terms)


def _strings(value: Any, skipped: frozenset[str]) -> Iterator[str]:
    if isinstance(value, str):
        if 0 < len(cleaned := value.strip().lower()) <= LONGEST_TERM:
            yield cleaned
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in skipped:
                yield from _strings(inner, skipped)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from _strings(inner, skipped)


def tag_words(tags: Iterable[str]) -> frozenset[str]:
    """The tags in lower case, without surrounding blanks, for the comparison with tokens."""
    return frozenset(tag.strip().lower() for tag in tags)


def hits_in(tokens: Iterable[str], known: Container[str]) -> int:
    """How many of the tokens are in `known`: words of a set, or substrings of a text."""
    return sum(token in known for token in tokens)


def is_exact(question: str, terms: frozenset[str]) -> bool:
    """Whether the whole question is a metadata term."""
    return question.strip().lower() in terms


def phrase_of(question: str) -> str:
    """The question as a phrase to search for; empty if it has fewer than 3 characters."""
    phrase = question.strip().lower()
    return phrase if len(phrase) >= SHORTEST else ""


def graph_raw(content: str, tags: Sequence[str], keywords: Sequence[str], phrase: str) -> int:
    """The graph's keyword score: 2 for each keyword in the text, 1 for each in any tag; also for the phrase.

    Substrings match: `car` is in `carpet`. The comparison ignores case.

    >>> graph_raw("AutoMem keyword scoring rocks", ["automem"], ["automem", "scoring"], "keyword scoring")
    7
    """
    text, labels = content.lower(), [tag.lower() for tag in tags]
    sought = [*keywords, phrase] if len(phrase) >= SHORTEST else keywords
    return sum(2 * (word in text) + any(word in tag for tag in labels) for word in sought)


def graph_best(keywords: int) -> int:
    """The graph's highest raw score for that many keywords plus the phrase; 3 for no keywords.

    Source: automem 3653ddf (#191).
    """
    return 3 * keywords + 3


def most_raw(question: str) -> int:
    """The highest possible graph score for this question; for a question without tokens it is an importance.

    >>> [most_raw(question) for question in ("Which hub did he fix?", "???", "C")]
    [15, 3, 1]
    """
    tokens = query_tokens(question)
    return graph_best(len(tokens)) if tokens or phrase_of(question) else 1


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
        every = self.laid.memories.values()
        if query.clauses:
            raw = np.array([graph_raw(one.lower, one.note.tags, words, phrase) for one in every], float)
        else:
            raw = np.array([one.note.importance or 0.0 for one in every], float)
        found = np.flatnonzero(raw > 0 if query.clauses else raw >= 0)
        best = found[np.lexsort((self.laid.ids[found], -raw[found]))][:limit]
        return Hits(self.laid.rows[best], raw[best], larger_is_better=True)


@dataclass(frozen=True)
class GraphOfMemories:
    """Each chunk is a memory with the tags, importance, confidence, date and metadata of its note."""

    description = "a chunk is a memory; the keyword search finds substrings in texts and tags"

    def of(self, index: Index) -> Index:
        """The index as memories. Raises InputError for an index that has no whole documents."""
        return Memories(index, memoized(index, self, lambda: _laid(index, whole_documents(index, self))))


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

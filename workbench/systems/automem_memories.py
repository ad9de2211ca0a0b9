"""A memory index as AutoMem's graph sees it: chunks searched by substring, with what their notes say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast
from weakref import WeakKeyDictionary

import numpy as np

from workbench.memory.frontmatter import NOTHING, FrontMatter, front_matter
from workbench.records import Chunk, Document, Floats, Hits, Rows, Vector
from workbench.retrieval.legs import Index
from workbench.retrieval.query import quoted
from workbench.systems.automem_text import graph_raw, phrase_of, query_tokens

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


class Whole(Index, Protocol):
    """An index that also gives whole documents, and says when it has changed."""

    @property
    def generation(self) -> int: ...

    def documents(self) -> Sequence[Document]: ...


@dataclass(frozen=True)
class Laid:
    """Everything that the graph's keyword search reads, one entry a chunk, and each file's front matter."""

    rows: Rows
    ids: Any
    texts: tuple[str, ...]
    notes: tuple[FrontMatter, ...]
    by_path: dict[str, FrontMatter]


class Memories:
    """`index`, with AutoMem's keyword search in place of the full-text one. Raw scores: larger is better."""

    def __init__(self, index: Index, laid: Laid) -> None:
        self._index = index
        self._laid = laid

    @property
    def size(self) -> int:
        return self._index.size

    def keyword(self, match: str, limit: int) -> Hits:
        """The chunks that hold a keyword or the phrase, by (falling raw score, chunk id).

        For `*` the raw score is the importance: AutoMem's trending rows. Source: automem,
        automem/api/recall.py; that trending is for questions with nothing to look for is inferred.
        """
        raw = self._importance() if match == TRENDING else self._raw(*asked_of(match))
        found = np.flatnonzero(raw >= 0 if match == TRENDING else raw > 0)
        best = found[np.lexsort((self._laid.ids[found], -raw[found]))][:limit]
        return Hits(self._laid.rows[best], raw[best])

    def _raw(self, keywords: Sequence[str], phrase: str) -> Floats:
        each = zip(self._laid.texts, self._laid.notes, strict=True)
        return np.array([graph_raw(text, note.tags, keywords, phrase) for text, note in each], float)

    def _importance(self) -> Floats:
        return np.array([note.importance or 0.0 for note in self._laid.notes], float)

    def note(self, path: str) -> FrontMatter:
        """The front matter of a file."""
        return self._laid.by_path.get(path, NOTHING)

    def vector(self, query: Vector, limit: int) -> Hits:
        return self._index.vector(query, limit)

    def embed(self, question: str) -> Vector:
        return self._index.embed(question)

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        return self._index.chunks(rows)

    def rows_of(self, path: str) -> Rows:
        return self._index.rows_of(path)


@dataclass(frozen=True)
class GraphOfMemories:
    """Each chunk is a memory; its note's front matter gives tags, importance, confidence, date, metadata.

    An index that does not give whole documents is searched as it is, without any of these.
    """

    says = "a chunk is a memory; the keyword search looks for substrings in texts and tags"

    def of(self, index: Index) -> Index:
        if not hasattr(index, "documents"):
            return index
        whole = cast(Whole, index)
        generation, laid = _LAID.get(index, (None, None))
        if laid is None or generation != whole.generation:
            generation, laid = whole.generation, _laid(whole)
            _LAID[index] = generation, laid
        return Memories(index, laid)


_LAID: WeakKeyDictionary[Index, tuple[int | None, Laid | None]] = WeakKeyDictionary()


def _laid(index: Whole) -> Laid:
    documents = index.documents()
    by_path = {document.path: front_matter(document.path, document.text) for document in documents}
    chunks_rows = _all_rows(index.rows_of(document.path) for document in documents)
    chunks = index.chunks(chunks_rows)
    return Laid(
        chunks_rows,
        np.array([chunk.id for chunk in chunks], np.str_),
        tuple(chunk.text.lower() for chunk in chunks),
        tuple(by_path[chunk.path] for chunk in chunks),
        by_path,
    )


def _all_rows(rows: Iterable[Rows]) -> Rows:
    return np.concatenate([np.empty(0, np.int64), *rows])


def front_matter_of(index: Index, chunk: Chunk) -> FrontMatter:
    """What the note of a chunk says about itself, NOTHING where the index does not know."""
    return index.note(chunk.path) if isinstance(index, Memories) else NOTHING

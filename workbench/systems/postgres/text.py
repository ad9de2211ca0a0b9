"""An index whose keyword leg is PostgreSQL's full-text search, and the queries for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from workbench.contracts import Context, Index
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.memory.store.contract import ServerTexts
from workbench.memory.store.postgres.tsquery import quoted
from workbench.records import Clause, Hits, Query, Rows, Trace
from workbench.retrieval.columns import PlainStage
from workbench.retrieval.index_adapters import IndexAdapter, innermost, kept
from workbench.retrieval.legs import KeywordLeg
from workbench.retrieval.query import UNICODE_WORDS, with_query


def text_table(
    index: Index, says: str, keys: Sequence[str], texts: Sequence[str], config: str
) -> ServerTexts:
    """A full-text table on the server of an index. Raises InputError for an index without a server."""
    inner = innermost(index)
    made = inner.store.text_table(keys, texts, config) if isinstance(inner, MemoryIndex) else None
    if made is None:
        raise InputError(
            f"The index {index.name} is not in PostgreSQL, so it cannot be laid out as: {says}.",
            "Index the memory there: workbench index FOLDER --store postgresql://HOST/DATABASE. "
            "Then search with --memory and that address.",
        )
    return made


class TextIndex(IndexAdapter):
    """An index with the keyword leg of a full-text table; `rows` are the index's rows, by text.

    A query with an expression goes to `function`. A single clause is asked by an explanation, to see whether
    a chunk has it. A word that the engine never searches for, such as a stop word, keeps no chunk out.
    """

    def __init__(self, inner: Index, table: ServerTexts, rows: Rows, function: str, rank: str) -> None:
        super().__init__(inner)
        self.table, self.rows, self.function, self.rank = table, rows, function, rank

    def keyword(self, query: Query, limit: int) -> Hits:
        if query.expression is not None:
            return self._at_rows(self.table.search(self.function, query.expression, self.rank, limit))
        written = " | ".join(map(_written, query.clauses))
        if not self.table.read_as("to_tsquery", written):
            every = self.rows[:limit]
            return Hits(every, np.zeros(every.size), larger_is_better=True, number=self.rank)
        return self._at_rows(self.table.search("to_tsquery", written, self.rank, limit))

    def _at_rows(self, hits: Hits) -> Hits:
        return Hits(self.rows[hits.rows], hits.raw, hits.larger_is_better, hits.number)

    def compiled(self, query: Query) -> str:
        """The call with its text, and the query that the server makes of it."""
        if query.expression is None:
            return " | ".join(map(_written, query.clauses))
        read = self.table.read_as(self.function, query.expression)
        return (
            f"{self.function}({quoted(query.expression)}) = {read or 'an empty query, which matches nothing'}"
        )


def _written(clause: Clause) -> str:
    return f"{quoted(clause.text)}:*" if clause.prefix else quoted(clause.text)


@dataclass(frozen=True)
class TextLayout:
    """Chunks in a tsvector of a text search configuration, asked through one of PostgreSQL's functions."""

    function: str = "plainto_tsquery"
    rank: str = "ts_rank_cd"
    config: str = "english"

    @property
    def says(self) -> str:
        return f"chunks as to_tsvector('{self.config}'), asked with {self.function}, ranked by {self.rank}"

    def of(self, index: Index) -> Index:
        """The index with its chunks in that table, made once for each generation."""
        key = TextLayout, self.config

        def made() -> tuple[ServerTexts, Rows]:
            rows = np.concatenate([*map(index.rows_of, index.paths()), np.empty(0, np.int64)])
            chunks = index.chunks(rows)
            keys, texts = [one.id for one in chunks], [one.text for one in chunks]
            return text_table(index, self.says, keys, texts, self.config), rows

        table, rows = kept(index, key, made)
        return TextIndex(index, table, rows, self.function, self.rank)


@dataclass(frozen=True)
class WholeQuestion(PlainStage):
    """The question as it was typed; PostgreSQL's function makes the query. Its clauses are the words."""

    slot: ClassVar[str] = "query"
    says: ClassVar[str] = "tsquery = what the function makes of the whole question"

    def run(self, trace: Trace, context: Context) -> Trace:
        words = UNICODE_WORDS.findall(trace.question)
        return with_query(trace, context, Query(tuple(map(Clause, words)), "AND", trace.question))


@dataclass(frozen=True)
class AnyWord(PlainStage):
    """Every word of the question, joined with `|`, for to_tsquery; no query without a word."""

    slot: ClassVar[str] = "query"
    says: ClassVar[str] = "tsquery = every word of the question, quoted, joined with |"

    def run(self, trace: Trace, context: Context) -> Trace:
        words = UNICODE_WORDS.findall(trace.question)
        text = " | ".join(map(quoted, words))
        query = Query(tuple(map(Clause, words)), "OR", text) if words else None
        return with_query(trace, context, query)


@dataclass(frozen=True)
class TextLeg(KeywordLeg):
    """The chunks that match the tsquery, best rank first; a PostgreSQL rank is not BM25."""

    best_raw: ClassVar[tuple[float, ...]] = (1e12, 1e-12)
    worst_raw: ClassVar[float] = 1e-12
    rank: str = "ts_rank_cd"

    @property
    def says(self) -> str:
        return f"keyword leg: tsvector @@ tsquery, ordered by {self.rank}, {self.depth}"

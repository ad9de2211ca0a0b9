"""Basic Memory on PostgreSQL: its notes in a tsvector, its own query preparation, and the same relaxation.

Source: basicmachines-co/basic-memory, repository/postgres_search_repository.py at the commits that are named.
Written from a description of the behaviour.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from workbench.contracts import Context, Index, Layout
from workbench.errors import InputError
from workbench.memory.whole_files import whole_documents
from workbench.records import Clause, Hits, Query, Trace
from workbench.retrieval.index_adapters import IndexAdapter, memoized
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.query import with_query
from workbench_plugins.basic_memory import pipelines
from workbench_plugins.basic_memory.notes import EachColumn, NotesLayout, note_of
from workbench_plugins.basic_memory.pipelines import PageDepth
from workbench_plugins.basic_memory.query_preparation import (
    POSTGRES_EDGES,
    AnyPlainWord,
    AnyToken,
    AnyUnicodeToken,
    GatedPlainWord,
    PunctuationMakesAPhrase,
    Relaxation,
    any_lexeme,
    any_prefix,
    strict_tsquery,
    stripped_words,
)
from workbench_plugins.basic_memory.ranks import (
    AnyOperand,
    AnyOperandOrPhrase,
    EachOperand,
    EachOperandOrPhrase,
    RankedNotesLayout,
)
from workbench_plugins.stores.pipelines import TextIndex, TextLeg, text_table

if TYPE_CHECKING:
    from workbench_plugins.stores.postgres import PostgresTexts

RANK, CONFIG, FUNCTION = "ts_rank", "english", "to_tsquery"


class NoteTextIndex(TextIndex):
    """Whole notes with PostgreSQL's keyword leg; a query that the server cannot read finds nothing."""

    def keyword(self, query: Query, limit: int) -> Hits:
        try:
            return super().keyword(query, limit)
        except InputError:
            return Hits(np.empty(0, np.int64), np.empty(0), larger_is_better=True, number=RANK)


@dataclass(frozen=True)
class PostgresNotesLayout:
    """Whole notes whose title and content_stems are one tsvector of the configuration english."""

    server: ClassVar[bool] = True
    project: str = "main"

    @property
    def description(self) -> str:
        return f"whole notes of the project {self.project}, title and content_stems in a tsvector of english"

    def of(self, index: Index) -> Index:
        """The index as notes, arranged once for each generation."""
        documents = whole_documents(index, self)
        notes = NotesLayout(EachColumn(), self.project).of(index)

        def build() -> PostgresTexts:
            each = [note_of(document, self.project) for document in documents]
            texts = [f"{note.title}\n{note.content_stems}" for note in each]
            return text_table(index, self.description, [one.path for one in documents], texts, CONFIG)

        table = memoized(index, (PostgresNotesLayout, self.project), build)
        assert isinstance(notes, IndexAdapter)
        return NoteTextIndex(notes, table, np.arange(notes.size), FUNCTION, RANK)


@dataclass(frozen=True)
class EveryLexeme(PunctuationMakesAPhrase):
    """The strict query for to_tsquery before #994: every word as a prefix, joined with &."""

    edges: ClassVar[str] = ""

    @property
    def description(self) -> str:
        return "tsquery = every word as a prefix, joined with &"

    def run(self, trace: Trace, context: Context) -> Trace:
        words = stripped_words(trace.question, POSTGRES_EDGES)
        clauses = tuple(Clause(word, prefix=True) for word in words)
        return with_query(trace, context, Query(clauses, "AND", strict_tsquery(trace.question, self.edges)))


@dataclass(frozen=True)
class EveryStrippedLexeme(EveryLexeme):
    """The strict query of #994: punctuation is removed from the ends of words first."""

    edges: ClassVar[str] = POSTGRES_EDGES

    @property
    def description(self) -> str:
        return f"tsquery = every word without {POSTGRES_EDGES} at its ends, as a prefix, joined with &"


class _InPostgres(Relaxation):
    """A relaxation whose query is written for to_tsquery."""

    def query(self, query: str | None) -> Query | None:
        words = self.words(query)
        return Query(any_prefix(words).clauses, "OR", any_lexeme(words)) if words else None


@dataclass(frozen=True)
class AnyPlainLexeme(_InPostgres, AnyPlainWord):
    """`AnyPlainWord` for to_tsquery."""


@dataclass(frozen=True)
class GatedPlainLexeme(_InPostgres, GatedPlainWord):
    """`GatedPlainWord` for to_tsquery."""


@dataclass(frozen=True)
class AnyTokenLexeme(_InPostgres, AnyToken):
    """`AnyToken` for to_tsquery."""


@dataclass(frozen=True)
class AnyUnicodeLexeme(_InPostgres, AnyUnicodeToken):
    """`AnyUnicodeToken` for to_tsquery."""


UNREADABLE = (
    "A query that the server cannot read finds nothing, at every commit; before a2f5edfa it was an error."
)


def _on_postgres(
    name: str,
    shipped: Pipeline,
    *stages: EveryLexeme | EachOperand | Relaxation,
    layout: Layout = PostgresNotesLayout(),
) -> Pipeline:
    ported = shipped.with_stage(TextLeg(PageDepth(), rank=RANK))
    for stage in stages:
        ported = ported.with_stage(stage)
    note = f"{UNREADABLE} {shipped.source.note}"
    source = replace(shipped.source, place="repository/postgres_search_repository.py", note=note)
    return replace(ported, name=name, layout=layout, source=source, changes=())


PIPELINES = (
    _on_postgres("bm-pg-before-994", pipelines.DEAD_FTS, EveryLexeme()),
    _on_postgres("bm-pg-994-ungated", pipelines.UNGATED, EveryStrippedLexeme(), AnyPlainLexeme()),
    _on_postgres("bm-pg-994-gated", pipelines.GATED, EveryStrippedLexeme(), GatedPlainLexeme()),
    _on_postgres("bm-pg-1022", pipelines.CJK_REGRESS, EveryStrippedLexeme(), AnyTokenLexeme()),
    _on_postgres("bm-pg-head", pipelines.HEAD, EveryStrippedLexeme(), AnyUnicodeLexeme()),
    _on_postgres("bm-pg-0.23.2", pipelines.HEAD, EachOperand(), AnyOperand(), layout=RankedNotesLayout()),
    _on_postgres(
        "bm-pg-0.24.1",
        pipelines.RELEASE_0_24,
        EachOperandOrPhrase(),
        AnyOperandOrPhrase(),
        layout=RankedNotesLayout(ngrams=True),
    ),
)

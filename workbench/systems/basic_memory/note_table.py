"""A full-text table of whole notes in RAM, with Basic Memory's columns.

The SQL makes SQLite work as it does in Basic Memory: two MATCH terms joined with OR are two scans of the
table, and bm25() of a row comes from the scan that finds the row first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import apsw
import numpy as np

from workbench.memory.chunking import whole_characters
from workbench.memory.store.sqlite.match import match_expression
from workbench.records import Hits, Query

CREATE_SQL = """
    CREATE VIRTUAL TABLE notes USING fts5 (
        title, content_stems, content_snippet, permalink,
        tokenize = 'unicode61 tokenchars 0x2F', prefix = '1,2,3,4'
    )
"""
# 0x2F is meant to make the slash a part of words, but FTS5 reads it as the characters 0, x, 2 and F, which
# are parts of words anyway: `docs/readme` is two tokens. Nothing is stemmed.

INSERT_SQL = (
    "INSERT INTO notes (rowid, title, content_stems, content_snippet, permalink) VALUES (?, ?, ?, ?, ?)"
)

SEARCH_SQL = """
    SELECT rowid, bm25(notes) AS raw FROM notes WHERE {where} ORDER BY raw, rowid LIMIT ?2
"""


class Note(NamedTuple):
    """One row of the table, column by column."""

    title: str
    content_stems: str
    content_snippet: str
    permalink: str


class Matching(Protocol):
    """The WHERE clause that applies one MATCH expression to the columns of the table."""

    @property
    def says(self) -> str: ...

    @property
    def where(self) -> str:
        """The WHERE clause, in which ?1 is the bound expression."""

    def bound(self, match: str) -> str:
        """The value of ?1."""


@dataclass(frozen=True)
class EachColumn:
    """`title MATCH q OR content_stems MATCH q`: one column alone must satisfy the whole expression.

    A row that the first scan finds is scored on that column alone, even if the second scan would score it
    much better: a title word with an inverse document frequency near 0 puts the best note last.
    """

    columns: tuple[str, ...] = ("title", "content_stems")

    @property
    def says(self) -> str:
        return " OR ".join(f"{column} MATCH" for column in self.columns)

    @property
    def where(self) -> str:
        return "(" + " OR ".join(f"{column} MATCH ?1" for column in self.columns) + ")"

    def bound(self, match: str) -> str:
        return match


@dataclass(frozen=True)
class OneMatch:
    """`notes MATCH '{title content_stems} : (q)'`: one scan, whose bm25() covers all of these columns."""

    columns: tuple[str, ...] = ("title", "content_stems")

    @property
    def says(self) -> str:
        return f"one MATCH over {' and '.join(self.columns)}"

    @property
    def where(self) -> str:
        return "notes MATCH ?1"

    def bound(self, match: str) -> str:
        return f"{{{' '.join(self.columns)}}} : ({match})"


class NoteStore:
    """The notes of a memory in the given order; the first note is row 0."""

    def __init__(self, notes: Sequence[Note]) -> None:
        self.size = len(notes)
        self._db = apsw.Connection(":memory:")
        self._db.execute(CREATE_SQL)
        with self._db:
            self._db.executemany(INSERT_SQL, [(row, *note) for row, note in enumerate(notes)])

    def search(self, query: Query, limit: int, matching: Matching) -> Hits:
        """The matching notes, by (bm25, row), with FTS5's negative bm25.

        An expression that FTS5 cannot parse finds nothing; a question may end with an operator, for example.
        """
        sql, match = SEARCH_SQL.format(where=matching.where), whole_characters(match_expression(query))
        try:
            found = self._db.execute(sql, (matching.bound(match), limit)).fetchall()
        except apsw.SQLError:
            found = []
        return Hits(np.array([row for row, _ in found], np.int64), np.array([raw for _, raw in found], float))

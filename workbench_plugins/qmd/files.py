"""An index laid out like QMD's: one full-text row for each file, and a file is as near as its nearest chunk.

Source: tobi/qmd 2.8.3, src/store.ts, searchFTS, searchVec and extractTitle.

How QMD reads a keyword query: every word must be there, as a prefix; quotes and minus signs count.

Source: tobi/qmd 2.8.3, src/store.ts, buildFTS5Query. This is our own code, written from its behaviour.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import ClassVar

import apsw
import numpy as np

from workbench.contracts import Context, Index
from workbench.memory.sources import whole_characters
from workbench.memory.store.sqlite.fts5 import match_expression
from workbench.records import Chunk, Clause, Document, Hits, Query, Rows, Trace, Vector
from workbench.retrieval.columns import PlainStage
from workbench.retrieval.index_adapters import IndexAdapter, kept
from workbench.retrieval.query import with_query
from workbench_plugins.whole_files import WholeFiles, whole_documents, whole_files

UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+")
"""Runs of Han, Hiragana, Katakana and Hangul, which FTS5's unicode61 does not cut into words."""
PIECES = re.compile(r'-?"[^"]*"?|[^\s"]+')
NOT_A_WORD = re.compile(r"[^\w']")
HYPHENATED = re.compile(r"[^\W_](?:[^\W_]|['-])*-[^\W_](?:[^\W_]|['-])*")


def spaced(text: str) -> str:
    """The text with a blank between the characters of scripts that have no blanks.

    >>> spaced("API設計")
    'API 設 計 '
    """
    return UNSPACED.sub(lambda run: f" {' '.join(run[0])} ", text)


def lex_query(text: str) -> Query | None:
    """The keyword query of a text; None without a word to look for.

    >>> print(match_expression(lex_query('multi-agent "tea time" cups -sugar')))
    "multi agent" AND "tea time" AND "cups"* NOT "sugar"*
    >>> print(match_expression(lex_query("Version 2026.4?")))
    "version"* AND "20264"*
    """
    wanted: list[Clause] = []
    unwanted: list[str] = []
    for piece in PIECES.findall(text):
        negated = piece.startswith("-")
        clauses = _clauses(piece[1:] if negated else piece)
        if not negated:
            wanted += clauses
        elif clauses:
            unwanted.append(_together(clauses))
    if not wanted:
        return None
    query = Query(tuple(wanted), "AND")
    if not unwanted:
        return query
    return Query(expression=" NOT ".join([match_expression(query), *unwanted]))


def _together(clauses: Sequence[Clause]) -> str:
    text = match_expression(Query(tuple(clauses), "AND"))
    return f"({text})" if len(clauses) > 1 else text


def _clauses(piece: str) -> list[Clause]:
    """The clauses of one piece of the text: a phrase in quotes, or what stands between blanks."""
    if piece.startswith('"'):
        return _phrase(piece.strip('"'))
    if HYPHENATED.fullmatch(piece):
        return _phrase(piece.replace("-", " "))
    if _is_dotted(piece):
        return [Clause(_word(part), prefix=True) for part in piece.split(".")]
    if UNSPACED.search(piece):
        return _phrase(piece)
    word = _word(piece)
    return [Clause(word, prefix=True)] if word else []


def _phrase(text: str) -> list[Clause]:
    parts = [
        part for word in spaced(text).split() for part in (word.split(".") if _is_dotted(word) else [word])
    ]
    phrase = " ".join(filter(None, map(_word, parts)))
    return [Clause(phrase, phrase=True)] if phrase else []


def _is_dotted(word: str) -> bool:
    parts = word.split(".")
    return len(parts) > 1 and all(re.fullmatch(r"\w+", part) for part in parts)


def _word(text: str) -> str:
    return NOT_A_WORD.sub("", text).lower()


@dataclass(frozen=True)
class EveryWordAsPrefix(PlainStage, slot="query"):
    """The query of `lex_query`, from the whole question."""

    says: ClassVar[str] = (
        "MATCH = every word of the question as a prefix, joined with AND; words with a hyphen and words in "
        "quotes are phrases, and a word after a minus sign must be absent"
    )

    def run(self, trace: Trace, context: Context) -> Trace:
        return with_query(trace, context, lex_query(trace.question))


CREATE_SQL = "CREATE VIRTUAL TABLE files USING fts5 (filepath, title, body, tokenize = 'porter unicode61')"
INSERT_SQL = "INSERT INTO files (rowid, filepath, title, body) VALUES (?, ?, ?, ?)"
SEARCH_SQL = """
    SELECT rowid, bm25(files, 1.5, 4.0, 1.0) AS raw FROM files WHERE files MATCH ? ORDER BY raw, rowid LIMIT ?
"""
CHUNKS_PER_FILE = 3
"""The vector leg reads this many chunks for each file that it may bring."""
HEADING = re.compile(r"^##?\s+(.+)$", re.MULTILINE)
SECOND_HEADING = re.compile(r"^##\s+(.+)$", re.MULTILINE)


def title_of(document: Document) -> str:
    """The title of a file: its first heading of the first two levels, or its name without the suffix.

    A heading that says only Notes is passed over for the next one of the second level.

    >>> title_of(Document("a/tea.md", "", "Hot. \\n## On tea\\n", "", 0, 0))
    'On tea'
    """
    name = PurePosixPath(document.path)
    found = HEADING.search(document.text) if name.suffix.lower() == ".md" else None
    title = found[1].strip() if found else ""
    if title in ("Notes", "📝 Notes") and (next_one := SECOND_HEADING.search(document.text)):
        title = next_one[1].strip()
    return title or name.stem


class FileTable:
    """A full-text table of files in RAM with QMD's columns and weights; the first file is row 0."""

    def __init__(self, documents: Sequence[Document], collection: str) -> None:
        self._db = apsw.Connection(":memory:")
        self._db.execute(CREATE_SQL)
        rows = (
            (row, *map(spaced, (f"{collection}/{one.path}", title_of(one), one.text)))
            for row, one in enumerate(documents)
        )
        with self._db:
            self._db.executemany(INSERT_SQL, rows)

    def search(self, query: Query, limit: int) -> Hits:
        """The matching files by (bm25, row), with FTS5's negative bm25; stems are compared, not words."""
        match = whole_characters(match_expression(query))
        found = self._db.execute(SEARCH_SQL, (match, limit)).fetchall()
        return Hits(np.array([row for row, _ in found], np.int64), np.array([raw for _, raw in found], float))


class FileIndex(IndexAdapter):
    """An index that answers a search with whole files."""

    def __init__(self, inner: Index, files: WholeFiles, table: FileTable) -> None:
        super().__init__(inner)
        self.files, self.table = files, table

    @property
    def size(self) -> int:
        """The number of files."""
        return len(self.files.files)

    def keyword(self, query: Query, limit: int) -> Hits:
        return self.table.search(query, limit)

    def vector(self, query: Vector, limit: int) -> Hits:
        """The files of the nearest chunks, three for each file; of all chunks for all files."""
        pool = self.inner.size if limit >= self.size else limit * CHUNKS_PER_FILE
        return self.files.nearest(self.inner, query, pool, limit)

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        return [self.files.files[row] for row in rows]

    def rows_of(self, path: str) -> Rows:
        return self.files.rows_of(path)

    def pieces(self, path: str) -> Sequence[Chunk]:
        """The chunks of a file as they are in the index below."""
        return self.inner.chunks(self.inner.rows_of(path))


@dataclass(frozen=True)
class FilesLayout:
    """Whole files instead of chunks: one full-text row with path, title and text for each file.

    `collection` is the name of the folder in QMD; it is a part of every path, and so of every row.
    """

    collection: str = "notes"

    @property
    def says(self) -> str:
        return (
            f"whole files of the collection {self.collection}; FTS5 over path, title and text, stemmed, with "
            "the weights 1.5, 4 and 1"
        )

    def of(self, index: Index) -> Index:
        """The index as files, arranged once for each generation.

        Raises InputError for an index that has no whole documents.
        """

        def arranged() -> tuple[WholeFiles, FileTable]:
            documents = whole_documents(index, self)
            return whole_files(index, documents), FileTable(documents, self.collection)

        return FileIndex(index, *kept(index, (FilesLayout, self.collection), arranged))

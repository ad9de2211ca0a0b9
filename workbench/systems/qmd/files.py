"""An index laid out like QMD's: one full-text row for each file, and a file is as near as its nearest chunk.

Source: tobi/qmd 2.8.3, src/store.ts, searchFTS, searchVec and extractTitle.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import apsw
import numpy as np

from workbench.contracts import Index
from workbench.memory.chunking import whole_characters
from workbench.memory.store.sqlite.match import match_expression
from workbench.records import Chunk, Document, Hits, Query, Rows, Vector
from workbench.retrieval.index_adapters import IndexAdapter, kept, whole_documents
from workbench.systems.qmd.query import spaced
from workbench.systems.whole_files import WholeFiles, whole_files

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

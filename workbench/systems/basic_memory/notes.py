"""An index laid out like Basic Memory's: one full-text row per note, and a note is as near as its best chunk.

Source: basicmachines-co/basic-memory, models/search.py and services/search_service.py at a6d07843.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from workbench.contracts import Index
from workbench.memory.frontmatter import BLOCK, NOTHING, FrontMatter, front_matter
from workbench.records import Chunk, Document, Hits, Query, Rows, Vector
from workbench.retrieval.index_adapters import IndexAdapter, kept, whole_documents
from workbench.systems.basic_memory.note_table import EachColumn, Matching, Note, NoteStore
from workbench.systems.whole_files import WholeFiles, whole_files

LONGEST_STEMS = 6_000
VECTOR_POOL = 1_100
"""The number of chunks that the vector leg reads for a page of ten results: 110 candidates × 10."""
CHUNKS_PER_NOTE = 10


def without_front_matter(path: str, text: str) -> tuple[FrontMatter, str]:
    """The front matter of a note, and the text after it. Raises InputError for broken front matter.

    >>> without_front_matter("a.md", "---\\ntags: tea\\n---\\nA cup.")[1].strip()
    'A cup.'
    """
    head = front_matter(path, text)
    block = BLOCK.match(text)
    return (NOTHING, text) if head == NOTHING or block is None else (head, text[block.end() :])


def variants(text: str) -> list[str]:
    """The searchable forms of a text: itself, in lower case, its path segments, and its words.

    >>> variants("Tea/Cups of")
    ['Tea/Cups of', 'tea/cups of', 'Tea', 'Cups of', 'tea/cups', 'of']
    """
    forms = [text, text.lower(), *(part.strip() for part in text.split("/")), *text.lower().split()]
    return [form for form in dict.fromkeys(forms) if form]


def permalink_of(path: str, project: str) -> str:
    """The permalink of a note: the project, and the path in lower case with hyphens, without accents.

    Dots stay. Basic Memory also writes Hangul in Latin letters; here it stays.

    >>> permalink_of("memory/Tea_Cups and more.md", "main"), permalink_of("über/Tea.notes.md", "main")
    ('main/memory/tea-cups-and-more', 'main/uber/tea.notes')
    """
    parts = _without_accents(PurePosixPath(path).with_suffix("").as_posix().lower()).split("/")
    return "/".join([project, *(re.sub(r"(?:[^\w.]|_)+", "-", part).strip("-") for part in parts)])


def _without_accents(text: str) -> str:
    """Latin letters without their marks; letters of other scripts as they are."""
    return "".join(
        unicodedata.normalize("NFKD", letter)[0] if "LATIN" in unicodedata.name(letter, "") else letter
        for letter in unicodedata.normalize("NFC", text)
    )


def note_of(document: Document, project: str) -> Note:
    """The full-text row of a document. The title is that of the front matter, or else the file name.

    content_snippet holds the whole body: the databases that e46555bf and the releases 0.19.0 to 0.23.2 write
    show it. Release 0.18.5 stores 250 characters.
    """
    head, text = without_front_matter(document.path, document.text)
    body = text.strip()
    title = str(head.rest.get("title") or PurePosixPath(document.path).stem)
    permalink = str(head.rest.get("permalink") or permalink_of(document.path, project))
    parts = [*variants(title), body, *variants(permalink), *variants(document.path), *head.tags]
    return Note(title, "\n".join(parts)[:LONGEST_STEMS], body, permalink)


def vector_text(note: Note) -> str:
    """The text of a note that is cut and embedded: title, permalink and body, with blank lines between."""
    return "\n\n".join([note.title, note.permalink, note.content_snippet])


@dataclass(frozen=True)
class ArrangedNotes:
    """The notes of an index, and their full-text table; this class does not reference the index."""

    files: WholeFiles
    store: NoteStore


def lay_out(index: Index, documents: Sequence[Document], project: str) -> ArrangedNotes:
    """The notes of an index, in the order of the documents."""
    store = NoteStore([note_of(document, project) for document in documents])
    return ArrangedNotes(whole_files(index, documents), store)


class NoteIndex(IndexAdapter):
    """An index that answers a search with whole notes."""

    def __init__(self, inner: Index, notes: ArrangedNotes, matching: Matching) -> None:
        super().__init__(inner)
        self.notes, self.matching = notes, matching

    @property
    def size(self) -> int:
        """The number of notes."""
        return len(self.notes.files.files)

    def keyword(self, query: Query, limit: int) -> Hits:
        """The matching notes, in the order of SQLite's answer."""
        return self.notes.store.search(query, limit, self.matching)

    def vector(self, query: Vector, limit: int) -> Hits:
        """The notes of the nearest chunks, each with its nearest chunk's distance."""
        pool = max(VECTOR_POOL, limit * CHUNKS_PER_NOTE)
        return self.notes.files.nearest(self.inner, query, pool, limit)

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        return [self.notes.files.files[row] for row in rows]

    def rows_of(self, path: str) -> Rows:
        """The row of a file; an empty array if the file is not indexed."""
        return self.notes.files.rows_of(path)


@dataclass(frozen=True)
class NotesLayout:
    """Whole notes instead of chunks, in the full-text columns of Basic Memory.

    `matching` is the WHERE clause of the keyword leg, `project` is the first part of every permalink. bm25()
    counts every column, also one that is not searched: with content_snippet the body counts twice in a row's
    length, and in the mean.
    """

    matching: Matching = field(default_factory=EachColumn)
    project: str = "main"

    @property
    def says(self) -> str:
        return (
            f"whole notes of the project {self.project}, with the body in content_snippet and up to "
            f"{LONGEST_STEMS:,} characters in content_stems; {self.matching.says}"
        )

    def of(self, index: Index) -> Index:
        """The index as notes, arranged once for each generation.

        Raises InputError for an index that has no whole documents.
        """
        key = NotesLayout, self.project

        def arranged() -> ArrangedNotes:
            return lay_out(index, whole_documents(index, self), self.project)

        return NoteIndex(index, kept(index, key, arranged), self.matching)

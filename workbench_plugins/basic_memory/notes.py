"""An index laid out like Basic Memory's: one full-text row per note, and a note is as near as its best chunk.

Source: basicmachines-co/basic-memory, models/search.py and services/search_service.py at a6d07843.

The SQL of the full-text table makes SQLite work as it does in Basic Memory: two MATCH terms joined with OR
are two scans of the table, and bm25() of a row comes from the scan that finds the row first.
"""

from __future__ import annotations

import mimetypes
import re
import unicodedata
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import PurePosixPath
from typing import Any, ClassVar, NamedTuple, Protocol

import apsw
import numpy as np
import yaml
from text_unidecode import unidecode

from workbench.contracts import Index
from workbench.memory.files import content_hash
from workbench.memory.safe_yaml import RefusedYamlError, load_yaml
from workbench.memory.sources import whole_characters
from workbench.memory.store.sqlite.fts5 import match_expression
from workbench.memory.whole_files import WholeFiles, whole_documents, whole_files
from workbench.records import Chunk, Document, Hits, Query, Rows, Vector
from workbench.retrieval.index_adapters import IndexAdapter, memoized
from workbench_plugins.basic_memory.rows import (
    LINKS_TO,
    Block,
    Named,
    blocks,
    known_names,
    linked_files,
    observation,
    relations,
    target_of,
    without_code,
)

CREATE_SQL = """
    CREATE VIRTUAL TABLE notes USING fts5 (
        title, content_stems, content_snippet, permalink, script_ngrams,
        tokenize = 'unicode61 tokenchars 0x2F', prefix = '1,2,3,4'
    )
"""
# 0x2F is meant to make the slash a part of words, but FTS5 reads it as the characters 0, x, 2 and F, which
# are parts of words anyway: `docs/readme` is two tokens. Nothing is stemmed.

INSERT_SQL = "INSERT INTO notes (rowid, {}) VALUES (?, ?, ?, ?, ?, ?)"

SEARCH_SQL = """
    SELECT rowid, bm25(notes) AS raw FROM notes WHERE {where} AND +rowid < ?3
    ORDER BY raw, rowid LIMIT ?2
"""


class Note(NamedTuple):
    """One row of the table, column by column. `script_ngrams` is empty before 0.24."""

    title: str
    content_stems: str
    content_snippet: str
    permalink: str
    script_ngrams: str = ""


@dataclass(frozen=True, slots=True)
class WholeRow(Query):
    """A query whose expression names its columns itself and is matched once."""


class Matching(Protocol):
    """The WHERE clause that applies one MATCH expression to the columns of the table."""

    @property
    def description(self) -> str: ...

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
    def description(self) -> str:
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
    def description(self) -> str:
        return f"one MATCH over {' and '.join(self.columns)}"

    @property
    def where(self) -> str:
        return "notes MATCH ?1"

    def bound(self, match: str) -> str:
        return f"{{{' '.join(self.columns)}}} : ({match})"


class NoteStore:
    """The notes of a memory in the given order; the first note is row 0.

    `beside` are rows that a search does not return, and that bm25() counts.
    """

    def __init__(self, notes: Sequence[Note], beside: Sequence[Note] = ()) -> None:
        self.size = len(notes)
        self._db = apsw.Connection(":memory:")
        self._db.execute(CREATE_SQL)
        with self._db:
            self._db.executemany(
                INSERT_SQL.format(", ".join(Note._fields)),
                [(row, *note) for row, note in enumerate([*notes, *beside])],
            )

    def search(self, query: Query, limit: int, matching: Matching) -> Hits:
        """The matching notes, by (bm25, row), with FTS5's negative bm25.

        An expression that FTS5 cannot parse finds nothing; a question may end with an operator, for example.
        """
        whole = isinstance(query, WholeRow)
        sql = SEARCH_SQL.format(where=OneMatch().where if whole else matching.where)
        match = whole_characters(match_expression(query))
        bound = match if whole else matching.bound(match)
        try:
            found = self._db.execute(sql, (bound, limit, self.size)).fetchall()
        except apsw.SQLError:
            found = []
        return Hits(np.array([row for row, _ in found], np.int64), np.array([raw for _, raw in found], float))


LONGEST_STEMS = 6_000
MOST_IN_TITLE = 100
MOST_IN_PERMALINK = 200
"""Characters of an observation."""
VECTOR_POOL = 1_100
"""The number of chunks that the vector leg reads for a page of ten results: 110 candidates × 10."""
CHUNKS_PER_NOTE = 10


def head_and_body(text: str) -> tuple[Mapping[str, Any], str]:
    """The keys of a note's front matter and the text after it; without a usable one, the whole text.

    Blank lines may stand before it, and only dashes end it.

    >>> head_and_body("---\\ntitle: Tea\\n---\\nA cup."), head_and_body("---\\na: [b\\n---\\n")
    (({'title': 'Tea'}, 'A cup.'), ({}, '---\\na: [b\\n---'))
    """
    text = plain_lines(text).strip()
    before, *rest = HEAD.split(text, maxsplit=2)
    if before or len(rest) < 2:
        return {}, text
    try:
        keys = load_yaml(rest[0]) or {}
    except (RefusedYamlError, yaml.YAMLError):
        return {}, text
    return (keys, rest[1].strip()) if isinstance(keys, Mapping) else ({}, text)


def plain_lines(text: str) -> str:
    r"""The text with "\n" for every kind of line end, as Basic Memory reads a file."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


HEAD = re.compile(r"^-{3,}\s*$", re.MULTILINE)


def tags_of(keys: Mapping[str, Any]) -> list[str]:
    """The tags of a front matter: a list of anything, or words between commas; a # before one is left out."""
    tags = keys.get("tags") or []
    each = tags if isinstance(tags, list) else str(tags).split(",")
    return [str(one).strip().lstrip("#") for one in each if one is not None]


def variants(text: str) -> list[str]:
    """The searchable forms of a text: itself, in lower case, its path segments, and its words.

    >>> variants("Tea/Cups of")
    ['Tea/Cups of', 'tea/cups of', 'Tea', 'Cups of', 'tea/cups', 'of']
    """
    forms = [text, text.lower(), *(part.strip() for part in text.split("/")), *text.lower().split()]
    return [form for form in dict.fromkeys(forms) if form]


def permalink_of(path: str, project: str) -> str:
    """The permalink of a note: the project, and the path without its suffix as a `slug`.

    >>> permalink_of("memory/Tea_Cups and more.md", "main"), permalink_of("über/Tea.notes.md", "main")
    ('main/memory/tea-cups-and-more', 'main/uber/tea.notes')
    """
    return f"{project}/{slug(PurePosixPath(path).with_suffix('').as_posix())}"


def slug(text: str) -> str:
    """A text as a part of a permalink: lower case with hyphens, without accents and apostrophes.

    Dots and slashes stay, and a hyphen comes before a capital inside a word. Chinese characters and their
    punctuation stay, wide forms are left out, and every other script becomes Latin letters.

    >>> slug("CamelNote: it's 50% (of 3.5)!"), slug("Größe /a_b/"), slug("日本語ノート 한국어, мир")
    ('camel-note-its-50-of-3.5', 'grosse/a-b', '日本語-no-to-hangugeo-mir')
    """
    latin = "".join(map(_in_latin, unicodedata.normalize("NFC", text).translate(OWN)))
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1-\2", latin).replace("'", "").lower()
    apart = re.sub(f"(?<=[{HAN}])(?=[a-z0-9])|(?<=[a-z0-9])(?=[{HAN}])", "-", spaced)
    parts = (re.sub(rf"(?:[^\w.{HAN}]|_)+", "-", one).strip("-") for one in apart.split("/"))
    return "/".join(one for one in parts if one not in ("", "."))


def slug_of_file(text: str) -> str:
    """The `slug` of a text without its suffix, if that is one of a kind of file.

    >>> slug_of_file("see image.png"), slug_of_file("Release 1.2")
    ('see-image', 'release-1.2')
    """
    return slug(text[: text.rindex(".")] if mimetypes.guess_type(text)[0] and "." in text else text)


HAN = "\u3000-\u303f\u3400-\u9fff"
KEPT, WIDE = re.compile(f"[{HAN}]"), re.compile("[\uff00-\uffef]")
OWN = str.maketrans(
    {"し": "shi", "ち": "chi", "っ": "tsu", "つ": "tsu", "シ": "shi", "チ": "chi", "ッ": "tsu", "ツ": "tsu"}
    | {"ー": "-", "・": "-", "Є": "Ie", "א": "A", "ח": "H", "ט": "T", "כ": "KH", "ך": "KH", "צ": "TS"}
    | {"ץ": "TS", "ק": "k", "ש": "SH", "ײ": "EY", "ױ": "OY"}
)
"""Letters that Basic Memory's table writes in another way than text-unidecode's."""


def _in_latin(letter: str) -> str:
    if letter.isascii() or KEPT.match(letter):
        return letter
    return "" if WIDE.match(letter) else str(unidecode(letter)).replace("[?]", "")


def note_of(document: Document, project: str) -> Note:
    """The full-text row of a document. The title is that of the front matter, or else the file name.

    content_snippet holds the whole body: the databases that e46555bf and the releases 0.19.0 to 0.23.2 write
    show it. Release 0.18.5 stores 250 characters.
    """
    keys, body = head_and_body(document.text)
    title = str(keys.get("title") or PurePosixPath(document.path).stem)
    permalink = str(keys.get("permalink") or permalink_of(document.path, project))
    parts = [*variants(title), body, *variants(permalink), *variants(document.path), *tags_of(keys)]
    return Note(title, "\n".join(parts)[:LONGEST_STEMS], body, permalink)


@dataclass(frozen=True)
class ArrangedNotes:
    """The notes of an index, and their full-text table; this class does not reference the index."""

    files: WholeFiles
    store: NoteStore


def lay_out(index: Index, documents: Sequence[Document], layout: NotesLayout) -> ArrangedNotes:
    """The notes of an index, in the order of the documents."""
    notes = [note_of(document, layout.project) for document in documents]
    names = [
        Named(one.title, one.permalink, document.path) for one, document in zip(notes, documents, strict=True)
    ]
    beside = layout.beside(names, [note.content_snippet for note in notes])
    store = NoteStore([*map(layout.row, notes)], [*map(layout.row, beside)])
    return ArrangedNotes(whole_files(index, documents), store)


def rows_beside(
    names: Sequence[Named], bodies: Sequence[str], project: str, release: str = "0.23.2"
) -> list[Note]:
    """The rows of the observations and relations of all notes, each once for its permalink and its target.

    From 0.24 on, the same observation twice is two rows, a link in code or behind a backslash is none, and a
    Markdown link to a file is one.
    """
    rows: dict[tuple[str, str], Note] = {}
    known = known_names(names)
    new = release >= "0.24"
    for source, body in zip(names, bodies, strict=True):
        for block in blocks(body):
            for row in _observations(block, source):
                if new and (row.permalink, "") in rows:
                    row = _numbered(row, source, rows)
                rows.setdefault((row.permalink, ""), row)
            for kind, name in relations(without_code(block) if new else block):
                target = target_of(name, slug(name.partition("|")[0]), source, known, project)
                row = _relation(kind, name, source, target)
                rows.setdefault((row.permalink, "" if target else name), row)
            for name, path in linked_files(block, source.path) if new else ():
                target = next((one for one in names if one.path == path), None)
                row = _relation(LINKS_TO, name, source, target)
                rows.setdefault((row.permalink, "" if target else name), row)
    return list(rows.values())


def _numbered(row: Note, source: Named, rows: Container[tuple[str, str]]) -> Note:
    """An observation that stands in its note again, with a number in its permalink."""
    start = f"{source.permalink}/observations"
    names = (f"{start}-{number}{row.permalink.removeprefix(start)}" for number in count(1))
    return row._replace(permalink=next(name for name in names if (name, "") not in rows))


def _observations(block: Block, source: Named) -> Iterator[Note]:
    if found := observation(block):
        category, content = found
        cut = slug_of_file(content[:MOST_IN_PERMALINK])
        if len(content) > MOST_IN_PERMALINK:
            cut = f"{cut}-{content_hash(content)[:12]}"
        title = f"{category}: {content[:MOST_IN_TITLE]}..."
        permalink = f"{source.permalink}/observations/{slug(category)}/{cut}"
        yield Note(title, "\n".join(variants(content))[:LONGEST_STEMS], content, permalink)


def _relation(kind: str, name: str, source: Named, target: Named | None) -> Note:
    title = f"{source.title} -> {target.title}" if target else source.title
    end = target.permalink if target else slug_of_file(name)
    return Note(title, "\n".join(variants(title)), "", f"{source.permalink}/{slug(kind)}/{end}")


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

    unit: ClassVar[str] = "notes"

    matching: Matching = field(default_factory=EachColumn)
    project: str = "main"

    def row(self, note: Note) -> Note:
        """The row of the table for a note, an observation or a relation."""
        return note

    def beside(self, names: Sequence[Named], bodies: Sequence[str]) -> list[Note]:
        """The rows of the observations and relations of all notes."""
        return rows_beside(names, bodies, self.project)

    @property
    def description(self) -> str:
        return (
            f"whole notes of the project {self.project}, with the body in content_snippet and up to "
            f"{LONGEST_STEMS:,} characters in content_stems; {self.matching.description}"
        )

    def of(self, index: Index) -> Index:
        """The index as notes, arranged once for each generation.

        Raises InputError for an index that has no whole documents.
        """
        key = type(self), self.project

        def arranged() -> ArrangedNotes:
            return lay_out(index, whole_documents(index, self), self)

        return NoteIndex(index, memoized(index, key, arranged), self.matching)

"""Sources of documents: first a list with sizes and times, then one document at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol

from workbench.memory.chunking import Chunker, chunker_of_file
from workbench.memory.files import SOURCE, read_document
from workbench.memory.paths import GENERAL, FileRules, list_files, place_of
from workbench.records import Document, Passage


class Look(NamedTuple):
    """What is known of a file without reading it: its size in bytes and its modification time."""

    size: int
    mtime_ns: int


class DocumentSource(Protocol):
    """Documents of one kind. Sync deletes a document when no source of its kind has it any more.

    Each method raises InputError for input that cannot be used; `read` raises its subclass `files.GoneError`
    for a file that was deleted since it was listed. A document's size and time are from before it was read.
    """

    @property
    def name(self) -> str:
        """The `source` of its documents: `memory` or `sessions`."""

    def stamps(self) -> dict[str, Look]:
        """The look of every document, by path. No file is opened."""

    def read(self, path: str) -> Document:
        """The document at one of these paths."""

    def cut(self, document: Document, chunker: Chunker) -> list[Passage]:
        """Its passages, blank ones left out, with line numbers of the original file."""


def looks(files: Iterable[tuple[str, str]]) -> dict[str, Look]:
    """The looks of files by path, from pairs of a path and a file; a file that does not exist is left out."""
    found = {}
    for path, file in files:
        try:
            info = os.lstat(file)
        except FileNotFoundError:
            continue
        found[path] = Look(info.st_size, info.st_mtime_ns)
    return found


@dataclass(frozen=True)
class MemoryFolder:
    """The Markdown files of a memory's folder and of extra paths beside it."""

    name: ClassVar[str] = SOURCE
    root: Path
    extra: Sequence[str] = ()
    rules: FileRules = GENERAL

    def stamps(self) -> dict[str, Look]:
        listed = list_files(self.root, self.extra, self.rules)
        return looks((path, f"{self.root}{os.sep}{path}") for path in listed)

    def read(self, path: str) -> Document:
        return read_document(place_of(self.root, path, self.extra), path)

    def cut(self, document: Document, chunker: Chunker) -> list[Passage]:
        cut = chunker_of_file(chunker, document.path).chunk(document.text)
        return [passage for passage in cut if passage.text.strip()]


@dataclass(frozen=True)
class Indexing:
    """How a release indexes a memory: which files it reads, how it cuts them, and the order of equal hits.

    With `ties_by_row`, hits with equal numbers come in the order in which they were stored, as an SQL query
    without a further ORDER BY returns them; otherwise in the order of their chunk ids.
    """

    name: str
    chunker: Chunker
    rules: FileRules = GENERAL
    ties_by_row: bool = False


Listed = tuple[DocumentSource, Look]
"""Which source lists a document, and its look."""


def listed(sources: Iterable[DocumentSource]) -> dict[str, Listed]:
    """Every document by its path."""
    return {path: (source, look) for source in sources for path, look in source.stamps().items()}

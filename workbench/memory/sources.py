"""Where documents come from: what is there by a glance, then one document at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol

from workbench.memory.chunking import Chunker
from workbench.memory.files import SOURCE, read_document
from workbench.memory.paths import list_files
from workbench.records import Document, Passage


class Look(NamedTuple):
    """What a file looks like without being read: its size in bytes, and when it was last written."""

    size: int
    mtime_ns: int


class DocumentSource(Protocol):
    """Documents of one kind. Sync forgets a document when no source of its kind has it any more.

    Raises InputError from each method for what cannot be used, and `files.GoneError`, which is one, from
    `read` for a file that has just been deleted. A document's size and time are from before it was read.
    """

    @property
    def name(self) -> str:
        """What its documents have as their `source`: `memory` or `sessions`."""

    def stamps(self) -> dict[str, Look]:
        """Every document's look, by path, from the folders alone: no file is opened."""

    def read(self, path: str) -> Document:
        """The document at one of these paths."""

    def cut(self, document: Document, chunker: Chunker) -> list[Passage]:
        """Its passages, none of them blank, in lines of the file that it was read from."""


def looks(files: Iterable[tuple[str, str]]) -> dict[str, Look]:
    """What files look like, by path, from pairs of a path and a file; one that has just gone has no look."""
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
    """The Markdown of a memory's folder, and of extra paths beside it."""

    name: ClassVar[str] = SOURCE
    root: Path
    extra: Sequence[str] = ()

    def stamps(self) -> dict[str, Look]:
        return looks((path, f"{self.root}{os.sep}{path}") for path in list_files(self.root, self.extra))

    def read(self, path: str) -> Document:
        return read_document(self.root, path)

    def cut(self, document: Document, chunker: Chunker) -> list[Passage]:
        return [passage for passage in chunker.chunk(document.text) if passage.text.strip()]

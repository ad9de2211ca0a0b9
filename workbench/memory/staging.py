"""Documents that were read and wait to be stored: a few in memory, more of them in a temporary file."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO

from workbench.memory.store.errors import unwritable
from workbench.records import Document

IN_MEMORY = 16_000_000
"""Bytes of documents that are kept in memory. More go into a file without a name, which nobody else opens."""


class Staged:
    """A queue of documents: all are added before the first is taken out."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file = file
        self._path = path
        self.count = 0

    def add(self, document: Document) -> None:
        """Appends a document. Raises DiskFullError or UnwritableError when the temporary file cannot grow."""
        try:
            pickle.dump(document, self._file)
        except OSError as error:
            raise unwritable(self._path, error) from None
        self.count += 1

    def __iter__(self) -> Iterator[Document]:
        self._file.seek(0)
        for _ in range(self.count):
            yield pickle.load(self._file)


@contextmanager
def staging(folder: Path | None) -> Iterator[Staged]:
    """An empty queue, deleted at the end of the block. A large one uses a file in `folder`."""
    with SpooledTemporaryFile(IN_MEMORY, dir=None if folder is None else str(folder)) as file:
        yield Staged(file, folder or Path("a temporary file"))

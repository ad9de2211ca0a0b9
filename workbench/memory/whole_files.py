"""Whole files instead of chunks, for systems that search and return files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench.contracts import Index, Layout
from workbench.errors import InputError
from workbench.records import Chunk, Document, Hits, Rows, Vector


def whole_documents(index: Index, layout: Layout) -> Sequence[Document]:
    """All documents with their whole text, by path.

    Raises InputError, naming both, if `layout` needs them and the index keeps chunks only.
    """
    documents = index.documents()
    if documents is None:
        raise InputError(
            f"The index {index.name} keeps no whole documents, so it cannot be laid out as: "
            f"{layout.description}.",
            "Index the folder with `workbench index`, or choose a system that searches chunks as they are.",
        )
    return documents


@dataclass(frozen=True)
class WholeFiles:
    """The files of an index as chunks, in the order of their paths; this class does not reference the index.

    `owners` holds the file of each chunk, in the order of `chunk_rows`. Neither has the chunks of a file that
    was left out.
    """

    files: tuple[Chunk, ...]
    chunk_rows: Rows
    owners: Rows

    def owners_of(self, rows: Rows) -> Rows:
        """The files to which these chunks belong."""
        found: Rows = self.owners[np.searchsorted(self.chunk_rows, rows)]
        return found

    def nearest(self, chunks: Index, query: Vector, pool: int, limit: int) -> Hits:
        """The files of the `pool` nearest chunks, each as near as its nearest chunk, at most `limit`."""
        near = chunks.vector(query, pool)
        owned = np.isin(near.rows, self.chunk_rows)
        owners, first = np.unique(self.owners_of(near.rows[owned]), return_index=True)
        raw = near.raw[owned][first]
        best = np.lexsort((owners, raw))[:limit]
        return Hits(owners[best], raw[best])

    def rows_of(self, path: str) -> Rows:
        """The row of a file; an empty array if the file is not indexed."""
        return np.array([row for row, file in enumerate(self.files) if file.path == path], np.int64)


def whole_files(index: Index, documents: Sequence[Document]) -> WholeFiles:
    """The files of an index. A file's id is its path, so ties are in the order of the documents."""
    rows = [index.rows_of(document.path) for document in documents]
    every = np.concatenate([*rows, np.empty(0, np.int64)])
    owners = np.repeat(np.arange(len(documents)), [some.size for some in rows])
    sorter = np.argsort(every)
    return WholeFiles(
        tuple(_whole(one, index.chunks(some)) for one, some in zip(documents, rows, strict=True)),
        every[sorter],
        owners[sorter],
    )


def _whole(document: Document, chunks: Sequence[Chunk]) -> Chunk:
    lines = max(1, len(document.text.splitlines()))
    length = sum(len(chunk.text) for chunk in chunks)
    read = sum(chunk.read_share * len(chunk.text) for chunk in chunks) / length if length else 1.0
    return Chunk(document.path, document.path, document.source, 1, lines, document.text, read_share=read)

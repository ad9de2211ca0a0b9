"""An index of the same notes in other chunks, in a temporary folder that is removed at the end."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from workbench.memory.chunking import Chunker, chunker_of_file
from workbench.memory.embedding.cache import embed_through_cache
from workbench.memory.files import SOURCE
from workbench.memory.index import MemoryIndex
from workbench.memory.store.sqlite.store import Store
from workbench.memory.store.values import Cached
from workbench.progress import progress
from workbench.records import Document, Passage


@contextmanager
def rebuilt(index: MemoryIndex, chunker: Chunker, what: str) -> Iterator[MemoryIndex]:
    """The documents of `index` as it holds them, cut by `chunker`; `what` names the work in its progress.

    Vectors of texts that `index` knows are taken from there, and it is not changed. A transcript has the
    lines of its text, and not those of its file, which the index does not keep.
    """
    own = index.store
    assert isinstance(own, Store)  # other_chunks are those of an index file
    settings = replace(own.settings, chunker=chunker.name)
    with (
        tempfile.TemporaryDirectory(prefix="workbench-chunks-") as folder,
        Store.create(Path(folder) / "index.sqlite", settings) as store,
    ):
        store.describe(file_rules=own.file_rules, ties_by_row=own.ties_by_row)
        store.borrow(own)
        fresh = MemoryIndex(store, index.embedder)
        cuts = [(one, _cut(one, chunker)) for one in index.documents()]
        vectors = _vectors(fresh, store, [one for _, passages in cuts for one in passages], what)
        with store.writing():
            for document, passages in cuts:
                fresh.add(document, passages, [vectors[one.hash] for one in passages])
        yield fresh


def _cut(document: Document, chunker: Chunker) -> list[Passage]:
    """The passages of a document, as its source cuts it: transcripts have no rules for their files."""
    cutting = chunker_of_file(chunker, document.path) if document.source == SOURCE else chunker
    return [one for one in cutting.chunk(document.text) if one.text.strip()]


def _vectors(index: MemoryIndex, store: Store, passages: list[Passage], what: str) -> Mapping[str, Cached]:
    texts = {one.hash: one.text for one in passages}
    known = store.cached(store.settings, "passage", texts)
    with progress(len(texts) - len(known), what, "chunks") as done:

        def count(embedded: int) -> None:
            for _ in range(embedded):
                done()

        return embed_through_cache(store, store.settings, index.embedder, "passage", texts, count)

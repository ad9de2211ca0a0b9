"""A memory with its index, and an embedder that is watched: what tests of the memory room work on."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from tests import world
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import Embedded, Embedder
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sources import LineChunker
from workbench.memory.store.sqlite.store import Store
from workbench.memory.sync import Summary, index_folder


@contextmanager
def no_file_grows() -> Iterator[None]:
    """As on a full disk: no file gets larger than 100 bytes, whoever writes it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@dataclass
class Watched:
    """The toy embedder, keeping what it was asked, and failing from the call `fails_at` on."""

    fails_at: int = 1 << 30
    asked: list[list[str]] = field(default_factory=list)
    name: str = "toy"
    revision: str = world.EMBEDDER.revision
    dimensions: int = 3

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        self.asked.append(list(texts))
        if len(self.asked) >= self.fails_at:
            raise ConnectionError("the embedder is gone")
        return world.EMBEDDER.embed(texts, role)


@dataclass
class Home:
    """A memory and its index file."""

    root: Path
    file: Path
    chunker: LineChunker = field(default_factory=LineChunker)

    def sync(self, embedder: Embedder | None = None, **options: Any) -> Summary:
        chosen = embedder or Watched()
        rebuild = options.pop("rebuild", False)
        given = Options(index_path=self.file, chunker=self.chunker, **options)
        return index_folder(self.root, chosen, rebuild=rebuild, options=given)

    def opened(self, embedder: Embedder | None = None) -> MemoryIndex:
        return open_index(self.root, embedder or Watched(), index_path=self.file)

    def text_of(self, path: str) -> str:
        """The text of an indexed file."""
        with Store.open(self.file) as store:
            return next(document.text for document in store.documents() if document.path == path)

    def beside(self) -> list[str]:
        """The names of all files in the index's folder."""
        return sorted(os.listdir(self.file.parent))

    def contents(self) -> tuple[int, dict[str, list[str]]]:
        """The generation, and the ids of every file's chunks; the index is sound."""
        with Store.open(self.file) as store:
            assert unsound(store) == []
            paths = list(store.stamps())
            ids = {path: [chunk.id for chunk in store.chunks(store.rows_of(path))] for path in paths}
            return store.generation, ids


def unsound(store: Store) -> list[str]:
    """The problems that SQLite's and FTS5's integrity checks find; none in a sound index."""
    problems = [row for (row,) in store.db.execute("PRAGMA integrity_check") if row != "ok"]
    if not store.writable:
        return problems  # FTS5's own check is an INSERT
    try:
        store.db.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('integrity-check', 1)")
    except apsw.CorruptError as error:
        problems.append(f"full-text index: {error}")
    return problems

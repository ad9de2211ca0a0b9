"""The options of indexing a folder: where the index is, what is read, and how it is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.memory.sources import Chunker, DocumentSource, Indexing, LineChunker
from workbench.memory.store.sqlite.location import WAIT_SECONDS


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a folder is indexed. The defaults are those of `workbench index`.

    `index_path` is the file of the index, and `store` the address of a database server for it, such as
    postgresql://USER@HOST/DATABASE; without both it is the default file of the folder. `like` indexes as a
    release does: its files, its chunker; its default file lies beside that of the workbench. `chunker` cuts
    in place of the release's. Without both, an index keeps the sizes of its chunks, and a new one has those
    of LineChunker(). `extra` has the folders and files beside the memory that are indexed too; None means
    those of the last run (see `choices`). `sources` has further documents, such as transcripts.

    With `verify`, every file is read, and its content says whether it has changed; a rebuild embeds every
    text again. With `skip`, a file that cannot be used keeps its indexed state, and the summary names it.
    `wait` is how many seconds to wait for another process that indexes the same memory. With `vectors_later`,
    a file of a local model gets the known vectors alone: the others are computed when a search first compares
    them, and then kept.

    Raises InputError for a value of another kind, and for an index both in a file and on a server.
    """

    index_path: Path | None = None
    store: str | None = None
    like: Indexing | None = None
    chunker: Chunker | None = None
    extra: Sequence[str] | None = None
    sources: Sequence[DocumentSource] = ()
    verify: bool = False
    skip: bool = False
    wait: float = WAIT_SECONDS
    vectors_later: bool = False

    def __post_init__(self) -> None:
        path, wait = self.index_path, self.wait
        _check("index_path", path, path is None or isinstance(path, Path), "a pathlib.Path, or None")
        _check("store", self.store, self.store is None or isinstance(self.store, str), "an address, or None")
        like = self.like is None or isinstance(self.like, Indexing)
        _check("like", self.like, like, "what workbench.indexing(NAME) returns, or None")
        cuts = self.chunker is None or callable(getattr(self.chunker, "chunk", None))
        _check("chunker", self.chunker, cuts, "an object with a name and chunk(text), or None")
        extra = self.extra is None or _has_only(self.extra, lambda one: isinstance(one, str))
        _check("extra", self.extra, extra, "a list of paths as text, or None")
        listed = _has_only(self.sources, lambda one: callable(getattr(one, "stamps", None)))
        _check("sources", self.sources, listed, "a list of sources such as Sessions(FOLDER)")
        for name in ("verify", "skip", "vectors_later"):
            value = getattr(self, name)
            _check(name, value, isinstance(value, bool), "True or False")
        seconds = isinstance(wait, int | float) and not isinstance(wait, bool) and wait >= 0
        _check("wait", wait, seconds, "seconds, 0 or more")
        if self.store is not None and path is not None:
            raise InputError(
                "The index cannot be both in a file and on a server.", "Give --index or --store."
            )

    @property
    def indexing(self) -> Indexing:
        """The files, the cuts and the order of hits that these options choose."""
        if self.like is None:
            return Indexing("", self.chunker or LineChunker())
        return self.like if self.chunker is None else replace(self.like, chunker=self.chunker)

    @property
    def leaves_sizes_open(self) -> bool:
        """Whether an index keeps the sizes of its chunks."""
        return self.chunker is None and self.like is None


def _check(name: str, value: Any, allowed: bool, values: str) -> None:
    if not allowed:
        raise InputError(f"Options({name}={value!r}) is not possible.", f"{name} is {values}.")


def _has_only(some: Any, allowed: Any) -> bool:
    return isinstance(some, list | tuple) and all(map(allowed, some))

"""Which other chunks an index can have, and how they are made: on the command line, and in Python."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.lab.cached_index import CachedIndex
from workbench.memory.chunking import Chunker, ChunkSizes, LineChunker, resized, sizes_in
from workbench.memory.embedding.local import PACKAGED_MODEL, LocalEmbedder, UsualReading
from workbench.memory.embedding.providers.embedder import RemoteEmbedder
from workbench.memory.index import MemoryIndex, default_index_path
from workbench.memory.paths import GENERAL
from workbench.memory.store.sqlite.store import Store
from workbench.systems.openclaw.indexing import INDEXINGS, chunker_named

TRIED = (ChunkSizes(100, 20), ChunkSizes(200, 40), ChunkSizes(400, 80), ChunkSizes(800, 160))
"""The sizes that are tried, except for the present one: 400/80 is OpenClaw's own."""

BYTES_PER_TOKEN = 4


@dataclass(frozen=True)
class OtherChunks:
    """Chunks of other sizes for an index.

    `options` are those of `workbench index`, and `command` is the whole command; both are empty if the
    command line cannot make such an index. `release` is the one whose files the index has, if there is one.
    """

    now: ChunkSizes
    sizes: ChunkSizes
    chunker: Chunker
    release: str = ""
    options: str = ""
    command: str = ""

    @property
    def of_february(self) -> bool:
        """Whether the chunker is the one whose sizes an openclaw.json sets, before 2026.9.6."""
        return isinstance(getattr(self.chunker, "chunker", self.chunker), LineChunker)

    @property
    def python(self) -> str:
        """Code that indexes the memory of `index` again, in the place of its present index."""
        of_release = f", like=wb.indexing({self.release!r})" if self.release else ""
        return "\n".join(
            [
                "from pathlib import Path",
                "import workbench as wb",
                *_imports(self.chunker),
                "",
                f"chunker = {self.chunker!r}",
                "wb.index_folder(index.root, index.embedder, index_path=Path(index.name), chunker=chunker"
                f"{of_release}, rebuild=True)",
            ]
        )


def _imports(chunker: Chunker) -> Iterator[str]:
    inner: Chunker | None = getattr(chunker, "chunker", None)
    if inner is not None:
        yield from _imports(inner)
    yield f"from {type(chunker).__module__} import {type(chunker).__name__}"


def cut_index(index: Index) -> MemoryIndex:
    """The index below its caches, if its notes can be cut anew.

    Raises InputError for an index that is not the workbench's own SQLite file, for one whose vectors a
    provider makes, since every new chunk would be sent there, and for one that another chunker made.
    """
    while isinstance(index, CachedIndex):
        index = index.inner
    if type(index) is not MemoryIndex or not isinstance(index.store, Store):
        raise InputError(
            f"The notes of {index.name} cannot be cut anew: it is no index file of the workbench.",
            "Index the memory's folder with `workbench index FOLDER`, and diagnose that.",
        )
    if isinstance(index.embedder, RemoteEmbedder):
        raise InputError(
            f"Other chunks of {index.name} would be sent to {index.embedder.name}, which may cost money.",
            "Index the folder with a local model: workbench index FOLDER --index FILE",
        )
    made = index.store.settings.chunker
    if chunker_named(made) is None:
        raise InputError(
            f"The index {index.name} was made with the chunker {made!r}, whose sizes are not known here.",
            "Index the folder with `workbench index FOLDER --index FILE`, and diagnose that.",
        )
    return index


def other_chunks(index: MemoryIndex) -> list[OtherChunks]:
    """The chunks that are tried for an index that `cut_index` gave, the smallest first."""
    name = index.store.settings.chunker
    now, chunker = sizes_in(name), chunker_named(name)
    assert now is not None  # cut_index has checked the name
    assert chunker is not None
    release = _release(index, name, now)
    return [_others(index, now, sizes, resized(chunker, sizes), release) for sizes in TRIED if sizes != now]


def _others(
    index: MemoryIndex, now: ChunkSizes, sizes: ChunkSizes, chunker: Chunker, release: str | None
) -> OtherChunks:
    if release is None or not isinstance(index.embedder, LocalEmbedder):
        return OtherChunks(now, sizes, chunker, release or "")
    options = f"--as {release} --chunk {sizes}" if release else f"--chunk {sizes}"
    return OtherChunks(now, sizes, chunker, release, options, _command(index, index.embedder, options))


def _release(index: MemoryIndex, name: str, now: ChunkSizes) -> str | None:
    """The release by which the index was made, empty for the workbench's own way; None for another way."""
    rules = index.store.file_rules
    if (name, rules) == (LineChunker(*now).name, GENERAL):
        return ""
    same = (one for one in INDEXINGS if (resized(one.chunker, now).name, one.rules) == (name, rules))
    return next((one.name for one in same), None)


def _command(index: MemoryIndex, embedder: LocalEmbedder, options: str) -> str:
    """The command that indexes the memory again, with the model of the index."""
    own = index.root is not None and Path(index.name) == default_index_path(index.root)
    size = sum(stamp.size for stamp in index.store.stamps().values())
    usual = LocalEmbedder(reading=UsualReading.of(size).reading)
    given = [
        "--model", embedder.name if embedder.name != PACKAGED_MODEL else "",
        "--reading", embedder.reading.name if embedder.reading.name != usual.reading.name else "",
        "--backend", embedder.variant.backend if embedder.variant.backend != usual.variant.backend else "",
        "--precision",
        embedder.variant.precision if embedder.variant.precision != usual.variant.precision else "",
        "--index", "" if own else index.name,
    ]  # fmt: skip
    pairs = zip(given[::2], given[1::2], strict=True)
    more = [word for option, value in pairs if value for word in (option, value)]
    folder = "FOLDER" if index.root is None else shlex.quote(str(index.root))
    return " ".join(["workbench index", folder, options, *(shlex.quote(one) for one in more), "--rebuild"])


def estimate(index: MemoryIndex) -> int:
    """About how many chunks the other sizes have in all: in proportion to the present ones.

    Files are not read: a chunk ends with a line, so the lengths of files alone give too few chunks.
    """
    files = [stamp.size for stamp in index.store.stamps().values()]
    others = other_chunks(index)
    now = sum(_count(size, others[0].now) for size in files)
    new = sum(_count(size, one.sizes) for one in others for size in files)
    return round(index.size * new / max(1, now))


def _count(size: int, sizes: ChunkSizes) -> int:
    tokens = size / BYTES_PER_TOKEN
    return max(1, math.ceil((tokens - sizes.overlap) / (sizes.tokens - sizes.overlap)))

"""Other chunks of the same notes: which sizes are tried, whether they save the answer, and how they are made.

Each size is tried in a temporary index, which is removed at the end.
"""

from __future__ import annotations

import math
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.reruns import Reruns
from workbench.memory.embedding.cache import embed_through_cache
from workbench.memory.embedding.local import PACKAGED_MODEL, LocalEmbedder, UsualReading, reading_named
from workbench.memory.files import GENERAL, SOURCE
from workbench.memory.index import MemoryIndex
from workbench.memory.index_files import default_index_path
from workbench.memory.sources import (
    Chunker,
    ChunkSizes,
    Indexing,
    LineChunker,
    chunker_of_file,
    resized,
    sizes_in,
)
from workbench.memory.store.contract import Cached
from workbench.memory.store.sqlite.store import Store
from workbench.progress import progress
from workbench.records import Document, Passage
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import search
from workbench.safe_text import counted
from workbench.systems.catalogue import INDEXINGS
from workbench_plugins.diagnose.fixes import Fix, moved
from workbench_plugins.diagnose.keys import pasted_works, to_paste
from workbench_plugins.diagnose.parameters import Goal
from workbench_plugins.diagnose.prices import Prices

TRIED = (ChunkSizes(100, 20), ChunkSizes(200, 40), ChunkSizes(400, 80), ChunkSizes(800, 160))
"""The sizes that are tried, except for the present one: 400/80 is OpenClaw's own."""
BYTES_PER_TOKEN = 4
QUICKLY_CUT = 400
"""So few chunks, all sizes together, are embedded without a question: it takes a few seconds."""


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
    def keys(self) -> dict[str, int]:
        """The sizes by their names in a file of settings; empty for a chunker whose sizes no file sets."""
        by_line = isinstance(getattr(self.chunker, "chunker", self.chunker), LineChunker)
        return {f"chunking.{name}": one for name, one in self.sizes._asdict().items()} if by_line else {}

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
                f"options = wb.Options(index_path=Path(index.name), chunker=chunker{of_release})",
                "wb.index_folder(index.root, index.embedder, rebuild=True, options=options)",
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
    if getattr(index.embedder, "remote", False):
        raise InputError(
            f"Other chunks of {index.name} would be sent to {index.embedder.name}, which may cost money.",
            "Index the folder with a local model: workbench index FOLDER --index FILE",
        )
    chunker = index.store.settings.chunker
    if chunker_named(chunker) is None:
        raise InputError(
            f"The index {index.name} was made with the chunker {chunker!r}, whose sizes are not known here.",
            "Index the folder with `workbench index FOLDER --index FILE`, and diagnose that.",
        )
    return index


def chunker_named(name: str) -> Chunker | None:
    """The chunker that has this name, as an index keeps it; None if no way to index is known to have it.

    >>> chunker_named("openclaw-2026.2.13 tokens=200 overlap=40")
    LineChunker(tokens=200, overlap=40)
    """
    sizes = sizes_in(name)
    if sizes is None:
        return None
    known = [LineChunker(), *(one.chunker for one in _sized())]
    return next((one for one in (resized(each, sizes) for each in known) if one.name == name), None)


def _sized() -> list[Indexing]:
    """The ways to index whose chunks have sizes."""
    return [one for one in INDEXINGS.values() if sizes_in(one.chunker.name) is not None]


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
    return OtherChunks(
        now, sizes, chunker, release, options, _command(index, index.embedder, options, release)
    )


def _release(index: MemoryIndex, name: str, now: ChunkSizes) -> str | None:
    """The release by which the index was made, empty for the workbench's own way; None for another way."""
    rules = index.store.provenance.file_rules
    if (name, rules) == (LineChunker(*now).name, GENERAL):
        return ""
    same = (one for one in _sized() if (resized(one.chunker, now).name, one.rules) == (name, rules))
    return next((one.name for one in same), None)


def _command(index: MemoryIndex, embedder: LocalEmbedder, options: str, release: str) -> str:
    """The command that indexes the memory again, with the model of the index."""
    own = index.root is not None and Path(index.name) == default_index_path(
        index.root, index.store.provenance.indexed_as
    )
    size = sum(stamp.size for stamp in index.store.stamps().values())
    reading = INDEXINGS[release].reading if release else ""
    usual = LocalEmbedder(reading=reading_named(reading) if reading else UsualReading.of(size).reading)
    given = [
        "--model", embedder.name if embedder.name != PACKAGED_MODEL else "",
        "--reading", embedder.reading.name if embedder.reading.name != usual.reading.name else "",
        "--backend", embedder.variant.backend or "",
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


def is_quick(index: Index) -> bool:
    """Whether other sizes of chunks can be tried in seconds."""
    try:
        return estimate(cut_index(index)) <= QUICKLY_CUT
    except InputError:
        return False


@contextmanager
def rebuilt(
    index: MemoryIndex, chunker: Chunker, what: str, texts: Mapping[str, str] = {}
) -> Iterator[MemoryIndex]:
    """The documents of `index` as it holds them, cut by `chunker`; `what` names the work in its progress.

    `texts` are other texts for some documents, by their path.
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
        store.provenance.describe(
            file_rules=own.provenance.file_rules, ties_by_row=own.provenance.ties_by_row
        )
        store.known_vectors.source = own
        fresh = MemoryIndex(store, index.embedder)
        documents = [replace(one, text=texts.get(one.path, one.text)) for one in index.documents()]
        cuts = [(one, _cut(one, chunker)) for one in documents]
        vectors = _vectors(fresh, store, [one for _, passages in cuts for one in passages], what)
        with store.writing():
            for document, passages in cuts:
                fresh.store.replace(document, passages, [vectors[one.hash] for one in passages])
        yield fresh


def _cut(document: Document, chunker: Chunker) -> list[Passage]:
    """The passages of a document, as its source cuts it: transcripts have no rules for their files."""
    cutting = chunker_of_file(chunker, document.path) if document.source == SOURCE else chunker
    return [one for one in cutting.chunk(document.text) if one.text.strip()]


def _vectors(index: MemoryIndex, store: Store, passages: list[Passage], what: str) -> Mapping[str, Cached]:
    texts = {one.hash: one.text for one in passages}
    known = store.known_vectors.find(store.settings, "passage", texts)
    with progress(len(texts) - len(known), what, "chunks") as done:

        def count(embedded: int) -> None:
            for _ in range(embedded):
                done()

        return embed_through_cache(store, store.settings, index.embedder, "passage", texts, count)


SETTING = "chunking"
UNTRIED = "Other chunks are not tried"


class Tried(NamedTuple):
    """The sizes of chunks that work as fixes, and a sentence about what was tried."""

    fixes: Sequence[Fix]
    description: str


def untried(index: Index) -> Tried:
    """No fixes, and what trying other chunks of this index would take, or why it cannot be tried."""
    try:
        memory = cut_index(index)
    except InputError as error:
        return Tried((), f"{UNTRIED}. {error.problem}")
    sizes = _listed([str(one.sizes) for one in other_chunks(memory)])
    chunks = counted(estimate(memory), "chunk")
    return Tried((), f"{UNTRIED}. --rechunk tries {sizes} tokens, about {chunks} in all.")


def tried(runs: Reruns, goal: Goal, prices: Prices, index: Index, file: str = "") -> Tried:
    """The same search on the memory in other chunks. Raises InputError as `cut_index` does.

    `file` is the name of a system from a file of settings, in which the sizes to paste are tried.
    """
    memory = cut_index(index)
    every = other_chunks(memory)
    fixes = [fix for one in every if (fix := _fix(memory, one, runs, goal, prices, file)) is not None]
    sizes = _listed([str(one.sizes) for one in every])
    outcome = _listed([str(one.value) for one in fixes])
    works = "none of them works" if not fixes else f"{outcome} {'works' if len(fixes) == 1 else 'work'}"
    return Tried(fixes, f"Chunks of {sizes} tokens were tried, and no others: {works}.")


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _fix(
    memory: MemoryIndex, chunks: OtherChunks, runs: Reruns, goal: Goal, prices: Prices, file: str
) -> Fix | None:
    """The fix that these chunks are; None if the answer is not as wanted with them."""
    pipeline = runs.pipeline
    paste = to_paste(pipeline, chunks.keys) if chunks.keys else None
    with rebuilt(memory, chunks.chunker, f"chunks of {chunks.sizes}") as other:
        trace = search(runs.question, pipeline, other, runs.vector)
        if not goal.reached(trace):
            return None

        def works(variant: Any) -> bool:
            alike = (_cut(one, variant.chunker) == _cut(one, chunks.chunker) for one in memory.documents())
            return all(alike) and goal.reached(search(runs.question, variant.pipeline, other, runs.vector))

        gained, lost = moved(runs.base, trace, goal)
        return Fix(
            setting=SETTING,
            value=str(chunks.sizes),
            now=str(chunks.now),
            fails=None,
            pipeline=pipeline,
            verified=True,
            gained=gained,
            lost=lost,
            price=prices.price_in(CachedIndex(other)),
            chunks=chunks,
            paste=paste if paste is not None and pasted_works(file, paste, works) else None,
        )

"""A folder becomes an index: what is new or changed is chunked and embedded, the rest is left alone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tqdm.auto import tqdm

from workbench.memory.chunking import Chunker, LineChunker
from workbench.memory.embedding import READINGS, Embedder, LocalEmbedder
from workbench.memory.files import list_files, memory_root, read_document
from workbench.memory.index import MemoryIndex, default_index_path
from workbench.memory.schema import STEPS
from workbench.memory.store import Cached, Settings, Stamp, Store
from workbench.records import Document, InputError, Passage

TEXTS_IN_FLIGHT = 256
"""How many chunks at most wait for their vectors at once, unless one document alone has more."""


@dataclass
class Summary:
    """What one indexing run did."""

    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    unchanged: int = 0
    embedded: int = 0
    from_cache: int = 0
    chunks: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return (
            f"{len(self.new)} new, {len(self.changed)} changed, {len(self.deleted)} deleted, "
            f"{self.unchanged} unchanged; {self.embedded} chunks embedded, {self.from_cache} from cache; "
            f"{self.chunks} chunks in all; {self.seconds:.1f} s"
        )


Cut = tuple[Document, list[Passage]]
"""A document that has been read and cut, and waits for its vectors."""


def index_folder(
    folder: str | os.PathLike[str],
    embedder: Embedder | None = None,
    *,
    index_path: Path | None = None,
    chunker: Chunker | None = None,
    rebuild: bool = False,
    skip: bool = False,
) -> Summary:
    """What changed, after making the index of `folder` agree with the folder.

    Every file is read before anything is written. With `skip` a file that cannot be used is left out and
    named in the summary. With `rebuild` everything but the embedding cache is made anew, in one
    transaction: readers see the old index until the new one is whole. Raises InputError for a folder or a
    file that cannot be used, and for an index made by another model, chunker or version; the index then
    stays as it was.
    """
    started = time.perf_counter()
    root = memory_root(folder)
    embedder, chunker = embedder or LocalEmbedder(), chunker or LineChunker()
    path = index_path or default_index_path(root)
    summary = Summary()
    documents = list(_readable(root, summary, skip))
    settings = Settings(embedder.name, embedder.revision, embedder.dimensions, chunker.name)
    with _opened(path, settings, rebuild) as store:
        job = Job(store, settings, embedder, chunker, summary)
        if rebuild:
            _rebuild(job, documents)
        else:
            _sync(job, documents)
    summary.seconds = time.perf_counter() - started
    return summary


def open_index(
    folder: str | os.PathLike[str], embedder: Embedder | None = None, *, index_path: Path | None = None
) -> MemoryIndex:
    """The index of `folder`, ready to be searched, with the embedder that made it.

    Raises InputError when there is none yet, or when `embedder` is not the one that made it.
    """
    root = memory_root(folder)
    path = index_path or default_index_path(root)
    if not path.exists():
        raise InputError(
            f"The memory {folder} has no index yet: there is no index at {path}.",
            f"Make one: workbench index {folder}",
        )
    store = Store.open(path)
    try:
        return MemoryIndex(store, embedder_of(store, embedder))
    except InputError:
        store.close()
        raise


def outdated(folder: str | os.PathLike[str], index: MemoryIndex) -> list[str]:
    """The files that are new, gone, or of another size or time than when they were indexed; none is read."""
    root = memory_root(folder)
    known = index.store.stamps()
    there = {path: (root / path).lstat() for path in list_files(root)}
    changed = [
        path
        for path, info in there.items()
        if path not in known or known[path][1:] != (info.st_size, info.st_mtime_ns)
    ]
    return sorted([*changed, *(known.keys() - there.keys())])


def embedder_of(store: Store, embedder: Embedder | None = None) -> Embedder:
    """The embedder that made the store: `embedder` when given, or else the local model that it names.

    Raises InputError when that would give other vectors than the stored ones.
    """
    settings = store.settings
    if embedder is None:
        reading = READINGS.get(settings.revision.rpartition("/")[2])
        if reading is None:
            raise InputError(
                f"The index {store.path} was made with {settings.model} ({settings.revision}), "
                "which is no local model.",
                "Give that embedder to open_index(), or make it anew: workbench index FOLDER --rebuild",
            )
        embedder = LocalEmbedder(settings.model, reading)
    _check_same(store, settings, Settings(embedder.name, embedder.revision, 0, settings.chunker))
    return embedder


def _readable(root: Path, summary: Summary, skip: bool) -> Iterator[Document]:
    for path in list_files(root):
        try:
            yield read_document(root, path)
        except InputError as error:
            if not skip:
                raise InputError(
                    error.problem, f"{error.remedy} Or leave such files out, with --skip."
                ) from None
            summary.skipped.append(error.problem)


@dataclass(frozen=True)
class Job:
    """What one indexing run works with."""

    store: Store
    settings: Settings
    embedder: Embedder
    chunker: Chunker
    summary: Summary


def _opened(path: Path, settings: Settings, rebuild: bool) -> Store:
    if not path.exists():
        return _created(path, settings)
    store = Store.open(path, any_version=rebuild)
    try:
        if not rebuild:
            _check_same(store, store.settings, settings)
    except InputError:
        store.close()
        raise
    return store


def _created(path: Path, settings: Settings) -> Store:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"The folder {path.parent} for the index cannot be made: {error.strerror}.",
            "Choose another place with --index FILE.",
        ) from None
    return Store.create(path, settings)


def _check_same(store: Store, there: Settings, here: Settings) -> None:
    for what, old, new in (
        ("model", f"{there.model} ({there.revision})", f"{here.model} ({here.revision})"),
        ("chunker", there.chunker, here.chunker),
    ):
        if old != new:
            raise InputError(
                f"The index {store.path} was made with another {what}: {old}, not {new}.",
                "Index with the same settings, or make it anew: workbench index FOLDER --rebuild",
            )


def _rebuild(job: Job, documents: Sequence[Document]) -> None:
    # The model works before the transaction, into the cache: a search that is under way meanwhile may
    # have to write the vector of its question.
    if job.store.version == len(STEPS):
        for group in _groups(documents, job.chunker):
            _vectors(job, group)
    with job.store.writing():
        job.store.reset(job.settings)
        _sync(job, documents)


def _sync(job: Job, documents: Sequence[Document]) -> None:
    store, summary = job.store, job.summary
    known = store.stamps()
    changed = [document for document in documents if _is_changed(store, document, known)]
    summary.unchanged = len(documents) - len(changed)
    stored = 0
    with tqdm(total=len(changed), desc="indexing", unit="file", disable=None) as bar:
        for group in _groups(changed, job.chunker):
            vectors = _vectors(job, group)
            for document, passages in group:
                store.replace(document, passages, [vectors[p.hash] for p in passages])
                stored += len(passages)
                (summary.changed if document.path in known else summary.new).append(document.path)
                bar.update()
    for path in sorted(known.keys() - {document.path for document in documents}):
        store.delete(path)
        summary.deleted.append(path)
    summary.chunks = store.size
    summary.from_cache = stored - summary.embedded


def _is_changed(store: Store, document: Document, known: dict[str, Stamp]) -> bool:
    stamp = known.get(document.path)
    if stamp is None or stamp.hash != document.hash:
        return True
    if stamp[1:] != (document.size, document.mtime_ns):
        store.restamp(document.path, document.size, document.mtime_ns)
    return False


def _groups(documents: Sequence[Document], chunker: Chunker) -> Iterator[list[Cut]]:
    group: list[Cut] = []
    texts = 0
    for document in documents:
        passages = [p for p in chunker.chunk(document.text) if p.text.strip()]
        if group and texts + len(passages) > TEXTS_IN_FLIGHT:
            yield group
            group, texts = [], 0
        group.append((document, passages))
        texts += len(passages)
    if group:
        yield group


def _vectors(job: Job, group: Sequence[Cut]) -> dict[str, Cached]:
    """The vectors of a group's passages by text hash, from the cache or else from the model."""
    texts = {p.hash: p.text for _, passages in group for p in passages}
    known = job.store.cached(job.settings, "passage", texts)
    missing = [hash_ for hash_ in texts if hash_ not in known]
    if missing:
        embedded = job.embedder.embed([texts[hash_] for hash_ in missing], "passage")
        fresh = {
            hash_: Cached(vector, float(share))
            for hash_, vector, share in zip(missing, embedded.vectors, embedded.read_share, strict=True)
        }
        job.store.remember(job.settings, "passage", fresh)
        known |= fresh
    job.summary.embedded += len(missing)
    return known

"""A folder becomes an index: what is new or changed is chunked and embedded, the rest is left alone."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tqdm.auto import tqdm

from workbench.memory.chunking import Chunker, LineChunker
from workbench.memory.embedding import Embedder, LocalEmbedder
from workbench.memory.files import list_files, memory_root, read_document
from workbench.memory.index import MemoryIndex, default_index_path
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


@dataclass(frozen=True)
class Pending:
    """A document that has been read and cut, and waits for its vectors."""

    document: Document
    passages: Sequence[Passage]


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
    named in the summary. With `rebuild` the index is made anew beside the old one, which it replaces when
    it is whole; the embedding cache is carried over. Raises InputError for a folder or a file that cannot
    be used, and for an index made by another model, chunker or version; the index then stays as it was.
    """
    started = time.perf_counter()
    root = memory_root(folder)
    embedder, chunker = embedder or LocalEmbedder(), chunker or LineChunker()
    path = index_path or default_index_path(root)
    summary = Summary()
    documents = list(_readable(root, summary, skip))
    if rebuild:
        _rebuild(path, lambda store: _sync(store, documents, embedder, chunker, summary), embedder, chunker)
    else:
        with _opened(path, embedder, chunker) as store:
            _sync(store, documents, embedder, chunker, summary)
    summary.seconds = time.perf_counter() - started
    return summary


def open_index(
    folder: str | os.PathLike[str], embedder: Embedder | None = None, *, index_path: Path | None = None
) -> MemoryIndex:
    """The index of `folder`, ready to be searched, with the embedder that made it.

    Raises InputError when there is none yet, or when `embedder` is not the one that made it.
    """
    root = memory_root(folder)
    store = Store.open(index_path or default_index_path(root))
    try:
        return MemoryIndex(store, embedder_of(store, embedder))
    except InputError:
        store.close()
        raise


def embedder_of(store: Store, embedder: Embedder | None = None) -> Embedder:
    """The embedder that made the store: `embedder` when given, or else the local model that it names.

    Raises InputError when that would give other vectors than the stored ones.
    """
    from workbench.memory.embedding import reading_named

    settings = store.settings
    if embedder is None:
        reading = settings.revision.rpartition("/")[2]
        embedder = LocalEmbedder(settings.model, reading_named(reading))
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


def settings_for(embedder: Embedder, chunker: Chunker) -> Settings:
    """What an index made with these has in its meta."""
    return Settings(embedder.name, embedder.revision, embedder.dimensions, chunker.name)


def _opened(path: Path, embedder: Embedder, chunker: Chunker) -> Store:
    if not path.exists():
        return _created(path, embedder, chunker)
    store = Store.open(path)
    try:
        _check_same(store, store.settings, settings_for(embedder, chunker))
    except InputError:
        store.close()
        raise
    return store


def _created(path: Path, embedder: Embedder, chunker: Chunker) -> Store:
    settings = settings_for(embedder, chunker)
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


def _rebuild(path: Path, fill: Callable[[Store], None], embedder: Embedder, chunker: Chunker) -> None:
    beside = path.with_name(f"{path.name}.rebuild-{os.getpid()}")
    try:
        with _created(beside, embedder, chunker) as store:
            if path.exists():
                _adopt_cache(store, path)
            fill(store)
        os.replace(beside, path)
    finally:
        for suffix in ("", "-wal", "-shm"):
            beside.with_name(beside.name + suffix).unlink(missing_ok=True)


def _adopt_cache(store: Store, path: Path) -> None:
    """Takes over the old index's cache, and empties its write-ahead log, which must not outlive it."""
    with Store.open(path, any_version=True) as old:
        old.checkpoint()
        same_version = old.version == store.version
    if same_version:
        store.adopt_cache(path)


def _sync(
    store: Store, documents: Sequence[Document], embedder: Embedder, chunker: Chunker, summary: Summary
) -> None:
    known = store.stamps()
    changed = [document for document in documents if _is_changed(store, document, known)]
    summary.unchanged = len(documents) - len(changed)
    for path in sorted(known.keys() - {document.path for document in documents}):
        store.delete(path)
        summary.deleted.append(path)
    with tqdm(total=len(changed), desc="indexing", unit="file", disable=None) as bar:
        for group in _groups(changed, chunker):
            for pending, vectors in _with_vectors(store, embedder, group, summary):
                store.replace(pending.document, pending.passages, vectors)
                done = summary.changed if pending.document.path in known else summary.new
                done.append(pending.document.path)
                bar.update()
    summary.chunks = store.size


def _is_changed(store: Store, document: Document, known: dict[str, Stamp]) -> bool:
    stamp = known.get(document.path)
    if stamp is None or stamp.hash != document.hash:
        return True
    if stamp[1:] != (document.size, document.mtime_ns):
        store.restamp(document.path, document.size, document.mtime_ns)
    return False


def _groups(documents: Sequence[Document], chunker: Chunker) -> Iterator[list[Pending]]:
    group: list[Pending] = []
    texts = 0
    for document in documents:
        passages = [p for p in chunker.chunk(document.text) if p.text.strip()]
        if group and texts + len(passages) > TEXTS_IN_FLIGHT:
            yield group
            group, texts = [], 0
        group.append(Pending(document, passages))
        texts += len(passages)
    if group:
        yield group


def _with_vectors(
    store: Store, embedder: Embedder, group: Sequence[Pending], summary: Summary
) -> Iterator[tuple[Pending, list[Cached]]]:
    texts = {p.hash: p.text for pending in group for p in pending.passages}
    known = store.cached("passage", texts)
    missing = [hash_ for hash_ in texts if hash_ not in known]
    if missing:
        embedded = embedder.embed([texts[hash_] for hash_ in missing], "passage")
        fresh = {
            hash_: Cached(vector, float(share))
            for hash_, vector, share in zip(missing, embedded.vectors, embedded.read_share, strict=True)
        }
        store.remember("passage", fresh)
        known |= fresh
    summary.embedded += len(missing)
    summary.from_cache += sum(len(pending.passages) for pending in group) - len(missing)
    for pending in group:
        yield pending, [known[p.hash] for p in pending.passages]

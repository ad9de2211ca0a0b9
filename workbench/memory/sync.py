"""Sync makes an index agree with a folder: new and changed files are chunked, embedded and stored.

Size and modification time say which files may have changed (with `verify`, all may have); their content says
which have. All of those are read once, before anything is written: a file that cannot be used stops the run
while the index is as it was. Then a few at a time are stored in one transaction. Documents that wait to be
stored are in memory; if they are many, they are in a temporary file.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO

from workbench.errors import InputError, Interrupted, WorkbenchError
from workbench.memory.addresses import server_location
from workbench.memory.choices import Choices, extra_paths_of, remember
from workbench.memory.embedding import cache as cached_embedding
from workbench.memory.embedding.cache import embed_through_cache
from workbench.memory.embedding.local import (
    PACKAGED_MODEL,
    Embedder,
    LocalEmbedder,
    UsualReading,
    reading_named,
    reading_of,
)
from workbench.memory.files import SOURCE, GoneError, memory_root
from workbench.memory.index import MemoryIndex, check_same
from workbench.memory.index_files import check_same_folder, default_index_path, file_to_make
from workbench.memory.options import Options
from workbench.memory.sources import (
    DocumentSource,
    Indexing,
    Listed,
    Look,
    MemoryFolder,
    listed,
    resized,
    sizes_in,
)
from workbench.memory.store.contract import (
    NO_VECTOR,
    Cached,
    DamagedError,
    IndexLocation,
    IndexStore,
    OtherVersionError,
    Settings,
    Stamp,
    VectorSource,
    unwritable,
)
from workbench.memory.store.sqlite.location import SQLiteLocation
from workbench.progress import progress
from workbench.records import Document, Passage
from workbench.registry import Registry
from workbench.safe_text import counted

DEFAULTS = Options()
SHIPPED_VECTORS = Registry[VectorSource]("shipped vectors", lambda thing: isinstance(thing, VectorSource))
"""Vectors that come with a feature: an index takes those that fit it, instead of computing them."""


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
    later: int = 0
    read_by_word: int = 0
    same_look: list[str] = field(default_factory=list)
    chunks: int = 0
    seconds: float = 0.0

    @property
    def headline(self) -> str:
        """What was done, in files, chunks and seconds."""
        files = counted(len(self.new) + len(self.changed) + self.unchanged, "file")
        whole = f"{files} ({counted(self.chunks, 'chunk')})"
        took = f"{self.seconds:.1f} s"
        counts = {"new": self.new, "changed": self.changed, "deleted": self.deleted}
        counts_text = ", ".join(f"{len(some)} {what}" for what, some in counts.items() if some)
        if not counts_text:
            return f"Nothing has changed since the last time: {whole} in the index, {took}."
        if len(self.new) and counts_text == f"{len(self.new)} new" and not self.unchanged:
            return f"Indexed {whole} in {took}."
        return f"Updated the index in {took}: {counts_text}; {whole} in it now."

    def __str__(self) -> str:
        later = f", {self.later} postponed until a search needs them" if self.later else ""
        later += f", {self.read_by_word} read word by word" if self.read_by_word else ""
        return (
            f"{len(self.new)} new, {len(self.changed)} changed, {len(self.deleted)} deleted, "
            f"{self.unchanged} unchanged; {counted(self.embedded, 'chunk')} embedded, "
            f"{self.from_cache} from cache{later}; {self.seconds:.1f} s{self._hidden}"
        )

    @property
    def _hidden(self) -> str:
        if not self.same_look:
            return ""
        files = counted(len(self.same_look), "file")
        return f"\n{files} had another text and the same size and time (first: {self.same_look[0]})"


def index_folder(
    folder: str | os.PathLike[str],
    embedder: Embedder | None = None,
    *,
    rebuild: bool = False,
    options: Options = DEFAULTS,
) -> Summary:
    """Makes the index agree with the folder, its extra paths and further sources; returns what changed.

    A file with the same size and modification time as before counts as unchanged and is not read. Documents
    of sources that are not given stay in the index. `rebuild` builds a new index beside the old one and
    replaces the old one when it is complete, and at the default place also a file that is no index; known
    vectors are reused, also those of an earlier rebuild that failed, except with `options.verify`. Without
    `embedder`, the packaged model embeds, in its `usual_reading`. An index on a server takes known vectors
    from the folder's default file.

    Raises InputError for a folder or a file that cannot be used, and for an index that was made with another
    model, chunker or version. The index then stays as it was, and the caller decides whether to rebuild:
    embedding a memory again can take hours, or cost money. Raises StorageError when the index cannot be
    written, and ProviderError when the embedding provider fails; documents that were stored by then stay.
    """
    started = time.perf_counter()
    root, indexing = memory_root(folder), options.indexing
    location = _location(root, options)
    with location.alone(options.wait), _vector_source(root, location) as vector_source:
        extra, every = _sources(root, location, options)
        embedder = embedder or LocalEmbedder(reading=_reading_for(location, every, rebuild, indexing).reading)
        settings = Settings(embedder.name, embedder.revision, embedder.dimensions, indexing.chunker.name)
        by_name = isinstance(embedder, LocalEmbedder) or getattr(embedder, "remote", False)
        model = embedder.name if by_name and embedder.name != PACKAGED_MODEL else ""
        first = not location.exists()
        work = Work(
            settings=settings,
            embedder=embedder,
            indexing=indexing,
            chosen=Choices(str(root), extra, model),
            sources=every,
            options=options,
            first=first,
            vector_source=vector_source,
            in_file=isinstance(location, SQLiteLocation),
        )
        try:
            _rebuild(location, work) if rebuild or first else _update(location, work)
        except KeyboardInterrupt:
            raise Interrupted(work.progress_text()) from None
    work.summary.seconds = time.perf_counter() - started
    return work.summary


def usual_reading(
    folder: str | os.PathLike[str], options: Options = DEFAULTS, rebuild: bool = False
) -> UsualReading:
    """How a local model reads long texts if nobody says how: as the index has it, or by the memory's size.

    The arguments are those of `index_folder`. Raises InputError for a folder or an address that cannot be
    used, and StorageError for an index that cannot be read.
    """
    root = memory_root(folder)
    location = _location(root, options)
    _, every = _sources(root, location, options)
    return _reading_for(location, every, rebuild, options.indexing)


def _reading_for(
    location: IndexLocation, every: Sequence[DocumentSource], rebuild: bool, indexing: Indexing
) -> UsualReading:
    if indexing.reading:
        return UsualReading(reading_named(indexing.reading), is_stored=True)
    if location.exists() and not rebuild:
        with location.open() as store:
            reading = reading_of(store.settings.revision)
        if reading is not None:
            return UsualReading(reading, is_stored=True)
    return UsualReading.of(sum(look.size for _, look in listed(every).values()))


def _sources(
    root: Path, location: IndexLocation, options: Options
) -> tuple[tuple[str, ...], tuple[DocumentSource, ...]]:
    """The memory's extra paths, and all sources of its documents."""
    extra = extra_paths_of(root, Path(location.name)) if options.extra is None else tuple(options.extra)
    return extra, (MemoryFolder(root, extra, options.indexing.rules), *options.sources)


@contextmanager
def _vector_source(root: Path, location: IndexLocation) -> Iterator[VectorSource | None]:
    """The folder's index file, whose vectors an index on a server takes; None without a sound one."""
    file = SQLiteLocation(default_index_path(root))
    if isinstance(location, SQLiteLocation) or not file.exists():
        yield None
        return
    try:
        opened = file.open()
    except WorkbenchError:  # a damaged or older file lends nothing, and the server's index does not need it
        yield None
        return
    with opened:
        yield opened


def _location(root: Path, options: Options) -> IndexLocation:
    if options.store is not None:
        return server_location(options.store)
    return SQLiteLocation(options.index_path or file_to_make(root, options.indexing))


def outdated(folder: str | os.PathLike[str], index: MemoryIndex) -> list[str]:
    """The files that are new, deleted, or differ in size or time from when they were indexed.

    A new file that cannot be used is none of them: no run of `index_folder` would index it.
    """
    root = memory_root(folder)
    with index.snapshot():
        known, rules = index.store.stamps(), index.store.provenance.file_rules
    sources = [MemoryFolder(root, extra_paths_of(root, Path(index.store.name)), rules)]
    there = listed(sources)
    changed = [path for path, (_, look) in there.items() if path in known and known[path].look != look]
    new = [path for path, (source, _) in there.items() if path not in known and _is_usable(source, path)]
    return sorted([*changed, *new, *_missing(there, known, sources)])


def _is_usable(source: DocumentSource, path: str) -> bool:
    try:
        source.read(path)
    except InputError:
        return False
    return True


Cut = tuple[Document, list[Passage]]
"""A document with its passages, before it has vectors."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """The inputs of one indexing run, and its summary. `in_file` says whether the index is a file."""

    settings: Settings
    embedder: Embedder
    indexing: Indexing
    chosen: Choices
    sources: Sequence[DocumentSource]
    options: Options
    first: bool
    in_file: bool
    vector_source: VectorSource | None = None
    summary: Summary = field(default_factory=Summary)
    gone: list[str] = field(default_factory=list)

    def progress_text(self) -> str:
        """What stays after Ctrl-C, for the user."""
        searches = "There is no index to search yet." if self.first else "The index can be searched."
        vectors = f"{count} vectors are" if (count := self.summary.embedded) != 1 else "1 vector is"
        return (
            f"Interrupted. {vectors} computed and kept. {searches}\n"
            "  Run the same command again to go on: it embeds only what is missing."
        )

    def in_the_sizes_of(self, settings: Settings) -> Work:
        """This run with the chunk sizes of the index, if the caller has left them open."""
        sizes = sizes_in(settings.chunker) if self.options.leaves_sizes_open else None
        if sizes is None:
            return self
        chunker = resized(self.indexing.chunker, sizes)
        if chunker.name != settings.chunker:
            return self
        return replace(
            self,
            indexing=replace(self.indexing, chunker=chunker),
            settings=replace(self.settings, chunker=chunker.name),
        )

    def read(self, source: DocumentSource, path: str) -> Document | None:
        """The document; None for one that was deleted since it was listed, and for one to skip."""
        try:
            return source.read(path)
        except GoneError:
            self.gone.append(path)  # the next sync finds it missing
            return None
        except InputError as error:
            if not self.options.skip:
                # Alone in its line: what stands before it can be a command to paste.
                remedy = f"{error.remedy}\n  Or leave such files out with --skip."
                raise InputError(error.problem, remedy) from None
            self.summary.skipped.append(f"{error.problem} {error.remedy}")
            return None


@dataclass(frozen=True)
class Plan:
    """What to do: documents to store, paths of which only the look has changed, and paths to delete."""

    known: Mapping[str, Stamp]
    changed: Staged
    sources: Mapping[str, DocumentSource]
    touched: Mapping[str, Look]
    deleted: Sequence[str]


OTHER_FOLDER = "Name another file with --index, or let this folder take its place with --rebuild."


def _update(location: IndexLocation, work: Work) -> None:
    with location.updating() as store, SpooledTemporaryFile(IN_MEMORY) as file:
        staged = Staged(file)
        work = work.in_the_sizes_of(store.settings)
        check_same(store, work.settings, "add --rebuild to this command (in Python: rebuild=True).")
        known = store.stamps()
        _check_extra(location, known, work)
        plan = _planned(work, known, staged)
        check_same_folder(store, Path(work.chosen.memory), OTHER_FOLDER)
        if not os.path.isdir(store.provenance.folder):
            store.provenance.describe(folder=work.chosen.memory)
        remember(Path(location.name), work.chosen)
        _carry_out(plan, work, store)


def _check_extra(location: IndexLocation, known: Mapping[str, Stamp], work: Work) -> None:
    """Raises InputError when the index has notes beside the memory and nobody says where they come from."""
    extra = [one for one, stamp in known.items() if stamp.source == SOURCE and one.startswith("../")]
    if extra and not work.chosen.extra and work.options.extra is None:
        raise InputError(
            f"The index {location.name} has notes beside the memory (first: {min(extra)}), and the extra "
            "paths that they come from are not known here.",
            "Give the paths again with --extra PATH, or leave these notes out with --rebuild.",
        )


def _rebuild(location: IndexLocation, work: Work) -> None:
    _check_sources_stay(location, work)
    with SpooledTemporaryFile(IN_MEMORY) as file:
        staged = Staged(file)
        plan = _planned(work, {}, staged)
        with location.rebuilding(work.settings) as store:
            store.provenance.describe(folder=work.chosen.memory)
            store.known_vectors.distrusted = work.options.verify
            _carry_out(plan, work, store)
            remember(Path(location.name), work.chosen)


def _check_sources_stay(location: IndexLocation, work: Work) -> None:
    """Raises InputError if it holds no index, or an index of more sources than were given."""
    lost = _stored_sources(location) - {source.name for source in work.sources}
    if lost:
        raise InputError(
            f"The index {location.name} also holds {' and '.join(sorted(lost))}, which a rebuild would lose.",
            "Give their folder too (--sessions FOLDER), or make a new index with --index FILE.",
        )


def _stored_sources(location: IndexLocation) -> set[str]:
    """The names of the sources that the index holds; none for an index that cannot be read."""
    with suppress(DamagedError, OtherVersionError):
        if location.exists():
            with location.open() as store, store.reading():
                return {stamp.source for stamp in store.stamps().values()}
    return set()


def _missing(
    there: Mapping[str, Listed], known: Mapping[str, Stamp], sources: Iterable[DocumentSource]
) -> list[str]:
    names = {source.name for source in sources}
    return sorted(path for path, stamp in known.items() if stamp.source in names and path not in there)


def _planned(work: Work, known: Mapping[str, Stamp], staged: Staged) -> Plan:
    """The plan. Every file that may have changed is read here, and nowhere else."""
    there = listed(work.sources)
    touched: dict[str, Look] = {}
    for path in sorted(there):
        source, look = there[path]
        stamp = known.get(path)
        if stamp is not None and stamp.look == look and not work.options.verify:
            work.summary.unchanged += 1
        elif document := work.read(source, path):
            if stamp is not None and stamp.hash == document.hash:
                touched[path] = Look(document.size, document.mtime_ns)
            else:
                staged.add(document)
                if stamp is not None and stamp.look == look:
                    work.summary.same_look.append(path)
    work.summary.unchanged += len(touched)
    missing = _missing(there, known, work.sources)
    if missing or work.gone:
        listed(work.sources)  # raises if the memory itself vanished while it was listed or read
    return Plan(known, staged, {path: source for path, (source, _) in there.items()}, touched, missing)


def _carry_out(plan: Plan, work: Work, store: IndexStore) -> None:
    summary, stored = work.summary, 0
    known = store.known_vectors
    known.source = work.vector_source or known.source or next(iter(SHIPPED_VECTORS.values()), None)
    store.provenance.describe(
        file_rules=work.indexing.rules, ties_by_row=work.indexing.ties_by_row, indexed_as=work.indexing.name
    )
    if plan.touched:
        store.restamp(plan.touched)
    with progress(plan.changed.count, "indexing", "files") as done:
        cuts = ((one, plan.sources[one.path].cut(one, work.indexing.chunker)) for one in plan.changed)
        for group in _groups(cuts, cached_embedding.texts_in_flight(work.embedder)):
            vectors = _vectors(group, work, store)
            with store.writing():
                store.provenance.describe(vectors_later=bool(summary.later))
                for document, passages in group:
                    store.replace(document, passages, [vectors[p.hash] for p in passages])
            for document, passages in group:
                stored += len(passages)
                (summary.changed if document.path in plan.known else summary.new).append(document.path)
                done()
    for path in plan.deleted:
        store.delete(path)
        summary.deleted.append(path)
    store.forget_removed_texts()
    summary.chunks = store.size
    summary.from_cache = stored - summary.embedded - summary.later


def _groups(cuts: Iterable[Cut], most: int) -> Iterator[list[Cut]]:
    """Documents in groups that fill the model's batches, of at most so many texts if they have several."""
    group: list[Cut] = []
    texts = 0
    for cut in cuts:
        if group and texts + len(cut[1]) > most:
            yield group
            group, texts = [], 0
        group.append(cut)
        texts += len(cut[1])
    if group:
        yield group


def _vectors(group: Iterable[Cut], work: Work, store: IndexStore) -> Mapping[str, Cached]:
    def count(embedded: int) -> None:
        work.summary.embedded += embedded

    texts = {passage.hash: passage.text for _, passages in group for passage in passages}
    later = work.options.vectors_later and not store.known_vectors.distrusted
    if later and work.in_file and isinstance(work.embedder, LocalEmbedder):
        known = store.known_vectors.find(work.settings, "passage", texts)
        lacking = [hash_ for hash_ in texts if hash_ not in known]
        shares = work.embedder.read_shares([texts[hash_] for hash_ in lacking]).tolist()
        work.summary.later += len(lacking)
        return known | {one: Cached(NO_VECTOR, share) for one, share in zip(lacking, shares, strict=True)}
    return embed_through_cache(store, work.settings, work.embedder, "passage", texts, count)


IN_MEMORY = 16_000_000
"""Bytes of documents that are kept in memory. More go into a file without a name, which nobody else opens."""


class Staged:
    """A queue of documents: all are added before the first is taken out."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.count = 0

    def add(self, document: Document) -> None:
        """Appends a document. Raises DiskFullError or UnwritableError when the temporary file cannot grow."""
        try:
            pickle.dump(document, self._file)
        except OSError as error:
            raise unwritable(Path(tempfile.gettempdir()), error) from None
        self.count += 1

    def __iter__(self) -> Iterator[Document]:
        self._file.seek(0)
        for _ in range(self.count):
            yield pickle.load(self._file)

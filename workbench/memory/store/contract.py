"""The contract of a store: what an index keeps its documents, chunks and vectors in.

SQLite is the default store; features add others. A further one subclasses `IndexStore` and `IndexLocation`,
and passes `tests/contracts/store_contract.py`; a `StoreKind` gives it addresses. The errors of storage
have one class for each cause: the disk is full, the file is locked, unwritable or damaged.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, astuple, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError, StorageError
from workbench.memory.choices import is_default_path
from workbench.memory.files import GENERAL, FileRules
from workbench.memory.sources import chunk_id
from workbench.memory.store.postings import PostingsSource
from workbench.records import Chunk, Document, Hits, Passage, Query, Rows, Vector


@dataclass(frozen=True)
class Settings:
    """What an index was made with. Another value of any of these means other vectors or other chunks."""

    model: str
    revision: str
    dimensions: int
    chunker: str


def settings_in(text: str) -> Settings:
    """The settings that a store has written. Raises ValueError for a text that is none."""
    try:
        found = Settings(**json.loads(text))
    except (TypeError, RecursionError) as error:
        raise ValueError(error) from None
    if list(map(type, astuple(found))) != [str, str, int, str]:
        raise ValueError(text)
    return found


class Stamp(NamedTuple):
    """Hash, size and modification time of a file when it was last indexed, and its source."""

    hash: str
    size: int
    mtime_ns: int
    source: str = "memory"

    @property
    def look(self) -> tuple[int, int]:
        """Size and time, which can be compared without reading the file."""
        return self.size, self.mtime_ns


class Cached(NamedTuple):
    """A vector from the embedding cache, and the share of its text that the model has read."""

    vector: Vector
    read_share: float


NO_VECTOR = np.empty(0, np.float32)
"""In place of a chunk's vector that is left for later."""
NO_ROOM = {errno.ENOSPC, errno.EDQUOT}
LEAST_FREE_BYTES = 256 * 1024
"""With fewer free bytes SQLite cannot create its -shm and -wal files, and reports an unspecific I/O error."""


class UnwritableError(StorageError):
    """The index cannot be written. What was stored before stays as it was."""


class DiskFullError(UnwritableError):
    """The disk of the index has no room left."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"The disk is full: there is no room left to write {path}. What was indexed before is unchanged.",
            "Free some space, or choose another place with --index FILE. Then index again.",
        )


class LockedError(UnwritableError):
    """Another process writes the index."""


class DamagedError(StorageError):
    """The index file does not hold what was written into it."""


class OtherVersionError(InputError):
    """The index file has another schema than this workbench reads."""


def damaged(name: object, problem: str) -> DamagedError:
    """The error for a store of that name with other contents than the workbench writes."""
    return DamagedError(
        f"The index {name} is damaged: {problem}.", f"Build it again: {rebuild_command(name)}"
    )


def rebuild_command(name: object, folder: str = "FOLDER") -> str:
    """The command that builds the index at a path or an address again; `folder` is quoted for a shell."""
    text = str(name)
    release = re.search(r"\.as-(.+)\.sqlite$", text)
    if "://" in text:
        which = f" --store {shlex.quote(text)}"
    elif not is_default_path(Path(text)):
        which = f" --index {shlex.quote(text)}"
    else:
        which = f" --as {release[1]}" if release else ""
    return f"workbench index {folder}{which} --rebuild"


def unknown_row(name: str, row: int) -> InputError:
    """The error for a chunk that is asked for by a row which the index has not."""
    return InputError(
        f"The index {name} has no chunk with the row {row}.",
        "Take the rows from a search, or from rows_of(PATH). An index that is made anew gives other rows.",
    )


def unwritable(path: Path, error: OSError) -> UnwritableError:
    """The storage error for an OSError that was raised while `path`, or a file beside it, was written."""
    if error.errno in NO_ROOM:
        return DiskFullError(path)
    return UnwritableError(
        f"The index {path} cannot be written: {error.strerror or error}.",
        "Check the permissions of its folder, or choose another place with --index FILE.",
    )


def disk_is_full(path: Path) -> bool:
    """Whether the disk that holds `path` has no room for SQLite's files, or no inode left."""
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return False
    # Some file systems have no fixed number of inodes and report 0 of 0.
    no_inode = disk.f_files > 0 and disk.f_favail == 0
    return no_inode or disk.f_bavail * disk.f_frsize < LEAST_FREE_BYTES


def hits_of(found: Sequence[Sequence[Any]], larger_is_better: bool = False, number: str = "bm25") -> Hits:
    """The hits of (row, number) pairs, in their order."""
    rows = np.array([row for row, _ in found], np.int64)
    return Hits(rows, np.array([raw for _, raw in found], float), larger_is_better, number)


AGAIN = 0.05
"""The seconds from one interrupt to the next: one that finds no statement running stops none."""


@contextmanager
def stopped_after(
    seconds: float, interrupt: Callable[[], object], stopped: type[Exception]
) -> Iterator[None]:
    """Interrupts what runs after so many seconds, again and again until it stops.

    Raises InputError when that gives the error `stopped`.

    A question of 1,000 common words takes SQLite minutes in an index of 20,000 chunks.
    """
    lock, over, interrupted = threading.Lock(), threading.Event(), False

    def interrupt_what_runs() -> None:
        nonlocal interrupted
        pause = seconds
        while not over.wait(pause):
            with lock:
                if not over.is_set():
                    interrupted = True
                    interrupt()
            pause = AGAIN

    threading.Thread(target=interrupt_what_runs, daemon=True).start()
    try:
        yield
    except stopped:
        if not interrupted:
            raise
        raise InputError(
            f"The search was stopped after {seconds:g} s.", "Ask with fewer words, or with rarer ones."
        ) from None
    finally:
        with lock:
            over.set()


class VectorSource(ABC):
    """What lends vectors that it knows: the cache of a store, or what a feature brings along."""

    @abstractmethod
    def cached(self, settings: Settings, role: str, hashes: Iterable[str]) -> dict[str, Cached]:
        """The known vectors of these text hashes, for the model and revision of `settings`."""


class VectorCache(VectorSource):
    """The vectors of texts by the hash of their exact text, so that no text is embedded twice."""

    @abstractmethod
    def remember(self, settings: Settings, role: str, found: Mapping[str, Cached]) -> None:
        """Keeps vectors by model, revision, role, and the hash of their exact text."""

    @abstractmethod
    def forget_removed_texts(self) -> None:
        """Removes the vectors of texts that are no longer in the index."""


class IndexStore(VectorCache):
    """An open store, for one thread at a time; it is a cache of vectors, too.

    Rows are positive whole numbers. A row belongs to one chunk until that chunk is deleted. Raw numbers are
    the engine's own; `Hits.larger_is_better` states their direction. Hits come best first, ties by chunk id.
    Raises StorageError when the store cannot be read or written, and InputError for input that it refuses.
    """

    # What the index says of itself, in a table of keys and values

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of this store in messages: a path, or an address without its password."""

    @abstractmethod
    def meta(self, key: str) -> str:
        """One value of the table meta; empty when it has none."""

    @abstractmethod
    def set_meta(self, key: str, value: str) -> None:
        """Writes one value of the table meta, within `writing`."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[None]:
        """One transaction: all writes inside the block are kept, or none. Blocks nest."""

    @cached_property
    def settings(self) -> Settings:
        """The model and the chunker that the index was made with. A rebuild gives another store."""
        try:
            return settings_in(self.meta("settings"))
        except ValueError:
            raise damaged(self.name, "it does not say how it was made") from None

    @property
    def generation(self) -> int:
        """A number that grows with every change."""
        text = self.meta("generation")
        if not text.isdecimal() or len(text) > 30:
            raise damaged(self.name, "it has no generation")
        return int(text)

    @property
    def provenance(self) -> Provenance:
        """How the folder was read when this index was made."""
        return Provenance(self)

    # Connections and transactions

    @property
    @abstractmethod
    def writable(self) -> bool:
        """Whether the store can be written."""

    @abstractmethod
    def latest(self) -> Self:
        """The store to ask next: this one, or a newly opened one if the index has been rebuilt since.

        It is always this one inside a block of `reading` or `writing`. This one is not closed.
        """

    @abstractmethod
    def reopened(self) -> Self:
        """The store of the latest build, opened anew; this one is not closed."""

    @abstractmethod
    def time_limit(self, seconds: float) -> AbstractContextManager[None]:
        """Stops a search inside the block that takes more seconds. Raises InputError then."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """One state of the store for all reads inside the block, whatever other processes write meanwhile.

        Blocks nest, also inside `writing`.
        """

    @abstractmethod
    def close(self) -> None:
        """Closes the store."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Reading

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of chunks."""

    @abstractmethod
    def stamps(self) -> dict[str, Stamp]:
        """Every indexed file's stamp, by path."""

    @abstractmethod
    def documents(self) -> list[Document]:
        """All indexed documents, by path."""

    @abstractmethod
    def chunks(self, rows: Rows) -> list[Chunk]:
        """The chunks of these rows, in their order."""

    @abstractmethod
    def rows_of(self, path: str) -> Rows:
        """The rows of a file's chunks, in the file's order; none for a file that is not indexed."""

    @abstractmethod
    def keys(self) -> list[str]:
        """All chunk ids, in row order."""

    @abstractmethod
    def matrix(self) -> tuple[Rows, NDArray[np.float32]]:
        """All rows and their unit vectors, in row order: shapes (n,) and (n, dimensions)."""

    # Searching

    @abstractmethod
    def compiled(self, query: Query) -> str:
        """The query in the engine's own language."""

    @abstractmethod
    def keyword(self, query: Query, limit: int) -> Hits:
        """The best `limit` chunks that match a query, with the engine's own score of each."""

    def nearest(self, query: Vector, limit: int, alone: bool = False) -> Hits | None:
        """The nearest chunks with their cosine distances, as the store itself finds them.

        None if it leaves that to an exact scan of `matrix`. With `alone` no other question is known to
        follow, and a store may find the exact hits in a way that costs less than one scan.
        """
        return None

    def postings(self) -> PostingsSource | None:
        """What a keyword search in memory reads; None for a store that does not give its postings."""
        return None

    # Writing

    @abstractmethod
    def replace(self, document: Document, passages: Sequence[Passage], cached: Sequence[Cached]) -> None:
        """Stores the document with exactly these passages and vectors, in one transaction."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Removes a document and its chunks."""

    @abstractmethod
    def restamp(self, stamps: Mapping[str, tuple[int, int]]) -> None:
        """Sets the size and time of unchanged documents."""

    @cached_property
    def known_vectors(self) -> KnownVectors:
        """The vectors of texts that this store has embedded; an embedder reads them and adds to them."""
        return KnownVectors(self)


class Provenance:
    """How a folder was read when its index was made, in the table of keys and values of a store."""

    def __init__(self, store: IndexStore) -> None:
        self._store = store

    @property
    def folder(self) -> str:
        """The memory's folder, empty in an index that does not say."""
        return self._store.meta("folder")

    @property
    def file_rules(self) -> FileRules:
        """Which files of the folder are indexed."""
        try:
            known = json.loads(self._store.meta("file_rules") or "{}")
            return FileRules(**{**known, "heads": tuple(known["heads"])}) if known else GENERAL
        except (InputError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise damaged(self._store.name, "it does not say which files it has") from None

    @property
    def ties_by_row(self) -> bool:
        """Whether hits with equal numbers come in the order in which they were stored, not of their ids."""
        return self._store.meta("ties_by_row") == "yes"

    @property
    def indexed_as(self) -> str:
        """The release that indexes as this index was made, such as openclaw-2026.9.6; empty for none."""
        return self._store.meta("indexed_as")

    @property
    def vectors_later(self) -> bool:
        """Whether chunks may have no vector yet, since nothing has asked for theirs."""
        return self._store.meta("vectors_later") == "yes"

    def describe(
        self,
        folder: str | None = None,
        file_rules: FileRules | None = None,
        ties_by_row: bool | None = None,
        vectors_later: bool = False,
        indexed_as: str | None = None,
    ) -> None:
        """Writes how the folder was read; None, or False for `vectors_later`, leaves a value as it is.

        With `ties_by_row`, hits with equal numbers come in the order in which they were stored. With
        `vectors_later`, chunks without a vector are no damage from now on. `indexed_as` names the release
        whose way of indexing was chosen.
        """
        rules = None if file_rules in (None, self.file_rules) else json.dumps(asdict(file_rules))
        wanted = {
            "vectors_later": "yes" if vectors_later else None,
            "folder": folder,
            "indexed_as": indexed_as,
            "file_rules": rules,
            "ties_by_row": None if ties_by_row is None else ("yes" if ties_by_row else ""),
        }
        store = self._store
        changed = {key: value for key, value in wanted.items() if value not in (None, store.meta(key))}
        if changed:
            with store.writing():
                for key, value in changed.items():
                    store.set_meta(key, value)


class KnownVectors:
    """The vectors that a store knows: those of its cache, those not written yet, and those of `source`.

    The vectors of `source` are taken before a text is embedded. What is kept while one state is read waits in
    a queue, since a store cannot write then. With `distrusted`, none is found, so that all texts are embedded
    again; what is kept replaces the old vectors.
    """

    def __init__(self, store: IndexStore) -> None:
        self.source: VectorSource | None = None
        self.distrusted = False
        self._store = store
        self._waiting: dict[tuple[Settings, str], dict[str, Cached]] | None = None

    @contextmanager
    def while_reading(self) -> Iterator[None]:
        """Reads one state of the store; what is kept meanwhile is written at the end, if that is possible.

        A question that has been answered does not fail because the cache has no room. Blocks nest.
        """
        if self._waiting is not None:
            with self._store.reading():
                yield
            return
        self._waiting = {}
        try:
            with self._store.reading():
                yield
            found = self._waiting
        finally:
            self._waiting = None
        if found and self._store.writable:
            with suppress(UnwritableError):
                for (settings, role), vectors in found.items():
                    self._store.remember(settings, role, vectors)

    def find(self, settings: Settings, role: str, hashes: Iterable[str]) -> dict[str, Cached]:
        """The known vectors of these texts. A damaged source gives none."""
        if self.distrusted:
            return {}
        wanted = list(hashes)
        waiting = (self._waiting or {}).get((settings, role), {})
        known = self._store.cached(settings, role, wanted)
        known |= {hash_: waiting[hash_] for hash_ in wanted if hash_ in waiting}
        missing = [hash_ for hash_ in wanted if hash_ not in known]
        if self.source is not None and missing:
            with suppress(DamagedError):
                known |= self.source.cached(settings, role, missing)
        return known

    def keep(self, settings: Settings, role: str, found: Mapping[str, Cached]) -> None:
        """Writes these vectors into the cache, now or at the end of what is being read."""
        if self._waiting is None:
            self._store.remember(settings, role, found)
        else:
            self._waiting.setdefault((settings, role), {}).update(found)


def in_order(store: IndexStore, hits: Hits) -> Hits:
    """The hits by (number, chunk id), or by (number, row) as `provenance.ties_by_row` says."""
    keys: NDArray[Any] = hits.rows
    if len(set(hits.raw.tolist())) < hits.raw.size and not store.provenance.ties_by_row:
        keys = np.array([chunk.id for chunk in store.chunks(hits.rows)], np.str_)
    order = np.lexsort((keys, hits.raw))
    return hits.at(order)


def keyed(
    store: IndexStore, document: Document, passages: Sequence[Passage], cached: Sequence[Cached]
) -> dict[str, tuple[Passage, Cached]]:
    """The passages and their vectors by chunk id, in the document's order.

    Two passages with the same lines and text are one chunk; a very long repetitive line has such.
    """
    model, found = store.settings.model, dict[str, tuple[Passage, Cached]]()
    for passage, vector in zip(passages, cached, strict=True):
        lines = passage.start_line, passage.end_line
        key = chunk_id(document.source, document.path, *lines, passage.hash, model)
        found.setdefault(key, (passage, vector))
    return found


class IndexLocation(ABC):
    """Where the index of one memory is kept: it opens the store, updates it, and rebuilds it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in messages: a path, or an address without its password."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is an index at this location."""

    @abstractmethod
    def alone(self, wait: float) -> AbstractContextManager[None]:
        """Keeps other writers out of the block; raises StorageError after `wait` seconds of waiting."""

    @abstractmethod
    def open(self) -> IndexStore:
        """The store, for reading. Raises InputError when there is none, or one of another version."""

    @abstractmethod
    def updating(self) -> AbstractContextManager[IndexStore]:
        """The store, for writing inside the block; it takes over the vectors of unfinished rebuilds."""

    @abstractmethod
    def rebuilding(self, settings: Settings) -> AbstractContextManager[IndexStore]:
        """A new, empty store that replaces the old one at the end of the block.

        Known vectors are taken over. If the block fails, the old store stays as it was.
        """

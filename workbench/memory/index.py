"""An index that can be searched: a store, the embedder that made it, and its vectors in memory."""

from __future__ import annotations

import os
import shlex
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Generic, Self, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Index
from workbench.errors import InputError, WorkbenchError
from workbench.memory.choices import check_model, extra_paths_of, is_default_path
from workbench.memory.embedding.cache import embed_through_cache
from workbench.memory.embedding.local import PACKAGED_MODEL, Embedder, LocalEmbedder, local_embedder
from workbench.memory.embedding.named import remembered
from workbench.memory.files import SUFFIX, content_hash, memory_root, reads_any
from workbench.memory.index_files import check_same_folder, default_index_path, differences
from workbench.memory.sources import Indexing, is_sound, whole_characters
from workbench.memory.store.contract import IndexLocation, IndexStore, Settings, damaged, rebuild_command
from workbench.memory.store.postings import K1, B, KeywordPostings, NoPostingsError, PostingsSource
from workbench.memory.store.scan import Scan
from workbench.memory.store.sqlite.location import SQLiteLocation
from workbench.memory.unread import Unread, near_target, unread_files, unread_lines, without_text
from workbench.progress import progress
from workbench.records import Chunk, Document, Hits, MadeOtherwise, Query, Rows, Vector
from workbench.safe_text import counted

NAMED = 3
"""The largest number of changed files that a remark names."""


def opened_embedder(store: IndexStore, embedder: Embedder | None = None) -> Embedder:
    """The embedder that made the store: `embedder` when given, or else the model that the store names.

    Raises InputError, and closes the store, when that would give other vectors than the stored ones, and for
    a model that the user has not chosen for this index.
    """
    try:
        with store.reading():
            settings = store.settings
            if embedder is None:
                embedder = remembered(settings.model, settings.revision, settings.dimensions)
                if embedder is None:
                    embedder = _local(store.name, settings)
                elif getattr(embedder, "remote", False):
                    check_model(Path(store.name), settings.model, getattr(embedder, "url_variable", ""))
            here = Settings(embedder.name, embedder.revision, 0, settings.chunker)
            check_same(store, here, f"build it again: {rebuild_command(store.name)}")
    except WorkbenchError:
        store.close()
        raise
    return embedder


def _local(name: str, settings: Settings) -> LocalEmbedder:
    local = local_embedder(settings.model, settings.revision)
    if local is None:
        raise InputError(
            f"The index {name} was made with another model: {settings.model} ({settings.revision}), which "
            "the workbench cannot load by its name.",
            f"Give that embedder to open_index(), or build again: {rebuild_command(name)}",
        )
    if settings.model != PACKAGED_MODEL:
        check_model(Path(name), settings.model)
    return local


def check_same(store: IndexStore, here: Settings, again: str) -> None:
    """Raises InputError when the store was made with another model or chunker than `here`.

    `again` says how to build it again with the settings of `here`.
    """
    there = store.settings
    differing = [
        f"another {what}: {old}, not {new}"
        for what, old, new in (
            ("model", f"{there.model} ({there.revision})", f"{here.model} ({here.revision})"),
            ("chunker", there.chunker, here.chunker),
        )
        if old != new
    ]
    if differing:
        raise InputError(
            f"The index {store.name} was made with {'; and with '.join(differing)}.",
            f"Index with the same settings, or {again}",
        )


class OpenIndex(Index):
    """An index that was opened from somewhere, and that must be closed."""

    embedder: Embedder
    is_closed = False
    """Whether `close` was called, so that nothing can be asked any more."""

    @property
    @abstractmethod
    def model(self) -> str:
        """The name of the model that embedded the chunks which are searched."""

    @abstractmethod
    def time_limit(self, seconds: float) -> AbstractContextManager[None]:
        """Stops a search in the store that takes more seconds. Raises InputError then."""

    def vectors(self) -> tuple[Rows, NDArray[np.float32]]:
        """The rows that have a vector, and their unit vectors: shapes (n,) and (n, dimensions).

        Raises InputError for an index that does not give its vectors.
        """
        raise InputError(
            f"The index {self.name} does not give its vectors.",
            "Index the folder with: workbench index FOLDER",
        )

    @abstractmethod
    def close(self) -> None:
        """Closes the store."""

    @property
    def command_options(self) -> str:
        """The memory's folder and the index, quoted for a command; FOLDER where the folder is not known."""
        return "FOLDER"

    @property
    def update_command(self) -> str:
        """The command that brings this index up to date."""
        return f"workbench index {self.command_options}"

    def changed(self) -> list[str]:
        """The files of the memory that the index has not read in their present state."""
        return []

    def change_of(self, target: str) -> str:
        """What happened to an indexed file since it was read, in a sentence; empty for nothing."""
        return ""

    def unread(self) -> list[Unread]:
        """The notes of the memory that are not read, each with the reason."""
        return []

    def unread_near(self, target: str) -> Unread | None:
        """The unread file that a path means, also with another ending, capitals or folder; None for none."""
        return near_target(target, self.unread())

    def checked(self) -> str:
        """What the index holds, in a sentence. Raises InputError for one that is damaged."""
        return f"{self.name}: {counted(self.size, 'chunk')}."

    @property
    def remarks(self) -> list[str]:
        """What limits every answer of this index, one remark each."""
        return []

    def remarks_about(self, target: str) -> list[str]:
        """What limits an answer about this file: `remarks`, with its own change in place of any other."""
        return self.remarks

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


Contents = TypeVar("Contents", Scan, KeywordPostings)
"""What can be read of all chunks of an index."""

_SCANS: WeakValueDictionary[tuple[str, int], Scan] = WeakValueDictionary()
_POSTINGS: WeakValueDictionary[tuple[str, int], KeywordPostings] = WeakValueDictionary()
_LOCK = threading.Lock()


class ReadOnce(Generic[Contents]):
    """The contents of a store, which all open indexes read once for each of its states.

    A state is the name and the generation of a store. `shared` has the contents of each state while an index
    uses them.
    """

    def __init__(self, shared: WeakValueDictionary[tuple[str, int], Contents]) -> None:
        self._shared: WeakValueDictionary[tuple[str, int], Contents] = shared
        self._used: Contents | None = None
        self._state: tuple[str, int] | None = None
        self._asked: tuple[str, int] | None = None

    def is_first(self, store: IndexStore) -> bool:
        """Whether this is the first question about this state: reading all pays from the second on."""
        state = store.name, store.generation
        first = state != self._asked and state not in self._shared
        self._asked = state
        return first

    def of(self, store: IndexStore, read: Callable[[], Contents]) -> Contents:
        """The contents of the present state, from `read` if no open index has them."""
        state = store.name, store.generation
        if self._used is None or state != self._state:
            with _LOCK:
                self._used = self._shared.get(state)
                if self._used is None:
                    self._used = self._shared[state] = read()
            self._state = state
        return self._used


MOST_IN_SQL = 16
"""Words of a question. SQLite's time grows with each word, and with 1,000 common ones it is minutes."""


class MemoryIndex(OpenIndex):
    """What a search asks: keyword and vector candidates, chunks, and the vector of a question.

    It follows its file: what is asked after another process has stored something sees that, and after a
    rebuild the next `snapshot` opens the new index. One index is for one thread at a time.

    `root` is the memory's folder, if the index was opened by it.

    Vectors are scanned exactly, in NumPy, over a copy that is read again when the store has changed. The open
    indexes of one store share this copy.
    """

    def __init__(self, store: IndexStore, embedder: Embedder) -> None:
        self.store = store
        self.root: Path | None = None
        self.embedder = embedder
        self._callers_embedder: Embedder | None = embedder
        self._scans = ReadOnce(_SCANS)
        self._source = store.postings()
        self._postings = ReadOnce(_POSTINGS)

    @classmethod
    def open(
        cls, location: Path | IndexLocation, embedder: Embedder | None = None, root: Path | None = None
    ) -> MemoryIndex:
        """The index at a location with `embedder`, or else with the local model that made it.

        `root` is the memory's folder, if it is known. Raises InputError when there is no index, when
        `embedder` is not the one that made it, and when it was made of another folder, as its files tell.
        """
        store = (SQLiteLocation(location) if isinstance(location, Path) else location).open()
        if root is not None:
            check_same_folder(store, memory_root(root), "Leave out --index, or name that folder with -m.")
        index = cls(store, opened_embedder(store, embedder))
        index._callers_embedder, index.root = embedder, root
        return index

    def close(self) -> None:
        self.is_closed = True
        self.store.close()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One state of the index for all that is asked within, the latest at its beginning.

        Raises InputError when the index has been rebuilt with a model that this one does not have.
        """
        fresh = self.store.latest()
        if fresh is not self.store:
            self.embedder = opened_embedder(fresh, self._callers_embedder)
            self.store.close()
            self.store = fresh
            self._source = fresh.postings()
        with self.store.known_vectors.while_reading():
            yield

    def time_limit(self, seconds: float) -> AbstractContextManager[None]:
        return self.store.time_limit(seconds)

    def changed(self) -> list[str]:
        """The files that are new, deleted, or changed since they were indexed.

        Empty for an index that was opened without its folder.
        """
        from workbench.memory.sync import outdated  # which imports this module

        return [] if self.root is None else outdated(self.root, self)

    def former_name(self, text_hash: str) -> str:
        """The indexed file with this hash of its text that the folder no longer has; empty for none."""
        if self.root is None:
            return ""
        same = (one.path for one in self.documents() if one.hash == text_hash)
        return next((path for path in same if not os.path.lexists(self.root / path)), "")

    @property
    def command_options(self) -> str:
        """The memory's folder, and `--index` if the index is not in its default place, for a command."""
        if self.root is None:
            return super().command_options
        folder, file = shlex.quote(str(self.root)), Path(self.name)
        if file == default_index_path(self.root):
            return folder
        release = self.store.provenance.indexed_as
        if release and file == default_index_path(self.root, release):
            return f"{folder} --as {release}"
        return f"{folder} --index {shlex.quote(self.name)}"

    def made_otherwise(self, indexing: Indexing) -> MadeOtherwise | None:
        folder = self.root or (Path(self.store.provenance.folder) if self.store.provenance.folder else None)
        if folder is None:
            return None  # made in memory, from what a case or a test gives
        found = differences(self.store, indexing, None if self.root is None else memory_root(self.root))
        if not found:
            return None
        return MadeOtherwise(indexing.name, tuple(found), *self._words_to_make(folder, indexing))

    def _words_to_make(self, folder: Path, indexing: Indexing) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What stands before and after `--as` in the command that makes the index of a release.

        It has the user's own choices, and what a folder needs that the release would not read alone.
        """
        file = Path(self.name)
        memory = [str(folder)]
        if not file.exists():
            memory += ["--store", self.name]
        elif not is_default_path(file):
            memory += ["--index", self.name]
        options = [] if self.model == PACKAGED_MODEL else ["--model", self.model]
        extra = extra_paths_of(folder, file)
        if not extra and self.root is not None and not reads_any(memory_root(self.root), indexing.rules):
            extra = (".",)
        for path in extra:
            options += ["--extra", path]
        if default_index_path(folder, indexing.name).exists() or not is_default_path(file):
            options.append("--rebuild")
        return tuple(memory), tuple(options)

    @property
    def remarks(self) -> list[str]:
        return self.remarks_about("")

    def remarks_about(self, target: str) -> list[str]:
        changed = self.changed()
        found = unread_lines(one for one in self.unread() if one.path.endswith(SUFFIX))
        if not changed:
            return found
        names = ", ".join(changed[:NAMED]) + (", …" if len(changed) > NAMED else "")
        several = f"The index is out of date: {counted(len(changed), 'file')} changed ({names})."
        return [*found, f"{self.change_of(target) or several}\n  Update it: {self.update_command}"]

    def change_of(self, target: str) -> str:
        if self.root is None or not self.store.rows_of(target).size or target not in self.changed():
            return ""
        if not os.path.lexists(self.root / target):
            return f"{target} is no longer in the memory: this is about the text that it had."
        return f"{target} has changed since it was indexed: this is about its old text."

    def remedy_for_absent(self, target: str) -> str:
        """Why no run of `workbench index` reads the file, or else the command that updates the index."""
        return str(self.unread_near(target) or f"Update it: {self.update_command}")

    def unread(self) -> list[Unread]:
        """The notes in the memory's folder that no run of `workbench index` with the same options reads.

        Empty for an index that was opened without its folder.
        """
        if self.root is None:
            return []
        root = memory_root(self.root)
        extra = extra_paths_of(root, Path(self.store.name))
        with self.snapshot():
            known, rules = self.store.stamps(), self.store.provenance.file_rules
        return unread_files(root, known, extra, rules)

    def unread_near(self, target: str) -> Unread | None:
        """Also a file that the index has, and that had no text then and has none now."""
        empty = target in self.store.stamps() and not self.store.rows_of(target).size
        if empty and target not in self.changed():
            return without_text(target)
        return super().unread_near(target)

    @property
    def size(self) -> int:
        return self.store.size

    @property
    def name(self) -> str:
        return self.store.name

    def compiled(self, query: Query) -> str:
        return self.store.compiled(query)

    def keyword(self, query: Query, limit: int) -> Hits:
        """The hits by (bm25, chunk id), from the postings in memory if the query can be answered from them.

        Any other query is asked in SQL, and so is the first one of a state of the index: to load the lengths
        of all chunks pays from the second on. The hits and their numbers are the same.
        """
        if self._postings.is_first(self.store) and len(query.clauses) <= MOST_IN_SQL:
            return self.store.keyword(query, limit)
        try:
            return self._from_postings(query, limit)
        except NoPostingsError:
            return self.store.keyword(query, limit)

    def keyword_with(self, query: Query, limit: int, k1: float, b: float) -> Hits:
        try:
            return self._from_postings(query, limit, k1, b)
        except NoPostingsError as error:
            raise InputError(
                f"k1 and b are fixed for this query, since {error}.",
                f"Leave them at {K1:g} and {B:g}, or use a system whose query is a list of words.",
            ) from None

    def _from_postings(self, query: Query, limit: int, k1: float = K1, b: float = B) -> Hits:
        with self.store.reading():
            source, postings = self.postings()
            return postings.best(query, limit, source, self.store.keys, k1, b)

    def postings(self) -> tuple[PostingsSource, KeywordPostings]:
        """The keyword postings of this state of the index, and where they are read from.

        Raises NoPostingsError for a store that does not give its postings.
        """
        if self._source is None:
            raise NoPostingsError("the store does not give its postings")
        source = self._source
        return source, self._postings.of(self.store, lambda: KeywordPostings(source))

    def nearest_of_each(self, queries: NDArray[np.float32], limit: int) -> list[Hits]:
        """The answers of `vector` to several questions, one in each row, from few passes over the vectors."""
        if not len(queries) or self.store.nearest(queries[0], limit) is not None:
            return super().nearest_of_each(queries, limit)
        return self._scan_for(queries.shape[1]).nearest_of_each(queries, limit)

    def vector(self, query: Vector, limit: int) -> Hits:
        found = self.store.nearest(query, limit)
        if found is None and self._scans.is_first(self.store):
            found = self.store.nearest(query, limit, alone=True)
        return self._scan_for(query.size).nearest(query, limit) if found is None else found

    def _scan(self) -> Scan:
        return self._scans.of(self.store, lambda: Scan(*self._scanned()))

    def _scan_for(self, dimensions: int) -> Scan:
        """The vectors of this state of the index. Raises InputError if they have other dimensions."""
        scan = self._scan()
        if dimensions != scan.dimensions:
            raise InputError(
                f"The question's vector has {dimensions} dimensions, the index {scan.dimensions}.",
                "Use the model that made the index, or index again with --rebuild.",
            )
        return scan

    def prepare(self) -> None:
        """Computes the vectors that indexing has left for later, ahead of the search that needs them."""
        with self.snapshot():
            if self.store.provenance.vectors_later:
                self._scan()

    def vectors(self) -> tuple[Rows, NDArray[np.float32]]:
        """The rows and their unit vectors; those that indexing has left for later are computed and kept."""
        rows, vectors = self.store.matrix()
        if not self.store.provenance.vectors_later:
            return rows, vectors
        every = np.sort(np.concatenate([rows[:0], *map(self.store.rows_of, self.store.stamps())]))
        missing = np.setdiff1d(every, rows)
        found = np.empty((every.size, self.store.settings.dimensions), np.float32)
        found[np.searchsorted(every, rows)] = vectors
        if missing.size:
            found[np.searchsorted(every, missing)] = self._embedded(missing)
        return every, found

    def _embedded(self, rows: Rows) -> NDArray[np.float32]:
        """The vectors of these chunks. They are kept at once, also while one state of the index is read."""
        texts = [one.text for one in self.chunks(rows)]
        by_hash = {content_hash(text): text for text in texts}
        with (
            self.store.reopened() as second_store,
            progress(len(by_hash), "embedding", "chunks") as done,
            nullcontext() if second_store.writable else second_store.known_vectors.while_reading(),
        ):
            known = embed_through_cache(
                second_store, self.store.settings, self.embedder, "passage", by_hash,
                done,
            )  # fmt: skip
        return np.array([known[content_hash(text)].vector for text in texts])

    def _scanned(self) -> tuple[Rows, list[str], NDArray[np.float32]]:
        rows, vectors = self.vectors()
        return rows, self.store.keys(), vectors

    def embed(self, question: str) -> Vector:
        """The question's unit vector, from the cache when the question has been asked before."""
        text = whole_characters(question)
        key = content_hash(text)
        with self.snapshot():
            settings = self.store.settings
            return embed_through_cache(self.store, settings, self.embedder, "query", {key: text})[key].vector

    @property
    def generation(self) -> int:
        """A number that changes with every change of the index."""
        return self.store.generation

    def documents(self) -> Sequence[Document]:
        """All indexed documents, by path, with their whole text."""
        return self.store.documents()

    def paths(self) -> list[str]:
        return sorted(self.store.stamps())

    @property
    def model(self) -> str:
        return self.store.settings.model

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        """The chunks of these rows. Raises DamagedError for one that is not what its id was made of."""
        found, model = self.store.chunks(rows), self.model
        for one in found:
            if not is_sound(one, model):
                raise damaged(
                    self.store.name,
                    f"the chunk {one.location} has another text, place or id than it was made with",
                )
        return found

    def rows_of(self, path: str) -> Rows:
        return self.store.rows_of(path)

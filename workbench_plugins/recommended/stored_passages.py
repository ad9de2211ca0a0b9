"""The passages of an index, kept beside it: only what has changed since is read, and a search reads little.

The file of passages names the generation of the index that it was made from. A search of another generation
brings it up to date first; `workbench index` has done so.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Index
from workbench.errors import StorageError
from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.index import MemoryIndex
from workbench.progress import progress
from workbench.retrieval.index_adapters import CachedIndex
from workbench_plugins.recommended.keywords import Counts, content_stems
from workbench_plugins.recommended.links import LinkFrom, LinkTable
from workbench_plugins.recommended.passage_file import DamagedPassagesError, PassageFile, made_anew
from workbench_plugins.recommended.passage_index import (
    IndexedFile,
    Passages,
    WordCodes,
    WordEmbedder,
    WordsRead,
    arrange,
    newly_read,
    reading_of,
)
from workbench_plugins.recommended.shipped_vectors import words_of
from workbench_plugins.recommended.stored_stems import (
    CHUNK,
    FILE,
    TITLE,
    StemmedFile,
    StemWriter,
    StoredStems,
)
from workbench_plugins.recommended.words import means, packed_width

MOST_ROWS = 2**27
"""The largest number of a chunk for which a list of all numbers is made."""
AT_ONCE = 16_384
"""Chunks whose stems are counted before they are written."""


def passages_in(index: Index, embedder: WordEmbedder | None, path: Path) -> Passages:
    """The passages of an index: from the file at `path` where the index has one, or else held in memory."""
    inner = _with_a_file(index)
    if inner is None or not isinstance(embedder, LocalEmbedder | None):
        return arrange(index, embedder, path)
    try:
        found = _stored(inner, embedder, path)
    except DamagedPassagesError:
        made_anew(path)
        found = _stored(inner, embedder, path)
    return arrange(index, embedder, path) if found is None else found


def _stored(index: MemoryIndex, embedder: LocalEmbedder | None, path: Path) -> Passages | None:
    """The passages in the file, which is brought up to date; None where it cannot be opened or written."""
    try:
        file = PassageFile(path)
    except DamagedPassagesError:
        raise
    except StorageError:
        return None
    stored = StoredPassages(index, embedder, file)
    try:
        read = [] if stored.is_current else stored.update()
        if stored.is_current:
            return stored.loaded(read)
    except BaseException:
        file.close()
        raise
    file.close()
    return None


def _with_a_file(index: Index) -> MemoryIndex | None:
    """The index of a memory below caches; None for one with other chunks than are stored."""
    while isinstance(index, CachedIndex):
        index = index.inner
    return index if isinstance(index, MemoryIndex) else None


LEFT_OUT = (
    "{}: lines of base64, or more than 256 characters without a blank. They are data, and no words for the "
    "model."
)


class StoredFile(NamedTuple):
    """What the file of passages says of an indexed file."""

    number: int
    path: str
    hash: str
    key: str
    rows: bytes
    chunk_ids: str
    chunk_lengths: bytes
    file_length: int
    title_length: int

    @property
    def size(self) -> int:
        """The number of chunks."""
        return len(self.rows) // np.dtype(np.int64).itemsize


FILES = f"SELECT {', '.join(StoredFile._fields).replace('number', 'id')} FROM files"
INSERT_FILE = """
    INSERT INTO files (path, hash, key, rows, chunk_ids, chunk_lengths, file_length, title_length)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
WITHOUT_MEANS = (
    "SELECT path, key FROM files WHERE key <> '' AND id NOT IN (SELECT file FROM means) ORDER BY path"
)
INSERT_MEANS = "INSERT OR REPLACE INTO means SELECT id, ?, ? FROM files WHERE path = ? AND key = ?"
INSERT_LINK = "INSERT INTO links (file, target, stems) VALUES (?, ?, ?)"
LINKS_TO = "SELECT path, stems FROM links JOIN files ON files.id = links.file WHERE target = ?"
LINKS_OF_GONE_FILES = "DELETE FROM links WHERE file NOT IN (SELECT id FROM files)"
MEANS_OF_GONE_FILES = "DELETE FROM means WHERE file NOT IN (SELECT id FROM files)"
PASSAGES_OF_GONE_FILES = "DELETE FROM passages WHERE key NOT IN (SELECT key FROM files)"


@dataclass(frozen=True)
class StoredPassages:
    """The file of passages of one state of an index."""

    index: MemoryIndex
    embedder: LocalEmbedder | None
    file: PassageFile

    @property
    def _made_of(self) -> str:
        """What decides the content of the file, apart from the texts of the index."""
        return repr((self.index.store.settings, reading_of(self.embedder)))

    @property
    def is_current(self) -> bool:
        """Whether the file has this state of the index, and all that its model reads."""
        with self.file.plain_errors():
            now = self._made_of, str(self.index.generation)
            return (self.file.state("made of"), self.file.state("complete")) == now

    def update(self) -> list[IndexedFile]:
        """Brings the file up to date; returns the files that the model has read.

        A file that cannot be written, or is of a later state of the index, stays as it is.
        """
        with self.file.plain_errors():
            later = int(self.file.state("stems") or 0) > self.index.generation
        if later or self.file.db.readonly("main"):
            return []
        try:
            self._count_stems()
            read = self._read_words()
        except StorageError as error:
            if isinstance(error.__cause__, apsw.BusyError):  # another process brings it up to date
                return []
            raise
        with self.file.writing():
            if self.file.state("stems") == str(self.index.generation):
                self.file.set_state("complete", self.file.state("stems"))
        return read

    def _files(self) -> list[StoredFile]:
        """What is stored of each file, by path."""
        found: list[Any] = self.file.db.execute(FILES).fetchall()
        return sorted((StoredFile(*one) for one in found), key=lambda one: one.path)

    # Stems

    def _count_stems(self) -> None:
        """Counts the stems of all files that the file does not have as they are, in one transaction."""
        with self.file.writing():
            known = {one.path: one for one in self._files()}
            if self.file.state("made of") != self._made_of:
                current = dict[str, StoredFile]()
            else:
                current = self._current(known)
            writer = StemWriter(self.file.db)
            if current:
                writer.remove([one.number for path, one in known.items() if path not in current])
            else:
                self.file.check()
                writer.remove_all()
            for gone in (MEANS_OF_GONE_FILES, LINKS_OF_GONE_FILES):
                self.file.db.execute(gone)  # before a new file gets the number of an old one
            stamps = self.index.store.stamps()
            missing = [path for path in sorted(stamps) if path not in current]
            for files in self._in_groups(missing):
                writer.add({self._insert(one, stamps[one.path].hash, stems): stems for one, stems in files})
            self.file.db.execute(PASSAGES_OF_GONE_FILES)
            self.file.set_state("made of", self._made_of)
            self.file.set_state("stems", str(self.index.generation))
            self.file.set_state("complete", "")

    def _current(self, known: Mapping[str, StoredFile]) -> dict[str, StoredFile]:
        """The files that are stored as the index has them: with the same text in the same rows."""
        stamps = self.index.store.stamps()
        return {
            path: one
            for path, one in known.items()
            if path in stamps
            and stamps[path].hash == one.hash
            and self.index.rows_of(path).tobytes() == one.rows
        }

    def _in_groups(self, paths: Sequence[str]) -> Iterator[list[tuple[IndexedFile, StemmedFile]]]:
        """The files with their stems, in groups of at least AT_ONCE chunks."""
        group: list[tuple[IndexedFile, StemmedFile]] = []
        count = 0
        with progress(len(paths), "counting stems", "files") as done:
            for path in paths:
                rows = self.index.rows_of(path)
                one = IndexedFile(path, rows, self.index.chunks(rows))
                group.append((one, stemmed(one)))
                count += rows.size
                done()
                if count >= AT_ONCE:
                    yield group
                    group, count = [], 0
        yield group

    def _insert(self, one: IndexedFile, hash_: str, stems: StemmedFile) -> int:
        """The number of a file that is added."""
        lengths = np.array([sum(counts.values()) for counts in stems.chunks], np.int64).tobytes()
        ids = "\n".join(chunk.id for chunk in one.chunks)
        key = "" if self.embedder is None else one.key(self.embedder)
        sums = sum(stems.file.values()), sum(stems.title.values())
        self.file.db.execute(INSERT_FILE, (one.path, hash_, key, one.rows.tobytes(), ids, lengths, *sums))
        number = int(self.file.db.last_insert_rowid())
        self.file.db.executemany(INSERT_LINK, [(number, *link) for link in one.links])
        return number

    # Words

    def _read_words(self) -> list[IndexedFile]:
        """Keeps the means of every file's passages; returns the files that the model has read for that."""
        if self.embedder is None:
            return []
        missing = dict[str, str]()
        without: list[Any] = self.file.db.execute(WITHOUT_MEANS).fetchall()
        for path, key in without:
            payload = self.file.known([key]).get(key) or words_of([key]).get(key)
            read = None if payload is None else WordsRead.unpacked(payload)
            if payload is None or read is None:
                missing[key] = path
            else:
                self._keep(path, key, read, payload)
        files = {key: self._indexed(path) for key, path in missing.items()}
        for key, read in newly_read(files, self.embedder) if files else ():
            self._keep(missing[key], key, read, read.packed())
        return list(files.values())

    def _indexed(self, path: str) -> IndexedFile:
        rows = self.index.rows_of(path)
        return IndexedFile(path, rows, self.index.chunks(rows))

    def _keep(self, path: str, key: str, read: WordsRead, payload: bytes) -> None:
        assert self.embedder is not None
        ends = read.as_codes.passages
        vectors = means(read.passages, ends, self.embedder.dimensions)
        has = np.diff(ends) > 0
        with self.file.writing():
            self.file.db.execute("INSERT OR REPLACE INTO passages VALUES (?, ?)", (key, payload))
            self.file.db.execute(INSERT_MEANS, (has.tobytes(), vectors.tobytes(), path, key))

    # What a search reads

    def loaded(self, read: Sequence[IndexedFile] = ()) -> Passages:
        """The passages of this state. The file is read in one state of its own, until they are forgotten."""
        with self.file.plain_errors():
            self.file.db.execute("BEGIN")
            found = replace(
                self._read(self._files()),
                newly_read=sum(len(one.chunks) for one in read),
                remarks=tuple(LEFT_OUT.format(one.path) for one in read if one.has_runs),
            )
        weakref.finalize(found, self.file.close)
        return found

    def _read(self, files: Sequence[StoredFile]) -> Passages:
        rows = _joined(one.rows for one in files)
        ids = np.array([key for one in files if one.rows for key in one.chunk_ids.split("\n")], np.str_)
        order = np.argsort(ids)
        owners = np.repeat(np.arange(len(files)), [one.size for one in files])
        lengths = _joined(one.chunk_lengths for one in files)
        if not rows.size == ids.size == lengths.size == self.index.size or rows.max(initial=0) > MOST_ROWS:
            raise self.file.damaged()
        ordinals = _ordinals(np.array([one.number for one in files], np.int64))
        dimensions = 0 if self.embedder is None else self.embedder.dimensions
        return Passages(
            rows=rows[order],
            files=owners[order],
            chunk_stems=StoredStems(self.file, CHUNK, lengths[order].astype(float), _ordinals(rows[order])),
            file_stems=StoredStems(
                self.file, FILE, np.array([one.file_length for one in files], float), ordinals
            ),
            title_stems=StoredStems(
                self.file, TITLE, np.array([one.title_length for one in files], float), ordinals
            ),
            links=StoredLinks(self.file, [one.path for one in files]),
            words=StoredWords(self.file, files, order, dimensions) if dimensions else None,
            dimensions=dimensions,
        )


def stemmed(one: IndexedFile) -> StemmedFile:
    """The stems of a file. A line that several chunks have is cut into stems once."""
    known = dict[str, list[str]]()

    def counts(text: str) -> Counts:
        found = Counter[str]()
        for line in text.split("\n"):
            if line not in known:
                known[line] = content_stems(line)
            found.update(known[line])
        return found

    return StemmedFile(
        one.rows, [counts(chunk.text) for chunk in one.chunks], counts(one.text), counts(one.title)
    )


def _joined(blobs: Iterable[bytes]) -> NDArray[np.int64]:
    return np.frombuffer(b"".join(blobs), np.int64)


def _ordinals(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The ordinal of each number in the list, by the number itself."""
    ordinals = np.full(int(numbers.max(initial=-1)) + 1, -1, np.int64)
    ordinals[numbers] = np.arange(numbers.size)
    return ordinals


class StoredLinks(LinkTable):
    """The links of all files, read from the file of passages when a question needs them."""

    def __init__(self, file: PassageFile, paths: Sequence[str]) -> None:
        super().__init__(paths)
        self._file = file

    def to(self, target: str) -> list[LinkFrom]:
        with self._file.plain_errors():
            found = self._file.db.execute(LINKS_TO, (target,))
            return [LinkFrom(str(path), str(stems)) for path, stems in found]


class StoredWords:
    """The words and passages of all chunks, read from the file of passages when a question needs them.

    `order` has the ordinal of each chunk in the list of all files' chunks.
    """

    same_width = True

    def __init__(
        self, file: PassageFile, files: Sequence[StoredFile], order: NDArray[np.int64], dimensions: int
    ) -> None:
        self._file, self._files, self._order, self._dimensions = file, files, order, dimensions
        self._starts = np.cumsum([0, *(one.size for one in files)])
        self._known: dict[int, WordCodes] = {}

    @property
    def bytes(self) -> int:
        """The number of bytes that the codes of words and passages take in the file."""
        return int(self._file.db.execute("SELECT total(length(payload)) FROM passages").get)

    def of(self, ordinals: NDArray[np.int64]) -> WordCodes:
        """Those of some of the chunks, in their order."""
        chunks = self._order[ordinals]
        owners = np.searchsorted(self._starts, chunks, side="right") - 1
        by_file = np.argsort(owners, kind="stable")
        parts = [
            self._of_file(owner).of(chunks[by_file][owners[by_file] == owner] - self._starts[owner])
            for owner in np.unique(owners).tolist()
        ]
        return WordCodes.joined(parts, packed_width(self._dimensions, 1)).of(np.argsort(by_file))

    def _of_file(self, owner: int) -> WordCodes:
        if owner not in self._known:
            key = self._files[owner].key
            payload = self._file.known([key]).get(key)
            with self._file.plain_errors():
                read = None if payload is None else WordsRead.unpacked(payload)
                if read is None or read.as_codes.passages.size <= self._files[owner].size:
                    raise self._file.damaged()
                self._known[owner] = read.as_codes
        return self._known[owner]

    def means(self, dimensions: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The ordinals of chunks with passages, and the unit means of these, a row a chunk."""
        with self._file.plain_errors():
            found = {
                file: (has, vectors) for file, has, vectors in self._file.db.execute("SELECT * FROM means")
            }
            each = [found[one.number] for one in self._files]
            has = np.frombuffer(b"".join(one for one, _ in each), bool)
            vectors = np.frombuffer(b"".join(one for _, one in each), np.float32).reshape(-1, dimensions)
            ordinals = np.argsort(self._order)[has]
            return ordinals, vectors if has.all() else vectors[has]

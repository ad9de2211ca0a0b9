"""Everything about an index's passages: windows with vectors, words and passages in codes, and stems.

Vectors need a model on this machine. `workbench index` computes them, or else the first search. They are kept
beside the index, by the hash of everything that a file's windows were computed from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import apsw
import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Index
from workbench.errors import StorageError
from workbench.memory.embedding.local import LocalEmbedder
from workbench.progress import progress
from workbench.records import Chunk, Rows
from workbench_plugins.recommended.keywords import StemIndex
from workbench_plugins.recommended.shipped import words_of
from workbench_plugins.recommended.windows import Window, lines_of, outline, windows_of
from workbench_plugins.recommended.words import (
    AskedWords,
    Codes,
    WordVectors,
    coded,
    coded_passages,
    from_bytes,
    in_bytes,
    pooled,
    word_vectors,
)

VERSION = 1


class PassageCache:
    """A file of blobs by key, or in memory. It holds numbers, no text, and can be deleted at any time.

    Raises StorageError when the file cannot be read or written.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        with _plainly(path):
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = apsw.Connection(str(path or ":memory:"))
            self._db.set_busy_timeout(10_000)
            self._db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
            if self._db.pragma("user_version") != VERSION:
                self._db.execute(
                    "DROP TABLE IF EXISTS passages;"
                    "CREATE TABLE passages (key TEXT PRIMARY KEY, payload BLOB NOT NULL) WITHOUT ROWID;"
                    f"PRAGMA user_version = {VERSION}"
                )

    def known(self, keys: Iterable[str]) -> dict[str, bytes]:
        """The blobs of these keys, without those that are not there."""
        with _plainly(self.path):
            found = (
                (key, self._db.execute("SELECT payload FROM passages WHERE key = ?", (key,)).get)
                for key in keys
            )
            return {key: payload for key, payload in found if payload is not None}

    def keep(self, key: str, payload: bytes) -> None:
        """Adds a blob."""
        with _plainly(self.path):
            self._db.execute("INSERT OR REPLACE INTO passages VALUES (?, ?)", (key, payload))

    def forget_all_but(self, keys: Iterable[str]) -> None:
        """Removes the blobs of all other keys, so that nothing of a deleted file is left."""
        wanted = set(keys)
        with _plainly(self.path), self._db:
            there = [key for (key,) in self._db.execute("SELECT key FROM passages")]
            gone = [(key,) for key in there if key not in wanted]
            self._db.executemany("DELETE FROM passages WHERE key = ?", gone)

    def close(self) -> None:
        """Closes the file."""
        self._db.close()


@contextmanager
def _plainly(path: Path | None) -> Iterator[None]:
    try:
        yield
    except (apsw.Error, OSError) as error:
        raise StorageError(
            f"The file of word vectors {path} cannot be used: {error}.",
            "Free some space or fix its permissions; if it is damaged, delete it: it is made anew.",
        ) from error


FORM = "windows 4"
"""Names the way in which windows are cut and coded; another way needs another name."""
TOGETHER = 32
"""Chunks whose windows the model reads at once. An interruption loses at most their words."""


@dataclass(frozen=True)
class WindowsRead:
    """What the model has read of one file: for each window the place of its chunk in the file, its vector
    and the numbers of its words and passages; then the codes of all these words and passages."""

    owners: NDArray[np.int32]
    vectors: NDArray[np.float32]
    counts: NDArray[np.int32]
    codes: Codes
    passage_counts: NDArray[np.int32]
    passages: Codes

    def packed(self) -> bytes:
        """This as bytes: the four numbers of `_shapes`, and then its arrays."""
        vectors, powers = in_bytes(self.vectors)
        arrays = (
            self.owners, vectors, powers, self.counts, self.codes.packed, self.codes.sizes,
            self.passage_counts, self.passages.packed, self.passages.sizes,
        )  # fmt: skip
        head = [*vectors.shape, self.codes.sizes.size, self.passages.sizes.size]
        return b"".join(one.tobytes() for one in (np.array(head, np.int32), *arrays))

    @classmethod
    def joined(cls, parts: Sequence[WindowsRead], dimensions: int) -> WindowsRead:
        """What was read of several chunks, the first of each part the next place in their file."""
        owners = [np.full(one.owners.size, place, np.int32) for place, one in enumerate(parts)]
        return cls(
            _joined(owners, (0,), np.int32),
            _joined([one.vectors for one in parts], (0, dimensions), np.float32),
            _joined([one.counts for one in parts], (0,), np.int32),
            Codes.joined([one.codes for one in parts], (dimensions + 7) // 8),
            _joined([one.passage_counts for one in parts], (0,), np.int32),
            Codes.joined([one.passages for one in parts], (dimensions + 3) // 4),
        )

    @classmethod
    def unpacked(cls, payload: bytes) -> WindowsRead | None:
        """What `packed` gave; None for damaged bytes."""
        numbers = np.frombuffer(payload[:HEAD], np.int32).tolist() if len(payload) >= HEAD else [-1]
        if min(numbers) < 0:
            return None
        kinds, shapes = zip(*_shapes(*numbers), strict=True)
        counts = [prod(shape) for shape in shapes]
        ends = HEAD + np.cumsum(
            [0, *(np.dtype(kind).itemsize * n for kind, n in zip(kinds, counts, strict=True))]
        )
        if ends[-1] != len(payload):
            return None
        each = zip(kinds, shapes, counts, ends.tolist(), strict=False)
        arrays = [np.frombuffer(payload, kind, n, start).reshape(shape) for kind, shape, n, start in each]
        owners, vectors, powers, words, signs, sizes, passages, halves, passage_sizes = arrays
        return cls(
            owners,
            from_bytes(vectors, powers),
            words,
            Codes(signs, sizes),
            passages,
            Codes(halves, passage_sizes),
        )


HEAD = 16
"""Bytes of the four numbers in front."""


def _shapes(
    windows: int, dimensions: int, words: int, passages: int
) -> list[tuple[type[np.generic], tuple[int, ...]]]:
    """The type and shape of each array of `WindowsRead.packed`, in their order."""
    return [
        (np.int32, (windows,)), (np.int8, (windows, dimensions)), (np.int8, (windows,)),
        (np.int32, (windows,)), (np.uint8, (words, (dimensions + 7) // 8)), (np.float16, (words,)),
        (np.int32, (windows,)),
        (np.uint8, (passages, (dimensions + 3) // 4)), (np.float16, (passages,)),
    ]  # fmt: skip


@dataclass(frozen=True)
class WindowVectors:
    """The windows of all chunks; a window's and a chunk's place count in the order of `Passages.rows`.

    `owners` is the chunk of each window, in ascending order. The words of chunk i are `words[i]:words[i + 1]`
    in `codes`, and its passages likewise.
    """

    owners: NDArray[np.int64]
    vectors: NDArray[np.float32]
    words: NDArray[np.int64]
    codes: Codes
    passages: NDArray[np.int64]
    passage_codes: Codes

    @property
    def bytes(self) -> int:
        """The number of bytes that the codes of words and passages take."""
        return self.codes.bytes + self.passage_codes.bytes


@dataclass(frozen=True)
class Passages:
    """The chunks of an index by id: their rows and files, stems of chunks, files and titles, and windows.

    `windows` is None without a model on this machine.
    """

    rows: Rows
    files: NDArray[np.int64]
    chunk_stems: StemIndex
    file_stems: StemIndex
    title_stems: StemIndex
    windows: WindowVectors | None

    def places(self, rows: Rows) -> NDArray[np.int64]:
        """The places of these rows."""
        sorter = np.argsort(self.rows)
        found: NDArray[np.int64] = sorter[np.searchsorted(self.rows, rows, sorter=sorter)]
        return found


@runtime_checkable
class HeldWords(Protocol):
    """An embedder that holds what a model has read, so that the model need not be here; a case has one."""

    @property
    def name(self) -> str: ...

    @property
    def revision(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def windows_read(self, path: str, chunks: Sequence[Chunk]) -> WindowsRead:
        """What was read of a file, for these chunks of it."""

    def question_words(self, question: str) -> AskedWords:
        """A question's content words, with the vectors of their pieces."""


WordEmbedder = LocalEmbedder | HeldWords


@dataclass(frozen=True)
class IndexedFile:
    """A file of an index: its chunks and their rows, in the file's order."""

    path: str
    rows: Rows
    chunks: Sequence[Chunk]

    def key(self, embedder: LocalEmbedder) -> str:
        """The hash of everything that decides what the model reads of this file."""
        weights = embedder.revision.partition("/")[0]  # windows do not depend on how long texts are read
        model = f"{weights}/{embedder.variant.name}" if embedder.variant.name else weights
        digest = hashlib.sha256(repr((FORM, embedder.name, model, self.path)).encode())
        for chunk in self.chunks:
            digest.update(repr((chunk.start_line, chunk.text)).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def files_of(index: Index) -> list[IndexedFile]:
    """The files of an index with their chunks, by path."""
    paths = index.paths() or sorted({chunk.path for chunk in index.chunks(np.arange(index.size))})
    rows = [index.rows_of(path) for path in paths]
    return [IndexedFile(path, some, index.chunks(some)) for path, some in zip(paths, rows, strict=True)]


def arrange(index: Index, embedder: WordEmbedder | None, cache: Path) -> Passages:
    """The passages of an index. With an embedder, windows that `cache` does not hold are embedded."""
    files = files_of(index)
    rows = np.concatenate([np.empty(0, np.int64), *(one.rows for one in files)])
    chunks = [chunk for one in files for chunk in one.chunks]
    order = np.array(sorted(range(len(chunks)), key=lambda place: chunks[place].id), np.int64)
    owners = np.repeat(np.arange(len(files)), [one.rows.size for one in files])
    return Passages(
        rows[order],
        owners[order],
        StemIndex([chunks[place].text for place in order.tolist()]),
        StemIndex(["\n".join(lines_of(one.chunks).values()) for one in files]),
        StemIndex([f"{outline(one.path, one.chunks).title} {_spoken(one.path)}" for one in files]),
        None if embedder is None else _windows(files, order, embedder, cache),
    )


def _spoken(path: str) -> str:
    """The words of a path, without its suffix."""
    return path.rpartition(".")[0].replace("/", " ").replace("-", " ").replace("_", " ")


def _windows(
    files: Sequence[IndexedFile], order: NDArray[np.int64], embedder: WordEmbedder, cache: Path
) -> WindowVectors:
    read = _read(files, embedder, cache)
    whole = WindowsRead.joined(read, embedder.dimensions)
    first = np.cumsum([0, *(one.rows.size for one in files)])
    starts = [one.owners + start for one, start in zip(read, first, strict=False)]
    chunk = _joined(starts, (0,), np.int64)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    owner = place[chunk]
    by_owner = np.argsort(owner, kind="stable")
    words, word_ends = _by_chunk(whole.counts, owner, order.size)
    passages, passage_ends = _by_chunk(whole.passage_counts, owner, order.size)
    return WindowVectors(
        owner[by_owner],
        whole.vectors[by_owner],
        word_ends,
        whole.codes.of(words),
        passage_ends,
        whole.passages.of(passages),
    )


def _joined(parts: Sequence[NDArray[Any]], empty: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.empty(empty, kind), *parts])


def _by_chunk(
    counts: NDArray[np.int32], owner: NDArray[np.int64], chunks: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of what windows hold, in the order of their chunks, and where each chunk's begin and end."""
    whose = np.repeat(owner, counts)
    return np.argsort(whose, kind="stable"), np.searchsorted(np.sort(whose), np.arange(chunks + 1))


def _read(files: Sequence[IndexedFile], embedder: WordEmbedder, path: Path) -> list[WindowsRead]:
    if not isinstance(embedder, LocalEmbedder):
        return [embedder.windows_read(one.path, one.chunks) for one in files]
    keys = [one.key(embedder) for one in files]
    with closing(_opened(path)) as cache:
        known = {**words_of(keys), **cache.known(keys)}
        unpacked = {key: WindowsRead.unpacked(payload) for key, payload in known.items()}
        found = {key: read for key, read in unpacked.items() if read is not None}
        missing = {key: one for key, one in zip(keys, files, strict=True) if key not in found}
        for key, read in newly_read(missing, embedder):
            found[key] = read
            cache.keep(key, read.packed())
        if missing:
            cache.forget_all_but(keys)
    return [found[key] for key in keys]


def _opened(path: Path) -> PassageCache:
    """The cache; in memory where no file can be written: a read-only disk can be searched, too."""
    try:
        return PassageCache(path)
    except StorageError:
        return PassageCache(None)


def newly_read(
    files: Mapping[str, IndexedFile], embedder: LocalEmbedder
) -> Iterator[tuple[str, WindowsRead]]:
    """What the model reads of each file, by its key."""

    def count(texts: Sequence[str]) -> list[int]:
        return [len(spans) for spans in embedder.offsets(texts)]

    chunks = sum(len(one.chunks) for one in files.values())
    with progress(max(1, chunks), "reading word by word", "chunks") as done:
        for group in _groups(files):
            cuts = [windows_of(files[key].chunks, files[key].path, count, embedder.window) for key in group]
            texts = [window.embedded for cut in cuts for window in cut]
            read = iter(word_vectors(embedder, texts, "passage") if texts else [])
            for key, cut in zip(group, cuts, strict=True):
                yield key, _coded(cut, [next(read) for _ in cut], embedder.dimensions)
                for _ in files[key].chunks:
                    done()


def _groups(files: Mapping[str, IndexedFile]) -> Iterator[list[str]]:
    """The keys of files in groups of about TOGETHER chunks, whose windows fill the model's batches."""
    group: list[str] = []
    for key in files:
        group.append(key)
        if sum(len(files[each].chunks) for each in group) >= TOGETHER:
            yield group
            group = []
    if group:
        yield group


def _coded(cut: Sequence[Window], read: Sequence[WordVectors], dimensions: int) -> WindowsRead:
    owners = np.array([window.row for window in cut], np.int32)
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    ends = [*first[1:].tolist(), len(cut)]
    # Words are pooled over a whole chunk, since its windows share a header; its first window holds them.
    words = [
        pooled(np.concatenate([one.words for one in read[start:end]]))
        for start, end in zip(first.tolist(), ends, strict=True)
    ]
    counts = np.zeros(len(cut), np.int32)
    counts[first] = [len(one) for one in words]
    passages = [one.passages for one in read]
    return WindowsRead(
        owners,
        # As they are kept: the first search has the same numbers as every later one.
        from_bytes(*in_bytes(np.array([one.whole for one in read], np.float32).reshape(-1, dimensions))),
        counts,
        coded(_joined(words, (0, dimensions), np.float32)),
        np.array([len(one) for one in passages], np.int32),
        coded_passages(_joined(passages, (0, dimensions), np.float32)),
    )

"""Everything about an index's passages: windows with vectors, words and stretches in codes, and stems.

Vectors need a model on this machine. They are computed at the first search and kept beside the index.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Index
from workbench.errors import StorageError
from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.embedding.tokens import AskedWords, word_vectors
from workbench.memory.passages.codes import StretchCodes, WordCodes, coded, coded_in_four_bits
from workbench.memory.passages.keywords import StemIndex
from workbench.memory.passages.windows import lines_of, outline, windows_of
from workbench.memory.store.sqlite.passage_cache import PassageCache
from workbench.progress import progress
from workbench.records import Chunk, Rows

FORM = "windows 2"
"""Names the way in which windows are cut and coded; another way needs another name."""
WINDOWS_IN_FLIGHT = 64


@dataclass(frozen=True)
class WindowsRead:
    """What the model has read of one file: for each window the place of its chunk in the file, its vector
    and the numbers of its words and stretches; then the codes of all these words and stretches."""

    owners: NDArray[np.int32]
    vectors: NDArray[np.float32]
    counts: NDArray[np.int32]
    codes: WordCodes
    stretch_counts: NDArray[np.int32]
    stretches: StretchCodes

    def packed(self) -> bytes:
        """This as bytes."""
        file = io.BytesIO()
        np.savez(
            file, owners=self.owners, vectors=self.vectors.astype(np.float16), counts=self.counts,
            signs=self.codes.signs, sizes=self.codes.sizes, stretch_counts=self.stretch_counts,
            halves=self.stretches.halves, stretch_sizes=self.stretches.sizes,
        )  # fmt: skip
        return file.getvalue()

    @classmethod
    def joined(cls, parts: Sequence[WindowsRead], dimensions: int) -> WindowsRead:
        """What was read of several chunks, the first of each part the next place in their file."""
        owners = [np.full(one.owners.size, place, np.int32) for place, one in enumerate(parts)]
        return cls(
            _joined(owners, (0,), np.int32),
            _joined([one.vectors for one in parts], (0, dimensions), np.float32),
            _joined([one.counts for one in parts], (0,), np.int32),
            _word_codes(parts, dimensions),
            _joined([one.stretch_counts for one in parts], (0,), np.int32),
            _stretch_codes(parts, dimensions),
        )

    @classmethod
    def unpacked(cls, payload: bytes) -> WindowsRead | None:
        """What `packed` gave; None for damaged bytes."""
        try:
            with np.load(io.BytesIO(payload)) as file:
                return cls(
                    file["owners"],
                    file["vectors"].astype(np.float32),
                    file["counts"],
                    WordCodes(file["signs"], file["sizes"]),
                    file["stretch_counts"],
                    StretchCodes(file["halves"], file["stretch_sizes"]),
                )
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile):
            return None


@dataclass(frozen=True)
class WindowVectors:
    """The windows of all chunks; a window's and a chunk's place count in the order of `Passages.rows`.

    `owners` is the chunk of each window, in ascending order. The words of chunk i are `words[i]:words[i + 1]`
    in `codes`, and its stretches likewise.
    """

    owners: NDArray[np.int64]
    vectors: NDArray[np.float32]
    words: NDArray[np.int64]
    codes: WordCodes
    stretches: NDArray[np.int64]
    stretch_codes: StretchCodes

    @property
    def bytes(self) -> int:
        """The number of bytes that the codes of words and stretches take."""
        return self.codes.bytes + self.stretch_codes.bytes


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
class _File:
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


def arrange(index: Index, embedder: WordEmbedder | None, cache: Path | None) -> Passages:
    """The passages of an index. With an embedder, windows that `cache` does not hold are embedded."""
    files = []
    for path in index.paths() or _paths(index):
        rows = index.rows_of(path)
        files.append(_File(path, rows, index.chunks(rows)))
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


def _paths(index: Index) -> list[str]:
    every = index.chunks(np.arange(index.size))
    return sorted({chunk.path for chunk in every})


def _spoken(path: str) -> str:
    """The words of a path, without its suffix."""
    return path.rpartition(".")[0].replace("/", " ").replace("-", " ").replace("_", " ")


def _windows(
    files: Sequence[_File], order: NDArray[np.int64], embedder: WordEmbedder, cache: Path | None
) -> WindowVectors:
    read = _read(files, embedder, cache)
    first = np.cumsum([0, *(one.rows.size for one in files)])
    chunk = np.concatenate(
        [np.empty(0, np.int64), *(one.owners + start for one, start in zip(read, first, strict=False))]
    )
    dimensions = embedder.dimensions
    vectors = np.concatenate([np.empty((0, dimensions), np.float32), *(one.vectors for one in read)])
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    owner = place[chunk]
    by_owner = np.argsort(owner, kind="stable")
    words, word_ends = _by_chunk([one.counts for one in read], owner, order.size)
    stretches, stretch_ends = _by_chunk([one.stretch_counts for one in read], owner, order.size)
    return WindowVectors(
        owner[by_owner],
        vectors[by_owner],
        word_ends,
        _word_codes(read, dimensions).of(words),
        stretch_ends,
        _stretch_codes(read, dimensions).of(stretches),
    )


def _word_codes(read: Sequence[WindowsRead], dimensions: int) -> WordCodes:
    return WordCodes(
        _joined([one.codes.signs for one in read], (0, (dimensions + 7) // 8), np.uint8),
        _joined([one.codes.sizes for one in read], (0,), np.float16),
    )


def _stretch_codes(read: Sequence[WindowsRead], dimensions: int) -> StretchCodes:
    return StretchCodes(
        _joined([one.stretches.halves for one in read], (0, (dimensions + 1) // 2), np.uint8),
        _joined([one.stretches.sizes for one in read], (0,), np.float16),
    )


def _joined(parts: Sequence[NDArray[Any]], empty: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.empty(empty, kind), *parts])


def _by_chunk(
    counts: Sequence[NDArray[np.int32]], owner: NDArray[np.int64], chunks: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of what windows hold, in the order of their chunks, and where each chunk's begin and end."""
    held = np.concatenate([np.empty(0, np.int64), *counts])
    whose = np.repeat(owner, held)
    return np.argsort(whose, kind="stable"), np.searchsorted(np.sort(whose), np.arange(chunks + 1))


def _read(files: Sequence[_File], embedder: WordEmbedder, path: Path | None) -> list[WindowsRead]:
    if not isinstance(embedder, LocalEmbedder):
        return [embedder.windows_read(one.path, one.chunks) for one in files]
    keys = [one.key(embedder) for one in files]
    with ExitStack() as stack:
        cache = None if path is None else _opened(stack, path)
        payloads = {} if cache is None else cache.known(keys)
        found: dict[str, WindowsRead] = {}
        for key, payload in payloads.items():
            if (read := WindowsRead.unpacked(payload)) is not None:
                found[key] = read
        missing = {key: one for key, one in zip(keys, files, strict=True) if key not in found}
        for key, read in _newly_read(missing, embedder):
            found[key] = read
            if cache is not None:
                cache.keep(key, read.packed())
        if cache is not None and missing:
            cache.forget_all_but(keys)
    return [found[key] for key in keys]


def _opened(stack: ExitStack, path: Path) -> PassageCache | None:
    """The cache, or None where none can be written: a memory on a read-only disk can be searched, too."""
    try:
        return stack.enter_context(PassageCache(path))
    except StorageError:
        return None


def _newly_read(files: Mapping[str, _File], embedder: LocalEmbedder) -> Iterator[tuple[str, WindowsRead]]:
    def count(texts: Sequence[str]) -> list[int]:
        return [len(spans) for spans in embedder.offsets(texts)]

    chunks = sum(len(one.chunks) for one in files.values())
    with progress(max(1, chunks), "reading word by word", "chunks") as done:
        for key, one in files.items():
            cut = (
                windows_of(range(len(one.chunks)), one.chunks, one.path, count, embedder.window)
                if one.chunks
                else []
            )
            texts = [window.embedded for window in cut]
            vectors = word_vectors(embedder, texts, "passage") if texts else []
            yield (
                key,
                WindowsRead(
                    np.array([window.row for window in cut], np.int32),
                    # As they are kept: the first search has the same numbers as every later one.
                    np.array([one.whole for one in vectors], np.float16)
                    .astype(np.float32)
                    .reshape(len(cut), embedder.dimensions),
                    np.array([one.words.shape[0] for one in vectors], np.int32),
                    coded(_joined([one.words for one in vectors], (0, embedder.dimensions), np.float32)),
                    np.array([one.stretches.shape[0] for one in vectors], np.int32),
                    coded_in_four_bits(
                        _joined([one.stretches for one in vectors], (0, embedder.dimensions), np.float32)
                    ),
                ),
            )
            for _ in one.chunks:
                done()

"""Everything about an index's passages: words and passages in codes, and stems.

Codes need a model on this machine. `workbench index` computes them, or else the first search. They are kept
beside the index, by the hash of everything that a file's words were read from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Index
from workbench.errors import StorageError
from workbench.memory.embedding.local import LocalEmbedder, has_runs
from workbench.memory.store.scan import Scan
from workbench.progress import progress
from workbench.records import Chunk, Rows
from workbench_plugins.recommended.keywords import StemIndex, StemTable
from workbench_plugins.recommended.links import Link, Links, LinkTable, links_in
from workbench_plugins.recommended.passage_file import PassageFile
from workbench_plugins.recommended.passage_windows import (
    Window,
    begins_with_toml,
    lines_of,
    outline,
    windows_of,
)
from workbench_plugins.recommended.shipped_vectors import words_of
from workbench_plugins.recommended.words import (
    AskedWords,
    Codes,
    WordVectors,
    coded,
    coded_passages,
    for_signs,
    means,
    packed_width,
    pooled,
    word_vectors,
)

FORM = "words 6"
"""Names the way in which words are read and coded; another way needs another name."""
TOGETHER = 32
"""Chunks whose windows the model reads at once. An interruption loses the words of about twice as many."""


@dataclass(frozen=True)
class WordsRead:
    """What the model has read of a file: how many words and passages each chunk has, and their codes."""

    counts: NDArray[np.int32]
    codes: Codes
    passage_counts: NDArray[np.int32]
    passages: Codes

    def packed(self) -> bytes:
        """This as bytes: the four numbers of `_shapes`, and then its arrays."""
        arrays = (
            self.counts, self.codes.packed, self.codes.sizes,
            self.passage_counts, self.passages.packed, self.passages.sizes,
        )  # fmt: skip
        head = [self.counts.size, self.codes.packed.shape[1], self.codes.sizes.size, self.passages.sizes.size]
        return b"".join(one.tobytes() for one in (np.array(head, np.int32), *arrays))

    @classmethod
    def joined(cls, parts: Sequence[WordsRead], dimensions: int) -> WordsRead:
        """What was read of the chunks of all parts, in their order."""
        return cls(
            np.concatenate([np.empty(0, np.int32), *(one.counts for one in parts)]),
            Codes.joined([one.codes for one in parts], packed_width(dimensions, 1)),
            np.concatenate([np.empty(0, np.int32), *(one.passage_counts for one in parts)]),
            Codes.joined([one.passages for one in parts], packed_width(dimensions, 1)),
        )

    @classmethod
    def unpacked(cls, payload: bytes) -> WordsRead | None:
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
        words, signs, sizes, passages, more_signs, passage_sizes = arrays
        return cls(words, Codes(signs, sizes), passages, Codes(more_signs, passage_sizes))

    @property
    def as_codes(self) -> WordCodes:
        """The same with the offsets where each chunk's words and passages begin."""
        return WordCodes(_ends(self.counts), self.codes, _ends(self.passage_counts), self.passages)


HEAD = 16
"""Bytes of the four numbers in front."""


def _shapes(
    chunks: int, width: int, words: int, passages: int
) -> list[tuple[type[np.generic], tuple[int, ...]]]:
    """The type and shape of each array of `WordsRead.packed`, in their order."""
    return [
        (np.int32, (chunks,)), (np.uint8, (words, width)), (np.float16, (words,)),
        (np.int32, (chunks,)), (np.uint8, (passages, width)), (np.float16, (passages,)),
    ]  # fmt: skip


def _ends(counts: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Where each chunk's begin, and where the last one's end."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def contents_of(
    ends: NDArray[np.int64], ordinals: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """What these chunks hold, one after another, where each chunk's begin, and which chunks hold anything."""
    starts, counts = ends[ordinals], ends[ordinals + 1] - ends[ordinals]
    some = np.flatnonzero(counts)
    first = np.cumsum(counts[some]) - counts[some]
    every = np.arange(int(counts.sum())) + np.repeat(starts[some] - first, counts[some])
    return every, first, some


@dataclass(frozen=True)
class WordCodes:
    """The words and passages of all chunks, in the order of `Passages.rows`.

    The words of chunk i are `words[i]:words[i + 1]` in `codes`, and its passages likewise.
    """

    words: NDArray[np.int64]
    codes: Codes
    passages: NDArray[np.int64]
    passage_codes: Codes

    @property
    def bytes(self) -> int:
        """The number of bytes that the codes of words and passages take."""
        return self.codes.bytes + self.passage_codes.bytes

    @classmethod
    def joined(cls, parts: Sequence[WordCodes], width: int) -> WordCodes:
        """Those of all parts, in their order; `width` is the number of bytes in a row."""
        nothing = np.empty(0, np.int64)
        return cls(
            _ends(np.concatenate([nothing, *(np.diff(one.words) for one in parts)])),
            Codes.joined([one.codes for one in parts], width),
            _ends(np.concatenate([nothing, *(np.diff(one.passages) for one in parts)])),
            Codes.joined([one.passage_codes for one in parts], width),
        )

    def of(self, ordinals: NDArray[np.int64]) -> WordCodes:
        """The words and passages of some of the chunks, in their order."""
        return WordCodes(
            _ends(np.diff(self.words)[ordinals]),
            self.codes.of(contents_of(self.words, ordinals)[0]),
            _ends(np.diff(self.passages)[ordinals]),
            self.passage_codes.of(contents_of(self.passages, ordinals)[0]),
        )

    @property
    def same_width(self) -> bool:
        """Whether words and passages have as many bits; passages of older cases have more."""
        return bool(self.passage_codes.packed.shape[1] == self.codes.packed.shape[1])

    def means(self, dimensions: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The ordinals of chunks with passages, and the unit means of these, a row a chunk."""
        some = np.flatnonzero(np.diff(self.passages))
        return some, means(self.passage_codes, self.passages, dimensions)[some]


class Words(Protocol):
    """The words and passages of all chunks, in memory or in a file."""

    @property
    def bytes(self) -> int: ...

    @property
    def same_width(self) -> bool: ...

    def of(self, ordinals: NDArray[np.int64]) -> WordCodes:
        """Those of some of the chunks, in their order."""

    def means(self, dimensions: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The ordinals of chunks with passages, and the unit means of these, a row a chunk."""


@dataclass(frozen=True)
class Passages:
    """The chunks of an index by id: their rows and files, stems of chunks, files and titles, and words.

    `links` are those between the files. `words` is None without a model on this machine. `dimensions` is the
    length of its vectors, and `newly_read` how many chunks it has read for this. `remarks` say what of them
    it has left out.
    """

    rows: Rows
    files: NDArray[np.int64]
    chunk_stems: StemTable
    file_stems: StemTable
    title_stems: StemTable
    links: LinkTable
    words: Words | None
    dimensions: int
    newly_read: int = 0
    remarks: tuple[str, ...] = ()

    def ordinals(self, rows: Rows) -> NDArray[np.int64]:
        """The ordinals of these rows."""
        found: NDArray[np.int64] = self._sorter[np.searchsorted(self.rows, rows, sorter=self._sorter)]
        return found

    @cached_property
    def scan(self) -> Scan | None:
        """The chunks by the means of their passages; None without a model, and for codes of older cases."""
        if self.words is None or not self.words.same_width:
            return None
        some, vectors = self.words.means(self.dimensions)
        return Scan(self.rows[some], some, vectors)

    @cached_property
    def _sorter(self) -> NDArray[np.int64]:
        return np.argsort(self.rows)


@runtime_checkable
class HeldWords(Protocol):
    """An embedder that holds what a model has read, so that the model need not be here; a case has one."""

    @property
    def name(self) -> str: ...

    @property
    def revision(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def words_read(self, path: str, chunks: Sequence[Chunk]) -> WordsRead:
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

    @property
    def text(self) -> str:
        """The lines of the file, each once."""
        return "\n".join(lines_of(self.chunks).values())

    @property
    def has_runs(self) -> bool:
        """Whether it has long runs of characters without a blank, which the model does not read."""
        return any(has_runs(chunk.text) for chunk in self.chunks)

    @property
    def title(self) -> str:
        """The file's title, and the words of its path."""
        return f"{outline(self.path, self.chunks).title} {_spoken(self.path)}"

    @property
    def links(self) -> list[Link]:
        """What the file's lines say beside its links."""
        return links_in(self.path, lines_of(self.chunks).values())

    def key(self, embedder: LocalEmbedder) -> str:
        """The hash of everything that decides what the model reads of this file."""
        digest = hashlib.sha256(repr((*reading_of(embedder), self.path)).encode())
        for chunk in self.chunks:
            digest.update(repr((chunk.start_line, chunk.text)).encode("utf-8", "surrogatepass"))
        if self.has_runs:  # which an older workbench read, too
            digest.update(b"without runs")
        if begins_with_toml(self.chunks):  # whose title an older workbench did not read
            digest.update(b"TOML title")
        return digest.hexdigest()


def reading_of(embedder: LocalEmbedder | None) -> tuple[str, ...]:
    """What decides how a model reads words, apart from the texts; nothing without a model."""
    if embedder is None:
        return ()
    weights = embedder.revision.partition("/")[0]  # windows do not depend on how long texts are read
    return FORM, embedder.name, f"{weights}/{embedder.variant.name}" if embedder.variant.name else weights


def files_of(index: Index) -> list[IndexedFile]:
    """The files of an index with their chunks, by path."""
    paths = index.paths() or sorted({chunk.path for chunk in index.chunks(np.arange(index.size))})
    rows = [index.rows_of(path) for path in paths]
    return [IndexedFile(path, some, index.chunks(some)) for path, some in zip(paths, rows, strict=True)]


def arrange(index: Index, embedder: WordEmbedder | None, cache: Path) -> Passages:
    """The passages of an index, in memory. With an embedder, files that `cache` does not hold are read."""
    files = files_of(index)
    rows = np.concatenate([np.empty(0, np.int64), *(one.rows for one in files)])
    chunks = [chunk for one in files for chunk in one.chunks]
    order = np.array(sorted(range(len(chunks)), key=lambda number: chunks[number].id), np.int64)
    owners = np.repeat(np.arange(len(files)), [one.rows.size for one in files])
    return Passages(
        rows=rows[order],
        files=owners[order],
        chunk_stems=StemIndex([chunks[number].text for number in order.tolist()]),
        file_stems=StemIndex([one.text for one in files]),
        title_stems=StemIndex([one.title for one in files]),
        links=Links([one.path for one in files], [one.links for one in files]),
        words=None
        if embedder is None
        else WordsRead.joined(_read(files, embedder, cache), embedder.dimensions).as_codes.of(order),
        dimensions=0 if embedder is None else embedder.dimensions,
    )


def _spoken(path: str) -> str:
    """The words of a path, without its suffix."""
    return path.rpartition(".")[0].replace("/", " ").replace("-", " ").replace("_", " ")


def _read(files: Sequence[IndexedFile], embedder: WordEmbedder, path: Path) -> list[WordsRead]:
    if not isinstance(embedder, LocalEmbedder):
        return [embedder.words_read(one.path, one.chunks) for one in files]
    keys = [one.key(embedder) for one in files]
    with closing(_opened(path)) as cache:
        known = {**words_of(keys), **cache.known(keys)}
        unpacked = {key: WordsRead.unpacked(payload) for key, payload in known.items()}
        found = {key: read for key, read in unpacked.items() if read is not None}
        missing = {key: one for key, one in zip(keys, files, strict=True) if key not in found}
        for key, read in newly_read(missing, embedder):
            found[key] = read
            cache.keep(key, read.packed())
        if missing:
            cache.forget_all_but(keys)
    return [found[key] for key in keys]


def _opened(path: Path) -> PassageFile:
    """The file; in memory where no file can be written: a read-only disk can be searched, too."""
    try:
        return PassageFile(path)
    except StorageError:
        return PassageFile(None)


def newly_read(files: Mapping[str, IndexedFile], embedder: LocalEmbedder) -> Iterator[tuple[str, WordsRead]]:
    """What the model reads of each file, by its key."""

    def count(texts: Sequence[str]) -> list[int]:
        return [len(spans) for spans in embedder.offsets(texts)]

    chunks, width = sum(len(one.chunks) for one in files.values()), embedder.dimensions
    coding: list[tuple[str, Future[WordsRead]]] = []
    with progress(max(1, chunks), "reading word by word", "chunks") as done, ThreadPoolExecutor(1) as coder:
        for group in [*_groups(files), []]:  # while a group is coded, the model reads the next one
            cuts = [windows_of(files[key].chunks, files[key].path, count, embedder.window) for key in group]
            texts = [window.embedded for cut in cuts for window in cut]
            read = iter(word_vectors(for_signs(embedder), texts, "passage") if texts else [])
            for key, one in coding:
                yield key, one.result()
                done(len(files[key].chunks))
            coding = [
                (key, coder.submit(_coded, cut, [next(read) for _ in cut], len(files[key].chunks), width))
                for key, cut in zip(group, cuts, strict=True)
            ]


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


def _coded(cut: Sequence[Window], read: Sequence[WordVectors], chunks: int, dimensions: int) -> WordsRead:
    of: list[list[WordVectors]] = [[] for _ in range(chunks)]
    for window, one in zip(cut, read, strict=True):
        of[window.row].append(one)
    nothing = np.empty((0, dimensions), np.float32)
    # Words are pooled over a whole chunk, since its windows share a header.
    words = [pooled(np.concatenate([nothing, *(one.words for one in some)])) for some in of]
    passages = [np.concatenate([nothing, *(one.passages for one in some)]) for some in of]
    return WordsRead(
        np.array([len(one) for one in words], np.int32),
        coded(np.concatenate([nothing, *words])),
        np.array([len(one) for one in passages], np.int32),
        coded_passages(np.concatenate([nothing, *passages])),
    )

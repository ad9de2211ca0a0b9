"""The stems of chunks, files and titles as an inverted index in the file of passages.

A stem's texts are in blocks of 16,384 numbers, one row of a table for each block. So a change of one file
reads and writes a block of each of its stems, and a question reads the blocks of its stems and nothing else.
Chunks are numbered by their rows, files and titles by the file's number in the table `files`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from workbench.records import Floats, Rows
from workbench_plugins.recommended.keywords import Counts, StemTable
from workbench_plugins.recommended.passage_file import PassageFile

READ = "SELECT place, texts, counts FROM postings WHERE place BETWEEN ? AND ? ORDER BY place"
KINDS = CHUNK, FILE, TITLE = 0, 1, 2
KIND_BITS, BLOCK_BITS, OFFSET_BITS = 2, 24, 14
"""A key (the column `place`) has the stem's number, two bits for the kind, 24 for the block of 2^14 texts."""
OFFSETS = (1 << OFFSET_BITS) - 1
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class StemmedFile:
    """The stems of a file's chunks, by their rows, of the whole file, and of its title with its path."""

    rows: Rows
    chunks: Sequence[Counts]
    file: Counts
    title: Counts


class StemWriter:
    """Adds files to the inverted index, and takes files out of it, within a transaction of the caller."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def remove(self, files: Sequence[int]) -> None:
        """Takes files out; a stem that no other file has goes, too."""
        dropped: dict[int, list[int]] = {kind: list(files) for kind in (FILE, TITLE)} | {CHUNK: []}
        keys, terms = set[int](), set[int]()
        for number in files:
            stored_rows = self._db.execute("SELECT rows FROM files WHERE id = ?", (number,)).get
            rows = np.frombuffer(_bytes(stored_rows), np.int64)
            stored = self._db.execute("SELECT terms FROM file_terms WHERE file = ?", (number,)).get
            own = np.frombuffer(_bytes(stored), np.int32).astype(np.int64)
            dropped[CHUNK].extend(rows.tolist())
            terms.update(own.tolist())
            for kind, numbers in ((CHUNK, rows), (FILE, np.array([number])), (TITLE, np.array([number]))):
                for block in np.unique(numbers >> OFFSET_BITS).tolist():
                    keys.update(((own << KIND_BITS | kind) << BLOCK_BITS | block).tolist())
        gone = {kind: np.array(numbers, np.int64) for kind, numbers in dropped.items()}
        self._write((key, *self._without(key, gone)) for key in sorted(keys))
        self._db.executemany("DELETE FROM file_terms WHERE file = ?", [(one,) for one in files])
        self._db.executemany("DELETE FROM files WHERE id = ?", [(one,) for one in files])
        self._db.executemany(
            "DELETE FROM terms WHERE id = ?1 AND NOT EXISTS "
            "(SELECT 1 FROM postings WHERE place BETWEEN ?2 AND ?3)",
            [(term, *_span(term, KINDS)) for term in terms],
        )

    def remove_all(self) -> None:
        """Takes all files out."""
        for table in ("files", "file_terms", "postings", "terms"):
            self._db.execute(f"DELETE FROM {table}")

    def _without(self, key: int, gone: Mapping[int, Numbers]) -> tuple[Numbers, Numbers]:
        numbers, counts = self._block(key)
        left = ~np.isin(numbers, gone[key >> BLOCK_BITS & (1 << KIND_BITS) - 1])
        return numbers[left], counts[left]

    def add(self, files: Mapping[int, StemmedFile]) -> None:
        """Adds files by their numbers, which the index does not have."""
        numbers = self._numbered(files.values())
        parts = [
            (CHUNK, row, counts)
            for one in files.values()
            for row, counts in zip(one.rows, one.chunks, strict=True)
        ]
        for number, one in files.items():
            parts += [(FILE, number, one.file), (TITLE, number, one.title)]
            own = sorted({numbers[stem] for counts in (*one.chunks, one.file, one.title) for stem in counts})
            self._db.execute(
                "INSERT INTO file_terms VALUES (?, ?)", (number, np.array(own, np.int32).tobytes())
            )
        held = np.array([len(counts) for *_, counts in parts], np.int64)
        terms = np.fromiter(
            (numbers[stem] for *_, counts in parts for stem in counts), np.int64, int(held.sum())
        )
        every = np.fromiter(
            chain.from_iterable(counts.values() for *_, counts in parts), np.int64, terms.size
        )
        kinds = np.repeat(np.array([kind for kind, *_ in parts], np.int64), held)
        texts = np.repeat(np.array([text for _, text, _ in parts], np.int64), held)
        keys = (terms << KIND_BITS | kinds) << BLOCK_BITS | texts >> OFFSET_BITS
        order = np.lexsort((texts, keys))
        keys, texts, every = keys[order], texts[order], every[order]
        self._write(self._with_more(keys, texts, every))

    def _numbered(self, files: Iterable[StemmedFile]) -> dict[str, int]:
        """The number of each stem; new ones get one."""
        stems = {stem for one in files for counts in (*one.chunks, one.file, one.title) for stem in counts}
        self._db.executemany(
            "INSERT OR IGNORE INTO terms (term) VALUES (?)", [(stem,) for stem in sorted(stems)]
        )
        find = "SELECT id FROM terms WHERE term = ?"
        return {stem: self._db.execute(find, (stem,)).get for stem in stems}

    def _with_more(
        self, keys: Numbers, texts: Numbers, counts: Numbers
    ) -> Iterator[tuple[int, Numbers, Numbers]]:
        """The blocks of these keys with more texts: both are ordered by key, and then by text."""
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        ends = np.append(first, keys.size)[1:]
        for start, end in zip(first.tolist(), ends.tolist(), strict=True):
            key = int(keys[start])
            numbers, known = self._block(key)
            if not numbers.size:
                yield key, texts[start:end], counts[start:end]
                continue
            both = np.concatenate([numbers, texts[start:end]])
            order = np.argsort(both, kind="stable")
            yield key, both[order], np.concatenate([known, counts[start:end]])[order]

    def _block(self, key: int) -> tuple[Numbers, Numbers]:
        found = self._db.execute("SELECT texts, counts FROM postings WHERE place = ?", (key,)).fetchone()
        return _unpacked(key, *found) if found else (np.empty(0, np.int64), np.empty(0, np.int64))

    def _write(self, blocks: Iterable[tuple[int, Numbers, Numbers]]) -> None:
        for key, numbers, counts in blocks:
            if numbers.size:
                packed = (numbers & OFFSETS).astype(np.uint16).tobytes()
                small = np.uint8 if counts.max() < 256 else np.uint32
                row = key, packed, counts.astype(small).tobytes()
                self._db.execute("INSERT OR REPLACE INTO postings VALUES (?, ?, ?)", row)
            else:
                self._db.execute("DELETE FROM postings WHERE place = ?", (key,))


def _span(term: int, kinds: Sequence[int]) -> tuple[int, int]:
    """The first and the last key of these kinds, which follow one another."""
    first, last = term << KIND_BITS | kinds[0], term << KIND_BITS | kinds[-1]
    return first << BLOCK_BITS, (last + 1 << BLOCK_BITS) - 1


def _bytes(stored: object) -> bytes:
    return stored if isinstance(stored, bytes) else b""


def _unpacked(key: int, texts: bytes, counts: bytes) -> tuple[Numbers, Numbers]:
    """The numbers of a block's texts, and how often each has the stem."""
    offsets = np.frombuffer(texts, np.uint16)
    often = np.frombuffer(counts, np.uint8 if len(counts) == offsets.size else np.uint32)
    block = key & (1 << BLOCK_BITS) - 1
    return offsets.astype(np.int64) + (block << OFFSET_BITS), often.astype(np.int64)


class StoredStems(StemTable):
    """BM25 over the stems of one kind of text, read from the file of passages when a question needs them.

    `ordinals` has the ordinal of each number among the texts, for numbers that have one.
    """

    def __init__(self, file: PassageFile, kind: int, lengths: Floats, ordinals: Numbers) -> None:
        super().__init__(lengths)
        self._file, self._kind, self._ordinals = file, kind, ordinals
        self._known: dict[str, tuple[Numbers, Numbers]] = {}

    def postings(self, stem: str) -> tuple[Numbers, Numbers]:
        if stem not in self._known:
            with self._file.plain_errors():
                self._known[stem] = self._read(stem)
        return self._known[stem]

    def _read(self, stem: str) -> tuple[Numbers, Numbers]:
        db = self._file.db
        term = db.execute("SELECT id FROM terms WHERE term = ?", (stem,)).get
        blocks: list[Any] = []
        if term is not None:
            blocks = db.execute(READ, _span(int(term), (self._kind,))).fetchall()
        parts = [_unpacked(*one) for one in blocks]
        numbers = np.concatenate([np.empty(0, np.int64), *(one for one, _ in parts)])
        counts = np.concatenate([np.empty(0, np.int64), *(one for _, one in parts)])
        ordinals = self._ordinals[numbers]
        order = np.argsort(ordinals)
        return ordinals[order], counts[order]

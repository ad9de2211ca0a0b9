"""The lists of frequent words in an index file: which chunks have a word, and how often each has it.

FTS5 gives the same, an instance at a time; a list is two blobs, which NumPy reads at once. The lists are in
two parts: the first has the chunks of the time when all lists were made, the second those that were stored
since. They count while they are of the present generation of the index. For all other words, and at all other
times, FTS5 is asked.

The rows of a word are a bit for each row of its part, or 16 bits for each row of the word, whichever is
shorter. Its counts are a byte for each of these rows, or four if one of them is above 255, or nothing if all
are 1.
"""

from __future__ import annotations

from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from workbench.memory.store.postings import Counts, Having, NoPostingsError
from workbench.records import Rows

TABLES = {
    "word_rows": "CREATE TABLE word_rows (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "word_lists": (
        "CREATE TABLE word_lists (part INTEGER, term TEXT, chunks INTEGER, rows BLOB, counts BLOB, "
        "PRIMARY KEY (part, term))"
    ),
}
"""WITHOUT ROWID would put lists on inner pages of the tree, too, and a word would take twice the pages."""
FIRST, SECOND = 0, 1
ROWS, TEXTS, GONE, RECENT = "rows", "texts", "gone", "recent"
"""In `word_rows`: rows and texts of the first part, those of them that are gone, and rows of the second."""
SET_GENERATION = (
    "INSERT OR REPLACE INTO main.meta SELECT 'words', value FROM main.meta WHERE key = 'generation'"
)
GENERATION = """
    SELECT now.value FROM main.meta AS now JOIN main.meta AS listed USING (value)
    WHERE now.key = 'generation' AND listed.key = 'words'
"""
"""The generation that the lists are of, if that is the present one."""
FIND = """
    SELECT part, chunks, rows, counts FROM main.word_lists WHERE part IN (0, 1) AND term = ? ORDER BY part
"""
BLOCK_BITS = 16
WRONG_LISTS = "the lists of words are not as they were written"


def size_of(rows: Rows) -> int:
    """One more than the largest of ascending rows."""
    return int(rows[-1]) + 1 if rows.size else 0


def packed(having: Having, size: int) -> tuple[int, bytes, bytes]:
    """A list of rows below `size`: how many they are, and its two blobs."""
    rows, counts = having
    if _has_bits(rows.size, size):
        bits = np.zeros(size, bool)
        bits[rows] = True
        first = np.packbits(bits).tobytes()
    else:
        in_block = np.bincount(rows >> BLOCK_BITS, minlength=_blocks(size)).astype(np.uint32)
        first = in_block.tobytes() + rows.astype(np.uint16).tobytes()  # the lower bits alone
    most = counts.max(initial=1)
    second = b"" if most == 1 else counts.astype(np.uint8 if most < 256 else np.uint32).tobytes()
    return rows.size, first, second


def unpacked(chunks: int, rows: bytes, counts: bytes, size: int) -> Having:
    """The rows and counts of a list. Raises ValueError for blobs that do not fit together."""
    if _has_bits(chunks, size):
        bits = np.unpackbits(np.frombuffer(rows, np.uint8), count=size)
        found = np.flatnonzero(bits.view(bool))  # in a quarter of the time that numbers take
    else:
        blocks = _blocks(size)
        in_block = np.frombuffer(rows, np.uint32, blocks)
        lower = np.frombuffer(rows, np.uint16, offset=in_block.nbytes)
        found = np.repeat(np.arange(blocks) << BLOCK_BITS, in_block) + lower.astype(np.intp)
        if (found[1:] <= found[:-1]).any() or found[-1] >= size:
            raise ValueError(WRONG_LISTS)
    kind = np.uint8 if len(counts) == chunks else np.uint32
    often: Counts = np.frombuffer(counts, kind) if counts else np.ones(chunks, kind)
    if not found.size == often.size == chunks:
        raise ValueError(WRONG_LISTS)
    return Having(found, often)


def _has_bits(chunks: int, size: int) -> bool:
    """Whether a bit for each row of the part is shorter than 16 bits for each row of the word."""
    return (size + 7) // 8 <= 2 * chunks + 4 * _blocks(size)


def _blocks(size: int) -> int:
    return (size >> BLOCK_BITS) + 1


def has_tables(db: apsw.Connection) -> bool:
    """Whether the file has the two tables as they are made here."""
    found = db.execute("SELECT name, sql FROM main.sqlite_schema WHERE name IN ('word_rows', 'word_lists')")
    return dict(found) == TABLES


def are_listed(db: apsw.Connection) -> bool:
    """Whether the file has lists, and they are of its present generation."""
    return has_tables(db) and db.execute(GENERATION).get is not None


def stored(db: apsw.Connection, name: str) -> bytes:
    """What is kept in `word_rows` under a name; empty for a name that is not there."""
    found: bytes | None = db.execute("SELECT value FROM main.word_rows WHERE name = ?", (name,)).get
    return found or b""


def stored_rows(db: apsw.Connection, name: str) -> Rows:
    """Rows that are kept in `word_rows`. Raises TypeError or ValueError for what is none."""
    return np.frombuffer(stored(db, name), np.int64)


class WordLists:
    """The lists of one index file, in the state in which it is read."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._generation: object = None
        self._sizes = {FIRST: 0, SECOND: 0}
        self._kept: NDArray[np.bool_] | None = None
        """For each row of the first part, whether it still counts; None for all."""

    def of(self, term: str) -> Having | None:
        """The rows that contain a term; None for a term that FTS5 must be asked about.

        Raises NoPostingsError for lists that are not as they were written.
        """
        try:
            if not self._are_current():
                return None
            listed: list[Any] = self._db.execute(FIND, (term,)).fetchall()
            parts = {
                part: unpacked(chunks, rows, counts, self._sizes[part])
                for part, chunks, rows, counts in listed
            }
            if FIRST not in parts:
                return None
            first = self._still_counting(parts[FIRST])
        except (ValueError, TypeError, IndexError, MemoryError, OverflowError):
            raise NoPostingsError(WRONG_LISTS) from None
        return _joined(first, parts[SECOND]) if SECOND in parts else first

    def _are_current(self) -> bool:
        generation = self._db.execute(GENERATION).get
        if generation is not None and generation != self._generation:
            self._read()
            self._generation = generation
        return generation is not None

    def _read(self) -> None:
        if not has_tables(self._db):
            raise ValueError(WRONG_LISTS)
        rows, recent = stored_rows(self._db, ROWS), stored_rows(self._db, RECENT)
        gone = stored_rows(self._db, GONE)
        self._sizes = {FIRST: size_of(rows), SECOND: size_of(recent)}
        self._kept = None
        if gone.size:
            self._kept = np.ones(size_of(rows), bool)
            self._kept[gone] = False

    def _still_counting(self, first: Having) -> Having:
        if self._kept is None:
            return first
        kept = self._kept[first.rows]
        return Having(first.rows[kept], first.counts[kept])


def _joined(first: Having, second: Having) -> Having:
    rows = np.concatenate([first.rows, second.rows])
    order = np.argsort(rows)  # a new chunk can have a row that was free
    return Having(rows[order], np.concatenate([first.counts, second.counts])[order])

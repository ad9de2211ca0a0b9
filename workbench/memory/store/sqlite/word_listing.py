"""Makes the lists of frequent words in an index file, and brings them up to date after a change.

What has changed is read from the index: a row of the first part counts as long as it has the text with which
it was listed. So the lists are right whoever has written the index, and after any interruption.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from workbench.memory.guard import LONGEST_VALUE
from workbench.memory.store.postings import Having
from workbench.memory.store.sqlite.fts5 import SQLitePostings
from workbench.memory.store.sqlite.word_lists import (
    FIRST,
    GONE,
    RECENT,
    ROWS,
    SECOND,
    SET_GENERATION,
    TABLES,
    TEXTS,
    has_tables,
    packed,
    size_of,
    stored,
    stored_rows,
)
from workbench.records import Rows

LEAST_CHUNKS = 8
"""A list is read in less time than FTS5 gives a word, which pays from a few chunks on."""
MOST_ROWS = LONGEST_VALUE // 16
"""An index with a larger row has no lists: 16 bytes for each row are one value of the file."""
LARGEST_SHARE, LEAST_CHANGED = 0.02, 500
"""All lists are made anew when so large a share of the rows has changed since, and at least so many."""
TEXT_HASH = "S16"
"""The number of characters of a text's hash that are kept to see whether the text has changed."""
INSERT = "INSERT INTO main.word_lists VALUES (?, ?, ?, ?, ?)"
SET_ROWS = "INSERT OR REPLACE INTO main.word_rows VALUES (?, ?)"
TEXTS_OF = "SELECT id, text FROM main.chunks WHERE id IN (SELECT value FROM json_each(?))"


class Listed(NamedTuple):
    """The rows of chunks, ascending, and the beginning of the hash of each one's text."""

    rows: Rows
    texts: NDArray[np.bytes_]


NOTHING = Listed(np.empty(0, np.int64), np.empty(0, TEXT_HASH))


def update_lists(db: apsw.Connection, postings: SQLitePostings) -> None:
    """Makes the lists those of the present chunks, within a transaction of the caller."""
    if not has_tables(db):
        for name, sql in TABLES.items():
            db.execute(f"DROP TABLE IF EXISTS main.{name}")
            db.execute(sql)
    now = _chunks(db)
    if size_of(now.rows) > MOST_ROWS:
        return
    listed = _listed(db)
    gone, recent = differences(listed, now)
    if not listed.rows.size or gone.size + recent.size > max(LEAST_CHANGED, LARGEST_SHARE * listed.rows.size):
        _make(db, postings, now)
    else:
        _add(db, postings, gone, recent)
    db.execute(SET_GENERATION)


def _chunks(db: apsw.Connection) -> Listed:
    found = db.execute("SELECT id, hash FROM main.chunks").fetchall()  # from the index by hash alone
    rows = np.array([row for row, _ in found], np.int64)
    texts = np.array([str(hash_).encode() for _, hash_ in found], TEXT_HASH)
    order = np.argsort(rows)
    return Listed(rows[order], texts[order])


def _listed(db: apsw.Connection) -> Listed:
    """What the first part lists; nothing if that is not as it was written."""
    try:
        found = Listed(stored_rows(db, ROWS), np.frombuffer(stored(db, TEXTS), TEXT_HASH))
    except (TypeError, ValueError):
        found = NOTHING
    return found if found.rows.size == found.texts.size else NOTHING


def differences(listed: Listed, now: Listed) -> tuple[Rows, Rows]:
    """The listed rows that are gone or have another text, and the present rows that are not listed so."""
    places = np.searchsorted(now.rows, listed.rows)
    same = places < now.rows.size
    same[same] = now.rows[places[same]] == listed.rows[same]
    same[same] = now.texts[places[same]] == listed.texts[same]
    new = np.ones(now.rows.size, bool)
    new[places[same]] = False
    return listed.rows[~same], now.rows[new]


def _make(db: apsw.Connection, postings: SQLitePostings, now: Listed) -> None:
    """Lists every frequent word anew, from FTS5's postings."""
    every, size = postings.every_having(LEAST_CHUNKS), size_of(now.rows)
    db.execute("DELETE FROM main.word_lists")
    db.executemany(INSERT, ((FIRST, term, *packed(having, size)) for term, having in every))
    _set_rows(db, {ROWS: now.rows, GONE: now.rows[:0], RECENT: now.rows[:0]})
    db.execute(SET_ROWS, (TEXTS, now.texts.tobytes()))


def _add(db: apsw.Connection, postings: SQLitePostings, gone: Rows, recent: Rows) -> None:
    """Lists the words of the rows that the first part has not: those words that it lists."""
    db.execute("DELETE FROM main.word_lists WHERE part = ?", (SECOND,))
    known = {term for (term,) in db.execute("SELECT term FROM main.word_lists WHERE part = ?", (FIRST,))}
    found = defaultdict[str, list[tuple[int, int]]](list)
    for row, text in sorted(db.execute(TEXTS_OF, (json.dumps(recent.tolist()),))):
        for term, count in Counter(postings.tokens_of_chunk(text)).items():
            if term in known:
                found[term].append((row, count))
    size = size_of(recent)
    lists = (
        (SECOND, term, *packed(Having(*np.array(pairs).T), size)) for term, pairs in sorted(found.items())
    )
    db.executemany(INSERT, lists)
    _set_rows(db, {GONE: gone, RECENT: recent})


def _set_rows(db: apsw.Connection, named: dict[str, Rows]) -> None:
    db.executemany(SET_ROWS, [(name, rows.astype(np.int64).tobytes()) for name, rows in named.items()])

"""The file beside an index that has what `recommended` reads of it, so that a search need not read all texts.

It is an SQLite file whose pages have checksums. It holds what the model has read of each file by the hash of
its text, the stems of chunks, files and titles as an inverted index, what is said beside links, and a mean
vector for each chunk. It can be deleted at any time: it is made anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import apsw

from workbench.errors import StorageError
from workbench.memory.guard import WRONG
from workbench.memory.store.contract import DamagedError, damaged
from workbench.memory.store.sqlite.database import (
    connect_empty,
    connect_existing,
    connect_new,
    wrong_checksum,
)

VERSION = 3
SCHEMA = f"""
CREATE TABLE passages (key TEXT PRIMARY KEY, payload BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, hash TEXT NOT NULL, key TEXT NOT NULL,
    rows BLOB NOT NULL, chunk_ids TEXT NOT NULL,
    chunk_lengths BLOB NOT NULL, file_length INTEGER NOT NULL, title_length INTEGER NOT NULL
);
CREATE TABLE links (
    target TEXT NOT NULL, file INTEGER NOT NULL, stems TEXT NOT NULL, PRIMARY KEY (target, file, stems)
) WITHOUT ROWID;
CREATE TABLE file_terms (file INTEGER PRIMARY KEY, terms BLOB NOT NULL);
CREATE TABLE means (file INTEGER PRIMARY KEY, has BLOB NOT NULL, vectors BLOB NOT NULL);
CREATE TABLE terms (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE);
CREATE TABLE postings (place INTEGER PRIMARY KEY, texts BLOB NOT NULL, counts BLOB NOT NULL);
PRAGMA user_version = {VERSION};
"""
OLD_PASSAGES = "SELECT key, payload FROM passages"
"""What a file of an older version has, too."""


DELETE = "Delete it: the next search makes it anew."
"""The remedy for a file whose checksums fit: a rebuild of the index would keep it."""


class DamagedPassagesError(StorageError):
    """A file of passages does not hold what was written into it."""


class PassageFile:
    """An open file of passages, or one in memory. Raises StorageError when it cannot be read or written."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        with self.plain_errors():
            if path is None:
                self.db = connect_empty()
                self.db.execute(SCHEMA)
            elif not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                self.db = _created(path, [])
            else:
                self.db = connect_existing(path)
                if self.db.pragma("user_version") != VERSION:
                    self._replace_older(path)
                elif _schema(self.db) != _own_schema():
                    self.db.close()
                    raise damaged(path, "it has other tables than were written")

    def _replace_older(self, path: Path) -> None:
        """Makes the file anew; what an older workbench has kept of the model's reading stays."""
        tables = {name for (name,) in self.db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        kept: list[Any] = self.db.execute(OLD_PASSAGES).fetchall() if "passages" in tables else []
        self.db.close()
        _replace(path, kept)
        self.db = connect_existing(path)

    @contextmanager
    def plain_errors(self) -> Iterator[None]:
        """Turns SQLite's errors inside the block into a StorageError that names the file and the remedy."""
        try:
            yield
        except DamagedPassagesError:
            raise
        except (apsw.CorruptError, apsw.NotADBError, apsw.IOError, DamagedError) as error:
            if isinstance(error, apsw.IOError) and not wrong_checksum(error):
                raise self._unusable(error) from error
            raise self.damaged("Make it anew: workbench index FOLDER --rebuild") from error
        except apsw.TooBigError as error:
            raise self.damaged() from error
        except (apsw.Error, OSError, StorageError) as error:
            raise self._unusable(error) from error
        except WRONG as error:  # the file comes from elsewhere, and has other values than are written here
            raise self.damaged() from error

    def damaged(self, remedy: str = DELETE) -> DamagedPassagesError:
        """The error for a file with other bytes than were written."""
        return DamagedPassagesError(
            f"The file of word vectors {self.path} is damaged: it has other bytes than were written.", remedy
        )

    def _unusable(self, error: Exception) -> StorageError:
        return StorageError(
            f"The file of word vectors {self.path} cannot be used: {getattr(error, 'problem', error)}.",
            "Free some space or fix its permissions. It can be deleted at any time: it is made anew.",
        )

    # What the model has read, by the hash of what it was read from

    def known(self, keys: Iterable[str]) -> dict[str, bytes]:
        """The payloads of these keys, without those that are not there."""
        with self.plain_errors():
            found = (
                (key, self.db.execute("SELECT payload FROM passages WHERE key = ?", (key,)).get)
                for key in keys
            )
            return {key: payload for key, payload in found if payload is not None}

    def keep(self, key: str, payload: bytes) -> None:
        """Adds a payload."""
        with self.plain_errors():
            self.db.execute("INSERT OR REPLACE INTO passages VALUES (?, ?)", (key, payload))

    def forget_all_but(self, keys: Iterable[str]) -> None:
        """Removes the payloads of all other keys, so that nothing of a deleted file is left."""
        wanted = set(keys)
        with self.plain_errors(), self.db:
            there = [key for (key,) in self.db.execute("SELECT key FROM passages")]
            gone = [(key,) for key in there if key not in wanted]
            self.db.executemany("DELETE FROM passages WHERE key = ?", gone)

    # What the file says of itself

    def state(self, key: str) -> str:
        """One value of the table state; empty when it has none."""
        found = self.db.execute("SELECT value FROM state WHERE key = ?", (key,)).get
        return "" if found is None else str(found)

    def check(self) -> None:
        """Reads every page. Raises DamagedPassagesError for one that is not as it was written."""
        with self.plain_errors():
            self.db.execute("PRAGMA quick_check").fetchall()

    def set_state(self, key: str, value: str) -> None:
        """Writes one value of the table state."""
        self.db.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (key, value))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, begun so that no other process can write in it; kept whole or not at all."""
        with self.plain_errors():
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.db.execute("COMMIT")
            except BaseException:
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Closes the file."""
        self.db.close()


def _schema(db: apsw.Connection) -> list[tuple[Any, ...]]:
    return sorted(db.execute("SELECT type, name, ifnull(sql, '') FROM sqlite_schema"))


@cache
def _own_schema() -> list[tuple[Any, ...]]:
    """The tables of such a file; another one could have a view, which runs a query whenever it is read."""
    db = connect_empty()
    try:
        db.execute(SCHEMA)
        return _schema(db)
    finally:
        db.close()


def made_anew(path: Path) -> None:
    """Replaces a damaged file by a new one with what can still be read of the model's reading."""
    kept = dict[str, bytes]()
    with suppress(StorageError), closing(PassageFile(path)) as old, old.plain_errors():
        for (key,) in old.db.execute("SELECT key FROM passages").fetchall():
            with suppress(StorageError):
                kept.update(old.known([str(key)]))
    _replace(path, kept.items())


def _created(path: Path, kept: Iterable[tuple[str, bytes]]) -> apsw.Connection:
    """A connection to a new file with these payloads of what the model has read."""
    db = connect_new(path)
    with db:
        db.execute(SCHEMA)
        db.executemany("INSERT INTO passages VALUES (?, ?)", kept)
    return db


def _replace(path: Path, kept: Iterable[tuple[str, bytes]]) -> None:
    """Puts a new file with these payloads into the place of the one at `path`, which stays if that fails."""
    new = path.with_name(f"{path.name}.new")
    _remove(new, "", *BESIDE)
    try:
        _created(new, kept).close()
        _remove(path, *BESIDE)
        new.replace(path)
    finally:
        _remove(new, "", *BESIDE)


BESIDE = ("-wal", "-shm")
"""The ends of the files that SQLite puts beside a database."""


def _remove(path: Path, *ends: str) -> None:
    """Deletes the files of this path with these ends."""
    for end in ends:
        path.with_name(path.name + end).unlink(missing_ok=True)

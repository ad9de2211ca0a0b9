"""Keeps what was computed of a file's windows, by the hash of everything that it was computed from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import apsw

from workbench.errors import StorageError

VERSION = 1


class PassageCache:
    """A file of blobs by key. It holds numbers, no text, and it can be deleted at any time.

    Raises StorageError when the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with _plainly(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = apsw.Connection(str(path))
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def _plainly(path: Path) -> Iterator[None]:
    try:
        yield
    except (apsw.Error, OSError) as error:
        raise StorageError(
            f"The file of word vectors {path} cannot be used: {error}.",
            "Free some space or fix its permissions; if it is damaged, delete it: it is made anew.",
        ) from error

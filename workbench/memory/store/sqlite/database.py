"""Connections to index files, and SQLite's errors as messages with a remedy.

The adapter is apsw, whose SQLite is current, has FTS5 and loads extensions.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Self

import apsw
import sqlite_vec

from workbench.errors import InputError, WorkbenchError
from workbench.memory.store.errors import (
    DamagedError,
    DiskFullError,
    LockedError,
    UnwritableError,
    disk_is_full,
)

BUSY_SECONDS = 10
"""How long a statement waits for another process that is writing."""

PAGE_BYTES = 8192
"""The page size of a new file. A cached vector of 384 numbers fits a page of this size.

With SQLite's 4,096 bytes each cached vector takes an overflow page of its own: 4.7 KB instead of 2.1 KB.
"""

CACHE_KB = 32_768
"""The most memory that a connection keeps pages in. SQLite's 2 MB hold too little of the indexes by hash."""


@contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """Turns SQLite's errors inside the block into a StorageError that names the index and the remedy."""
    try:
        yield
    except apsw.FullError:
        raise DiskFullError(path) from None
    except apsw.BusyError:
        raise LockedError(
            f"The index {path} is locked: another process has been writing it for more than "
            f"{BUSY_SECONDS} s.",
            "Try again when that process is done.",
        ) from None
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise DamagedError(
            f"The index {path} is damaged: {error}.", "Build it again: workbench index FOLDER --rebuild"
        ) from None
    except UnicodeDecodeError as error:
        raise DamagedError(
            f"The index {path} is damaged: a text is not UTF-8: {error}.",
            "Build it again: workbench index FOLDER --rebuild",
        ) from None
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError, apsw.PermissionsError) as error:
        if disk_is_full(path):
            raise DiskFullError(path) from None
        raise UnwritableError(
            f"The index {path} cannot be opened or written: {error}.",
            "Check its disk and its permissions, or choose another place with --index FILE.",
        ) from None


Identity = tuple[int, int]


def identity(path: Path) -> Identity | None:
    """Which file a path leads to at this moment, links followed; None when it leads to no plain file."""
    try:
        info = path.stat()
    except OSError:
        return None
    return (info.st_dev, info.st_ino) if stat.S_ISREG(info.st_mode) else None


def connect_new(path: Path) -> apsw.Connection:
    """A connection to a new database in WAL mode. Raises InputError for a place that cannot be written."""
    db = _connect(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    with plain_errors(path):
        db.pragma("page_size", PAGE_BYTES)
        db.pragma("journal_mode", "wal")
        spare_the_disk(db)
    return db


def connect_existing(path: Path) -> apsw.Connection:
    """A connection to an existing database: read-only where it, or its folder, cannot be written.

    To read a WAL database takes a -shm file beside it. Where none can be made, for want of permission or of
    room, a database without a -wal is read as one that nobody changes; open it anew for every few reads.
    """
    real = path.resolve()
    may_write = os.access(real, os.W_OK) and os.access(real.parent, os.W_OK)
    if may_write or _has_wal(real):
        db = _connect(path, apsw.SQLITE_OPEN_READWRITE if may_write else apsw.SQLITE_OPEN_READONLY)
        if _can_be_read(db) or _has_wal(real):
            return db
        db.close()
    frozen = f"{real.as_uri()}?immutable=1"
    return _connect(path, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI, frozen)


def image(path: Path) -> bytes:
    """The bytes of a database file, with what its -wal file holds."""
    with plain_errors(path):
        db = connect_existing(path)
        try:
            return bytes(db.serialize("main"))
        finally:
            db.close()


def _has_wal(real: Path) -> bool:
    try:
        return real.with_name(f"{real.name}-wal").stat().st_size > 0
    except OSError:
        return False


def _can_be_read(db: apsw.Connection) -> bool:
    try:
        db.pragma("user_version")
    except (apsw.IOError, apsw.CantOpenError, apsw.FullError):
        return False
    except apsw.Error:
        return True  # no database at all, which is another matter
    return True


def _connect(path: Path, flags: int, name: str | None = None) -> apsw.Connection:
    with plain_errors(path):
        db = apsw.Connection(name or str(path), flags=flags)
        db.set_busy_timeout(BUSY_SECONDS * 1000)
        db.enable_load_extension(True)
        db.load_extension(sqlite_vec.loadable_path())
        db.enable_load_extension(False)
        db.pragma("trusted_schema", False)  # an index file may come from elsewhere
        return db


def spare_the_disk(db: apsw.Connection) -> None:
    """Waits for the disk at checkpoints alone, and keeps pages that have been read.

    A power failure may cost the last files that were stored; the next sync stores them again.
    """
    db.pragma("synchronous", "normal")
    db.pragma("cache_size", -CACHE_KB)


class Database:
    """An open database, for one thread at a time; `seen` is the file that its path led to."""

    def __init__(self, path: Path, db: apsw.Connection, seen: Identity | None = None) -> None:
        self.path = path
        self.db = db
        self._seen = seen
        self._reading = False

    @classmethod
    def open(cls, path: Path, any_version: bool = False) -> Self:
        """The database at `path`. Raises InputError when there is none, or when `check` refuses it."""
        while True:
            seen = identity(path)
            if seen is None:
                raise InputError(f"There is no index at {path}.", "Make one: workbench index FOLDER")
            try:
                opened = cls._opened(path, seen, any_version)
            except WorkbenchError:
                if identity(path) == seen:
                    raise
            else:
                if identity(path) == seen:
                    return opened
                opened.close()  # replaced between the look and the first read: its -wal may be gone

    @classmethod
    def _opened(cls, path: Path, seen: Identity, any_version: bool) -> Self:
        opened = cls(path, connect_existing(path), seen)
        try:
            with plain_errors(path):
                opened.check(any_version)
                spare_the_disk(opened.db)
        except WorkbenchError:
            opened.close()
            raise
        return opened

    def check(self, any_version: bool) -> None:
        """Reads enough to know the file. Raises InputError for one of another kind, or of another version."""

    def close(self) -> None:
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def version(self) -> int:
        """How many schema steps this file has taken."""
        return int(self.db.pragma("user_version"))

    @property
    def writable(self) -> bool:
        return not self.db.readonly("main")

    @property
    def replaced(self) -> bool:
        """Whether the path leads to another file now than when it was opened: it has been made anew."""
        return identity(self.path) not in (self._seen, None)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, all of it or nothing; within another it is a part of that.

        Raises InputError, and nothing is changed, when there is no room or the file cannot be written.
        """
        if self._reading:
            raise RuntimeError("What is written while one state is read would be lost.")
        if self.db.in_transaction:
            yield
            return
        with plain_errors(self.path):
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.db.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One state of the database for all that is asked within, whatever others write meanwhile."""
        with plain_errors(self.path):
            self.db.execute("BEGIN")
            self._reading = True
            try:
                self.db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()  # this fixes the state
                yield
            finally:
                self._reading = False
                self._roll_back()

    def time_limit(self, seconds: float) -> AbstractContextManager[None]:
        """`stopped_after` for this database."""
        return stopped_after(seconds, lambda: self.db)

    def _roll_back(self) -> None:
        if self.db.in_transaction:  # what a full disk has stopped, SQLite itself has rolled back
            self.db.execute("ROLLBACK")

    def settle(self) -> None:
        """Everything written is on the disk, in the file itself."""
        with plain_errors(self.path):
            self.db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def connect_empty() -> apsw.Connection:
    """A connection to an empty database in memory."""
    return _connect(Path(":memory:"), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)


def libraries() -> Mapping[str, Any]:
    """The versions of SQLite and sqlite-vec that the index runs on."""
    db = connect_empty()
    return {"sqlite": apsw.sqlite_lib_version(), "sqlite-vec": db.execute("SELECT vec_version()").get}


@contextmanager
def stopped_after(seconds: float, connection: Callable[[], apsw.Connection]) -> Iterator[None]:
    """Interrupts the statement that runs after so many seconds, and raises InputError then.

    A question of 1,000 common words takes SQLite minutes in an index of 20,000 chunks.
    """
    lock, is_over = threading.Lock(), False

    def interrupt() -> None:
        with lock:
            if not is_over:
                connection().interrupt()

    timer = threading.Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    except apsw.InterruptError:
        raise InputError(
            f"The search was stopped after {seconds:g} s.", "Ask with fewer words, or with rarer ones."
        ) from None
    finally:
        timer.cancel()
        with lock:
            is_over = True

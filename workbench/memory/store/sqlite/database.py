"""The SQLite file of an index: its schema, connections to it, and SQLite's errors as messages with a remedy.

The adapter is apsw, whose SQLite is current, has FTS5 and loads extensions. A file may come from elsewhere,
so its tables and values are checked.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import apsw
import apsw.sqlite_extra
import sqlite_vec

from workbench.errors import InputError
from workbench.memory.files import open_named
from workbench.memory.guard import LONGEST_VALUE, check_plain
from workbench.memory.store.contract import (
    DiskFullError,
    LockedError,
    Settings,
    UnwritableError,
    damaged,
    disk_is_full,
)

APPLICATION_ID = 0x77626878
"""The `PRAGMA application_id` of an index file: the letters wbhx."""


VERSION = 2
"""The `PRAGMA user_version` of an index file that is made now: each page ends with its checksum."""
WITHOUT_CHECKSUMS = 1
"""The version of an older file with the same tables. It is read, and a rebuild adds the checksums."""
CHECKSUM_BYTES = 8
"""What the checksum takes of each page."""
WRONG_CHECKSUM = "the checksum of a page does not fit its bytes"

SCHEMA = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")


PLACES = "CREATE INDEX documents_places ON documents (id, path, source)"
"""Where each document is, without its text, which fills a page. An older index file lacks it."""


def create(db: apsw.Connection, dimensions: int) -> None:
    """Creates an empty index for vectors of that many dimensions, in a database without tables."""
    db.execute(SCHEMA.format(dimensions=dimensions))
    db.execute(PLACES)
    db.pragma("application_id", APPLICATION_ID)
    db.pragma("user_version", VERSION)


BUSY_SECONDS = 10
"""How long a statement waits for another process that is writing."""

PAGE_BYTES = 8192
"""The page size of a new file. A cached vector of 384 numbers fits a page of this size.

With SQLite's 4,096 bytes each cached vector takes an overflow page of its own: 4.7 KB instead of 2.1 KB.
"""

CACHE_KB = 32_768
"""The most memory that a connection keeps pages in. SQLite's 2 MB hold too little of the indexes by hash."""


VECTORS_UNREADABLE = ("Could not fetch vector data", "Internal sqlite-vec error")
"""How sqlite-vec 0.1.9 begins the message about a page that it cannot read."""


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
    except (apsw.CorruptError, apsw.NotADBError, apsw.ConstraintError) as error:
        raise damaged(path, str(error)) from None
    except apsw.SQLError as error:
        if not str(error).startswith(VECTORS_UNREADABLE):
            raise
        raise damaged(path, f"its vectors cannot be read: {error}") from None
    except apsw.TooBigError:
        raise damaged(path, f"a value has more than {LONGEST_VALUE / 1e6:.0f} MB") from None
    except UnicodeDecodeError as error:
        raise damaged(path, f"a text is not UTF-8: {error}") from None
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError, apsw.PermissionsError) as error:
        if wrong_checksum(error):
            raise damaged(path, WRONG_CHECKSUM) from None
        if disk_is_full(path):
            raise DiskFullError(path) from None
        raise UnwritableError(
            f"The index {path} cannot be opened or written: {error}.",
            "Check its disk and its permissions, or choose another place with --index FILE.",
        ) from None


def wrong_checksum(error: apsw.Error) -> bool:
    """Whether a page that was read is not the page that was written."""
    return getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA


def is_marked(path: Path) -> bool:
    """Whether the bytes of a file say that it is an index, also where SQLite cannot read them."""
    with open_named(path) as file:
        return file.read(72)[68:] == APPLICATION_ID.to_bytes(4, "big")


def has_lost_checksums(db: apsw.Connection) -> bool:
    """Whether an index file of this version says that its pages have no checksums."""
    ours = (db.pragma("application_id"), db.pragma("user_version")) == (APPLICATION_ID, VERSION)
    return ours and db.reserve_bytes("main") != CHECKSUM_BYTES


def has_a_wrong_page(db: apsw.Connection) -> bool:
    """Whether a page is not the one that was written; False in memory, and for a file without checksums."""
    try:
        if has_lost_checksums(db):
            return True
        if not db.filename or db.reserve_bytes("main") != CHECKSUM_BYTES:
            return False
        size = db.pragma("page_size")
        for page in range(db.pragma("page_count")):
            db.read("main", 0, page * size, size)  # the file layer checks what it reads
    except apsw.IOError as error:
        if not wrong_checksum(error):
            raise
        return True
    return False


@cache
def checksum_vfs() -> str:
    """The name of the file layer that writes and checks the checksums of pages; it is loaded once.

    A file without checksums is read and written as ever. Source: SQLite, ext/misc/cksumvfs.c.
    """
    try:
        extension = apsw.sqlite_extra.path("cksumvfs")
    except apsw.sqlite_extra.NotAvailable:
        raise InputError(
            "This build of apsw lacks SQLite's extension cksumvfs, which checks an index file for damage.",
            "Install apsw from PyPI: pip install --only-binary apsw apsw",
        ) from None
    db = apsw.Connection(":memory:")
    db.enable_load_extension(True)
    db.load_extension(str(extension))
    db.close()
    return "cksmvfs"


Identity = tuple[int, int]


def identity(path: Path) -> Identity | None:
    """Which file a path leads to at this moment, links followed; None when it leads to no plain file."""
    try:
        info = path.stat()
    except OSError:
        return None
    return (info.st_dev, info.st_ino) if stat.S_ISREG(info.st_mode) else None


def connect_new(path: Path) -> apsw.Connection:
    """A connection to a new database in WAL mode. Raises InputError for a path that cannot be written."""
    db = _connect(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    with plain_errors(path):
        db.pragma("page_size", PAGE_BYTES)
        db.reserve_bytes("main", CHECKSUM_BYTES)
        db.pragma("journal_mode", "wal")
        spare_the_disk(db)
    return db


def copy(source: Path, target: Path) -> None:
    """Copies one state of a database, with what is still in its -wal file, to a new file."""
    old, new = connect_existing(source), connect_new(target)
    try:
        with plain_errors(source), new.backup("main", old, "main") as backup:
            backup.step()
    finally:
        new.close()
        old.close()


def connect_existing(path: Path) -> apsw.Connection:
    """A connection to an existing database: read-only where it, or its folder, cannot be written.

    To read a WAL database takes a -shm file beside it. Where none can be made, for want of permission or of
    room, a database without a -wal is read as one that nobody changes; open it anew for every few reads.
    """
    check_beside(path)
    real = path.resolve()
    may_write = os.access(real, os.W_OK) and os.access(real.parent, os.W_OK)
    if may_write or has_wal(real):
        db = _connect(path, apsw.SQLITE_OPEN_READWRITE if may_write else apsw.SQLITE_OPEN_READONLY)
        if can_be_read(db) or has_wal(real):
            return db
        db.close()
    frozen = f"{real.as_uri()}?immutable=1"
    return _connect(path, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI, frozen)


def check_beside(path: Path) -> None:
    """Raises DamagedError for anything but plain files beside a database: SQLite would wait for a pipe."""
    try:
        check_plain(path)
    except ValueError as error:
        raise damaged(path, str(error)) from None


def has_wal(real: Path) -> bool:
    """Whether changes of a database are in its -wal file and perhaps not in the database itself."""
    try:
        return real.with_name(f"{real.name}-wal").stat().st_size > 0
    except OSError:
        return False


def can_be_read(db: apsw.Connection) -> bool:
    """Whether SQLite can make or open what it needs beside a database in WAL mode."""
    try:
        db.pragma("user_version")
    except (apsw.IOError, apsw.CantOpenError, apsw.FullError) as error:
        return wrong_checksum(error)
    except apsw.Error:
        return True  # no database at all, which is another matter
    return True


def _connect(path: Path, flags: int, name: str | None = None) -> apsw.Connection:
    with plain_errors(path):
        db = apsw.Connection(name or str(path), flags=flags, vfs=checksum_vfs())
        db.set_busy_timeout(BUSY_SECONDS * 1000)
        db.enable_load_extension(True)
        db.load_extension(sqlite_vec.loadable_path())
        db.enable_load_extension(False)
        db.pragma("trusted_schema", False)  # an index file may come from elsewhere
        db.limit(apsw.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        return db


def spare_the_disk(db: apsw.Connection) -> None:
    """Waits for the disk at checkpoints alone, and keeps pages that have been read.

    A power failure may cost the last files that were stored; the next sync stores them again.
    """
    db.pragma("synchronous", "normal")
    db.pragma("cache_size", -CACHE_KB)


def connect_empty() -> apsw.Connection:
    """A connection to an empty database in memory."""
    return _connect(Path(":memory:"), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)


def libraries() -> Mapping[str, Any]:
    """The versions of SQLite and sqlite-vec that the index runs on."""
    db = connect_empty()
    return {"sqlite": apsw.sqlite_lib_version(), "sqlite-vec": db.execute("SELECT vec_version()").get}


Tables = frozenset[tuple[str, str]]
Fail = Callable[[str], Exception]
"""Makes an error out of a problem."""

KEPT_WITH_THE_CACHE = ("documents", "chunks", "embedding_cache", "meta")
OURS = (*KEPT_WITH_THE_CACHE, "chunks_by_document", "chunks_fts", "chunks_vec")


def has_places(db: apsw.Connection) -> bool:
    """Whether the file has the index PLACES as it is made here."""
    found = db.execute("SELECT sql FROM main.sqlite_schema WHERE name = 'documents_places'").get
    return bool(found == PLACES)


def check_tables(path: Path, db: apsw.Connection, dimensions: int) -> None:
    """Raises DamagedError for other tables or columns, and for triggers and views, which can run SQL."""
    foreign = db.execute("SELECT name FROM sqlite_schema WHERE type IN ('trigger', 'view')").fetchall()
    if foreign:
        raise damaged(path, f"it has a trigger or view {foreign[0][0]!r:.60}")
    lacking = _expected(dimensions, OURS) - _tables(db, "main", OURS)
    if lacking:
        raise damaged(path, f"its table {min(lacking)[0]} is missing or has other columns")


def has_a_cache(db: apsw.Connection, name: str) -> bool:
    """Whether the attached database `name` has an embedding cache, and the texts that it belongs to."""
    return _expected(1, KEPT_WITH_THE_CACHE) <= _tables(db, name, KEPT_WITH_THE_CACHE)


def has_vectors(db: apsw.Connection, name: str, dimensions: int) -> bool:
    """Whether the attached database `name` has the vectors of its chunks."""
    return _expected(dimensions, ("chunks_vec",)) <= _tables(db, name, ("chunks_vec",))


@cache
def _expected(dimensions: int, names: Sequence[str]) -> Tables:
    db = connect_empty()
    try:
        create(db, dimensions)
        return _tables(db, "main", names)
    finally:
        db.close()


def _tables(db: apsw.Connection, database: str, names: Sequence[str]) -> Tables:
    rows = db.execute(f"SELECT name, sql FROM {database}.sqlite_schema WHERE sql IS NOT NULL")
    return frozenset((name, " ".join(sql.split())) for name, sql in rows if name in names)


def typed(
    rows: Iterable[Sequence[Any]], types: Sequence[type | tuple[type, ...]], fail: Fail
) -> Iterator[Sequence[Any]]:
    """The rows. Raises `fail(problem)` for a value of another type and for text that is not UTF-8."""
    try:
        for row in rows:
            if not all(map(isinstance, row, types)):
                kinds = ", ".join(type(value).__name__ for value in row)
                raise fail(f"a row has values of the types {kinds}")
            yield row
    except UnicodeDecodeError as error:
        raise fail(f"a text is not UTF-8: {error}") from None


LARGEST_DIMENSIONS = 8192
"""The longest vector that vec0 stores."""


def check_dimensions(settings: Settings) -> None:
    """Raises InputError for vectors of a length that sqlite-vec cannot store."""
    if not 1 <= settings.dimensions <= LARGEST_DIMENSIONS:
        raise InputError(
            f"The model {settings.model} has vectors of {settings.dimensions:,} dimensions; an index stores "
            f"1 to {LARGEST_DIMENSIONS:,}.",
            "Use another model, or ask a provider's model for fewer: PROVIDER/MODEL@1024",
        )

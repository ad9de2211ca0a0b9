"""A guard around the readers of stores that somebody else wrote.

Such a store is data: a reader takes plain files alone, a bounded time and a bounded memory, and gives one
sentence for whatever is wrong with it. A header that speaks of a billion vectors, a pickle of 13 bytes that
asks for four gigabytes, and a named pipe in place of a file are each such a sentence. On Linux the reader is
a process of its own: a pickle whose keys take a year to hash, or a crash in a library, ends that process.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import pickle
import signal
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

import apsw

from workbench.errors import InputError

Found = TypeVar("Found")

LEAST_BYTES = 500_000_000
BYTES_A_BYTE = 4
"""The memory that reading may take: as much for any store, and so much for each of its bytes on the disk."""
LEAST_SECONDS, BYTES_A_SECOND = 6.0, 4_000_000
"""The time that queries may take: as much for any store, and a second for so many bytes on the disk."""
WAITS = 5
"""A reader that waits is given up after so many times the time that it may compute."""
LONGEST_VALUE = 100_000_000
"""Bytes of one value in a SQLite file."""
MOST_FILES = 20_000

WRONG = (
    ArithmeticError, AttributeError, BufferError, EOFError, ImportError, LookupError, MemoryError, OSError,
    RuntimeError, SystemError, TypeError, ValueError, apsw.Error, pickle.PickleError, struct.error,
)  # fmt: skip
"""What the content of a foreign file makes a reader raise."""


def read_apart(path: Path, remedy: str, read: Callable[[], Found]) -> Found:
    """What `read` makes of a store, within the bounds. The result is copied from process to process.

    Elsewhere than on Linux it is read in this process, where the time of queries alone is bounded. Do not
    call it while other threads multiply matrices: after the fork, the OpenBLAS of NumPy 2.4.6 can leave
    them waiting. Raises InputError, with the remedy, for whatever is wrong with the store.
    """
    if sys.platform != "linux":
        with guarded(path, remedy):
            return read()
    with guarded(path, remedy):
        seconds = seconds_for(check_plain(path))
    processes = multiprocessing.get_context("fork")
    here, there = processes.Pipe(duplex=False)
    reader = processes.Process(target=_send, args=(there, seconds, lambda: _outcome(path, remedy, read)))
    reader.start()
    there.close()
    try:
        found, error = here.recv() if here.poll(WAITS * seconds) else (None, None)
    except EOFError:
        found, error = None, None
        reader.join()
    finally:
        reader.kill()
        reader.join()
        here.close()
    if error is not None:
        raise error
    if found is None:
        raise InputError(f"The store {path} {_ended(reader.exitcode)}.", remedy)
    value: Found = found[0]
    return value


def _send(there: Connection, seconds: float, outcome: Callable[[], Any]) -> None:
    """The reader's process: sends what it has read, or the error."""
    import resource

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # neither Ctrl-C nor a crash prints a word
    faulthandler.disable()
    most = int(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    there.send_bytes(outcome())


def _outcome(path: Path, remedy: str, read: Callable[[], Any]) -> bytes:
    """What has been read in a list, and the error: one of both is None."""
    try:
        with guarded(path, remedy):
            return pickle.dumps(([read()], None))
    except Exception as error:  # raised again where the store was asked for
        return pickle.dumps((None, error))


def _ended(code: int | None) -> str:
    """How the reader's process ended, if it has sent nothing."""
    if code in (None, -signal.SIGKILL, -signal.SIGXCPU):
        return "takes too long to read"
    return f"cannot be read: its reader stopped ({signal.Signals(-code).name if code and code < 0 else code})"


@contextmanager
def guarded(path: Path, remedy: str) -> Iterator[None]:
    """Reads a store within the bounds. Raises InputError, with the remedy, for whatever is wrong with it."""
    try:
        with bounded_memory(LEAST_BYTES + BYTES_A_BYTE * check_plain(path)):
            yield
    except MemoryError:
        raise InputError(f"The store {path} asks for more memory than its size explains.", remedy) from None
    except apsw.InterruptError:
        raise InputError(f"The store {path} takes too long to read.", remedy) from None
    except WRONG as error:
        reason = str(error) or type(error).__name__
        raise InputError(f"The store {path} cannot be read: {reason:.300}.", remedy) from None


def check_plain(file: Path) -> int:
    """The bytes that a file, or the files below a folder, have on the disk; a sparse file has few.

    Raises ValueError for anything but plain files and folders, such as a named pipe, also beside a SQLite
    file, for a link within a folder, and for too many files.
    """
    real = os.path.realpath(file)
    pending, seen, size = [real, *(f"{real}{end}" for end in ("-wal", "-shm", "-journal"))], 0, 0
    while pending:
        path = pending.pop()
        try:
            info = os.lstat(path)
        except FileNotFoundError:
            continue
        seen += 1
        if seen > MOST_FILES:
            raise ValueError(f"it has more than {MOST_FILES:,} files")
        if stat.S_ISDIR(info.st_mode):
            pending += [one.path for one in os.scandir(path)]
        elif not stat.S_ISREG(info.st_mode):
            raise ValueError(f"{path} is not a plain file")
        size += info.st_blocks * 512
    return size


@contextmanager
def bounded_memory(more: int) -> Iterator[None]:
    """Lets this process have so many more bytes of memory: beyond them, an allocation is a MemoryError.

    Only Linux counts them; elsewhere nothing is bounded.
    """
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    except (ImportError, OSError):
        yield
        return
    bound = pages * os.sysconf("SC_PAGE_SIZE") + more
    if soft != resource.RLIM_INFINITY:
        bound = min(bound, soft)
    resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def bound_queries(db: apsw.Connection, path: Path) -> None:
    """Bounds the time and the values of the queries of a SQLite file; SQLite then gives an InterruptError."""
    ends = time.monotonic() + seconds_for(os.stat(path).st_blocks * 512)
    db.limit(apsw.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    db.set_progress_handler(_late(ends), 20_000)


def seconds_for(size: int) -> float:
    """The seconds that reading a store of so many bytes may take."""
    return LEAST_SECONDS + size / BYTES_A_SECOND


def _late(ends: float) -> Callable[[], bool]:
    return lambda: time.monotonic() > ends


FULL_TEXT_PARTS = ("config", "content", "data", "docsize", "idx")
"""The tables in which a full-text table of FTS5 keeps its rows end with these words."""


def check_tables(db: apsw.Connection, *names: str, virtual: bool = False) -> None:
    """Raises ValueError unless each of these names is a table of its own, without computed columns.

    A view runs a query whenever it is read, as does a full-text table with its content in a view, and a
    computed column its expression. Triggers run only when somebody writes, and other tables are not read.
    """
    for name in names:
        rows = db.execute(
            "SELECT sql FROM sqlite_schema WHERE name = ? AND type = 'table'", (name,)
        ).fetchall()
        elsewhere = virtual and "content=" in "".join(str(rows).lower().split())
        if _kind(db, name) != ("virtual" if virtual else "table") or len(rows) != 1 or elsewhere:
            raise ValueError(f"{name} is no {'full-text table' if virtual else 'table'} of its own")
        parts = [f"{name}_{part}" for part in FULL_TEXT_PARTS if virtual]
        inner = any(_kind(db, one) in ("view", "virtual") for one in parts)
        if inner or any(_is_computed(db, one) for one in (name, *parts)):
            raise ValueError(f"{name} has a computed column or a view in it")


def _kind(db: apsw.Connection, name: str) -> str:
    """What the name stands for: a table, a view, a virtual table, a shadow of one, or nothing (empty)."""
    rows = db.execute("SELECT type FROM pragma_table_list(?) WHERE schema = 'main'", (name,)).fetchall()
    return str(rows[0][0]) if rows else ""


def _is_computed(db: apsw.Connection, name: str) -> bool:
    rows = db.execute("SELECT 1 FROM pragma_table_xinfo(?) WHERE hidden > 1", (name,))
    return bool(rows.fetchall())

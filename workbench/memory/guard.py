"""A guard around the readers of stores that somebody else wrote.

Such a store is data: a reader takes plain files alone, a bounded time and a bounded memory, and gives one
sentence for whatever is wrong with it. A header that speaks of a billion vectors, a pickle of 13 bytes that
asks for four gigabytes, and a named pipe in place of a file are each such a sentence. The reader is a process
of its own: a pickle whose keys take a year to hash, or a crash in a library, ends that process.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from workbench.errors import InputError

Reader = Callable[[Path], Iterable[bytes]]

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

START = (
    "import sys; sys.path[:] = sys.argv[4:]; "
    "from workbench.memory.guard import answer; from {module} import {name}; answer({name})"
)
"""What the reader's process runs. Nothing of the current folder or of the variables is imported before."""
REFUSED = 2
"""Its exit code when something is wrong with the store: its last words are the problem and the remedy."""
KEPT = ("HOME", "WORKBENCH_HOME", "XDG_CACHE_HOME", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH")
"""The variables that it is given: where indexes are, how names of files are written, Python's libraries."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

WRONG = (
    ArithmeticError, AttributeError, BufferError, EOFError, ImportError, LookupError, MemoryError, OSError,
    RuntimeError, SystemError, TypeError, ValueError, apsw.Error, pickle.PickleError, struct.error,
)  # fmt: skip
"""What the content of a foreign file makes a reader raise."""


def read_apart(path: Path, remedy: str, read: Reader) -> bytes:
    """What a function of a module makes of a store in a Python process of its own, within the bounds.

    That process takes over no thread and no lock of this one, imports from where this one does, and is given
    the variables in `KEPT` alone. Linux bounds its memory, its seconds of CPU and the waiting for it; macOS
    does not count the memory. Raises InputError, with the remedy, for whatever is wrong with the store, and
    RuntimeError for an error of the reader's own.
    """
    with guarded(path, remedy):
        seconds = seconds_for(check_plain(path))
    code = START.format(module=read.__module__, name=read.__name__)
    given = [str(path), remedy, str(seconds), *map(os.path.abspath, filter(None, sys.path))]
    variables = ONE_THREAD | {name: os.environ[name] for name in KEPT if name in os.environ}
    late = InputError(f"The store {path} takes too long to read.", remedy)
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", code, *given],
            env=variables, stdin=subprocess.DEVNULL, capture_output=True, timeout=WAITS * seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise late from None
    if done.returncode in (-signal.SIGKILL, -signal.SIGXCPU):
        raise late
    if done.returncode < 0:
        ended = signal.Signals(-done.returncode).name
        raise InputError(f"The store {path} cannot be read: its reader stopped ({ended}).", remedy)
    if done.returncode == REFUSED:
        raise InputError(*json.loads(done.stderr.splitlines()[-1]))
    if done.returncode:
        raise RuntimeError(f"The reader of a store failed:\n{done.stderr.decode(errors='replace')}")
    return done.stdout


def answer(read: Reader) -> None:
    """The reader's process: prints what it has read, or the problem and its remedy."""
    path, remedy, seconds = sys.argv[1:4]
    with suppress(ImportError):
        import resource

        most = int(time.process_time() + float(seconds)) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with guarded(Path(path), remedy):
            sys.stdout.buffer.writelines(read(Path(path)))
    except InputError as error:
        sys.stderr.write(json.dumps([error.problem, error.remedy]))
        sys.exit(REFUSED)


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

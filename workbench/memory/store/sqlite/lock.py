"""One process at a time syncs an index: it holds a lock. The OS releases the lock if the process dies."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.memory.store.errors import LockedError, unwritable
from workbench.safe_text import one_line

if TYPE_CHECKING:
    from filelock import FileLock

WAIT_SECONDS = 60.0


@contextmanager
def alone(path: Path, wait: float = WAIT_SECONDS) -> Iterator[None]:
    """Keeps other processes from syncing the index at `path` inside the block.

    Waits up to `wait` seconds for another process, and says so on stderr. The lock is `PATH.lock`; that file
    stays, with the number of the process that held the lock last. Raises LockedError after the wait, and
    another StorageError when the lock cannot be made.
    """
    from filelock import FileLock  # a search needs no lock

    lock = FileLock(f"{path}.lock")
    try:
        _acquire(lock, path, wait)
        Path(lock.lock_file).write_text(f"{os.getpid()}\n", encoding="utf-8")
    except OSError as error:
        lock.release()
        raise unwritable(path, error) from None
    try:
        yield
    finally:
        lock.release()


def _acquire(lock: FileLock, path: Path, wait: float) -> None:
    from filelock import Timeout

    try:
        lock.acquire(timeout=0)
        return
    except Timeout:
        holder = _holder(lock)
    from tqdm.auto import tqdm

    tqdm.write(one_line(f"{holder} is indexing {path}: waiting up to {wait:g} s."), file=sys.stderr)
    try:
        lock.acquire(timeout=wait)
    except Timeout:
        raise LockedError(
            f"{_holder(lock)} is indexing {path}, and was not done within {wait:g} s.",
            "Try again when it is done, or stop it: `workbench watch` indexes for as long as it runs.",
        ) from None


def held_by(path: Path) -> str:
    """The process that is indexing `path` now, as `Process 123`; empty if none does. Never waits."""
    from filelock import FileLock, Timeout

    lock = FileLock(f"{path}.lock")
    if not Path(lock.lock_file).exists():
        return ""
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return _holder(lock)
    except OSError:
        return ""  # a folder that this user may not write: no process of this user indexes there
    lock.release()
    return ""


def _holder(lock: FileLock) -> str:
    """The process in the lock file, which another program may have written: only a number is believed."""
    number = Path(lock.lock_file).read_bytes()[:20].decode("ascii", "replace").strip()
    return f"Process {number}" if number.isdecimal() else "Another process"

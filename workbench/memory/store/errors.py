"""Storage errors, one class for each cause: the disk is full, the file is locked, unwritable or damaged."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from workbench.errors import StorageError

NO_ROOM = {errno.ENOSPC, errno.EDQUOT}
LEAST_FREE_BYTES = 256 * 1024
"""With fewer free bytes SQLite cannot create its -shm and -wal files, and reports an unspecific I/O error."""


class UnwritableError(StorageError):
    """The index cannot be written. What was stored before stays as it was."""


class DiskFullError(UnwritableError):
    """The disk of the index has no room left."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"The disk is full: there is no room left to write {path}. What was indexed before is unchanged.",
            "Free some space, or choose another place with --index FILE. Then index again.",
        )


class LockedError(UnwritableError):
    """Another process writes the index."""


class DamagedError(StorageError):
    """The index file does not hold what was written into it."""


def unwritable(path: Path, error: OSError) -> UnwritableError:
    """The storage error for an OSError that was raised while `path`, or a file beside it, was written."""
    if error.errno in NO_ROOM:
        return DiskFullError(path)
    return UnwritableError(
        f"The index {path} cannot be written: {error.strerror or error}.",
        "Check the permissions of its folder, or choose another place with --index FILE.",
    )


def disk_is_full(path: Path) -> bool:
    """Whether the disk that holds `path` has no room for SQLite's files, or no inode left."""
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return False
    # Some file systems have no fixed number of inodes and report 0 of 0.
    no_inode = disk.f_files > 0 and disk.f_favail == 0
    return no_inode or disk.f_bavail * disk.f_frsize < LEAST_FREE_BYTES

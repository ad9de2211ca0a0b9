"""Where a SQLite index is kept: its file, the lock beside it, and the builds that replace it.

A new index is built beside the old one, and takes its place in a single rename.

The path of an index is a link to the build in use, `NAME.build-…` in the same folder. SQLite follows the
link before it names the -wal and -shm files, so each build has its own. A database that is renamed over
another one would use the other's -wal, which would destroy it. An index from before there were builds is a
plain file; the first rebuild replaces it with a link.

One process at a time syncs an index: it holds a lock. The OS releases the lock if the process dies.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import InputError
from workbench.memory.choices import ADDRESS
from workbench.memory.store.contract import (
    DamagedError,
    IndexLocation,
    LockedError,
    OtherVersionError,
    Settings,
    UnwritableError,
    unwritable,
)
from workbench.memory.store.sqlite.database import plain_errors
from workbench.memory.store.sqlite.store import Store
from workbench.safe_text import one_line

if TYPE_CHECKING:
    from filelock import FileLock

BUILD = re.compile(r"(?P<index>.+)\.build-[0-9a-f]{8}(?P<end>|-wal|-shm|-journal|\.link)")
BESIDE = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite creates beside a database."""


def words_file(path: Path) -> Path:
    """The file beside the index at `path` that holds what a system has read of it."""
    return path.with_name(f"{path.name}.words")


def publish(build: Path, path: Path) -> None:
    """Makes `build` the index at `path` in one rename. Processes that have the old one open keep it."""
    link = build.with_name(f"{build.name}.link")
    try:
        link.symlink_to(build.name)
        os.replace(link, path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # waits until the rename is on the disk
        finally:
            os.close(folder)
    except OSError as error:
        raise unwritable(path, error) from None


def leftovers(path: Path) -> list[Path]:
    """The files of builds that are not in use: unfinished or replaced."""
    used = os.readlink(path) if path.is_symlink() else None
    builds = filter(None, map(BUILD.fullmatch, os.listdir(path.parent)))
    names = [build[0] for build in builds if build["index"] == path.name]
    if used is not None:  # a plain file may have stood at the path before
        names += [path.name + end for end in BESIDE]
    in_use = {f"{used}{end}" for end in ("", *BESIDE)}
    return [path.with_name(name) for name in sorted(names) if name not in in_use]


def databases(files: Iterable[Path]) -> list[Path]:
    """The database files among the files of builds."""
    return [file for file in files if (match := BUILD.fullmatch(file.name)) and not match["end"]]


def remove(files: Iterable[Path]) -> None:
    """Deletes those of the files that exist."""
    for file in files:
        file.unlink(missing_ok=True)


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
            "Try again when it is done, or stop it: `index --watch` indexes for as long as it runs.",
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


def make_folder(folder: Path) -> None:
    """Makes the folder for an index if it does not exist. Raises StorageError when that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None


class SQLiteLocation(IndexLocation):
    """An index file. A rebuild writes a new file beside it, and replaces it by one rename."""

    def __init__(self, path: Path) -> None:
        if ADDRESS.match(str(path)):
            raise InputError(f"{path} is an address, not a file.", "Give it to --store, or to -m.")
        self.path = path

    @property
    def name(self) -> str:
        return str(self.path)

    def exists(self) -> bool:
        return self.path.exists()

    def alone(self, wait: float) -> AbstractContextManager[None]:
        """Holds the lock file, in a folder that it makes if need be."""
        make_folder(self.path.parent)
        return alone(self.path, wait)

    def open(self) -> Store:
        return Store.open(self.path)

    @contextmanager
    def updating(self) -> Iterator[Store]:
        with Store.open(self.path) as store, plain_errors(self.path):
            _clear_up(leftovers(self.path), store)
            yield store
            store.list_places()
            store.list_words()

    @contextmanager
    def rebuilding(self, settings: Settings) -> Iterator[Store]:
        old = [self.path] if self.path.exists() else []
        left = leftovers(self.path)
        build = self.path.with_name(f"{self.path.name}.build-{secrets.token_hex(4)}")
        try:
            with Store.create(build, settings) as store:
                with ExitStack() as stack:
                    for one in old:
                        # A rebuild is the remedy for a damaged index, and for one of another version.
                        with suppress(DamagedError, OtherVersionError):
                            store.known_vectors.source = stack.enter_context(Store.open(one))
                        with suppress(DamagedError):
                            store.take_cache(one)
                    _clear_up(left, store)
                    yield store
                    store.known_vectors.source = None
                for one in old:
                    with suppress(DamagedError):
                        store.take_chunks(one, left=True)
                        store.forget_texts_of(one)
                store.list_words()
                store.settle()
            publish(build, self.path)
        except UnwritableError:
            remove(leftovers(self.path))
            raise
        remove(leftovers(self.path))

    def missing(self, folder: str) -> InputError:
        """The error for a memory without an index: says whether the first is in the making or broken off.

        `folder` is quoted for a shell.
        """
        remedy = f"Make one: workbench index {folder}"
        if holder := held_by(self.path):
            description, remedy = f"{holder} is making the first one", "Search again when it is done."
        elif self.path.parent.is_dir() and databases(leftovers(self.path)):
            description = "the run that made the first one was interrupted"
            remedy = f"Go on: workbench index {folder}. It embeds only what is missing."
        else:
            description = f"there is no index at {self.path}"
        return InputError(f"The memory {folder} has no index yet: {description}.", remedy)


def _clear_up(left: Sequence[Path], store: Store) -> None:
    """Removes the files of unfinished rebuilds, after taking their vectors into the cache of `store`."""
    try:
        for file in databases(left):
            with suppress(DamagedError):
                store.take_cache(file)
                store.take_chunks(file)
    finally:
        remove(left)

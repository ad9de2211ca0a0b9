"""How a memory's folder is found and its files are read, so that nothing surprising gets in."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from workbench.errors import InputError
from workbench.records import Document

LARGEST_FILE = 10_000_000
SAME_TIME_NS = 20_000_000
"""Two changes of a file within this time may leave the same time on it; Linux ticks every 1 to 10 ms."""

SOURCE = "memory"


class GoneError(InputError):
    """The file is not there any more."""


def content_hash(text: str) -> str:
    """The sha256 of a text's UTF-8 bytes, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def memory_root(folder: str | os.PathLike[str]) -> Path:
    """The folder as an absolute path. Raises InputError when it is missing, no folder, or unreadable."""
    root = Path(folder).expanduser()
    try:
        if not root.exists():
            raise InputError(
                f"The memory folder {root} does not exist.", "Check the path; it is case-sensitive."
            )
        if not root.is_dir():
            raise InputError(f"{root} is a file, not a folder.", "Give the folder that holds MEMORY.md.")
        with os.scandir(root):
            return root.resolve()
    except PermissionError:
        raise InputError(
            f"The memory folder {root} cannot be read.", f"Give yourself access: chmod u+rx {root}"
        ) from None


def read_document(root: Path, path: str) -> Document:
    """The file at `path` below `root`, read whole.

    Raises InputError for a symbolic link, anything that is no plain file, a file of more than 10 MB,
    one that may not be read, and one that is not UTF-8, be it in its text or in its name.
    """
    if not is_utf8(path):
        raise InputError(f"The file name {path!r} is not UTF-8.", "Rename the file.")
    with open_plain(root / path, path) as file:
        info = settled(file)
        _check_size(info, path)
        data = file.read()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}.",
            f"Convert it: iconv -f WINDOWS-1252 -t UTF-8 {path} > converted.md",
        ) from None
    return Document(path, SOURCE, text, content_hash(text), info.st_size, info.st_mtime_ns)


def is_utf8(name: str) -> bool:
    """Whether the bytes of a file's name are UTF-8, as most are."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def open_plain(file: Path, path: str) -> Iterator[BinaryIO]:
    """The plain file, open for reading; messages call it `path`.

    Raises InputError for a symbolic link, for anything that is no plain file, and for one that may not be
    read.
    """
    try:
        # O_NONBLOCK: opening a named pipe must fail the plain-file test, not wait for a writer.
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise _unreadable(error, path) from None
    try:
        _check_plain(os.fstat(handle), path)
    except InputError:
        os.close(handle)
        raise
    with os.fdopen(handle, "rb") as opened:
        yield opened


def _check_plain(info: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(info.st_mode):
        ending = Path(path).suffix
        raise InputError(f"{path} is a folder with a file's name.", f"Rename it without the {ending}.")
    if not stat.S_ISREG(info.st_mode):
        raise InputError(f"{path} is not a plain file.", "Move it out of the memory.")


def settled(file: BinaryIO) -> os.stat_result:
    """What an open file looks like before it is read: whatever is written from then on changes its look.

    A file that was written just now is given time to settle first.
    """
    age = time.time_ns() - os.fstat(file.fileno()).st_mtime_ns
    if 0 <= age < SAME_TIME_NS:
        time.sleep((SAME_TIME_NS - age) / 1e9)
    return os.fstat(file.fileno())


def _check_size(info: os.stat_result, path: str) -> None:
    if info.st_size > LARGEST_FILE:
        raise InputError(
            f"{path} has {info.st_size / 1e6:.0f} MB; a memory file has at most 10 MB.",
            "Split it, or move it out of the memory.",
        )


def _unreadable(error: OSError, path: str) -> InputError:
    if error.errno == errno.ELOOP:
        return InputError(
            f"{path} is a symbolic link; links are not followed, since they can leave the memory.",
            "Put the file itself there, or remove the link.",
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return InputError(f"{path} cannot be read.", f"Give yourself access: chmod u+r {path}")
    if error.errno == errno.ENOENT:
        return GoneError(f"{path} is not there any more.", "Check the path, then index again.")
    return InputError(f"{path} cannot be read: {error.strerror}.", "Check the file, then index again.")

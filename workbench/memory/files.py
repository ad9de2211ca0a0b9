"""Finds the folder of a memory and reads its files without ever following a link out of it.

A path is opened name by name: each name inside the folder that is already open. Whatever changes on the disk
meanwhile, there is no moment between a check and its use in which a name could lead elsewhere.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from workbench.errors import InputError
from workbench.records import Document

LARGEST_FILE = 10_000_000
"""Bytes."""
SAME_TIME_NS = 20_000_000
"""Two changes within this time can leave the same modification time; Linux ticks every 1 to 10 ms."""

PLAIN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
"""O_NONBLOCK: opening a named pipe must fail the plain-file test instead of waiting for a writer."""
FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY

SOURCE = "memory"


class GoneError(InputError):
    """The file does not exist any more."""


class Place(NamedTuple):
    """A folder that is trusted, without a link in its path, and the untrusted names from it to a file."""

    trusted: Path
    below: tuple[str, ...]


def content_hash(text: str) -> str:
    """The sha256 of a text's UTF-8 bytes, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def memory_root(folder: str | os.PathLike[str]) -> Path:
    """The folder as an absolute path without links.

    Raises InputError when it does not exist, is not a folder, or cannot be read.
    """
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


def read_document(place: Place, path: str) -> Document:
    """The whole file at `place`; `path` is its name in the document and in messages.

    Raises InputError for a symbolic link anywhere below the trusted folder, for anything but a plain file,
    for more than 10 MB, for a missing permission, and for a name or text that is not UTF-8; GoneError for a
    file that does not exist.
    """
    if not is_utf8(path):
        raise InputError(f"The file name {path!r} is not UTF-8.", "Rename the file.")
    with open_plain(place, path) as file:
        info = settled(file)
        _check_size(info.st_size, path)
        data = file.read(LARGEST_FILE + 1)
    _check_size(len(data), path)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}.",
            f"Convert it: iconv -f WINDOWS-1252 -t UTF-8 {path} > converted.md",
        ) from None
    return Document(path, SOURCE, text, content_hash(text), info.st_size, info.st_mtime_ns)


def read_input(path: str | os.PathLike[str], what: str, most: int) -> str:
    """The text of a file that the user has named; messages call it `what`.

    Raises InputError for a file that cannot be read, has more than `most` bytes, or is not UTF-8.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise InputError(f"{what} {path} has more than {most:,} bytes.", "Split it into smaller files.")
        return data.decode()
    except OSError as error:
        raise InputError(f"{what} {path} cannot be read: {error.strerror}.", "Check the path.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{what} {path} is not UTF-8: {error}.", "Convert it to UTF-8.") from None


def is_utf8(name: str) -> bool:
    """Whether the bytes of a file's name are UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def open_below(place: Place) -> Iterator[BinaryIO]:
    """Opens a plain file for reading, following no link from the trusted folder on.

    Raises OSError, with EISDIR for a folder and ENXIO for a pipe, socket or device.
    """
    with ExitStack() as opened:
        folder = os.open(place.trusted, FOLDER)
        opened.callback(os.close, folder)
        for name in place.below[:-1]:
            folder = os.open(name, FOLDER, dir_fd=folder)
            opened.callback(os.close, folder)
        handle = os.open(place.below[-1], PLAIN_FILE, dir_fd=folder)
        opened.callback(os.close, handle)
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO, "not a plain file")
        yield opened.enter_context(os.fdopen(handle, "rb", closefd=False))


@contextmanager
def open_plain(place: Place, path: str) -> Iterator[BinaryIO]:
    """`open_below` with InputError and GoneError in place of OSError; messages call the file `path`."""
    with ExitStack() as opened:
        try:
            file = opened.enter_context(open_below(place))
        except OSError as error:
            raise _unreadable(error, path) from None
        yield file


def settled(file: BinaryIO) -> os.stat_result:
    """The status of an open file before it is read, once its modification time can be relied on.

    A file that was written just now may be written again without another modification time, so this waits
    until SAME_TIME_NS have passed.
    """
    age = time.time_ns() - os.fstat(file.fileno()).st_mtime_ns
    if 0 <= age < SAME_TIME_NS:
        time.sleep((SAME_TIME_NS - age) / 1e9)
    return os.fstat(file.fileno())


def _check_size(size: int, path: str) -> None:
    if size > LARGEST_FILE:
        raise InputError(
            f"{path} has {size / 1e6:.0f} MB; a memory file has at most {LARGEST_FILE / 1e6:.0f} MB.",
            "Split it, or move it out of the memory.",
        )


def _unreadable(error: OSError, path: str) -> InputError:
    match error.errno:
        case errno.ELOOP:
            return InputError(
                f"{path} is a symbolic link; links are not followed, since they can leave the memory.",
                "Put the file itself there, or remove the link.",
            )
        case errno.ENOTDIR:
            return InputError(
                f"{path} lies below a symbolic link or a file; links are not followed, since they can leave "
                "the memory.",
                "Put the folder itself there, or remove the link.",
            )
        case errno.EISDIR:
            ending = Path(path).suffix
            return InputError(f"{path} is a folder with a file's name.", f"Rename it without the {ending}.")
        case errno.ENXIO:
            return InputError(f"{path} is not a plain file.", "Move it out of the memory.")
        case errno.EACCES | errno.EPERM:
            return InputError(f"{path} cannot be read.", f"Give yourself access: chmod u+r {path}")
        case errno.ENOENT:
            return GoneError(f"{path} does not exist any more.", "Check the path, then index again.")
    return InputError(f"{path} cannot be read: {error.strerror}.", "Check the file, then index again.")

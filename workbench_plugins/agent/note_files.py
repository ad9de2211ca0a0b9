"""Reads the files of one memory so that no byte comes from another file."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from workbench.errors import InputError
from workbench.memory.files import (
    HEADS,
    LARGEST_FILE,
    SUFFIX,
    TREE,
    FileLocation,
    location_in_extra,
    open_below,
)
from workbench.retrieval.query import BLANKS

REMEDY = "Give a path as memory_search returns it, such as MEMORY.md or memory/tea.md."


class PathRefusedError(InputError):
    """A path that is not a file of the memory, whether or not the file exists.

    Its one message does not tell these apart: it must not answer what else is on the machine.
    """

    def __init__(self) -> None:
        super().__init__("This path is not an allowed Markdown file of the memory.", REMEDY)


class FileMissingError(InputError):
    """A file of the memory that does not exist; `path` is relative to the memory."""

    def __init__(self, path: str) -> None:
        super().__init__(f"The memory has no file {path}.", "Search again: it may have been renamed.")
        self.path = path


class FileUnreadableError(InputError):
    """A file of the memory that exists and cannot be read; `code` is the name of the system's error."""

    def __init__(self, path: str, code: str, why: str) -> None:
        super().__init__(f"{path} cannot be read: {why}.", "Tell the user; the file has to be repaired.")
        self.path = path
        self.code = code


class Read(NamedTuple):
    """A file's path relative to the memory, and its text."""

    path: str
    text: str


@dataclass(frozen=True)
class MemoryFiles:
    """The files of one memory that may be read, by their paths.

    These are the files in `heads` (such as MEMORY.md), every *.md below memory/, and what `extra` allows:
    folders with every *.md below them, and single *.md files. Relative paths start at `root`. In a folder
    without heads and without memory/, every *.md that is not in a hidden folder can be read.
    Source: openclaw 2026.2.13, src/memory/manager.ts, readFile; the links from 2026.9.6, read-file.ts.
    """

    root: Path
    heads: tuple[str, ...] = HEADS
    extra: tuple[str, ...] = ()

    def read(self, path: str) -> Read:
        """The file at `path`, which is relative to the memory or absolute, read whole.

        Raises PathRefusedError for a path outside the memory and for one with a symbolic link,
        FileMissingError when there is no such file, and FileUnreadableError for a file of more than 10 MB
        or without permission. Bytes that are not UTF-8 become U+FFFD.
        """
        absolute = _absolute(self.root, path)
        name = os.path.relpath(absolute, self.root)
        location = self._location(absolute, name)
        try:
            data = _read_below(location)
        except FileNotFoundError:
            raise FileMissingError(name) from None
        except OSError as error:
            raise _refusal(name, error) from None
        return Read(name, data.decode("utf-8", "replace"))

    def _location(self, absolute: Path, name: str) -> FileLocation:
        if not name.endswith(SUFFIX):
            raise PathRefusedError
        if not name.startswith("..") and self._is_memory(name):
            return FileLocation(self.root, Path(name).parts)
        location = location_in_extra(self.root, absolute, self.extra)
        if location is None:
            raise PathRefusedError
        return location

    def _is_memory(self, name: str) -> bool:
        if self._is_workspace:
            return name in self.heads or name.startswith(f"{TREE}/")
        return not any(part.startswith(".") for part in Path(name).parts)

    @property
    def _is_workspace(self) -> bool:
        tree = self.root / TREE
        return tree.is_dir() or tree.is_symlink() or any(os.path.lexists(self.root / one) for one in HEADS)


def _absolute(root: Path, path: str) -> Path:
    """`path` relative to `root`, without `.` and `..`. Only the text is used, not the disk."""
    cleaned = path.strip(BLANKS)
    try:
        cleaned.encode()
    except UnicodeEncodeError:
        raise PathRefusedError from None
    if not cleaned or "\0" in cleaned:
        raise PathRefusedError
    # In POSIX, two leading slashes can mean something else than one; here they do not.
    return Path("/" + os.path.normpath(root / cleaned).lstrip("/"))


def _read_below(location: FileLocation) -> bytes:
    """The bytes of a plain file. Raises OSError, with EFBIG for more than 10 MB."""
    with open_below(location) as file:
        data = file.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise OSError(errno.EFBIG, "it has more than 10 MB")
    return data


NOT_THE_MEMORY = {
    errno.ELOOP,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENXIO,
    errno.ENAMETOOLONG,
    errno.EILSEQ,
    errno.EINVAL,
}
"""A link, a folder, a pipe, a socket, a device, or an impossible name: not a file of the memory."""


def _refusal(path: str, error: OSError) -> InputError:
    number = error.errno or 0
    if number in NOT_THE_MEMORY:
        return PathRefusedError()
    return FileUnreadableError(path, errno.errorcode.get(number, "EIO"), error.strerror or "an error")

"""Which files an agent may read, and how they are read so that no byte comes from anywhere else."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from workbench.errors import InputError
from workbench.memory.files import LARGEST_FILE, Place, open_below
from workbench.memory.paths import HEADS, SUFFIX, TREE, place_beside
from workbench.retrieval.query import BLANKS

REMEDY = "Give a path as memory_search returns it, such as MEMORY.md or memory/tea.md."


class PathRefusedError(InputError):
    """A path that names no file of the memory, whether or not there is such a file.

    Its one message does not tell these apart: it must not answer what else is on the machine.
    """

    def __init__(self) -> None:
        super().__init__("This path is not an allowed Markdown file of the memory.", REMEDY)


class FileMissingError(InputError):
    """A file of the memory that is not there; `path` is relative to the memory."""

    def __init__(self, path: str) -> None:
        super().__init__(f"The memory has no file {path}.", "Search again: it may have been renamed.")
        self.path = path


class FileUnreadableError(InputError):
    """A file of the memory that is there and cannot be read; `code` is the system's name for why."""

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

    These are MEMORY.md and its like (`heads`), every *.md below memory/, and what `extra` allows: folders
    with every *.md below them, and single *.md files; relative ones start at `root`. A folder that has
    neither heads nor memory/ is all memory: every *.md in it that no hidden folder holds.
    Source: openclaw 2026.2.13, src/memory/manager.ts, readFile; the links from 2026.9.6, read-file.ts.
    """

    root: Path
    heads: tuple[str, ...] = HEADS
    extra: tuple[str, ...] = ()

    def read(self, path: str) -> Read:
        """The file at `path`, which is relative to the memory or absolute, read whole.

        Raises PathRefusedError for any path that is not the memory's or leads over a symbolic link,
        FileMissingError when nothing is there, and FileUnreadableError for a file of more than 10 MB
        or without permission. Bytes that are not UTF-8 become U+FFFD.
        """
        absolute = _absolute(self.root, path)
        name = os.path.relpath(absolute, self.root)
        place = self._place(absolute, name)
        try:
            data = _read_below(place)
        except FileNotFoundError:
            raise FileMissingError(name) from None
        except OSError as error:
            raise _refusal(name, error) from None
        return Read(name, data.decode("utf-8", "replace"))

    def _place(self, absolute: Path, name: str) -> Place:
        if not name.endswith(SUFFIX):
            raise PathRefusedError
        if not name.startswith("..") and self._is_memory(name):
            return Place(self.root, Path(name).parts)
        place = place_beside(self.root, absolute, self.extra)
        if place is None:
            raise PathRefusedError
        return place

    def _is_memory(self, name: str) -> bool:
        if self._is_workspace:
            return name in self.heads or name.startswith(f"{TREE}/")
        return not any(part.startswith(".") for part in Path(name).parts)

    @property
    def _is_workspace(self) -> bool:
        tree = self.root / TREE
        return tree.is_dir() or tree.is_symlink() or any(os.path.lexists(self.root / one) for one in HEADS)


def _absolute(root: Path, path: str) -> Path:
    """`path` seen from `root` without `.` and `..`: by its letters alone, the disk is not asked."""
    cleaned = path.strip(BLANKS)
    try:
        cleaned.encode()
    except UnicodeEncodeError:
        raise PathRefusedError from None
    if not cleaned or "\0" in cleaned:
        raise PathRefusedError
    # POSIX gives a second leading slash a meaning of its own; here it has none.
    return Path("/" + os.path.normpath(root / cleaned).lstrip("/"))


def _read_below(place: Place) -> bytes:
    """The bytes of a plain file. Raises OSError, with EFBIG for more than 10 MB."""
    with open_below(place) as file:
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
"""A link, a folder, a pipe, socket or device, a name that no file can have: no file of the memory."""


def _refusal(path: str, error: OSError) -> InputError:
    number = error.errno or 0
    if number in NOT_THE_MEMORY:
        return PathRefusedError()
    return FileUnreadableError(path, errno.errorcode.get(number, "EIO"), error.strerror or "an error")

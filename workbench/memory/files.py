"""Which files of a folder are its memory, and how each is read so that nothing surprising gets in."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from workbench.records import Document, InputError

LARGEST_FILE = 10_000_000
SOURCE = "memory"


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


def list_files(root: Path) -> list[str]:
    """The paths of the memory's files, relative to `root`, with forward slashes, sorted.

    A folder with MEMORY.md, memory.md or memory/ is read as OpenClaw reads it: these, and every *.md
    below memory/. In any other folder every *.md outside hidden folders counts. Raises InputError when
    there is none. Source: openclaw 2026.2.13, src/memory/internal.ts, listMemoryFiles.
    """
    heads = [name for name in ("MEMORY.md", "memory.md") if (root / name).is_file()]
    if len(heads) == 2 and (root / heads[0]).samefile(root / heads[1]):
        heads = heads[:1]
    if (root / "memory").is_symlink():
        found = [*heads, "memory"]
    elif heads or (root / "memory").is_dir():
        found = heads + list(_markdown(root, root / "memory"))
    else:
        found = list(_markdown(root, root))
    if not found:
        raise InputError(
            f"The folder {root} holds no Markdown: no MEMORY.md, no memory/*.md, no other *.md.",
            "Give the folder that holds MEMORY.md, or write a first note into it.",
        )
    return sorted(found)


def _markdown(root: Path, folder: Path) -> Iterator[str]:
    if not folder.is_dir():
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except PermissionError:
        raise InputError(
            f"The folder {folder} cannot be read.", f"Give yourself access: chmod u+rx {folder}"
        ) from None
    for entry in entries:
        if entry.is_dir(follow_symlinks=False) and not entry.name.endswith(".md"):
            if not entry.name.startswith("."):
                yield from _markdown(root, Path(entry.path))
        elif entry.name.endswith(".md"):
            yield Path(entry.path).relative_to(root).as_posix()


def read_document(root: Path, path: str) -> Document:
    """The file at `path` below `root`, read whole.

    Raises InputError for a symbolic link, anything that is no plain file, a file of more than 10 MB,
    one that may not be read, and one that is not UTF-8, be it in its text or in its name.
    """
    if not _is_utf8(path):
        raise InputError(f"The file name {path!r} is not UTF-8.", "Rename the file.")
    data, info = _read_plain_file(root / path, path)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}.",
            f"Convert it: iconv -f WINDOWS-1252 -t UTF-8 {path} > converted.md",
        ) from None
    return Document(path, SOURCE, text, content_hash(text), info.st_size, info.st_mtime_ns)


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read_plain_file(file: Path, path: str) -> tuple[bytes, os.stat_result]:
    try:
        # O_NONBLOCK: opening a named pipe must fail the plain-file test, not wait for a writer.
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise _unreadable(error, path) from None
    try:
        info = os.fstat(handle)
        _check_plain(info, path)
    except InputError:
        os.close(handle)
        raise
    with os.fdopen(handle, "rb") as opened:
        return opened.read(), info


def _check_plain(info: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(info.st_mode):
        raise InputError(f"{path} is a folder with a file's name.", "Rename it without the .md.")
    if not stat.S_ISREG(info.st_mode):
        raise InputError(f"{path} is not a plain file.", "Move it out of the memory.")
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
    return InputError(f"{path} cannot be read: {error.strerror}.", "Check the file, then index again.")

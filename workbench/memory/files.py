"""The files of a memory: which paths belong to it, and how they are read without following a link out of it.

A path is opened name by name: each name inside the folder that is already open. Whatever changes on the disk
meanwhile, there is no moment between a check and its use in which a name could lead elsewhere.
"""

from __future__ import annotations

import codecs
import errno
import hashlib
import os
import re
import secrets
import shlex
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO

from workbench.errors import InputError, StorageError
from workbench.records import Document

LARGEST_FILE = 10_000_000
"""Bytes."""
LONGEST_PATH = os.pathconf("/", "PC_PATH_MAX")
"""Bytes, with a zero at the end: the system opens no longer path, and lists no folder of one."""
SAME_TIME_NS = 20_000_000
"""Two changes within this time can leave the same modification time; Linux ticks every 1 to 10 ms."""

PLAIN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
"""O_NONBLOCK: opening a named pipe must fail the plain-file test instead of waiting for a writer."""
FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY

SOURCE = "memory"


class GoneError(InputError):
    """The file does not exist any more."""


class FileLocation(NamedTuple):
    """A folder that is trusted, without a link in its path, and the untrusted names from it to a file."""

    trusted: Path
    below: tuple[str, ...]


def content_hash(text: str) -> str:
    """The sha256 of a text's UTF-8 bytes, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def replaced(path: str | os.PathLike[str], overwrite: bool = True) -> Iterator[TextIO]:
    """A file to write inside the block; it takes the place of `path` in one rename when the block has ended.

    After an error `path` is what it was. Raises InputError for a file that exists, unless `overwrite`, and
    for what is no plain file, and StorageError if it cannot be written.
    """
    file = Path(path)
    fresh = file.with_name(f".{file.name[:100]}.{secrets.token_hex(4)}")
    try:
        if os.path.lexists(file) and not (overwrite and file.is_file()):
            raise InputError(f"{file} exists already.", "Choose another name, or add --force.")
        with fresh.open("x", encoding="utf-8", newline="\n") as out:
            yield out
        os.replace(fresh, file)
    except OSError as error:
        raise StorageError(
            f"{file} cannot be written: {error.strerror}.", "Check its folder and disk."
        ) from None
    finally:
        with suppress(OSError):
            fresh.unlink()


def _path_advice(path: str) -> str:
    """What to look at where a folder does not exist; a path of Windows has another form in WSL.

    The value of a variable is not looked up: it may be a secret.
    """
    if variable := re.search(r"\$\w+|\$\{\w+\}", path):
        return f"A shell puts in {variable[0]} outside of single quotes alone: use double quotes, or none."
    windows = re.fullmatch(r"([A-Za-z]):[\\/](.*)", path)
    if windows is None:
        return "Check the path; it is case-sensitive."
    below = windows[2].replace("\\", "/")
    return f"In WSL it is usually /mnt/{windows[1].lower()}/{below}. Check the path; it is case-sensitive."


def check_named_memory(name: str) -> None:
    """Raises InputError for an empty name, which would mean the current folder."""
    if not name:
        raise InputError("The name of the memory is empty.", "Name its folder; the current one is a dot: .")


def memory_root(folder: str | os.PathLike[str]) -> Path:
    """The folder as an absolute path without links.

    Raises InputError when its name is empty, it does not exist, is not a folder, or cannot be read.
    """
    check_named_memory(os.fspath(folder))
    root = Path(os.path.expanduser(folder))  # which leaves the name of an unknown user as it is
    try:
        if not root.exists():
            raise InputError(f"The memory folder {root} does not exist.", _path_advice(str(root)))
        if not root.is_dir():
            raise InputError(f"{root} is a file, not a folder.", "Give the folder that holds MEMORY.md.")
        with os.scandir(root):
            return root.resolve()
    except PermissionError:
        raise InputError(
            f"The memory folder {root} cannot be read.",
            f"Give yourself access: chmod u+rx {shlex.quote(str(root))}",
        ) from None


def read_document(location: FileLocation, path: str) -> Document:
    """The whole file at `location`; `path` is its name in the document and in messages.

    Raises InputError for a symbolic link anywhere below the trusted folder, for anything but a plain file,
    for more than 10 MB, for a missing permission, and for a name or text that is not UTF-8; GoneError for a
    file that does not exist.
    """
    if not is_utf8(path):
        raise InputError(f"The file name {path!r} is not UTF-8.", "Rename the file.")
    if len(os.fsencode(location.trusted.joinpath(*location.below))) >= LONGEST_PATH:
        raise InputError(
            f"{path[:80]}… lies too deep: its path is longer than this system reads.",
            "Move its files up, or out of the memory.",
        )
    with open_plain(location, path) as file:
        info = settled(file)
        _check_size(info.st_size, path)
        data = file.read(LARGEST_FILE + 1)
    _check_size(len(data), path)
    sixteen, found, text = _utf16_form(data), "", ""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        found = f"byte {error.start} is 0x{data[error.start]:02x}"
    if sixteen or found:
        remedy = "Open it in an editor that knows its encoding, and save it as UTF-8."
        if sixteen or _is_western(data):
            here = location.trusted.joinpath(*location.below)
            old, new = shlex.quote(f"{here}.old"), shlex.quote(str(here))
            iconv = f"iconv -f {sixteen or 'WINDOWS-1252'} -t UTF-8"
            remedy = f"Keep it and convert a copy: cp {new} {old} && {iconv} {old} > {new}"
        raise InputError(f"{path} is not UTF-8: {'it is UTF-16' if sixteen else found}.", remedy)
    return Document(path, SOURCE, text, content_hash(text), info.st_size, info.st_mtime_ns)


def _utf16_form(data: bytes) -> str:
    """What iconv calls the form of UTF-16 that bytes are in; empty for others.

    Without a byte order mark, every other byte of most texts is zero.
    """
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "UTF-16"
    halves = {"UTF-16BE": data[::2], "UTF-16LE": data[1::2]}
    return next((name for name, half in halves.items() if half.count(0) > len(half) // 2), "")


MOST_ACCENTED = 0.25
"""No language of Western Europe has a larger share of accented letters; Cyrillic has no other ones."""


def _is_western(data: bytes) -> bool:
    """Whether bytes may be Windows-1252: few of their letters are outside of ASCII."""
    letters = [one for one in data.decode("cp1252", "replace") if one.isalpha() or one == "\ufffd"]
    return sum(not one.isascii() for one in letters) <= MOST_ACCENTED * len(letters)


def read_input(path: str | os.PathLike[str], what: str, most: int) -> str:
    """The text of a file that the user has named; messages call it `what`.

    Raises InputError for what is no plain file, cannot be read, has more than `most` bytes, or is not UTF-8.
    """
    try:
        with open_named(path) as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise InputError(f"{what} {path} has more than {most:,} bytes.", "Split it into smaller files.")
        return data.decode()
    except OSError as error:
        raise InputError(f"{what} {path} cannot be read: {error.strerror}.", "Check the path.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{what} {path} is not UTF-8: {error}.", "Convert it to UTF-8.") from None


@contextmanager
def open_named(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Opens a plain file that the user has named; a link in its path is the user's own.

    Raises OSError for anything else. A named pipe would make the reader wait for ever.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO, "not a plain file")
        yield file


def is_utf8(name: str) -> bool:
    """Whether a text, such as a file's name, can be written as UTF-8."""
    return not any("\ud800" <= character <= "\udfff" for character in name)


@contextmanager
def open_below(location: FileLocation) -> Iterator[BinaryIO]:
    """Opens a plain file for reading, following no link from the trusted folder on.

    Raises OSError, with EISDIR for a folder and ENXIO for a pipe, socket or device.
    """
    with ExitStack() as opened:
        folder = os.open(location.trusted, FOLDER)
        opened.callback(os.close, folder)
        for name in location.below[:-1]:
            folder = os.open(name, FOLDER, dir_fd=folder)
            opened.callback(os.close, folder)
        handle = os.open(location.below[-1], PLAIN_FILE, dir_fd=folder)
        opened.callback(os.close, handle)
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO, "not a plain file")
        yield opened.enter_context(os.fdopen(handle, "rb", closefd=False))


@contextmanager
def open_plain(location: FileLocation, path: str) -> Iterator[BinaryIO]:
    """`open_below` with InputError and GoneError in place of OSError; messages call the file `path`."""
    with ExitStack() as opened:
        try:
            file = opened.enter_context(open_below(location))
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
            return InputError(
                f"{path} cannot be read.", f"Give yourself access: chmod u+r {shlex.quote(path)}"
            )
        case errno.ENOENT:
            return GoneError(f"{path} does not exist any more.", "Check the path, then index again.")
    return InputError(f"{path} cannot be read: {error.strerror}.", "Check the file, then index again.")


HEADS = ("MEMORY.md", "memory.md")
TREE = "memory"
SUFFIX = ".md"


@dataclass(frozen=True)
class FileRules:
    """Which files of a folder are its memory: these heads, and the Markdown below memory/.

    With `anywhere`, all Markdown of a folder that has no head and no memory/ is its memory. With
    `every_folder`, hidden folders count too. With `whole_folder`, all Markdown of the folder counts, whatever
    else is in it. Raises InputError for a head that is not the name of a Markdown file.
    """

    heads: tuple[str, ...] = HEADS
    anywhere: bool = True
    every_folder: bool = False
    whole_folder: bool = False

    def __post_init__(self) -> None:
        for head in self.heads:
            if "/" in head or not head.endswith(SUFFIX):
                raise InputError(
                    f"{head!r} is not the name of a Markdown file.", "Give one, as MEMORY.md is."
                )


GENERAL = FileRules()
"""The workbench's own rules."""


def extra_paths(root: Path, names: Iterable[str]) -> list[Path]:
    """The extra paths as absolute paths without repetitions, in their order; links are not resolved.

    Source: openclaw 2026.2.13, src/memory/internal.ts, normalizeExtraMemoryPaths.
    """
    named = [one.strip() for one in names]
    return list(dict.fromkeys(Path(os.path.normpath(root / one)) for one in named if one))


def check_extra_paths(root: Path, names: Iterable[str]) -> None:
    """Raises InputError for an extra path at which nothing lies."""
    for path in extra_paths(root, names):
        if not path.exists():
            raise InputError(
                f"The extra path {path} does not exist.",
                f"Give --extra a folder or a Markdown file; a relative path starts at {root}.",
            )


def location_of(root: Path, path: str, extra: Iterable[str] = ()) -> FileLocation:
    """Where a path of `list_files` lies. Raises InputError for one outside the memory and its extra paths."""
    if not path.startswith("../"):
        return FileLocation(root, tuple(path.split("/")))
    location = location_in_extra(root, Path(os.path.normpath(root / path)), extra)
    if location is None:
        raise InputError(f"{path} lies outside the memory and its extra paths.", "Name it with --extra.")
    return location


def location_in_extra(root: Path, file: Path, extra: Iterable[str]) -> FileLocation | None:
    """Where an absolute path lies that an extra path allows; None for one that none of them allows.

    An extra path is its owner's choice, so links above it are followed. Inside the memory, and from the
    extra path on, no link is.
    """
    for path in extra_paths(root, extra):
        plain = _without_links_above(root, path)
        if file.is_relative_to(plain):
            top = root if plain.is_relative_to(root) else plain.parent
            return FileLocation(top, file.relative_to(top).parts)
    return None


def _without_links_above(root: Path, path: Path) -> Path:
    return path if path.is_relative_to(root) else path.parent.resolve() / path.name


def list_files(root: Path, extra: Iterable[str] = (), rules: FileRules = GENERAL) -> list[str]:
    """The paths of the memory's files, relative to `root`, with forward slashes, sorted.

    By the general rules, a folder with MEMORY.md, memory.md or memory/ is read as OpenClaw reads it: these,
    and every *.md below memory/. In any other folder every *.md outside hidden folders counts. An extra path
    is a *.md file or a folder of them; a missing one adds no file. Outside `root` its files begin with `../`.
    Links are not followed. A link with a note's name, and an extra path that is a link, are listed, so that
    reading them reports the problem; OpenClaw ignores them.

    Raises InputError when there is no file, for a folder that cannot be read, and for an extra path of
    another kind. Source: openclaw 2026.2.13, src/memory/internal.ts, listMemoryFiles.
    """
    found = set(_own_files(root, rules))
    if not os.path.isdir(root):
        raise InputError(f"The memory folder {root} does not exist any more.", "Check its disk and its path.")
    for path in extra_paths(root, extra):
        found.update(_extra_files(root, path, rules))
    if not found and not rules.anywhere and reads_any(root, GENERAL):
        raise InputError(
            f"The folder {root} holds no {rules.heads[0]} and no memory/*.md, and this way of indexing reads "
            "nothing else in it.",
            "Read its other Markdown files, too: --extra .",
        )
    if not found:
        raise InputError(
            f"The folder {root} holds no Markdown: no {rules.heads[0]}, no memory/*.md"
            f"{', no other *.md' if rules.anywhere else ''}.",
            "Give the folder that holds MEMORY.md, or write a first note into it.",
        )
    return sorted(found)


def reads_any(root: Path, rules: FileRules) -> bool:
    """Whether rules read any file of a memory's folder without an extra path."""
    return any(True for _ in _own_files(root, rules))


def folders(root: Path, extra: Iterable[str] = (), rules: FileRules = GENERAL) -> set[Path]:
    """The existing folders, links excluded, in which a file of the memory can appear."""
    found = {root, *_walked(_tree(root, rules), rules)}
    for path in extra_paths(root, extra):
        found |= {path.parent, *_walked(path, rules)}
    return {one for one in found if os.path.isdir(one)}


def _heads(root: Path, rules: FileRules) -> list[str]:
    heads = [name for name in rules.heads if os.path.isfile(root / name) or os.path.islink(root / name)]
    if heads == list(HEADS) and os.path.samestat(*(os.lstat(root / name) for name in heads)):
        return heads[:1]  # one file, where the file system does not tell capitals apart
    return heads


def _tree(root: Path, rules: FileRules) -> Path:
    """The folder in which every *.md counts: memory/ in an agent's workspace, otherwise `root` itself."""
    if rules.whole_folder:
        return root
    tree = root / TREE
    workspace = _heads(root, rules) or os.path.isdir(tree) or os.path.islink(tree)
    return tree if workspace or not rules.anywhere else root


def _own_files(root: Path, rules: FileRules) -> Iterator[str]:
    yield from _heads(root, rules)
    tree = _tree(root, rules)
    if os.path.islink(tree):
        yield TREE
    else:
        yield from _markdown(root, tree, rules)


def _extra_files(root: Path, path: Path, rules: FileRules) -> Iterator[str]:
    # Two extra paths can reach the same file; without links above it, it has one path.
    plain = _without_links_above(root, path)
    try:
        mode = os.lstat(plain).st_mode
    except OSError as error:
        return _refuse(error)
    if stat.S_ISDIR(mode):
        yield from _markdown(root, plain, rules)
    elif stat.S_ISLNK(mode) or (stat.S_ISREG(mode) and plain.suffix == SUFFIX):
        yield _relative(root, plain)
    else:
        raise InputError(f"The extra path {path} is no folder and no {SUFFIX} file.", "Leave it out.")


def _relative(root: Path, path: str | Path) -> str:
    return os.path.relpath(path, root).replace(os.sep, "/")


def _markdown(root: Path, top: Path, rules: FileRules) -> Iterator[str]:
    too_deep: list[str] = []

    def on_error(error: OSError) -> None:
        if error.errno == errno.ENAMETOOLONG:
            too_deep.append(error.filename)
        else:
            _refuse(error)

    for folder, names in _walk(top, rules, on_error):
        inside = _relative(root, folder)
        yield from (name if inside == "." else f"{inside}/{name}" for name in names)
    yield from (_relative(root, folder) for folder in too_deep)  # so that reading one says what is wrong


def _walked(top: Path, rules: FileRules) -> Iterator[Path]:
    return iter(()) if os.path.islink(top) else (Path(folder) for folder, _ in _walk(top, rules))


def _walk(
    top: Path, rules: FileRules, on_error: Callable[[OSError], None] | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Every folder from `top` down that counts, with the names of its Markdown files."""
    for folder, below, files in os.walk(top, onerror=on_error):
        # A folder with a note's name is listed like a note, so that reading it says what is wrong.
        yield folder, [name for name in (*files, *below) if name.endswith(SUFFIX)]
        seen = [name for name in below if rules.every_folder or not name.startswith(".")]
        below[:] = [name for name in seen if not name.endswith(SUFFIX)]


def _refuse(error: OSError) -> None:
    """A folder that does not exist has no files. One that cannot be read is an error, not an empty folder."""
    if isinstance(error, PermissionError):
        raise InputError(
            f"{error.filename} cannot be read.",
            f"Give yourself access: chmod u+rx {shlex.quote(error.filename)}",
        ) from None
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise InputError(
            f"{error.filename} cannot be read: {error.strerror}.",
            "Check the disk, then index again.",
        ) from None

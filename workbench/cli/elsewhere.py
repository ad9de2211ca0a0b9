"""A file that was asked for and is not in the folder that is searched: where it is instead."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from shlex import quote
from unicodedata import normalize

from workbench.errors import InputError
from workbench.memory.choices import extra_paths_of
from workbench.memory.files import SUFFIX, location_in_extra, location_of, read_document
from workbench.memory.index import MemoryIndex, OpenIndex
from workbench.memory.index_files import default_index_path

LEVELS = 2
"""How many folders above the searched one are looked at for the one that was meant."""


def path_in(index: OpenIndex, memory: str, target: str) -> str:
    """The index's path of the file `target`.

    It may be typed as the file lies on disk beside `memory`, or otherwise than the index has it, if one file
    alone is meant (`_meant_by`). Raises InputError for a folder.
    """
    root = Path(memory)
    if not root.is_dir() or index.rows_of(target).size:
        return target
    if (root / target).is_dir():
        raise InputError(f"{target} is a folder, and no file.", "Name one of its files.")
    if _is_in(root, root / target):
        return Path(os.path.relpath(os.path.normpath(root.resolve() / target), root.resolve())).as_posix()
    typed = _beside(root, Path(os.path.abspath(target)))
    return typed if index.rows_of(typed).size else _meant_by(target, index.paths()) or target


LINK = re.compile(r"\[\[([^\]#|]+)[^\]]*\]\]")
"""A link of a wiki: a name, and perhaps a heading and other words."""
PLACE = re.compile(r":\d+(-\d+)?$|(?<=\.md)#.*$", re.IGNORECASE)
"""What may stand behind a path: lines, as a search prints them, or a heading. A name may have a # itself."""


def _meant_by(target: str, paths: Sequence[str]) -> str:
    """The one path that is meant by a target, or whose name is; empty for none, and for several.

    The target may have other capitals, accents as one character or as two, a place behind it, the brackets of
    a link, the slashes of Windows, and no ending.
    """
    wanted = _plain(PLACE.sub("", LINK.sub(r"\1", target.strip()).replace("\\", "/")))
    every = {path: _plain(path) for path in paths}
    same = [path for path, plain in every.items() if plain == wanted]
    named = [path for path, plain in every.items() if PurePosixPath(plain).name == wanted]
    return next((found[0] for found in (same, named) if len(found) == 1), "")


def _plain(path: str) -> str:
    return normalize("NFC", path).casefold().removesuffix(SUFFIX)


def outside(target: str, memory: str, index: OpenIndex) -> InputError | None:
    """What is said of a file that is there, but not in the searched folder `memory`; None for others.

    Looked at are the folders above it and beside it, and the path as it was typed.
    """
    root = Path(memory)
    if not root.is_dir() or _is_in(root, root / target) or index.rows_of(target).size:
        return None
    if any(PurePosixPath(one).name == target for one in index.paths()):
        return None  # the file of that name in the memory is nearer than one beside it
    unread = index.unread_near(target)
    if unread is not None and unread.path == target:
        return None  # such as a link: it is in the memory, and the index knows why it is not read
    for file in _places(root, target):
        if file.is_file() and not _is_in(root, file):
            known = _beside(root, file)
            if index.rows_of(known).size:
                return InputError(
                    f"The index has no {target}, but {known}.", f"Ask for it: --target {quote(known)}"
                )
            extra = _extra(root, index)
            if location_in_extra(root, file, extra) is not None:
                problem = f"{file} is there, and not in the index of {root}, which is to read its folder."
            else:
                problem = f"{file} is there, but its folder is not part of this memory, {root}."
            return InputError(problem, _remedy(file, root, index, extra))
    return None


def waiting(target: str, index: OpenIndex) -> str:
    """What is said of a file of the memory whose text is not indexed yet; empty for any other file."""
    if not isinstance(index, MemoryIndex) or index.root is None or target not in index.changed():
        return ""
    if not os.path.lexists(index.root / target):
        return ""  # it was deleted
    if any(one.path == target for one in index.documents()):
        told = f"{target} had no text when it was indexed, and has changed since."
        return f"{told} Update the index: {index.update_command}"
    told = f"{index.root / target} is there, and not in the index yet. Add it: {index.update_command}"
    location = location_of(index.root, target, _extra(index.root, index))
    former = index.former_name(read_document(location, target).hash)
    return f"{told}\nIt was renamed since: the index has the same text as {former}." if former else told


def nowhere(target: str, index: OpenIndex) -> str:
    """What is said of a file that is not in the memory's folder; empty where that cannot be seen."""
    if not isinstance(index, MemoryIndex) or index.root is None or os.path.lexists(index.root / target):
        return ""
    return f"The index has no such file, and there is none at {os.path.normpath(index.root / target)}."


def _remedy(file: Path, root: Path, index: OpenIndex, known: Sequence[str]) -> str:
    """The command that reads the file's folder with the memory, and the memory that has it already."""
    if file.suffix != SUFFIX:
        return f"No {file.suffix or 'such'} file is read beside a memory: convert it to Markdown ({SUFFIX})."
    ways = []
    if isinstance(index, MemoryIndex):
        # A folder with the memory in it would bring all that lies around the memory, too.
        more = file if root.resolve().is_relative_to(file.parent) else file.parent
        listed = location_in_extra(root, file, known) is not None
        extra = [*known, *([] if listed else [str(more)])]
        every = " ".join(f"--extra {quote(one)}" for one in extra)
        ways.append(f"Read it with the others: workbench index {index.command_options} {every}")
    for folder in file.parents:
        if default_index_path(folder).exists():
            inside = f"-m {quote(str(folder))} --target {quote(file.relative_to(folder).as_posix())}"
            ways.append(f"{'or s' if ways else 'S'}earch the memory that has it: {inside}")
            break
    return (
        "\n  ".join(ways) or f"Index its folder, and search that: workbench index {quote(str(file.parent))}"
    )


def _extra(root: Path, index: OpenIndex) -> Sequence[str]:
    """The files and folders that the index reads beside the memory."""
    return extra_paths_of(root, Path(index.store.name)) if isinstance(index, MemoryIndex) else ()


def _beside(root: Path, file: Path) -> str:
    """A file's path from the memory's folder, as an index names a file of --extra."""
    return Path(os.path.relpath(file, root.resolve())).as_posix()


def _is_in(root: Path, file: Path) -> bool:
    return root.resolve() in file.resolve().parents and file.exists()


def _places(root: Path, target: str) -> Iterator[Path]:
    """Where the file may lie that was meant."""
    if not {".."}.isdisjoint(Path(target).parts):  # as a path beside the memory is written
        yield Path(os.path.normpath(root.resolve() / target))
    elif not Path(target).is_absolute():
        above = root.resolve().parents
        yield from (folder / target for folder in (*above[:LEVELS], *_folders(above[0])))
    yield Path(os.path.abspath(target))


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(one for one in folder.iterdir() if one.is_dir())
    except OSError:  # a folder that may be searched, and not listed
        return []

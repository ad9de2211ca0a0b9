"""A file that was asked for and is not in the folder that is searched: where it is instead."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from workbench.errors import InputError
from workbench.memory.choices import extra_paths_of
from workbench.memory.files import SUFFIX
from workbench.memory.index import MemoryIndex, OpenIndex

LEVELS = 2
"""So many folders above the searched one may be the one that was meant."""


def check_inside(target: str, memory: str, index: OpenIndex) -> None:
    """Raises InputError for a file that is there, but outside the folder `memory`, which is searched.

    Looked at are the folders above it and beside it, and the path as it was typed.
    """
    root = Path(memory)
    if not root.is_dir() or _is_in(root, root / target) or index.rows_of(target).size:
        return
    for folder, file in _places(root, target):
        if not file.is_file() or _is_in(root, file):
            continue
        raise InputError(
            f"{file} is there, but outside the folder that is searched, {root}.",
            _remedy(folder, file, root, index),
        )


def _remedy(folder: Path, file: Path, root: Path, index: OpenIndex) -> str:
    """The folder to search instead, and the command that reads a note with those of the searched one."""
    found = [
        f"Search the folder that has it: -m {shlex.quote(str(folder))} "
        f"--target {shlex.quote(str(file.relative_to(folder)))}"
    ]
    if file.suffix == SUFFIX and isinstance(index, MemoryIndex):
        known = extra_paths_of(root, Path(index.store.name))
        extra = " ".join(f"--extra {shlex.quote(one)}" for one in (*known, str(file)))
        found.append(f"read it with the others: workbench index {index.command_options} {extra}")
    return "\n  Or ".join(found)


def _is_in(root: Path, file: Path) -> bool:
    return root.resolve() in file.resolve().parents and file.exists()


def _places(root: Path, target: str) -> Iterator[tuple[Path, Path]]:
    """Folders that may have been meant, each with the file in it."""
    if not {".."}.isdisjoint(Path(target).parts):  # as a path beside the memory is written
        beside = Path(os.path.normpath(root.resolve() / target))
        yield beside.parent, beside
    elif not Path(target).is_absolute():
        above = root.resolve().parents
        for folder in (*above[:LEVELS], *_folders(above[0])):
            yield folder, folder / target
    typed = Path(os.path.abspath(target))
    yield typed.parent, typed


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(one for one in folder.iterdir() if one.is_dir())
    except OSError:  # a folder that may be searched, and not listed
        return []

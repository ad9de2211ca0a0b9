"""The index of a folder behind a search, with the folder: commands and copies need both."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from workbench.contracts import Index
from workbench.memory.files import FileLocation, open_below
from workbench.memory.index import MemoryIndex, OpenIndex
from workbench.retrieval.index_adapters import innermost


class FolderIndex(NamedTuple):
    """An index that was opened by its folder, and the folder."""

    opened: MemoryIndex
    root: Path


def index_of_folder(index: Index) -> FolderIndex | None:
    """The index below all adapters with its folder; None for one that was opened without a folder."""
    inner = innermost(index)
    if isinstance(inner, MemoryIndex) and inner.root is not None:
        return FolderIndex(inner, inner.root)
    return None


def index_command(index: Index) -> str:
    """The command that brings the index below all adapters up to date, with its folder where it has one.

    The folder is named while the command is built: a name of a file, which anybody may have chosen, can have
    any word in it, and what is put in its place would stand inside its quotes.
    """
    inner = innermost(index)
    return inner.update_command if isinstance(inner, OpenIndex) else "workbench index FOLDER"


def is_inside(path: str) -> bool:
    """Whether a file of an index is in its folder, and not one that is read beside it."""
    return not Path(path).is_absolute() and ".." not in Path(path).parts


def copy_notes(root: Path, paths: Iterable[str], into: Path) -> None:
    """Copies files of a folder, which keep their paths. Raises OSError for one that cannot be read."""
    for relative in map(Path, paths):
        (into / relative).parent.mkdir(parents=True, exist_ok=True)
        with open_below(FileLocation(root, relative.parts)) as note:
            (into / relative).write_bytes(note.read())

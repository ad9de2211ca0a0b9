"""The indexes in the cache folder: of which memory each is, how large and how old, and how to remove one."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from workbench.errors import InputError, WorkbenchError
from workbench.memory.choices import index_home
from workbench.memory.store.sqlite import place as builds
from workbench.memory.store.sqlite.place import alone
from workbench.memory.store.sqlite.store import Store
from workbench.safe_text import counted
from workbench.views.text import Table, numbers, rich_table

HELD_SECONDS = 1.0
"""How long `remove_index` waits for a process that is using the index."""

UNFINISHED = "not finished: the first run is under way or was interrupted; the next one goes on from here"

UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


@dataclass(frozen=True)
class IndexInfo:
    """One index of the cache folder.

    `folder` is the memory that it was made from, empty where the index does not say. `size` is in bytes and
    `age` in seconds since the last change. `problem` says why it cannot be read, empty if it can.
    """

    name: str
    folder: str
    size: int
    age: float
    files: int
    problem: str = ""

    @property
    def gone(self) -> bool:
        """Whether the memory's folder does not exist any more."""
        return bool(self.folder) and not Path(self.folder).is_dir()


def known_indexes(home: Path | None = None) -> list[IndexInfo]:
    """Every index in the cache folder, or in `home`, by name; also one whose first build was interrupted."""
    folder = home or index_home()
    return [_info(folder / name) for name in sorted(builds.index_names(folder))] if folder.is_dir() else []


def _info(path: Path) -> IndexInfo:
    parts = [path, *_parts(path)]
    looks = [os.lstat(one) for one in parts if one.exists() or one.is_symlink()]
    size, changed = sum(one.st_size for one in looks), max(one.st_mtime for one in looks)
    age = max(0.0, time.time() - changed)
    if not path.exists():
        return IndexInfo(path.name, "", size, age, 0, UNFINISHED)
    try:
        with Store.open(path) as store, store.reading():
            return IndexInfo(path.name, store.folder, size, age, len(store.stamps()))
    except WorkbenchError as error:
        return IndexInfo(path.name, "", size, age, 0, error.problem)


def _parts(path: Path) -> list[Path]:
    """The files that belong to the index at `path` beside it: builds, and what SQLite puts beside them."""
    return [one for one in path.parent.iterdir() if one.name.startswith(f"{path.name}.build-")]


def remove_index(name: str, home: Path | None = None) -> int:
    """Removes the index of that name from the cache folder, or from `home`; returns how many bytes it had.

    The memory itself is not touched. Raises InputError for a name that is not there, and StorageError while
    another process uses the index.
    """
    found = {one.name: one for one in known_indexes(home)}
    if name not in found:
        raise InputError(f"There is no index {name}.", f"See all: {', '.join(found) or 'there are none'}.")
    path = (home or index_home()) / name
    with alone(path, HELD_SECONDS):
        path.unlink(missing_ok=True)
        builds.remove([*builds.leftovers(path), *(path.with_name(name + end) for end in builds.BESIDE)])
    return found[name].size


def total_size(indexes: Sequence[IndexInfo]) -> int:
    """The bytes of several indexes together."""
    return sum(one.size for one in indexes)


def indexes_table(indexes: Sequence[IndexInfo]) -> RenderableType:
    """One line per index: its name, the memory's folder, size, age and state."""
    rows = [
        (one.name, one.folder or "not known", f"{one.size / 1e6:.1f} MB", age_text(one.age), state(one))
        for one in indexes
    ]
    return rich_table(Table("", ["index", "memory", *numbers("size", "changed"), "state"], rows))


def state(one: IndexInfo) -> str:
    """Whether an index can be read, and whether its memory is still there."""
    if one.problem:
        return one.problem
    return counted(one.files, "file") + ("; the memory's folder is gone" if one.gone else "")


def age_text(seconds: float) -> str:
    """An age in its largest unit.

    >>> age_text(5), age_text(200_000)
    ('just now', '2 days ago')
    """
    for unit, length in UNITS:
        count = int(seconds // length)
        if count:
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"


def index_data(one: IndexInfo) -> dict[str, Any]:
    """An index for JSON: size in bytes, age in seconds; folder and problem are null where there is none."""
    return {
        "name": one.name,
        "folder": one.folder or None,
        "gone": one.gone,
        "bytes": one.size,
        "age_seconds": round(one.age),
        "files": one.files,
        "problem": one.problem or None,
    }

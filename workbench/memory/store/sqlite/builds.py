"""Builds a new index beside the old one, and replaces the old one in a single rename.

The path of an index is a link to the build in use, `NAME.build-…` in the same folder. SQLite follows the
link before it names the -wal and -shm files, so each build has its own. A database that is renamed over
another one would use the other's -wal, which would destroy it. An index from before there were builds is a
plain file; the first rebuild replaces it with a link.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable
from pathlib import Path

from workbench.memory.store.errors import unwritable

BUILD = re.compile(r"(?P<index>.+)\.build-[0-9a-f]{8}(?P<end>|-wal|-shm|-journal|\.link)")
BESIDE = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite creates beside a database."""


def new_build(path: Path) -> Path:
    """The path for the next build of the index at `path`."""
    return path.with_name(f"{path.name}.build-{secrets.token_hex(4)}")


def publish(build: Path, path: Path) -> None:
    """Makes `build` the index at `path` in one rename. Processes that have the old one open keep it."""
    link = build.with_name(f"{build.name}.link")
    try:
        link.symlink_to(build.name)
        os.replace(link, path)
        _settle(path.parent)
    except OSError as error:
        raise unwritable(path, error) from None


def _settle(folder: Path) -> None:
    """Waits until the rename is on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def leftovers(path: Path) -> list[Path]:
    """The files of builds that are not in use: unfinished or replaced."""
    used = os.readlink(path) if path.is_symlink() else None
    names = [name for name in os.listdir(path.parent) if _is_build_of(path, name)]
    if used is not None:  # a plain file may have stood at the path before
        names += [path.name + end for end in BESIDE]
    in_use = {f"{used}{end}" for end in ("", *BESIDE)}
    return [path.with_name(name) for name in sorted(names) if name not in in_use]


def _is_build_of(path: Path, name: str) -> bool:
    match = BUILD.fullmatch(name)
    return match is not None and match["index"] == path.name


def index_names(folder: Path) -> set[str]:
    """The names of all indexes in a folder, with those whose first build is not finished."""
    matches = (BUILD.fullmatch(name) for name in os.listdir(folder))
    return {path.name for path in folder.glob("*.sqlite")} | {match["index"] for match in matches if match}


def databases(files: Iterable[Path]) -> list[Path]:
    """The database files among the files of builds."""
    return [file for file in files if (match := BUILD.fullmatch(file.name)) and not match["end"]]


def remove(files: Iterable[Path]) -> None:
    """Deletes those of the files that exist."""
    for file in files:
        file.unlink(missing_ok=True)

"""An index is made anew beside the old one, and takes its place in one rename.

At the path of an index stands a link to the build in use, `NAME.build-…` in the same folder. SQLite follows
the link before it names the -wal and -shm files, so that each build has its own; a database renamed over
another would be given the other's -wal, and be destroyed by it. An index from before there were builds is a
plain file, which the first rebuild replaces with a link.
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
"""What SQLite may put beside a database, by the end of its name."""


def new_build(path: Path) -> Path:
    """Where the next build of the index at `path` is to be made."""
    return path.with_name(f"{path.name}.build-{secrets.token_hex(4)}")


def publish(build: Path, path: Path) -> None:
    """Makes `build` the index at `path`, in one rename; whoever has the old one open keeps it."""
    link = build.with_name(f"{build.name}.link")
    try:
        link.symlink_to(build.name)
        os.replace(link, path)
        _settle(path.parent)
    except OSError as error:
        raise unwritable(path, error) from None


def _settle(folder: Path) -> None:
    """The rename is on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def leftovers(path: Path) -> list[Path]:
    """The files of builds that are not in use: given up, killed in the middle, or replaced."""
    used = os.readlink(path) if path.is_symlink() else None
    names = [name for name in os.listdir(path.parent) if _is_build_of(path, name)]
    if used is not None:  # a plain file may have stood at the path before
        names += [path.name + end for end in BESIDE]
    in_use = {f"{used}{end}" for end in ("", *BESIDE)}
    return [path.with_name(name) for name in sorted(names) if name not in in_use]


def _is_build_of(path: Path, name: str) -> bool:
    match = BUILD.fullmatch(name)
    return match is not None and match["index"] == path.name


def databases(files: Iterable[Path]) -> list[Path]:
    """Those of a build's files that are the database itself."""
    return [file for file in files if (match := BUILD.fullmatch(file.name)) and not match["end"]]


def remove(files: Iterable[Path]) -> None:
    """Deletes what is there of these files."""
    for file in files:
        file.unlink(missing_ok=True)

"""Copies the notebooks and the sample memory of an installed workbench to a folder of the user."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from workbench.errors import InputError
from workbench.memory.files import replaced
from workbench.safe_text import counted

NOTEBOOKS, MEMORY = "notebooks", "sample_memory"
FOLDERS = (NOTEBOOKS, MEMORY)
PACKAGE = Path(__file__).parent.parent
BUNDLE = PACKAGE / "_bundled" if (PACKAGE / "_bundled").is_dir() else PACKAGE.parent
"""The folder that holds FOLDERS: inside the installed package, or the root of a clone."""


@dataclass(frozen=True)
class Copied:
    """The result of a copy: the files added to `folder`, and the user's files that differ from the bundle."""

    folder: Path
    added: tuple[str, ...]
    differing: tuple[str, ...]

    def __str__(self) -> str:
        said = [f"{self.folder}: added {counted(len(self.added), 'file')}, and overwrote none."]
        if self.differing:
            said.append(f"Kept your versions of: {', '.join(self.differing)}.")
            said.append("To get this release's versions, rename yours and run the command again.")
        said.append(f"Commands use this memory after: cd {shlex.quote(str(self.folder))}")
        return "\n".join(said)


def copy_to(folder: Path) -> Copied:
    """Copies the notebooks and the sample memory to `folder`. Existing files are never changed.

    Raises InputError when there is nothing to copy, and when the folder cannot be used.
    """
    names = list(_names())
    if not names:
        raise InputError(f"There are no notebooks in {BUNDLE}.", "Install the workbench again.")
    try:
        added = tuple(name for name in names if _add(BUNDLE / name, folder / name))
        differing = tuple(name for name in names if _differ(BUNDLE / name, folder / name))
    except OSError as error:
        raise InputError(
            f"{error.filename or folder} cannot be used: {error.strerror}.",
            "Name another folder: workbench lab --to FOLDER",
        ) from None
    return Copied(folder, added, differing)


def unused(folder: Path) -> Path:
    """The folder, or the first of FOLDER-2, FOLDER-3, … that does not exist."""
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in count(2))
    return folder if not folder.exists() else next(one for one in numbered if not one.exists())


def _names() -> Iterator[str]:
    """The bundle's files in order, without hidden folders such as JupyterLab's checkpoints."""
    for folder in FOLDERS:
        for path in sorted((BUNDLE / folder).rglob("*")):
            name = path.relative_to(BUNDLE)
            if path.is_file() and not any(part.startswith(".") for part in name.parts):
                yield name.as_posix()


def _add(source: Path, target: Path) -> bool:
    """Copies `source` to `target` if that does not exist; returns whether it did."""
    if target.exists() or target.is_symlink():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    with replaced(target, overwrite=False) as file:
        file.write(source.read_bytes().decode())
    return True


def _differ(source: Path, target: Path) -> bool:
    return not target.is_file() or target.read_bytes() != source.read_bytes()

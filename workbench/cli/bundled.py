"""What travels with an installed workbench: the notebooks and the sample memory, copied to where you work."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from workbench.errors import InputError

NOTEBOOKS, MEMORY = "notebooks", "sample_memory"
FOLDERS = (NOTEBOOKS, MEMORY)
PACKAGE = Path(__file__).parent.parent
BUNDLE = PACKAGE / "_bundled" if (PACKAGE / "_bundled").is_dir() else PACKAGE.parent
"""Where FOLDERS are: inside an installed package, the project's own in a clone."""


@dataclass(frozen=True)
class Copied:
    """What copying did: the files added to `folder`, and those that were there and are not the bundle's."""

    folder: Path
    added: tuple[str, ...]
    kept: tuple[str, ...]

    def __str__(self) -> str:
        said = [f"{self.folder}: {len(self.added)} files added, nothing overwritten."]
        if self.kept:
            said.append(f"Kept yours, which differ from this version's: {', '.join(self.kept)}.")
            said.append("For this version's, rename yours and run this again.")
        said.append(f"Every command finds this memory after: cd {shlex.quote(str(self.folder))}")
        return "\n".join(said)


def copy_to(folder: Path) -> Copied:
    """Adds what `folder` lacks of the notebooks and the sample memory; a file that exists stays as it is.

    Raises InputError when there is nothing to copy, and when the folder cannot be used.
    """
    names = list(_names())
    if not names:
        raise InputError(f"There are no notebooks in {BUNDLE}.", "Install the workbench anew.")
    try:
        added = tuple(name for name in names if _add(BUNDLE / name, folder / name))
        kept = tuple(name for name in names if _differ(BUNDLE / name, folder / name))
    except OSError as error:
        raise InputError(
            f"{error.filename or folder} cannot be used: {error.strerror}.",
            "Name another folder: workbench lab --to FOLDER",
        ) from None
    return Copied(folder, added, kept)


def _names() -> Iterator[str]:
    """The bundle's files in order, without what JupyterLab and the like leave in hidden folders."""
    for folder in FOLDERS:
        for path in sorted((BUNDLE / folder).rglob("*")):
            name = path.relative_to(BUNDLE)
            if path.is_file() and not any(part.startswith(".") for part in name.parts):
                yield name.as_posix()


def _add(source: Path, target: Path) -> bool:
    """Whether `target` was missing, and is now there, whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    data = source.read_bytes()
    try:
        file = target.open("xb")
    except FileExistsError:
        return False
    try:
        with file:
            file.write(data)
    except OSError:
        with suppress(OSError):
            target.unlink()
        raise
    return True


def _differ(source: Path, target: Path) -> bool:
    return not target.is_file() or target.read_bytes() != source.read_bytes()

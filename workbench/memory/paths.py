"""Which paths belong to a memory: its files, their folders, and extra paths beside the memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from workbench.errors import InputError
from workbench.memory.files import Place

HEADS = ("MEMORY.md", "memory.md")
TREE = "memory"
SUFFIX = ".md"


@dataclass(frozen=True)
class FileRules:
    """Which files of a folder are its memory: these heads, and the Markdown below memory/.

    With `anywhere`, all Markdown of a folder that has no head and no memory/ is its memory. With
    `every_folder`, hidden folders count too. Raises InputError for a head that is not the name of a Markdown
    file.
    """

    heads: tuple[str, ...] = HEADS
    anywhere: bool = True
    every_folder: bool = False

    def __post_init__(self) -> None:
        for head in self.heads:
            if "/" in head or not head.endswith(SUFFIX):
                raise InputError(
                    f"{head!r} is not the name of a Markdown file.", "Give one, as MEMORY.md is."
                )


GENERAL = FileRules()
"""The workbench's own rules."""


def is_memory_path(path: str) -> bool:
    """Whether a path, relative to the workspace, is MEMORY.md, memory.md or something below memory/.

    Dots and slashes at its beginning do not count, so `../memory/a.md` passes: the code that opens the file
    has to refuse `..`. Source: openclaw 2026.2.13, src/memory/internal.ts, isMemoryPath.
    """
    plain = path.strip().lstrip("./").replace("\\", "/")
    return plain in HEADS or plain.startswith(f"{TREE}/")


def extra_paths(root: Path, given: Iterable[str]) -> list[Path]:
    """The extra paths as absolute paths without repetitions, in their order; links are not resolved.

    Source: openclaw 2026.2.13, src/memory/internal.ts, normalizeExtraMemoryPaths.
    """
    named = [one.strip() for one in given]
    return list(dict.fromkeys(Path(os.path.normpath(root / one)) for one in named if one))


def place_of(root: Path, path: str, extra: Iterable[str] = ()) -> Place:
    """Where a path of `list_files` lies. Raises InputError for one outside the memory and its extra paths."""
    if not path.startswith("../"):
        return Place(root, tuple(path.split("/")))
    place = place_beside(root, Path(os.path.normpath(root / path)), extra)
    if place is None:
        raise InputError(f"{path} lies outside the memory and its extra paths.", "Name it with --extra.")
    return place


def place_beside(root: Path, file: Path, extra: Iterable[str]) -> Place | None:
    """Where an absolute path lies that an extra path allows; None for one that none of them allows.

    An extra path is its owner's choice, so links above it are followed. Inside the memory, and from the
    extra path on, no link is.
    """
    for path in extra_paths(root, extra):
        plain = _without_links_above(root, path)
        if file.is_relative_to(plain):
            top = root if plain.is_relative_to(root) else plain.parent
            return Place(top, file.relative_to(top).parts)
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
    if not found:
        raise InputError(
            f"The folder {root} holds no Markdown: no {rules.heads[0]}, no memory/*.md"
            f"{', no other *.md' if rules.anywhere else ''}.",
            "Give the folder that holds MEMORY.md, or write a first note into it.",
        )
    return sorted(found)


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
    for folder, names in _walk(top, rules, _refuse):
        inside = _relative(root, folder)
        yield from (name if inside == "." else f"{inside}/{name}" for name in names)


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
            f"Give yourself access: chmod u+rx {error.filename}",
        ) from None
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise InputError(
            f"{error.filename} cannot be read: {error.strerror}.",
            "Check the disk, then index again.",
        ) from None

"""The files beside a memory that no index of it reads: each with the reason, and what would read it."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath

from workbench.errors import InputError
from workbench.memory.files import GENERAL, SUFFIX, TREE, FileRules, list_files, location_of, read_document
from workbench.safe_text import counted

NOTES = (
    ".markdown",
    ".mdown",
    ".mdx",
    ".txt",
    ".text",
    ".org",
    ".rst",
    ".adoc",
    ".html",
    ".pdf",
    ".docx",
    ".odt",
    ".rtf",
)
"""Endings of files in which people keep notes."""
CLOUD = f"{SUFFIX}.icloud"
NO_NOTES = {"node_modules", "__pycache__", ".git", ".venv", "venv"}
MOST = 20_000
"""The largest number of files of a folder that are looked at; a home folder has more."""

MOST_REFUSED = 2
"""The largest number of refused files that are all named, each with its command; of more, only the first."""


@dataclass(frozen=True)
class Unread:
    """A file that is not read: its path, why in words that follow "files", and what would read it.

    `refused` marks one that `workbench index` leaves out; with `--no-skip` it is an error. Its `why` is a
    sentence.
    """

    path: str
    why: str
    remedy: str
    refused: bool = False

    @property
    def reason(self) -> str:
        """Why this file is not read, without a full stop."""
        if self.refused:
            return self.why.rstrip(".")
        return f"{self.path} is not read: it is a {self.kind} {_of_one(self.why)}"

    @property
    def advice(self) -> str:
        """What would read this file."""
        return self.remedy if self.refused else _of_one(self.remedy)

    def __str__(self) -> str:
        return f"{'Not read: ' if self.refused else ''}{self.reason}. {self.advice}"

    @property
    def kind(self) -> str:
        """What such a file is called in a sentence."""
        return {ADD: "Markdown file", FOLDERS: "link"}.get(self.remedy, "file")


def unread_files(
    root: Path, known: Collection[str], extra: Iterable[str] = (), rules: FileRules = GENERAL
) -> list[Unread]:
    """The files of notes in a memory's folder that are not `known`, and that no indexing would read."""
    extra = tuple(extra)
    try:
        listed = set(list_files(root, extra, rules))
    except InputError:
        listed = set()
    found = [_other(path, root) for path in _walked(root) if path not in listed]
    refused = [_refused(root, path, extra) for path in sorted(listed - {*known})]
    return [one for one in (*found, *refused) if one is not None]


def unread_lines(unread: Iterable[Unread]) -> list[str]:
    """A line for each reason: `12 Markdown files outside memory/ are not read (--extra . reads them)`."""
    ordered = sorted(unread, key=lambda one: (one.why, one.path))
    refused = [one for one in ordered if one.refused]
    ordered = [one for one in ordered if not one.refused]
    lines = [str(one) for one in refused]
    if len(refused) > MOST_REFUSED:
        lines = [f"{len(refused)} files are not read. The first: {refused[0].why} {refused[0].remedy}"]
    for (why, remedy), group in groupby(ordered, key=lambda one: (one.why, one.remedy)):
        first, *others = group
        count = counted(1 + len(others), first.kind)
        many = f"{count} {why} are not read (such as {first.path}). {remedy}"
        lines.append(many if others else str(first))
    return lines


FORMS = (
    ("that end ", "that ends "),
    ("that are ", "that is "),
    ("hidden folders", "a hidden folder"),
    ("to folders", "to a folder"),
    ("them so that they end ", "it so that it ends "),
    ("them once, so that they are ", "it once, so that it is "),
    ("Move them ", "Move it "),
    ("Convert them ", "Convert it "),
    ("into them.", "into it."),
)
"""Words about many files, and the same about one."""


def _of_one(why: str) -> str:
    """What is said of files, said of one file."""
    for many, one in FORMS:
        why = why.replace(many, one)
    return why


def near_target(target: str, unread: Sequence[Unread]) -> Unread | None:
    """The file that is meant by `target`: of its path, of one that is written alike, or of its name."""
    wanted = _plain(target)
    name = PurePosixPath(wanted).name
    ways: tuple[Callable[[Unread], bool], ...] = (
        lambda one: one.path == target,
        lambda one: _plain(one.path) == wanted,
        lambda one: one.remedy == FOLDERS and target.startswith(f"{one.path}/"),
        lambda one: PurePosixPath(_plain(one.path)).name == name,
    )
    for fits in ways:
        found = next((one for one in unread if fits(one)), None)
        if found is not None:
            return found
    return None


def _plain(path: str) -> str:
    """A path without its endings, in small letters of one form, and without dots that hide a folder."""
    text = unicodedata.normalize("NFC", path).casefold().removesuffix(".icloud")
    stem = text.rpartition(".")[0] if "." in PurePosixPath(text).name.lstrip(".") else text
    stem = stem.removesuffix(SUFFIX)  # of a name with two endings, such as tea.md.txt
    return "/".join(part.lstrip(".") for part in stem.split("/") if part not in ("", "."))


def _walked(root: Path) -> Iterator[str]:
    count = 0
    for folder, below, names in os.walk(root):
        below[:] = sorted(name for name in below if name not in NO_NOTES)
        inside = os.path.relpath(folder, root).replace(os.sep, "/")
        linked = [name for name in below if os.path.islink(os.path.join(folder, name))]
        for name in sorted([*names, *linked]):
            count += 1
            if count > MOST:
                return
            yield name if inside == "." else f"{inside}/{name}"


TRANSCRIPT = ".jsonl"
MESSAGES = 'Each message is a line: {"type": "message", "message": {"role": "user", "content": …}}'
ADD = "--extra . reads them."
A_LINK = "Links are not followed."
FOLDERS = "Links are not followed: --extra PATH reads the folder itself."
RENAME = "Rename them so that they end in .md."


def _other(path: str, root: Path) -> Unread | None:
    """Why a file is not among those that an index reads; None for one that is no note."""
    name = PurePosixPath(path).name
    small = name.lower()
    if os.path.isdir(root / path):
        return Unread(path, "to folders", FOLDERS)
    hidden = any(part.startswith(".") for part in PurePosixPath(path).parts[:-1])
    if small.endswith(CLOUD):
        return Unread(path, "that are not downloaded from iCloud", "Open them once, so that they are here.")
    if hidden and small.endswith(SUFFIX):
        return Unread(path, "in hidden folders", "Move them into a folder without a dot before its name.")
    if name.endswith(SUFFIX):
        link = os.path.islink(root / path)
        return Unread(path, f"outside {TREE}/", A_LINK) if link else Unread(path, f"outside {TREE}/", ADD)
    if small.endswith(SUFFIX):
        return Unread(path, f"that end in {name[-len(SUFFIX) :]} instead of {SUFFIX}", RENAME)
    ending = PurePosixPath(small).suffix
    if ending in NOTES:
        how = RENAME if ending in (".markdown", ".mdown", ".txt", ".text") else "Convert them to Markdown."
        return None if hidden else Unread(path, f"that end in {ending}", how)
    return None


def _refused(root: Path, path: str, extra: Iterable[str]) -> Unread | None:
    """Why a file that is listed cannot be read; None for one that can, and only waits to be indexed."""
    try:
        document = read_document(location_of(root, path, extra), path)
    except InputError as error:
        return Unread(path, error.problem, error.remedy, refused=True)
    if not document.text.strip():
        return without_text(path)
    return None


def without_text(path: str) -> Unread:
    """What is said of a file that has no text to find, whether or not an index has it."""
    if path.endswith(TRANSCRIPT):
        return Unread(path, "without a message as OpenClaw writes them", MESSAGES)
    return Unread(path, "without text", "Write something into them.")

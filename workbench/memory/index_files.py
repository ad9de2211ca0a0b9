"""The index files of a memory: the workbench's own, and one beside it for each other way to index.

Each release reads other files, cuts them otherwise, and lets its model read less or more of them. So a
release's own answers need its own index, and several indexes of one folder lie side by side.
"""

from __future__ import annotations

import glob
import hashlib
import os
from pathlib import Path

from workbench.errors import InputError, WorkbenchError
from workbench.memory.choices import extra_paths_of, index_home
from workbench.memory.embedding.local import reading_of
from workbench.memory.files import SOURCE, list_files
from workbench.memory.sources import Indexing, resized, sizes_in
from workbench.memory.store.contract import IndexStore
from workbench.memory.store.sqlite.location import SQLiteLocation
from workbench.safe_text import counted

AS = ".as-"
"""Stands before the release's name in the name of a file that is indexed as a release does it."""


def default_index_path(root: Path, release: str = "") -> Path:
    """The default place of a memory's index: the user's cache folder, or WORKBENCH_HOME if it is set.

    With the name of a release, it is the place of the index that is made as this release makes one.
    """
    digest = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:12]
    ending = f"{AS}{release}" if release else ""
    return index_home() / f"{root.resolve().name}-{digest}{ending}.sqlite"


def check_same_folder(store: IndexStore, root: Path, remedy: str) -> None:
    """Raises InputError, with this remedy, for an index of another folder that is still there.

    A folder that was moved keeps its index, and so does a copy: most of the index's files are in it.
    """
    made_of = store.provenance.folder
    if not os.path.isdir(made_of) or os.path.samefile(made_of, root):
        return
    paths = [path for path, stamp in store.stamps().items() if stamp.source == SOURCE]
    here = sum(os.path.isfile(root / path) for path in paths)
    if 2 * here < len(paths):
        files = f"of its {counted(len(paths), 'file')}, {here} {'is' if here == 1 else 'are'} in {root}"
        raise InputError(f"The index {store.name} was made of {made_of}: {files}.", remedy)


def differences(store: IndexStore, indexing: Indexing, root: Path | None = None) -> list[str]:
    """The ways in which an index differs from one that `indexing` makes.

    Other sizes of chunks are the user's own choice, and no difference. With the memory's folder `root`, other
    rules for files are a difference only if they choose other files there.
    """
    settings, chunker = store.settings, indexing.chunker
    sizes = sizes_in(settings.chunker)
    if sizes is not None and sizes_in(chunker.name) is not None:
        chunker = resized(chunker, sizes)
    found = []
    if settings.chunker != chunker.name:
        found.append("chunker")
    if store.provenance.file_rules != indexing.rules and not (root and _same_files(root, store, indexing)):
        found.append("files")
    reading = reading_of(settings.revision)
    if indexing.reading and reading is not None and reading.name != indexing.reading:
        found.append("reading of long chunks")
    if store.provenance.ties_by_row != indexing.ties_by_row:
        found.append("order of equal hits")
    return found


def _same_files(root: Path, store: IndexStore, indexing: Indexing) -> bool:
    extra = extra_paths_of(root, Path(store.name))
    try:
        return list_files(root, extra, store.provenance.file_rules) == list_files(root, extra, indexing.rules)
    except InputError:  # by one of the rules there is no file
        return False


def _is_made_so(file: Path, indexing: Indexing) -> bool:
    try:
        with SQLiteLocation(file).open() as store, store.reading():
            return not differences(store, indexing)
    except WorkbenchError:  # one that cannot be read is none that fits
        return False


def index_files(root: Path) -> list[Path]:
    """The index files of a memory in the cache folder: the workbench's own first."""
    own = default_index_path(root)
    variants = sorted(own.parent.glob(f"{glob.escape(own.stem)}{AS}*.sqlite"))
    return [*([own] if own.exists() else []), *variants]


def file_to_make(root: Path, indexing: Indexing) -> Path:
    """The file that `indexing` updates in the cache folder, or makes: its own, or another release's like it.

    Several releases index alike, and share one file.
    """
    own = default_index_path(root, indexing.name)
    if not indexing.name or own.exists():
        return own
    return next((one for one in index_files(root) if _is_made_so(one, indexing)), own)


def file_to_open(root: Path, indexing: Indexing | None = None) -> Path:
    """The index file in the cache folder that answers for a system which indexes so, or for any other.

    It is the one that is made so; else the workbench's own; else the first of the others.
    """
    known = index_files(root)
    if indexing is not None:
        own = default_index_path(root, indexing.name)
        for file in sorted(known, key=lambda one: one != own):
            if _is_made_so(file, indexing):
                return file
        if own in known:
            return own
    return known[0] if known else default_index_path(root)

"""Checks of the installation and of the indexes, and the list of indexes.

Each check says what is there, or what to do.
"""

from __future__ import annotations

import importlib.metadata
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.app import (
    SAMPLE,
    AsJson,
    IndexFile,
    Memory,
)
from workbench.cli.memory import Removal
from workbench.cli.output import print_error, print_output
from workbench.errors import InputError, WorkbenchError
from workbench.memory.addresses import SCHEME
from workbench.memory.choices import index_home
from workbench.memory.embedding.local import verified_model
from workbench.memory.embedding.named import embedder_named
from workbench.memory.files import SUFFIX, check_named_memory
from workbench.memory.index_files import file_to_open, index_files
from workbench.memory.opening import folder_of, open_index
from workbench.memory.store.contract import rebuild_command
from workbench.memory.store.sqlite import location as builds
from workbench.memory.store.sqlite.database import libraries
from workbench.memory.store.sqlite.location import alone
from workbench.memory.store.sqlite.store import Store
from workbench.safe_text import counted
from workbench.tables import Block, Column, Part, Table, hanging
from workbench_plugins.doctor.faults import facts, faults
from workbench_plugins.doctor.store_snapshot import StoreSnapshot, is_store, read_store


def doctor(
    store: Annotated[
        str | None,
        typer.Argument(
            help="A memory's folder, or a store: an index file of ours, OpenClaw's or Basic Memory's SQLite "
            "file, or a folder of Qdrant, Chroma or FAISS. It is only read."
        ),
    ] = None,
    memory: Memory = SAMPLE,
    index_file: IndexFile = None,
    notes: Annotated[
        Path | None, typer.Option("--notes", help="The folder whose files the store should hold.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="The model that made the store. Default: what it names.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check the installation and the index, or what a store holds. Exit code 1 if something is wrong."""
    snapshots = [] if store is None else held_at(store, index_file)
    findings = [check for one in snapshots for check in examine_store(one, notes, model)]
    if not snapshots:
        findings = examine(store or memory, index_file)
    print_output([one.as_json() for one in findings] if as_json else checks_view(findings), as_json)
    raise typer.Exit(0 if all(one.fine for one in findings) else 1)


def indexes(removal: Removal, as_json: AsJson = False) -> None:
    """List the indexes in the cache folder, or remove some of them. The new name: index --list."""
    remove_and_list(removal.remove or (), removal.remove_gone, as_json)


def remove_and_list(names: Iterable[str], with_gone: bool, as_json: bool) -> None:
    """Removes indexes by name, on request those of memories that are gone, and prints the others."""
    gone = [one.name for one in known_indexes() if one.gone] if with_gone else []
    for name in dict.fromkeys([*names, *gone]):
        print_error(f"removed {name}: {remove_index(name) / 1e6:.1f} MB")
    left = known_indexes()
    print_output([index_data(one) for one in left] if as_json else indexes_view(left), as_json)


@dataclass(frozen=True)
class Check:
    """The result of one check; `remedy` says what to do where the description does not."""

    what: str
    fine: bool
    description: str
    remedy: str = ""
    count: int | None = None
    of: int | None = None
    example: str | None = None
    repair: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The fields of the check; the description and the remedy are called `says`."""
        return {
            "what": self.what, "fine": self.fine,
            "says": "\n  ".join(filter(None, (self.description, self.remedy))),
            "count": self.count, "of": self.of,
            "example": self.example, "repair": self.repair,
        }  # fmt: skip


def checks_view(checks: Sequence[Check]) -> list[Part]:
    """How many checks have failed, each of these with what to do, and a table of all others."""
    failed = [one for one in checks if not one.fine]
    names = ", ".join(dict.fromkeys(one.what for one in failed))
    answer = (
        f"{len(failed)} of {counted(len(checks), 'check')} failed: {names}." if failed else "All is well."
    )
    parts: list[Part] = [Block(answer, style="bold")]
    for one in failed:
        parts.append(hanging(f"✗ {one.what}: {one.description}"))
        if one.remedy:
            parts.append(hanging(f"  {one.remedy}"))
    rows = [("✓", one.what, one.description) for one in checks if one.fine]
    return [*parts, Table("", (Column("", "whole"), Column("", "whole"), ""), rows)]


def held_at(store: str, index_path: Path | None = None) -> list[StoreSnapshot]:
    """What a store holds, or each index of a memory's folder; nothing for the address of a server."""
    check_named_memory(store)
    if SCHEME in store:
        return []
    path = Path(os.path.expanduser(store))
    if not path.exists():
        raise InputError(f"There is no {store}.", "Give a memory's folder or a store.")
    if path.is_dir() and not is_store(path):
        files = index_files(path) if index_path is None else [index_path]
        if not any(one.exists() for one in files):
            raise InputError(f"{path} has no index.", f"Index it: workbench index {shlex.quote(str(path))}")
        return [_index_of(path, one) for one in files]
    if path.suffix == SUFFIX:
        raise InputError(
            f"{store} is a note, and no store.", f"Name its folder: {shlex.quote(str(path.parent))}"
        )
    return [read_store(path)]


def _index_of(folder: Path, file: Path) -> StoreSnapshot:
    """What an index of a folder holds. A damaged one cannot say of which folder it is; its repair does."""
    snapshot = read_store(file)
    if snapshot.repair == rebuild_command(snapshot.name):
        snapshot = replace(snapshot, repair=rebuild_command(snapshot.name, shlex.quote(str(folder))))
    return replace(snapshot, folder=folder)


def examine_store(
    snapshot: StoreSnapshot, notes: Path | None = None, model: str | None = None
) -> list[Check]:
    """The faults of a store, one check each, and below them what it holds."""
    embedder = None if model is None else embedder_named(model)
    snapshot = snapshot if notes is None else replace(snapshot, folder=notes)
    found = [
        Check(
            one.kind,
            False,
            str(one),
            count=one.count,
            of=one.of,
            example=one.example,
            repair=one.repair,
        )
        for one in faults(snapshot, embedder)
    ]
    chunks, model_named = counted(len(snapshot.ids), "chunk"), snapshot.model or "no model named"
    kind = "workbench index" if snapshot.kind == "ours" else f"{snapshot.kind} store"
    description = f"{snapshot.name}: {kind}, {chunks}, {model_named}"
    return [*found, Check("store", not found, _sentences(description, *facts(snapshot)))]


def examine(memory: str | os.PathLike[str], index_path: Path | None = None) -> list[Check]:
    """Checks Python, SQLite, the model, torch, JupyterLab and the indexes."""
    checks: dict[str, Callable[[], str]] = {
        "Python": lambda: sys.version.split()[0],
        "SQLite": lambda: f"{libraries()['sqlite']}, with FTS5",
        "sqlite-vec": lambda: str(libraries()["sqlite-vec"]),
        "model": lambda: f"all-MiniLM-L6-v2 in {verified_model()}, checksum as published",
        "torch": lambda: _installed("torch"),
        "sentence-transformers": lambda: _installed("sentence-transformers"),
        "JupyterLab": lambda: _installed("jupyterlab"),
        "indexes": lambda: _summary(known_indexes()),
        "index": lambda: _memory(memory, index_path),
    }
    return [_look(what, look) for what, look in checks.items()]


def _look(what: str, look: Callable[[], str]) -> Check:
    try:
        return Check(what, True, look())
    except WorkbenchError as error:
        return Check(what, False, error.problem, error.remedy)


def _installed(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        raise InputError(f"{package} is not installed.", "Install it: pip install -e '.[lab,test]'") from None


def _memory(memory: str | os.PathLike[str], index_path: Path | None) -> str:
    folder = folder_of(memory)
    if folder is not None:
        return _index(folder, index_path)
    with open_index(memory) as index, index.snapshot():
        description = index.checked()
        return " ".join([description, *index.remarks])


def _index(memory: Path, index_path: Path | None) -> str:
    snapshot = replace(read_store(index_path or file_to_open(memory)), folder=memory)
    found = faults(snapshot)
    if found:
        first = f"{found[0].description}, {found[0].count:,}"
        raise InputError(
            f"The index {snapshot.name}: {first}.", f"See: workbench doctor {shlex.quote(str(memory))}"
        )
    files, chunks = counted(len(snapshot.hashes), "file"), counted(len(snapshot.ids), "chunk")
    made = f"{snapshot.name}: {files}, {chunks}, up to date, made by {snapshot.model} ({snapshot.revision})"
    return _sentences(made, *facts(snapshot))


def _sentences(*said: str) -> str:
    """These sentences as one text, with one full stop after each but the last."""
    return ". ".join(one.removesuffix(".") for one in said)


def _summary(known: Sequence[IndexInfo]) -> str:
    """How many indexes there are and how large they are, and what removes those of no memory."""
    gone = [one for one in known if one.gone]
    description = f"{len(known)} in {index_home()}, {total_size(known) / 1e6:.0f} MB"
    if not gone:
        return description
    return (
        f"{description}; {len(gone)} of memories that are gone ({total_size(gone) / 1e6:.0f} MB): "
        "remove them with workbench index --remove-gone"
    )


# The indexes in the cache folder

HELD_SECONDS = 1.0
"""How long `remove_index` waits for a process that is using the index."""

UNFINISHED = "not finished: the first run is under way or was interrupted; the next one goes on from here"

UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


@dataclass(frozen=True)
class IndexInfo:
    """One index of the cache folder.

    `folder` is the memory that it was made from, empty where the index does not say. `size` is in bytes and
    `age` in seconds since the last change. `problem` says why it cannot be read, empty if it can.
    `indexed_as` is the release whose way of indexing was chosen.
    """

    name: str
    folder: str
    size: int
    age: float
    files: int
    problem: str = ""
    indexed_as: str = ""

    @property
    def gone(self) -> bool:
        """Whether the memory's folder does not exist any more."""
        return bool(self.folder) and not Path(self.folder).is_dir()


def known_indexes(home: Path | None = None) -> list[IndexInfo]:
    """Every index in the cache folder, or in `home`, by name; also one whose first build was interrupted."""
    folder = home or index_home()
    return [_info(folder / name) for name in sorted(_index_names(folder))] if folder.is_dir() else []


def _index_names(folder: Path) -> set[str]:
    """The names of all indexes in a folder, with those whose first build is not finished."""
    matches = (builds.BUILD.fullmatch(name) for name in os.listdir(folder))
    return {path.name for path in folder.glob("*.sqlite")} | {match["index"] for match in matches if match}


def _info(path: Path) -> IndexInfo:
    parts = [path, *_parts(path)]
    looks = [os.lstat(one) for one in parts if one.exists() or one.is_symlink()]
    size, changed = sum(one.st_size for one in looks), max(one.st_mtime for one in looks)
    age = max(0.0, time.time() - changed)
    if not path.exists():
        return IndexInfo(path.name, "", size, age, 0, UNFINISHED)
    try:
        with Store.open(path) as store, store.reading():
            files = len(store.stamps())
            return IndexInfo(
                path.name, store.provenance.folder, size, age, files, indexed_as=store.provenance.indexed_as
            )
    except WorkbenchError as error:
        return IndexInfo(path.name, "", size, age, 0, error.problem)


def _parts(path: Path) -> list[Path]:
    """The files that belong to the index at `path`: builds, words, and what SQLite puts beside them."""
    names = f"{path.name}.build-", builds.words_file(path).name
    return [one for one in path.parent.iterdir() if one.name.startswith(names)]


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
        beside = [path.with_name(name + end) for end in builds.BESIDE]
        builds.remove([*builds.leftovers(path), *beside, *_parts(path)])
    return found[name].size


def total_size(indexes: Sequence[IndexInfo]) -> int:
    """The bytes of several indexes together."""
    return sum(one.size for one in indexes)


def indexes_view(indexes: Sequence[IndexInfo]) -> list[Part]:
    """How many there are, and for each its name, size, age and state, and below it the memory's folder."""
    parts: list[Part] = [Block(f"Indexes: {_summary(indexes)}", style="bold")]
    for one in indexes:
        parts.append(f"{one.name}  {one.size / 1e6:.1f} MB, {age_text(one.age)}, {state(one)}")
        parts.append(hanging(f"  {one.folder or 'the folder is not known'}"))
    return parts


def state(one: IndexInfo) -> str:
    """Whether an index can be read, and whether its memory is still there."""
    if one.problem:
        return one.problem
    made = f", indexed as {one.indexed_as}" if one.indexed_as else ""
    return counted(one.files, "file") + made + ("; the memory's folder is gone" if one.gone else "")


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
        "indexed_as": one.indexed_as or None,
        "problem": one.problem or None,
    }

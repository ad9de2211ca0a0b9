"""Checks of the installation and of the indexes, and the list of indexes.

Each check says what is there, or what to do.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import typer

from workbench.cli.app import SAMPLE, AsJson, IndexFile, Memory, app, shared_options
from workbench.cli.memory import Removal
from workbench.cli.output import put, tell
from workbench.errors import InputError, WorkbenchError
from workbench.memory.choices import index_home
from workbench.memory.embedding.local import verified_model
from workbench.memory.index import default_index_path
from workbench.memory.opening import folder_of, open_memory
from workbench.memory.store.sqlite.database import libraries
from workbench.memory.store.sqlite.store import Store
from workbench.safe_text import counted
from workbench_plugins.doctor.indexes import (
    index_data,
    indexes_table,
    known_indexes,
    remove_index,
    total_size,
)


@app.command()
def doctor(memory: Memory = SAMPLE, index_file: IndexFile = None, as_json: AsJson = False) -> None:
    """Check the installation and the index. Exit code 1 if something is missing."""
    findings = examine(memory, index_file)
    lines = (f"{'✓' if one.fine else '✗'} {one.what:<22} {one.says}" for one in findings)
    put([asdict(one) for one in findings] if as_json else "\n".join(lines), as_json)
    raise typer.Exit(0 if all(one.fine for one in findings) else 1)


@app.command()
@shared_options
def indexes(removal: Removal, as_json: AsJson = False) -> None:
    """List the indexes in the cache folder, or remove some of them. The new name: index --list."""
    remove_and_list(removal.remove or (), removal.remove_gone, as_json)


def remove_and_list(names: Iterable[str], with_gone: bool, as_json: bool) -> None:
    """Removes indexes by name, on request those of memories that are gone, and prints the others."""
    gone = [one.name for one in known_indexes() if one.gone] if with_gone else []
    for name in dict.fromkeys([*names, *gone]):
        tell(f"removed {name}: {remove_index(name) / 1e6:.1f} MB")
    left = known_indexes()
    put([index_data(one) for one in left] if as_json else indexes_table(left), as_json)


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    what: str
    fine: bool
    says: str


def examine(memory: str | os.PathLike[str], index_path: Path | None = None) -> list[Check]:
    """Checks Python, SQLite, the model, torch, JupyterLab and the indexes."""
    looks: dict[str, Callable[[], str]] = {
        "Python": lambda: sys.version.split()[0],
        "SQLite": lambda: f"{libraries()['sqlite']}, with FTS5",
        "sqlite-vec": lambda: str(libraries()["sqlite-vec"]),
        "model": lambda: f"all-MiniLM-L6-v2 in {verified_model()}, checksum as published",
        "torch": lambda: _installed("torch"),
        "sentence-transformers": lambda: _installed("sentence-transformers"),
        "JupyterLab": lambda: _installed("jupyterlab"),
        "indexes": _indexes,
        "index": lambda: _memory(memory, index_path),
    }
    return [_look(what, look) for what, look in looks.items()]


def _look(what: str, look: Callable[[], str]) -> Check:
    try:
        return Check(what, True, look())
    except WorkbenchError as error:
        return Check(what, False, str(error))


def _installed(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        raise InputError(f"{package} is not installed.", "Install it: pip install -e '.[lab,test]'") from None


def _memory(memory: str | os.PathLike[str], index_path: Path | None) -> str:
    folder = folder_of(memory)
    if folder is not None:
        return _index(folder, index_path)
    with open_memory(memory) as index, index.snapshot():
        says = index.checked()
        return " ".join([says, *index.remarks])


def _index(memory: Path, index_path: Path | None) -> str:
    path = index_path or default_index_path(memory)
    with Store.open(path) as store:
        problems = store.integrity()
        if problems:
            raise InputError(
                f"The index {path} is damaged: {'; '.join(problems)}.",
                "Rebuild it: workbench index FOLDER --rebuild",
            )
        made_with = store.settings
        return (
            f"{path}: {counted(len(store.stamps()), 'file')}, {counted(store.size, 'chunk')}, "
            f"{made_with.model} ({made_with.revision}), {store.read_share:.0%} of the average chunk read"
        )


def _indexes() -> str:
    known = known_indexes()
    gone = [one for one in known if one.gone]
    says = f"{len(known)} in {index_home()}, {total_size(known) / 1e6:.0f} MB"
    if not gone:
        return says
    return (
        f"{says}; {len(gone)} of memories that are gone ({total_size(gone) / 1e6:.0f} MB): "
        "remove them with workbench index --remove-gone"
    )

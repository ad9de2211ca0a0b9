"""Environment checks: each finding says what is installed, or what to do."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from workbench.errors import InputError, WorkbenchError
from workbench.memory.choices import index_home
from workbench.memory.embedding.local import packaged_model
from workbench.memory.index import default_index_path
from workbench.memory.inventory import known_indexes, total_size
from workbench.memory.store.sqlite.database import libraries
from workbench.memory.store.sqlite.store import Store
from workbench.safe_text import counted
from workbench.systems.openclaw.live.index import LiveIndex
from workbench.systems.opening import folder_of, open_memory


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
        "model": lambda: f"all-MiniLM-L6-v2 in {packaged_model()}, checksum as published",
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
        says = (
            _live(index) if isinstance(index, LiveIndex) else f"{index.name}: {counted(index.size, 'chunk')}."
        )
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
        "remove them with workbench indexes --remove-gone"
    )


def _live(index: LiveIndex) -> str:
    problems = index.store.problems()
    if problems:
        raise InputError(
            f"The store {index.name} is damaged: {'; '.join(problems)}.",
            "Let OpenClaw rebuild it: openclaw memory index --force",
        )
    files, chunks = counted(len(index.store.stamps()), "file"), counted(index.size, "chunk")
    return f"{index.name}: an OpenClaw store, {files}, {chunks}, {index.store.made_with}."

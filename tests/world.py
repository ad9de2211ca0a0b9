"""A world that fits in the head: six notes, three axes, and vectors that a person can compute."""

from __future__ import annotations

from pathlib import Path

from workbench.memory.embedding.local import ToyEmbedder
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.store.sqlite.fts5 import match_expression
from workbench.memory.sync import index_folder
from workbench.records import Query

AXES = {
    "tea": ("tea", "rooibos", "cup"),
    "bike": ("bike", "hub", "brake"),
    "server": ("server", "disk", "backup"),
}

NOTES = {
    "MEMORY.md": "# Memory\nMichael drinks rooibos after noon.\n",
    "memory/tea.md": "# Tea\nA cup of rooibos tea in the afternoon.\n",
    "memory/bike.md": "# Bike\nThe rear hub of the bike grinds, the front brake squeals.\n",
    "memory/server.md": "# Server\nThe server has a mirror: one disk failed, the backup was whole.\n",
    "memory/both.md": "# Errand\nTake the bike to the shop, drink tea while they look at the hub.\n",
    "memory/plain.md": "# Nothing\nA note about none of these.\n",
}

EMBEDDER = ToyEmbedder(AXES)


def write(root: Path, notes: dict[str, str] | None = None) -> Path:
    """The notes as files below `root`."""
    for path, text in (NOTES if notes is None else notes).items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


def build(folder: Path, notes: dict[str, str] | None = None) -> MemoryIndex:
    """The notes, written and indexed under `folder`."""
    root, file = write(folder / "memory_of_wren", notes), folder / "index.sqlite"
    index_folder(root, EMBEDDER, options=Options(index_path=file))
    return open_index(root, EMBEDDER, index_path=file)


def written(expression: str) -> Query:
    """A query that is written in FTS5's own syntax."""
    return Query(expression=expression)


def compiled(query: Query | None) -> str | None:
    """The MATCH expression of a query; None for no query."""
    return match_expression(query) if query else None

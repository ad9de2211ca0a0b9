"""The index of a folder behind a search, with the folder: commands and copies need both."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from workbench.contracts import Index
from workbench.memory.index import MemoryIndex
from workbench.retrieval.index_adapters import innermost


class FolderIndex(NamedTuple):
    """An index that was opened by its folder, and the folder."""

    opened: MemoryIndex
    root: Path


def folder_index(index: Index) -> FolderIndex | None:
    """The index below all adapters with its folder; None for one that was opened without a folder."""
    inner = innermost(index)
    if isinstance(inner, MemoryIndex) and inner.root is not None:
        return FolderIndex(inner, inner.root)
    return None

"""The indexes of one folder, side by side: each system is searched in the one that its release would make."""

from __future__ import annotations

from pathlib import Path

from workbench.contracts import Index
from workbench.memory.choices import is_default_path
from workbench.memory.files import memory_root
from workbench.memory.index import MemoryIndex
from workbench.memory.index_files import file_to_open
from workbench.memory.sources import Indexing


class Indexes:
    """An open index, and with `beside` the other indexes of its folder, which are opened when one is needed.

    An index that the user has named, and one that was opened without its folder, answers for all systems.
    `close` closes what was opened here, and not the index that was given.
    """

    def __init__(self, base: Index, beside: bool = False) -> None:
        self.base = base
        root = base.root if beside and isinstance(base, MemoryIndex) else None
        self._root = root if root is not None and is_default_path(Path(base.name)) else None
        self._opened: dict[str, MemoryIndex] = {}

    def of(self, indexing: Indexing | None) -> Index:
        """The index that is made so. Raises InputError or StorageError for one that cannot be opened."""
        if self._root is None or indexing is None:
            return self.base
        file = str(file_to_open(memory_root(self._root), indexing))
        if file == self.base.name:
            return self.base
        if file not in self._opened:
            self._opened[file] = MemoryIndex.open(Path(file), root=self._root)
        return self._opened[file]

    def close(self) -> None:
        """Closes the indexes that were opened here."""
        for one in self._opened.values():
            one.close()
        self._opened.clear()

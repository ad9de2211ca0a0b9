"""Vectors that are remembered while one state of a store is read: they are written when it has been left."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress

from workbench.memory.store.errors import UnwritableError
from workbench.memory.store.values import Cached, Settings


class PutOffWrites(ABC):
    """The embedding cache of a store that cannot write while it reads one state."""

    _waiting: dict[tuple[Settings, str], dict[str, Cached]] | None = None

    @property
    @abstractmethod
    def writable(self) -> bool:
        """Whether the store can be written."""

    @abstractmethod
    def remember(self, settings: Settings, role: str, found: Mapping[str, Cached]) -> None:
        """Keeps vectors by model, revision, role, and the hash of their exact text."""

    @contextmanager
    def putting_off(self, reading: AbstractContextManager[None]) -> Iterator[None]:
        """Reads one state; what `put_off` takes meanwhile is written at the end, if the store can be written.

        A question that has been answered does not fail because the cache has no room.
        """
        self._waiting = {}
        try:
            with reading:
                yield
            found = self._waiting
        finally:
            self._waiting = None
        if found and self.writable:
            with suppress(UnwritableError):
                for (settings, role), vectors in found.items():
                    self.remember(settings, role, vectors)

    def put_off(self, settings: Settings, role: str, found: Mapping[str, Cached]) -> bool:
        """Whether these vectors wait for the end of the reading; False when nothing is being read."""
        if self._waiting is None:
            return False
        self._waiting.setdefault((settings, role), {}).update(found)
        return True

    def waiting(self, settings: Settings, role: str, wanted: Sequence[str]) -> dict[str, Cached]:
        """The vectors of these text hashes that are not written yet."""
        found = (self._waiting or {}).get((settings, role), {})
        return {hash_: found[hash_] for hash_ in wanted if hash_ in found}

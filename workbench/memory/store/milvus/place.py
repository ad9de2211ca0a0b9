"""Where an index is kept in Milvus: collections with a common prefix; the catalogue names the build."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from filelock import FileLock, Timeout

from workbench.memory.choices import index_home
from workbench.memory.store.contract import IndexPlace
from workbench.memory.store.errors import DamagedError, LockedError
from workbench.memory.store.milvus import catalogue
from workbench.memory.store.milvus.address import MilvusAddress
from workbench.memory.store.milvus.catalogue import State
from workbench.memory.store.milvus.session import MilvusSession
from workbench.memory.store.milvus.store import MilvusStore
from workbench.memory.store.values import Settings

KINDS = ("chunks", "documents")


class MilvusPlace(IndexPlace):
    """The collections of one index. A rebuild fills new ones; one write to the catalogue replaces the old."""

    scratch = None

    def __init__(self, address: MilvusAddress) -> None:
        self.address = address

    @property
    def name(self) -> str:
        return self.address.name

    @contextmanager
    def _session(self) -> Iterator[MilvusSession]:
        session = MilvusSession(self.address)
        try:
            yield session
        finally:
            session.close()

    def exists(self) -> bool:
        with self._session() as session:
            return catalogue.read(session) is not None

    @contextmanager
    def alone(self, wait: float) -> Iterator[None]:
        """Holds a lock file on this machine; Milvus has no locks, so other machines are not kept out."""
        home = index_home()
        home.mkdir(parents=True, exist_ok=True)
        lock = FileLock(home / f"milvus-{hashlib.sha256(self.name.encode()).hexdigest()[:16]}.lock")
        try:
            lock.acquire(timeout=wait)
        except Timeout:
            raise LockedError(
                f"Another process has been indexing into {self.name} for more than {wait:g} s.",
                "Try again when it is done.",
            ) from None
        try:
            yield
        finally:
            lock.release()

    def open(self) -> MilvusStore:
        return MilvusStore(self.address)

    @contextmanager
    def updating(self) -> Iterator[MilvusStore]:
        with self.open() as store:
            self._drop_other_builds(store, store.state.build)
            store.undo(store.generation)
            store.purge()
            yield store

    @contextmanager
    def rebuilding(self, settings: Settings) -> Iterator[MilvusStore]:
        with self._session() as session, suppress(DamagedError):
            known = catalogue.read(session)
            self._drop_other_builds(session, known.build if known else "")
        generation = time.time_ns()
        state = State(f"b{generation}", generation, 1, settings)
        with _Building(self.address, state) as store:
            store.create()
            yield store
            catalogue.write(store, store.state)
            self._drop_other_builds(store, state.build)

    def _drop_other_builds(self, session: MilvusSession, build: str) -> None:
        """Removes the collections of other builds: unfinished ones, and the one that was replaced."""
        prefix = f"{self.address.prefix}_b"
        for name in session.client.list_collections():
            kind = name.rpartition("_")[2]
            if name.startswith(prefix) and kind in KINDS and name != f"{self.address.prefix}_{build}_{kind}":
                session.drop(name)

    def stored_sources(self) -> set[str]:
        with suppress(DamagedError), self._session() as session:
            if catalogue.read(session) is None:
                return set()
        with self.open() as store:
            return {stamp.source for stamp in store.stamps().values()}


class _Building(MilvusStore):
    """A build that the catalogue does not name yet: its state is kept here until it is complete."""

    @property
    def state(self) -> State:
        return self._pinned or self._state

    @contextmanager
    def writing(self) -> Iterator[None]:
        if self._depth:
            yield
            return
        before = self._state
        self._pinned, self._depth = before.changed(generation=before.generation + 1), 1
        try:
            yield
            self._state = self._pinned
        except BaseException:
            self.undo(before.generation)
            raise
        finally:
            self._pinned, self._depth = None, 0

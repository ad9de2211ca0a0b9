"""Where a SQLite index is kept: its file, the lock beside it, and the builds that replace it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from workbench.errors import InputError
from workbench.memory.store.contract import IndexPlace
from workbench.memory.store.errors import DamagedError, UnwritableError, unwritable
from workbench.memory.store.sqlite import builds
from workbench.memory.store.sqlite.database import plain_errors
from workbench.memory.store.sqlite.lock import alone, held_by
from workbench.memory.store.sqlite.store import Store
from workbench.memory.store.values import Settings


def make_folder(folder: Path) -> None:
    """Makes the folder for an index if it does not exist. Raises StorageError when that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None


class SQLitePlace(IndexPlace):
    """An index file. A rebuild writes a new file beside it, and replaces it by one rename."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        return str(self.path)

    def exists(self) -> bool:
        return self.path.exists()

    def alone(self, wait: float) -> AbstractContextManager[None]:
        """Holds the lock file, in a folder that it makes if need be."""
        make_folder(self.path.parent)
        return alone(self.path, wait)

    @property
    def scratch(self) -> Path:
        return self.path.parent

    def open(self) -> Store:
        return Store.open(self.path)

    @contextmanager
    def updating(self) -> Iterator[Store]:
        with Store.open(self.path) as store, plain_errors(self.path):
            _clear_up(builds.leftovers(self.path), store)
            yield store

    @contextmanager
    def rebuilding(self, settings: Settings) -> Iterator[Store]:
        old = [self.path] if self.path.exists() else []
        left, build = builds.leftovers(self.path), builds.new_build(self.path)
        try:
            with Store.create(build, settings) as store:
                with ExitStack() as stack:
                    for one in old:
                        store.borrow(_lender(stack, one))
                        with suppress(DamagedError):  # a rebuild is the remedy for a damaged index
                            store.take_cache(one)
                    _clear_up(left, store)
                    yield store
                    store.borrow(None)
                for one in old:
                    with suppress(DamagedError):
                        store.take_chunks(one, left=True)
                        store.forget_texts_of(one)
                store.settle()
            builds.publish(build, self.path)
        except UnwritableError:
            builds.remove(builds.leftovers(self.path))
            raise
        builds.remove(builds.leftovers(self.path))

    def missing(self, folder: str) -> InputError:
        """The error for a memory without an index: says whether the first is in the making or broken off."""
        remedy = f"Make one: workbench index {folder}"
        if holder := held_by(self.path):
            says, remedy = f"{holder} is making the first one", "Search again when it is done."
        elif self.path.parent.is_dir() and builds.databases(builds.leftovers(self.path)):
            says = "the run that made the first one was interrupted"
            remedy = f"Go on: workbench index {folder}. It embeds only what is missing."
        else:
            says = f"there is no index at {self.path}"
        return InputError(f"The memory {folder} has no index yet: {says}.", remedy)

    def stored_sources(self) -> set[str]:
        if not self.path.exists():
            return set()
        with suppress(DamagedError), Store.open(self.path, any_version=True) as old:
            if old.of_this_version:
                with old.reading():
                    return {stamp.source for stamp in old.stamps().values()}
        return set()


def _clear_up(left: Sequence[Path], store: Store) -> None:
    """Removes the files of unfinished rebuilds, after taking their vectors into the cache of `store`."""
    try:
        for file in builds.databases(left):
            with suppress(DamagedError):
                store.take_cache(file)
                store.take_chunks(file)
    finally:
        builds.remove(left)


def _lender(stack: ExitStack, file: Path) -> Store | None:
    """The index that is rebuilt, for its vectors; None for a damaged one, and for another version."""
    with suppress(DamagedError):
        opened = stack.enter_context(Store.open(file, any_version=True))
        return opened if opened.of_this_version else None
    return None

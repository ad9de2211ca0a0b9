"""Watches a folder and syncs it when its files have changed and are quiet again, without missing a change.

Each folder is watched separately, for its own entries. A recursive watch would follow links out of the
memory, and would miss files written into a new folder before that folder is watched.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Protocol

import watchfiles

from workbench.errors import InputError
from workbench.memory import files as paths
from workbench.memory.files import is_utf8

if TYPE_CHECKING:
    from workbench_plugins.openclaw.sessions import Pending, Sessions, Thresholds

QUIET = 1.5
"""Seconds without a change before a sync, as in openclaw 2026.2.13."""
PATIENCE = 20
"""A sync starts after this many quiet times even if files keep changing."""
RETRIES = (5.0, 10.0, 20.0, 40.0, 60.0)
"""Seconds before each retry of a failed sync; the last value is used for all further retries."""
TICK_MS = 250


@dataclass
class Timing:
    """When a sync is due, in seconds of the caller's clock: at the start, then after changes and failures."""

    quiet: float = QUIET
    at: float | None = float("-inf")
    first_change: float | None = None
    failures: int = 0

    def changed(self, now: float) -> None:
        """A file has changed: the sync waits until all is quiet, but only so long."""
        if self.first_change is None:
            self.first_change = now
        self.at = min(now + self.quiet, self.first_change + PATIENCE * self.quiet)

    def due(self, now: float) -> bool:
        """Whether a sync should start now."""
        return self.at is not None and now >= self.at

    def begun(self) -> None:
        """A sync starts: changes from now on need another one."""
        self.at = self.first_change = None

    def succeeded(self) -> None:
        """The sync succeeded."""
        self.failures = 0

    def failed(self, now: float) -> None:
        """The sync failed: it is tried again, even if nothing changes."""
        self.at = now + RETRIES[min(self.failures, len(RETRIES) - 1)]
        self.failures += 1


class Scope(Protocol):
    """What is watched."""

    def folders(self) -> set[Path]:
        """The existing folders in which a watched file can appear."""

    def counts(self, path: Path) -> bool:
        """Whether a change of this file needs a sync."""


@dataclass(frozen=True)
class Notes:
    """The notes of a memory and of extra paths beside it."""

    root: Path
    extra: Sequence[str] = ()
    rules: paths.FileRules = paths.GENERAL

    def folders(self) -> set[Path]:
        return paths.folders(self.root, self.extra, self.rules)

    def counts(self, path: Path) -> bool:
        return path.suffix == paths.SUFFIX


@dataclass(frozen=True)
class Transcripts:
    """Transcripts in an absolute folder: one counts when enough was added to it, or when it was deleted."""

    source: Sessions
    thresholds: Thresholds
    pending: dict[Path, Pending] = field(default_factory=dict)

    def folders(self) -> set[Path]:
        return {self.source.folder} if os.path.isdir(self.source.folder) else set()

    def counts(self, path: Path) -> bool:
        if path.parent != self.source.folder or path.suffix != ".jsonl":
            return False
        from workbench_plugins.openclaw.sessions import Pending

        try:
            before = self.pending.get(path) or Pending()
            self.pending[path] = before.now(path, self.thresholds)
        except OSError:
            return True  # deleted or unreadable: the sync reports it
        return self.pending[path].enough(self.thresholds)

    def syncing(self) -> None:
        """A sync starts and reads every transcript as it is now: nothing is pending any more."""
        from workbench_plugins.openclaw.sessions import Pending

        self.pending.clear()
        for path, look in self.source.stamps().items():
            self.pending[self.source.folder / Path(path).name] = Pending(look.size)


@dataclass
class Watcher:
    """Calls `sync` at the start, and again each time that files have changed and are quiet again.

    An exception of `sync` goes to `failed`, unless its message is the same as the last one. The sync is
    tried again after some seconds, or after the next change.
    """

    scopes: Sequence[Scope]
    sync: Callable[[], object]
    failed: Callable[[Exception], object]
    timing: Timing = field(default_factory=Timing)
    last_error: str = field(default="", init=False)

    def run(self, stop: Event) -> None:
        """Watches until `stop` is set. Raises InputError when the system cannot watch that many folders."""
        while not stop.is_set():
            folders = self._folders()
            with closing(_changes(folders, stop)) as changes:
                self._follow(changes, folders)

    def _folders(self) -> set[Path]:
        return set().union(*(scope.folders() for scope in self.scopes))

    def _follow(self, changes: Iterable[set[Path]], folders: set[Path]) -> None:
        """Syncs whenever a sync is due; returns when a folder was added or removed, to watch anew first."""
        moved = False
        for changed in changes:
            came_or_went = any(path in folders or _is_folder(path) for path in changed)
            moved = moved or came_or_went
            if came_or_went or any(scope.counts(path) for path in changed for scope in self.scopes):
                self.timing.changed(time.monotonic())
            if self.timing.due(time.monotonic()):
                if moved or self._folders() != folders:
                    return
                self._sync()

    def _sync(self) -> None:
        self.timing.begun()
        try:
            self.sync()
        except Exception as error:
            self.timing.failed(time.monotonic())
            if str(error) != self.last_error:
                self.failed(error)
            self.last_error = str(error)
        else:
            self.timing.succeeded()
            self.last_error = ""


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path) and not path.name.startswith(".")


def _changes(folders: set[Path], stop: Event) -> Generator[set[Path]]:
    """The changed paths, if any, every quarter of a second; changes between two calls are not lost."""
    try:
        for changes in watchfiles.watch(
            *(folder for folder in folders if is_utf8(str(folder))),
            recursive=False,
            watch_filter=None,
            debounce=TICK_MS,
            rust_timeout=TICK_MS,
            yield_on_timeout=True,
            stop_event=stop,
            ignore_permission_denied=True,
        ):
            yield {Path(path) for _, path in changes}
    except FileNotFoundError:  # a folder was deleted since it was listed
        stop.wait(TICK_MS / 1000)
    except OSError as error:
        raise InputError(
            f"The system cannot watch {len(folders)} folders: {error}",
            "Raise fs.inotify.max_user_watches, or set WATCHFILES_FORCE_POLLING=1 to poll them instead.",
        ) from None

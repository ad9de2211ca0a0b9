"""Reads OpenClaw's own memory file, even while OpenClaw writes to it; never writes to it.

A file with a rollback journal is locked against writers while a state of it is held, so each state is
released soon. A file in WAL mode that nobody has open is opened as immutable: otherwise SQLite would create a
-wal and a -shm file beside it, and leave them there. Afterwards we check that it did not change. A file that
OpenClaw has open is read through its -wal and -shm files. If OpenClaw ends meanwhile, these stay until its
next start. Source: openclaw 2026.2.13, src/memory/memory-schema.ts; later releases:
packages/memory-host-sdk/src/host/memory-schema.ts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import apsw

from workbench.errors import InputError, StorageError, WorkbenchError
from workbench.memory.store.contract import DamagedError, LockedError, stopped_after
from workbench.memory.store.sqlite.database import BUSY_SECONDS, Identity, identity, typed

META = "memory_index_meta_v1"
KEYWORDS_ALONE = "fts-only"
"""OpenClaw's model name for an index without vectors."""


@dataclass(frozen=True)
class TableNames:
    """OpenClaw's names for the tables of a memory."""

    meta: str
    files: str
    chunks: str
    full_text: str


LAYOUTS = (
    TableNames("memory_index_meta", "memory_index_sources", "memory_index_chunks", "memory_index_chunks_fts"),
    TableNames("meta", "files", "chunks", "chunks_fts"),
)
"""The tables in the agent's database (newer releases), and in a separate memory file (older releases)."""

CHUNK_COLUMNS = {"id", "path", "source", "start_line", "end_line", "model", "text", "embedding"}
FILE_COLUMNS = {"path", "source", "hash", "mtime", "size"}

ColumnTypes = Sequence[type | tuple[type, ...]]
"""The types of the values in each column of a query."""


@dataclass(frozen=True)
class MadeWith:
    """The model that a store names for its vectors, and their dimensions if it names them."""

    provider: str
    model: str
    dimensions: int | None = None

    @property
    def has_vectors(self) -> bool:
        return self.model != KEYWORDS_ALONE

    def __str__(self) -> str:
        return self.model if self.provider in ("", "local") else f"{self.provider}/{self.model}"


class FileState(NamedTuple):
    """Properties of a file that change with its content, and that can be read without opening it."""

    which: Identity
    size: int
    mtime_ns: int


class Connection(NamedTuple):
    """An open store: the identity of its file, and the file's state if it was opened as immutable."""

    db: apsw.Connection
    seen: Identity
    frozen: FileState | None


class LiveStore:
    """An OpenClaw memory that is open for reading, in one thread at a time.

    Raises InputError for a file that is not a SQLite file or not an OpenClaw memory, and for an unknown
    layout; StorageError for a file that is damaged, locked or unreadable. `generation` grows with every
    change that `hold` finds.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.generation = 0
        self._version: int | None = None
        self._now = self._connect()
        try:
            self.hold()
            self.release()
        except WorkbenchError:
            self.close()
            raise

    def close(self) -> None:
        self._now.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # the file

    def _connect(self) -> Connection:
        while True:
            seen = identity(self.path)
            if seen is None:
                raise InputError(f"There is no file {self.path}.", "Check the path; it is case-sensitive.")
            with self._plain_errors():
                db, frozen = self._opened("immutable=1"), self._look()
                if not self._rests(db):
                    db.close()
                    db, frozen = self._opened("mode=ro"), None
            if identity(self.path) == seen:
                return Connection(db, seen, frozen)
            db.close()  # meanwhile OpenClaw has replaced it by a new file

    def _opened(self, how: str) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        db = apsw.Connection(f"{self.path.resolve().as_uri()}?{how}", flags=flags)
        db.set_busy_timeout(int(BUSY_SECONDS * 1000))
        db.pragma("trusted_schema", False)  # the file may come from elsewhere
        return db

    def _rests(self, db: apsw.Connection) -> bool:
        """Whether the file is in WAL mode and nobody has it open."""
        _, header = db.read("main", 0, 0, 20)
        return header[18:19] == b"\x02" and not self._has_wal()

    def _has_wal(self) -> bool:
        real = self.path.resolve()
        return real.with_name(f"{real.name}-wal").exists()

    def _look(self) -> FileState | None:
        try:
            info = self.path.stat()
        except OSError:
            return None
        return FileState((info.st_dev, info.st_ino), info.st_size, info.st_mtime_ns)

    def _follow(self) -> None:
        """Opens the file again if it was replaced, or if somebody has opened an immutable one."""
        replaced = identity(self.path) not in (self._now.seen, None)
        woken = self._now.frozen is not None and (self._has_wal() or self._look() != self._now.frozen)
        if replaced or woken:
            fresh = self._connect()
            self.close()
            self._now, self._version = fresh, None

    def check_unchanged(self) -> None:
        """Raises InputError if a file that was opened as immutable has changed."""
        if self._now.frozen is not None and self._look() != self._now.frozen:
            raise InputError(f"OpenClaw changed {self.path} while it was being read.", "Search again.")

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        try:
            yield
        except apsw.NotADBError:
            raise InputError(
                f"{self.path} is not a SQLite file.", "Give a memory's folder, or OpenClaw's SQLite file."
            ) from None
        except (apsw.CorruptError, UnicodeDecodeError) as error:
            self.check_unchanged()
            raise self.damaged(str(error)) from None
        except (apsw.SQLError, apsw.MismatchError) as error:
            raise self._unknown(str(error)) from None
        except apsw.BusyError:
            raise LockedError(
                f"Another process has been writing to the store {self.path} for more than {BUSY_SECONDS} s.",
                "Try again when it has finished.",
            ) from None
        except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError, apsw.PermissionsError) as error:
            raise StorageError(
                f"The store {self.path} cannot be read without writing to it: {error}.",
                "If OpenClaw was killed while it wrote, start it once to repair it; or check permissions.",
            ) from None

    def time_limit(self, seconds: float) -> AbstractContextManager[None]:
        """Stops a search that takes longer. Raises InputError then."""
        return stopped_after(seconds, lambda: self._now.db.interrupt(), apsw.InterruptError)

    def damaged(self, problem: str) -> DamagedError:
        """The error of a store whose content cannot be right."""
        return DamagedError(
            f"The store {self.path} is damaged: {problem}.",
            "Let OpenClaw rebuild it: openclaw memory index --force",
        )

    # one state of the file

    def hold(self) -> None:
        """Holds the latest state of the store until `release`; does nothing if a state is already held."""
        if self._now.db.in_transaction:
            return
        self._follow()
        try:
            self._all("BEGIN")
            self._all("SELECT 1 FROM sqlite_schema")  # the first read fixes the state
            (version,) = self._all("PRAGMA data_version")[0]
            if version != self._version:
                self.layout = self._layout()
                self.made_with = self._made_with()
                self.full_text = self._full_text()
                self._version = version
                self.generation += 1
        except WorkbenchError:
            self.release()
            raise

    def release(self) -> None:
        """Releases the state that is held."""
        if self._now.db.in_transaction:
            self._all("ROLLBACK")

    def rows(self, sql: str, types: ColumnTypes = (), **values: Any) -> list[Any]:
        """The rows of a query of the state that is held.

        Names such as `{chunks}` stand for the layout's tables, `:model` for the model that the store names.
        Raises DamagedError for a value that is not of its column's type.
        """
        values["model"] = self.made_with.model
        found = self._all(sql.format(**vars(self.layout)), values)
        return [(*row,) for row in typed(found, types, self.damaged)] if types else found

    def _all(self, sql: str, values: Any = None) -> list[Any]:
        with self._plain_errors():
            return self._now.db.execute(sql, values).fetchall()

    # its layout and its model

    def tables(self) -> set[str]:
        """The names of the store's tables."""
        return {name for (name,) in self._all("SELECT name FROM sqlite_schema WHERE type = 'table'")}

    def _layout(self) -> TableNames:
        tables = self.tables()
        for layout in LAYOUTS:
            if {layout.meta, layout.files, layout.chunks} <= tables:
                self._check_columns(layout.files, FILE_COLUMNS)
                self._check_columns(layout.chunks, CHUNK_COLUMNS)
                return layout
        raise InputError(
            f"{self.path} is not an OpenClaw memory: it does not have its tables.",
            "Give OpenClaw's file: ~/.openclaw/memory/AGENT.sqlite, or "
            "~/.openclaw/agents/AGENT/agent/openclaw-agent.sqlite in newer releases.",
        )

    def _check_columns(self, table: str, needed: set[str]) -> None:
        found = {name for (name,) in self._all("SELECT name FROM pragma_table_info(?)", (table,))}
        if lacking := sorted(needed - found):
            raise self._unknown(f"its table {table} has no column {lacking[0]}")

    def _unknown(self, what: str) -> InputError:
        return InputError(
            f"The store {self.path} comes from an OpenClaw release that is not supported: {what}.",
            "Index the memory's folder instead: workbench index FOLDER",
        )

    def _made_with(self) -> MadeWith:
        known = dict(self._all(f"SELECT key, value FROM {self.layout.meta}"))
        newer = [key for key in known if str(key).startswith(META[:-1])]
        if META not in known and newer:
            raise self._unknown(f"it describes itself as {newer[0]}")
        try:
            found = json.loads(known[META])
            dimensions = found.get("vectorDims")
            return MadeWith(
                str(found.get("provider", "")),
                str(found["model"]),
                dimensions if isinstance(dimensions, int) else None,
            )
        except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
            raise InputError(
                f"The store {self.path} does not name its model: it has never been indexed completely.",
                "Let OpenClaw index it: openclaw memory index --force",
            ) from None

    def _full_text(self) -> bool:
        """Whether the store has a full-text index that the SQLite used here can search."""
        if self.layout.full_text not in self.tables():
            return False
        with self._plain_errors():
            try:
                self._now.db.execute(f"SELECT rowid FROM {self.layout.full_text} LIMIT 1").fetchall()
            except apsw.SQLError:  # its tokenizer exists only in OpenClaw's SQLite
                return False
        return True

    def problems(self) -> list[str]:
        """The problems that SQLite's integrity check finds; empty for an intact store."""
        return [said for (said,) in self._all("PRAGMA integrity_check") if said != "ok"]

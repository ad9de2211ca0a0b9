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
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import apsw
import numpy as np

from workbench.errors import InputError, StorageError, WorkbenchError
from workbench.memory.store.errors import DamagedError, LockedError
from workbench.memory.store.sqlite.database import BUSY_SECONDS, Identity, identity, stopped_after
from workbench.memory.store.sqlite.match import match_expression
from workbench.memory.store.sqlite.soundness import typed
from workbench.memory.store.values import Stamp
from workbench.records import Chunk, Document, Hits, Query, Rows
from workbench.systems.openclaw.annotations import Annotations
from workbench.systems.openclaw.live.texts import whole_text

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
FILE_TYPES = (str, str, int, (int, float), str)
LATEST_MS = 1e15

RECALL = "memory_index_chunk_recall_metadata"
"""The table of annotations, which only the agent's database has."""
RECALL_TYPES = (str, (float, int, type(None)), (str, type(None)), (str, type(None)))

KEYWORD_SQL = """
    WITH found AS MATERIALIZED (
        SELECT id, bm25({full_text}) AS raw FROM {full_text} WHERE {full_text} MATCH ? AND model = ?
    )
    SELECT chunks.rowid, min(raw) AS best FROM found JOIN {chunks} AS chunks ON chunks.id = found.id
    GROUP BY chunks.rowid ORDER BY best, chunks.id LIMIT ?
"""
# The segments of one very long line can share an id: they are one chunk, but several full-text rows.

CHUNKS_SQL = """
    SELECT rowid, id, path, source, start_line, end_line, text FROM {chunks}
    WHERE rowid IN (SELECT value FROM json_each(?))
"""


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
            raise self._damaged(str(error)) from None
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
        return stopped_after(seconds, lambda: self._now.db)

    def _damaged(self, problem: str) -> DamagedError:
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

    def _all(self, sql: str, *values: Any) -> list[Any]:
        with self._plain_errors():
            return self._now.db.execute(sql, values).fetchall()

    def _from(self, sql: str, *values: Any) -> list[Any]:
        """The rows of a query in which names such as `{chunks}` stand for the layout's tables."""
        return self._all(sql.format(**vars(self.layout)), *values)

    # its layout and its model

    def _tables(self) -> set[str]:
        return {name for (name,) in self._all("SELECT name FROM sqlite_schema WHERE type = 'table'")}

    def _layout(self) -> TableNames:
        tables = self._tables()
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
        found = {name for (name,) in self._all("SELECT name FROM pragma_table_info(?)", table)}
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
        if self.layout.full_text not in self._tables():
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

    # its content; all chunks here belong to the model that the store names

    @property
    def size(self) -> int:
        """The number of chunks."""
        return int(self._from("SELECT count(*) FROM {chunks} WHERE model = ?", self.made_with.model)[0][0])

    @property
    def of_other_models(self) -> int:
        """The number of chunks of other models, which are not searched."""
        return int(self._from("SELECT count(*) FROM {chunks} WHERE model <> ?", self.made_with.model)[0][0])

    def keyword(self, query: Query, limit: int) -> Hits:
        """The chunks that match a query, by (bm25, chunk id); none without a full-text index."""
        asked = match_expression(query), self.made_with.model, limit
        found = self._from(KEYWORD_SQL, *asked) if self.full_text else []
        return Hits(np.array([row for row, _ in found], np.int64), np.array([raw for _, raw in found], float))

    def embeddings(self) -> list[tuple[int, str, Any]]:
        """The row, the id and the stored vector of every chunk."""
        rows = self._from("SELECT rowid, id, embedding FROM {chunks} WHERE model = ?", self.made_with.model)
        return [(*row,) for row in typed(rows, (int, str, object), self._damaged)]

    def texts(self) -> list[tuple[int, str, str]]:
        """The row, the id and the text of every chunk."""
        rows = self._from("SELECT rowid, id, text FROM {chunks} WHERE model = ?", self.made_with.model)
        return [(*row,) for row in typed(rows, (int, str, str), self._damaged)]

    def chunks(self, rows: Rows) -> list[Chunk]:
        """The chunks of these rows, in their order."""
        stored = self._from(CHUNKS_SQL, json.dumps(rows.tolist()))
        sound = typed(stored, (int, str, str, str, int, int, str), self._damaged)
        found = {row: Chunk(*fields) for row, *fields in sound}
        return [found[row] for row in rows.tolist()]

    def rows_of(self, path: str) -> Rows:
        """The rows of a file's chunks, in the file's order."""
        found = self._from(
            "SELECT rowid FROM {chunks} WHERE path = ? AND model = ? ORDER BY start_line, end_line, rowid",
            path,
            self.made_with.model,
        )
        return np.array([row for (row,) in found], np.int64)

    def annotations(self) -> dict[str, Annotations]:
        """The annotations that OpenClaw stores, by chunk id; older releases store none."""
        if RECALL not in self._tables():
            return {}
        rows = self._all(
            f"SELECT chunk_id, importance, triggers, project_key FROM {RECALL} "
            "WHERE coalesce(importance, triggers, project_key) IS NOT NULL"
        )
        return {id_: Annotations(*said) for id_, *said in typed(rows, RECALL_TYPES, self._damaged)}

    def stamps(self) -> dict[str, Stamp]:
        """Every file's stamp by path, as OpenClaw recorded it."""
        rows = self._from("SELECT path, hash, size, mtime, source FROM {files} ORDER BY path")
        found = {}
        for path, hash_, size, mtime, source in typed(rows, FILE_TYPES, self._damaged):
            if not abs(mtime) < LATEST_MS:
                raise self._damaged(f"the time of {path} is {mtime}")
            found[path] = Stamp(hash_, size, int(mtime * 1e6), source)
        return found

    def documents(self) -> list[Document]:
        """All files by path, with texts joined from their chunks."""
        pieces: dict[str, list[tuple[int, int, str]]] = {}
        rows = self._from(
            "SELECT path, start_line, end_line, text FROM {chunks} WHERE model = ? "
            "ORDER BY path, start_line, end_line, rowid",
            self.made_with.model,
        )
        for path, *piece in typed(rows, (str, int, int, str), self._damaged):
            pieces.setdefault(path, []).append(tuple(piece))
        return [
            Document(path, one.source, whole_text(pieces.get(path, [])), one.hash, one.size, one.mtime_ns)
            for path, one in self.stamps().items()
        ]

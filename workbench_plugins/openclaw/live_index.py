"""OpenClaw's own memory file as an index: its keyword search, with its own vectors or ours.

The file is read even while OpenClaw writes to it, and never written. A file with a rollback journal is locked
against writers while a state of it is held, so each state is released soon. A file in WAL mode that nobody
has open is opened as immutable: otherwise SQLite would create a -wal and a -shm file beside it, and leave
them there. Afterwards we check that it did not change. A file that OpenClaw has open is read through its -wal
and -shm files. If OpenClaw ends meanwhile, these stay until its next start.

A question is embedded with the model that the store names. If that model is not available, the workbench
never switches to another one silently: you can have the chunks re-embedded with a local model. These vectors
are kept in a separate index file by the hash of the text, so after a change only new texts are embedded.

Source: openclaw 2026.2.13, src/memory/memory-schema.ts; later releases:
packages/memory-host-sdk/src/host/memory-schema.ts.
"""

from __future__ import annotations

import json
import os
import shlex
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import apsw
import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from workbench.errors import InputError, StorageError, WorkbenchError
from workbench.memory.addresses import Opener
from workbench.memory.choices import check_model
from workbench.memory.embedding.cache import embed_through_cache
from workbench.memory.embedding.local import PACKAGED_MODEL, Embedder, LocalEmbedder, unit
from workbench.memory.files import SUFFIX, TREE, content_hash
from workbench.memory.guard import LONGEST_VALUE, check_plain, check_tables
from workbench.memory.index import OpenIndex
from workbench.memory.index_files import default_index_path
from workbench.memory.sources import whole_characters
from workbench.memory.store.contract import (
    DamagedError,
    LockedError,
    Settings,
    Stamp,
    hits_of,
    stopped_after,
    unknown_row,
)
from workbench.memory.store.scan import Scan
from workbench.memory.store.sqlite.database import BUSY_SECONDS, Identity, identity, typed
from workbench.memory.store.sqlite.fts5 import match_expression
from workbench.memory.store.sqlite.location import alone, make_folder
from workbench.memory.store.sqlite.store import Store
from workbench.progress import progress_bar
from workbench.records import Chunk, Document, Hits, Query, Rows, Vector
from workbench.safe_text import counted
from workbench_plugins.openclaw.release_indexing import Annotations

if TYPE_CHECKING:
    from workbench_plugins.providers.embedder import Provider

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
                self._check_plain()
                db, frozen = self._opened("immutable=1"), self._look()
                if not self._rests(db):
                    db.close()
                    db, frozen = self._opened("mode=ro"), None
            if identity(self.path) == seen:
                return Connection(db, seen, frozen)
            db.close()  # meanwhile OpenClaw has replaced it by a new file

    def _check_plain(self) -> None:
        """Raises InputError for a named pipe or a link beside the file, which SQLite would wait for."""
        try:
            check_plain(self.path)
        except ValueError as error:
            raise InputError(
                f"The store {self.path} cannot be read: {error}.", "Give a file that OpenClaw has written."
            ) from None

    def _opened(self, how: str) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        db = apsw.Connection(f"{self.path.resolve().as_uri()}?{how}", flags=flags)
        db.set_busy_timeout(int(BUSY_SECONDS * 1000))
        db.pragma("trusted_schema", False)  # the file may come from elsewhere
        db.limit(apsw.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
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
            raise _not_a_store(self.path) from None
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
                self._check_own(layout.meta, layout.files, layout.chunks)
                self._check_columns(layout.files, FILE_COLUMNS)
                self._check_columns(layout.chunks, CHUNK_COLUMNS)
                return layout
        raise InputError(
            f"{self.path} is not an OpenClaw memory: it does not have its tables.",
            "Give OpenClaw's file: ~/.openclaw/memory/AGENT.sqlite, or "
            "~/.openclaw/agents/AGENT/agent/openclaw-agent.sqlite in newer releases.",
        )

    def _check_own(self, *names: str, virtual: bool = False) -> None:
        """Raises InputError for a view, and for a table that another one holds."""
        try:
            with self._plain_errors():
                check_tables(self._now.db, *names, virtual=virtual)
        except ValueError as error:
            raise self._unknown(str(error)) from None

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
        self._check_own(self.layout.full_text, virtual=True)
        with self._plain_errors():
            try:
                self._now.db.execute(f"SELECT rowid FROM {self.layout.full_text} LIMIT 1").fetchall()
            except apsw.SQLError:  # its tokenizer exists only in OpenClaw's SQLite
                return False
        return True

    def problems(self) -> list[str]:
        """The problems that SQLite's integrity check finds; empty for an intact store."""
        return [said for (said,) in self._all("PRAGMA integrity_check") if said != "ok"]


FILE_TYPES = (str, str, int, (int, float), str)
LATEST_MS = 1e15

RECALL = "memory_index_chunk_recall_metadata"
"""The table of annotations, which only the agent's database has."""
RECALL_TYPES = (str, (float, int, type(None)), (str, type(None)), (str, type(None)))

KEYWORD_SQL = """
    WITH found AS MATERIALIZED (
        SELECT id, bm25({full_text}) AS raw FROM {full_text} WHERE {full_text} MATCH :asked AND model = :model
    )
    SELECT chunks.rowid, min(raw) AS best FROM found JOIN {chunks} AS chunks ON chunks.id = found.id
    GROUP BY chunks.rowid ORDER BY best, chunks.id LIMIT :limit
"""
# The segments of one very long line can share an id: they are one chunk, but several full-text rows.

RECALL_SQL = f"""
    SELECT chunk_id, importance, triggers, project_key FROM {RECALL}
    WHERE coalesce(importance, triggers, project_key) IS NOT NULL
"""

CHUNKS_SQL = """
    SELECT rowid, id, path, source, start_line, end_line, text FROM {chunks}
    WHERE rowid IN (SELECT value FROM json_each(:rows))
"""


def whole_text(pieces: Iterable[tuple[int, int, str]]) -> str:
    """Joins pieces (first line, last line, text), which are in order; lines that pieces share appear once.

    A piece with more or fewer lines than it states, such as a part of one very long line, is taken whole.

    >>> whole_text([(1, 2, "a\\nb"), (2, 3, "b\\nc")])
    'a\\nb\\nc'
    """
    lines: dict[int, str] = {}
    for first, last, text in pieces:
        split = text.split("\n")
        if len(split) == last - first + 1:
            for number, line in enumerate(split, first):
                lines.setdefault(number, line)
        else:
            lines[first] = f"{lines[first]}\n{text}" if first in lines else text
    return "\n".join(lines[number] for number in sorted(lines))


class StoredVectors:
    """The vectors that OpenClaw has stored; each chunk has a value, whose key identifies its vector.

    `column` is the chunks' column with the values, of the type `kind`.
    """

    column: ClassVar[str] = "embedding"
    kind: ClassVar[type] = object

    def __init__(self) -> None:
        self._decoded: dict[int, Vector | None] = {}

    def key(self, value: Any) -> Hashable:
        return hash(value)

    def known(self, keys: Sequence[Any]) -> Mapping[Any, Vector | None]:
        """The vectors that are known, by key; None for a value without a vector. All others are forgotten."""
        self._decoded = {key: self._decoded[key] for key in keys if key in self._decoded}
        return self._decoded

    def add(self, values: Mapping[Any, Any]) -> None:
        """Computes the vectors of these values, which are given by key; this may take long."""
        self._decoded |= {key: stored_vector(value) for key, value in values.items()}

    def close(self) -> None:
        """Does nothing: there is nothing to close."""


class OwnVectors(StoredVectors):
    """Vectors of the chunks' texts from another model, stored in a separate index file."""

    column: ClassVar[str] = "text"
    kind: ClassVar[type] = str

    def __init__(self, kept: Store, embedder: Embedder) -> None:
        super().__init__()
        self.path = kept.path
        self._vectors = kept
        self._embedder = embedder
        self._settings = Settings(embedder.name, embedder.revision, embedder.dimensions, "")

    @classmethod
    def open(cls, path: Path, embedder: Embedder) -> OwnVectors:
        """Opens the vectors in the index file at `path`; creates the file if it does not exist."""
        settings = Settings(embedder.name, embedder.revision, embedder.dimensions, "OpenClaw's chunks")
        make_folder(path.parent)
        with alone(path):
            return cls(Store.open(path) if path.exists() else Store.create(path, settings), embedder)

    def key(self, value: str) -> str:
        return content_hash(value)

    def known(self, keys: Sequence[str]) -> Mapping[str, Vector | None]:
        return {key: one.vector for key, one in self._vectors.cached(self._settings, "passage", keys).items()}

    def add(self, values: Mapping[str, str]) -> None:
        with progress_bar(total=len(values), desc="embedding", unit="chunk") as bar:
            embed_through_cache(self._vectors, self._settings, self._embedder, "passage", values, bar.update)

    def question(self, text: str) -> Vector:
        """The vector of a question; from the cache if it was embedded before."""
        key = content_hash(text)
        found = embed_through_cache(self._vectors, self._settings, self._embedder, "query", {key: text})
        return found[key].vector

    def close(self) -> None:
        self._vectors.close()


def stored_vector(value: Any) -> Vector | None:
    """Reads a vector as OpenClaw stores it (JSON, or little-endian float64), and scales it to length 1.

    None for any other format, for an empty vector, and for a number that float32 cannot hold.

    >>> stored_vector("[3, 4]"), stored_vector("[]"), stored_vector("[NaN]")
    (array([0.6, 0.8], dtype=float32), None, None)
    """
    try:
        blob = isinstance(value, bytes)
        numbers = np.frombuffer(value, "<f8") if blob else np.array(from_json(value), float)
    except (ValueError, TypeError, OverflowError):
        return None
    if numbers.ndim != 1 or not numbers.size or not (np.abs(numbers) < np.finfo(np.float32).max).all():
        return None
    scaled: Vector = unit(numbers[None])[0]
    return scaled


ATTEMPTS = 20
"""The number of attempts to read one state, before the store counts as changing too fast."""


class LiveIndex(OpenIndex):
    """An OpenClaw memory that can be searched while OpenClaw runs; use an index in one thread at a time.

    Within a `snapshot`, everything comes from one state: the latest one at the first read. Embed the question
    before that, so that no writer has to wait.
    """

    def __init__(self, store: LiveStore, embedder: Embedder, own: OwnVectors | None = None) -> None:
        self.store = store
        self.embedder = embedder
        self._own = own
        self._vectors = own or StoredVectors()
        self._made_with = store.made_with
        self._questions: dict[str, Vector] = {}
        self._within = False
        self._seen = 0
        self._unusable: list[int] = []
        self._scan = Scan(np.empty(0, np.int64), [], np.empty((0, 0), np.float32))

    def checked(self) -> str:
        problems = self.store.problems()
        if problems:
            raise InputError(
                f"The store {self.name} is damaged: {'; '.join(problems)}.",
                "Let OpenClaw rebuild it: openclaw memory index --force",
            )
        files, chunks = counted(len(self.stamps()), "file"), counted(self.size, "chunk")
        return f"{self.name}: an OpenClaw store, {files}, {chunks}, {self.store.made_with}."

    def close(self) -> None:
        self.store.close()
        self._vectors.close()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One state of the store for everything that is read within it.

        Raises InputError at its end if the store changed nevertheless; do not use what was read then.
        """
        if self._within:
            yield
            return
        self._within = True
        try:
            yield
        finally:
            self._within = False
            self.store.release()
        self.store.check_unchanged()

    @contextmanager
    def _reading(self) -> Iterator[LiveStore]:
        with self.snapshot():
            self._hold()
            yield self.store

    def _rows(self, sql: str, types: ColumnTypes = (), **values: Any) -> list[Any]:
        with self._reading() as store:
            return store.rows(sql, types, **values)

    def _hold(self) -> None:
        """Holds a state of the store, with a known vector for each of its chunks."""
        for _ in range(ATTEMPTS):
            self.store.hold()
            missing = self._refreshed() if self.store.generation != self._seen else {}
            if not missing:
                return
            self.store.release()  # embedding takes long: hold no state meanwhile
            self._vectors.add(missing)
        raise InputError(
            f"The store {self.store.path} changes faster than it can be read.", "Search again later."
        )

    def _refreshed(self) -> Mapping[Any, Any]:
        """The values, by key, whose vectors are not known yet; if there are none, the scan is up to date."""
        self._check_model()
        vectors = self._vectors
        values = self.store.rows(
            f"SELECT rowid, id, {vectors.column} FROM {{chunks}} WHERE model = :model",
            (int, str, vectors.kind),
        )
        keys = [vectors.key(value) for _, _, value in values]
        known = vectors.known(keys)
        missing = {key: value for key, (_, _, value) in zip(keys, values, strict=True) if key not in known}
        if not missing:
            self._scan_all([(row, id_, known[key]) for key, (row, id_, _) in zip(keys, values, strict=True)])
            self._seen = self.store.generation
        return missing

    def _check_model(self) -> None:
        if self._own is None and self.store.made_with != self._made_with:
            raise InputError(
                f"The vectors of the store {self.store.path} now come from {self.store.made_with}, no longer "
                f"from {self._made_with}.",
                "Open it again.",
            )

    def _scan_all(self, found: Sequence[tuple[int, str, Vector | None]]) -> None:
        """Scans vectors of the most common length; leaves out chunks with another length or no vector."""
        sizes = Counter(vector.size for _, _, vector in found if vector is not None)
        usual = next((size for size, _ in sizes.most_common(1)), 0)
        usable = [
            (row, id_, vector) for row, id_, vector in found if vector is not None and vector.size == usual
        ]
        vectors = np.array([vector for _, _, vector in usable], np.float32).reshape(len(usable), usual)
        rows = np.array([row for row, _, _ in usable], np.int64)
        self._scan = Scan(rows, [id_ for _, id_, _ in usable], vectors)
        self._unusable = sorted({row for row, _, _ in found} - set(rows.tolist()))

    @property
    def remarks(self) -> list[str]:
        """Remarks on every answer: which vectors it uses, and what is left out. One sentence each."""
        with self._reading() as store:
            return list(self._remarks(store))

    def _remarks(self, store: LiveStore) -> Iterator[str]:
        if self._own:
            whose = (
                f"its vectors come from {store.made_with}"
                if store.made_with.has_vectors
                else "it has no vectors"
            )
            yield f"{store.path}: {whose}; re-embedded with {self.embedder.name}, in {self._own.path}."
        if not store.full_text:
            yield f"{store.path} has no full-text index that SQLite can search: the keyword leg is empty."
        if self._unusable:
            first = self.chunks(np.array(self._unusable[:1], np.int64))[0]
            yield (
                f"{store.path}: {len(self._unusable)} of {self.size} chunks have no usable vector, "
                f"{first.location} is the first; the vector leg does not find them."
            )
        ((others,),) = store.rows("SELECT count(*) FROM {chunks} WHERE model <> :model")
        if others:
            yield f"{store.path}: chunks of other models are left out: {others}."

    # the methods that a search calls; all chunks here belong to the model that the store names

    @property
    def size(self) -> int:
        ((count,),) = self._rows("SELECT count(*) FROM {chunks} WHERE model = :model")
        return int(count)

    @property
    def name(self) -> str:
        return str(self.store.path)

    def compiled(self, query: Query) -> str:
        return match_expression(query)

    def keyword(self, query: Query, limit: int) -> Hits:
        """The chunks that match a query, by (bm25, chunk id); none without a full-text index."""
        with self._reading() as store:
            asked = match_expression(query)
            return hits_of(store.rows(KEYWORD_SQL, asked=asked, limit=limit) if store.full_text else [])

    def vector(self, query: Vector, limit: int) -> Hits:
        with self._reading() as store:
            if not self._scan.size:
                return hits_of([])
            if query.size != self._scan.dimensions:
                raise InputError(
                    f"The question's vector has {query.size} dimensions, but those of {store.path} have "
                    f"{self._scan.dimensions}.",
                    f"{self.embedder.name} did not make them. Embed the chunks again: --re-embed",
                )
            return self._scan.nearest(query, limit)

    def vectors(self) -> tuple[Rows, NDArray[np.float32]]:
        with self._reading():
            return self._scan.rows, self._scan.vectors

    def embed(self, question: str) -> Vector:
        """The question's unit vector; each question is embedded once."""
        text = whole_characters(question)
        if self._own:
            return self._own.question(text)
        if text not in self._questions:
            self._questions[text] = self.embedder.embed([text], "query").vectors[0]
        return self._questions[text]

    @property
    def generation(self) -> int:
        """A number that changes with every change of the store."""
        with self._reading() as store:
            return store.generation

    def stamps(self) -> dict[str, Stamp]:
        """Every file's stamp by path, as OpenClaw recorded it."""
        rows = self._rows("SELECT path, hash, size, mtime, source FROM {files} ORDER BY path", FILE_TYPES)
        found = {}
        for path, hash_, size, mtime, source in rows:
            if not abs(mtime) < LATEST_MS:
                raise self.store.damaged(f"the time of {path} is {mtime}")
            found[path] = Stamp(hash_, size, int(mtime * 1e6), source)
        return found

    def documents(self) -> Sequence[Document]:
        """All files by path, with texts joined from their chunks."""
        pieces: dict[str, list[tuple[int, int, str]]] = {}
        with self._reading() as store:
            rows = store.rows(
                "SELECT path, start_line, end_line, text FROM {chunks} WHERE model = :model "
                "ORDER BY path, start_line, end_line, rowid",
                (str, int, int, str),
            )
            stamps = self.stamps()
        for path, *piece in rows:
            pieces.setdefault(path, []).append(tuple(piece))
        return [
            Document(path, one.source, whole_text(pieces.get(path, [])), one.hash, one.size, one.mtime_ns)
            for path, one in stamps.items()
        ]

    def paths(self) -> list[str]:
        return sorted(self.stamps())

    @property
    def model(self) -> str:
        return self.embedder.name

    def annotations(self) -> Mapping[str, Annotations]:
        """The annotations that OpenClaw stores, by chunk id; older releases store none."""
        with self._reading() as store:
            rows = store.rows(RECALL_SQL, RECALL_TYPES) if RECALL in store.tables() else []
        return {id_: Annotations(*said) for id_, *said in rows}

    def time_limit(self, seconds: float) -> AbstractContextManager[None]:
        return self.store.time_limit(seconds)

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        stored = self._rows(CHUNKS_SQL, (int, str, str, str, int, int, str), rows=json.dumps(rows.tolist()))
        found = {row: Chunk(*fields) for row, *fields in stored}
        if missing := [row for row in rows.tolist() if row not in found]:
            raise unknown_row(self.name, missing[0])
        return [found[row] for row in rows.tolist()]

    def rows_of(self, path: str) -> Rows:
        """The rows of a file's chunks, in the file's order."""
        found = self._rows(
            "SELECT rowid FROM {chunks} WHERE path = :path AND model = :model "
            "ORDER BY start_line, end_line, rowid",
            path=path,
        )
        return np.array([row for (row,) in found], np.int64)


def _not_a_store(path: Path) -> InputError:
    """The error for a file that is not SQLite; a note is named with the folder of its memory."""
    if path.suffix != SUFFIX:
        return InputError(
            f"{path} is not a SQLite file.", "Give a memory's folder, or OpenClaw's SQLite file."
        )
    folder = path.parent.parent if path.parent.name == TREE else path.parent
    return InputError(
        f"{path} is a note, and a memory is a folder of notes.",
        f"Name its folder: -m {shlex.quote(str(folder))}",
    )


def open_live_store(
    file: str | os.PathLike[str],
    embedder: Embedder | None = None,
    *,
    re_embed: bool = False,
    index_path: Path | None = None,
) -> LiveIndex:
    """Opens the OpenClaw memory in a SQLite file for searching; nothing is written to it or beside it.

    Questions are embedded with `embedder`, or else with the model that the store names. With `re_embed`, the
    chunks are embedded with `embedder`, or else with the packaged model; the vectors are stored at
    `index_path`, by default in the cache folder. Raises InputError for a file that is not such a memory, and,
    without `re_embed`, if the store's model is not available or `embedder` is another one.
    """
    path = Path(os.path.expanduser(file))
    store = LiveStore(path)
    try:
        if not re_embed:
            return LiveIndex(store, _embedder_of(store, embedder))
        chosen, ours = embedder or LocalEmbedder(), index_path or default_index_path(path)
        if ours.resolve() == path.resolve():
            raise InputError(
                f"{path} belongs to OpenClaw, and the workbench does not write to it.",
                "Give --index another file.",
            )
        return LiveIndex(store, chosen, OwnVectors.open(ours, chosen))
    except WorkbenchError:
        store.close()
        raise


def _embedder_of(store: LiveStore, given: Embedder | None) -> Embedder:
    made_with = store.made_with
    if given is not None and given.name in (made_with.model, str(made_with)):
        return given
    from workbench_plugins.openclaw.config_values import providers

    provider = providers().get(made_with.provider)
    why = _why_not(made_with, given, provider)
    if why:
        raise InputError(
            f"The vectors of {store.path} come from {made_with}: {why}."
            if made_with.has_vectors
            else f"The store {store.path} has no vectors: it was indexed for keywords only.",
            f"Embed its chunks with {PACKAGED_MODEL}, into a separate index: --re-embed "
            "(re_embed=True in Python)",
        )
    if provider is None:
        return LocalEmbedder()
    from workbench_plugins.providers.embedder import remote_embedder

    remote = remote_embedder(provider, made_with.model)
    check_model(store.path, remote.name, remote.url_variable)
    if made_with.dimensions:
        remote.dimensions = made_with.dimensions
    return remote


def _why_not(made_with: MadeWith, given: Embedder | None, provider: Provider | None) -> str:
    """Why questions cannot be embedded with the store's model; empty if they can."""
    if given is not None:
        return f"{given.name} makes other vectors"
    if provider is None:
        return "" if made_with.model == PACKAGED_MODEL else "that model is not on this machine"
    if provider.needs_key and not provider.key:
        return f"{' or '.join(provider.key_variables)} is not set, so it is not available"
    return ""


def _open(address: str, embedder: Embedder | None, index_path: Path | None, re_embed: bool) -> OpenIndex:
    return open_live_store(address, embedder, re_embed=re_embed, index_path=index_path)


OPENCLAW_FILE = Opener(
    "openclaw",
    "OpenClaw's SQLite file",
    lambda address: os.path.isfile(os.path.expanduser(address)),
    _open,
    system="openclaw-2026.2.13",
)

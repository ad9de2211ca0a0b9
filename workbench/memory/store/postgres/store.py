"""The PostgreSQL store of an index, with all SQL that is run against it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from workbench.errors import InputError, WorkbenchError
from workbench.memory.chunking import chunk_id
from workbench.memory.store.contract import IndexStore
from workbench.memory.store.postgres import schema
from workbench.memory.store.postgres.address import Address
from workbench.memory.store.postgres.database import UnreadableQueryError, connect, plain_errors
from workbench.memory.store.postgres.meta import DescribedSession
from workbench.memory.store.postgres.texts import PostgresTexts
from workbench.memory.store.postgres.tsquery import tsquery
from workbench.memory.store.put_off import PutOffWrites
from workbench.memory.store.values import Cached, Settings, Stamp
from workbench.records import Chunk, Document, Hits, Passage, Query, Rows, Vector

KEYWORD_SQL = """
    SELECT id, {rank}(words, query) AS raw FROM chunks, to_tsquery(%s::regconfig, %s) AS query
    WHERE words @@ query ORDER BY raw DESC, {tie} LIMIT %s
"""
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
CHUNKS_SQL = """
    SELECT chunks.id, chunks.key, path, source, start_line, end_line, chunks.text, chunks.exact, read_share
    FROM chunks JOIN documents ON documents.id = document_id WHERE chunks.id = ANY(%s)
"""
REMEMBER_SQL = """
    INSERT INTO embedding_cache VALUES (%s, %s, %s, %s, %s, %s)
    ON CONFLICT (model, revision, role, hash)
    DO UPDATE SET vector = excluded.vector, read_share = excluded.read_share
"""


class PostgresStore(DescribedSession, PutOffWrites, IndexStore):
    """An open index in a PostgreSQL schema, for one thread at a time."""

    engine = "postgresql"

    def __init__(self, address: Address, connection: psycopg.Connection[Any]) -> None:
        super().__init__(address, connection)
        self._made = self._identity()
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
        if self._made is None:
            raise InputError(
                f"There is no index at {self.name}.",
                f"Make one: workbench index FOLDER --store '{self.name}'",
            )
        found = self.execute(
            "SELECT count(*) FROM information_schema.tables WHERE table_schema = %s AND table_name = 'meta'",
            (self.address.schema,),
        ).fetchone()
        if not found or not found[0] or self.meta("workbench") == "":
            raise InputError(
                f"The schema {self.address.schema} of {self.name} is not a workbench index.",
                "Choose another name in the address: ?schema=NAME",
            )
        if self.meta("workbench") != schema.VERSION:
            raise InputError(
                f"The index {self.name} has schema version {self.meta('workbench')}; this workbench reads "
                f"version {schema.VERSION}.",
                f"Build it again: workbench index FOLDER --store '{self.name}' --rebuild",
            )
        stored = self.meta("config")
        if stored != self.address.config:
            raise InputError(
                f"The index {self.name} was made with the text search configuration {stored!r}, "
                f"not {self.address.config!r}.",
                f"Add config={stored} to the address, or build it again with --rebuild.",
            )

    def _identity(self) -> int | None:
        """The number of the schema; a rebuild gives another one."""
        found = self.execute("SELECT oid FROM pg_namespace WHERE nspname = %s", (self.address.schema,))
        row = found.fetchone()
        return int(row[0]) if row else None

    # Connections

    @property
    def writable(self) -> bool:
        row = self.execute(
            "SELECT has_table_privilege('chunks', 'INSERT') AND NOT pg_is_in_recovery()"
        ).fetchone()
        return bool(row and row[0])

    @property
    def replaced(self) -> bool:
        return self.db.closed or self._identity() not in (self._made, None)

    def reopened(self) -> PostgresStore:
        return PostgresStore.open(self.address)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One state of the index; vectors that are remembered inside are written at its end."""
        if self.busy:
            yield
            return
        with self.putting_off(super().reading()):
            yield

    # Reading

    @property
    def size(self) -> int:
        row = self.execute("SELECT count(*) FROM chunks").fetchone()
        return int(row[0]) if row else 0

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
            row: Chunk(key, path, source, first, last, _text(text, exact), share)
            for row, key, path, source, first, last, text, exact, share in found
        }
        if len(by_row) < len(set(rows.tolist())):
            raise self.damaged("a chunk is missing")
        return [by_row[row] for row in rows.tolist()]

    def rows_of(self, path: str) -> Rows:
        found = self.execute(
            "SELECT chunks.id FROM chunks JOIN documents ON documents.id = document_id "
            "WHERE path = %s ORDER BY chunks.id",
            (path,),
        )
        return np.array([row for (row,) in found], np.int64)

    def keys(self) -> list[str]:
        key = "lpad(id::text, 20, '0')" if self.ties_by_row else "key"
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
        text = self.compiled(query)
        tie = "id" if self.ties_by_row else 'key COLLATE "C"'
        statement = KEYWORD_SQL.format(rank=self.address.rank, tie=tie)
        values = self.address.config, text.replace("\0", " "), limit
        try:
            with plain_errors(self.name), self.db.transaction():  # a refused text ends only this savepoint
                found = self.db.execute(statement.encode(), values).fetchall()
        except UnreadableQueryError:
            raise InputError(
                f"PostgreSQL cannot read the query {text[:80]!r}.", "Ask with words, without operators."
            ) from None
        rows = np.array([row for row, _ in found], np.int64)
        raw = np.array([number for _, number in found], float)
        return Hits(rows, raw, larger_is_better=True, number=self.address.rank)

    def nearest_by_engine(self, query: Vector, limit: int) -> Hits | None:
        """The nearest chunks as the server finds them; None if the address leaves that to a scan."""
        if self.address.vectors == "scan":
            return None
        vector = query.astype(np.float32)
        with plain_errors(self.name), self.db.transaction():
            for name, value in SEARCHED[self.address.vectors].items():
                self.db.execute("SELECT set_config(%s, %s, true)", (name, value.format(ef=self.address.ef)))
            found = self.db.execute(NEAREST_SQL[self.address.vectors].encode(), (vector, limit)).fetchall()
        rows = np.array([row for row, _ in found], np.int64)
        far = np.array([distance for _, distance in found], float)
        keys = rows if self.ties_by_row else np.array([chunk.id for chunk in self.chunks(rows)], np.str_)
        order = np.lexsort((keys, far))
        return Hits(rows[order], far[order])

    def text_table(self, keys: Sequence[str], texts: Sequence[str], config: str) -> PostgresTexts:
        return PostgresTexts(self.address, keys, texts, config)

    # Writing

    def reset(self, settings: Settings, generation: int) -> None:
        """Writes what an empty index says of itself, inside `writing`."""
        self.set_meta("workbench", schema.VERSION)
        self.set_meta("config", self.address.config)
        self.set_meta("settings", json.dumps(asdict(settings)))
        self.set_meta("generation", str(generation))

    def replace(self, document: Document, passages: Sequence[Passage], cached: Sequence[Cached]) -> None:
        with self.writing():
            self._delete(document.path)
            row = self.execute(
                "INSERT INTO documents (path, source, hash, size, mtime_ns, text, exact) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id",
                (
                    document.path,
                    document.source,
                    document.hash,
                    document.size,
                    document.mtime_ns,
                    *_stored(document.text),
                ),
            ).fetchone()
            model = self.settings.model
            self.execute_many(
                "INSERT INTO chunks (key, document_id, start_line, end_line, hash, text, exact, read_share, "
                "embedding) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (key) DO NOTHING",
                [
                    (
                        chunk_id(
                            document.source, document.path, one.start_line, one.end_line, one.hash, model
                        ),
                        row[0] if row else 0,
                        one.start_line,
                        one.end_line,
                        one.hash,
                        *_stored(one.text),
                        read_share,
                        vector.astype(np.float32),
                    )
                    for one, (vector, read_share) in zip(passages, cached, strict=True)
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

    def restamp(self, looks: Mapping[str, tuple[int, int]]) -> None:
        with self.writing():
            self.execute_many(
                "UPDATE documents SET size = %s, mtime_ns = %s WHERE path = %s",
                [(size, mtime_ns, path) for path, (size, mtime_ns) in looks.items()],
            )

    # The embedding cache

    def cached(self, settings: Settings, role: str, hashes: Iterable[str]) -> dict[str, Cached]:
        wanted = list(hashes)
        rows = self.execute(
            "SELECT hash, vector, read_share FROM embedding_cache "
            "WHERE model = %s AND revision = %s AND role = %s AND hash = ANY(%s) AND length(vector) = %s",
            (settings.model, settings.revision, role, wanted, 4 * settings.dimensions),
        )
        found = {hash_: Cached(np.frombuffer(blob, np.float32), share) for hash_, blob, share in rows}
        return found | self.waiting(settings, role, wanted)

    def remember(self, settings: Settings, role: str, found: Mapping[str, Cached]) -> None:
        if self.put_off(settings, role, found):
            return
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

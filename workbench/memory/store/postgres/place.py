"""Where an index is kept in PostgreSQL: a schema, and the schema of the build that replaces it."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from psycopg import errors, sql

from workbench.errors import InputError
from workbench.memory.store.contract import IndexPlace
from workbench.memory.store.errors import DamagedError, LockedError
from workbench.memory.store.postgres import schema
from workbench.memory.store.postgres.address import Address
from workbench.memory.store.postgres.database import BUILD, Session, connect, plain_errors
from workbench.memory.store.postgres.store import PostgresStore
from workbench.memory.store.values import Settings

OURS = {"meta", "documents", "chunks", "embedding_cache"}


class PostgresPlace(IndexPlace):
    """A schema of a database. A rebuild fills a second schema, which replaces it in one transaction."""

    scratch = None

    def __init__(self, address: Address) -> None:
        self.address = address

    @property
    def name(self) -> str:
        return self.address.name

    @contextmanager
    def _session(self) -> Iterator[Session]:
        session = Session(self.address, connect(self.address))
        try:
            yield session
        finally:
            session.close()

    def exists(self) -> bool:
        with self._session() as session:
            return _has(session, self.address.schema)

    @contextmanager
    def alone(self, wait: float) -> Iterator[None]:
        """Holds an advisory lock of the server; a lost connection frees it."""
        with self._session() as session:
            session.execute(f"SET lock_timeout = '{max(1, round(wait * 1000))}ms'")
            try:
                session.db.execute("SELECT pg_advisory_lock(%s)", (self._lock,))
            except errors.LockNotAvailable:
                raise LockedError(
                    f"Another process has been indexing into {self.name} for more than {wait:g} s.",
                    "Try again when it is done.",
                ) from None
            yield

    @property
    def _lock(self) -> int:
        return zlib.crc32(f"workbench {self.address.schema}".encode())

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
            left = self._set_aside(session, build.schema)
            schema.create(session.db, build.schema, self.address, settings.dimensions)
            for name in (self.address.schema, left):
                _take_cache(session, name, build.schema)
            _drop(session, left)
        with PostgresStore(build, connect(build)) as store:
            with store.writing():
                store.reset(settings, time.time_ns())
            yield store
        with self._session() as session, session.writing():
            _forget_texts_of(session, self.address.schema, build.schema)
            _drop(session, self.address.schema)
            _rename(session, build.schema, self.address.schema)

    def _set_aside(self, session: Session, build: str) -> str:
        """Renames an unfinished build, whose vectors are taken over."""
        left = build + "_left"
        _drop(session, left)
        if _has(session, build):
            _rename(session, build, left)
        return left

    def _take_unfinished(self, store: PostgresStore) -> None:
        build = self.address.schema + BUILD
        if _has(store, build):
            _check_ours(store, build)
            with store.writing():
                _take_cache(store, build, self.address.schema)
                _drop(store, build)

    def stored_sources(self) -> set[str]:
        if not self.exists():
            return set()
        try:
            with self.open() as store:
                return {stamp.source for stamp in store.stamps().values()}
        except DamagedError:
            return set()


def _has(session: Session, name: str) -> bool:
    return bool(session.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (name,)).fetchone())


def _tables(session: Session, name: str) -> set[str]:
    found = session.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (name,))
    return {str(table) for (table,) in found}


def _check_ours(session: Session, name: str) -> None:
    """Raises InputError for a schema with anything that is not a workbench index: it would be removed."""
    tables = _tables(session, name)
    if (_has(session, name) and not tables) or tables - OURS or (tables and "meta" not in tables):
        raise InputError(
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

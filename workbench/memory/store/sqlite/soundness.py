"""Checks that an index file, which may come from elsewhere, has the workbench's tables and values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import apsw

from workbench.memory.store.errors import DamagedError
from workbench.memory.store.sqlite import schema
from workbench.memory.store.sqlite.database import connect_empty

Tables = frozenset[tuple[str, str]]
Fail = Callable[[str], Exception]
"""Makes an error out of a problem."""

KEPT_WITH_THE_CACHE = ("documents", "chunks", "embedding_cache", "meta")
OURS = (*KEPT_WITH_THE_CACHE, "chunks_by_document", "chunks_fts", "chunks_vec")


def damaged(path: Path, problem: str) -> DamagedError:
    """The error for an index file with other contents than the workbench writes."""
    return DamagedError(
        f"The index {path} is damaged: {problem}.", "Build it again: workbench index FOLDER --rebuild"
    )


def check_tables(path: Path, db: apsw.Connection, dimensions: int) -> None:
    """Raises DamagedError for other tables or columns, and for triggers and views, which can run SQL."""
    foreign = db.execute("SELECT name FROM sqlite_schema WHERE type IN ('trigger', 'view')").fetchall()
    if foreign:
        raise damaged(path, f"it has a trigger or view {foreign[0][0]!r:.60}")
    lacking = _expected(dimensions, OURS) - _tables(db, "main", OURS)
    if lacking:
        raise damaged(path, f"its table {min(lacking)[0]} is missing or has other columns")


def has_a_cache(db: apsw.Connection, name: str) -> bool:
    """Whether the attached database `name` has an embedding cache, and the texts that it belongs to."""
    return _expected(1, KEPT_WITH_THE_CACHE) <= _tables(db, name, KEPT_WITH_THE_CACHE)


def has_vectors(db: apsw.Connection, name: str, dimensions: int) -> bool:
    """Whether the attached database `name` has the vectors of its chunks."""
    return _expected(dimensions, ("chunks_vec",)) <= _tables(db, name, ("chunks_vec",))


@cache
def _expected(dimensions: int, names: Sequence[str]) -> Tables:
    db = connect_empty()
    try:
        schema.create(db, dimensions)
        return _tables(db, "main", names)
    finally:
        db.close()


def _tables(db: apsw.Connection, database: str, names: Sequence[str]) -> Tables:
    rows = db.execute(f"SELECT name, sql FROM {database}.sqlite_schema WHERE sql IS NOT NULL")
    return frozenset((name, " ".join(sql.split())) for name, sql in rows if name in names)


def typed(
    rows: Iterable[Sequence[Any]], types: Sequence[type | tuple[type, ...]], fail: Fail
) -> Iterator[Sequence[Any]]:
    """The rows. Raises `fail(problem)` for a value of another type and for text that is not UTF-8."""
    try:
        for row in rows:
            if not all(map(isinstance, row, types)):
                kinds = ", ".join(type(value).__name__ for value in row)
                raise fail(f"a row has values of the types {kinds}")
            yield row
    except UnicodeDecodeError as error:
        raise fail(f"a text is not UTF-8: {error}") from None

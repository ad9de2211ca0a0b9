"""The SQLite schema of an index in numbered steps. `PRAGMA user_version` is the number of steps taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import apsw

APPLICATION_ID = 0x77626878
"""The `PRAGMA application_id` of an index file: the letters wbhx."""


def step_1(db: apsw.Connection, dimensions: int) -> None:
    """Documents, chunks, their full-text and vector indexes, the embedding cache, and meta."""
    db.execute(f"""
        CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE documents (
            id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, source TEXT NOT NULL,
            hash TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, text TEXT NOT NULL
        );
        CREATE TABLE chunks (
            id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
            document_id INTEGER NOT NULL REFERENCES documents (id),
            start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
            hash TEXT NOT NULL, text TEXT NOT NULL, read_share REAL NOT NULL
        );
        CREATE INDEX chunks_by_document ON chunks (document_id);
        CREATE INDEX chunks_by_hash ON chunks (hash);
        CREATE VIRTUAL TABLE chunks_fts USING fts5 (text, content = 'chunks', content_rowid = 'id');
        CREATE VIRTUAL TABLE chunks_vec USING vec0 (
            chunk_id INTEGER PRIMARY KEY, embedding FLOAT[{dimensions}] distance_metric = cosine
        );
        CREATE TABLE IF NOT EXISTS embedding_cache (
            model TEXT NOT NULL, revision TEXT NOT NULL, role TEXT NOT NULL, hash TEXT NOT NULL,
            vector BLOB NOT NULL, read_share REAL NOT NULL,
            PRIMARY KEY (model, revision, role, hash)
        ) WITHOUT ROWID;
    """)


STEPS: tuple[Callable[[apsw.Connection, int], None], ...] = (step_1,)


def create(db: apsw.Connection, dimensions: int) -> None:
    """Creates an empty index for vectors of that many dimensions, in a database without tables."""
    for step in STEPS:
        step(db, dimensions)
    db.pragma("application_id", APPLICATION_ID)
    db.pragma("user_version", len(STEPS))


def drop_all(db: apsw.Connection, keep: Sequence[str]) -> None:
    """Drops every table except those in `keep`. Virtual tables come first: they drop their shadow tables."""
    tables = db.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
        "ORDER BY sql LIKE 'CREATE VIRTUAL%' DESC"
    ).fetchall()
    for (name,) in tables:
        if name not in keep:
            db.execute(f'DROP TABLE IF EXISTS "{name}"')

"""The tables of an index in PostgreSQL."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from workbench.errors import InputError
from workbench.memory.store.postgres.address import Address

VERSION = "1"
LARGEST_DIMENSIONS = 16_000
"""The longest vector that pgvector stores."""
LARGEST_HNSW = 2_000
"""The longest vector that an HNSW index of pgvector takes."""

TABLES = """
    CREATE TABLE {schema}.meta (key text PRIMARY KEY, value text NOT NULL);
    CREATE TABLE {schema}.documents (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, path text NOT NULL UNIQUE, source text NOT NULL,
        hash text NOT NULL, size bigint NOT NULL, mtime_ns bigint NOT NULL, text text NOT NULL, exact bytea
    );
    CREATE TABLE {schema}.chunks (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL UNIQUE,
        document_id bigint NOT NULL REFERENCES {schema}.documents (id) ON DELETE CASCADE,
        start_line bigint NOT NULL, end_line bigint NOT NULL,
        hash text NOT NULL, text text NOT NULL, exact bytea, read_share double precision NOT NULL,
        words tsvector GENERATED ALWAYS AS (to_tsvector({config}::regconfig, text)) STORED,
        embedding vector({dimensions}) NOT NULL
    );
    CREATE INDEX ON {schema}.chunks (document_id);
    CREATE INDEX ON {schema}.chunks USING gin (words);
    CREATE TABLE {schema}.embedding_cache (
        model text NOT NULL, revision text NOT NULL, role text NOT NULL, hash text NOT NULL,
        vector bytea NOT NULL, read_share double precision NOT NULL,
        PRIMARY KEY (model, revision, role, hash)
    );
"""
# PostgreSQL's text cannot hold the character NUL. Such a text is stored without it, for searching, and
# exactly as it is in the column exact.

HNSW = "CREATE INDEX ON {schema}.chunks USING hnsw (embedding vector_cosine_ops)"


def create(connection: psycopg.Connection[Any], schema: str, address: Address, dimensions: int) -> None:
    """Creates the tables of an empty index in a schema that does not exist yet.

    Raises InputError for vectors that pgvector cannot store, and for an unknown text search configuration.
    """
    check_dimensions(address, dimensions)
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


def check_dimensions(address: Address, dimensions: int) -> None:
    """Raises InputError for vectors of a length that pgvector cannot store, or not with HNSW."""
    most = LARGEST_HNSW if address.vectors == "hnsw" else LARGEST_DIMENSIONS
    if not 1 <= dimensions <= most:
        raise InputError(
            f"The model has vectors of {dimensions:,} dimensions; this index stores 1 to {most:,}.",
            "Use another model, or an address without vectors=hnsw.",
        )

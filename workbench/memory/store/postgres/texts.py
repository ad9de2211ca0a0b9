"""A temporary full-text table on the server, for systems that search other texts or another language."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import numpy as np
from psycopg import sql

from workbench.errors import InputError
from workbench.memory.store.contract import ServerTexts
from workbench.memory.store.postgres.address import Address
from workbench.memory.store.postgres.database import Session, UnreadableQueryError, connect
from workbench.records import Hits

CREATE = """
    CREATE TEMPORARY TABLE texts (id bigint PRIMARY KEY, key text COLLATE "C" NOT NULL, text text NOT NULL,
        words tsvector GENERATED ALWAYS AS (to_tsvector({config}::regconfig, text)) STORED)
"""
SEARCH = """
    SELECT id, {rank}(words, query) AS raw FROM texts, {function}(%s::regconfig, %s) AS query
    WHERE words @@ query ORDER BY raw DESC, key LIMIT %s
"""
FUNCTIONS = ("to_tsquery", "plainto_tsquery", "phraseto_tsquery", "websearch_to_tsquery")
RANKS = ("ts_rank", "ts_rank_cd")


class PostgresTexts(ServerTexts):
    """Texts in a temporary table; row n is the n-th text. The table ends with this object."""

    def __init__(self, address: Address, keys: Sequence[str], texts: Sequence[str], config: str) -> None:
        self._config = config
        connection = connect(address)
        weakref.finalize(self, connection.close)
        self._session = Session(address, connection)
        connection.execute(sql.SQL(CREATE).format(config=sql.Literal(config)))
        rows = [
            (row, key, text.replace("\0", " "))
            for row, (key, text) in enumerate(zip(keys, texts, strict=True))
        ]
        self._session.execute_many("INSERT INTO texts VALUES (%s, %s, %s)", rows)
        connection.execute("CREATE INDEX ON texts USING gin (words)")
        connection.execute("ANALYZE texts")

    def search(self, function: str, text: str, rank: str, limit: int) -> Hits:
        statement = SEARCH.format(rank=_known(rank, RANKS), function=_known(function, FUNCTIONS))
        try:
            found = self._session.execute(
                statement, (self._config, text.replace("\0", " "), limit)
            ).fetchall()
        except UnreadableQueryError:
            raise InputError(
                f"PostgreSQL cannot read the query {text[:80]!r}.", "Ask with words, without operators."
            ) from None
        raw = np.array([number for _, number in found], float)
        return Hits(np.array([row for row, _ in found], np.int64), raw, larger_is_better=True, number=rank)

    def read_as(self, function: str, text: str) -> str:
        statement = f"SELECT {_known(function, FUNCTIONS)}(%s::regconfig, %s)::text"
        try:
            row = self._session.execute(statement, (self._config, text.replace("\0", " "))).fetchone()
        except UnreadableQueryError:
            return ""
        return str(row[0]) if row else ""


def _known(name: str, names: Sequence[str]) -> str:
    """A function's name, which becomes a part of the SQL."""
    if name not in names:
        raise InputError(f"{name[:40]!r} is not a function for this.", f"Use one of {', '.join(names)}.")
    return name

"""A full-text table in memory, separate from the index: for chunks cut into trigrams, or for paths."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

import apsw
import numpy as np

from workbench.memory.store.sqlite.match import match_expression
from workbench.records import Hits, Query

TOKENIZERS = {"unicode61": "unicode61", "trigram": "trigram case_sensitive 0"}
Tokenizer = Literal["unicode61", "trigram"]

SUBSTRINGS = {
    # FTS5's words contain no % and no backslash, so the underscore is the only wildcard to escape.
    "like": r"text LIKE '%' || replace(value, '_', '\_') || '%' ESCAPE '\'",
    "composed": "composed_contains(text, value)",
}
Substring = Literal["like", "composed"]
"""How a substring is searched: with LIKE, which ignores ASCII case, or with `composed_contains`."""

SEARCH_SQL = """
    SELECT rowid, {rank} AS raw FROM texts
    WHERE {match} AND NOT EXISTS (SELECT 1 FROM json_each(?2) WHERE NOT {substring})
    ORDER BY raw, rowid LIMIT ?3
"""


def composed_contains(text: str, part: str) -> bool:
    """Whether `part` is in `text`, ignoring case and Unicode composition.

    >>> composed_contains("CAFE\\u0301.md", "café"), composed_contains("cafe.md", "café")
    (True, False)
    """
    composed = (unicodedata.normalize("NFC", one) for one in (part, text))
    return re.search(re.escape(next(composed)), next(composed), re.IGNORECASE) is not None


def _contains(*values: apsw.SQLiteValue) -> bool:
    text, part = values
    return composed_contains(str(text), str(part))


class TextTable:
    """An FTS5 table of `texts`, numbered from row 0, with one of FTS5's tokenizers."""

    def __init__(self, texts: Sequence[str], tokenizer: Tokenizer, substring: Substring) -> None:
        self._substring = SUBSTRINGS[substring]
        self._db = apsw.Connection(":memory:")
        self._db.create_scalar_function("composed_contains", _contains, 2, deterministic=True)
        self._db.execute(
            f"CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = '{TOKENIZERS[tokenizer]}')"
        )
        with self._db:
            self._db.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", list(enumerate(texts)))

    def search(self, query: Query | None, substrings: Sequence[str], limit: int) -> Hits:
        """The rows that match and contain all substrings, by (bm25, row); no rows for an empty query.

        FTS5's bm25 is negative; a row that only substrings found has 0.
        """
        if query is None and not substrings:
            return Hits(np.empty(0, np.int64), np.empty(0))
        match = match_expression(query) if query else None
        sql = SEARCH_SQL.format(
            rank="bm25(texts)" if match else "0.0",
            match="texts MATCH ?1" if match else "?1 IS NULL",
            substring=self._substring,
        )
        found = self._db.execute(sql, (match, json.dumps(list(substrings)), limit)).fetchall()
        return Hits(np.array([row for row, _ in found], np.int64), np.array([raw for _, raw in found], float))

"""FTS5, SQLite's full-text index: queries as MATCH expressions, and the postings of a table of one column.

The postings are the terms with their rows and offsets. The virtual table fts5vocab gives them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import apsw
import numpy as np

from workbench.memory.store.postings import (
    Having,
    Instances,
    NoPostingsError,
    PostingsSource,
    Sizes,
    each_once,
)
from workbench.memory.store.sqlite.word_lists import WordLists
from workbench.records import Clause, Query, Rows


def quoted(token: str) -> str:
    """A token as an FTS5 string, in which no character is an operator.

    >>> print(quoted('OR'), quoted('5" pipe'))
    "OR" "5"" pipe"
    """
    return '"' + token.replace("\0", " ").replace('"', '""') + '"'


def match_expression(query: Query) -> str:
    """The MATCH expression of a query.

    >>> print(match_expression(Query((Clause("tea"), Clause("cup", prefix=True, bare=True)))))
    "tea" AND cup*
    """
    if query.expression is not None:
        return query.expression
    return f" {query.operator} ".join(map(_written, query.clauses))


def _written(clause: Clause) -> str:
    text = clause.text if clause.bare else quoted(clause.text)
    return f"{text}*" if clause.prefix else text


MOST_INSTANCES = 20_000_000
"""A term with more instances is asked in SQL: reading them would take more than 300 MB for a moment."""
LONGEST_TEXT = 20 * MOST_INSTANCES
"""Bytes of the longest text of a term's rows: 19 digits and a blank each."""
LONGEST_TOKEN = 32_768
"""Bytes. FTS5 cuts longer tokens."""
AVERAGES = 1
"""The row of FTS5's data table with its totals. Source: SQLite, ext/fts5/fts5_index.c."""
UNICODE61 = "unicode61"


class SQLitePostings(PostingsSource):
    """The postings of the FTS5 table `table`, whose option `tokenize` is `tokenizer`.

    `lists` gives those of frequent words, if the file has lists.
    """

    def __init__(
        self,
        db: apsw.Connection,
        table: str,
        tokenizer: str = UNICODE61,
        lists: WordLists | None = None,
    ) -> None:
        self._db = db
        self._table = table
        self._lists = lists
        name, *arguments = tokenizer.split()
        self._tokenizer = db.fts5_tokenizer(name, arguments)
        self._prepare()

    def _prepare(self) -> None:
        """The vocabulary tables are temporary; a rollback may have removed them."""
        for kind in ("instance", "row"):
            self._db.execute(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{self._table}_{kind} "
                f"USING fts5vocab (main, {self._table}, {kind})"
            )

    def tokens(self, text: str) -> list[str]:
        found = self._tokens(text, apsw.FTS5_TOKENIZE_QUERY)
        if any(len(token.encode()) > LONGEST_TOKEN for token in found):
            raise NoPostingsError("a word has more than 32,768 bytes")
        return found

    def tokens_of_chunk(self, text: str) -> list[str]:
        """The terms of a text, as the table's tokenizer makes them when a chunk is stored."""
        return self._tokens(text, apsw.FTS5_TOKENIZE_DOCUMENT)

    def _tokens(self, text: str, reason: int) -> list[str]:
        tokens = self._tokenizer(text.encode(), reason, None, include_offsets=False, include_colocated=False)
        return [str(token) for token in tokens]

    def sizes(self) -> Sizes:
        found = self._db.execute(f"SELECT id, sz FROM main.{self._table}_docsize ORDER BY id").fetchall()
        known = {blob: sum(_varints(blob)) for blob in {blob for _, blob in found}}
        rows = np.array([row for row, _ in found], np.int64)
        lengths = np.array([known[blob] for _, blob in found], np.int64)
        total_rows, *total_tokens = self._totals() or [0]
        if total_rows != rows.size:
            raise NoPostingsError("FTS5's totals do not fit its rows")
        return Sizes(rows, lengths, total_rows, sum(total_tokens))

    def having(self, term: str) -> Having:
        listed = None if self._lists is None else self._lists.of(term)
        return self.from_fts5(term) if listed is None else listed

    def from_fts5(self, term: str) -> Having:
        """The rows that contain a term, as FTS5 gives them, an instance at a time."""
        self._check_count(term)
        return self._having(term)

    def _having(self, term: str) -> Having:
        (rows,) = self._joined(term, "group_concat(doc, ' ')")
        return each_once(_numbers(rows))

    def _joined(self, term: str, columns: str) -> Sequence[Any]:
        """One row with these texts of all instances of a term.

        The texts are made by the query, so the limit for values that a file holds does not bound them.
        """
        sql = f"SELECT {columns} FROM temp.{self._table}_instance WHERE term = ?"
        before = self._db.limit(apsw.SQLITE_LIMIT_LENGTH, LONGEST_TEXT)
        try:
            return self._db.execute(sql, (term,)).fetchall()[0]
        finally:
            self._db.limit(apsw.SQLITE_LIMIT_LENGTH, before)

    def every_having(self, least: int) -> Iterator[tuple[str, Having]]:
        """The terms that at least so many rows contain, with these rows.

        Those that FTS5 has cut, and those with too many instances, are left out.
        """
        self._prepare()
        sql = f"SELECT term FROM temp.{self._table}_row WHERE doc >= ? AND cnt <= ?"
        terms: list[Any] = self._db.execute(sql, (least, MOST_INSTANCES)).fetchall()
        for (term,) in terms:
            if len(term.encode()) < LONGEST_TOKEN:
                yield term, self._having(term)

    def instances(self, term: str) -> Instances:
        self._check_count(term)
        rows, offsets = self._joined(term, "group_concat(doc, ' '), group_concat(offset, ' ')")
        return Instances(_numbers(rows), _numbers(offsets))

    def _totals(self) -> list[int]:
        """The number of rows and that of tokens, as FTS5 keeps them."""
        sql = f"SELECT block FROM main.{self._table}_data WHERE id = ?"
        return _varints(self._db.execute(sql, (AVERAGES,)).get)

    def _check_count(self, term: str) -> None:
        self._prepare()
        if sum(self._totals()[1:]) <= MOST_INSTANCES:
            return  # no term stands more often than all do
        count = self._db.execute(f"SELECT cnt FROM temp.{self._table}_row WHERE term = ?", (term,)).get
        if (count or 0) > MOST_INSTANCES:
            raise NoPostingsError(f"{term} stands {count:,} times in the index")


def _numbers(text: object) -> Rows:
    """The numbers of a text such as `1 1 7`; SQLite joins and NumPy reads them faster than Python could."""
    return np.fromstring(str(text or ""), np.int64, sep=" ")


def _varints(blob: object) -> list[int]:
    """SQLite's variable-length integers below 2^56: seven bits a byte, and the highest bit if one follows."""
    numbers, number = [], 0
    for byte in blob if isinstance(blob, bytes) else b"":
        number = number << 7 | byte & 127
        if byte < 128:
            numbers.append(number)
            number = 0
    return numbers

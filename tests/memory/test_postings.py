"""The keyword search in memory gives the hits of FTS5: the same chunks, numbers and order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import apsw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.test_store import a_store
from workbench.errors import InputError
from workbench.memory.embedding.local import ToyEmbedder
from workbench.memory.index import MemoryIndex
from workbench.memory.store import postings as module
from workbench.memory.store.contract import DamagedError
from workbench.memory.store.postings import KeywordPostings, NoPostingsError
from workbench.memory.store.sqlite import fts5 as sqlite_postings
from workbench.memory.store.sqlite.fts5 import SQLitePostings, match_expression
from workbench.memory.store.sqlite.store import Store
from workbench.records import Clause, Query

TOKENIZERS = ["unicode61", "porter unicode61", "trigram", "unicode61 remove_diacritics 0"]
WORDS = [
    "tea", "Tea", "cups", "cup", "running", "run", "don't", "FOO_bar", "naïve", "nai\u0308ve", "e\u0301", "ß",
    "設計", "API設計", "二〇二六年", "ありがとう", "안녕", "🙂", "👩‍👩‍👧", '"', "''", "a*", "NEAR(", "^", "-",
    ":", "\0", "İ", "\u0301", "\u200d", "aaa", "aaaa", "OR", "and", "teacup", "x" * 70,
]  # fmt: skip
TEXT = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=4)), max_size=8).map(" ".join)
CLAUSES = st.lists(
    st.builds(Clause, st.one_of(st.sampled_from(WORDS), TEXT).filter(lambda text: "\0" not in text)),
    min_size=1,
    max_size=4,
)
WHOLE = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def table(tokenizer: str, texts: Sequence[str], removed: set[int], again: set[int]) -> apsw.Connection:
    """An FTS5 table with external content, some of whose rows have been deleted, and some put back."""
    db = apsw.Connection(":memory:")
    db.execute("CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT)")
    db.execute(
        f"CREATE VIRTUAL TABLE fts USING fts5 (text, content = 'texts', content_rowid = 'id', "
        f"tokenize = '{tokenizer}')"
    )
    rows = list(enumerate(texts, 1))
    gone = [rows[place] for place in sorted(removed) if place < len(rows)]
    back = [row for row in gone if row[0] - 1 in again]
    for batch, sql in (
        (rows, "INSERT INTO fts (rowid, text) VALUES (?, ?)"),
        (gone, "INSERT INTO fts (fts, rowid, text) VALUES ('delete', ?, ?)"),
        (back, "INSERT INTO fts (rowid, text) VALUES (?, ?)"),
    ):
        with db:
            db.executemany(sql, batch)
    return db


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(TOKENIZERS),
    st.lists(st.one_of(TEXT, WHOLE), min_size=1, max_size=8),
    st.sets(st.integers(0, 7), max_size=3),
    st.sets(st.integers(0, 7), max_size=3),
    st.lists(st.tuples(CLAUSES, st.sampled_from(["AND", "OR"])), min_size=1, max_size=4),
    st.integers(1, 9),
)
def test_the_hits_and_numbers_are_those_of_fts5(
    tokenizer: str,
    texts: list[str],
    removed: set[int],
    again: set[int],
    questions: list[tuple[list[Clause], Literal["AND", "OR"]]],
    limit: int,
) -> None:
    db = table(tokenizer, texts, removed, again)
    source = SQLitePostings(db, "fts", tokenizer)
    postings = KeywordPostings(source)
    rows = postings.collection.sizes.rows
    keys = [f"{row * 7919 % 101:03}" for row in rows.tolist()]
    named = dict(zip(rows.tolist(), keys, strict=True))
    for clauses, operator in questions:
        query = Query(tuple(clauses), operator)
        found = db.execute("SELECT rowid, bm25(fts) FROM fts WHERE fts MATCH ?", (match_expression(query),))
        expected = sorted(found.fetchall(), key=lambda hit: (hit[1], named[hit[0]]))
        hits = postings.best(query, limit, source, lambda: keys)
        assert hits.rows.tolist() == [row for row, _ in expected[:limit]]
        assert hits.raw == pytest.approx([raw for _, raw in expected[:limit]], rel=1e-9, abs=0)


EMBEDDER = ToyEmbedder({"tea": ("tea",), "bike": ("bike",), "server": ("server",)})


def an_index(file: Path, texts: Sequence[str]) -> MemoryIndex:
    return MemoryIndex(a_store(file, texts), EMBEDDER)


def words(*texts: str, operator: Literal["AND", "OR"] = "OR") -> Query:
    return Query(tuple(map(Clause, texts)), operator)


def not_from_postings(index: MemoryIndex, query: Query) -> str | None:
    """Why a query is asked in SQL; None if it is answered from the postings."""
    source, postings = index.postings()
    try:
        postings.best(query, 1, source, index.store.keys)
    except NoPostingsError as error:
        return str(error)
    return None


def same(index: MemoryIndex, query: Query, limit: int = 5) -> None:
    assert not_from_postings(index, query) is None
    hits, reference = index.keyword(query, limit), index.store.keyword(query, limit)
    assert (hits.rows.tolist(), hits.raw.tolist()) == (reference.rows.tolist(), reference.raw.tolist())


TEXTS = ["a cup of tea", "tea and tea", "the bike", "", "a a a", "cup of cup of oak"]
TEXTS += [f"of {number}" for number in range(9)]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (Query((Clause("te", prefix=True),)), "te* is a prefix"),
        (Query(expression="tea NOT cup"), "it is written in FTS5's own syntax"),
        (Query((Clause("tea OR cup", bare=True),)), "tea OR cup is written in FTS5's own syntax"),
        (Query((Clause("OR", bare=True),)), "OR is written in FTS5's own syntax"),
        (Query(), "it has no clauses"),
        (words("tea\0cup"), "a clause has a character that SQLite does not take"),
    ],
    ids=str,
)
def test_an_index_says_why_it_asks_in_sql(tmp_path: Path, query: Query, reason: str) -> None:
    with an_index(tmp_path / "i", TEXTS) as index:
        assert not_from_postings(index, query) == reason


def test_a_prefix_is_answered_all_the_same(tmp_path: Path) -> None:
    with an_index(tmp_path / "i", TEXTS) as index:
        query = Query((Clause("te", prefix=True),))
        assert index.keyword(query, 9).rows.tolist() == index.store.keyword(query, 9).rows.tolist() != []


def test_the_postings_are_shared_and_follow_the_index(tmp_path: Path) -> None:
    bare = Query((Clause("tea", bare=True), Clause("cup")))
    odd = [words("tea", "!!", operator="AND"), words("!!"), bare]
    with an_index(tmp_path / "i", TEXTS) as index, Store.open(tmp_path / "i") as writer:
        assert index.postings()[1] is MemoryIndex(writer, EMBEDDER).postings()[1]
        for path in ["", *list(writer.stamps())[:4]]:
            writer.delete(path)
            for query in (words("tea", "tea", "of"), words("cup of"), *odd):
                same(index, query, 3)
        with index.snapshot():
            same(index, words("tea", "cup of", "bike"))


def test_ties_by_row_keep_the_order_in_which_chunks_were_stored(tmp_path: Path) -> None:
    with an_index(tmp_path / "i", [f"tea {n}" for n in range(9)]) as index:
        index.store.provenance.describe(ties_by_row=True)
        assert index.keyword(words("tea"), 4).rows.tolist() == [1, 2, 3, 4]


def test_the_cache_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_BYTES", 200)
    monkeypatch.setattr(module, "BYTES_PER_CHUNK", 1)
    with an_index(tmp_path / "i", TEXTS) as index:
        for word in ("of", "tea", "cup", "a", "bike", "of"):
            same(index, words(word, "tea"))
            assert 0 < index.postings()[1].bytes <= 200


def test_a_term_with_many_instances_is_asked_in_sql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_postings, "MOST_INSTANCES", 5)
    with an_index(tmp_path / "i", TEXTS) as index:
        assert not_from_postings(index, words("of")) == "of stands 12 times in the index"
        assert index.keyword(words("of"), 99).rows.size == 11


def test_lengths_that_do_not_fit_the_table_are_not_used(tmp_path: Path) -> None:
    with an_index(tmp_path / "i", TEXTS) as index:
        index.store.db.execute("DELETE FROM chunks_fts_docsize WHERE id = 2")  # type: ignore[attr-defined]
        with pytest.raises(NoPostingsError, match="totals"):
            index.postings()
        with pytest.raises(DamagedError), index.snapshot():
            index.keyword(words("tea"), 1)  # FTS5 says it, too


def test_many_vectors_are_answered_as_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.memory.store.scan.NUMBERS_AT_ONCE", 40)
    vectors = np.random.default_rng(1).standard_normal((15, 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with MemoryIndex(a_store(tmp_path / "i", TEXTS, vectors), EMBEDDER) as index:
        for hits, query in zip(index.nearest_of_each(vectors[:7], 4), vectors, strict=False):
            alone = index.vector(query, 4)
            assert (hits.rows.tolist(), hits.raw.tolist()) == (alone.rows.tolist(), alone.raw.tolist())


def test_a_prefix_keeps_the_constants_of_fts5(tmp_path: Path) -> None:
    with an_index(tmp_path / "i", TEXTS) as index, pytest.raises(InputError, match="te\\* is a prefix"):
        index.keyword_with(Query((Clause("te", prefix=True),)), 3, 1.0, 0.5)

"""The lists of frequent words give what FTS5 gives, whatever has changed since they were made."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import world
from tests.home import Home
from tests.memory.test_crash import as_nobody
from tests.memory.test_postings import TEXT, TOKENIZERS, WHOLE, words
from tests.memory.test_store import a_store
from workbench.memory.embedding.local import ToyEmbedder
from workbench.memory.files import content_hash
from workbench.memory.index import MemoryIndex
from workbench.memory.store.postings import Having, NoPostingsError
from workbench.memory.store.sqlite import word_listing
from workbench.memory.store.sqlite.fts5 import SQLitePostings
from workbench.memory.store.sqlite.store import Store
from workbench.memory.store.sqlite.word_listing import update_lists
from workbench.memory.store.sqlite.word_lists import SECOND, WordLists, packed, unpacked


@pytest.fixture(autouse=True)
def every_word_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_listing, "LEAST_CHUNKS", 1)


@given(st.data(), st.sampled_from([1, 9, 1_000, 200_000]))
def test_a_list_is_read_as_it_was_written(data: st.DataObject, size: int) -> None:
    chance = random.Random(data.draw(st.integers()))
    count = data.draw(st.integers(1, min(size, 500)))
    rows = np.array(sorted(chance.sample(range(size), count)))
    most = data.draw(st.sampled_from([1, 2, 255, 256, 70_000]))
    counts = np.array([chance.randint(1, most) for _ in range(count)], np.int32)
    found = unpacked(*packed(Having(rows, counts), size), size)
    assert (found.rows.tolist(), found.counts.tolist()) == (rows.tolist(), counts.tolist())


class Chunks:
    """A file's tables of chunks and of their words, with any tokenizer."""

    def __init__(self, tokenizer: str) -> None:
        self.db = apsw.Connection(":memory:")
        self.db.execute(
            "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
            "INSERT INTO meta VALUES ('generation', '1');"
            "CREATE TABLE chunks (id INTEGER PRIMARY KEY, hash TEXT, text TEXT);"
            "CREATE VIRTUAL TABLE chunks_fts USING fts5 "
            f"(text, content = 'chunks', content_rowid = 'id', tokenize = '{tokenizer}')"
        )
        self.lists = WordLists(self.db)
        self.source = SQLitePostings(self.db, "chunks_fts", tokenizer, self.lists)

    def store(self, texts: Sequence[str]) -> None:
        for text in texts:
            self.db.execute("INSERT INTO chunks (hash, text) VALUES (?, ?)", (content_hash(text), text))
            row = self.db.last_insert_rowid()
            self.db.execute("INSERT INTO chunks_fts (rowid, text) VALUES (?, ?)", (row, text))

    def remove(self, rows: Sequence[int]) -> None:
        for row in rows:
            text = self.db.execute("SELECT text FROM chunks WHERE id = ?", (row,)).get
            self.db.execute(
                "INSERT INTO chunks_fts (chunks_fts, rowid, text) VALUES ('delete', ?, ?)", (row, text)
            )
            self.db.execute("DELETE FROM chunks WHERE id = ?", (row,))

    def advance(self) -> None:
        self.db.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")

    def terms(self) -> Iterator[str]:
        self.source.tokens("")  # makes the vocabulary
        yield from (term for (term,) in self.db.execute("SELECT term FROM temp.chunks_fts_row"))

    def check(self) -> int:
        """How many terms have a list. Each has what FTS5 gives."""
        listed = 0
        for term in list(self.terms()):
            having, reference = self.source.having(term), self.source.from_fts5(term)
            assert (having.rows.tolist(), having.counts.tolist()) == (
                reference.rows.tolist(),
                reference.counts.tolist(),
            )
            listed += self.lists.of(term) is not None
        return listed


def test_a_word_may_stand_more_often_than_a_stored_value_is_long() -> None:
    chunks = Chunks("unicode61")
    chunks.db.limit(apsw.SQLITE_LIMIT_LENGTH, 10_000)
    chunks.store(["tea " * 50] * 100)  # 5,000 instances, and a longer text of their rows
    update_lists(chunks.db, chunks.source)
    assert chunks.check() == 1
    assert chunks.source.having("tea").counts.tolist() == [50] * 100
    assert chunks.db.limit(apsw.SQLITE_LIMIT_LENGTH) == 10_000


CHANGES = st.lists(
    st.tuples(st.sets(st.integers(0, 9), max_size=3), st.lists(st.one_of(TEXT, WHOLE), max_size=3)),
    max_size=4,
)


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(TOKENIZERS), st.lists(st.one_of(TEXT, WHOLE), min_size=1, max_size=9), CHANGES)
def test_every_list_is_what_fts5_gives(
    tokenizer: str, texts: list[str], changes: list[tuple[set[int], list[str]]]
) -> None:
    chunks = Chunks(tokenizer)
    chunks.store(texts)
    update_lists(chunks.db, chunks.source)
    assert chunks.check() == len(list(chunks.terms()))
    for removed, added in changes:
        present = [row for (row,) in chunks.db.execute("SELECT id FROM chunks ORDER BY id")]
        chunks.remove([present[place] for place in removed if place < len(present)])
        chunks.store(added)
        chunks.advance()
        assert chunks.check() == 0  # lists of another state are not read
        update_lists(chunks.db, chunks.source)
        chunks.check()


EMBEDDER = ToyEmbedder({"tea": ("tea",), "bike": ("bike",), "server": ("server",)})
TEXTS = ["a cup of tea", "tea and tea", "the bike", "", "a a a", "cup of cup of oak", "tea " * 300]


def is_listed(index: MemoryIndex, term: str) -> bool:
    return WordLists(index.store.db).of(term) is not None  # type: ignore[attr-defined]


def test_a_search_reads_the_lists_and_gives_the_hits_of_fts5(tmp_path: Path) -> None:
    store = a_store(tmp_path / "i", TEXTS)
    store.list_words()
    with MemoryIndex(store, EMBEDDER) as index:
        for query in (
            words("tea"),
            words("cup", "a", "tea"),
            words("cup of"),
            words("bike", "the", operator="AND"),
        ):
            index.keyword(query, 5)  # the first question of a state is asked in SQL
            hits, reference = index.keyword(query, 5), store.keyword(query, 5)
            assert (hits.rows.tolist(), hits.raw.tolist()) == (
                reference.rows.tolist(),
                reference.raw.tolist(),
            )
        assert is_listed(index, "tea")


def test_a_small_change_lists_its_own_chunks_and_a_large_one_all_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = a_store(tmp_path / "i", TEXTS)
    with store:
        store.list_words()
        store.delete(next(iter(store.stamps())))
        store.list_words()
        assert store.db.execute("SELECT length(value) FROM word_rows WHERE name = 'gone'").get > 0
        monkeypatch.setattr(word_listing, "LEAST_CHANGED", 0)
        store.delete(next(iter(store.stamps())))
        store.list_words()
        assert store.db.execute("SELECT length(value) FROM word_rows WHERE name = 'gone'").get == 0
        assert not store.db.execute("SELECT count(*) FROM word_lists WHERE part = ?", (SECOND,)).get


def test_a_sync_lists_and_an_index_without_lists_gets_them_with_the_next(home: Home) -> None:
    home.sync()
    with home.opened() as index:
        assert is_listed(index, "tea")
    with Store.open(home.file) as store, store.writing():
        store.db.execute("DROP TABLE word_lists")
        store.db.execute("DROP TABLE word_rows")
        store.db.execute("DELETE FROM meta WHERE key = 'words'")
    with home.opened() as index:
        assert not is_listed(index, "tea")
    home.sync()
    with home.opened() as index:
        assert is_listed(index, "tea")


def test_a_file_that_may_only_be_read_is_searched_without_lists() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        home = Home(world.write(Path(name) / "memory_of_wren"), Path(name) / "index" / "i.sqlite")
        home.sync()
        with Store.open(home.file) as store, store.writing():
            store.set_meta("words", "0")
        home.file.parent.chmod(0o777)
        for one in home.file.parent.iterdir():
            one.chmod(0o444 if ".build-" in one.name else 0o666)
        with as_nobody():
            assert home.sync().unchanged == 6
            with home.opened() as index:
                assert not is_listed(index, "tea")


FORGED = {
    "no row": "UPDATE word_lists SET rows = x''",
    "odd bytes": "UPDATE word_lists SET rows = x'ffffff'",
    "more counts": "UPDATE word_lists SET counts = x'ffffffffffffffffffffffffffffff'",
    "a number in place of a blob": "UPDATE word_lists SET rows = 7",
    "a text in place of a number": "UPDATE word_lists SET chunks = 'many'",
    "a negative number": "UPDATE word_lists SET chunks = -1",
    "too many": "UPDATE word_lists SET chunks = 1 << 62",
    "rows far away": "UPDATE word_rows SET value = x'ffffffffffffff7f' WHERE name = 'rows'",
    "negative rows": "UPDATE word_rows SET value = x'ffffffffffffffff' WHERE name = 'rows'",
    "gone rows far away": "UPDATE word_rows SET value = x'ffffffffffffff7f' WHERE name = 'gone'",
    "odd rows": "UPDATE word_rows SET value = x'ff'",
    "other tables": "DROP TABLE word_rows; CREATE TABLE word_rows (name, value)",
    "no table": "DROP TABLE word_lists",
}


@pytest.mark.parametrize("statements", FORGED.values(), ids=FORGED)
def test_forged_lists_are_not_read(tmp_path: Path, statements: str) -> None:
    store = a_store(tmp_path / "i", TEXTS)
    store.list_words()
    store.db.execute(statements)
    with MemoryIndex(store, EMBEDDER) as index:
        with pytest.raises(NoPostingsError, match="lists of words are not"):
            is_listed(index, "tea")
        query = words("tea", "a")
        for _ in range(2):
            index.keyword(query, 5)
            hits, reference = index.keyword(query, 5), store.keyword(query, 5)
            assert (hits.rows.tolist(), hits.raw.tolist()) == (
                reference.rows.tolist(),
                reference.raw.tolist(),
            )
            store.delete(next(iter(store.stamps())))
            store.list_words()

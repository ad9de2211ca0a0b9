"""The contract suite of a store: subclass `StoreContract` with a fixture that makes an empty store."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.errors import InputError
from workbench.memory.embedding.local import ToyEmbedder
from workbench.memory.files import content_hash
from workbench.memory.index import MemoryIndex
from workbench.memory.sources import LineChunker
from workbench.memory.store.contract import Cached, IndexStore, Settings
from workbench.records import Clause, Document, Query
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import SYSTEMS

EMBEDDER = ToyEmbedder({"tea": ("tea", "rooibos"), "bike": ("bike", "hub"), "server": ("server", "disk")})
SETTINGS = Settings(EMBEDDER.name, EMBEDDER.revision, EMBEDDER.dimensions, "lines")
NOTES = {
    "memory/tea.md": "A cup of rooibos tea.",
    "memory/bike.md": "The hub of the bike grinds, and the brake squeals.",
    "memory/server.md": "A disk of the server failed.",
    "memory/errand.md": "Take the bike to the shop and drink tea there.",
    "memory/same-a.md": "Word for word the same note.",
    "memory/same-b.md": "Word for word the same note.",
}


def document(path: str, text: str) -> Document:
    return Document(path, "memory", text, content_hash(text), len(text), 7)


def put(store: IndexStore, path: str, text: str) -> None:
    passages = LineChunker().chunk(text)
    vectors = EMBEDDER.embed([one.text for one in passages], "passage").vectors
    store.replace(document(path, text), passages, [Cached(vector, 0.5) for vector in vectors])


def words(*texts: str, operator: str = "AND", prefix: bool = False) -> Query:
    return Query(tuple(Clause(text, prefix=prefix) for text in texts), operator)  # type: ignore[arg-type]


class StoreContract:
    """What holds for every store. A subclass defines the fixture `empty`."""

    @pytest.fixture
    def store(self, empty: IndexStore) -> IndexStore:
        for path, text in NOTES.items():
            put(empty, path, text)
        return empty

    def found(self, store: IndexStore, query: Query, limit: int = 9) -> list[str]:
        return [one.path for one in store.chunks(store.keyword(query, limit).rows)]

    def test_an_empty_store_answers_nothing(self, empty: IndexStore) -> None:
        assert (empty.size, empty.stamps(), empty.documents(), empty.keys()) == (0, {}, [], [])
        assert empty.matrix()[1].shape == (0, EMBEDDER.dimensions)
        assert empty.keyword(words("tea"), 5).rows.size == 0
        assert empty.settings == SETTINGS

    def test_what_is_stored_comes_back(self, store: IndexStore) -> None:
        assert [one.path for one in store.documents()] == sorted(NOTES)
        assert {one.path: one.text for one in store.documents()} == NOTES
        assert store.stamps()["memory/tea.md"].look == (len(NOTES["memory/tea.md"]), 7)
        (chunk,) = store.chunks(store.rows_of("memory/tea.md"))
        assert (chunk.path, chunk.start_line, chunk.text.strip()) == ("memory/tea.md", 1, NOTES[chunk.path])
        assert chunk.read_share == 0.5
        assert store.rows_of("memory/none.md").size == 0

    def test_rows_keys_and_vectors_belong_together(self, store: IndexStore) -> None:
        rows, vectors = store.matrix()
        assert rows.tolist() == sorted(rows.tolist())
        assert [one.id for one in store.chunks(rows)] == store.keys()
        expected = EMBEDDER.embed([one.text for one in store.chunks(rows)], "passage").vectors
        assert np.allclose(vectors, expected, atol=1e-6)

    def test_a_row_that_the_store_has_not_is_named(self, store: IndexStore) -> None:
        with pytest.raises(InputError, match=f"has no chunk with the row {10**9}"):
            store.chunks(np.array([10**9], np.int64))

    def test_and_needs_every_clause_and_or_needs_one(self, store: IndexStore) -> None:
        assert self.found(store, words("tea", "bike")) == ["memory/errand.md"]
        both = self.found(store, words("tea", "bike", operator="OR"))
        assert set(both) == {"memory/tea.md", "memory/bike.md", "memory/errand.md"}

    def test_a_phrase_stands_together_and_a_prefix_begins_a_word(self, store: IndexStore) -> None:
        assert self.found(store, Query((Clause("rooibos tea", phrase=True),))) == ["memory/tea.md"]
        assert self.found(store, Query((Clause("tea rooibos", phrase=True),))) == []
        assert self.found(store, words("squea", prefix=True)) == ["memory/bike.md"]

    def test_hits_come_best_first_with_ties_by_chunk_id(self, store: IndexStore) -> None:
        hits = store.keyword(words("the", "word", operator="OR"), 9)
        assert (np.diff(hits.relevance) <= 0).all()
        ids = [one.id for one in store.chunks(hits.rows)]
        assert list(zip(-hits.relevance, ids, strict=True)) == sorted(zip(-hits.relevance, ids, strict=True))
        for limit in (1, 2, 3):
            first = store.keyword(words("the", "word", operator="OR"), limit)
            assert first.rows.tolist() == hits.rows[:limit].tolist()

    def test_a_keyword_search_in_memory_gives_the_hits_of_the_store(self, store: IndexStore) -> None:
        index = MemoryIndex(store, EMBEDDER)
        for operator in ("AND", "OR"):
            query = words("the", "word", "bike", operator=operator)
            hits, expected = index.keyword(query, 3), store.keyword(query, 3)
            assert hits.rows.tolist() == expected.rows.tolist()
            assert hits.raw == pytest.approx(expected.raw, rel=1e-9)

    def test_a_clause_is_data(self, store: IndexStore) -> None:
        odd = ("AND", "before\0after", 'a"b', "x OR y", "*", "'; DROP TABLE chunks; --", "NEAR(a b)", "\\")
        for text in odd:
            assert isinstance(store.compiled(words(text)), str)
            assert store.keyword(words(text), 5).rows.size <= len(NOTES)

    def test_a_changed_document_takes_the_place_of_the_old(self, store: IndexStore) -> None:
        before = store.generation
        put(store, "memory/tea.md", "Only coffee now.")
        assert store.generation > before
        assert self.found(store, words("rooibos")) == []
        assert self.found(store, words("coffee")) == ["memory/tea.md"]
        assert store.size == len(NOTES)

    def test_a_deleted_document_is_gone(self, store: IndexStore) -> None:
        store.delete("memory/tea.md")
        assert "memory/tea.md" not in store.stamps()
        assert self.found(store, words("rooibos")) == []
        assert len(store.keys()) == store.size == store.matrix()[0].size == len(NOTES) - 1

    def test_what_fails_in_the_middle_is_undone(self, store: IndexStore) -> None:
        def failing() -> None:
            with store.writing():
                store.delete("memory/tea.md")
                raise KeyError

        with pytest.raises(KeyError):
            failing()
        assert self.found(store, words("rooibos")) == ["memory/tea.md"]

    def test_a_new_look_changes_no_text(self, store: IndexStore) -> None:
        store.restamp({"memory/tea.md": (1, 2)})
        assert store.stamps()["memory/tea.md"].look == (1, 2)
        assert self.found(store, words("rooibos")) == ["memory/tea.md"]

    def test_vectors_are_remembered_by_model_and_role(self, empty: IndexStore) -> None:
        vector = np.array([1, 0, 0], np.float32)
        empty.remember(SETTINGS, "query", {"h": Cached(vector, 1.0)})
        assert np.array_equal(empty.cached(SETTINGS, "query", ["h", "other"])["h"].vector, vector)
        assert empty.cached(SETTINGS, "passage", ["h"]) == {}
        assert empty.cached(Settings("other", "1", 3, "lines"), "query", ["h"]) == {}

    def test_vectors_that_are_kept_while_one_state_is_read_are_written_at_its_end(
        self, empty: IndexStore
    ) -> None:
        vector, known = Cached(np.array([1, 0, 0], np.float32), 1.0), empty.known_vectors
        with known.while_reading(), known.while_reading():
            known.keep(SETTINGS, "query", {"h": vector})
            assert list(known.find(SETTINGS, "query", ["h", "other"])) == ["h"]
            assert empty.cached(SETTINGS, "query", ["h"]) == {}
        assert list(empty.cached(SETTINGS, "query", ["h"])) == ["h"]

    def test_the_store_to_ask_next_is_this_one_until_a_rebuild(self, store: IndexStore) -> None:
        assert store.latest() is store
        with store.reading():
            assert store.latest() is store
        with store.writing(), store.reading():
            assert store.latest() is store
            assert store.size == len(NOTES)

    def test_every_system_searches_and_explains(self, store: IndexStore) -> None:
        index = MemoryIndex(store, EMBEDDER)
        for pipeline in SYSTEMS.values():
            trace = search("rooibos tea", pipeline, index)
            assert "memory/tea.md" in {one.path for one in trace.chunks}
            assert explain(trace, index, "memory/tea.md").verdicts

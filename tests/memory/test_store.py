"""The store: what it answers, and in which order."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests import world
from tests.home import Home
from tests.world import written
from workbench.errors import InputError
from workbench.memory.embedding import local as embedding
from workbench.memory.files import content_hash
from workbench.memory.index import MemoryIndex
from workbench.memory.store.contract import Cached, Settings, hits_of, in_order
from workbench.memory.store.scan import Scan
from workbench.memory.store.sqlite.database import has_places
from workbench.memory.store.sqlite.store import Store
from workbench.records import Document, Hits, Passage, Vector


def a_store(file: Path, texts: Sequence[str], vectors: NDArray[np.float32] | None = None) -> Store:
    """A store with one document a text, in the given order; a document is named after its text."""
    vectors = np.eye(len(texts), 3, dtype=np.float32) if vectors is None else vectors
    store = Store.create(file, Settings("toy", "r", vectors.shape[1], "c"))
    for text, vector in zip(texts, vectors, strict=True):
        hash_ = content_hash(text)
        document = Document(f"{hash_[:16]}.md", "memory", text, hash_, len(text), 0)
        store.replace(document, [Passage(text, 1, 1, hash_)], [Cached(vector, 1.0)])
    return store


def bm25(words: Sequence[str], texts: Sequence[str], k1: float = 1.2, b: float = 0.75) -> list[float]:
    """FTS5's bm25 of each text for an OR of `words`, from its definition; 0 where nothing matches."""
    bags = [re.findall(r"[a-z]+", text) for text in texts]
    mean = sum(map(len, bags)) / len(bags)
    scores = [0.0] * len(bags)
    for word in words:
        having = sum(word in bag for bag in bags)
        idf = max(math.log((len(bags) - having + 0.5) / (having + 0.5)), 0) or 1e-6
        for i, bag in enumerate(bags):
            times = bag.count(word)
            scores[i] -= idf * times * (k1 + 1) / (times + k1 * (1 - b + b * len(bag) / mean))
    return scores


TEXTS = st.lists(
    st.lists(st.sampled_from(["tea", "cup", "hub", "disk", "oak"]), min_size=1, max_size=9).map(" ".join),
    min_size=2,
    max_size=12,
    unique=True,
)


@settings(deadline=None)
@given(TEXTS, st.lists(st.sampled_from(["tea", "hub", "oak"]), min_size=1, max_size=3, unique=True))
def test_fts5s_bm25_is_ten_lines_of_python(texts: list[str], words: list[str]) -> None:
    with a_store(Path(":memory:"), texts) as store:
        found = store.keyword(written(" OR ".join(f'"{word}"' for word in words)), len(texts))
        expected = {row: raw for row, raw in enumerate(bm25(words, texts), 1) if raw}
        assert dict(zip(found.rows.tolist(), found.raw, strict=True)) == pytest.approx(expected)
        assert found.raw.tolist() == sorted(found.raw.tolist())


@pytest.mark.parametrize("limit", [1, 4, 11, 12, 30])
def test_keyword_ties_at_the_limit_go_to_the_smaller_chunk_ids(tmp_path: Path, limit: int) -> None:
    with a_store(tmp_path / "i", [f"tea {'x' * n}" for n in range(1, 12)] + ["tea tea"]) as store:
        found = store.keyword(written("tea"), limit)
        ids = [chunk.id for chunk in store.chunks(found.rows)]
        others = sorted(set(store.keys()) - {ids[0]})
        assert store.chunks(found.rows)[0].text == "tea tea"
        assert ids[1:] == others[: limit - 1]


def by_vec0(index: MemoryIndex, query: Vector, limit: int) -> Hits:
    """The nearest chunks by sqlite-vec's own search."""
    asked = "SELECT chunk_id, distance FROM chunks_vec WHERE embedding MATCH ? AND k = ?"
    return in_order(index.store, hits_of(index.store.db.execute(asked, (query.tobytes(), limit)).fetchall()))


def test_vec0_agrees_with_the_scan(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    vectors = embedding.unit(random.normal(size=(150, 16)).astype(np.float32))
    texts = [f"note {n}" for n in range(150)]
    with MemoryIndex(a_store(tmp_path / "i", texts, vectors), world.EMBEDDER) as index:
        for query in embedding.unit(random.normal(size=(20, 16)).astype(np.float32)):
            ours, theirs = index.vector(query, 10), by_vec0(index, query, 10)
            assert ours.rows.tolist() == theirs.rows.tolist()
            assert ours.raw == pytest.approx(theirs.raw, abs=1e-6)


@pytest.mark.parametrize("dimensions", [3, 384])
def test_equal_vectors_are_ordered_by_chunk_id_wherever_they_are(tmp_path: Path, dimensions: int) -> None:
    random = np.random.default_rng(1)
    one, query = embedding.unit(random.normal(size=(2, dimensions)).astype(np.float32))
    for count in range(2, 40, 3):
        same = np.tile(one, (count, 1))
        store = a_store(tmp_path / f"{count}", [f"note {n}" for n in range(count)], same)
        with MemoryIndex(store, world.EMBEDDER) as index:
            found = index.vector(query, count)
            assert [chunk.id for chunk in index.chunks(found.rows)] == sorted(store.keys())


def test_a_question_of_other_dimensions_is_refused(toy: MemoryIndex) -> None:
    with pytest.raises(InputError, match="384 dimensions, the index 3"):
        toy.vector(np.zeros(384, np.float32), 5)


def test_a_removed_text_is_forgotten_for_every_model_unless_another_file_has_it(tmp_path: Path) -> None:
    texts, vector = ["a cup", "a hub"], Cached(np.ones(3, np.float32), 1.0)
    cup, hub = map(content_hash, texts)
    models = [Settings(model, "r", 3, "c") for model in ("toy", "other")]
    with a_store(tmp_path / "i.sqlite", texts) as store:
        twice = Document("twice.md", "memory", texts[0], "x", 5, 0)
        store.replace(twice, [Passage(texts[0], 1, 1, cup)], [vector])
        for model in models:
            store.remember(model, "passage", {cup: vector, hub: vector})
        for hash_ in (cup, hub):
            store.delete(f"{hash_[:16]}.md")
        store.forget_removed_texts()
        assert [list(store.cached(model, "passage", [cup, hub])) for model in models] == [[cup], [cup]]


def test_a_cached_vector_takes_no_page_of_its_own(tmp_path: Path) -> None:
    settings = Settings("a-model-with-a-usual-name", "1" * 40, 384, "c")
    with Store.create(tmp_path / "i.sqlite", settings) as store:
        before = store.db.pragma("page_count")
        vectors = {content_hash(str(i)): Cached(np.ones(384, np.float32), 1.0) for i in range(400)}
        store.remember(settings, "passage", vectors)
        grown = (store.db.pragma("page_count") - before) * store.db.pragma("page_size")
    assert grown / len(vectors) < 2 * 4 * 384


@pytest.mark.parametrize("seed", range(6))
def test_one_question_alone_gets_the_hits_of_a_scan(tmp_path: Path, seed: int) -> None:
    chance = np.random.default_rng(seed)
    few = chance.integers(-1, 2, (1_100, 3)).astype(np.float32) + 1e-3  # many are equal, so there are ties
    vectors = chance.standard_normal((1_100, 3)).astype(np.float32) if seed % 2 else few
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    sure = 0
    with a_store(tmp_path / "i.sqlite", [f"text {number}" for number in range(1_100)], vectors) as store:
        scan = Scan(*store.matrix()[:1], store.keys(), store.matrix()[1])
        for query, limit in product(vectors[:5], (1, 24, 100)):
            found = store.nearest(query, limit, alone=True)
            if found is not None:
                sure += 1
                assert found.rows.tolist() == scan.nearest(query, limit).rows.tolist()
                assert found.raw.tobytes() == scan.nearest(query, limit).raw.tobytes()
    assert sure > 0 or not seed % 2


@pytest.mark.parametrize("limit", [300, 384, 400, 401, 1_100])
def test_a_question_for_as_many_hits_as_there_are_chunks_gets_them_all(tmp_path: Path, limit: int) -> None:
    vectors = np.random.default_rng(3).standard_normal((400, 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    store = a_store(tmp_path / "i.sqlite", [f"text {number}" for number in range(400)], vectors)
    with MemoryIndex(store, world.EMBEDDER) as index:
        first, second = (index.vector(vectors[0], limit) for _ in range(2))  # alone, and from the scan
    assert first.rows.tolist() == second.rows.tolist()
    assert first.rows.size == min(limit, 400)


@pytest.mark.parametrize("made", ["", "CREATE INDEX documents_places ON documents (hash)"])
def test_an_older_index_is_read_and_gets_the_places_of_its_documents_with_the_next_sync(
    made: str, home: Home
) -> None:
    _, expected = home.contents()
    db = apsw.Connection(str(home.file))
    db.execute(f"DROP INDEX documents_places; {made}")
    db.close()
    assert home.contents()[1] == expected
    with Store.open(home.file) as store:
        assert not has_places(store.db)
    home.sync()
    assert home.contents()[1] == expected
    with Store.open(home.file) as store:
        assert has_places(store.db)

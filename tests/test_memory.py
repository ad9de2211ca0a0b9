"""The memory room: files, chunks, vectors, and an index that follows its folder."""

from __future__ import annotations

import hashlib
import math
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests import world
from tests.conftest import SAMPLE
from workbench.memory import embedding, sync
from workbench.memory.chunking import LineChunker, chunk_id, remap_lines, utf16_length
from workbench.memory.embedding import Embedded, LocalEmbedder, ToyEmbedder, Truncated, Windowed
from workbench.memory.files import content_hash, list_files, memory_root, read_document
from workbench.memory.index import MemoryIndex, default_index_path
from workbench.memory.store import Cached, Settings, Store
from workbench.memory.sync import Summary, index_folder, open_index
from workbench.records import Document, InputError, Passage
from workbench.retrieval.pipeline import search
from workbench.systems.openclaw import FIXED, SHIPPED, WORKAROUND

# files


@pytest.mark.parametrize(
    ("there", "listed"),
    [
        (["MEMORY.md", "memory/a.md", "notes.md"], ["MEMORY.md", "memory/a.md"]),
        (["memory.md", "notes.md"], ["memory.md"]),
        (["MEMORY.md", "memory.md"], ["MEMORY.md", "memory.md"]),
        (["memory/b.md", "memory/a/z.md", "memory/a.txt", "memory/c.MD"], ["memory/a/z.md", "memory/b.md"]),
        (["b.md", "a/c.md", ".git/d.md", "readme.txt"], ["a/c.md", "b.md"]),
        (["MEMORY.md", "memory/.trash/a.md"], ["MEMORY.md"]),
    ],
)
def test_the_files_of_a_memory_are_those_openclaw_reads(
    tmp_path: Path, there: list[str], listed: list[str]
) -> None:
    world.write(tmp_path, dict.fromkeys(there, "tea"))
    assert list_files(tmp_path) == listed


def test_a_document_is_read_as_it_is(tmp_path: Path) -> None:
    data = "\ufeff# Té\r\nrooibos\u2028☕\n".encode()
    (tmp_path / "a.md").write_bytes(data)
    document = read_document(tmp_path, "a.md")
    assert document.text.encode() == data
    assert (document.hash, document.size) == (hashlib.sha256(data).hexdigest(), len(data))


def test_a_symlink_is_refused(tmp_path: Path) -> None:
    world.write(tmp_path, {"secret.txt": "tea", "memory/a.md": "tea"})
    (tmp_path / "memory" / "link.md").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(InputError, match=r"memory/link\.md is a symbolic link"):
        read_document(tmp_path, "memory/link.md")


def test_a_memory_folder_that_links_elsewhere_is_not_followed(tmp_path: Path) -> None:
    world.write(tmp_path, {"elsewhere/secret.md": "tea", "root/MEMORY.md": "tea"})
    (tmp_path / "root" / "memory").symlink_to(tmp_path / "elsewhere")
    try:
        listed = list_files(tmp_path / "root")
    except InputError:
        listed = []
    assert "memory/secret.md" not in listed


def test_a_linked_folder_below_the_memory_is_not_followed(tmp_path: Path) -> None:
    world.write(tmp_path, {"elsewhere/secret.md": "tea", "root/memory/a.md": "tea"})
    (tmp_path / "root" / "memory" / "link").symlink_to(tmp_path / "elsewhere")
    assert list_files(tmp_path / "root") == ["memory/a.md"]


def test_the_index_is_kept_outside_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = world.write(tmp_path / "wren")
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    assert default_index_path(root).parent == tmp_path / "home"
    monkeypatch.delenv("WORKBENCH_HOME")
    assert not default_index_path(root).is_relative_to(root)


def test_the_same_folder_by_another_name_has_the_same_index(tmp_path: Path) -> None:
    root = world.write(tmp_path / "wren")
    assert default_index_path(memory_root(root / "memory" / "..")) == default_index_path(root)


# chunking

LINE = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=15)
ANY_TEXT = st.text(st.sampled_from("ab \n\r\u2028é😀"), max_size=400)


@given(st.lists(LINE, max_size=40))
def test_every_line_is_in_a_chunk_under_its_own_number(lines: list[str]) -> None:
    passages = LineChunker(tokens=20, overlap=4).chunk("\n".join(lines))
    lines = lines or [""]
    assert all(p.text == "\n".join(lines[p.start_line - 1 : p.end_line]) for p in passages)
    assert passages[0].start_line == 1
    assert passages[-1].end_line == len(lines)
    assert all(b.start_line <= a.end_line + 1 for a, b in pairwise(passages))


def test_carrying_stops_as_soon_as_the_overlap_is_reached() -> None:
    # Each line costs 8, and 8 are wanted: one line is carried, not two.
    lines = [f"line-{n:02}" for n in range(8)]
    first, second, *_ = LineChunker(tokens=8, overlap=2).chunk("\n".join(lines))
    assert (first.start_line, first.end_line) == (1, 4)
    assert second.start_line == 4


@given(st.text(st.sampled_from("ab é\n"), max_size=500))
def test_without_overlap_the_chunks_are_the_text(text: str) -> None:
    passages = LineChunker(tokens=8, overlap=0).chunk(text)
    assert "".join(p.text for p in passages).replace("\n", "") == text.replace("\n", "")


@given(ANY_TEXT)
def test_without_overlap_no_chunk_is_beyond_the_budget(text: str) -> None:
    assert all(utf16_length(p.text) <= 8 * 4 for p in LineChunker(tokens=8, overlap=0).chunk(text))


@given(st.lists(LINE, max_size=40))
def test_short_carried_lines_keep_a_chunk_within_the_budget(lines: list[str]) -> None:
    # A line has at most 30 units: 4 × 4 carried, or one line more, and the next line fit into 80.
    passages = LineChunker(tokens=20, overlap=4).chunk("\n".join(lines))
    assert all(utf16_length(p.text) <= 20 * 4 for p in passages)


@given(ANY_TEXT)
def test_cutting_twice_gives_the_same_chunks(text: str) -> None:
    assert LineChunker(tokens=8, overlap=2).chunk(text) == LineChunker(tokens=8, overlap=2).chunk(text)


@given(ANY_TEXT)
def test_the_hash_of_a_passage_is_that_of_its_text(text: str) -> None:
    passages = LineChunker(tokens=8, overlap=2).chunk(text)
    assert all(p.hash == hashlib.sha256(p.text.encode()).hexdigest() for p in passages)


def test_a_carried_long_segment_reaches_twice_the_budget() -> None:
    passages = LineChunker().chunk("a" * 3000)
    assert [utf16_length(p.text) for p in passages] == [1600, 1600 + 1 + 1400]
    assert {(p.start_line, p.end_line) for p in passages} == {(1, 1)}


def test_lengths_are_counted_in_utf_16_units() -> None:
    assert utf16_length("é😀") == 1 + 2
    passages = LineChunker(tokens=8, overlap=0).chunk("😀" * 40)
    assert [p.text for p in passages] == ["😀" * 16, "😀" * 16, "😀" * 8]


def test_a_cut_surrogate_pair_becomes_two_replacement_characters() -> None:
    passages = LineChunker(tokens=8, overlap=0).chunk("a" + "😀" * 16)
    assert [p.text for p in passages] == ["a" + "😀" * 15 + "\ufffd", "\ufffd"]


def test_only_a_line_feed_ends_a_line() -> None:
    (passage,) = LineChunker().chunk("a\r\nb\u2028c\x0bd\x85e\n")
    assert (passage.text, passage.start_line, passage.end_line) == ("a\r\nb\u2028c\x0bd\x85e\n", 1, 3)


def test_an_empty_text_is_one_empty_passage() -> None:
    assert [p.text for p in LineChunker().chunk("")] == [""]


@pytest.mark.parametrize(("tokens", "overlap"), [(0, 0), (8, 8), (8, -1)])
def test_a_chunker_that_cannot_advance_is_refused(tokens: int, overlap: int) -> None:
    with pytest.raises(InputError, match="cannot advance"):
        LineChunker(tokens, overlap)


def test_remapped_lines_follow_the_map_as_far_as_it_goes() -> None:
    passages = [Passage("a", 1, 2, "h"), Passage("b", 2, 3, "i")]
    assert remap_lines(passages, [10, 20]) == [Passage("a", 10, 20, "h"), Passage("b", 20, 3, "i")]


def test_a_chunk_id_is_the_sha256_of_what_makes_it_itself() -> None:
    expected = hashlib.sha256(b"memory:memory/a.md:3:17:cafe:toy").hexdigest()
    assert chunk_id("memory", "memory/a.md", 3, 17, "cafe", "toy") == expected


# embedding


@pytest.fixture(scope="module")
def model() -> LocalEmbedder:
    return LocalEmbedder()


def pieces_of(text: str, model: LocalEmbedder) -> list[str]:
    return Windowed().pieces(text, model.offsets([text])[0], model.window)


def word_pieces(texts: Sequence[str], model: LocalEmbedder) -> list[int]:
    return [len(spans) for spans in model.offsets(texts)]


def test_a_toy_vector_can_be_computed_in_the_head() -> None:
    (vector,) = world.EMBEDDER.embed(["tea cup bike hub brake server"], "passage").vectors
    assert vector.tolist() == pytest.approx([2 / 14**0.5, 3 / 14**0.5, 1 / 14**0.5])


def test_a_text_without_a_theme_is_zeros() -> None:
    assert not world.EMBEDDER.embed(["nothing"], "query").vectors.any()


def test_other_axes_are_another_revision() -> None:
    assert ToyEmbedder({"tea": ("tea",)}).revision != ToyEmbedder({"tea": ("cup",)}).revision


def test_the_packaged_weights_have_the_published_checksum() -> None:
    assert (embedding.packaged_model() / "model.safetensors").is_file()


def test_a_wrong_checksum_is_refused() -> None:
    with pytest.raises(InputError, match="not the published 000000000000"):
        embedding.packaged_model("0" * 64)


def test_missing_weights_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.safetensors are missing"):
        embedding.verify_weights(tmp_path / "absent.safetensors", "0" * 64)


def test_a_missing_model_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "PACKAGED_IN", "no_such_package")
    with pytest.raises(InputError, match="not installed"):
        embedding.packaged_model()


def test_an_unknown_reading_is_refused() -> None:
    with pytest.raises(InputError, match="windowed, truncated"):
        embedding.reading_named("skimmed")


def test_windows_join_to_the_text_and_each_is_read_whole(model: LocalEmbedder) -> None:
    texts = [read_document(SAMPLE, path).text for path in list_files(SAMPLE)]
    chunks = [p.text for text in texts for p in LineChunker().chunk(text) if p.text.strip()]
    cut = [pieces_of(chunk, model) for chunk in chunks]
    assert max(word_pieces(chunks, model)) > model.window
    assert ["".join(pieces) for pieces in cut] == chunks
    assert max(word_pieces([piece for pieces in cut for piece in pieces], model)) <= model.window


@pytest.mark.parametrize("word", ["tea", "falsifiability", "antidisestablishmentarianism"])
def test_a_text_that_just_fills_its_windows_is_read_whole(word: str, model: LocalEmbedder) -> None:
    (per_word,) = word_pieces([word], model)
    for windows in (1, 2, 3):
        text = " ".join([word] * (windows * model.window // per_word))
        assert max(word_pieces(pieces_of(text, model), model)) <= model.window


def test_a_truncated_reading_says_what_it_left_out(model: LocalEmbedder) -> None:
    text = "tea " * (2 * model.window)
    assert LocalEmbedder(reading=Truncated()).embed([text], "passage").read_share.tolist() == [0.5]
    assert model.embed([text], "passage").read_share.tolist() == [1.0]


def test_a_short_text_has_one_vector_under_both_readings(model: LocalEmbedder) -> None:
    truncated = LocalEmbedder(reading=Truncated()).embed(["a cup of tea"], "passage")
    assert np.array_equal(truncated.vectors, model.embed(["a cup of tea"], "passage").vectors)


def test_the_end_of_a_long_text_moves_only_the_windowed_vector(model: LocalEmbedder) -> None:
    texts = ["tea " * 300 + end for end in ("", "The disk of the server failed.")]
    truncated = LocalEmbedder(reading=Truncated()).embed(texts, "passage").vectors
    windowed = model.embed(texts, "passage").vectors
    assert truncated[0] @ truncated[1] == pytest.approx(1, abs=1e-6)
    assert windowed[0] @ windowed[1] < 0.99


def test_local_vectors_have_length_one(model: LocalEmbedder) -> None:
    vectors = model.embed(["tea", "bike " * 600, "# Server\n\ndisk"], "passage").vectors
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3), abs=1e-6)


def test_no_texts_give_no_vectors(model: LocalEmbedder) -> None:
    assert model.embed([], "passage").vectors.shape == (0, 384)


def test_the_two_readings_have_two_revisions() -> None:
    assert LocalEmbedder().revision != LocalEmbedder(reading=Truncated()).revision


# store


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


@given(TEXTS, st.lists(st.sampled_from(["tea", "hub", "oak"]), min_size=1, max_size=3, unique=True))
def test_fts5s_bm25_is_ten_lines_of_python(texts: list[str], words: list[str]) -> None:
    with a_store(Path(":memory:"), texts) as store:
        found = store.keyword(" OR ".join(f'"{word}"' for word in words), len(texts))
        expected = {row: raw for row, raw in enumerate(bm25(words, texts), 1) if raw}
        assert dict(zip(found.rows.tolist(), found.raw, strict=True)) == pytest.approx(expected)
        assert found.raw.tolist() == sorted(found.raw.tolist())


@pytest.mark.parametrize("limit", [1, 4, 11, 12, 30])
def test_keyword_ties_at_the_limit_go_to_the_smaller_chunk_ids(tmp_path: Path, limit: int) -> None:
    with a_store(tmp_path / "i", [f"tea {'x' * n}" for n in range(1, 12)] + ["tea tea"]) as store:
        found = store.keyword("tea", limit)
        ids = [chunk.id for chunk in store.chunks(found.rows)]
        others = sorted(set(store.keys()) - {ids[0]})
        assert store.chunks(found.rows)[0].text == "tea tea"
        assert ids[1:] == others[: limit - 1]


def test_vec0_agrees_with_the_scan(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    vectors = embedding.unit(random.normal(size=(150, 16)).astype(np.float32))
    texts = [f"note {n}" for n in range(150)]
    with MemoryIndex(a_store(tmp_path / "i", texts, vectors), world.EMBEDDER) as index:
        for query in embedding.unit(random.normal(size=(20, 16)).astype(np.float32)):
            ours, theirs = index.vector(query, 10), index.store.nearest(query, 10)
            assert ours.rows.tolist() == theirs.rows.tolist()
            assert ours.raw == pytest.approx(theirs.raw, abs=1e-6)


def test_vec0_and_the_scan_agree_on_a_vector_of_zeros(toy: MemoryIndex) -> None:
    query = np.array([1, 0, 0], np.float32)
    assert toy.store.nearest(query, 9).raw == pytest.approx(toy.vector(query, 9).raw, abs=1e-6)


@pytest.mark.parametrize("dimensions", [3, 384])
def test_equal_vectors_are_ordered_by_chunk_id_wherever_they_are_stored(
    tmp_path: Path, dimensions: int
) -> None:
    random = np.random.default_rng(1)
    one, query = embedding.unit(random.normal(size=(2, dimensions)).astype(np.float32))
    for count in range(2, 40, 3):
        same = np.tile(one, (count, 1))
        store = a_store(tmp_path / f"{count}", [f"note {n}" for n in range(count)], same)
        with MemoryIndex(store, world.EMBEDDER) as index:
            found = index.vector(query, count)
            assert [chunk.id for chunk in index.chunks(found.rows)] == sorted(store.keys())


def test_vec0_is_not_asked_for_more_than_it_answers(toy: MemoryIndex) -> None:
    with pytest.raises(InputError, match="4096"):
        toy.store.nearest(np.zeros(3, np.float32), 4097)


def test_a_question_of_other_dimensions_is_refused(toy: MemoryIndex) -> None:
    with pytest.raises(InputError, match="384 dimensions, the index 3"):
        toy.vector(np.zeros(384, np.float32), 5)


THREE = (SHIPPED, FIXED, WORKAROUND)


def answers(index: MemoryIndex) -> list[list[tuple[str, float]]]:
    """What three systems answer to four questions: paths and scores, best first."""
    questions = ("rooibos tea", "the bike", "the hub of the bike", "backup disk")
    traces = [search(question, system, index) for question in questions for system in THREE]
    return [[(one.chunk.path, one.score) for one in trace.candidates] for trace in traces]


@settings(max_examples=25, deadline=None)
@given(paths=st.permutations(sorted(world.NOTES)))
def test_insertion_order_does_not_matter_for_answers(toy: MemoryIndex, paths: list[str]) -> None:
    made_with = Settings("toy", world.EMBEDDER.revision, 3, "c")
    with MemoryIndex(Store.create(Path(":memory:"), made_with), world.EMBEDDER) as index:
        for path in paths:
            text = world.NOTES[path]
            document = Document(path, "memory", text, content_hash(text), 0, 0)
            (vector,) = world.EMBEDDER.embed([text], "passage").vectors
            index.store.replace(document, LineChunker().chunk(text), [Cached(vector, 1.0)])
        assert answers(index) == answers(toy)


# a folder and its index


@dataclass
class Watched:
    """The toy embedder, keeping what it was asked, and failing from the call `fails_at` on."""

    fails_at: int = 1 << 30
    asked: list[list[str]] = field(default_factory=list)
    name: str = "toy"
    revision: str = world.EMBEDDER.revision
    dimensions: int = 3

    def embed(self, texts: Sequence[str], role: embedding.Role) -> Embedded:
        self.asked.append(list(texts))
        if len(self.asked) >= self.fails_at:
            raise ConnectionError("the embedder is gone")
        return world.EMBEDDER.embed(texts, role)


@dataclass
class Home:
    """A memory and its index file."""

    root: Path
    file: Path
    chunker: LineChunker = field(default_factory=LineChunker)

    def sync(self, embedder: Watched | None = None, rebuild: bool = False) -> Summary:
        chosen = embedder or Watched()
        return index_folder(self.root, chosen, index_path=self.file, chunker=self.chunker, rebuild=rebuild)

    def contents(self) -> tuple[int, dict[str, list[str]]]:
        """The generation, and the ids of every file's chunks; the index is sound."""
        with Store.open(self.file) as store:
            assert store.integrity() == []
            paths = list(store.stamps())
            ids = {path: [chunk.id for chunk in store.chunks(store.rows_of(path))] for path in paths}
            return store.generation, ids


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """The notes of `world`, indexed."""
    made = Home(world.write(tmp_path / "memory_of_wren"), tmp_path / "index" / "i.sqlite")
    made.sync()
    return made


def did(summary: Summary) -> tuple[list[str], list[str], list[str], int]:
    return summary.new, summary.changed, summary.deleted, summary.unchanged


def test_indexing_twice_changes_nothing(home: Home) -> None:
    before, embedder = home.contents(), Watched()
    assert did(home.sync(embedder)) == ([], [], [], 6)
    assert embedder.asked == []
    assert home.contents() == before


def test_a_changed_file_is_the_only_one_replaced(home: Home) -> None:
    (generation, before), embedder = home.contents(), Watched()
    world.write(home.root, {"memory/tea.md": "A cup."})
    assert did(home.sync(embedder)) == ([], ["memory/tea.md"], [], 5)
    assert embedder.asked == [["A cup."]]
    now, after = home.contents()
    assert now > generation
    assert [path for path in before if before[path] != after[path]] == ["memory/tea.md"]


def test_a_changed_file_is_no_longer_found_by_its_old_words(home: Home) -> None:
    world.write(home.root, {"memory/server.md": "A cup."})
    home.sync()
    with Store.open(home.file) as store:
        assert store.keyword("mirror", 9).rows.size == 0
        assert store.keyword("cup", 9).rows.size == 2


def test_a_deleted_file_is_forgotten(home: Home) -> None:
    (home.root / "memory" / "server.md").unlink()
    assert did(home.sync()) == ([], [], ["memory/server.md"], 5)
    with Store.open(home.file) as store:
        assert "memory/server.md" not in store.stamps()
        assert store.keyword("mirror", 9).rows.size == 0
        assert store.matrix()[0].size == store.size == 5


def test_a_renamed_file_is_not_embedded_again(home: Home) -> None:
    embedder = Watched()
    (home.root / "memory" / "tea.md").rename(home.root / "memory" / "zen.md")
    summary = home.sync(embedder)
    assert did(summary) == (["memory/zen.md"], [], ["memory/tea.md"], 5)
    assert (embedder.asked, summary.embedded, summary.from_cache) == ([], 0, 1)


def test_a_touched_file_counts_as_unchanged(home: Home) -> None:
    before = home.contents()
    os.utime(home.root / "MEMORY.md", ns=(1, 1))
    assert did(home.sync()) == ([], [], [], 6)
    assert home.contents() == before
    with Store.open(home.file) as store:
        assert store.stamps()["MEMORY.md"].mtime_ns == 1


def test_a_file_changed_under_an_old_date_is_noticed(home: Home) -> None:
    file = home.root / "memory" / "tea.md"
    info, text = file.stat(), file.read_text()
    file.write_text(text.replace("cup", "mug"))
    os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert home.sync().changed == ["memory/tea.md"]


def test_only_the_changed_chunk_of_a_file_is_embedded(home: Home) -> None:
    home.chunker, embedder = LineChunker(tokens=8, overlap=0), Watched()
    lines = ["a cup of tea for every visitor", "the hub of the bike that grinds"]
    world.write(home.root, {"memory/two.md": "\n".join(lines)})
    home.sync(rebuild=True)
    world.write(home.root, {"memory/two.md": "\n".join([lines[0], "the disk of the server is full"])})
    summary = home.sync(embedder)
    assert embedder.asked == [["the disk of the server is full"]]
    assert (summary.embedded, summary.from_cache) == (1, 1)


def test_equal_passages_of_one_long_line_are_one_chunk(home: Home) -> None:
    world.write(home.root, {"memory/long.md": "tea " * 2000})
    home.chunker = LineChunker(overlap=0)
    home.sync(rebuild=True)
    assert len(home.contents()[1]["memory/long.md"]) == 1
    with Store.open(home.file) as store:
        assert store.keyword("tea", 99).rows.size == 3


def test_equal_texts_in_two_files_are_two_chunks(home: Home) -> None:
    world.write(home.root, {"memory/copy.md": world.NOTES["memory/tea.md"]})
    assert home.sync().embedded == 0
    ids = home.contents()[1]
    assert ids["memory/copy.md"] != ids["memory/tea.md"]


@pytest.mark.parametrize("text", ["", " \n\n", "tea\0cup", "\ufefftea", "茶 ☕ té\r\n"])
def test_an_index_of_an_odd_text_is_sound(home: Home, text: str) -> None:
    for version in (text, text + "hub", text):
        world.write(home.root, {"memory/odd.md": version})
        home.sync()
        assert "memory/odd.md" in home.contents()[1]


def test_a_failure_in_the_middle_leaves_old_documents_whole(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "TEXTS_IN_FLIGHT", 1)
    _, before = home.contents()
    world.write(home.root, {"memory/bike.md": "A new bike.", "memory/tea.md": "A new tea."})
    with pytest.raises(ConnectionError):
        home.sync(Watched(fails_at=2))
    _, after = home.contents()
    assert [path for path in before if after[path] != before[path]] == ["memory/bike.md"]
    assert home.sync().changed == ["memory/tea.md"]


def test_a_rebuild_embeds_nothing_that_is_known(home: Home) -> None:
    (_, before), embedder = home.contents(), Watched()
    summary = home.sync(embedder, rebuild=True)
    assert (embedder.asked, summary.from_cache) == ([], 6)
    assert home.contents()[1] == before


def test_a_rebuild_leaves_no_other_file_behind(home: Home) -> None:
    home.sync(rebuild=True)
    assert os.listdir(home.file.parent) == [home.file.name]


def test_a_failed_rebuild_leaves_the_old_index_as_it_was(home: Home) -> None:
    before = home.file.read_bytes()
    world.write(home.root, {"memory/tea.md": "A new tea."})
    with pytest.raises(ConnectionError):
        home.sync(Watched(fails_at=1), rebuild=True)
    assert home.file.read_bytes() == before
    assert os.listdir(home.file.parent) == [home.file.name]


def test_a_rebuild_while_another_process_has_the_index_open_leaves_it_sound(home: Home) -> None:
    elsewhere = (
        "import sys; from pathlib import Path; from tests import world; from workbench import index_folder;"
        "index_folder(sys.argv[1], world.EMBEDDER, index_path=Path(sys.argv[2]), rebuild=True)"
    )
    with open_index(home.root, world.EMBEDDER, index_path=home.file) as opened:
        opened.embed("where is the tea")
        world.write(home.root, {f"memory/{n}.md": f"tea {n} " + "hub " * n for n in range(60)})
        command = [sys.executable, "-c", elsewhere, str(home.root), str(home.file)]
        subprocess.run(command, check=True, cwd=SAMPLE.parent)
        opened.embed("where is the hub")
    assert len(home.contents()[1]) == 66


def test_another_version_can_be_rebuilt(home: Home) -> None:
    with Store.open(home.file) as store:
        store.db.pragma("user_version", 99)
    home.sync(rebuild=True)
    assert len(home.contents()[1]) == 6


def test_an_open_index_sees_what_another_adds(home: Home) -> None:
    query = world.EMBEDDER.embed(["server"], "query").vectors[0]
    with open_index(home.root, world.EMBEDDER, index_path=home.file) as opened:
        assert opened.vector(query, 99).rows.size == 6
        world.write(home.root, {"memory/new.md": "server"})
        home.sync()
        assert opened.vector(query, 99).rows.size == 7


def test_a_question_is_embedded_once(home: Home) -> None:
    embedder = Watched()
    for _ in range(2):
        with open_index(home.root, embedder, index_path=home.file) as opened:
            assert opened.embed("a cup").tolist() == [1, 0, 0]
    assert embedder.asked == [["a cup"]]


def test_a_question_and_a_passage_of_one_text_are_cached_apart(home: Home) -> None:
    embedder = Watched()
    with open_index(home.root, embedder, index_path=home.file) as opened:
        opened.embed(world.NOTES["memory/tea.md"])
    assert len(embedder.asked) == 1


def test_an_index_that_cannot_be_written_can_be_searched(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    before = home.file.read_bytes()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with open_index(home.root, world.EMBEDDER, index_path=home.file) as opened:
        assert search("tea", SHIPPED, opened).results
    assert home.file.read_bytes() == before


def test_the_soundness_of_an_index_that_cannot_be_written_can_be_checked(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert len(home.contents()[1]) == 6


def test_a_full_text_index_that_lost_a_chunk_is_not_sound(home: Home) -> None:
    with Store.open(home.file) as store:
        store.db.execute("DELETE FROM chunks WHERE id = 1")
        assert any("full-text" in problem for problem in store.integrity())


def test_a_memory_without_a_word_can_be_searched(tmp_path: Path) -> None:
    with world.build(tmp_path, {"MEMORY.md": ""}) as index:
        assert search("tea", SHIPPED, index).results == []

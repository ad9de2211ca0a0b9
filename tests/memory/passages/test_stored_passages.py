"""Passages that are kept in a file are those that are held in memory, whatever has changed in between."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.home import Home
from workbench.errors import WorkbenchError
from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.index import MemoryIndex
from workbench.memory.sources import LineChunker
from workbench_plugins.recommended import stored_passages
from workbench_plugins.recommended.keywords import content_stems
from workbench_plugins.recommended.passage_file import PassageFile
from workbench_plugins.recommended.passage_index import IndexedFile, Passages, arrange
from workbench_plugins.recommended.stored_passages import StoredPassages, passages_in

STEMS = ["tea", "kite", "oak", "river", "2026", "note", "nothing"]
WORDS = ["tea", "kite", "oaks", "river", "the", "rivers", "tea", "2026"]


def assert_same(found: Passages, expected: Passages) -> None:
    """All numbers are equal to the last digit."""
    assert found.rows.tolist() == expected.rows.tolist()
    assert found.files.tolist() == expected.files.tolist()
    for one, other in (
        (found.chunk_stems, expected.chunk_stems),
        (found.file_stems, expected.file_stems),
        (found.title_stems, expected.title_stems),
    ):
        assert one.scores(STEMS).tobytes() == other.scores(STEMS).tobytes()
        assert one.most(STEMS) == other.most(STEMS)
        for stem in STEMS:
            assert one.having(stem).tolist() == other.having(stem).tolist()
    for file in range(expected.file_stems.size):
        assert found.links.lines_to(file) == expected.links.lines_to(file)
    if expected.words is None:
        assert found.words is None
        return
    assert found.words is not None
    places = np.random.default_rng(3).permutation(expected.rows.size)
    one, other = found.words.of(places), expected.words.of(places)
    assert one.words.tolist() == other.words.tolist()
    assert one.codes.packed.tobytes() == other.codes.packed.tobytes()
    assert one.passage_codes.sizes.tobytes() == other.passage_codes.sizes.tobytes()
    assert found.scan is not None
    assert expected.scan is not None
    question = expected.scan.vectors[0]
    near, expected_near = found.scan.nearest(question, 50), expected.scan.nearest(question, 50)
    assert near.rows.tolist() == expected_near.rows.tolist()
    assert near.raw.tobytes() == expected_near.raw.tobytes()


def test_the_stored_passages_of_the_sample_memory_are_those_in_memory(
    sample_index: MemoryIndex, tmp_path: Path
) -> None:
    embedder = sample_index.embedder
    assert isinstance(embedder, LocalEmbedder)
    stored = passages_in(sample_index, embedder, tmp_path / "words")
    assert_same(stored, arrange(sample_index, embedder, tmp_path / "other"))
    again = passages_in(sample_index, embedder, tmp_path / "words")
    assert_same(again, stored)


def text(chance: random.Random) -> str:
    lines = [" ".join(chance.choices(WORDS, k=6)) for _ in range(chance.randrange(1, 30))]
    links = [f"{chance.choice(WORDS)} [{chance.choice(WORDS)}](n{chance.randrange(8)}.md)" for _ in range(2)]
    return "\n".join([f"# {chance.choice(WORDS)}", *lines, *links])


def changed(home: Home, chance: random.Random) -> None:
    """Writes, rewrites and deletes some notes."""
    folder = home.root / "memory"
    for _ in range(chance.randrange(1, 4)):
        file = folder / f"n{chance.randrange(8)}.md"
        if chance.random() < 0.3:
            file.unlink(missing_ok=True)
        else:
            file.write_text(text(chance))


def test_what_has_changed_is_all_that_is_read_again(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.chunker = LineChunker(16, 4)
    chance, read = random.Random(4), list[str]()
    stemmed = stored_passages.stemmed

    def counted(one: IndexedFile) -> stored_passages.StemmedFile:
        read.append(one.path)
        return stemmed(one)

    monkeypatch.setattr(stored_passages, "stemmed", counted)
    for turn in range(30):
        changed(home, chance)
        summary = home.sync(rebuild=turn % 11 == 0)
        read.clear()
        with home.opened() as index, index.snapshot():
            found = passages_in(index, None, tmp_path / "words")
            assert_same(found, arrange(index, None, tmp_path / "words"))
        assert len(read) <= len(summary.new) + len(summary.changed)


def test_the_words_of_a_changed_note_are_read_again(home: Home, tmp_path: Path) -> None:
    embedder, last = LocalEmbedder(), sorted(home.root.rglob("*.md"))[-1]
    for words in ("Green tea at three.", "Red wine at noon."):
        last.write_text(words)
        home.sync()
        with home.opened() as index, index.snapshot():
            found = passages_in(index, embedder, tmp_path / "words")
            assert_same(found, arrange(index, embedder, tmp_path / "other"))


def test_no_word_of_a_deleted_file_is_left(home: Home, tmp_path: Path) -> None:
    for name, words in (("a", "kite [secretword](b.md)"), ("b", "kite")):
        (home.root / "memory" / f"{name}.md").write_text(words)
    home.sync()
    with home.opened() as index:
        passages_in(index, None, tmp_path / "words")
    (home.root / "memory" / "a.md").unlink()
    home.sync()
    with home.opened() as index:
        passages_in(index, None, tmp_path / "words")
    db = PassageFile(tmp_path / "words").db
    terms = {term for (term,) in db.execute("SELECT term FROM terms")}
    assert "kite" in terms
    assert "secretword" not in terms
    assert db.execute("SELECT * FROM links").fetchall() == []


def test_an_update_that_is_broken_off_is_done_the_next_time(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.sync()

    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    with home.opened() as index, monkeypatch.context() as patch:
        patch.setattr(StoredPassages, "_insert", broken)
        with pytest.raises(KeyboardInterrupt):
            passages_in(index, None, tmp_path / "words")
    with home.opened() as index:
        assert_same(passages_in(index, None, tmp_path / "words"), arrange(index, None, tmp_path / "words"))


def test_a_reader_of_an_older_state_has_the_passages_of_that_state(home: Home, tmp_path: Path) -> None:
    home.sync()
    with home.opened() as old, old.snapshot():
        before = passages_in(old, None, tmp_path / "words")
        changed(home, random.Random(2))
        home.sync()
        with home.opened() as index, index.snapshot():
            now = passages_in(index, None, tmp_path / "words")
            assert_same(now, arrange(index, None, tmp_path / "words"))
        assert_same(before, arrange(old, None, tmp_path / "words"))
        assert_same(passages_in(old, None, tmp_path / "words"), before)


def test_a_changed_bit_of_the_file_changes_no_answer_in_silence(home: Home, tmp_path: Path) -> None:
    home.sync()
    file = tmp_path / "words"
    with home.opened() as index:
        expected = arrange(index, None, file)
        passages_in(index, None, file)
        PassageFile(file).db.wal_checkpoint()
        shutil.copyfile(file, tmp_path / "kept")
        chance, said = random.Random(1), list[str]()
        for _ in range(60):
            shutil.copyfile(tmp_path / "kept", file)
            with file.open("r+b") as opened:
                place = opened.seek(chance.randrange(file.stat().st_size))
                (byte,) = opened.read(1)
                opened.seek(place)
                opened.write(bytes([byte ^ 1 << chance.randrange(8)]))
            try:
                assert_same(passages_in(index, None, file), expected)
            except WorkbenchError as error:
                said.append(str(error))
    assert said
    assert all("workbench index FOLDER --rebuild" in one for one in said)
    home.sync(rebuild=True)
    with home.opened() as index:
        assert_same(passages_in(index, None, file), arrange(index, None, file))


@given(st.lists(st.text(st.sampled_from("aäbÄ .#\u0301\u0308日本éสวัأل\t'-"), max_size=12), max_size=4))
@settings(max_examples=300)
def test_a_text_has_the_stems_of_its_lines(lines: list[str]) -> None:
    assert content_stems("\n".join(lines)) == [stem for line in lines for stem in content_stems(line)]


@pytest.fixture
def sample_index(sample: MemoryIndex) -> Iterator[MemoryIndex]:
    with MemoryIndex.open(Path(sample.name)) as index:
        yield index

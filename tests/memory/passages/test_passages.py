"""Windows keep every line and know where they stand; codes and stems keep the order of exact numbers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.home import no_file_grows
from workbench.errors import StorageError
from workbench.memory.embedding.local import unit
from workbench.memory.sources import LineChunker
from workbench.memory.store.postings import K1, B
from workbench.memory.store.sqlite.database import CHECKSUM_BYTES
from workbench.records import Chunk
from workbench.retrieval.proper_nouns import is_name, proper_nouns
from workbench_plugins.recommended import words as words_module
from workbench_plugins.recommended.keywords import StemIndex, content_stems, question_stems
from workbench_plugins.recommended.passage_file import PassageFile, made_anew
from workbench_plugins.recommended.passage_windows import MOST_PIECES, outline, windows_of
from workbench_plugins.recommended.words import (
    PASSAGE,
    POOLED,
    Codes,
    best_matches,
    coded,
    coded_passages,
    cosines,
    max_sim,
    means,
    passages,
    pooled,
)

LINES = ("# Chat on 8 May", "", "## Evening", "", "- **Ada:** A kite.", "- **Ben:** Oh.")
TALK = "\n".join([*LINES, "- **Ada:** Red.", "- **Ben:** Red?"])


def chunks_of(text: str, path: str = "a.md") -> list[Chunk]:
    cut = LineChunker().chunk(text)
    return [
        Chunk(f"{place}", path, "memory", one.start_line, one.end_line, one.text)
        for place, one in enumerate(cut)
    ]


def words(texts: list[str]) -> list[int]:
    return [len(text.split()) for text in texts]


@pytest.mark.parametrize(
    ("text", "header"),
    [
        (TALK, "Chat on 8 May – Evening – Ada, Ben"),
        ("# Title\n\n```\n# comment\n```\ntext", "Title"),
        ("# Labels\nSize: 3\nColour: red\nplain\nplain text\nmore of it\nand more", "Labels"),
    ],
)
def test_a_header_names_title_headings_and_speakers(text: str, header: str) -> None:
    assert outline("a.md", chunks_of(text)).header(6) == header


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: Tea\n---\ntext", "Tea"),
        ('+++\ntitle = "Tea"\n+++\ntext', "Tea"),
        ("title = a\ntext", "my notes"),
        ("just text", "my notes"),
        ("", "my notes"),
    ],
)
def test_a_title_comes_from_the_front_matter_or_the_name(text: str, title: str) -> None:
    assert outline("memory/my-notes.md", chunks_of(text)).title == title


@given(st.lists(st.text("ab \n#", max_size=400), max_size=12))
def test_windows_hold_every_word_of_every_chunk(lines: list[str]) -> None:
    chunks = chunks_of("\n".join(lines))
    cut = windows_of(chunks, "a.md", words, room=80)
    for row, chunk in enumerate(chunks):
        joined = "".join("".join(one.text.split()) for one in cut if one.row == row)
        assert joined == "".join(chunk.text.split())


def test_the_windows_of_a_chunk_have_nearly_equal_lengths() -> None:
    text = "\n".join(["four words a line"] * 9)
    cut = windows_of([Chunk("0", "a.md", "memory", 1, 9, text)], "a.md", words, room=MOST_PIECES + 32)
    assert words([one.text for one in cut]) == [20, 16]


def test_codes_give_nearly_the_exact_order() -> None:
    chance = np.random.default_rng(0)
    question = chance.normal(size=(4, 384)).astype(np.float32)
    question /= np.linalg.norm(question, axis=1, keepdims=True)
    near = question + 0.05 * chance.normal(size=(4, 384)).astype(np.float32)
    far = chance.normal(size=(40, 384)).astype(np.float32)
    texts = np.concatenate([near, far]) / np.linalg.norm(np.concatenate([near, far]), axis=1, keepdims=True)
    found = max_sim(question, coded(texts.astype(np.float32)), np.array([0, 4, 24]))
    assert found[0] > 2 * found[1:].max()
    assert coded(texts).bytes == 44 * 50


@pytest.mark.parametrize("dimensions", [384, 383])
def test_signs_keep_the_cosines_of_passages(dimensions: int) -> None:
    chance = np.random.default_rng(0)
    vectors = unit(chance.normal(size=(40, dimensions)))
    question = unit(vectors[:1] + 0.05 * chance.normal(size=(1, dimensions)))[0]
    codes = coded_passages(vectors)
    assert cosines(question, codes) == pytest.approx(vectors @ question, abs=0.2)
    assert np.argmax(cosines(question, codes)) == 0
    assert codes.bytes == 40 * (48 + 2)


def test_the_vector_of_a_text_is_the_mean_of_its_passages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Near that of the exact passages, whatever other texts there are; zeros for a text without any."""
    monkeypatch.setattr(words_module, "AT_ONCE", 2)
    rng, counts = np.random.default_rng(3), [20, 0, 1, 15, 0]
    ends = np.cumsum([0, *counts])
    exact = unit((rng.normal(size=384) + rng.normal(size=(sum(counts), 384))).astype(np.float32))
    found = means(coded_passages(exact), ends, 384)
    for place, (start, end) in enumerate(pairwise(ends.tolist())):
        if start == end:
            assert not found[place].any()
            continue
        assert found[place] @ unit(exact[start:end].mean(axis=0)[None])[0] > (
            0.93 if end - start > 9 else 0.7
        )
        alone = means(coded_passages(exact[start:end]), np.array([0, end - start]), 384)
        np.testing.assert_array_equal(alone[0], found[place])


@pytest.mark.parametrize(("packed", "found"), [([0xF8, 0, 0, 0], -81.5), ([0xE0, 0], -15.5), ([0xC0], -4.5)])
def test_four_and_two_bits_of_older_cases_are_read(packed: list[int], found: float) -> None:
    question = np.array([1.0, *[2.0] * 7], np.float32)
    codes = Codes(np.array([packed], np.uint8), np.ones(1, np.float16))
    assert cosines(question, codes).tolist() == [found]


@given(st.lists(st.text("Tea tea.,-*:\n", max_size=60), max_size=3))
def test_a_word_is_a_name_if_it_is_among_all_names(texts: list[str]) -> None:
    for word in ("tea", "t", "e", "a"):
        assert is_name(word, texts) == (word in proper_nouns(texts))


@given(st.integers(1, 60))
def test_words_that_are_alike_share_a_code(count: int) -> None:
    words = unit(np.random.default_rng(count).normal(size=(count, 8)))
    again = pooled(np.repeat(words, 3, axis=0))
    assert len(pooled(words)) <= np.ceil(count / POOLED)
    assert np.allclose(np.sort(again, axis=0), np.sort(words, axis=0), atol=1e-6)


def test_the_numbers_of_a_text_depend_on_no_other_text() -> None:
    chance = np.random.default_rng(0)
    question, lengths = unit(chance.normal(size=(5, 384))), np.array([1, 2, 7, 90, 33])
    starts = np.cumsum(lengths) - lengths
    words = unit(chance.normal(size=(int(lengths.sum()), 384)))
    found, near = (best_matches(question, coded(words), starts), cosines(question[0], coded_passages(words)))
    for place, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        own = words[start : start + length]
        assert np.array_equal(best_matches(question, coded(own), np.array([0]))[0], found[place])
        alone = cosines(question[0], coded_passages(own))
        assert np.array_equal(alone, near[start : start + length])


@given(st.integers(1, 120))
def test_passages_cover_every_piece_of_a_text(length: int) -> None:
    pieces = np.eye(120, dtype=np.float32)[:length]
    whole = unit(pieces.mean(axis=0)[None])[0]
    found = passages(pieces, whole)
    assert (found.max(axis=0)[:length] > 0).all()
    assert ((found > 0).sum(axis=1) <= PASSAGE).all()


def test_a_text_whose_vector_is_not_the_mean_of_its_pieces_is_one_passage() -> None:
    pieces = np.eye(3, 8, dtype=np.float32)
    whole = np.eye(8, dtype=np.float32)[7]
    assert passages(pieces, whole).tolist() == [whole.tolist()]


def test_bm25_counts_stems_and_never_passes_its_most() -> None:
    table = StemIndex(["The backups were running.", "A backup, backup, backup.", "Tea."])
    stems = question_stems("running the backups")
    scores = table.scores(stems)
    assert stems == ["run", "backup"]
    assert scores[0] > scores[1] > scores[2] == 0
    assert 0 < scores.max() < table.most(stems) == pytest.approx(sum(map(table.idf, stems)) * (K1 + 1))


@given(
    st.lists(st.lists(st.sampled_from(["tea", "teas", "oak", "the", "é", "日本語"]), max_size=5), max_size=5)
)
def test_bm25_of_each_text_is_the_formula_with_its_own_counts(texts: list[list[str]]) -> None:
    table = StemIndex([" ".join(words) for words in texts])
    counted = [content_stems(" ".join(words)) for words in texts]
    mean = max(sum(map(len, counted)) / max(len(texts), 1), 1.0)
    for stem in ("tea", "oak", "e", "日本", "nothing"):
        having = [stem in own for own in counted]
        idf = np.log1p((len(texts) - sum(having) + 0.5) / (sum(having) + 0.5))
        expected = [
            idf * own.count(stem) * (K1 + 1) / (own.count(stem) + K1 * (1 - B + B * len(own) / mean))
            for own in counted
        ]
        assert table.having(stem).tolist() == having
        assert table.scores([stem]) == pytest.approx(expected)


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A file of an older workbench, with what a model has read."""
    old = apsw.Connection(str(tmp_path / "words"))
    old.execute("CREATE TABLE passages (key TEXT PRIMARY KEY, payload BLOB NOT NULL) WITHOUT ROWID")
    old.execute("INSERT INTO passages VALUES ('a', x'01')")
    old.pragma("user_version", 1)
    old.close()
    return tmp_path / "words"


def test_a_file_of_an_older_workbench_keeps_what_was_read(older: Path) -> None:
    with closing(PassageFile(older)) as new:
        assert new.known(["a"]) == {"a": b"\x01"}
        assert new.db.reserve_bytes("main") == CHECKSUM_BYTES


@pytest.mark.parametrize("change", [PassageFile, made_anew], ids=["older", "damaged"])
def test_what_was_read_is_not_lost_where_the_disk_has_no_room_for_a_new_file(
    older: Path, change: Callable[[Path], object]
) -> None:
    before = older.read_bytes()
    with no_file_grows(), pytest.raises(StorageError, match="cannot be"):
        change(older)
    assert older.read_bytes() == before
    assert [one.name for one in older.parent.iterdir()] == ["words"]
    with closing(PassageFile(older)) as new:
        assert new.known(["a"]) == {"a": b"\x01"}


def test_a_long_run_without_a_blank_is_left_out_of_the_windows() -> None:
    text = f"# Image\n\n![x](data:image/png;base64,{'QUJD' * 900})\n\nThe pump is new."
    windows = windows_of(chunks_of(text), "a.md", words, 256)
    assert "QUJD" not in "".join(one.text for one in windows)
    assert windows[-1].text.endswith("The pump is new.")


def test_lines_of_base64_are_left_out_and_what_follows_keeps_its_line() -> None:
    lines = [f"{number:02}{'QUJDREVGR0hJ' * 6}" for number in range(19)]
    text = "\n".join(["# Key", "", "The pump is old.", *lines, "QQ==", "The pump is new."])
    windows = windows_of(chunks_of(text), "a.md", words, 256)
    assert "QUJD" not in "".join(one.text for one in windows)
    assert "The pump is old." in "".join(one.text for one in windows)
    assert windows[-1].text.endswith("The pump is new.")
    last = windows[-1].start_line + windows[-1].text.count("\n")
    assert last == text.split("\n").index("The pump is new.") + 1
    few = "\n".join(["# Hashes", *lines[:2], "end"])
    assert "QUJD" in "".join(one.text for one in windows_of(chunks_of(few), "a.md", words, 256))


def test_the_cache_forgets_what_is_gone(tmp_path: Path) -> None:
    with closing(PassageFile(tmp_path / "words")) as cache:
        cache.keep("a", b"1")
        cache.keep("b", b"2")
        cache.forget_all_but(["b"])
    with closing(PassageFile(tmp_path / "words")) as again:
        assert again.known(["a", "b"]) == {"b": b"2"}


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("والكتاب", "كتاب جديد"),
        ("مُسَكِّن", "المسكن"),
        ("Ersatzschluessel", "der Ersatzschlüssel"),
        ("ＷｉＦｉ", "the WiFi"),
        ("ต้มยำ", "ทำต้มยำกุ้ง"),
        ("高铁", "坐高铁去"),
        ("Scho\u0308n", "schön"),
    ],
)
def test_a_word_is_found_in_the_form_that_a_text_has(question: str, text: str) -> None:
    table = StemIndex([text, "tea"])
    assert table.scores(question_stems(question)).argmax() == 0
    assert table.scores(question_stems(question))[0] > 0

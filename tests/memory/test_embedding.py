"""Texts become unit vectors: the toy's, and the packaged model's."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import world
from tests.conftest import SAMPLE
from tests.home import Home
from workbench.errors import InputError
from workbench.memory.embedding import digests
from workbench.memory.embedding import local as embedding
from workbench.memory.embedding.local import (
    CUT_BACK,
    LocalEmbedder,
    ToyEmbedder,
    Truncated,
    Windowed,
    packaged_model,
)
from workbench.memory.files import list_files
from workbench.memory.opening import open_index
from workbench.memory.sources import LineChunker, MemoryFolder


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
    assert not world.EMBEDDER.embed(["nothing"], "query").vectors.any()
    assert ToyEmbedder({"tea": ("tea",)}).revision != ToyEmbedder({"tea": ("cup",)}).revision


def test_the_packaged_weights_have_the_published_checksum_and_others_are_refused() -> None:
    assert (embedding.verified_model() / "model.safetensors").is_file()
    with pytest.raises(InputError, match="not the published 000000000000"):
        embedding.verified_model("0" * 64)


def test_missing_weights_are_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "packaged_model", lambda: tmp_path)
    with pytest.raises(InputError, match=r"model\.safetensors is missing"):
        LocalEmbedder().embed(["tea"], "passage")
    monkeypatch.undo()
    monkeypatch.setattr(embedding, "PACKAGED_IN", "no_such_package")
    with pytest.raises(InputError, match="not installed"):
        embedding.packaged_model()


def test_windows_join_to_the_text_and_each_is_read_whole(model: LocalEmbedder) -> None:
    texts = [MemoryFolder(SAMPLE).read(path).text for path in list_files(SAMPLE)]
    chunks = [p.text for text in texts for p in LineChunker().chunk(text) if p.text.strip()]
    cut = [pieces_of(chunk, model) for chunk in chunks]
    assert max(word_pieces(chunks, model)) > model.window
    assert ["".join(pieces) for pieces in cut] == chunks
    assert max(word_pieces([piece for pieces in cut for piece in pieces], model)) <= model.window


IMAGE = "QUJD/EVG" * 40
WORDS = "The pump is in the shed. "


def test_data_without_a_blank_are_left_out_and_the_share_says_so(model: LocalEmbedder) -> None:
    texts = [f"{WORDS}{IMAGE} It is new.", f"{WORDS} It is new.", IMAGE, WORDS, f"{WORDS}{'ab/' * 80}"]
    found = model.embed(texts, "passage")
    assert (found.vectors[0] == model.embed([f"{WORDS} It is new."], "passage").vectors[0]).all()
    whole, left = word_pieces(texts[:2], model)
    assert found.read_share[0] == pytest.approx(left / whole)
    assert found.read_share[2] < 0.01
    assert found.vectors[2].any()  # a chunk of data alone has a vector, too
    assert found.read_share[[1, 3, 4]].tolist() == [1, 1, 1]
    assert (model.read_shares(texts) == found.read_share).all()


def test_what_a_release_reads_is_not_changed(model: LocalEmbedder) -> None:
    text = f"{IMAGE} {WORDS}"
    whole = model.engine.vectors([text], "passage", 1)[0]
    released, ours = (one.embed([text], "passage").vectors[0] for one in (model.read_as(Truncated()), model))
    assert released @ whole == pytest.approx(1, abs=1e-5)
    assert ours @ whole < 0.9


@pytest.mark.parametrize("word", ["tea", "falsifiability", "antidisestablishmentarianism"])
def test_a_text_that_just_fills_its_windows_is_read_whole(word: str, model: LocalEmbedder) -> None:
    (per_word,) = word_pieces([word], model)
    for windows in (1, 2, 3):
        text = " ".join([word] * (windows * model.window // per_word))
        assert max(word_pieces(pieces_of(text, model), model)) <= model.window


@given(words=st.lists(st.integers(1, 40), min_size=1, max_size=120), window=st.integers(60, 300))
def test_windows_have_nearly_equal_lengths(words: list[int], window: int) -> None:
    text = " ".join("x" * pieces for pieces in words)  # each letter is a word piece
    offsets = [(place, place + 1) for place, letter in enumerate(text) if letter == "x"]
    lengths = [piece.count("x") for piece in Windowed().pieces(text, offsets, window)]
    assert max(lengths) <= window
    assert sum(lengths) == len(offsets)
    mean = len(offsets) / len(lengths)
    # A cut moves back by less than CUT_BACK; without that, two lengths differ by at most 1.
    assert all(abs(length - mean) < CUT_BACK for length in lengths)


@pytest.mark.parametrize("count", [301, 350, 552, 553, 1_000])
def test_windows_of_short_words_differ_by_one_word_at_most(count: int) -> None:
    text = "x " * count
    lengths = [
        piece.count("x") for piece in Windowed().pieces(text, [(2 * n, 2 * n + 1) for n in range(count)], 300)
    ]
    assert len(lengths) > 1
    assert max(lengths) - min(lengths) <= 1


def test_a_truncated_reading_says_what_it_left_out(model: LocalEmbedder) -> None:
    text = "tea " * (2 * model.window)
    assert LocalEmbedder(reading=Truncated()).embed([text], "passage").read_share.tolist() == [0.5]
    whole = model.embed([text, "tea"], "passage")
    assert whole.read_share.tolist() == [1.0, 1.0]
    assert np.linalg.norm(whole.vectors, axis=1) == pytest.approx(np.ones(2), abs=1e-6)
    assert model.embed([], "passage").vectors.shape == (0, 384)


def test_the_end_of_a_long_text_moves_only_the_windowed_vector(model: LocalEmbedder) -> None:
    texts = ["tea " * 300 + end for end in ("", "The disk of the server failed.")]
    truncated = LocalEmbedder(reading=Truncated()).embed(texts, "passage").vectors
    windowed = model.embed(texts, "passage").vectors
    assert truncated[0] @ truncated[1] == pytest.approx(1, abs=1e-6)
    assert windowed[0] @ windowed[1] < 0.99


def model_folder(place: Path, weights: bytes = b"1") -> Path:
    place.mkdir()
    (place / "model.safetensors").write_bytes(weights)
    (place / "config.json").write_text("{}")
    return place


def test_an_index_finds_the_folder_of_its_model_from_everywhere(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").symlink_to(packaged_model())
    monkeypatch.chdir(tmp_path)
    home.sync(LocalEmbedder("mine"), rebuild=True)
    monkeypatch.chdir(home.root)
    with open_index(home.root, index_path=home.file) as index:
        assert index.embed("tea").shape == (384,)
        assert index.model == str(tmp_path / "mine")


def test_a_folder_with_other_weights_or_settings_is_another_revision(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "mine")
    before = LocalEmbedder(str(folder)).revision
    (folder / "README.md").write_text("About this model.")
    assert LocalEmbedder(str(folder)).revision == before
    (folder / "config.json").write_text('{"layers": 6}')
    assert LocalEmbedder(str(folder)).revision != before
    (folder / "config.json").write_text("{}")
    assert LocalEmbedder(str(folder)).revision == before
    (folder / "model.safetensors").write_bytes(b"2")
    assert LocalEmbedder(str(folder)).revision != before
    assert LocalEmbedder(str(model_folder(tmp_path / "moved"))).revision == before


def test_a_file_is_hashed_once_for_each_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"1")
    before, times = digests.file_digest(weights), (weights.stat().st_atime_ns, weights.stat().st_mtime_ns)
    digests.digest_at.cache_clear()  # as in another process
    with monkeypatch.context() as without:
        without.setattr(hashlib, "file_digest", lambda *_: pytest.fail("hashed again"))
        assert digests.file_digest(weights) == before
    weights.write_bytes(b"2")
    os.utime(weights, ns=times)
    assert digests.file_digest(weights) == hashlib.sha256(b"2").hexdigest() != before


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}', '{"a": [1, 2]}', "[" * 9_999])
def test_damaged_checksums_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))
    (tmp_path / "model-digests.json").write_text(text)
    (tmp_path / "weights").write_bytes(b"1")
    assert digests.file_digest(tmp_path / "weights") == hashlib.sha256(b"1").hexdigest()
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "weights"))  # no folder
    digests.digest_at.cache_clear()
    assert digests.file_digest(tmp_path / "weights") == hashlib.sha256(b"1").hexdigest()


def test_a_folder_with_onnx_alone_is_refused_with_what_it_lacks(tmp_path: Path) -> None:
    folder = tmp_path / "exported"
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model.onnx").write_bytes(b"1")
    with pytest.raises(InputError, match=r"ONNX files are not read: .*model\.safetensors"):
        LocalEmbedder(str(folder)).embed(["tea"], "query")

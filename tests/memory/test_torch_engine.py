"""The local model in torch: the vectors of sentence-transformers, in any number of threads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import SAMPLE
from tests.home import Home
from tests.world import write
from workbench.memory.embedding import torch_engine
from workbench.memory.embedding.engines import ModelVariant, Role
from workbench.memory.embedding.local import LocalEmbedder, packaged_model
from workbench.memory.embedding.torch_engine import TorchEngine
from workbench.memory.options import Options
from workbench.memory.sync import index_folder


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Texts of all lengths: paragraphs, whole files, other scripts, the empty text."""
    file = sorted((SAMPLE / "memory" / "reference").glob("*.md"))[0].read_text(encoding="utf-8")
    return [file, *file.split("\n\n")[:9], "", "tea", "日本語のメモ", "x" * 900]


@pytest.fixture(scope="module")
def engine() -> TorchEngine:
    return TorchEngine(str(packaged_model()))


@pytest.fixture(scope="module")
def plain(texts: list[str]) -> NDArray[np.float32]:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(packaged_model()), device="cpu", local_files_only=True)
    return np.asarray(model.encode(texts, normalize_embeddings=True, show_progress_bar=False), np.float32)


@pytest.mark.parametrize("role", ["query", "passage"])
def test_the_vectors_are_those_of_sentence_transformers(
    engine: TorchEngine, texts: list[str], plain: NDArray[np.float32], role: Role
) -> None:
    assert np.abs(engine.vectors(texts, role, 32) - plain).max() < 2e-6
    wholes = np.array([one.whole for one in engine.piece_vectors(texts, role, 32)])
    wholes /= np.linalg.norm(wholes, axis=1, keepdims=True)
    assert np.abs(wholes - plain).max() < 2e-6


def test_the_number_of_threads_does_not_change_a_bit(
    monkeypatch: pytest.MonkeyPatch, engine: TorchEngine, texts: list[str]
) -> None:
    monkeypatch.setattr(torch_engine, "cores", lambda: 1)
    alone = engine.vectors(texts, "passage", 4)
    monkeypatch.setattr(torch_engine, "cores", lambda: 3)
    together = [engine.vectors(texts, "passage", 4) for _ in range(3)]
    assert all(np.array_equal(alone, one) for one in together)


def test_an_empty_note_and_texts_with_known_vectors_are_indexed(home: Home, tmp_path: Path) -> None:
    """No text is left to be read then."""
    torch = LocalEmbedder(variant=ModelVariant("torch"))
    write(tmp_path / "notes", {"MEMORY.md": "A cup of rooibos tea."})
    index_folder(tmp_path / "notes", torch)
    write(tmp_path / "notes", {"memory/empty.md": ""})
    later = Options(vectors_later=True)
    assert index_folder(tmp_path / "notes", torch, options=later).new == ["memory/empty.md"]
    assert index_folder(tmp_path / "notes", torch, rebuild=True, options=later).chunks == 1

"""The file of what the packaged model has read is made anew, at the place that is asked for."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import shipping
from workbench.memory.files import content_hash
from workbench_plugins.recommended import shipped_vectors


def test_another_file_leaves_the_shipped_one_and_takes_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes").mkdir()
    note = "# Tea\n\nThe tea is in the red pot.\n"
    (tmp_path / "notes" / "tea.md").write_text(note)
    shipped, other = tmp_path / "shipped.npz", tmp_path / "other.npz"
    np.savez(shipped, texts=[content_hash(note)], vectors=np.zeros((1, 384)), files=[], words=[], ends=[])
    before = shipped.read_bytes()
    monkeypatch.setattr(shipped_vectors, "FILE", shipped)
    monkeypatch.setattr(shipping, "SAMPLE", tmp_path / "notes")
    monkeypatch.setattr(sys, "argv", ["shipping", str(other)])
    for kept in (shipped_vectors._numbers, shipped_vectors._array):
        kept.cache_clear()
    try:
        shipping.main()
    finally:
        for kept in (shipped_vectors._numbers, shipped_vectors._array):
            kept.cache_clear()
    assert shipped.read_bytes() == before
    with np.load(other) as found:
        assert np.linalg.norm(found["vectors"], axis=1) == pytest.approx(1)

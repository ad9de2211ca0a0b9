"""A synthetic index of any size, from the texts and questions of `benchmarks.speed.corpus`."""

from __future__ import annotations

from pathlib import Path

from benchmarks.speed.corpus import Corpus
from benchmarks.speed.ours import ThisWorkbench
from workbench.memory.index import MemoryIndex


def build(folder: Path, chunks: int, seed: int = 1) -> MemoryIndex:
    """An index in an empty folder, of `chunks` chunks of about 1,000 characters, ten per document."""
    ours = ThisWorkbench()
    ours.build(Corpus(chunks, seed), folder)
    return ours.opened()

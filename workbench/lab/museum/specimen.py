"""A specimen of the bug museum: a public bug, its one change, and the smallest world that shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import InputError
from workbench.memory.chunking import LineChunker
from workbench.memory.embedding.local import ToyEmbedder
from workbench.memory.files import content_hash
from workbench.memory.index import MemoryIndex
from workbench.memory.store.sqlite.store import Cached, Settings, Store
from workbench.records import Document
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.engines.presets import two_legs

Answer = Mapping[str, float]
"""What came out, best first: names and their scores."""


@dataclass(frozen=True)
class Side:
    """One side of a specimen: what it does in a line, what makes it, and the answer that it gives."""

    says: str
    made_by: Any
    answer: Callable[[], Answer]


@dataclass(frozen=True)
class Specimen:
    """A public bug: where it was reported, what was seen, why, the one change, and a world that shows it.

    `world` describes the input. `expected` says in words what `healthy` tests of an answer. `note` says what
    was simplified.
    """

    name: str
    references: tuple[str, ...]
    symptom: str
    mechanism: str
    change: str
    world: str
    expected: str
    healthy: Callable[[Answer], bool]
    shipped: Side
    fixed: Side
    note: str = ""

    def run(self) -> SpecimenRun:
        """Both answers, and whether each is as expected."""
        shipped, fixed = dict(self.shipped.answer()), dict(self.fixed.answer())
        return SpecimenRun(self, shipped, fixed, self.healthy(shipped), self.healthy(fixed))


@dataclass(frozen=True)
class SpecimenRun:
    """What running a specimen has shown."""

    specimen: Specimen
    shipped: Answer
    fixed: Answer
    shipped_healthy: bool
    fixed_healthy: bool

    @property
    def shows(self) -> bool:
        """Whether the bug is there on the shipped side and gone on the fixed one."""
        return self.fixed_healthy and not self.shipped_healthy


def first(answer: Answer) -> str | None:
    """The best name of an answer, None when it is empty, or when it shares the best score with another."""
    best = [name for name, score in answer.items() if score == max(answer.values())]
    return best[0] if len(best) == 1 else None


def by_score(scores: Mapping[str, float]) -> Answer:
    """Scores as an answer: best first, equal ones by name."""
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))


def computed(says: str, function: Callable[..., Mapping[str, float]], *arguments: Any) -> Side:
    """A side that is a function of the specimen's world."""
    return Side(says, function, lambda: function(*arguments))


def fused(fusion: ColumnStage, vector: Mapping[str, float], keyword: Mapping[str, float]) -> Side:
    """A side that is a fusion of two lists; `fusion` has a line that says what it does."""

    def answer() -> Answer:
        ids, of = two_legs(vector, keyword)
        scores = np.asarray(fusion.formula(of), float)
        return by_score(dict(zip(ids, scores.tolist(), strict=True)))

    return Side(getattr(fusion, "says", ""), fusion, answer)


def searched(
    shipped: Pipeline,
    fixed: Pipeline,
    question: str,
    notes: Mapping[str, str],
    axes: Mapping[str, tuple[str, ...]],
) -> tuple[Side, Side]:
    """Two sides that are pipelines over a few notes, told apart by the one stage, or view, that differs.

    Raises InputError for pipelines that differ in more than that, or in nothing.
    """
    differences = shipped.diff(fixed)
    if len(differences) != 1:
        raise InputError(
            f"{shipped.name} and {fixed.name} differ in {len(differences)} stages.",
            "Make two specimens of a fix that needs two changes.",
        )
    (one,) = differences
    shipped_says, fixed_says = (part.says if part else f"no {one.slot}" for part in (one.before, one.after))
    return (
        _side(shipped_says, shipped, question, notes, axes),
        _side(fixed_says, fixed, question, notes, axes),
    )


def _side(
    says: str,
    pipeline: Pipeline,
    question: str,
    notes: Mapping[str, str],
    axes: Mapping[str, tuple[str, ...]],
) -> Side:
    def answer() -> Answer:
        with small_memory(notes, axes) as index:
            return {one.chunk.path: one.score for one in search(question, pipeline, index).results}

    return Side(says, pipeline, answer)


def small_memory(notes: Mapping[str, str], axes: Mapping[str, tuple[str, ...]]) -> MemoryIndex:
    """An index of a few notes, in memory, with vectors that a person can compute; close it after use."""
    embedder, chunker = ToyEmbedder(axes), LineChunker()
    settings = Settings(embedder.name, embedder.revision, embedder.dimensions, "lines")
    index = MemoryIndex(Store.create(Path(":memory:"), settings), embedder)
    for path, text in notes.items():
        document = Document(path, "memory", text, content_hash(text), len(text), 0)
        passages = chunker.chunk(text)
        vectors = embedder.embed([passage.text for passage in passages], "passage").vectors
        index.store.replace(document, passages, [Cached(vector, 1.0) for vector in vectors])
    return index

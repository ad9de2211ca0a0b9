"""How to write the two sides of a specimen: as two functions, two fusions of two lists, or two pipelines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import InputError
from workbench.lab.museum.specimen import Answer, Side, Sides, by_score
from workbench.memory.chunking import LineChunker
from workbench.memory.embedding.local import ToyEmbedder
from workbench.memory.files import content_hash
from workbench.memory.index import MemoryIndex
from workbench.memory.store.sqlite.store import Store
from workbench.memory.store.values import Cached, Settings
from workbench.records import Document
from workbench.retrieval.fusion import Fusion
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.engines.lists import fusion_of_lists
from workbench.systems.engines.presets import two_legs

Axes = Mapping[str, tuple[str, ...]]
"""A toy vector has one dimension per entry: how many words of the text belong to that topic."""

FOUR_NOTES = {
    "memory/depot.md": "Rocky Point is where the bark is packed into bags.",
    "memory/disk.md": "The server reported a disk error at night, and the disk was changed.",
    "memory/backup.md": "The backup of the server runs on the second disk.",
    "memory/codes.md": "ENOENT means that a file was not there.",
}
SERVER_AND_GARDEN: Axes = {"server": ("server", "disk", "backup"), "garden": ("bark", "soil")}
TEA_AND_BIKE: Axes = {"tea": ("tea",), "bike": ("bike",)}


def computed(says: str, function: Callable[..., Answer], *arguments: Any) -> Side:
    """A side that is a function of the specimen's input."""
    return Side(says, function, lambda: function(*arguments))


def fused(shipped: Fusion, fixed: Fusion, vector: Mapping[str, float], keyword: Mapping[str, float]) -> Sides:
    """Two fusions of the same two lists of scores by id; larger is better."""
    return Sides(_fused(shipped, vector, keyword), _fused(fixed, vector, keyword))


@dataclass(frozen=True)
class FusedLists:
    """A fusion of two lists of scores by id; calling it gives the answer."""

    fusion: Fusion
    vector: Mapping[str, float]
    keyword: Mapping[str, float]

    def __call__(self) -> Answer:
        ids, of = two_legs(self.vector, self.keyword)
        scores = np.asarray(self.fusion.formula(of), float)
        return by_score(dict(zip(ids, scores.tolist(), strict=True)))


def _fused(fusion: Fusion, vector: Mapping[str, float], keyword: Mapping[str, float]) -> Side:
    return Side(getattr(fusion, "says", ""), fusion, FusedLists(fusion, vector, keyword))


def searched(
    shipped: Pipeline,
    fixed: Pipeline,
    question: str,
    notes: Mapping[str, str] = FOUR_NOTES,
    axes: Axes = SERVER_AND_GARDEN,
) -> Sides:
    """Two pipelines that search the same few notes and differ in exactly one stage, or in their layout.

    Raises InputError when they differ in more than that, or in nothing.
    """
    differences = shipped.diff(fixed)
    if len(differences) != 1:
        raise InputError(
            f"{shipped.name} and {fixed.name} differ in {len(differences)} stages.",
            "Write one specimen for each change of the fix.",
        )
    (one,) = differences
    shipped_says, fixed_says = (part.says if part else f"no {one.slot}" for part in (one.before, one.after))
    return Sides(
        _searched(shipped_says, shipped, question, notes, axes),
        _searched(fixed_says, fixed, question, notes, axes),
    )


@dataclass(frozen=True)
class SmallSearch:
    """A question that a pipeline answers from a few notes; calling it gives the answer."""

    pipeline: Pipeline
    question: str
    notes: Mapping[str, str]
    axes: Axes

    def __call__(self) -> Answer:
        with small_memory(self.notes, self.axes) as index:
            return {one.chunk.path: one.score for one in search(self.question, self.pipeline, index).results}


def pipeline_of_side(side: Side) -> Pipeline | None:
    """The pipeline of a side that searches a memory or fuses two lists; None for any other function."""
    if isinstance(side.answer, SmallSearch):
        return side.answer.pipeline
    if isinstance(side.answer, FusedLists):
        return fusion_of_lists("lists", side.answer.fusion)
    return None


def _searched(says: str, pipeline: Pipeline, question: str, notes: Mapping[str, str], axes: Axes) -> Side:
    return Side(says, pipeline, SmallSearch(pipeline, question, notes, axes))


def small_memory(notes: Mapping[str, str], axes: Axes) -> MemoryIndex:
    """An index of a few notes in RAM, with vectors that you can compute by hand; close it after use."""
    embedder, chunker = ToyEmbedder(axes), LineChunker()
    settings = Settings(embedder.name, embedder.revision, embedder.dimensions, "lines")
    index = MemoryIndex(Store.create(Path(":memory:"), settings), embedder)
    for path, text in notes.items():
        document = Document(path, "memory", text, content_hash(text), len(text), 0)
        passages = chunker.chunk(text)
        vectors = embedder.embed([passage.text for passage in passages], "passage").vectors
        index.add(document, passages, [Cached(vector, 1.0) for vector in vectors])
    return index

"""Causes in the vectors: those of another model, those of another text, and those of a half-read chunk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.reruns import Reruns
from workbench.memory.embedding.local import LocalEmbedder, Windowed, has_runs
from workbench.records import Chunk, Hits, Rows, Vector
from workbench.retrieval.index_adapters import IndexAdapter, adapted, innermost
from workbench.retrieval.legs import VectorLeg, no_hits
from workbench.retrieval.pipeline import Pipeline, search
from workbench.safe_text import counted
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.kinds import of_kind
from workbench_plugins.diagnose.parameters import Goal

LARGEST_COSINE, SAME_TEXT = 1.001, 0.7
"""A larger similarity is no cosine; a text has a larger one with itself, also with a prefix for queries."""
NEAR_ITSELF = 10
"""A chunk whose own text does not bring it among so many nearest chunks has a vector of another kind."""


def asks_vectors(runs: Reruns) -> bool:
    """Whether the diagnosed pipeline has a vector leg."""
    return any(isinstance(stage, VectorLeg) for stage in runs.pipeline.stages)


def without_foreign_vectors(index: Index, question: str, pipeline: Pipeline) -> Index:
    """The index; if it refuses the question's vector, one whose vector leg brings nothing."""
    if not any(isinstance(stage, VectorLeg) for stage in pipeline.stages):
        return index
    try:
        index.vector(index.embed(question), 1)
    except InputError as error:
        return _ForeignVectors(index, error.problem)
    return index


class _ForeignVectors(IndexAdapter):
    """An index whose vectors have another number of dimensions than the question's; `problem` says so."""

    def __init__(self, inner: Index, problem: str) -> None:
        super().__init__(inner)
        self.problem = problem

    def vector(self, query: Vector, limit: int) -> Hits:
        return no_hits()


def refused_vectors(index: Index) -> Iterator[Cause]:
    """The vectors of another model that the index itself refuses: no search with them can be run."""
    refusing = adapted(index, _ForeignVectors)
    if refusing is not None:
        yield of_kind("foreign", index, f"The vector leg brings nothing. {refusing.problem}")


# An index that is older than its folder


def causes_of_vectors(runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """Vectors that do not fit the file's text, and chunks of it that the model has read in part."""
    index = runs.index
    rows = index.rows_of(goal.path)
    distances = distances_of(index, runs.vector, rows)
    if distances is None or runs.vector is None:
        return
    if not np.isfinite(distances).all():
        away = rows[~np.isfinite(distances)]
        told = f"{goal.path}: {away.size} of {counted(rows.size, 'chunk')} are in no answer of the vector leg"
        yield of_kind("unreached", index, told, found_with(runs, goal, _embedded(index, away)))
        return
    best = int(rows[np.argmin(distances)])
    (chunk,) = index.chunks(np.array([best]))
    own = index.embed(chunk.text)
    near = index.vector(own, index.size)
    rank = int(np.flatnonzero(near.rows == best)[0]) + 1
    cosine, most = 1 - float(near.raw[rank - 1]), 1 - float(near.raw.min())
    if most > LARGEST_COSINE:
        yield of_kind(
            "long", index, f"the vector leg gives a similarity of {most:.2f}, and a cosine is at most 1"
        )
    elif rank > NEAR_ITSELF or (
        cosine < SAME_TEXT and chunk.read_share == 1 and not has_runs(chunk.text)
    ):  # an older workbench embedded data, too
        evidence = (
            f"{chunk.location}: embedded again, its cosine with its stored vector is {cosine:.3f}, "
            f"and {rank - 1} other chunks are nearer"
        )
        yield _foreign(runs, goal, evidence)
    else:
        yield from _half_read(runs, goal)


MOST_EMBEDDED = 300
"""The largest number of chunks that are embedded again to try what the right vectors would bring."""


def _foreign(runs: Reruns, goal: Goal, evidence: str) -> Cause:
    """The stored vectors are those of another model: tried with the file's vectors made anew, then with all.

    Not tried to the end in an index of very many chunks.
    """
    index = runs.index
    own = index.rows_of(goal.path)
    works: bool | None = found_with(runs, goal, _embedded(index, own))
    if not works:
        small = index.size <= MOST_EMBEDDED
        every = np.concatenate([index.rows_of(path) for path in index.paths()]) if small else own
        works = found_with(runs, goal, _embedded(index, every)) if small else None
    return of_kind("foreign", index, evidence, works)


def _embedded(index: Index, rows: Rows) -> dict[int, Vector]:
    """The vectors of some chunks, made anew."""
    chunks = index.chunks(rows)
    return {int(row): index.embed(chunk.text) for row, chunk in zip(rows, chunks, strict=True)}


def _half_read(runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """The model read chunks only in part.

    Verified with the vectors of all of them, or of the part of one chunk that the model did not read.
    """
    index = runs.index
    rows, asked = index.rows_of(goal.path), runs.vector
    part = {
        row: one for row, one in zip(rows.tolist(), index.chunks(rows), strict=True) if one.read_share < 1
    }
    whole = _whole(index, {row: one.text for row, one in part.items()})
    if asked is None or not part:
        return
    if whole and found_with(runs, goal, whole):
        chunk = part[max(whole, key=lambda row: float(asked @ whole[row]))]
        yield half_read("read in part", index, chunk, "with all of it")
        return
    # Of a chunk without data it is the end alone that is not read.
    ends = {row: unread_text(one) for row, one in part.items() if not has_runs(one.text)}
    rests = {row: index.embed(end) for row, end in ends.items() if end.strip()}
    nearest = max(rests, key=lambda row: float(asked @ rests[row]), default=None)
    if nearest is not None and found_with(runs, goal, {nearest: rests[nearest]}):
        yield half_read("too long", index, part[nearest], "with the rest alone")


def unread_text(chunk: Chunk) -> str:
    """The end of a chunk that the model has not read; empty if it has read all of it."""
    return chunk.text[int(len(chunk.text) * chunk.read_share) :]


def half_read(kind: str, index: Index, chunk: Chunk, how: str) -> Cause:
    """The cause that the model has not read all of a chunk, and what was tried."""
    told = f"{chunk.location}: the model read {chunk.read_share:.0%} of it; {how}, the file would be found"
    return of_kind(kind, index, told, True)


def _whole(index: Index, texts: Mapping[int, str]) -> dict[int, Vector]:
    """The vectors of texts that the index's model reads whole; none without a model on this machine."""
    embedder = getattr(innermost(index), "embedder", None)
    if not isinstance(embedder, LocalEmbedder) or not texts:
        return {}
    found = embedder.read_as(Windowed()).embed(list(texts.values()), "passage").vectors
    return dict(zip(texts, found, strict=True))


def found_with(runs: Reruns, goal: Goal, vectors: dict[int, Vector]) -> bool:
    """Whether the answer is as wanted when some rows have these vectors."""
    other = _Reembedded(runs.index, vectors)
    return goal.reached(search(runs.question, runs.pipeline, other, runs.vector))


def distances_of(index: Index, vector: Vector | None, rows: Rows) -> np.ndarray | None:
    """The distances of some rows to a vector, infinite for those that the vector leg never brings.

    None without a vector, or without any hit.
    """
    if vector is None or not vector.any():
        return None
    hits = index.vector(vector, index.size)
    order = {int(row): at for at, row in enumerate(hits.rows.tolist())}
    found = [hits.raw[order[row]] if row in order else np.inf for row in rows.tolist()]
    return np.array(found) if hits.rows.size else None


class _Reembedded(IndexAdapter):
    """An index in which some rows have other vectors."""

    def __init__(self, inner: Index, vectors: dict[int, Vector]) -> None:
        super().__init__(inner)
        self._vectors = vectors

    def vector(self, query: Vector, limit: int) -> Hits:
        hits = self.inner.vector(query, self.size)
        others = ~np.isin(hits.rows, list(self._vectors))
        rows = np.concatenate([hits.rows[others], np.array(list(self._vectors), np.int64)])
        made = [1 - float(query @ one) for one in self._vectors.values()]
        raw = np.concatenate([hits.raw[others], np.array(made, float)])
        ids = np.array([one.id for one in self.inner.chunks(rows)], np.str_)
        order = np.lexsort((ids, raw))[:limit]
        return Hits(rows[order], raw[order])

"""Puts any search on the bench: a Python function becomes a pipeline, and a pipeline becomes a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from workbench.contracts import Context, Index
from workbench.errors import InputError
from workbench.progress import progress_bar
from workbench.records import KEPT, Chunk, Hits, Leg, Query, Rows, Trace, Vector
from workbench.retrieval.cutoff import Limit
from workbench.retrieval.foreign_ids import answered, none_is_known
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.legs import LegStage, with_leg
from workbench.retrieval.pipeline import Pipeline, Source, search
from workbench_plugins.runs.runs import Run


@dataclass(frozen=True)
class Recorder(LegStage, slot="results", name="engine", number="score"):
    """Wraps `search(question) -> [(id, score), …]`, best first; `workbench.evaluate` takes its `pipeline()`.

    An id is a path as the questions' targets name it. Of a document that comes twice, the first counts.
    """

    search: Callable[[str], Iterable[tuple[str, float]]]
    engine: str = "your engine"
    description: ClassVar[str] = "results: as the engine returns them"

    def pipeline(self, limit: float = 10) -> Pipeline:
        """The engine as a pipeline whose first `limit` documents count."""
        return Pipeline(self.engine, (self, Limit(limit)), Source(self.engine, "as it runs", "Recorder"))

    def deepest(self, limit: float) -> int:
        return np.iinfo(np.int64).max

    def run(self, trace: Trace, context: Context) -> Trace:
        """The trace with what the engine returned. Raises InputError for results that are not (id, score)."""
        found: dict[str, float] = {}
        try:
            for id_, score in answered(self.engine, trace.question, self.search):
                found.setdefault(str(id_), _number(float(score), id_))
        except (TypeError, ValueError) as error:
            problem = f"{self.engine} does not return (id, score) pairs: {error}."
            raise InputError(problem, "docs/measuring.md shows two examples.") from error
        scores, ranks = np.array(list(found.values()), float), np.arange(1.0, len(found) + 1)
        known = [context.index.rows_of(id_) for id_ in found]
        rows: Rows = np.array([some[0] if some.size else -2 - at for at, some in enumerate(known)], np.int64)
        columns = {"score": scores, "engine_raw": scores, "engine_rank": ranks, "engine_relevance": scores}
        chunks = tuple(Chunk(id_, id_, "engine", 1, 1, "") for id_ in found)
        leg = Leg(self.name, trace.question, len(found), Hits(rows, scores, True), number=self.number)
        trace = replace(trace, chunks=chunks, rows=rows, columns=columns, order=np.arange(rows.size))
        if found and (rows < 0).all() and (paths := context.index.paths()):
            unknown = none_is_known(self.engine, trace.question, list(found), paths)
            trace = replace(trace, unknown_ids=unknown)
        return with_leg(replace(trace, dropped=np.full(rows.size, KEPT)), leg)

    def every(self, trace: Trace, context: Context) -> Hits:
        """What the engine returned: nothing is known of its other matches."""
        return trace.legs[self.name].hits


def _number(score: float, id_: object) -> float:
    """The score of a document. Raises ValueError for NaN, which has no place in an order."""
    if math.isnan(score):
        raise ValueError(f"the score of {id_} is NaN")
    return score


def run_of(pipeline: Pipeline, questions: Mapping[str, str], index: Index) -> Run:
    """What a pipeline returns for questions by id: each file once, with the score of its best chunk.

    The sub-scores are the columns `<leg>_score` of that chunk.
    """
    index = index if isinstance(index, CachedIndex) else CachedIndex(index)
    collected = Run(pipeline.name)
    for id_, text in progress_bar(questions.items(), desc="asking", unit="question"):
        collected.question(id_, text)
        _add(collected, id_, search(text, pipeline, index))
    return collected


def _add(collected: Run, question: str, trace: Trace) -> None:
    seen: set[str] = set()
    for found in trace.results:
        if found.chunk.path in seen:
            continue
        seen.add(found.chunk.path)
        parts = {
            name.removesuffix("_score"): value
            for name, value in found.numbers.items()
            if name.endswith("_score") and name.removesuffix("_score") in trace.legs and value == value
        }
        collected.add(question, found.chunk.path, found.score, rank=len(seen), parts=parts)


class NoMemory(Index):
    """Holds nothing and finds nothing; a `Recorder` needs no more."""

    @property
    def size(self) -> int:
        return 0

    def keyword(self, query: Query, limit: int) -> Hits:
        return Hits(np.empty(0, np.int64), np.empty(0))

    def vector(self, query: Vector, limit: int) -> Hits:
        return Hits(np.empty(0, np.int64), np.empty(0))

    def embed(self, question: str) -> Vector:
        return np.zeros(1, np.float32)

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        return []

    def rows_of(self, path: str) -> Rows:
        return np.empty(0, np.int64)

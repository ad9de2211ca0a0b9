"""Puts any search on the bench: a Python function becomes a pipeline, in the same tables as ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from workbench.contracts import Context
from workbench.errors import InputError
from workbench.records import KEPT, Chunk, Hits, Leg, Rows, Trace
from workbench.retrieval.cutoff import Limit
from workbench.retrieval.legs import LegStage, with_leg
from workbench.retrieval.pipeline import Pipeline, Source


@dataclass(frozen=True)
class Recorder(LegStage):
    """Wraps `search(question) -> [(id, score), …]`, best first; `workbench.evaluate` takes its `pipeline()`.

    An id is a path as the questions' targets name it. Of a document that comes twice, the first counts.
    """

    search: Callable[[str], Iterable[tuple[str, float]]]
    engine: str = "your engine"
    slot: ClassVar[str] = "results"
    name: ClassVar[str] = "engine"
    number: ClassVar[str] = "score"
    says: ClassVar[str] = "results: as the engine returns them"

    def pipeline(self, limit: float = 10) -> Pipeline:
        """The engine as a pipeline whose first `limit` documents count."""
        return Pipeline(self.engine, (self, Limit(limit)), Source(self.engine, "as it runs", "Recorder"))

    def deepest(self, limit: float) -> int:
        return np.iinfo(np.int64).max

    def run(self, trace: Trace, context: Context) -> Trace:
        """The trace with what the engine returned. Raises InputError for results that are not (id, score)."""
        found: dict[str, float] = {}
        try:
            for id_, score in self.search(trace.question):
                found.setdefault(str(id_), float(score))
        except (TypeError, ValueError) as error:
            problem = f"{self.engine} does not return (id, score) pairs: {error}."
            raise InputError(problem, "docs/your_engine.md shows three examples.") from error
        scores, ranks = np.array(list(found.values()), float), np.arange(1.0, len(found) + 1)
        known = [context.index.rows_of(id_) for id_ in found]
        rows: Rows = np.array([some[0] if some.size else -2 - at for at, some in enumerate(known)], np.int64)
        columns = {"score": scores, "engine_raw": scores, "engine_rank": ranks, "engine_relevance": scores}
        chunks = tuple(Chunk(id_, id_, "engine", 1, 1, "") for id_ in found)
        leg = Leg(self.name, trace.question, len(found), Hits(rows, scores, True), number=self.number)
        trace = replace(trace, chunks=chunks, rows=rows, columns=columns, order=np.arange(rows.size))
        return with_leg(replace(trace, dropped=np.full(rows.size, KEPT)), leg)

    def every(self, trace: Trace, context: Context) -> Hits:
        """What the engine returned: nothing is known of its other matches."""
        return trace.legs[self.name].hits

"""Fuses the lists that somebody else's engine returned: legs that bring given scores, and no texts.

Whoever has two lists of ids with scores can run any fusion of the workbench on them, with a trace and an
explanation of every score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from workbench.contracts import Context, Index
from workbench.errors import InputError
from workbench.records import Chunk, Hits, Leg, Query, Rows, Stage, Trace, Vector
from workbench.retrieval.columns import ColumnStage, Numbers
from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.fusion import Fusion
from workbench.retrieval.index_adapters import innermost
from workbench.retrieval.legs import LegStage, Union, with_leg
from workbench.retrieval.pipeline import Pipeline, Source

Scores = Mapping[str, float]


class ListIndex(Index):
    """The lists of two legs in place of a memory: scores by id; larger is better."""

    def __init__(self, vector: Scores, keyword: Scores) -> None:
        self.ids = sorted({*vector, *keyword})
        self._rows = {one: row for row, one in enumerate(self.ids)}
        self._lists = {"vector": vector, "keyword": keyword}

    @property
    def size(self) -> int:
        return len(self.ids)

    @property
    def name(self) -> str:
        return "the given lists"

    def listed(self, leg: str) -> Hits:
        """The whole list of a leg, best first, equal scores by id."""
        scores = self._lists[leg]
        best = sorted(scores, key=lambda one: (-scores[one], one))
        rows = np.array([self._rows[one] for one in best], np.int64)
        return Hits(rows, np.array([scores[one] for one in best], float), True, "given score")

    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        return [Chunk(self.ids[row], self.ids[row], "memory", 1, 1, "") for row in rows.tolist()]

    def rows_of(self, path: str) -> Rows:
        return np.array([self._rows[path]] if path in self._rows else [], np.int64)

    def paths(self) -> list[str]:
        return self.ids

    def embed(self, question: str) -> Vector:
        """A vector of one dimension: the lists are there already, so no stage compares it."""
        return np.ones(1, np.float32)

    def keyword(self, query: Query, limit: int) -> Hits:
        """Always an error: words cannot be looked up in lists."""
        raise _not_asked("its keyword leg asks for words")

    def vector(self, query: Vector, limit: int) -> Hits:
        """Always an error: a vector cannot be compared with lists."""
        raise _not_asked("its vector leg compares vectors")


def _not_asked(problem: str) -> InputError:
    return InputError(
        f"The given lists have scores, and no texts: {problem}.", "Use a system with a fusion, on its own."
    )


@dataclass(frozen=True)
class GivenList(LegStage, number="given score"):
    """Base of a leg that brings the whole list that is given for it."""

    @property
    def says(self) -> str:
        return f"{self.name} list: the given scores; ranks by score, equal scores by id"

    def _list(self, context: Context) -> Hits:
        index = innermost(context.index)
        if not isinstance(index, ListIndex):
            raise InputError(
                f"The index {index.name} is a memory, and this system fuses given lists.",
                "Choose a system that searches: workbench systems",
            )
        return index.listed(self.name)

    def deepest(self, limit: float) -> int:
        return np.iinfo(np.int64).max

    def run(self, trace: Trace, context: Context) -> Trace:
        hits = self._list(context)
        leg = Leg(self.name, "the given list", hits.rows.size, hits, number=self.number)
        return with_leg(trace, leg)

    def every(self, trace: Trace, context: Context) -> Hits:
        return self._list(context)


@dataclass(frozen=True)
class VectorList(GivenList, slot="vector_leg", name="vector"):
    """The given list of the vector leg."""


@dataclass(frozen=True)
class KeywordList(GivenList, slot="keyword_leg", name="keyword"):
    """The given list of the keyword leg."""


@dataclass(frozen=True)
class GivenVectorScore(ColumnStage, slot="vector_score", scale="as given"):
    """The given score of the vector list, as it is."""

    leg: ClassVar[str] = "vector"

    @property
    def says(self) -> str:
        return f"{self.leg} score = the given score"

    def formula(self, of: Numbers) -> Any:
        return of[f"{self.leg}_raw"]


@dataclass(frozen=True)
class GivenKeywordScore(GivenVectorScore, slot="keyword_score"):
    """The given score of the keyword list, as it is."""

    leg: ClassVar[str] = "keyword"


GIVEN: tuple[Stage, ...] = (VectorList(), KeywordList(), Union(), GivenVectorScore(), GivenKeywordScore())
MOST = 10_000
"""Results of a fusion that has no limit of its own."""


def fusion_of_lists(name: str, fusion: Fusion) -> Pipeline:
    """A pipeline that fuses given lists, orders them by score and id, and leaves out nothing."""
    source = Source("the given lists", "", fusion.slot)
    return Pipeline(name, (*GIVEN, fusion, Order(), Limit(MOST)), source)


def on_lists(pipeline: Pipeline) -> Pipeline:
    """What a system does with lists that are there already: its fusion, its order, and what it drops.

    Raises InputError for a system without a fusion of two lists.
    """
    if isinstance(pipeline.stages[0], GivenList):
        return pipeline
    places = [place for place, stage in enumerate(pipeline.stages) if isinstance(stage, Fusion)]
    if not places:
        raise InputError(
            f"The system {pipeline.name} has no fusion of two lists.",
            "Choose one that has, such as engine-rrf-60: workbench systems",
        )
    stages = (*GIVEN, *pipeline.stages[places[0] :])
    return replace(pipeline, stages=stages, layout=None)

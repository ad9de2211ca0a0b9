"""The fusions of hybrid searches in PostgreSQL: shared ranks, and one whose vector ranks are upside down."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from workbench.contracts import Context
from workbench.records import Floats, Trace
from workbench.retrieval.columns import ColumnStage, Numbers, PlainStage
from workbench.retrieval.fusion import reciprocal_rank
from workbench.systems.engines.fusion import RankSum

LEGS = ("vector", "keyword")


@dataclass(frozen=True)
class TextRank(ColumnStage):
    """The keyword score is the number of PostgreSQL's ranking function."""

    slot: ClassVar[str] = "keyword_score"
    output: ClassVar[str] = "keyword_score"
    scale: ClassVar[str] = "ts_rank_cd"
    present: ClassVar[str | None] = "keyword_rank"
    says: ClassVar[str] = "keyword score = the number of the ranking function"

    def formula(self, of: Numbers) -> Any:
        return of["keyword_relevance"]


@dataclass(frozen=True)
class SharedRanks(PlainStage):
    """Ranks as SQL's RANK() counts them: hits with equal numbers share a rank."""

    slot: ClassVar[str] = "shared_ranks"
    says: ClassVar[str] = "rank = 1 + how many hits of the leg are better; equal hits share a rank"

    def reads(self) -> tuple[str, ...]:
        return tuple(f"{leg}_relevance" for leg in LEGS)

    def writes(self) -> tuple[str, ...]:
        return tuple(f"{leg}_shared_rank" for leg in LEGS)

    def run(self, trace: Trace, context: Context) -> Trace:
        ranks = {f"{leg}_shared_rank": _shared(trace.columns[f"{leg}_relevance"]) for leg in LEGS}
        return replace(trace, columns={**trace.columns, **ranks})


def _shared(relevance: Floats) -> Floats:
    better = (relevance[None, :] > relevance[:, None]).sum(axis=1)
    return np.where(np.isnan(relevance), np.nan, 1.0 + better)


@dataclass(frozen=True)
class TiedRankSum(RankSum):
    """Reciprocal rank fusion over the ranks of `SharedRanks`."""

    def part(self, of: Numbers, leg: str) -> Any:
        rank = of[f"{leg}_shared_rank"]
        return reciprocal_rank(rank, self.weight(of, leg), of.constant(self.k))


@dataclass(frozen=True)
class FarthestFirstRankSum(RankSum):
    """Reciprocal rank fusion that sorts the vector leg's distances in descending order.

    The farthest of the leg's hits gets rank 0 and the largest part.
    """

    first: int = 0

    @property
    def says(self) -> str:
        return f"{super().says}; the vector leg's ranks begin with the farthest hit"

    def part(self, of: Numbers, leg: str) -> Any:
        rank = of[f"{leg}_rank"]
        turned = of.greatest("vector_rank") + 1 - rank if leg == "vector" else rank
        return reciprocal_rank(turned - 1, self.weight(of, leg), of.constant(self.k))

"""QMD's fusion of ranks with a bonus for the first places, and its blend of a place with a reranker's score.

Source: tobi/qmd, src/store.ts, reciprocalRankFusion and hybridQuery, at the releases that are named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from workbench.contracts import Context
from workbench.records import Chunk, DropKind, Floats, Rows, Threshold, Trace
from workbench.retrieval.columns import ColumnStage, Numbers, PlainStage, filled
from workbench.retrieval.cutoff import Order, dropped
from workbench.retrieval.fusion import MoreLegs, RankSum, summed
from workbench_plugins.qmd.qmd_legs import FileIndex
from workbench_plugins.rerank import Rerank, fused_ranks

CANDIDATES = 40
VARIANTS: MoreLegs = (("lex", 1.0), ("vec", 1.0), ("hyde", 1.0))
ASKED_IN_ORDER = ("keyword", "lex", "vector", "vec", "hyde")
"""The lists in the order in which QMD asks and walks them."""
FUSED = Order(ties=tuple(f"{leg}_rank" for leg in ASKED_IN_ORDER))
"""QMD's order of fused scores: of equal ones, the file that the walk through the lists meets first.

Source: 2.8.3, reciprocalRankFusion, a stable sort of a map in the order of insertion.
"""


def top_rank_bonus(rank: Any) -> Any:
    """0.05 for a candidate that is first in one of its lists, 0.02 for second or third, by its best rank."""
    return np.where(rank == 1, 0.05, np.where(rank <= 3, 0.02, 0.0))


def blend(rank: Any, score: Any) -> Any:
    """w / place + (1 - w) × score, where w is 0.75 for the first three, 0.6 up to the tenth, then 0.4."""
    share = np.where(rank <= 3, 0.75, np.where(rank <= 10, 0.6, 0.4))
    return share / rank + (1 - share) * score


@dataclass(frozen=True)
class BonusRankSum(RankSum):
    """Reciprocal rank fusion, and `top_rank_bonus` of the best rank in any list."""

    vector: float = 2.0
    keyword: float = 2.0
    more: MoreLegs = field(default=VARIANTS, kw_only=True)

    @property
    def description(self) -> str:
        return (
            f"{super().description}; plus 0.05 for a first place in any list, or 0.02 for a second or third"
        )

    def together(self, *parts: Any) -> Any:
        """The sum in the order of the walk, so that scores which QMD finds equal are equal here."""
        by_leg = dict(zip(self.legs, parts, strict=True))
        return summed(filled(by_leg[leg], 0.0) for leg in ASKED_IN_ORDER)

    def formula(self, of: Numbers) -> Any:
        best = reduce(np.minimum, [filled(of[f"{leg}_rank"], np.inf) for leg in self.legs])
        return super().formula(of) + top_rank_bonus(best)


@dataclass(frozen=True)
class PositionalRankSum(BonusRankSum):
    """The same with weight 2 for the first two lists that have a hit, and 1 for the others: tobi/qmd#591.

    The lists are in the order in which they are asked, so a variant for keywords takes the second place from
    the vectors of the question itself. Source: 2.1.0.
    """

    @property
    def description(self) -> str:
        return f"{super().description}; the weight 2 goes to the first two lists that are not empty"

    def weight(self, of: Numbers, leg: str) -> Any:
        earlier = ASKED_IN_ORDER[: ASKED_IN_ORDER.index(leg)]
        lists: Any = 0.0
        for one in earlier:
            lists = lists + np.where(np.isnan(of.least(f"{one}_rank")), 0.0, 1.0)
        return np.where(lists < 2, 2.0, 1.0)


@dataclass(frozen=True)
class RankPart(ColumnStage, slot="blend", output="blended", scale="by place", observed=("fusion_place",)):
    """Base of a stage that turns a candidate's place after the fusion into its score."""

    best: ClassVar[Mapping[str, float]] = {"fusion_place": 1.0}

    def reads(self) -> tuple[str, ...]:
        return (*super().reads(), "score")

    def may_read(self) -> tuple[str, ...]:
        return FUSED.ties

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        return {"fusion_place": fused_ranks(trace, FUSED)}


@dataclass(frozen=True)
class ByRank(RankPart):
    """1 / place: the score that QMD shows without its reranker."""

    description: ClassVar[str] = "blended = 1 / place after the fusion, whatever the fused score is"

    def formula(self, of: Numbers) -> Any:
        return 1 / of["fusion_place"]


@dataclass(frozen=True)
class Blend(RankPart):
    """`blend` of the place and the reranker's score, which must be from 0 to 1; 0 for an absent score."""

    description: ClassVar[str] = (
        "blended = w / place + (1 - w) × rerank score, where w = 0.75 for places 1 to 3, 0.6 for 4 to 10, "
        "else 0.4"
    )

    def formula(self, of: Numbers) -> Any:
        return blend(of["fusion_place"], filled(of["rerank_score"], 0.0))


@dataclass(frozen=True)
class CandidateLimit(PlainStage, slot="candidate_limit"):
    """Drops what comes after the first `count` by the fused score: the reranker does not read it."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"count": (1, 1000)}
    count: int = CANDIDATES

    @property
    def description(self) -> str:
        return f"candidates: keep the first {self.count} after the fusion"

    def reads(self) -> tuple[str, ...]:
        return ("fusion_place",)

    def run(self, trace: Trace, context: Context) -> Trace:
        ranks = trace.columns["fusion_place"]
        threshold = Threshold("place after the fusion", ranks, self.count, at_most=True)
        return dropped(trace, self, DropKind.LIMIT, threshold)


@dataclass(frozen=True)
class Constant:
    """A reranker that gives every text the same score.

    QMD gives 0.5 when its reranker cannot be loaded (2.8.3, src/llm.ts, rerank; tobi/qmd PR#819).
    """

    value: float = 0.5

    @property
    def name(self) -> str:
        return f"a constant {self.value:g}"

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """The same number for each text."""
        return [self.value] * len(texts)


@dataclass(frozen=True)
class RerankBestPiece(Rerank):
    """Asks the reranker about one piece of each file: the one with the most words of the question.

    A word counts if it has three characters or more, anywhere in the piece; the first of equals is taken.
    """

    count: int = CANDIDATES

    @property
    def description(self) -> str:
        return f"{super().description}: the piece of each file that has the most words of the question"

    def texts(self, trace: Trace, context: Context, asked: Rows) -> list[str]:
        index = context.index
        if not isinstance(index, FileIndex):
            return super().texts(trace, context, asked)
        words = [word for word in trace.question.lower().split() if len(word) > 2]
        return [best_piece(words, index.pieces(trace.chunks[row].path)).text for row in asked.tolist()]


def best_piece(words: Sequence[str], pieces: Sequence[Chunk]) -> Chunk:
    """The first piece with the most of these words."""
    return max(pieces, key=lambda piece: sum(word in piece.text.lower() for word in words))

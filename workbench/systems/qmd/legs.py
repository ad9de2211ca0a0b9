"""QMD's legs: 20 files for the question itself, and 20 for each of its variants.

Source: tobi/qmd 2.8.3, src/store.ts, hybridQuery.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from workbench.contracts import Context, Index
from workbench.records import Hits, Leg, Query, Rows, Trace
from workbench.retrieval.columns import Numbers
from workbench.retrieval.legs import Depth, FixedDepth, LegStage, QueryLeg, VectorLeg, no_hits, with_leg
from workbench.retrieval.scoring import Cosine, Relevance, cosine_similarity, relevance
from workbench.systems.qmd.query import lex_query

TWENTY = FixedDepth(cap=20)


@dataclass(frozen=True)
class FileVectorLeg(VectorLeg):
    """The files with the nearest chunks; fewer than the depth if the chunks of few files fill the pool."""

    depth: Depth = TWENTY

    @property
    def says(self) -> str:
        return (
            f"vector leg: a file is as near as its nearest chunk, {self.depth} of three times as many chunks"
        )

    def run(self, trace: Trace, context: Context) -> Trace:
        ran = super().run(trace, context)
        return with_leg(ran, as_deep_as_brought(ran.legs[self.name], context.index))


def as_deep_as_brought(leg: Leg, index: Index) -> Leg:
    """The leg with the depth that it reached, if the chunks of few files have filled its pool."""
    full = leg.asked is None or leg.hits.rows.size >= min(leg.depth, index.size)
    return leg if full else replace(leg, depth=leg.hits.rows.size)


@dataclass(frozen=True)
class VariantLeg(LegStage):
    """Base of a leg that searches the variant of its own name, which the stage Expansion has written."""

    depth: Depth = TWENTY

    def deepest(self, limit: float) -> int:
        return self.depth.of(limit)

    def hits(self, text: str, index: Index, limit: int) -> Hits:
        """The best files for the text of a variant."""
        raise NotImplementedError(f"{type(self).__name__} searches nothing")

    def run(self, trace: Trace, context: Context) -> Trace:
        depth = self.depth.of(context.limit)
        waiting = trace.legs.get(self.name) or Leg(self.name, None, depth, no_hits(), number=self.number)
        hits = self.hits(waiting.asked, context.index, depth) if waiting.asked else no_hits()
        ran = replace(waiting, depth=depth, hits=hits)
        return with_leg(trace, as_deep_as_brought(ran, context.index))

    def every(self, trace: Trace, context: Context) -> Hits | None:
        text = trace.legs[self.name].asked
        return self.hits(text, context.index, context.index.size) if text else None


@dataclass(frozen=True)
class LexLeg(VariantLeg):
    """The files that have every word of the variant `lex`."""

    slot: ClassVar[str] = "lex_leg"
    name: ClassVar[str] = "lex"
    number: ClassVar[str] = "bm25"
    best_raw: ClassVar[tuple[float, ...]] = QueryLeg.best_raw
    worst_raw: ClassVar[float] = QueryLeg.worst_raw

    @property
    def says(self) -> str:
        return f"lex leg: the keyword leg for the variant lex, {self.depth}"

    def run(self, trace: Trace, context: Context) -> Trace:
        depth = self.depth.of(context.limit)
        ran = super().run(trace, context)
        return with_leg(ran, replace(ran.legs[self.name], depth=depth))

    def hits(self, text: str, index: Index, limit: int) -> Hits:
        query = lex_query(text)
        return index.keyword(query, limit) if query else no_hits()

    def missing(self, trace: Trace, index: Index, rows: Rows) -> list[tuple[str, ...]]:
        """For each of these files, the clauses of the variant that it does not match."""
        query: Query | None = lex_query(trace.legs[self.name].asked or "")
        clauses = list(dict.fromkeys(query.clauses)) if query else []
        having = [set(index.keyword(Query((one,)), index.size).rows.tolist()) for one in clauses]
        return [
            tuple(one.text for one, found in zip(clauses, having, strict=True) if row not in found)
            for row in rows.tolist()
        ]


@dataclass(frozen=True)
class VecLeg(VariantLeg):
    """The files nearest to the variant `vec`: the question in other words."""

    slot: ClassVar[str] = "vec_leg"
    name: ClassVar[str] = "vec"
    number: ClassVar[str] = "cosine distance"
    best_raw: ClassVar[tuple[float, ...]] = VectorLeg.best_raw
    worst_raw: ClassVar[float] = VectorLeg.worst_raw

    @property
    def says(self) -> str:
        return f"{self.name} leg: the vector leg for the variant {self.name}, {self.depth}"

    def hits(self, text: str, index: Index, limit: int) -> Hits:
        vector = index.embed(text)
        return index.vector(vector, limit) if vector.any() else no_hits()


@dataclass(frozen=True)
class HydeLeg(VecLeg):
    """The files nearest to the variant `hyde`: a sentence as it may stand in the answer."""

    slot: ClassVar[str] = "hyde_leg"
    name: ClassVar[str] = "hyde"


# The scores of the variants' legs, which the fusion does not use but a trace shows


@dataclass(frozen=True)
class LexScore(Relevance):
    """|bm25| / (1 + |bm25|) of the leg `lex`."""

    slot: ClassVar[str] = "lex_score"
    output: ClassVar[str] = "lex_score"
    present: ClassVar[str | None] = "lex_rank"
    says: ClassVar[str] = "lex score = |bm25| / (1 + |bm25|)"

    def formula(self, of: Numbers) -> Any:
        return relevance(of["lex_raw"])


@dataclass(frozen=True)
class VecScore(Cosine):
    """The cosine of the leg `vec`."""

    slot: ClassVar[str] = "vec_score"
    output: ClassVar[str] = "vec_score"
    present: ClassVar[str | None] = "vec_rank"
    says: ClassVar[str] = "vec score = 1 - cosine distance"
    leg: ClassVar[str] = "vec"

    def formula(self, of: Numbers) -> Any:
        return cosine_similarity(of[f"{self.leg}_raw"])


@dataclass(frozen=True)
class HydeScore(VecScore):
    """The cosine of the leg `hyde`."""

    slot: ClassVar[str] = "hyde_score"
    output: ClassVar[str] = "hyde_score"
    present: ClassVar[str | None] = "hyde_rank"
    says: ClassVar[str] = "hyde score = 1 - cosine distance"
    leg: ClassVar[str] = "hyde"


VARIANT_SCORES: Mapping[str, Any] = {"lex": LexScore(), "vec": VecScore(), "hyde": HydeScore()}

"""Basic Memory's hybrid search on SQLite, from rank fusion to #1269: six pipelines, each a few changes apart.

At 232f4690 a question mark turned every question into a phrase, so hybrid search was vector search. #994
brought the keyword leg back, first without a gate. A new tokeniser lost ten points (a2f5edfa), and #1269
regained them. Basic Memory is AGPL: this is our own code, written from a description of its behaviour.
The file `pipelines.yaml` says why each change was made, and where that can be checked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from workbench.contracts import Context
from workbench.memory.store.sqlite.store import LARGEST_KNN
from workbench.records import Compared, DropKind, Rows, Threshold, Trace
from workbench.retrieval.columns import ColumnStage, Names, Numbers, filled
from workbench.retrieval.cutoff import Limit, Order, dropped
from workbench.retrieval.formula_export import as_data, step
from workbench.retrieval.fusion import Fusion, OneLeg, max_plus_min
from workbench.retrieval.legs import Depth, KeywordLeg, Union, VectorLeg, with_leg
from workbench.retrieval.pipeline import Change, Pipeline
from workbench.retrieval.scoring import over_largest
from workbench.systems.history import History, ReleaseLine
from workbench_plugins.basic_memory.ngram_search import (
    WORDS,
    AnyWordBesideScripts,
    EachWordApart,
    NotesWithNgrams,
)
from workbench_plugins.basic_memory.note_chunkers import SINCE_0_24, UP_TO_0_23
from workbench_plugins.basic_memory.notes import EachColumn, NotesLayout, OneMatch
from workbench_plugins.basic_memory.query_preparation import (
    STOPWORDS,
    AnyPlainWord,
    AnyToken,
    AnyUnicodeToken,
    GatedPlainWord,
    NoRelaxation,
    PunctuationMakesAPhrase,
    PunctuationStripped,
)

Ranges = Mapping[str, tuple[float, float]]

SEMANTIC_VECTOR_K = 100
PER_RESULT = 10
"""The number of candidates per result."""


def similarity(cosine_distance: Any) -> Any:
    """max(0, 1 - cosine distance), from 0 to 1: a negative cosine counts as 0."""
    return np.maximum(0.0, 1 - cosine_distance)


def at_least(score: Any, least: Any) -> Any:
    """`score` if it is at least `least`, else NaN."""
    return np.where(score >= least, score, np.nan)


def scored_reciprocal_rank(score: Any, rank: Any, k: Any, least: Any) -> Any:
    """max(score, least) / (k + rank), and 0 for an absent score: rank fusion with the score as weight.

    Source: before f5a0e942, with k = 60 and least = 0.1.
    """
    return np.where(np.isnan(score), 0.0, np.maximum(score, least) / (k + rank))


@dataclass(frozen=True)
class PageDepth(Depth):
    """Ten candidates per result, at least 100, for a page plus the one result that shows a next page.

    >>> PageDepth().of(10), PageDepth().of(6)
    (110, 100)
    """

    multiplier: float = PER_RESULT
    cap: int = LARGEST_KNN
    least: int = SEMANTIC_VECTOR_K

    def of(self, limit: float) -> int:
        wanted = math.floor((math.floor(limit) + 1) * self.multiplier)
        return min(self.cap, max(self.least, wanted))

    def __str__(self) -> str:
        return f"{self.multiplier:g} × (limit + 1) candidates, at least {self.least}"


@dataclass(frozen=True)
class NoteVectorLeg(VectorLeg):
    """The notes with the nearest chunks; fewer than the depth if the chunks of few notes fill the pool."""

    depth: Depth = PageDepth()

    @property
    def description(self) -> str:
        return f"vector leg: a note is as near as its nearest chunk, {self.depth}"

    def run(self, trace: Trace, context: Context) -> Trace:
        ran = super().run(trace, context)
        leg = ran.legs[self.name]
        full = leg.asked is None or leg.hits.rows.size >= min(leg.depth, context.index.size)
        if full:
            return ran
        return with_leg(ran, replace(leg, depth=leg.hits.rows.size))


@dataclass(frozen=True)
class KeywordOverLargest(ColumnStage, slot="keyword_score", scale="over largest", present="keyword_rank"):
    """The keyword score: `over_largest` of |bm25|."""

    description: ClassVar[str] = "keyword score = |bm25| / the leg's largest |bm25|, so the best is always 1"

    def formula(self, of: Numbers) -> Any:
        largest = np.maximum(np.abs(of.least("keyword_raw")), np.abs(of.greatest("keyword_raw")))
        return over_largest(np.abs(of["keyword_raw"]), largest)


@dataclass(frozen=True)
class Similarity(ColumnStage, slot="similarity", scale="cosine, ≥ 0", present="vector_rank"):
    """The vector leg's distance as `similarity`."""

    description: ClassVar[str] = "similarity = max(0, 1 - cosine distance)"

    def formula(self, of: Numbers) -> Any:
        return similarity(of["vector_raw"])


@dataclass(frozen=True)
class MinSimilarity(
    ColumnStage, slot="min_similarity", output="vector_score", scale="cosine, ≥ 0", present="vector_rank"
):
    """The vector score: the similarity if it is at least `least`, else absent.

    Below `least`, a candidate of the keyword leg is kept without its vector score; any other is dropped. The
    default of 0.55 belongs to the score range of bge-small-en-v1.5; another model needs another value.
    Source: 55d675e2.
    """

    ranges: ClassVar[Ranges] = {"least": (0, 1)}
    least: float = 0.55

    @property
    def description(self) -> str:
        return f"min similarity: the vector leg drops what is less similar than {self.least:g}"

    def formula(self, of: Numbers) -> Any:
        return at_least(of["similarity"], of.constant(self.least))

    def may_read(self) -> tuple[str, ...]:
        return (*super().may_read(), "keyword_rank")

    def run(self, trace: Trace, context: Context) -> Trace:
        scored = super().run(trace, context)
        similarity = scored.columns["similarity"]
        keyword_rank = scored.columns.get("keyword_rank", np.full(similarity.size, np.nan))
        threshold = Threshold("similarity", similarity, self.least)
        return dropped(scored, self, DropKind.LEG_FLOOR, threshold, among=np.isnan(keyword_rank))

    def evidence(self, trace: Trace, context: Context, rows: Rows) -> Sequence[str]:
        """Why a chunk that the keyword leg keeps has no vector score."""
        similarity = trace.columns["similarity"]
        ranks = trace.columns.get("keyword_rank", np.full(similarity.size, np.nan))
        low = np.flatnonzero((similarity < self.least) & ~np.isnan(ranks))
        told = {int(trace.rows[at]): str(Compared("similarity", similarity[at], self.least)) for at in low}
        return [told.get(row, "") for row in rows.tolist()]


@step.register
def _similarity(stage: MinSimilarity, of: Names) -> dict[str, Any]:
    compared = {"measure": "similarity", "value": ["column", "similarity"], "limit": as_data(stage.least)}
    alone = np.isnan(of["keyword_rank"]) if "keyword_rank" in of.values else 1
    made = {"column": stage.output, "formula": as_data(stage.formula(of)), "present": stage.present}
    return made | {"thresholds": [compared], "among": as_data(alone)}


@dataclass(frozen=True)
class ScoredRRF(ColumnStage, slot="fusion", output="score"):
    """`scored_reciprocal_rank` of both legs; the vector scores are divided by their largest, too."""

    ranges: ClassVar[Ranges] = {"k": (0, 10_000), "least": (0, 1)}
    k: float = 60
    least: float = 0.1

    @property
    def description(self) -> str:
        return (
            f"score = Σ over legs of max(score / the leg's largest, {self.least:g}) / ({self.k:g} + rank), "
            "where absent adds nothing"
        )

    def formula(self, of: Numbers) -> Any:
        k, least = of.constant(self.k), of.constant(self.least)
        vector = over_largest(of["vector_score"], of.greatest("vector_score"))
        near = np.where(np.isnan(of["vector_score"]), np.nan, vector)
        return scored_reciprocal_rank(near, of["vector_rank"], k, least) + scored_reciprocal_rank(
            of["keyword_score"], of["keyword_rank"], k, least
        )


@dataclass(frozen=True)
class LargerPlusShare(Fusion):
    """`max_plus_min` of both legs' scores, where an absent score counts as 0. Source: f5a0e942 (#577)."""

    ranges: ClassVar[Ranges] = {"share": (0, 1)}
    share: float = 0.3

    @property
    def description(self) -> str:
        return f"score = the larger of vector (score) and keyword (score), plus {self.share:g} × the smaller"

    def part(self, of: Numbers, leg: str) -> Any:
        return of[f"{leg}_score"]

    def together(self, *parts: Any) -> Any:
        vector, keyword = (filled(part, 0.0) for part in parts)
        return max_plus_min(vector, keyword, self.share)


TOLD = History(__file__)

SCORED_RRF = Pipeline(
    "bm-rrf",
    stages=(
        PunctuationMakesAPhrase(),
        KeywordLeg(PageDepth()),
        NoRelaxation(),
        NoteVectorLeg(),
        Union(),
        KeywordOverLargest(),
        Similarity(),
        MinSimilarity(0.55),
        ScoredRRF(),
        Order(),
        Limit(10),
    ),
    source=TOLD.release("e46555bf"),
    layout=NotesLayout(),
    indexing=UP_TO_0_23,
)


VECTOR_ONLY = replace(
    SCORED_RRF,
    name="bm-vector-only",
    stages=(
        NoteVectorLeg(),
        Union(),
        Similarity(),
        MinSimilarity(0.55),
        OneLeg(),
        Order(),
        Limit(10),
    ),
    source=replace(
        SCORED_RRF.source, release="232f4690", note=f"search_type=vector. {SCORED_RRF.source.note}"
    ),
)

FUSION = TOLD.change("f5a0e942", "max", LargerPlusShare())
PUNCTUATION = TOLD.change("a6d07843", "punctuation", PunctuationStripped())
RELAXED = TOLD.change("a6d07843", "relaxed", AnyPlainWord())
GATE = TOLD.change("16869867", "gate", GatedPlainWord())
TOKENS = TOLD.change("a2f5edfa", "tokens", AnyToken())
UNICODE_TOKENS = TOLD.change("1f56fc76", "unicode", AnyUnicodeToken())
RANKS_AGAIN = TOLD.change("e46555bf", "rrf", ScoredRRF())


def min_similarity(least: float) -> Change:
    """A change of the vector leg's minimum similarity; the shipped 0.55 belongs to bge-small-en-v1.5."""
    told = TOLD.change("55d675e2", "min", MinSimilarity(least))
    return replace(told, name=f"min-{least:g}", why=told.why.format(least))


MIN_SIMILARITY_0 = min_similarity(0.0)


def _profile(name: str, before: Pipeline, commit: str, *changes: Change) -> Pipeline:
    return replace(before.with_changes(*changes), name=name, source=TOLD.release(commit))


DEAD_FTS = _profile("bm-dead-fts", SCORED_RRF, "232f4690", FUSION)
UNGATED = _profile("bm-994-ungated", DEAD_FTS, "a6d07843", PUNCTUATION, RELAXED)
GATED = _profile("bm-994-gated", UNGATED, "16869867", GATE)
CJK_REGRESS = _profile("bm-cjk-regress", GATED, "a2f5edfa", TOKENS)
# The third column is searched since 5e4b1196 (#1071).
HEAD = replace(
    _profile("bm-head", CJK_REGRESS, "1f56fc76", UNICODE_TOKENS), layout=NotesLayout(EachColumn(WORDS))
)
RELEASE_0_24 = replace(
    _profile("bm-0.24.1", HEAD, "0.24.1").with_stage(EachWordApart()).with_stage(AnyWordBesideScripts()),
    layout=NotesWithNgrams(EachColumn(WORDS)),
    changes=(),
    indexing=SINCE_0_24,
)
ONE_MATCH = replace(
    _profile("bm-cjk-regress-one-match", CJK_REGRESS, "a2f5edfa, changed"), layout=NotesLayout(OneMatch())
)

PIPELINES = (
    SCORED_RRF,
    DEAD_FTS,
    DEAD_FTS.with_changes(PUNCTUATION),
    UNGATED,
    GATED,
    CJK_REGRESS,
    ONE_MATCH,
    HEAD,
    HEAD.with_changes(MIN_SIMILARITY_0),
    RELEASE_0_24,
)

RELEASES = (SCORED_RRF, DEAD_FTS, UNGATED, GATED, CJK_REGRESS, HEAD, RELEASE_0_24)

LINE = ReleaseLine("Basic-Memory", "bm-", RELEASES, STOPWORDS)

"""The specimens of the museum: what computes each bug as shipped and as fixed; `specimens.yaml` tells of it.

First the bugs around the fusion: the MATCH expression, the pool of candidates, floors, fills and budgets.
Then the bugs of fusions: how BM25 becomes a score, and how scores and ranks are scaled, weighted and summed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from workbench.contracts import Context
from workbench.memory.store.postings import fts5_idf
from workbench.memory.store.sqlite.fts5 import quoted
from workbench.records import Floats, Query, Trace
from workbench.retrieval.columns import Numbers
from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.fusion import RankSum, WeightedSum, reciprocal_rank
from workbench.retrieval.legs import Depth, KeywordLeg, Union, VectorLeg
from workbench.retrieval.scoring import absolute_rank, relevance
from workbench.systems.openclaw import OR_JOIN, SHIPPED
from workbench_plugins.engines.bm25 import bm25, lucene_idf
from workbench_plugins.engines.fusions import (
    AS_GIVEN,
    SATURATING,
    SHARE,
    BM25Conversion,
    CreditedRankSum,
    MinMax,
    Normalisation,
    ScoreSum,
    WeightedScores,
    one,
    zero,
)
from workbench_plugins.engines.museum import (
    SERVER_AND_GARDEN,
    Answer,
    Reports,
    by_score,
    fused_scores,
    small_memory,
)
from workbench_plugins.engines.presets import ENGINES, engine_pipeline, normalised

TOLD = Reports(__file__)
NO_FLOOR, ANY_WORD = SHIPPED.asking(min_score=0.0), SHIPPED.with_changes(OR_JOIN)
RRF, QDRANT = engine_pipeline(ENGINES["rrf-60"]), engine_pipeline(ENGINES["qdrant-k2"])
TWO_OF_EACH = RRF.asking(limit=2).with_stage(KeywordLeg(Depth(1, 200))).with_stage(VectorLeg(Depth(1, 200)))


def at_least(scores: Answer, floor: float) -> dict[str, float]:
    """The scores that are not below `floor`."""
    return {name: score for name, score in scores.items() if score >= floor}


def top(scores: Answer, count: int) -> dict[str, float]:
    """The best `count` of the scores, equal scores by name."""
    return dict(islice(by_score(scores).items(), count))


def squashed(scores: Answer) -> dict[str, float]:
    """s / (1 + s): the same order, on another scale."""
    return {name: score / (1 + score) for name, score in scores.items()}


MAILS = {"case/mail.md": "Two mails came from @jpl.nasa.gov on Tuesday.", "case/call.md": "A call from home."}
LISTED = set('"./$:^{}()*+-~')


def listed_only(token: str) -> str:
    """The token in quotes if it contains a listed character, and else as it is."""
    return quoted(token) if LISTED & set(token) else token


def _found(quote: Callable[[str], str], question: str) -> Answer:
    match = " ".join(quote(token) for token in question.split())
    with small_memory(MAILS, SERVER_AND_GARDEN) as index:
        try:
            hits = index.keyword(Query(expression=match), 5)
        except Exception:  # mulder swallows every error of FTS5, and this reproduces it
            return {}
        paths = [chunk.path for chunk in index.chunks(hits.rows)]
        return by_score(dict(zip(paths, (-hits.raw).tolist(), strict=True)))


@dataclass(frozen=True)
class VectorPool(Union):
    """The candidates: the vector leg's chunks alone; the keyword leg only adds to their scores."""

    description = "candidates = the vector leg's hits"

    def run(self, trace: Trace, context: Context) -> Trace:
        vector, keyword = trace.legs["vector"].hits, trace.legs["keyword"]
        inside = np.isin(keyword.hits.rows, vector.rows)
        hits = replace(keyword.hits, rows=keyword.hits.rows[inside], raw=keyword.hits.raw[inside])
        seen = replace(trace, legs={**trace.legs, "keyword": replace(keyword, hits=hits)})
        return replace(super().run(seen, context), legs=trace.legs)


VECTOR = {"a": 0.90, "b": 0.84, "c": 0.80, "d": 0.61, "e": 0.30, "f": 0.28}
KEYWORD = {"b": 8.0, "f": 6.5, "a": 5.0, "e": 1.0, "c": 0.5, "d": 0.2}


def _score_of_b(pools: Mapping[int, int]) -> Answer:
    """The score of b for each number of requested results, with its number of candidates a leg."""
    fusion = ENGINES["weaviate-relative"].fusion
    return {
        f"b, {asked} asked for": fused_scores(fusion, top(VECTOR, pool), top(KEYWORD, pool))["b"]
        for asked, pool in pools.items()
    }


def _with_k2(vector: Answer, keyword: Answer) -> Answer:
    return fused_scores(ENGINES["qdrant-k2"].fusion, vector, keyword)


def _on_shards(*shards: str) -> Answer:
    """What passes 0.4 if each shard, named by its points, fuses its own ranks."""
    passing: dict[str, float] = {}
    for shard in shards:
        legs = ({name: leg[name] for name in shard} for leg in (VECTOR, KEYWORD))
        passing |= at_least(_with_k2(*legs), 0.4)
    return by_score(passing)


def _prefetched(depth: int) -> Answer:
    return top(_with_k2(top(VECTOR, depth), top(KEYWORD, depth)), 3)


FUSED = {"first": 1.0, "second": 0.9, "third": 0.55}
RECALLED = {"preference": 0.61, "event": 0.31, "noise": 0.11}
RECORDS = {"the decision": (25.3, 2_400), "a build log": (3.1, 300), "a stack trace": (2.0, 250)}


def _within_budget(left: int, cut: bool) -> Answer:
    """The records that fit into so many tokens, best first; with `cut`, the last one is cut to fit."""
    told = {}
    for name, (score, tokens) in RECORDS.items():
        if tokens <= left or (cut and left > 0):
            told[name], left = score, left - min(tokens, left)
    return told


YOUNG_MEMORY = {"MEMORY.md": "tea in the morning", "memory/tea.md": "tea with rooibos leaves"}


def _relevances(idf: Callable[[int, int], float]) -> Answer:
    scores = {
        f"{word}: {path}": float(relevance(-score))
        for word in ("tea", "rooibos")
        for path, score in bm25(idf, word, YOUNG_MEMORY).items()
    }
    return by_score(scores)


@dataclass(frozen=True)
class OneMinusScores(WeightedScores):
    """One minus the convex combination, as if its parts were distances."""

    @property
    def description(self) -> str:
        return super().description.replace("score = ", "score = 1 - (") + ")"

    def together(self, vector: Any, keyword: Any) -> Any:
        return 1 - super().together(vector, keyword)


COPIES = {"another": 0.95, "copy 1": 0.90, "copy 2": 0.90}, {"copy 1": 0.80, "copy 2": 0.80}


def _averaged(depth: int) -> Answer:
    dense, sparse = (dict(list(scores.items())[:depth]) for scores in COPIES)
    return fused_scores(WeightedScores(0.5, 0.5), dense, sparse)


def _branches(keyword_weight: float) -> Answer:
    return by_score({"the answer": 0.7 * 0.82, "a word in common": keyword_weight * min(25.86, 1.0)})


RERANKED = {"an on-topic question": 0.95, "nonsense": 0.02}

DENSE = {"a matching question": [0.81, 0.40, 0.35], "nonsense": [0.22, 0.21, 0.19]}
GRAPH = 0.3 * 0.5
"""The graph leg's part of every score: its weight times the default importance."""


def _best_scores(scale: Normalisation) -> Answer:
    return {
        name: max(0.6 * score + GRAPH for score in normalised(scale, scores))
        for name, scores in DENSE.items()
    }


@dataclass(frozen=True)
class SharedRankSum(RankSum):
    """Reciprocal rank fusion with shared ranks: a rank is one more than the number of higher scores."""

    @property
    def description(self) -> str:
        return f"{super().description}; equal scores share a rank"

    def part(self, of: Numbers, leg: str) -> Any:
        rank = of.whole(_shared_ranks, f"{leg}_score")
        return reciprocal_rank(rank, self.weight(of, leg), of.constant(self.k))


def _shared_ranks(scores: Floats) -> Floats:
    return np.array([1.0 + np.sum(scores > one) for one in scores])


CHUNKS = ("manual", "manual", "manual", "exact"), ("exact", "minutes")


def _ensemble(before: Callable[[Iterable[str]], Iterable[str]]) -> Answer:
    scores: dict[str, float] = {}
    for names in CHUNKS:
        for rank, name in enumerate(before(names), 1):
            scores[name] = scores.get(name, 0.0) + float(reciprocal_rank(rank, 0.5, 60))
    return by_score(scores)


PRIORITIES = {"answer": (0.83, 0.35), "priority": (0.61, 1.0)}
"""The similarity and the priority of two memories."""

SPECIMENS = (
    TOLD.searched("openclaw-and-join", NO_FLOOR, NO_FLOOR.with_changes(OR_JOIN)),
    TOLD.computed(
        "mulder-silent-syntax-error", lambda: _found(listed_only, "@nasa"), lambda: _found(quoted, "@nasa")
    ),
    TOLD.searched("mem0-semantic-gate", TWO_OF_EACH.with_stage(VectorPool()), TWO_OF_EACH),
    TOLD.computed(
        "score-depends-on-size",
        lambda: _score_of_b({3: 3, 6: 6}),
        lambda: _score_of_b({3: 100, 6: 100}),
        lambda answer: len(set(answer.values())) == 1,
    ),
    TOLD.computed(
        "qdrant-fusion-per-shard",
        lambda: _on_shards("ace", "bdf"),
        lambda: _on_shards("abcdef"),
        lambda answer: answer == _on_shards("abcdef"),
    ),
    TOLD.computed(
        "qdrant-grouping-widens-the-pool",
        lambda: _prefetched(6),
        lambda: _prefetched(3),
        lambda answer: answer == _prefetched(3),
    ),
    TOLD.searched("openclaw-unreachable-floor", ANY_WORD, ANY_WORD.with_stage(MinScore(0.3))),
    TOLD.searched("threshold-on-rrf-scale", RRF.asking(min_score=0.3), RRF, bool),
    TOLD.searched("qdrant-local-threshold", QDRANT, QDRANT.asking(min_score=0.4)),
    TOLD.computed(
        "floor-before-squash",
        lambda: squashed(at_least(FUSED, 0.45)),
        lambda: at_least(squashed(FUSED), 0.45),
    ),
    TOLD.computed(
        "openviking-fill-below-floor",
        lambda: top(at_least(RECALLED, 0.25) | RECALLED, 3),
        lambda: top(at_least(RECALLED, 0.25), 3),
    ),
    TOLD.computed(
        "agentmemory-token-budget",
        lambda: _within_budget(900, cut=False),
        lambda: _within_budget(900, cut=True),
    ),
    TOLD.fused("openclaw-clamped-bm25", ENGINES["openclaw-clamped"].fusion, ENGINES["openclaw-now"].fusion),
    TOLD.fused(
        "qmd-upside-down", ScoreSum(AS_GIVEN, BM25Conversion(absolute_rank)), ScoreSum(AS_GIVEN, SATURATING)
    ),
    TOLD.computed("fts5-idf-floor", lambda: _relevances(fts5_idf), lambda: _relevances(lucene_idf)),
    TOLD.fused(
        "weaviate-single-hit",
        WeightedScores(0.5, 0.5, MinMax(zero), MinMax(zero)),
        WeightedScores(0.5, 0.5, MinMax(one), MinMax(one)),
        lambda answer: answer["exact"] > 0,
    ),
    TOLD.fused(
        "haystack-dbsf-zero",
        ENGINES["haystack-dbsf"].fusion,
        ENGINES["haystack-dbsf-12508"].fusion,
        lambda answer: answer["answer"] > 0,
    ),
    TOLD.fused("lancedb-inverted", OneMinusScores(0.7, 0.3), WeightedScores(0.7, 0.3)),
    TOLD.fused(
        "lancedb-absence-rewarded", WeightedSum(0.7, 0.3, absent=1.0), WeightedSum(0.7, 0.3, absent=0.0)
    ),
    TOLD.computed(
        "txtai-half-penalty",
        lambda: _averaged(2),
        lambda: _averaged(3),
        lambda answer: answer["copy 1"] == answer.get("copy 2"),
    ),
    TOLD.computed("memory-lancedb-pro-unweighted-branch", lambda: _branches(1.0), lambda: _branches(0.3)),
    TOLD.computed(
        "qmd-blend-floor",
        lambda: {name: 0.75 * (1 / 1) + 0.25 * score for name, score in RERANKED.items()},
        lambda: RERANKED,
        lambda answer: answer["nonsense"] < 0.5 <= answer["an on-topic question"],
    ),
    TOLD.computed("metronix-constant-score", lambda: _best_scores(MinMax()), lambda: _best_scores(AS_GIVEN)),
    TOLD.fused(
        "llamaindex-weights-ignored",
        ENGINES["llamaindex-rrf"].fusion,
        RankSum(k=60, first=0, keyword=0.0),
        lambda answer: answer["node C"] == answer["node D"] == 0,
    ),
    TOLD.fused("qdrant-k2", ENGINES["qdrant-k2"].fusion, ENGINES["qdrant-k60"].fusion),
    TOLD.fused("tarsy-credit-for-absence", CreditedRankSum(limit=3), RankSum()),
    TOLD.fused(
        "typesense-tied-ranks",
        RankSum(vector=0.3, keyword=0.7, k=0),
        SharedRankSum(vector=0.3, keyword=0.7, k=0),
    ),
    TOLD.fused("rrf-ignores-the-margin", RankSum(), WeightedScores(1.0, 1.0, SHARE, SHARE)),
    TOLD.computed("langchain-duplicate-chunks", lambda: _ensemble(list), lambda: _ensemble(dict.fromkeys)),
    TOLD.computed(
        "static-boost",
        lambda: by_score(
            {name: 0.6 * near + 0.4 * priority for name, (near, priority) in PRIORITIES.items()}
        ),
        lambda: by_score({name: near for name, (near, _) in PRIORITIES.items()}),
    ),
    TOLD.computed(
        "missing-score-is-zero",
        lambda: at_least({"keyword hit": 0.3 * 0.0}, 0.25),
        lambda: at_least({"keyword hit": 0.3 * 0.9}, 0.25),
    ),
)

"""How OpenClaw scores the hits of its later keyword legs: lexical boost, path scores, exact paths.

Source: the published builds of 2026.7.1 and 2026.9.6: extensions/memory-core/src/memory, manager-search.ts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from workbench.contracts import Context
from workbench.records import Floats, Trace
from workbench.retrieval.columns import ColumnStage, Numbers, PlainStage, filled, with_column
from workbench.retrieval.feature_cache import feature_cache_of
from workbench.retrieval.scoring import relevance
from workbench.systems.openclaw.keyword import LegOfMany, LegWithPaths
from workbench.systems.openclaw.layouts import exact_path_tiers
from workbench.systems.openclaw.words import FEATURES, boosted, features, ranking_words


@dataclass(frozen=True)
class BoostedRelevance(ColumnStage):
    """`boosted` over r / (1 + r): the score from BM25, plus a boost for shared words.

    The words are those of the question, or those that the leg scored its hits against.
    """

    slot: ClassVar[str] = "keyword_score"
    output: ClassVar[str] = "keyword_score"
    scale: ClassVar[str] = "boosted bm25"
    present: ClassVar[str | None] = "keyword_rank"
    observed: ClassVar[tuple[str, ...]] = FEATURES

    @property
    def says(self) -> str:
        return (
            "keyword score = min(1, |bm25| / (1 + |bm25|) + 0.45 × share of the question's words in the text "
            "+ 0.2 × their share of the text's words + 0.18 × words in the path + min(length / 160, 0.18))"
        )

    def formula(self, of: Numbers) -> Any:
        return boosted(relevance(of["keyword_raw"]), *(of[name] for name in FEATURES))

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        leg = trace.legs["keyword"]
        if isinstance(leg, LegOfMany):
            seen = leg.features
        else:
            rows, index = leg.hits.rows, context.index
            seen = features(ranking_words(trace.question), rows, index.chunks(rows), feature_cache_of(index))
        return dict(zip(FEATURES, spread(seen, trace), strict=True))


def spread(values: Floats, trace: Trace) -> Floats:
    """Numbers of the keyword leg's hits, shape (…, hits), as columns of the candidates; NaN for the rest."""
    rank = trace.columns["keyword_rank"]
    brought = np.flatnonzero(~np.isnan(rank))
    columns = np.full((*values.shape[:-1], rank.size), np.nan)
    columns[..., brought] = values[..., rank[brought].astype(int) - 1]
    return columns


@dataclass(frozen=True)
class MatchedRelevance(BoostedRelevance):
    """`BoostedRelevance` for hits of MATCH in the text; 0 for hits of substrings or of the path only.

    Hits that score 0 keep their place in the leg, and `lexical_rank` orders them among the candidates.
    Source: openclaw 2026.9.6, searchKeyword and mergeHybridResults (openclaw#115001, #120603).
    """

    observed: ClassVar[tuple[str, ...]] = (*FEATURES, "lexical_rank")

    @property
    def says(self) -> str:
        return f"{super().says}; 0 without a MATCH in the text"

    def formula(self, of: Numbers) -> Any:
        return np.where(of["keyword_raw"] < 0, super().formula(of), 0.0)

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        leg, rank = trace.legs["keyword"], np.zeros(len(trace.chunks))
        if isinstance(leg, LegWithPaths):
            by_substring = leg.in_text & (leg.hits.raw == 0)
            rank = filled(spread(np.where(by_substring, boosted(0.0, *leg.features), 0.0), trace), 0.0)
        return {**super().observe(trace, context), "lexical_rank": rank}


@dataclass(frozen=True)
class PathScore(ColumnStage):
    """The score of a file that was found by its path: `relevance` of BM25 over the paths.

    A path that only substrings found has the raw number 0, and therefore the score 1.
    """

    slot: ClassVar[str] = "path_score"
    output: ClassVar[str] = "path_score"
    scale: ClassVar[str] = "r / (1 + r)"
    present: ClassVar[str | None] = "path_raw"
    observed: ClassVar[tuple[str, ...]] = ("path_raw",)
    says: ClassVar[str] = "path score = |bm25| / (1 + |bm25|) over the files' paths, for a file's first chunk"

    def formula(self, of: Numbers) -> Any:
        return relevance(of["path_raw"])

    def reads(self) -> tuple[str, ...]:
        """The keyword leg's rank: that leg brings the paths, too."""
        return (*super().reads(), "keyword_rank")

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        leg, raw = trace.legs["keyword"], np.full(len(trace.chunks), np.nan)
        if isinstance(leg, LegWithPaths):
            raw = spread(leg.path_raw, trace)
        return {"path_raw": raw}


@dataclass(frozen=True)
class PathTier(PlainStage):
    """Marks candidates whose path, file name or stem equals the question: `exact_path_tier`, 0 to 3."""

    slot: ClassVar[str] = "path_tier"
    says: ClassVar[str] = "path tier = 3 if the question is the path, 2 for its name, 1 without .md, else 0"

    def writes(self) -> tuple[str, ...]:
        return ("path_tier",)

    def run(self, trace: Trace, context: Context) -> Trace:
        return with_column(trace, "path_tier", exact_path_tiers(trace.question, context.index, trace.chunks))

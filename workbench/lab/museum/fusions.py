"""Specimens that are two fusions of the same two lists, apart in one parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from workbench.lab.museum.specimen import Answer, Side, Specimen, by_score, computed, first, fused
from workbench.retrieval.columns import Numbers
from workbench.retrieval.fusion import WeightedSum, filled, reciprocal_rank
from workbench.retrieval.scoring import absolute_rank
from workbench.systems.engines.fusion import RankSum, ScoreSum, WeightedScores
from workbench.systems.engines.presets import ENGINES, fuse
from workbench.systems.engines.scales import AS_GIVEN, SATURATING, BM25Conversion, MinMax, one, zero

ONE_HIT = {"vec-1": 0.91, "vec-2": 0.74, "vec-3": 0.55}, {"exact": 6.2}

SINGLE_HIT = Specimen(
    name="weaviate-single-hit",
    references=("weaviate/weaviate#3243", "PR#3245"),
    symptom="Under relative score fusion only vector results come back; the one BM25 hit is gone.",
    mechanism="Min-max of a list of one is 0 / 0, which was set to 0: the leg's weight was multiplied away.",
    change="what min-max makes of equal scores",
    world="three vector hits, and one keyword hit that no vector hit equals",
    expected="the only keyword hit has a score above 0",
    healthy=lambda answer: answer["exact"] > 0,
    shipped=fused(WeightedScores(0.5, 0.5, MinMax(zero), MinMax(zero)), *ONE_HIT),
    fixed=fused(WeightedScores(0.5, 0.5, MinMax(one), MinMax(one)), *ONE_HIT),
)

SURE = {"answer": 0.95}, {"minutes": 12.0, "agenda": 10.0, "invoice": 8.0}

HAYSTACK = Specimen(
    name="haystack-dbsf-zero",
    references=("deepset-ai/haystack#12507", "PR#12508"),
    symptom="A retriever that finds exactly one document, at 0.95, sees it come out of the joiner with 0.",
    mechanism="One score has no deviation, and a leg without one was taken to say nothing: all its scores 0.",
    change="what the three-sigma scale makes of equal scores",
    world="one vector hit at 0.95, three keyword hits",
    expected="the document at 0.95 does not score 0",
    healthy=lambda answer: answer["answer"] > 0,
    shipped=fused(ENGINES["haystack-dbsf"].fusion, *SURE),
    fixed=fused(ENGINES["haystack-dbsf-12508"].fusion, *SURE),
    note="The fix keeps the raw score, so a leg of one BM25 hit would now come first whatever else there is.",
)

TWO_RETRIEVERS = {"node A": 0.9, "node B": 0.8}, {"node C": 0.9, "node D": 0.8}

LLAMAINDEX = Specimen(
    name="llamaindex-weights-ignored",
    references=("run-llama/llama_index#21444", "PR#21445"),
    symptom="retriever_weights=[1.0, 0.0] with reciprocal_rerank, and the second retriever counts as before.",
    mechanism="The loop goes over the values of a dictionary whose keys say which retriever a list is from.",
    change="the weight of the second list: 1, or what was asked for, 0",
    world="two retrievers with two nodes each, the second with weight 0",
    expected="a retriever of weight 0 gives nothing",
    healthy=lambda answer: answer["node C"] == answer["node D"] == 0,
    shipped=fused(ENGINES["llamaindex-rrf"].fusion, *TWO_RETRIEVERS),
    fixed=fused(RankSum(k=60, first=0, keyword=0.0), *TWO_RETRIEVERS),
)

AGREED = (
    {"outlier": 0.9, "v2": 0.8, "v3": 0.7, "agreed": 0.6},
    {"k1": 9.0, "k2": 8.0, "k3": 7.0, "agreed": 6.0},
)

QDRANT_K = Specimen(
    name="qdrant-k2",
    references=("cbcoutinho/nextcloud-mcp-server PR#1199",),
    symptom="What one retriever puts first outranks what both retrievers agree on.",
    mechanism="Qdrant's RRF has k = 2: first in one list gives 1/2, fourth in both only 1/5 + 1/5.",
    change="k: 2 or 60",
    world="a candidate that is first in one list, and one that is fourth in both",
    expected="what both legs bring comes first",
    healthy=lambda answer: first(answer) == "agreed",
    shipped=fused(ENGINES["qdrant-k2"].fusion, *AGREED),
    fixed=fused(ENGINES["qdrant-k60"].fusion, *AGREED),
)


@dataclass(frozen=True)
class CreditedRankSum(RankSum):
    """Reciprocal rank fusion in which an absent candidate has the rank `limit`: COALESCE(rank, limit)."""

    limit: float = 3

    @property
    def says(self) -> str:
        return super().says.replace("absent adds nothing", f"absent has rank {self.limit:g}")

    def contributions(self, of: Numbers) -> tuple[Any, Any]:
        vector, keyword = (
            reciprocal_rank(filled(of[f"{leg}_rank"], self.limit), self.weight(of, leg), of.constant(self.k))
            for leg in ("vector", "keyword")
        )
        return vector, keyword


SECOND_IN_BOTH = {"alone": 0.9, "both": 0.8, "v3": 0.7}, {"k1": 9.0, "both": 8.0, "k3": 7.0}

TARSY = Specimen(
    name="tarsy-credit-for-absence",
    references=("codeready-toolchain/tarsy PR#210",),
    symptom="A memory that only one leg found outranks one that both legs found.",
    mechanism="COALESCE(rank, limit) gives to an absent candidate what the last of the list gets.",
    change="what an absent rank adds",
    world="limit 3: first in one list against second in both",
    expected="what both legs bring comes first",
    healthy=lambda answer: first(answer) == "both",
    shipped=fused(CreditedRankSum(limit=3), *SECOND_IN_BOTH),
    fixed=fused(RankSum(), *SECOND_IN_BOTH),
    note="1/61 + 1/63 is more than 2/62 by 0.0000083, and that is enough.",
)


@dataclass(frozen=True)
class OneMinusScores(WeightedScores):
    """The convex combination, taken from 1 as if its parts were distances."""

    @property
    def says(self) -> str:
        return super().says.replace("score = ", "score = 1 - (") + ")"

    def together(self, vector: Any, keyword: Any) -> Any:
        return 1 - super().together(vector, keyword)


SIMILARITIES = {"match": 0.98, "near": 0.60, "far": 0.10}, {"match": 0.90, "near": 0.50, "far": 0.20}

LANCE_INVERTED = Specimen(
    name="lancedb-inverted",
    references=("lancedb/lancedb#3154", "#2014", "PR#3437"),
    symptom="The least relevant row comes first.",
    mechanism="Both parts had become relevances, and their sum was still taken from 1, like a distance.",
    change="the last step: 1 - sum, or the sum",
    world="three rows, each found by both legs in the same order",
    expected="the row that both legs put first is first",
    healthy=lambda answer: first(answer) == "match",
    shipped=fused(OneMinusScores(0.7, 0.3), *SIMILARITIES),
    fixed=fused(WeightedScores(0.7, 0.3), *SIMILARITIES),
)

ONE_UNMATCHED = {"matched": 0.80, "unmatched": 0.70}, {"matched": 0.60}

LANCE_FILL = Specimen(
    name="lancedb-absence-rewarded",
    references=("lancedb/lancedb#3154", "PR#3437"),
    symptom="A row without a single word of the question outranks one that has them.",
    mechanism="fill = 1.0 was a penalty while scores were distances; as a relevance it is full marks.",
    change="what an absent keyword score counts as: 1 or 0",
    world="a row with a keyword score of 0.6, and one that the keyword leg did not bring",
    expected="the row that matches the words comes first",
    healthy=lambda answer: first(answer) == "matched",
    shipped=fused(WeightedSum(0.7, 0.3, absent=1.0), *ONE_UNMATCHED),
    fixed=fused(WeightedSum(0.7, 0.3, absent=0.0), *ONE_UNMATCHED),
    note="Shown after the sign is mended (lancedb-inverted), so that one change is left.",
)

STRONG_AND_WEAK: tuple[Mapping[str, float], Mapping[str, float]] = {}, {"strong": 9.1, "weak": 1.2}

CLAMPED = Specimen(
    name="openclaw-clamped-bm25",
    references=("openclaw/openclaw#5767", "PR#20994", "#33757"),
    symptom="Every keyword hit has the same score, the strong and the weak.",
    mechanism="1 / (1 + max(0, rank)), while FTS5's ranks are negative: always 1 / (1 + 0).",
    change="how BM25 becomes a score",
    world="two keyword hits, BM25 9.1 and 1.2",
    expected="the stronger match scores more",
    healthy=lambda answer: answer["strong"] > answer["weak"],
    shipped=fused(ENGINES["openclaw-clamped"].fusion, *STRONG_AND_WEAK),
    fixed=fused(ENGINES["openclaw-now"].fusion, *STRONG_AND_WEAK),
)

UPSIDE_DOWN = Specimen(
    name="qmd-upside-down",
    references=("tobi/qmd#74", "PR#76", "openclaw/openclaw#16021"),
    symptom="After the fix of “all results 100 %” the best document has 16 %, and the weak ones have more.",
    mechanism="1 / (1 + |rank|): the better the match, the larger |rank|, the smaller the score.",
    change="how BM25 becomes a score",
    world="two keyword hits, BM25 9.1 and 1.2",
    expected="the stronger match scores more",
    healthy=lambda answer: answer["strong"] > answer["weak"],
    shipped=fused(ScoreSum(AS_GIVEN, BM25Conversion(absolute_rank)), *STRONG_AND_WEAK),
    fixed=fused(ScoreSum(AS_GIVEN, SATURATING), *STRONG_AND_WEAK),
    note="The report of 100 % was the clamp of openclaw-clamped-bm25; this is what its first fix did.",
)

COPIES = {"another": 0.95, "copy 1": 0.90, "copy 2": 0.90}, {"copy 1": 0.80, "copy 2": 0.80}


def _convex(depth: int) -> Answer:
    dense, sparse = ({name: scores[name] for name in list(scores)[:depth]} for scores in COPIES)
    return {hit.id: hit.score for hit in fuse(WeightedScores(0.5, 0.5), dense, sparse)}


def _fetching(depth: int) -> Side:
    return computed(f"0.5 × dense + 0.5 × sparse, {depth} candidates a leg", _convex, depth)


TXTAI = Specimen(
    name="txtai-half-penalty",
    references=("neuml/txtai#543",),
    symptom="Two records with the same text have different scores.",
    mechanism="One of them was just outside the dense leg's pool, and an absent score counts as 0.",
    change="the depth of the pool",
    world="two copies of one text, and another text that the dense leg prefers",
    expected="the same text has the same score",
    healthy=lambda answer: answer["copy 1"] == answer.get("copy 2"),
    shipped=_fetching(2),
    fixed=_fetching(3),
    note="Closed as designed: a larger limit was the advice.",
)

APPLES = (
    {"13 red apple": 0.88, "19 green apple": 0.87, "03 apple pie": 0.71},
    {"03 apple pie": 9999.0, "13 red apple": 9999.0, "19 green apple": 9999.0},
)


@dataclass(frozen=True)
class SharedRankSum(RankSum):
    """Reciprocal rank fusion in which equal scores share a rank: one more than how many score higher."""

    first: int = 1
    ties: ClassVar[str] = "equal scores share a rank"

    @property
    def says(self) -> str:
        return f"{super().says}; {self.ties}"

    def part(self, of: Numbers, leg: str) -> Any:
        score = np.asarray(of[f"{leg}_score"])
        shared = np.array([1.0 + np.sum(score > one) for one in score])
        return reciprocal_rank(shared, self.weight(of, leg), of.constant(self.k))


TYPESENSE = Specimen(
    name="typesense-tied-ranks",
    references=("typesense/typesense#2163",),
    symptom="Asked for “apple”, apple pie comes before red apple, which is nearer and matches as well.",
    mechanism="Equal text scores are ranked 1, 2, 3 by id, and 0.7 / 1 against 0.7 / 2 decides.",
    change="whether equal scores share a rank",
    world="three records with the same text score and different distances; 0.7 / K + 0.3 / S",
    expected="of equal matches the nearest comes first",
    healthy=lambda answer: first(answer) == "13 red apple",
    shipped=fused(RankSum(vector=0.3, keyword=0.7, k=0), *APPLES),
    fixed=fused(SharedRankSum(vector=0.3, keyword=0.7, k=0), *APPLES),
)


def _branches(keyword_weight: float) -> Answer:
    semantic, noise = 0.7 * 0.82, keyword_weight * min(25.86, 1.0)
    return by_score({"the answer": semantic, "a word in common": noise})


UNWEIGHTED = Specimen(
    name="memory-lancedb-pro-unweighted-branch",
    references=("CortexReach/memory-lancedb-pro#978",),
    symptom="Keyword-only hits score a perfect 1.0, above every semantic match, whatever the weights.",
    mechanism="The branch for hits of the keyword leg alone returns their BM25, clamped to 1, unweighted.",
    change="the weight of a hit that only the keyword leg brought: none, or 0.3",
    world="a semantic hit at cosine 0.82, and a keyword hit at BM25 25.86",
    expected="a strong semantic match stands above a keyword-only hit of weight 0.3",
    healthy=lambda answer: first(answer) == "the answer",
    shipped=computed("a keyword-only hit scores min(1, bm25)", _branches, 1.0),
    fixed=computed("a keyword-only hit scores 0.3 × min(1, bm25)", _branches, 0.3),
)

SPECIMENS = (
    SINGLE_HIT,
    HAYSTACK,
    LLAMAINDEX,
    QDRANT_K,
    TARSY,
    LANCE_INVERTED,
    LANCE_FILL,
    CLAMPED,
    UPSIDE_DOWN,
    TXTAI,
    TYPESENSE,
    UNWEIGHTED,
)

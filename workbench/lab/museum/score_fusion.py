"""Bugs in fusions of scores: scales, weights, and the score of an absent candidate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.lab.museum.sides import computed, fused
from workbench.lab.museum.specimen import Answer, Side, Sides, Specimen, by_score, first
from workbench.retrieval.fusion import WeightedSum
from workbench.systems.engines.fusion import WeightedScores
from workbench.systems.engines.presets import ENGINES, fuse, normalised
from workbench.systems.engines.scales import AS_GIVEN, MinMax, Normalisation, one, zero


@dataclass(frozen=True)
class OneMinusScores(WeightedScores):
    """One minus the convex combination, as if its parts were distances."""

    @property
    def says(self) -> str:
        return super().says.replace("score = ", "score = 1 - (") + ")"

    def together(self, vector: Any, keyword: Any) -> Any:
        return 1 - super().together(vector, keyword)


COPIES = {"another": 0.95, "copy 1": 0.90, "copy 2": 0.90}, {"copy 1": 0.80, "copy 2": 0.80}


def _convex(depth: int) -> Answer:
    dense, sparse = ({name: scores[name] for name in list(scores)[:depth]} for scores in COPIES)
    return {hit.id: hit.score for hit in fuse(WeightedScores(0.5, 0.5), dense, sparse)}


def _fetching(depth: int) -> Side:
    return computed(f"0.5 × dense + 0.5 × sparse, {depth} candidates a leg", _convex, depth)


def _branches(keyword_weight: float) -> Answer:
    semantic, noise = 0.7 * 0.82, keyword_weight * min(25.86, 1.0)
    return by_score({"the answer": semantic, "a word in common": noise})


RERANKED = {"an on-topic question": 0.95, "nonsense": 0.02}


def _blended() -> Answer:
    return {name: 0.75 * (1 / 1) + 0.25 * score for name, score in RERANKED.items()}


def _reranked() -> Answer:
    return dict(RERANKED)


DENSE = {"a matching question": [0.81, 0.40, 0.35], "nonsense": [0.22, 0.21, 0.19]}
GRAPH = 0.3 * 0.5
"""The graph leg's part of every score: its weight times the default importance."""


def _best_scores(scale: Normalisation) -> Answer:
    return {
        name: max(0.6 * score + GRAPH for score in normalised(scale, scores))
        for name, scores in DENSE.items()
    }


SPECIMENS = (
    Specimen(
        name="weaviate-single-hit",
        references=("weaviate/weaviate#3243", "PR#3245"),
        symptom="Relative score fusion returns only vector results; the one BM25 hit is gone.",
        mechanism="Min-max of a single hit is 0 / 0, which was set to 0, so the leg's weight had no effect.",
        change="the result of min-max for equal scores",
        world="three vector hits, and one keyword hit that is not among them",
        expected="the only keyword hit has a score above 0",
        healthy=lambda answer: answer["exact"] > 0,
        sides=fused(
            WeightedScores(0.5, 0.5, MinMax(zero), MinMax(zero)),
            WeightedScores(0.5, 0.5, MinMax(one), MinMax(one)),
            {"vec-1": 0.91, "vec-2": 0.74, "vec-3": 0.55},
            {"exact": 6.2},
        ),
    ),
    Specimen(
        name="haystack-dbsf-zero",
        references=("deepset-ai/haystack#12507", "PR#12508"),
        symptom="A retriever finds exactly one document, at 0.95, and the joiner gives it a score of 0.",
        mechanism="One score has no deviation, and a leg without deviation gets the score 0 for all hits.",
        change="the result of the three-sigma scale for equal scores",
        world="one vector hit at 0.95, three keyword hits",
        expected="the document at 0.95 does not score 0",
        healthy=lambda answer: answer["answer"] > 0,
        sides=fused(
            ENGINES["haystack-dbsf"].fusion,
            ENGINES["haystack-dbsf-12508"].fusion,
            {"answer": 0.95},
            {"minutes": 12.0, "agenda": 10.0, "invoice": 8.0},
        ),
        note="The fix keeps the raw score, so a leg with a single BM25 hit now always comes first.",
    ),
    Specimen(
        name="lancedb-inverted",
        references=("lancedb/lancedb#3154", "#2014", "PR#3437"),
        symptom="The least relevant row comes first.",
        mechanism="Both parts are relevances, but their sum is still subtracted from 1, like a distance.",
        change="the last step: 1 - sum, or the sum",
        world="three rows, each found by both legs in the same order",
        expected="the row that both legs rank first comes first",
        healthy=lambda answer: first(answer) == "match",
        sides=fused(
            OneMinusScores(0.7, 0.3),
            WeightedScores(0.7, 0.3),
            {"match": 0.98, "near": 0.60, "far": 0.10},
            {"match": 0.90, "near": 0.50, "far": 0.20},
        ),
    ),
    Specimen(
        name="lancedb-absence-rewarded",
        references=("lancedb/lancedb#3154", "PR#3437"),
        symptom="A row without any word of the question outranks a row that contains them.",
        mechanism="fill = 1.0 was a penalty while scores were distances; as a relevance it is the maximum.",
        change="the keyword score of an absent row: 1 or 0",
        world="a row with a keyword score of 0.6, and a row that the keyword leg did not find",
        expected="the row that matches the words comes first",
        healthy=lambda answer: first(answer) == "matched",
        sides=fused(
            WeightedSum(0.7, 0.3, absent=1.0),
            WeightedSum(0.7, 0.3, absent=0.0),
            {"matched": 0.80, "unmatched": 0.70},
            {"matched": 0.60},
        ),
        note="Both sides have the sign fixed (lancedb-inverted), so that one change is left.",
    ),
    Specimen(
        name="txtai-half-penalty",
        references=("neuml/txtai#543",),
        symptom="Two records with the same text have different scores.",
        mechanism="One of them is just outside the dense leg's pool, and an absent score counts as 0.",
        change="the depth of the pool",
        world="two copies of one text, and another text that the dense leg prefers",
        expected="the same text has the same score",
        healthy=lambda answer: answer["copy 1"] == answer.get("copy 2"),
        sides=Sides(_fetching(2), _fetching(3)),
        note="Closed as designed, with the advice to use a larger limit.",
    ),
    Specimen(
        name="memory-lancedb-pro-unweighted-branch",
        references=("CortexReach/memory-lancedb-pro#978",),
        symptom="Keyword-only hits score 1.0, above every semantic match, for any weights.",
        mechanism="The branch for keyword-only hits returns their BM25, clamped to 1, without its weight.",
        change="the weight of a keyword-only hit: none, or 0.3",
        world="a semantic hit at cosine 0.82, and a keyword hit at BM25 25.86",
        expected="a strong semantic match ranks above a keyword-only hit of weight 0.3",
        healthy=lambda answer: first(answer) == "the answer",
        sides=Sides(
            computed("a keyword-only hit scores min(1, bm25)", _branches, 1.0),
            computed("a keyword-only hit scores 0.3 × min(1, bm25)", _branches, 0.3),
        ),
    ),
    Specimen(
        name="qmd-blend-floor",
        references=("tobi/qmd#697", "PR#752"),
        symptom="The first result of a nonsense query scores 0.75 or more.",
        mechanism="The score is 0.75 × 1 / rank + 0.25 × rerank score: the first place alone is worth 0.75.",
        change="which number is shown as the score: the blend, or the reranker's",
        world="the first result of an on-topic question (reranked 0.95), and of nonsense (0.02)",
        expected="nonsense scores below 0.5, and the on-topic question does not",
        healthy=lambda answer: answer["nonsense"] < 0.5 <= answer["an on-topic question"],
        sides=Sides(
            computed("0.75 / rank + 0.25 × rerank score", _blended), computed("rerank score", _reranked)
        ),
    ),
    Specimen(
        name="metronix-constant-score",
        references=("mtrnix/metronix-memory#453",),
        symptom="The first hit scores 0.750 for every question, matching or not.",
        mechanism="The dense leg is min-maxed over its own hits, so its best is always 1. The graph leg "
        "ignores the question. The sum is 0.6 × 1 + 0.3 × 0.5.",
        change="the scale of the dense leg: min-max, or none",
        world="the dense scores of a question that matches, and of one that does not",
        expected="nonsense scores less than a matching question",
        healthy=lambda answer: answer["nonsense"] < answer["a matching question"],
        sides=Sides(
            computed("0.6 × min-max of dense + 0.3 × 0.5", _best_scores, MinMax()),
            computed("0.6 × dense + 0.3 × 0.5", _best_scores, AS_GIVEN),
        ),
        note="The graph leg still adds 0.15 to every score: that is another bug. The weight of the dense leg "
        "is inferred from 0.750.",
    ),
)

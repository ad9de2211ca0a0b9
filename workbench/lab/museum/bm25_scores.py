"""Bugs in the conversion of BM25 to a score."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workbench.lab.bm25 import bm25, fts5_idf, lucene_idf
from workbench.lab.museum.sides import computed, fused
from workbench.lab.museum.specimen import Answer, Sides, Specimen, by_score
from workbench.retrieval.scoring import absolute_rank, relevance
from workbench.systems.engines.fusion import ScoreSum
from workbench.systems.engines.presets import ENGINES
from workbench.systems.engines.scales import AS_GIVEN, SATURATING, BM25Conversion

STRONG_AND_WEAK: Mapping[str, float] = {"strong": 9.1, "weak": 1.2}
YOUNG_MEMORY = {"MEMORY.md": "tea in the morning", "memory/tea.md": "tea with rooibos leaves"}


def _relevances(idf: Callable[[int, int], float]) -> Answer:
    scores = {
        f"{word}: {path}": float(relevance(-score))
        for word in ("tea", "rooibos")
        for path, score in bm25(idf, word, YOUNG_MEMORY).items()
    }
    return by_score(scores)


SPECIMENS = (
    Specimen(
        name="openclaw-clamped-bm25",
        references=("openclaw/openclaw#5767", "PR#20994", "#33757"),
        symptom="Every keyword hit has the same score, however strong the match is.",
        mechanism="The score is 1 / (1 + max(0, rank)), but FTS5's ranks are negative: always 1 / (1 + 0).",
        change="how BM25 becomes a score",
        world="two keyword hits, BM25 9.1 and 1.2",
        expected="the stronger match has the higher score",
        healthy=lambda answer: answer["strong"] > answer["weak"],
        sides=fused(ENGINES["openclaw-clamped"].fusion, ENGINES["openclaw-now"].fusion, {}, STRONG_AND_WEAK),
    ),
    Specimen(
        name="qmd-upside-down",
        references=("tobi/qmd#74", "PR#76", "openclaw/openclaw#16021"),
        symptom="After the fix of “all results 100 %” the best document scores 16 %, weak ones score more.",
        mechanism="The score is 1 / (1 + |rank|). A better match has a larger |rank|, so it scores less.",
        change="how BM25 becomes a score",
        world="two keyword hits, BM25 9.1 and 1.2",
        expected="the stronger match has the higher score",
        healthy=lambda answer: answer["strong"] > answer["weak"],
        sides=fused(
            ScoreSum(AS_GIVEN, BM25Conversion(absolute_rank)),
            ScoreSum(AS_GIVEN, SATURATING),
            {},
            STRONG_AND_WEAK,
        ),
        note="The “100 %” was the clamp of openclaw-clamped-bm25. This specimen is its first fix.",
    ),
    Specimen(
        name="fts5-idf-floor",
        references=("SQLite FTS5, fts5_aux.c", "measured"),
        symptom="In a young memory the keyword leg has no effect, even for a word of only one note.",
        mechanism="A word in half of the rows or more has the weight 0.000001, so r / (1 + r) is about 0.",
        change="the weight of a word (IDF)",
        world="two notes, both with “tea”, one with “rooibos”; scores are r / (1 + r)",
        expected="every match scores at least 0.1",
        healthy=lambda answer: min(answer.values()) >= 0.1,
        sides=Sides(
            computed("idf = ln((N - n + 0.5) / (n + 0.5)), at least 0.000001", _relevances, fts5_idf),
            computed("idf = ln(1 + (N - n + 0.5) / (n + 0.5))", _relevances, lucene_idf),
        ),
    ),
)

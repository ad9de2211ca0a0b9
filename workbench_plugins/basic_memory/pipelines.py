"""Basic Memory's hybrid search on SQLite, from rank fusion to #1269: six pipelines, each a few changes apart.

At 232f4690 a question mark turned every question into a phrase, so hybrid search was vector search. #994
brought the keyword leg back, first without a gate. A new tokeniser lost ten points (a2f5edfa), and #1269
regained them. Basic Memory is AGPL: this is our own code, written from a description of its behaviour.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.registry import register
from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.fusion import OneLeg
from workbench.retrieval.legs import KeywordLeg, Union
from workbench.retrieval.pipeline import Change, Pipeline, Source
from workbench_plugins.basic_memory.notes import EachColumn, NotesLayout, OneMatch
from workbench_plugins.basic_memory.query import (
    AnyPlainWord,
    AnyToken,
    AnyUnicodeToken,
    GatedPlainWord,
    NoRelaxation,
    PunctuationMakesAPhrase,
    PunctuationStripped,
)
from workbench_plugins.basic_memory.scores import (
    KeywordOverLargest,
    LargerPlusShare,
    MinSimilarity,
    NoteVectorLeg,
    PageDepth,
    ScoredRRF,
    Similarity,
)
from workbench_plugins.history import ReleaseLine

REPOSITORY = "basicmachines-co/basic-memory"
REPOSITORY_PY = "repository/sqlite_search_repository.py, repository/search_repository_base.py"
SIMPLIFIED = (
    "The shipped minimum similarity of 0.55 belongs to bge-small-en-v1.5; set another one for another model "
    "(min_similarity.least). Simplified: only notes, no observation or relation rows; chunks and vectors are "
    "those of the index; cosine distance replaces d² / 2; permalinks are approximated. Ties are broken by "
    "path: in Basic Memory equal bm25 numbers are in the order in which the notes were indexed, and equal "
    "scores in that of Python's hash seed. There is no floor on the fused score."
)


def _at(commit: str, issue: str = "", note: str = SIMPLIFIED) -> Source:
    return Source(REPOSITORY, commit, REPOSITORY_PY, issue, note)


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
    source=_at("e46555bf"),
    layout=NotesLayout(),
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
    source=_at("232f4690", "", f"search_type=vector. {SIMPLIFIED}"),
)

FUSION = Change(
    "max",
    LargerPlusShare(),
    "the larger score plus a bonus for being in both legs, instead of weighted ranks",
    _at("f5a0e942", "#577", ""),
)
PUNCTUATION = Change(
    "punctuation",
    PunctuationStripped(),
    "the question mark is removed, so that a question is words and not a phrase",
    _at("a6d07843", "#994", "The first half of the commit."),
)
RELAXED = Change(
    "relaxed",
    AnyPlainWord(),
    "if no note has all the words, one word is enough",
    _at("a6d07843", "#994", "The second half of the commit."),
)
GATE = Change(
    "gate",
    GatedPlainWord(),
    "short questions and those with a number are not relaxed, since one weak hit would score 1",
    _at("16869867", "#994", "Added after a review."),
)
TOKENS = Change(
    "tokens",
    AnyToken(),
    "Chinese, Japanese and Korean are relaxed too; a possessive leaves the one-letter prefix s*",
    _at("a2f5edfa", "#1022", ""),
)
UNICODE_TOKENS = Change(
    "unicode",
    AnyUnicodeToken(),
    "words of every script; an apostrophe inside a word is part of it",
    _at("1f56fc76", "#1269", ""),
)
RANKS_AGAIN = Change(
    "rrf", ScoredRRF(), "the fusion from before #577", _at("e46555bf", "", "Never with #994.")
)


def min_similarity(least: float) -> Change:
    """A change of the vector leg's minimum similarity; the shipped 0.55 belongs to bge-small-en-v1.5."""
    return Change(
        f"min-{least:g}",
        MinSimilarity(least),
        f"the vector leg keeps hits with a similarity of at least {least:g}",
        _at("55d675e2", "", "A setting, semantic_min_similarity, that each query can override."),
    )


MIN_SIMILARITY_0 = min_similarity(0.0)


def _profile(name: str, before: Pipeline, source: Source, *changes: Change) -> Pipeline:
    return replace(before.but(*changes), name=name, source=source)


DEAD_FTS = _profile("bm-dead-fts", SCORED_RRF, _at("232f4690", "#994"), FUSION)
UNGATED = _profile("bm-994-ungated", DEAD_FTS, _at("a6d07843", "#994"), PUNCTUATION, RELAXED)
GATED = _profile("bm-994-gated", UNGATED, _at("16869867", "#994"), GATE)
CJK_REGRESS = _profile("bm-cjk-regress", GATED, _at("a2f5edfa", "#1022"), TOKENS)
HEAD = replace(
    _profile("bm-head", CJK_REGRESS, _at("1f56fc76", "#1269"), UNICODE_TOKENS),
    # The third column is searched since 5e4b1196 (#1071).
    layout=NotesLayout(EachColumn(("title", "content_stems", "content_snippet"))),
)
ONE_MATCH = replace(
    CJK_REGRESS,
    name="bm-cjk-regress-one-match",
    layout=NotesLayout(OneMatch()),
    source=_at("a2f5edfa, changed", "", f"Never shipped: one MATCH over both columns. {SIMPLIFIED}"),
)

PIPELINES = (
    SCORED_RRF,
    DEAD_FTS,
    DEAD_FTS.but(PUNCTUATION),
    UNGATED,
    GATED,
    CJK_REGRESS,
    ONE_MATCH,
    HEAD,
    HEAD.but(MIN_SIMILARITY_0),
)

RELEASES = (SCORED_RRF, DEAD_FTS, UNGATED, GATED, CJK_REGRESS, HEAD)

register(*PIPELINES, ReleaseLine("Basic-Memory", "bm-", RELEASES))

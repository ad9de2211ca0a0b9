"""OpenClaw's memory search from 2026.2.15 to 2026.9.6: how the releases answered the bug report.

Each pipeline of HISTORY consists of the one before it and named changes. None of the report's own proposals
(OR-join, RRF, min-max) is among them: the AND stayed, and other features were added around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workbench.contracts import Layout
from workbench.records import Stage
from workbench.registry import register
from workbench.retrieval.legs import VectorLeg
from workbench.retrieval.pipeline import Change, Pipeline, Source
from workbench.retrieval.query import UnicodeWords
from workbench.systems.openclaw import DEPTH, SHIPPED, SIGN, SIMPLIFIED
from workbench_plugins.history import ReleaseLine
from workbench_plugins.openclaw.keyword import (
    FallbackWhenEmpty,
    MatchedRelevance,
    PathScore,
    PathsLayout,
    PathTier,
    Pool,
    SupplementWhenThin,
    TrigramLayout,
)
from workbench_plugins.openclaw.ranking import (
    FEBRUARY_NAMES,
    MMR,
    ByTier,
    Importance,
    KeywordRescue,
    ProjectAffinity,
    ReadableProjects,
    Recency,
    SpareSlots,
    TieredMMR,
    WeighedSum,
)

POOL = Pool(cap=200)
CORE = "extensions/memory-core/src/memory"

COPIES = (
    "Equal passages of one long line are one chunk and one row of the full-text table here. OpenClaw keeps "
    "one chunk, but a row for each passage, so its BM25 counts more rows. Keyword scores differ only in a "
    "memory with such lines."
)


def _step(
    release: str, name: str, stage: Stage, why: str, place: str, issue: str = "", before: str = ""
) -> Change:
    return Change(name, stage, why, Source("openclaw/openclaw", release, place, issue), before)


def released(
    before: Pipeline,
    release: str,
    changes: Sequence[Change],
    place: str,
    note: str,
    simplified: str = SIMPLIFIED,
) -> Pipeline:
    """The pipeline of a release: the one before it, with this release's changes; only these are named."""
    changed = replace(before, changes=()).but(*changes)
    source = Source("openclaw/openclaw", release, place, note=f"{note} {simplified}")
    return replace(changed, name=f"openclaw-{release}", source=source)


def with_trigrams(before: Pipeline, release: str, layout: Layout, note: str) -> Pipeline:
    """A release with `store.fts.tokenizer` set to trigram: the stages of `before` over another layout."""
    place = "configuration store.fts.tokenizer=trigram"
    source = Source("openclaw/openclaw", release, place, "#56707, #20730", note)
    return replace(before, name=f"openclaw-{release}-trigram", source=source, layout=layout, changes=())


# 2026.2.15

UNICODE = _step(
    "2026.2.15",
    "unicode",
    UnicodeWords(join="AND"),
    "words of any script count; before, Chinese and accented questions had no keyword leg or a broken one",
    "src/memory/hybrid.ts",
    "#17672",
)

# Options of the release, off by default; each can be switched on alone, or both together.
WEIGHED = _step(
    "2026.2.15", "weighed", WeighedSum(), "the same sum, which factors can multiply", "src/memory/hybrid.ts"
)
DECAY = _step(
    "2026.2.15",
    "decay",
    Recency(names=FEBRUARY_NAMES),
    "daily notes lose half of their score in 30 days; off by default",
    "src/memory/temporal-decay.ts",
    "#18097",
    before="fusion",
)
DIVERSE = _step(
    "2026.2.15",
    "mmr",
    MMR(relevance_weight=0.7),
    "near-duplicates move down; off by default",
    "src/memory/mmr.ts",
    "#18097",
    before="floor",
)

FEBRUARY_15 = released(
    SHIPPED,
    "2026.2.15",
    [UNICODE],
    "src/memory/hybrid.ts",
    "Temporal decay and MMR came with this release, switched off. The changes WEIGHED and DECAY switch on "
    "decay, DIVERSE switches on MMR.",
)

# 2026.2.27

RESCUE = _step(
    "2026.2.27",
    "rescue",
    KeywordRescue(floor=0.3),
    "a keyword hit scores at most 0.3, below the floor of 0.35; if nothing passes the floor, it is kept",
    "src/memory/manager.ts",
    "#29112",
    before="limit",
)

FEBRUARY_27 = released(
    FEBRUARY_15,
    "2026.2.27",
    [RESCUE],
    "src/memory/manager.ts",
    "A maintainer's comment in #46671 names this release; the rule is in 2026.3.13 and not in 2026.2.26.",
)

# 2026.3.7


MARCH = released(
    FEBRUARY_27,
    "2026.3.7",
    [SIGN],
    "src/memory/hybrid.ts",
    "With scores below 1, a keyword hit alone no longer reaches the rescue's 0.3: the fix disables it. "
    f"{COPIES}",
)

# 2026.3.31

TRIGRAM = with_trigrams(
    MARCH,
    "2026.3.31",
    TrigramLayout(),
    "An option, off by default; the stages are those of 2026.3.7. A hit of LIKE alone scores 1, so "
    f"two characters of Chinese are a perfect match (#115001). {COPIES} {SIMPLIFIED}",
)

# 2026.7.1

FALLBACK = _step(
    "2026.7.1",
    "fallback",
    FallbackWhenEmpty(DEPTH),
    "if no chunk has all the words, the question's keywords are searched one by one",
    f"{CORE}/manager.ts",
    "#39484",
)
ZERO = _step(
    "2026.7.1",
    "zero",
    KeywordRescue(floor=0),
    "the rescue takes every keyword hit",
    f"{CORE}/manager.ts",
    "#46671",
)

JULY = released(
    MARCH,
    "2026.7.1",
    [FALLBACK, ZERO],
    CORE,
    "These changes came with this release or an earlier one. The lexical boost orders the hits of keywords; "
    "the sum takes the BM25 score alone. Words are compared in composed Unicode, as in 2026.9.6. "
    f"{COPIES}",
)

# 2026.9.6


def _september(
    name: str, stage: Stage, why: str, issue: str = "", before: str = "", file: str = "hybrid.ts"
) -> Change:
    return _step("2026.9.6", name, stage, why, f"{CORE}/{file}", issue, before)


SEPTEMBER_CHANGES = (
    _september(
        "pool",
        VectorLeg(POOL),
        "200 candidates for any limit, so the limit does not change the first result",
        "#134604",
        file="manager.ts",
    ),
    _september(
        "supplement",
        SupplementWhenThin(POOL),
        "keywords are searched one by one even if the whole question has a few hits",
        "#121196",
        file="manager-keyword-retrieval.ts",
    ),
    _september(
        "matched",
        MatchedRelevance(),
        "a hit of LIKE alone scored 1; now it scores 0",
        "#120603, which closes #115001",
        file="manager-search.ts",
    ),
    _september(
        "path-score", PathScore(), "words of its path find a file, too", "", "fusion", "manager-search.ts"
    ),
    _september("paths", PathTier(), "a question that is a path finds this file", before="fusion"),
    _september(
        "recency", Recency(), "decay is on, and file names may have words after the date", "#121224", "fusion"
    ),
    _september("importance", Importance(), "a note can state its importance", before="fusion"),
    _september(
        "readable",
        ReadableProjects(),
        "a chunk with an unreadable project comment is never returned",
        before="fusion",
        file="project-ranking.ts",
    ),
    _september("affinity", ProjectAffinity(), "a note can state its project", before="fusion"),
    _september("weighed", WeighedSum(), "the sum is multiplied by the factors that notes state"),
    _september("tiers", ByTier(), "exact paths come first, ties are ordered by path"),
    _september("mmr", TieredMMR(), "MMR is on", "#121224", "floor", "mmr.ts"),
    _september("spare", SpareSlots(), "empty places go to keyword hits", "#92524"),
)

_SEPTEMBER = (
    "Simplified: there is one source; the vector leg is an exact scan instead of vec0's KNN, which 2026.9.6 "
    "reorders by the same cosine; the stop words are our own; today is the memory's newest date; the case "
    "of a MATCH that SQLite rejects, where 2026.9.6 searches substrings, cannot occur. The pipeline searches "
    "the indexed chunks: an index made with --as openclaw-2026.9.6 has its files, chunks and order of equal "
    "hits."
)

SEPTEMBER = replace(
    released(
        JULY,
        "2026.9.6",
        SEPTEMBER_CHANGES,
        CORE,
        "The search covers a file's path and its text.",
        _SEPTEMBER,
    ),
    layout=PathsLayout(),
)
SEPTEMBER_TRIGRAM = with_trigrams(SEPTEMBER, "2026.9.6", PathsLayout("trigram"), _SEPTEMBER)

HISTORY = (SHIPPED, FEBRUARY_15, FEBRUARY_27, MARCH, JULY, SEPTEMBER)
"""The releases in order; each is built from the one before it."""

PIPELINES = (*HISTORY[1:], TRIGRAM, SEPTEMBER_TRIGRAM)

register(
    *PIPELINES,
    ReleaseLine("OpenClaw-with-trigrams", "", (TRIGRAM, SEPTEMBER_TRIGRAM)),
    ReleaseLine("OpenClaw", "openclaw-", HISTORY),
)

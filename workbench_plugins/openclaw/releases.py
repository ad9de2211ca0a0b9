"""OpenClaw's memory search from 2026.2.15 to 2026.9.6: how the releases answered the bug report.

Each pipeline of HISTORY consists of the one before it and named changes. None of the report's own proposals
(OR-join, RRF, min-max) is among them: the AND stayed, and other features were added around it. The file
`releases.yaml` says why each change was made, and where that can be checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.contracts import Layout
from workbench.records import Stage
from workbench.retrieval.legs import VectorLeg
from workbench.retrieval.pipeline import Change, Pipeline
from workbench.retrieval.query import UnicodeWords
from workbench.systems.history import History, ReleaseLine
from workbench.systems.openclaw import DEPTH, SHIPPED, SIGN, SIMPLIFIED
from workbench_plugins.openclaw import keyword, ranking, release_indexing

TOLD = History(__file__, simplified=SIMPLIFIED)
POOL = keyword.Pool(cap=200)


def released(before: Pipeline, release: str, *changes: Change) -> Pipeline:
    """The pipeline of a release: the one before it, with this release's changes; only these are named."""
    changed = replace(before, changes=()).with_changes(*changes)
    return replace(changed, name=f"openclaw-{release}", source=TOLD.release(release))


def with_trigrams(before: Pipeline, release: str, layout: Layout) -> Pipeline:
    """A release with `store.fts.tokenizer` set to trigram: the stages of `before` over another layout."""
    name, source = f"openclaw-{release}-trigram", TOLD.release(release, "trigram")
    return replace(before, name=name, source=source, layout=layout, changes=())


UNICODE = TOLD.change("2026.2.15", "unicode", UnicodeWords(join="AND"))

# Options of the release, off by default; each can be switched on alone, or both together.
WEIGHED = TOLD.change("2026.2.15", "weighed", ranking.WeighedSum())
DECAY = TOLD.change("2026.2.15", "decay", ranking.Recency(names=ranking.FEBRUARY_NAMES))
DIVERSE = TOLD.change("2026.2.15", "mmr", ranking.MMR(relevance_weight=0.7))

FEBRUARY_15 = released(SHIPPED, "2026.2.15", UNICODE)

RESCUE = TOLD.change("2026.2.27", "rescue", ranking.KeywordRescue(floor=0.3))

FEBRUARY_27 = released(FEBRUARY_15, "2026.2.27", RESCUE)
MARCH = released(FEBRUARY_27, "2026.3.7", SIGN)
TRIGRAM = with_trigrams(MARCH, "2026.3.31", keyword.TrigramLayout())

FALLBACK = TOLD.change("2026.7.1", "fallback", keyword.FallbackWhenEmpty(DEPTH))
ZERO = TOLD.change("2026.7.1", "zero", ranking.KeywordRescue(floor=0))

JULY = replace(released(MARCH, "2026.7.1", FALLBACK, ZERO), indexing=release_indexing.JULY)

SEPTEMBER_STAGES: Mapping[str, Stage] = {
    "pool": VectorLeg(POOL),
    "supplement": keyword.SupplementWhenThin(POOL),
    "matched": keyword.MatchedRelevance(),
    "path-score": keyword.PathScore(),
    "paths": keyword.PathTier(),
    "recency": ranking.Recency(),
    "importance": ranking.Importance(),
    "readable": ranking.ReadableProjects(),
    "affinity": ranking.ProjectAffinity(),
    "weighed": ranking.WeighedSum(),
    "tiers": ranking.ByTier(),
    "mmr": ranking.TieredMMR(),
    "spare": ranking.SpareSlots(),
}
SEPTEMBER_CHANGES = [TOLD.change("2026.9.6", name, stage) for name, stage in SEPTEMBER_STAGES.items()]

SEPTEMBER = replace(
    released(JULY, "2026.9.6", *SEPTEMBER_CHANGES),
    layout=keyword.PathsLayout(),
    indexing=release_indexing.SEPTEMBER,
)
SEPTEMBER_TRIGRAM = with_trigrams(SEPTEMBER, "2026.9.6", keyword.PathsLayout("trigram"))

HISTORY = (SHIPPED, FEBRUARY_15, FEBRUARY_27, MARCH, JULY, SEPTEMBER)
"""The releases in order; each is built from the one before it."""

PIPELINES = (*HISTORY[1:], TRIGRAM, SEPTEMBER_TRIGRAM)

TRIGRAM_LINE = ReleaseLine("OpenClaw-with-trigrams", "", (TRIGRAM, SEPTEMBER_TRIGRAM))
LINE = ReleaseLine("OpenClaw", "openclaw-", HISTORY, keyword.EVERY_LANGUAGE)

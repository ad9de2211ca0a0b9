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
from workbench.registry import register
from workbench.retrieval.legs import VectorLeg
from workbench.retrieval.pipeline import Change, Pipeline
from workbench.retrieval.query import UnicodeWords
from workbench.systems.openclaw import DEPTH, SHIPPED, SIGN, SIMPLIFIED
from workbench_plugins.history import History, ReleaseLine
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

TOLD = History(__file__, simplified=SIMPLIFIED)
POOL = Pool(cap=200)


def released(before: Pipeline, release: str, *changes: Change) -> Pipeline:
    """The pipeline of a release: the one before it, with this release's changes; only these are named."""
    changed = replace(before, changes=()).but(*changes)
    return replace(changed, name=f"openclaw-{release}", source=TOLD.release(release))


def with_trigrams(before: Pipeline, release: str, layout: Layout) -> Pipeline:
    """A release with `store.fts.tokenizer` set to trigram: the stages of `before` over another layout."""
    name = f"{release}-trigram"
    return replace(before, name=f"openclaw-{name}", source=TOLD.release(name), layout=layout, changes=())


UNICODE = TOLD.change("2026.2.15", "unicode", UnicodeWords(join="AND"))

# Options of the release, off by default; each can be switched on alone, or both together.
WEIGHED = TOLD.change("2026.2.15", "weighed", WeighedSum())
DECAY = TOLD.change("2026.2.15", "decay", Recency(names=FEBRUARY_NAMES))
DIVERSE = TOLD.change("2026.2.15", "mmr", MMR(relevance_weight=0.7))

FEBRUARY_15 = released(SHIPPED, "2026.2.15", UNICODE)

RESCUE = TOLD.change("2026.2.27", "rescue", KeywordRescue(floor=0.3))

FEBRUARY_27 = released(FEBRUARY_15, "2026.2.27", RESCUE)
MARCH = released(FEBRUARY_27, "2026.3.7", SIGN)
TRIGRAM = with_trigrams(MARCH, "2026.3.31", TrigramLayout())

FALLBACK = TOLD.change("2026.7.1", "fallback", FallbackWhenEmpty(DEPTH))
ZERO = TOLD.change("2026.7.1", "zero", KeywordRescue(floor=0))

JULY = released(MARCH, "2026.7.1", FALLBACK, ZERO)

SEPTEMBER_STAGES: Mapping[str, Stage] = {
    "pool": VectorLeg(POOL),
    "supplement": SupplementWhenThin(POOL),
    "matched": MatchedRelevance(),
    "path-score": PathScore(),
    "paths": PathTier(),
    "recency": Recency(),
    "importance": Importance(),
    "readable": ReadableProjects(),
    "affinity": ProjectAffinity(),
    "weighed": WeighedSum(),
    "tiers": ByTier(),
    "mmr": TieredMMR(),
    "spare": SpareSlots(),
}
SEPTEMBER_CHANGES = [TOLD.change("2026.9.6", name, stage) for name, stage in SEPTEMBER_STAGES.items()]

SEPTEMBER = replace(released(JULY, "2026.9.6", *SEPTEMBER_CHANGES), layout=PathsLayout())
SEPTEMBER_TRIGRAM = with_trigrams(SEPTEMBER, "2026.9.6", PathsLayout("trigram"))

HISTORY = (SHIPPED, FEBRUARY_15, FEBRUARY_27, MARCH, JULY, SEPTEMBER)
"""The releases in order; each is built from the one before it."""

PIPELINES = (*HISTORY[1:], TRIGRAM, SEPTEMBER_TRIGRAM)

register(
    *PIPELINES,
    ReleaseLine("OpenClaw-with-trigrams", "", (TRIGRAM, SEPTEMBER_TRIGRAM)),
    ReleaseLine("OpenClaw", "openclaw-", HISTORY),
)

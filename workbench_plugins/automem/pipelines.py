"""AutoMem's recall, from the release whose keyword weight has no effect to the one that fetches more vectors.

Each pipeline is the previous one plus the changes of one pull request. A chunk of the index is a memory.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.records import Stage
from workbench.registry import register
from workbench.retrieval.cutoff import Limit, MinScore
from workbench.retrieval.legs import Union, VectorLeg
from workbench.retrieval.pipeline import Change, Pipeline, Source
from workbench.retrieval.scoring import Cosine
from workbench_plugins.automem.components import (
    AdaptiveFloor,
    ClampedKeyword,
    ConfidenceScore,
    DeadKeyword,
    ExactScore,
    ExponentialRecency,
    Fetch,
    FinalOrder,
    FinalScore,
    GraphLeg,
    GraphQuery,
    HalfKept,
    ImportanceScore,
    LargerHalfKept,
    LinearRecency,
    NoAdaptiveFloor,
    NormalisedGraphScore,
    RawGraphScore,
    SortKeys,
    SubstringKeyword,
    TagScore,
    WholeWordKeyword,
)
from workbench_plugins.automem.memories import GraphOfMemories
from workbench_plugins.history import ReleaseLine

REPOSITORY = "verygoodplugins/automem"
SCORING = "automem/utils/scoring.py"
RECALL = "automem/api/recall.py"

NOTE = (
    "Simplified: a chunk is a memory, and the note's front matter replaces the properties that AutoMem "
    "stores; a missing property counts as 0, as in AutoMem's scorer. The front matter is embedded with the "
    "first chunk. Ages are counted from the newest date in the notes, not from the clock "
    "(recency_component.now). A folder of notes has no relations, no consolidation and no caller's context, "
    "so these components are missing; so are the metadata channel (#177), expansions, and the removal of "
    "equal texts. Ties are those of 8ff266e. AutoMem limits a caller's minimum score to the range 0 to 1."
)

DEAD_KEYWORD = Pipeline(
    "am-dead-keyword",
    stages=(
        GraphQuery(),
        VectorLeg(Fetch(1)),
        GraphLeg(),
        Union(),
        Cosine(),
        RawGraphScore(),
        DeadKeyword(),
        TagScore(),
        ExactScore(),
        ImportanceScore(),
        LinearRecency(),
        ConfidenceScore(),
        FinalScore(),
        SortKeys(),
        FinalOrder(),
        MinScore(0.0),
        Limit(5),
        AdaptiveFloor(0.15),
    ),
    source=Source(REPOSITORY, "8df3c08 (v0.13.0)", f"{SCORING}, {RECALL}", "#101, #128", NOTE),
    layout=GraphOfMemories(),
)


def _change(name: str, stage: Stage, why: str, commit: str, issue: str, place: str = SCORING) -> Change:
    return Change(name, stage, why, Source(REPOSITORY, commit, place, issue))


SUBSTRINGS = _change(
    "substring",
    SubstringKeyword(),
    "rows of the vector leg get keyword points for the words in their text",
    "e59e9ca",
    "#128",
)
HALF_KEPT = _change(
    "guard",
    HalfKept(),
    "the floor requires a gap of 25 %, and keeps at least half of the results",
    "e59e9ca",
    "#128",
    RECALL,
)
WHOLE_WORDS = _change(
    "words", WholeWordKeyword(), "whole words instead of substrings: car is not in carpet", "591b2c7", "#150"
)
LARGER_HALF_KEPT = _change(
    "half-up", LargerHalfKept(), "the half that is kept is rounded up", "591b2c7", "#150", RECALL
)
NORMALISED = _change(
    "normalised",
    NormalisedGraphScore(),
    "the graph's score is divided by the highest possible score",
    "3653ddf",
    "#191, issue #190",
    RECALL,
)
CLAMPED = _change(
    "clamped", ClampedKeyword(), "no keyword component is above 1", "3653ddf", "#191, issue #190"
)
OVERFETCH = _change(
    "overfetch",
    VectorLeg(Fetch(4, 200)),
    "four times as many vectors are scored as returned, so that the score decides which are returned",
    "0720da2",
    "#205",
    RECALL,
)

# These changes are shipped, and off by default.
GATE = _change(
    "gate",
    FinalScore(gate=0.2),
    "with little evidence, importance and the like count less",
    "c11b594",
    "#186",
)
TAG_CAP = _change(
    "tag-cap", TagScore(cap=3), "three tokens in the tags give the full component", "cefa516", "#193"
)
HALF_LIFE = _change(
    "half-life", ExponentialRecency(), "recency falls by half-lives and does not reach 0", "dbb933f", "#182"
)
NO_FLOOR = _change("no-floor", NoAdaptiveFloor(), "RECALL_ADAPTIVE_FLOOR=false", "8df3c08", "#101", RECALL)
OLD_FLOOR = _change("floor-15", AdaptiveFloor(0.15), "the original floor", "8df3c08", "#101", RECALL)


def _merged(before: Pipeline, name: str, release: str, issue: str, *changes: Change) -> Pipeline:
    source = replace(before.source, release=release, issue=issue)
    return replace(before.but(*changes), name=name, source=source)


SUBSTRING = _merged(DEAD_KEYWORD, "am-128-substring", "e59e9ca", "#128", SUBSTRINGS, HALF_KEPT)
LIVE_KEYWORD = _merged(SUBSTRING, "am-150", "591b2c7 (v0.15.2)", "#150", WHOLE_WORDS, LARGER_HALF_KEPT)
BOUNDED = _merged(LIVE_KEYWORD, "am-191", "3653ddf (v0.16.0)", "#191", NORMALISED, CLAMPED)
OVERFETCHED = _merged(BOUNDED, "am-205", "0720da2 (v0.16.1)", "#205", OVERFETCH)

PIPELINES = (DEAD_KEYWORD, SUBSTRING, LIVE_KEYWORD, BOUNDED, OVERFETCHED)

register(*PIPELINES, ReleaseLine("AutoMem", "am-", PIPELINES))

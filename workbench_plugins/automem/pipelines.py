"""AutoMem's recall, from the release whose keyword weight has no effect to the one that fetches more vectors.

Each pipeline is the previous one plus the changes of one pull request. A chunk of the index is a memory.
The file `pipelines.yaml` says why each change was made, and where that can be checked.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.retrieval.cutoff import Limit, MinScore
from workbench.retrieval.legs import Union, VectorLeg
from workbench.retrieval.pipeline import Change, Pipeline
from workbench.retrieval.scoring import Cosine
from workbench.systems.history import History, ReleaseLine
from workbench_plugins.automem import components
from workbench_plugins.automem.memories import STOPWORDS, GraphOfMemories

TOLD = History(__file__)

DEAD_KEYWORD = Pipeline(
    "am-dead-keyword",
    components.GraphQuery()
    >> VectorLeg(components.Fetch(1))
    >> components.GraphLeg()
    >> Union()
    >> Cosine()
    >> components.RawGraphScore()
    >> components.DeadKeyword()
    >> components.TagScore()
    >> components.ExactScore()
    >> components.ImportanceScore()
    >> components.LinearRecency()
    >> components.ConfidenceScore()
    >> components.FinalScore()
    >> components.SortKeys()
    >> components.FinalOrder()
    >> MinScore(0.0)
    >> Limit(5)
    >> components.AdaptiveFloor(0.15),
    TOLD.release("8df3c08 (v0.13.0)"),
    layout=GraphOfMemories(),
)


SUBSTRINGS = TOLD.change("e59e9ca", "substring", components.SubstringKeyword())
HALF_KEPT = TOLD.change("e59e9ca", "guard", components.HalfKept())
WHOLE_WORDS = TOLD.change("591b2c7", "words", components.WholeWordKeyword())
LARGER_HALF_KEPT = TOLD.change("591b2c7", "half-up", components.LargerHalfKept())
NORMALISED = TOLD.change("3653ddf", "normalised", components.NormalisedGraphScore())
CLAMPED = TOLD.change("3653ddf", "clamped", components.ClampedKeyword())
OVERFETCH = TOLD.change("0720da2", "overfetch", VectorLeg(components.Fetch(4, 200)))

# These changes are shipped, and off by default.
GATE = TOLD.change("c11b594", "gate", components.FinalScore(gate=0.2))
TAG_CAP = TOLD.change("cefa516", "tag-cap", components.TagScore(cap=3))
HALF_LIFE = TOLD.change("dbb933f", "half-life", components.ExponentialRecency())
NO_FLOOR = TOLD.change("8df3c08", "no-floor", components.NoAdaptiveFloor())
OLD_FLOOR = TOLD.change("8df3c08", "floor-15", components.AdaptiveFloor(0.15))


def _merged(before: Pipeline, name: str, release: str, issue: str, *changes: Change) -> Pipeline:
    source = replace(before.source, release=release, issue=issue)
    return replace(before.with_changes(*changes), name=name, source=source)


SUBSTRING = _merged(DEAD_KEYWORD, "am-128-substring", "e59e9ca", "#128", SUBSTRINGS, HALF_KEPT)
LIVE_KEYWORD = _merged(SUBSTRING, "am-150", "591b2c7 (v0.15.2)", "#150", WHOLE_WORDS, LARGER_HALF_KEPT)
BOUNDED = _merged(LIVE_KEYWORD, "am-191", "3653ddf (v0.16.0)", "#191", NORMALISED, CLAMPED)
OVERFETCHED = _merged(BOUNDED, "am-205", "0720da2 (v0.16.1)", "#205", OVERFETCH)

PIPELINES = (DEAD_KEYWORD, SUBSTRING, LIVE_KEYWORD, BOUNDED, OVERFETCHED)

LINE = ReleaseLine("AutoMem", "am-", PIPELINES, STOPWORDS)

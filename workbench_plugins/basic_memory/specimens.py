"""Bugs of Basic Memory: each is two of its pipelines that differ in one stage, or in their layout."""

from __future__ import annotations

from workbench_plugins.basic_memory import pipelines as bm
from workbench_plugins.engines.museum import Reports

TOLD = Reports(__file__)

SPECIMENS = (
    TOLD.searched("basic-memory-dead-full-text", bm.DEAD_FTS, bm.DEAD_FTS.with_changes(bm.PUNCTUATION)),
    TOLD.searched(
        "basic-memory-ungated-relaxation",
        bm.UNGATED,
        bm.UNGATED.with_changes(bm.GATE),
        lambda answer: not answer,
    ),
    TOLD.searched("basic-memory-title-buries-body", bm.CJK_REGRESS, bm.ONE_MATCH),
    TOLD.searched(
        "basic-memory-possessive-s", bm.CJK_REGRESS, bm.CJK_REGRESS.with_changes(bm.UNICODE_TOKENS)
    ),
    TOLD.searched("basic-memory-non-latin-never-relaxed", bm.GATED, bm.GATED.with_changes(bm.UNICODE_TOKENS)),
    TOLD.searched(
        "basic-memory-diluted-score",
        bm.SCORED_RRF,
        bm.SCORED_RRF.with_changes(bm.FUSION),
        lambda answer: max(answer.values()) >= 0.5,
    ),
)

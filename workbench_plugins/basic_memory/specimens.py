"""Bugs of Basic Memory: each is two of its pipelines that differ in one stage, or in their layout."""

from __future__ import annotations

from workbench.registry import register
from workbench_plugins.basic_memory import pipelines as basic_memory
from workbench_plugins.engines.museum import Reports

TOLD = Reports(__file__)

register(
    TOLD.searched(
        "basic-memory-dead-full-text",
        basic_memory.DEAD_FTS,
        basic_memory.DEAD_FTS.but(basic_memory.PUNCTUATION),
    ),
    TOLD.searched(
        "basic-memory-ungated-relaxation",
        basic_memory.UNGATED,
        basic_memory.UNGATED.but(basic_memory.GATE),
        lambda answer: not answer,
    ),
    TOLD.searched("basic-memory-title-buries-body", basic_memory.CJK_REGRESS, basic_memory.ONE_MATCH),
    TOLD.searched(
        "basic-memory-possessive-s",
        basic_memory.CJK_REGRESS,
        basic_memory.CJK_REGRESS.but(basic_memory.UNICODE_TOKENS),
    ),
    TOLD.searched(
        "basic-memory-non-latin-never-relaxed",
        basic_memory.GATED,
        basic_memory.GATED.but(basic_memory.UNICODE_TOKENS),
    ),
    TOLD.searched(
        "basic-memory-diluted-score",
        basic_memory.SCORED_RRF,
        basic_memory.SCORED_RRF.but(basic_memory.FUSION),
        lambda answer: max(answer.values()) >= 0.5,
    ),
)

"""Bugs of AutoMem: each is two of its pipelines that differ in one stage."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import ClassVar

from workbench_plugins.automem import pipelines as am
from workbench_plugins.automem.components import ContentKeyword
from workbench_plugins.automem.memories import Memory, query_tokens
from workbench_plugins.engines.museum import Reports

TOLD = Reports(__file__)
WHOLE_WORDS = am.DEAD_KEYWORD.with_changes(am.WHOLE_WORDS)


@dataclass(frozen=True)
class TokensOfTheContent(ContentKeyword):
    """The share of the question's tokens that are tokens of the text, both cut by the same rule."""

    description: ClassVar[str] = "keyword component = share of the tokens that are tokens of the text"

    def searched(self, memory: Memory) -> Container[str]:
        return query_tokens(memory.content)


SPECIMENS = (
    TOLD.searched("automem-dead-keyword-weight", am.DEAD_KEYWORD, WHOLE_WORDS),
    TOLD.searched(
        "automem-floor-cuts-more",
        WHOLE_WORDS,
        WHOLE_WORDS.with_changes(am.LARGER_HALF_KEPT),
        lambda answer: len(answer) >= 3,
    ),
    TOLD.searched(
        "automem-hyphen-never-matches", am.LIVE_KEYWORD, am.LIVE_KEYWORD.with_stage(TokensOfTheContent())
    ),
    TOLD.searched("automem-unbounded-keyword", am.LIVE_KEYWORD, am.LIVE_KEYWORD.with_changes(am.NORMALISED)),
    TOLD.searched("automem-pool-is-the-limit", am.BOUNDED.asking(limit=2), am.OVERFETCHED.asking(limit=2)),
)

"""A system with two changes: OpenClaw 2026.2.13 with OR, and with a keyword score of one's own."""

from dataclasses import dataclass, replace
from typing import ClassVar

import workbench as wb
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.pipeline import Change, Source
from workbench.retrieval.query import JoinedWords


@dataclass(frozen=True)
class RankShare(ColumnStage, slot="keyword_score", scale="1 / rank", present="keyword_rank"):
    """The keyword score 1 / rank: 1, 1/2, 1/3, whatever BM25 says."""

    description: ClassVar[str] = "keyword score = 1 / keyword rank"

    def formula(self, of):
        return 1 / of["keyword_rank"]


SOURCE = Source("example", "1.0", "tests/strangers/acme.py")
OR = Change("or", JoinedWords("OR"), "one missing word no longer empties the keyword leg", SOURCE)
SHARE = Change("share", RankShare(), "a rank says more than a BM25 score that depends on the corpus", SOURCE)

ACME = replace(wb.system("openclaw-2026.2.13").with_changes(OR, SHARE), name="acme", source=SOURCE)

wb.register(ACME)

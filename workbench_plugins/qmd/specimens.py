"""Bugs of QMD: two of its pipelines that differ in one stage."""

from __future__ import annotations

from dataclasses import dataclass

from workbench_plugins.engines.museum import Reports
from workbench_plugins.qmd.pipelines import NO_RERANK
from workbench_plugins.qmd.qmd_fusion import PositionalRankSum
from workbench_plugins.qmd.qmd_legs import Expansion, Variant

TOLD = Reports(__file__)


@dataclass(frozen=True)
class Told:
    """An expander that gives one keyword for any question."""

    word: str = "disk"
    name: str = "one keyword"

    def variants(self, question: str) -> list[Variant]:
        """The keyword, for the leg of keywords."""
        return [Variant("lex", self.word)]


WEIGHT_BY_POSITION = TOLD.searched(
    "qmd-weight-by-position",
    NO_RERANK.with_stage(Expansion(Told())).with_stage(PositionalRankSum()),
    NO_RERANK.with_stage(Expansion(Told())),
)

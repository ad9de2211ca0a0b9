"""Bugs of QMD: two of its pipelines that differ in one stage."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.registry import register
from workbench_plugins.engines.museum import Specimen, searched
from workbench_plugins.qmd.fusion import PositionalRankSum
from workbench_plugins.qmd.legs import Expansion, Variant
from workbench_plugins.qmd.pipelines import NO_RERANK

TWO_WITH_A_DISK = {
    "memory/near.md": "The report of the evening says that one disk had to be changed after a long search .",
    "memory/disk.md": "disk disk soil",
    "memory/shed.md": "A server fault was in the shed with bark soil bark soil .",
    "memory/bark.md": "The bark is dry .",
    "memory/soil.md": "The soil is wet .",
}


@dataclass(frozen=True)
class Told:
    """An expander that gives one keyword for any question."""

    word: str = "disk"
    name: str = "one keyword"

    def variants(self, question: str) -> list[Variant]:
        """The keyword, for the leg of keywords."""
        return [Variant("lex", self.word)]


register(
    Specimen(
        name="qmd-weight-by-position",
        references=("tobi/qmd#591",),
        symptom="A rewritten question decides which note comes first, and not the question itself.",
        mechanism="The weight 2 goes to the first two lists. Keywords of a variant come before the vectors "
        "of the question, and take it from them.",
        change="whose lists count twice: the first two, or those of the question itself",
        world="a question that is expanded to “disk”; of two notes with this word one is nearer",
        expected="of the two notes the nearer one comes first",
        healthy=lambda answer: answer["memory/near.md"] > answer["memory/disk.md"],
        sides=searched(
            NO_RERANK.with_stage(Expansion(Told())).with_stage(PositionalRankSum()),
            NO_RERANK.with_stage(Expansion(Told())),
            "server fault",
            TWO_WITH_A_DISK,
        ),
        note="Only the weights of 2.1.0 are reproduced; 2.5.0 fixes them.",
    ),
)

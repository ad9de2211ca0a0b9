"""Bugs in fusions of ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from workbench.lab.museum.sides import computed, fused, searched
from workbench.lab.museum.specimen import Answer, Sides, Specimen, by_score, first
from workbench.retrieval.columns import Numbers, filled
from workbench.retrieval.formula import Term
from workbench.retrieval.fusion import reciprocal_rank
from workbench.systems.engines.fusion import RankSum
from workbench.systems.engines.presets import ENGINES
from workbench.systems.qmd.expansion import Expansion, Variant
from workbench.systems.qmd.fusion import PositionalRankSum
from workbench.systems.qmd.pipelines import NO_RERANK as QMD


@dataclass(frozen=True)
class CreditedRankSum(RankSum):
    """Reciprocal rank fusion that gives an absent candidate the rank `limit`: COALESCE(rank, limit)."""

    limit: float = 3

    @property
    def says(self) -> str:
        return super().says.replace("absent adds nothing", f"absent has rank {self.limit:g}")

    def contributions(self, of: Numbers) -> tuple[Any, Any]:
        vector, keyword = (
            reciprocal_rank(filled(of[f"{leg}_rank"], self.limit), self.weight(of, leg), of.constant(self.k))
            for leg in ("vector", "keyword")
        )
        return vector, keyword


@dataclass(frozen=True)
class SharedRankSum(RankSum):
    """Reciprocal rank fusion with shared ranks: a rank is one more than the number of higher scores."""

    first: int = 1
    ties: ClassVar[str] = "equal scores share a rank"

    @property
    def says(self) -> str:
        return f"{super().says}; {self.ties}"

    def part(self, of: Numbers, leg: str) -> Any:
        name = f"{leg}_score"
        score = of[name]

        def shared(own: float) -> Any:
            return of.over(lambda column: 1.0 + np.sum(column > own), name)

        # One row is a term, whose rank counts over the whole column.
        rank = shared(float(score)) if isinstance(score, Term) else np.array([shared(one) for one in score])
        return reciprocal_rank(rank, self.weight(of, leg), of.constant(self.k))


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


CHUNKS = ("manual", "manual", "manual", "exact"), ("exact", "minutes")


def once_each(names: Sequence[str]) -> Sequence[str]:
    """Each name once, at its first place."""
    return list(dict.fromkeys(names))


def every_time(names: Sequence[str]) -> Sequence[str]:
    """The names as they are, with repetitions."""
    return names


def _ensemble(before: Callable[[Sequence[str]], Sequence[str]]) -> Answer:
    scores: dict[str, float] = {}
    for names in CHUNKS:
        for rank, name in enumerate(before(names), 1):
            scores[name] = scores.get(name, 0.0) + float(reciprocal_rank(rank, 0.5, 60))
    return by_score(scores)


SPECIMENS = (
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
            QMD.with_stage(Expansion(Told())).with_stage(PositionalRankSum()),
            QMD.with_stage(Expansion(Told())),
            "server fault",
            TWO_WITH_A_DISK,
        ),
        note="Only the weights of 2.1.0 are reproduced; 2.5.0 fixes them.",
    ),
    Specimen(
        name="llamaindex-weights-ignored",
        references=("run-llama/llama_index#21444", "PR#21445"),
        symptom="retriever_weights=[1.0, 0.0] with reciprocal_rerank has no effect on the second retriever.",
        mechanism="The loop reads the values of a dictionary, but its keys say which retriever made a list.",
        change="the weight of the second list: 1, or the requested 0",
        world="two retrievers with two nodes each, the second with weight 0",
        expected="a retriever of weight 0 adds nothing",
        healthy=lambda answer: answer["node C"] == answer["node D"] == 0,
        sides=fused(
            ENGINES["llamaindex-rrf"].fusion,
            RankSum(k=60, first=0, keyword=0.0),
            {"node A": 0.9, "node B": 0.8},
            {"node C": 0.9, "node D": 0.8},
        ),
    ),
    Specimen(
        name="qdrant-k2",
        references=("cbcoutinho/nextcloud-mcp-server PR#1199",),
        symptom="The first result of one retriever outranks a result that both retrievers found.",
        mechanism="Qdrant's RRF has k = 2: first in one list gives 1/2, fourth in both only 1/5 + 1/5.",
        change="k: 2 or 60",
        world="a candidate that is first in one list, and one that is fourth in both",
        expected="the candidate that both legs found comes first",
        healthy=lambda answer: first(answer) == "agreed",
        sides=fused(
            ENGINES["qdrant-k2"].fusion,
            ENGINES["qdrant-k60"].fusion,
            {"outlier": 0.9, "v2": 0.8, "v3": 0.7, "agreed": 0.6},
            {"k1": 9.0, "k2": 8.0, "k3": 7.0, "agreed": 6.0},
        ),
    ),
    Specimen(
        name="tarsy-credit-for-absence",
        references=("codeready-toolchain/tarsy PR#210",),
        symptom="A memory that only one leg found outranks one that both legs found.",
        mechanism="COALESCE(rank, limit) scores an absent candidate like the last one of the list.",
        change="what an absent rank adds",
        world="limit 3; one candidate is first in one list, another is second in both",
        expected="the candidate that both legs found comes first",
        healthy=lambda answer: first(answer) == "both",
        sides=fused(
            CreditedRankSum(limit=3),
            RankSum(),
            {"alone": 0.9, "both": 0.8, "v3": 0.7},
            {"k1": 9.0, "both": 8.0, "k3": 7.0},
        ),
        note="1/61 + 1/63 exceeds 2/62 by only 0.0000083, and that decides.",
    ),
    Specimen(
        name="typesense-tied-ranks",
        references=("typesense/typesense#2163",),
        symptom="For “apple”, apple pie comes before red apple, which is nearer and matches equally well.",
        mechanism="Equal text scores get the ranks 1, 2, 3 by id, and 0.7 / 1 against 0.7 / 2 decides.",
        change="whether equal scores share a rank",
        world="three records with the same text score and different distances; 0.7 / K + 0.3 / S",
        expected="of equal matches the nearest comes first",
        healthy=lambda answer: first(answer) == "13 red apple",
        sides=fused(
            RankSum(vector=0.3, keyword=0.7, k=0),
            SharedRankSum(vector=0.3, keyword=0.7, k=0),
            {"13 red apple": 0.88, "19 green apple": 0.87, "03 apple pie": 0.71},
            {"03 apple pie": 9999.0, "13 red apple": 9999.0, "19 green apple": 9999.0},
        ),
    ),
    Specimen(
        name="langchain-duplicate-chunks",
        references=("langchain-ai/langchain#37046", "PR#38578"),
        symptom="A long document with many chunks outranks the short document that answers the question.",
        mechanism="With an id_key the chunks of a document are one result, but each adds 1 / (60 + rank).",
        change="whether duplicates in a retriever's list are removed before scoring",
        world="one retriever returns three chunks of a manual and then the exact note, the other the note "
        "first",
        expected="the exact note comes first",
        healthy=lambda answer: first(answer) == "exact",
        sides=Sides(
            computed("Σ over chunks of 0.5 / (60 + rank)", _ensemble, every_time),
            computed("Σ over documents of 0.5 / (60 + rank)", _ensemble, once_each),
        ),
    ),
)

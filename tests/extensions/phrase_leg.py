"""A third leg: the chunks that contain two neighbouring words of the question as a phrase."""

from dataclasses import dataclass

from workbench.records import Clause, Leg, Query
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.legs import LegStage, no_hits, with_leg


@dataclass(frozen=True)
class PhraseLeg(LegStage):
    name: str = "phrase"
    slot: str = "phrase_leg"
    first: int = 0
    description = "phrase leg: two neighbouring words of the question as a phrase, at most 3 candidates"
    number, best_raw, worst_raw = "bm25", (-1e12, -1e-12), -1e-12

    def deepest(self, limit):
        return 3

    def run(self, trace, context):
        every = self.every(trace, context)
        hits = type(every)(every.rows[:3], every.raw[:3], every.larger_is_better)
        return with_leg(trace, Leg(self.name, trace.question, 3, hits, number=self.number))

    def every(self, trace, context):
        words = trace.question.split()[self.first : self.first + 2]
        query = Query((Clause(" ".join(words), phrase=True),))
        return context.index.keyword(query, context.index.size) if words else no_hits()


@dataclass(frozen=True)
class PhraseScore(ColumnStage):
    slot = output = "phrase_score"
    present, scale = "phrase_rank", "1 / rank"
    description = "phrase score = 1 / phrase rank"

    def formula(self, of):
        return 1 / of["phrase_rank"]

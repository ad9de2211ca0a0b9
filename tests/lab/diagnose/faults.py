"""Planted faults: a good pipeline, or its index, broken in one known way, and where the fault then is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from workbench.contracts import Context, Index
from workbench.lab.questions import Question, QuestionSet
from workbench.records import Clause, Hits, Query, Trace, Vector
from workbench.retrieval.columns import ColumnStage, Numbers, PlainStage
from workbench.retrieval.cutoff import EvidenceFloor, Limit, MinScore, Order
from workbench.retrieval.fusion import OneLeg, WeightedRRF, WeightedSum
from workbench.retrieval.index_adapters import IndexAdapter
from workbench.retrieval.legs import Depth, KeywordLeg, VectorLeg
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import JoinedWords, ascii_words, with_query
from workbench.retrieval.scoring import AbsoluteRank
from workbench.retrieval.settings import with_settings
from workbench.systems.openclaw.pipelines import MIN_MAX, OR_JOIN, SHIPPED, THREE_FIXES, WORKAROUND
from workbench.systems.recommended.evidence import EVIDENCE_FLOOR, WITH_EVIDENCE
from workbench.systems.registry import SYSTEMS
from workbench.systems.tutorial import DAY_13

CONVEX = SHIPPED.but(OR_JOIN, MIN_MAX, EVIDENCE_FLOOR)
"""A weighted sum of a cosine and a min-max score, with a threshold on evidence."""


AUTOMEM = SYSTEMS["am-205"]
DEAF_AUTOMEM = with_settings(AUTOMEM, ["fusion.weights.vector=0"])


@dataclass(frozen=True)
class DistanceAsScore(ColumnStage):
    """The wrong sign: the farthest chunk scores most."""

    slot: ClassVar[str] = "vector_score"
    output: ClassVar[str] = "vector_score"
    present: ClassVar[str | None] = "vector_rank"
    says: ClassVar[str] = "vector score = cosine distance"

    def formula(self, of: Numbers) -> Any:
        return of["vector_raw"]


@dataclass(frozen=True)
class RawRank(ColumnStage):
    """The wrong sign: bm25() itself, where smaller is better, is the keyword score."""

    slot: ClassVar[str] = "keyword_score"
    output: ClassVar[str] = "keyword_score"
    present: ClassVar[str | None] = "keyword_rank"
    says: ClassVar[str] = "keyword score = bm25"

    def formula(self, of: Numbers) -> Any:
        return of["keyword_raw"]


@dataclass(frozen=True)
class WorstFirst(Order):
    """The wrong sign: the smallest score first."""

    says: ClassVar[str] = "order = by rising score"  # type: ignore[assignment]

    def run(self, trace: Trace, context: Context) -> Trace:
        made = super().run(trace, context)
        from dataclasses import replace

        return replace(made, order=made.order[::-1])


@dataclass(frozen=True)
class OnePhrase(PlainStage):
    """A wrong query: the whole question as one phrase."""

    slot: ClassVar[str] = "query"
    says: ClassVar[str] = "MATCH = the question as one phrase"

    def run(self, trace: Trace, context: Context) -> Trace:
        return with_query(trace, context, Query((Clause(trace.question, phrase=True),)))


@dataclass(frozen=True)
class CutWords(JoinedWords):
    """A wrong tokenizer: words lose their last letter, so that few of them are in the index."""

    def words(self, question: str) -> list[str]:
        return [word[:-1] for word in ascii_words(question) if len(word) > 1]


class OtherModel(IndexAdapter):
    """The vectors of another model: the question is embedded into another space than the chunks."""

    def embed(self, question: str) -> Vector:
        vector = self.inner.embed(question)
        mixed = vector[np.random.default_rng(7).permutation(vector.size)]
        return np.ascontiguousarray(mixed, np.float32)


class ShiftedVectors(IndexAdapter):
    """A wrong row for each vector: the vectors belong to other chunks of the same index."""

    def vector(self, query: Vector, limit: int) -> Hits:
        every = self.inner.vector(query, self.size)
        known = np.sort(every.rows)
        shifted = np.roll(known, known.size // 2)[np.searchsorted(known, every.rows)]
        return Hits(shifted[:limit], every.raw[:limit])


@dataclass(frozen=True)
class Fault:
    """A fault by name, the broken pipeline, the slot or place where it is, and how the index is broken."""

    name: str
    good: Pipeline
    broken: Pipeline
    where: str
    index: Callable[[Index], Index] = lambda index: index

    def lost(self, index: Index, questions: QuestionSet) -> Question:
        """The first question whose file the good pipeline returns and the broken one does not."""
        broken = self.index(index)
        return next(
            one
            for one in questions.questions
            if one.target in search(one.question, self.good, index).paths()
            and one.target not in search(one.question, self.broken, broken).paths()
        )


def _stage(name: str, good: Pipeline, stage: Any) -> Fault:
    return Fault(name, good, good.with_stage(stage), stage.slot)


FAULTS = [
    # a weight
    _stage("convex: the keyword leg alone", CONVEX, OneLeg("keyword")),
    _stage("rrf without floor: no weight for the vectors", THREE_FIXES, WeightedRRF(vector=0.0, keyword=1.0)),
    _stage("tutorial: weights for percents", DAY_13, WeightedSum(vector=0.0, keyword=0.3, absent=0.0)),
    _stage("convex: hardly a weight for the vectors", CONVEX, WeightedSum(vector=0.02, keyword=0.98)),
    Fault("automem: no weight for the vectors", AUTOMEM, DEAF_AUTOMEM, "fusion"),
    # a join
    _stage("or to and, convex", CONVEX, JoinedWords("AND")),
    _stage("or to and, recommended", WITH_EVIDENCE, JoinedWords("AND")),
    _stage("or to and, tutorial", DAY_13, JoinedWords("AND")),
    # a floor's place
    _stage("floor on a fused rank", WITH_EVIDENCE, MinScore(0.999)),
    _stage("floor on the keyword score", CONVEX, MinScore(0.95, of="keyword_score")),
    _stage("floor on a cosine for another model", WORKAROUND, MinScore(0.8)),
    _stage("evidence floor for another model", WITH_EVIDENCE, EvidenceFloor(cosine=0.9, relevance=0.99)),
    _stage("floor on the vector score", CONVEX, MinScore(0.75, of="vector_score")),
    # a sign
    _stage("distance as score, vector only", WORKAROUND, DistanceAsScore()),
    _stage("distance as score, tutorial", DAY_13, DistanceAsScore()),
    _stage("bm25 as score", CONVEX, RawRank()),
    _stage("1 / (1 + r)", DAY_13, AbsoluteRank()),
    _stage("worst first, workaround", WORKAROUND, WorstFirst()),
    _stage("worst first, recommended", WITH_EVIDENCE, WorstFirst()),
    # a tokenizer
    _stage("the question as one phrase", WITH_EVIDENCE, OnePhrase()),
    _stage("the question as one phrase, convex", CONVEX, OnePhrase()),
    _stage("words cut short", CONVEX, CutWords("OR")),
    # a limit
    _stage("one result, recommended", WITH_EVIDENCE, Limit(1)),
    _stage("one result, workaround", WORKAROUND, Limit(1)),
    _stage("two results, tutorial", DAY_13, Limit(2)),
    # a pool
    _stage("two vectors", WORKAROUND, VectorLeg(Depth(4, 2))),
    _stage("one vector", THREE_FIXES, VectorLeg(Depth(4, 1))),
    _stage("one keyword hit", CONVEX, KeywordLeg(Depth(4, 1))),
    # another model's vectors
    Fault("another model, workaround", WORKAROUND, WORKAROUND, "vectors", OtherModel),
    Fault("another model, recommended", WITH_EVIDENCE, WITH_EVIDENCE, "vectors", OtherModel),
    Fault("vectors of other rows", WORKAROUND, WORKAROUND, "vectors", ShiftedVectors),
]
"""Faults of the pipeline and of the vectors; `test_faults` adds those of an old index."""

"""Planted faults: a good pipeline, or its index, broken in one known way, and where the fault then is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from workbench.contracts import Context, Index
from workbench.measure.questions import Question, QuestionSet
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
from workbench.systems import openclaw
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WITH_EVIDENCE, WORKAROUND
from workbench.systems.tutorial import DAY_13

CONVEX = SHIPPED.with_changes(openclaw.OR_JOIN, openclaw.MIN_MAX, openclaw.EVIDENCE_FLOOR)
"""A weighted sum of a cosine and a min-max score, with a threshold on evidence."""


AUTOMEM = SYSTEMS["am-205"]
DEAF_AUTOMEM = with_settings(AUTOMEM, ["fusion.weights.vector=0"])


@dataclass(frozen=True)
class DistanceAsScore(ColumnStage, slot="vector_score", present="vector_rank"):
    """The wrong sign: the farthest chunk scores most."""

    description: ClassVar[str] = "vector score = cosine distance"

    def formula(self, of: Numbers) -> Any:
        return of["vector_raw"]


@dataclass(frozen=True)
class RawRank(ColumnStage, slot="keyword_score", present="keyword_rank"):
    """The wrong sign: bm25() itself, where smaller is better, is the keyword score."""

    description: ClassVar[str] = "keyword score = bm25"

    def formula(self, of: Numbers) -> Any:
        return of["keyword_raw"]


@dataclass(frozen=True)
class WorstFirst(Order):
    """The wrong sign: the smallest score first."""

    description: ClassVar[str] = "order = by rising score"  # type: ignore[assignment]

    def run(self, trace: Trace, context: Context) -> Trace:
        made = super().run(trace, context)
        return made.with_changes(order=made.order[::-1])


@dataclass(frozen=True)
class OnePhrase(PlainStage, slot="query"):
    """A wrong query: the whole question as one phrase."""

    description: ClassVar[str] = "MATCH = the question as one phrase"

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


# Faults that were written before their diagnoses were seen

WEAVIATE, TM2C2, RRF_60, BASIC_MEMORY = (
    SYSTEMS[name] for name in ("engine-weaviate-relative", "engine-tm2c2", "engine-rrf-60", "bm-head")
)
JULY = SYSTEMS["openclaw-2026.7.1"]


@dataclass(frozen=True)
class NegativeCosine(DistanceAsScore):
    """The wrong sign: minus the cosine."""

    description: ClassVar[str] = "vector score = cosine distance − 1"

    def formula(self, of: Numbers) -> Any:
        return of["vector_raw"] - 1


class Negated(IndexAdapter):
    """The vectors of a model whose space is turned round."""

    def embed(self, question: str) -> Vector:
        return np.ascontiguousarray(-self.inner.embed(question), np.float32)


def _set(name: str, good: Pipeline, setting: str) -> Fault:
    return Fault(name, good, with_settings(good, [setting]), setting.partition(".")[0])


HELD_OUT = [
    _set("weaviate: no weight for the vectors", WEAVIATE, "fusion.vector=0"),
    _set("tm2c2: no weight for the vectors", TM2C2, "fusion.vector=0"),
    _stage("or to and, weaviate", WEAVIATE, JoinedWords("AND")),
    _stage("or to and, three fixes", THREE_FIXES, JoinedWords("AND")),
    _set("automem: a floor of 0.9", AUTOMEM, "floor.floor=0.9"),
    _stage("three fixes: a floor for another scale", THREE_FIXES, MinScore(0.99)),
    _stage("minus the cosine, workaround", WORKAROUND, NegativeCosine()),
    _stage("bm25 as score, tutorial", DAY_13, RawRank()),
    _stage("worst first, convex", CONVEX, WorstFirst()),
    _stage("one phrase, weaviate", WEAVIATE, OnePhrase()),
    _stage("words cut short, tm2c2", TM2C2, CutWords("OR")),
    _stage("one result, basic memory", BASIC_MEMORY, Limit(1)),
    _stage("three vectors, engine", RRF_60, VectorLeg(Depth(4, 3))),
    Fault("a model turned round, three fixes", THREE_FIXES, THREE_FIXES, "vectors", Negated),
    _set("2026.7.1: hardly a weight for the vectors", JULY, "fusion.vector=0.05"),
    _set("2026.2.27: a floor of 0.8", SYSTEMS["openclaw-2026.2.27"], "floor.floor=0.8"),
    _set("am-150: one result", SYSTEMS["am-150"], "limit.count=1"),
    _stage("worst first, engine", RRF_60, WorstFirst()),
    _stage("minus the cosine, dbsf", SYSTEMS["engine-qdrant-dbsf"], NegativeCosine()),
    _stage("minus the cosine, tm2c2", TM2C2, NegativeCosine()),
    _stage("one phrase, tutorial", DAY_13, OnePhrase()),
    _stage("one vector, tutorial", DAY_13, VectorLeg(Depth(1, 1))),
    _stage("one vector, workaround", WORKAROUND, VectorLeg(Depth(1, 1))),
    _stage("words cut short, three fixes", THREE_FIXES, CutWords("OR")),
    _stage("words cut short, tutorial", DAY_13, CutWords("OR")),
    _stage("or to and, engine", RRF_60, JoinedWords("AND")),
    _stage("or to and, tm2c2", TM2C2, JoinedWords("AND")),
    _stage("the keyword leg alone, combmnz", SYSTEMS["engine-combmnz"], OneLeg("keyword")),
    Fault("another model, convex", CONVEX, CONVEX, "vectors", OtherModel),
    Fault("another model, tutorial", DAY_13, DAY_13, "vectors", OtherModel),
]
"""All but the first 14 were written after the order of causes was final, those before its last change."""

"""More planted faults: each set was written before its diagnoses were seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tests.lab.diagnose.faults import (
    AUTOMEM,
    CONVEX,
    CutWords,
    Fault,
    OnePhrase,
    OtherModel,
    RawRank,
    WorstFirst,
)
from workbench.records import Vector
from workbench.retrieval.columns import ColumnStage, Numbers
from workbench.retrieval.cutoff import Limit, MinScore
from workbench.retrieval.fusion import OneLeg
from workbench.retrieval.index_adapters import IndexAdapter
from workbench.retrieval.legs import Depth, VectorLeg
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.query import JoinedWords
from workbench.retrieval.settings import with_settings
from workbench.systems.openclaw.pipelines import THREE_FIXES, WORKAROUND
from workbench.systems.registry import SYSTEMS
from workbench.systems.tutorial import DAY_13

WEAVIATE, TM2C2, RRF_60, BASIC_MEMORY = (
    SYSTEMS[name] for name in ("engine-weaviate-relative", "engine-tm2c2", "engine-rrf-60", "bm-head")
)
JULY = SYSTEMS["openclaw-2026.7.1"]


@dataclass(frozen=True)
class NegativeCosine(ColumnStage):
    """The wrong sign: minus the cosine."""

    slot: ClassVar[str] = "vector_score"
    output: ClassVar[str] = "vector_score"
    present: ClassVar[str | None] = "vector_rank"
    says: ClassVar[str] = "vector score = cosine distance − 1"

    def formula(self, of: Numbers) -> Any:
        return of["vector_raw"] - 1


class Negated(IndexAdapter):
    """The vectors of a model whose space is turned round."""

    def embed(self, question: str) -> Vector:
        return np.ascontiguousarray(-self.inner.embed(question), np.float32)


def _set(name: str, good: Pipeline, setting: str) -> Fault:
    return Fault(name, good, with_settings(good, [setting]), setting.partition(".")[0])


def _stage(name: str, good: Pipeline, stage: Any) -> Fault:
    return Fault(name, good, good.with_stage(stage), stage.slot)


FIRST_HELD_OUT = [
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
]
SECOND_HELD_OUT = [
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
"""Written after the order of causes was final; `FIRST_HELD_OUT` before its last change."""

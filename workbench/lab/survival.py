"""How far the right file of each question gets: indexed, matched, in the pool, past the floor, returned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from workbench.contracts import Index
from workbench.lab.cached_index import CachedIndex
from workbench.lab.evaluation import AskedQuestion, Evaluation
from workbench.lab.questions import Question
from workbench.records import KEPT, Tabular, Trace
from workbench.retrieval.explain import Fate, explain


class SurvivalStep(IntEnum):
    """The steps of a search that a target can survive, in their order; each includes those before it."""

    ASKED = 0
    INDEXED = 1
    MATCHED = 2
    IN_POOL = 3
    PAST_FLOOR = 4
    WITHIN_LIMIT = 5
    RETURNED = 6

    @property
    def says(self) -> str:
        return SAYS[self]


SAYS = {
    SurvivalStep.ASKED: "asked for",
    SurvivalStep.INDEXED: "indexed",
    SurvivalStep.MATCHED: "matched by a leg",
    SurvivalStep.IN_POOL: "in the pool",
    SurvivalStep.PAST_FLOOR: "past the floor",
    SurvivalStep.WITHIN_LIMIT: "within the limit",
    SurvivalStep.RETURNED: "returned",
}

# How far a target got that was not a candidate.
OUTSIDE_POOL = {
    Fate.NEVER_INDEXED: SurvivalStep.ASKED,
    Fate.NO_MATCH: SurvivalStep.INDEXED,
    Fate.BEYOND_POOL: SurvivalStep.MATCHED,
}


@dataclass(frozen=True)
class Survivor:
    """A question, and the last step that a chunk of its target survived.

    `rescued`: it was returned although its score is below the floor.
    """

    question: Question
    reached: SurvivalStep
    rescued: bool


@dataclass(frozen=True)
class Survival(Tabular):
    """How far the targets of one evaluation got."""

    system: str
    survivors: tuple[Survivor, ...]

    def count(self, step: SurvivalStep) -> int:
        """The number of targets that survived this step."""
        return sum(one.reached >= step for one in self.survivors)

    def lost(self, step: SurvivalStep) -> list[Question]:
        """The questions whose target survived the previous step, but not this one."""
        return [one.question for one in self.survivors if one.reached == step - 1]

    @property
    def rescued(self) -> int:
        """The number of targets that were returned although they score below the floor."""
        return sum(one.rescued for one in self.survivors)

    def of_kind(self, kind: str) -> Survival:
        """The questions of one kind."""
        return Survival(self.system, tuple(one for one in self.survivors if one.question.kind == kind))


class Survivals(list[Survival], Tabular):
    """How far the targets of several evaluations of the same questions got."""


def survival(evaluation: Evaluation, index: Index) -> Survival:
    """How far each target got, from the evaluation's traces and the index that was searched.

    The questions are not searched again; the index is used only for targets that are not candidates.
    """
    floor = evaluation.pipeline.floor
    return Survival(evaluation.pipeline.name, tuple(_survivor(one, floor, index) for one in evaluation.asked))


def _survivor(asked: AskedQuestion, floor: float, index: Index) -> Survivor:
    trace, target = asked.trace, asked.question.target
    mine = [row for row, chunk in enumerate(trace.chunks) if chunk.path == target]
    if not mine:
        fate = explain(trace, index, target).fate
        return Survivor(asked.question, OUTSIDE_POOL[fate], rescued=False)
    reached = max(_reached(trace, int(trace.dropped[row])) for row in mine)
    kept = [row for row in mine if trace.dropped[row] == KEPT]
    below = bool(kept) and bool(np.all(trace.scores[kept] < floor))
    return Survivor(asked.question, reached, rescued=below)


def _reached(trace: Trace, dropped: int) -> SurvivalStep:
    """The last step that a candidate survived, from the stage that dropped it."""
    if dropped == KEPT:
        return SurvivalStep.RETURNED
    slots = [stage.slot for stage in trace.stages]
    if dropped > slots.index("limit"):
        return SurvivalStep.WITHIN_LIMIT
    return SurvivalStep.PAST_FLOOR if dropped == slots.index("limit") else SurvivalStep.IN_POOL


def survivals(evaluations: Sequence[Evaluation], index: Index) -> Survivals:
    """One survival per evaluation."""
    index = CachedIndex(index)
    return Survivals(survival(one, index) for one in evaluations)

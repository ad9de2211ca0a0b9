"""What happens to the right file of each question.

`survivals` counts how far the files get: indexed, matched, in the pool, past the floor, returned.
`missed_questions` lists the questions whose file is not returned, each with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.contracts import Index
from workbench.measure.checks import warnings_about
from workbench.measure.evaluation import AskedQuestion, Evaluation
from workbench.measure.measures import HITS
from workbench.measure.paired import paired_with_first
from workbench.measure.questions import Question
from workbench.measure.thresholds import compared
from workbench.records import KEPT, DropKind, Fate, Tabular, Trace
from workbench.retrieval.explain import explain
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline
from workbench.tables import Line, Part, Table, Types, numbers, tidy

if TYPE_CHECKING:
    from workbench.figures import Figure

MISSED: Types = {"system": "str", "fate": "str", "question": "str", "kind": "str", "target": "str"}
SURVIVED: Types = {
    "system": "str", "question": "str", "kind": "str", "target": "str", "reached": "int64",
    "reached_step": "str", "rescued": "bool",
}  # fmt: skip


class Missed(NamedTuple):
    """A question whose target file was not returned, and the fate of that file as `explain` tells it."""

    question: str
    kind: str
    target: str
    fate: str


class MissedQuestions(list[Missed], Tabular):
    """The missed questions of one system, in the order of the questions."""

    def __init__(self, system: str, missed: Iterable[Missed]) -> None:
        super().__init__(missed)
        self.system = system

    def view(self) -> list[Part]:
        """One line per question: the fate of the file, question and file."""
        parts: list[Part] = ["", Line(self._heading, "bold")]
        if self:
            rows = [(one.fate, one.question, one.target) for one in self]
            parts.append(Table("", ("the file is", "question", "file that answers it"), rows))
        return parts

    @property
    def _heading(self) -> str:
        if not self:
            return f"{self.system} missed no question"
        fates = Counter(one.fate for one in self)
        counted = ", ".join(f"{count} {fate}" for fate, count in fates.most_common())
        return f"{self.system} missed {len(self)} (file {counted})"

    def observations(self) -> Table:
        """One row for each missed question."""
        return tidy(MISSED, ((self.system, one.fate, one.question, one.kind, one.target) for one in self))


def missed_questions(evaluation: Evaluation, index: Index) -> MissedQuestions:
    """The missed questions of an evaluation in their order; `index` is the one that was searched."""
    missed = (
        Missed(one.question.question, one.question.kind, one.question.target, fate)
        for one in evaluation.asked
        if not one.hit
        for fate in [explain(one.trace, index, one.question.target).fate.value]
    )
    return MissedQuestions(evaluation.pipeline.name, missed)


def evaluations_data(
    evaluations: Sequence[Evaluation], index: CachedIndex, measure: Any = HITS
) -> list[dict[str, Any]]:
    """The figures of every evaluation for JSON, with its missed questions under `missed`.

    `index` is the one of the first; each of the others is asked about on the index that it was run on.
    `paired` compares it with the first evaluation by `measure`; the first has None. `warnings` are those that
    name the system, and those about the questions.
    """
    warned = warnings_about(evaluations, index, measure)
    verdicts = [None, *(one.as_json() for one in paired_with_first(evaluations, measure))]
    return [
        {
            **one.as_json(),
            "paired": verdict,
            "warnings": [
                warning.as_json()
                for warning in warned
                if not warning.systems or one.pipeline.name in warning.systems
            ],
            "missed": [miss._asdict() for miss in missed_questions(one, one.index or index)],
        }
        for one, verdict in zip(evaluations, verdicts, strict=True)
    ]


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
    def description(self) -> str:
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
    Fate.FILTERED: SurvivalStep.MATCHED,
}


FLOORS = {DropKind.FLOOR, DropKind.LEG_FLOOR}


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

    def view(self) -> list[Part]:
        """One line per step: the number of questions whose target is left."""
        return Survivals([self]).view()

    def plot(self) -> Figure:
        """The number of questions whose target is left after each step: a figure of plotly."""
        return Survivals([self]).plot()

    def observations(self) -> Table:
        """One row for each question."""
        return Survivals([self]).observations()


class Survivals(list[Survival], Tabular):
    """How far the targets of several evaluations of the same questions got."""

    def view(self) -> list[Part]:
        """One line per step, one column per system: the number of questions whose target is left."""
        rows = [(step.description, *(str(one.count(step)) for one in self)) for step in SurvivalStep]
        return [Table("", ["questions whose target is", *numbers(*(one.system for one in self))], rows)]

    def plot(self) -> Figure:
        """The number of questions whose target is left after each step: a figure of plotly."""
        from workbench import figures  # which loads plotly

        left = {one.system: [one.count(step) for step in SurvivalStep] for one in self}
        return figures.survival(left, [step.description for step in SurvivalStep])

    def observations(self) -> Table:
        """One row for each question of each evaluation."""
        rows = []
        for each in self:
            for one in each.survivors:
                about = [each.system, one.question.question, one.question.kind, one.question.target]
                rows.append([*about, int(one.reached), one.reached.description, one.rescued])
        return tidy(SURVIVED, rows)


def survival(evaluation: Evaluation, index: Index) -> Survival:
    """How far each target got, from the evaluation's traces and the index that was searched.

    The questions are not searched again; the index is used only for targets that are not candidates.
    """
    pipeline = evaluation.pipeline
    return Survival(pipeline.name, tuple(_survivor(one, pipeline, index) for one in evaluation.asked))


def _survivor(asked: AskedQuestion, pipeline: Pipeline, index: Index) -> Survivor:
    trace, target = asked.trace, asked.question.target
    mine = [row for row, chunk in enumerate(trace.chunks) if chunk.path == target]
    if not mine:
        fate = explain(trace, index, target).fate
        return Survivor(asked.question, OUTSIDE_POOL[fate], rescued=False)
    reached = max(_reached(trace, int(trace.dropped[row])) for row in mine)
    remaining = [row for row in mine if trace.dropped[row] == KEPT]
    below = bool(remaining) and bool(np.all(compared(trace, pipeline)[remaining] < pipeline.floor))
    return Survivor(asked.question, reached, rescued=below)


def _reached(trace: Trace, dropped: int) -> SurvivalStep:
    """The last step that a candidate survived, from the kind of the cut that dropped it."""
    if dropped == KEPT:
        return SurvivalStep.RETURNED
    kind = trace.cutoffs[dropped].kind
    if kind is DropKind.LIMIT:
        return SurvivalStep.PAST_FLOOR
    # A floor may stand behind the limit: what it drops is not past the floor.
    limited = any(cut.kind is DropKind.LIMIT for number, cut in trace.cutoffs.items() if number < dropped)
    return SurvivalStep.WITHIN_LIMIT if limited and kind not in FLOORS else SurvivalStep.IN_POOL


def survivals(evaluations: Sequence[Evaluation], index: Index) -> Survivals:
    """One survival per evaluation."""
    index = CachedIndex(index)
    return Survivals(survival(one, index) for one in evaluations)

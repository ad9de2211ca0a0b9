"""Where right answers are lost, over all questions: how many right files each stage of a pipeline lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.contracts import Index
from workbench.measure.evaluation import AskedQuestion, Evaluation
from workbench.measure.questions import Question
from workbench.records import Fate, Tabular
from workbench.retrieval.explain import explain
from workbench.tables import Line, Part, Table, Types, numbers, tidy

LOSSES: Types = {
    "system": "str", "stage": "str", "lost": "int64", "left": "int64", "question": "str", "kind": "str",
    "target": "str",
}  # fmt: skip
BEFORE = {
    Fate.NEVER_INDEXED: "the index: it does not have the file",
    Fate.NO_MATCH: "the legs: none lists the file",
    Fate.BEYOND_POOL: "the depth of the legs: the file is beyond it",
}
"""What lost a file that is no candidate."""
OUTSIDE = "the scope: the file is outside it"
"""What lost a file that a scope excludes; it is told only where a pipeline has one."""


@dataclass(frozen=True)
class StageLoss:
    """The questions whose right file one stage lost, and how many right files are left after it."""

    stage: str
    questions: tuple[Question, ...]
    left: int

    @property
    def lost(self) -> int:
        return len(self.questions)


@dataclass(frozen=True)
class StageLosses(Tabular):
    """What each stage of one system lost, in the order of the search; `asked` counts the questions."""

    system: str
    asked: int
    losses: tuple[StageLoss, ...]

    @property
    def returned(self) -> int:
        """The number of questions whose right file is returned."""
        return self.asked - sum(one.lost for one in self.losses)

    def view(self) -> list[Part]:
        """A row for each stage: what it lost, what is left, and the first question that it lost."""
        rows = [
            (one.stage, str(one.lost), str(one.left), one.questions[0].question if one.questions else "")
            for one in self.losses
        ]
        title = f"{self.system} returns the right file for {self.returned} of {self.asked} questions"
        return [
            "",
            Line(title, "bold"),
            Table("", ["where the right file is lost", *numbers("lost", "left"), "such as"], rows),
        ]

    def as_json(self) -> list[dict[str, Any]]:
        """The stages with all questions that they lost."""
        return [
            {
                "stage": one.stage,
                "lost": one.lost,
                "left": one.left,
                "questions": [{"question": each.question, "target": each.target} for each in one.questions],
            }
            for one in self.losses
        ]

    def observations(self) -> Table:
        """One row for each question whose right file is lost."""
        rows = (
            (self.system, one.stage, one.lost, one.left, each.question, each.kind, each.target)
            for one in self.losses
            for each in one.questions
        )
        return tidy(LOSSES, rows)


def losses_by_stage(evaluation: Evaluation, index: Index) -> StageLosses:
    """Which stage lost the right file of each question, from the evaluation's traces.

    `index` is the one that was searched; it is asked only about files that are no candidates. Of the chunks
    of a file, the one that came furthest counts.
    """
    lost: dict[str, list[Question]] = defaultdict(list)
    for one in evaluation.asked:
        if not one.hit:
            lost[_stage_that_lost(one, index)].append(one.question)
    losses, left = [], len(evaluation.asked)
    for stage in (*BEFORE.values(), *([OUTSIDE] if OUTSIDE in lost else []), *_cuts(evaluation)):
        left -= len(lost[stage])
        losses.append(StageLoss(stage, tuple(lost[stage]), left))
    return StageLosses(evaluation.pipeline.name, len(evaluation.asked), tuple(losses))


def _cuts(evaluation: Evaluation) -> Sequence[str]:
    """The stages that dropped a candidate of any question, in their order."""
    numbers = {number for one in evaluation.asked for number in one.trace.dropped.tolist() if number >= 0}
    return [evaluation.pipeline.stages[number].description for number in sorted(numbers)]


def _stage_that_lost(asked: AskedQuestion, index: Index) -> str:
    trace, target = asked.trace, asked.question.target
    own = [row for row, chunk in enumerate(trace.chunks) if chunk.path == target]
    if not own:
        return {**BEFORE, Fate.FILTERED: OUTSIDE}[explain(trace, index, target).fate]
    return trace.stages[int(np.max(trace.dropped[own]))].description

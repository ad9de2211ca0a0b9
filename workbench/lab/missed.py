"""The questions that a pipeline missed: what happened to the file that answers each of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from workbench.contracts import Index
from workbench.lab.cached_index import CachedIndex
from workbench.lab.checks.doubts import doubts
from workbench.lab.evaluation import Evaluation
from workbench.lab.paired import HITS, paired_with_first
from workbench.records import Tabular
from workbench.retrieval.explain import explain


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

    `paired` compares it with the first evaluation by `measure`; the first has None. `doubts` are those that
    name the system, and those about the questions.
    """
    doubted = doubts(evaluations, index, measure)
    verdicts = [None, *(one.as_json() for one in paired_with_first(evaluations, measure))]
    return [
        {
            **one.as_json(),
            "paired": verdict,
            "doubts": [
                doubt.as_json()
                for doubt in doubted
                if not doubt.systems or one.pipeline.name in doubt.systems
            ],
            "missed": [miss._asdict() for miss in missed_questions(one, index)],
        }
        for one, verdict in zip(evaluations, verdicts, strict=True)
    ]

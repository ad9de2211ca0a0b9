"""The questions that a pipeline missed: what happened to the file that answers each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from workbench.lab.cached_index import CachedIndex
from workbench.lab.evaluation import Evaluation
from workbench.lab.paired import HITS, paired_with_first
from workbench.retrieval.explain import explain


class Missed(NamedTuple):
    """A question whose target file was not returned, and the fate of that file as `explain` tells it."""

    question: str
    kind: str
    target: str
    fate: str


def missed_questions(evaluation: Evaluation, index: CachedIndex) -> list[Missed]:
    """The missed questions of an evaluation in their order; `index` is the one that was searched."""
    return [
        Missed(one.question.question, one.question.kind, one.question.target, fate)
        for one in evaluation.asked
        if not one.hit
        for fate in [explain(one.trace, index, one.question.target).fate.value]
    ]


def evaluations_data(
    evaluations: Sequence[Evaluation], index: CachedIndex, measure: Any = HITS
) -> list[dict[str, Any]]:
    """The figures of every evaluation for JSON, with its missed questions under `missed`.

    `paired` compares it with the first evaluation by `measure`; the first has None.
    """
    verdicts = [None, *(one.as_json() for one in paired_with_first(evaluations, measure))]
    return [
        {
            **one.as_json(),
            "paired": verdict,
            "missed": [miss._asdict() for miss in missed_questions(one, index)],
        }
        for one, verdict in zip(evaluations, verdicts, strict=True)
    ]

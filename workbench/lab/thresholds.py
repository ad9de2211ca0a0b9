"""What a floor would do: every candidate's score, by whose it is, and the hits at any floor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.lab.metrics import Evaluation
from workbench.records import Floats, Trace


@dataclass(frozen=True)
class Scores:
    """The fused scores of one evaluation, before any floor.

    `target`, `other` and `control` are flat: the candidates from the right files, from other files, and
    of the controls. `best` has one row a question: its target's best score, NaN when no chunk of it was a
    candidate or when it stands beyond the limit. `control_best` is the best score of each control.
    """

    system: str
    floor: float
    target: Floats
    other: Floats
    control: Floats
    best: Floats
    control_best: Floats

    def hits(self, floor: float) -> int:
        """How many questions would hit at this floor.

        A floor cuts the end of an order that it does not change, so what stands within the limit without
        it stands there with it.
        """
        return int(np.sum(self.best >= floor))

    def silent(self, floor: float) -> int:
        """How many controls would return nothing at this floor."""
        return int(np.sum(~(self.control_best >= floor)))


def scores(evaluation: Evaluation) -> Scores:
    """The scores of an evaluation, sorted into whose they are."""
    target, other, best = [], [], []
    for one in evaluation.asked:
        mine = _of_file(one.trace, one.question.target)
        fused = one.trace.columns["score"]
        target.append(fused[mine])
        other.append(fused[~mine])
        best.append(_best(one.trace, mine, evaluation.pipeline.limit))
    control = [trace.columns["score"] for trace in evaluation.controls]
    return Scores(
        evaluation.pipeline.name,
        evaluation.pipeline.floor,
        _flat(target),
        _flat(other),
        _flat(control),
        np.array(best),
        np.array([column.max(initial=-np.inf) for column in control]),
    )


def _of_file(trace: Trace, path: str) -> np.ndarray:
    return np.array([chunk.path == path for chunk in trace.chunks], bool)


def _best(trace: Trace, mine: np.ndarray, limit: float) -> float:
    places = np.flatnonzero(mine[trace.order])
    if places.size == 0 or places[0] >= int(limit):
        return float("nan")
    return float(trace.columns["score"][trace.order[places[0]]])


def _flat(columns: list[Floats]) -> Floats:
    return np.concatenate(columns) if columns else np.empty(0)

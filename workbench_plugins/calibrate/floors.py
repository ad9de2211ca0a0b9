"""A system on labelled questions with other thresholds: its stages from the floor on run again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.records import KEPT, Floats, Trace, first_of
from workbench.retrieval.columns import ColumnStage, parameters
from workbench.retrieval.cutoff import EvidenceFloor, Floor, MinScore
from workbench.retrieval.pipeline import Pipeline, Running, before, run
from workbench_plugins.rerank import Rerank

EVIDENCE = "evidence"
"""The name of two thresholds at a time: the cosine, and the relevance of the keywords."""
LEVELS = 200
"""The most thresholds that are tried; of more scores the quantiles are taken."""
Values = tuple[float, ...]


def with_floor(pipeline: Pipeline, on: str = "") -> Pipeline:
    """The pipeline with a floor on the column `on`, on the evidence of both legs, or else its own floor.

    A system without a floor gets one on its score, and one with a reranker on what the reranker says: the
    reader of question and text then decides alone. Raises InputError for an unknown column.
    """
    on = on or next((one.output for one in pipeline.stages if isinstance(one, Rerank)), "")
    own = first_of(pipeline.stages, Floor)
    if not on:
        return pipeline if own is not None else pipeline.asking(min_score=-np.inf)
    if on not in scores_of(pipeline):
        raise InputError(f"{pipeline.name} has no score {on!r}.", f"It has {', '.join(scores_of(pipeline))}.")
    stage = EvidenceFloor() if on == EVIDENCE else MinScore(-np.inf, on)
    return pipeline.with_stage(stage) if own is not None else pipeline.with_new_stage(stage, before="limit")


def scores_of(pipeline: Pipeline) -> list[str]:
    """The scores that a floor of the pipeline can be on."""
    return [*(one.output for one in pipeline.stages if isinstance(one, ColumnStage)), EVIDENCE]


@dataclass(frozen=True)
class Floored:
    """A pipeline with a floor, and the index that it searches."""

    pipeline: Pipeline
    index: Index

    @cached_property
    def stage(self) -> Any:
        """The floor."""
        return next(one for one in self.pipeline.stages if isinstance(one, Floor))

    @cached_property
    def names(self) -> list[str]:
        """The parameters of the floor that are thresholds, in the order of `Floor.thresholds`."""
        return [name for name, value in parameters(self.stage).items() if isinstance(value, float)]

    def own(self) -> Values:
        """The thresholds that the floor has."""
        return tuple(getattr(self.stage, name) for name in self.names)

    def at(self, values: Values) -> Pipeline:
        """The pipeline with these thresholds."""
        return self.pipeline.with_stage(replace(self.stage, **dict(zip(self.names, values, strict=True))))

    def seen(self, trace: Trace) -> Floats:
        """The largest number that each threshold sees among the candidates; -inf without any."""
        earlier = before(trace, self._stage_index)
        there = earlier.dropped == KEPT
        compared = [one.values[there] for one in self.stage.thresholds(earlier.columns)]
        return np.array([np.nanmax([-np.inf, *one]) for one in compared])

    def paths(self, trace: Trace, values: Values) -> list[str]:
        """The files that the system returns for the question of a trace, with these thresholds."""
        return self.trace(trace, values).paths()

    def trace(self, trace: Trace, values: Values) -> Trace:
        """The search for the question of a trace, with these thresholds."""
        pipeline = self.at(values)
        context = Running(self.index.laid_out(pipeline.layout), trace.question, pipeline.limit)
        again = replace(before(trace, self._stage_index), stages=pipeline.stages)
        return run(again, context, self._stage_index)

    @cached_property
    def _stage_index(self) -> int:
        return self.pipeline.stages.index(self.stage)


def levels(floored: Floored, mistaken: Sequence[Trace], answered: Sequence[Trace]) -> Iterator[Values]:
    """Thresholds to try, the strictest first.

    One threshold goes through the scores of `mistaken`, each time just above the next. Two go together
    through the quantiles of `answered`, which are other questions than those that the promise is about.
    Raises InputError for scores that are all the same.
    """
    pair = len(floored.names) == 2
    seen = np.array([floored.seen(one) for one in (answered if pair else mistaken)])
    other = np.array([floored.seen(one) for one in answered])
    seen = seen[np.isfinite(seen).all(axis=1)] if seen.size else seen
    if not seen.size:
        yield floored.own()
        return
    if not pair and np.unique(np.concatenate([seen, other])).size == 1:
        raise InputError(
            f"{floored.pipeline.name} has the same score for every question: {seen[0, 0]:g}.",
            f"A threshold on it changes nothing. Calibrate another score, such as --on {EVIDENCE}.",
        )
    if pair:
        yield tuple(floored.stage.ranges[name][1] for name in floored.names)
        for share in np.linspace(1, 0, LEVELS // 2):
            yield tuple(_above(one, np.inf) for one in np.quantile(seen, share, axis=0).tolist())
        return
    every = np.unique(np.concatenate([seen[:, 0], other[np.isfinite(other)].ravel()]))
    tried = np.unique(seen)[::-1]
    for value in tried[np.unique(np.linspace(0, tried.size - 1, min(LEVELS, tried.size)).astype(int))]:
        larger = every[every > value]
        yield (_above(float(value), float(larger[0]) if larger.size else np.inf),)


def _above(value: float, most: float) -> float:
    """The number with the fewest digits that is larger than `value`, and at most `most`.

    >>> _above(0.4137, 0.43), _above(0.4137, float("inf")), _above(-1.02, -1.01), _above(1.0, 1.000000001)
    (0.42, 0.414, -1.01, 1.000000001)
    """
    for digits in range(3 if np.isinf(most) else 1, 17):
        below = math.floor(value * 10**digits)
        for whole in range(below, below + 3):  # the product is rounded, so it may be on either side
            found = float(whole / 10**digits)
            if value < found <= most:
                return found
    return float(np.nextafter(value, np.inf))

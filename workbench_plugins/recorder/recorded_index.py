"""The index of a recorded engine: the lists of its legs, and the floor and the limit that it has."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.retrieval.cutoff import Floor, Limit, MinScore
from workbench.retrieval.legs import FixedDepth
from workbench.retrieval.pipeline import Pipeline
from workbench_plugins.engines.lists import ALL, ListIndex, Scores


@dataclass(frozen=True)
class TopK(FixedDepth):
    """The number of hits that a leg is asked for: its only setting is `cap`."""

    multiplier: float = field(default=0, repr=False)


@dataclass(frozen=True)
class EngineFloor(MinScore, slot="engine_floor"):
    """The engine's own floor; the floors of other systems are no repair of it, since the scale is another."""

    floor: float = field(kw_only=True)

    @property
    def description(self) -> str:
        column = self.of.replace("_", " ")
        if self.floor == math.inf:
            return f"engine floor: above every {column}, since the recorded answer is empty"
        return f"engine floor: the {column} must be at least {self.floor:g}"


@dataclass(frozen=True)
class EngineLimit(Limit):
    """The engine's own limit; it has no default, which a diagnosis would try as a repair."""

    count: float = field(kw_only=True)


class RecordedIndex(ListIndex):
    """The lists of an engine that was recorded, and its answer to each recorded question.

    `limited` says that the length of the answer is known, and not only inferred from where the answer ends.
    `unanswered` are the errors of checks that asked what the engine cannot answer. `unfiltered` is the
    pipeline that gives every recorded score, where it also brings documents that the answer lacks.
    """

    answers: Mapping[str, Scores] = {}
    limited = False
    unfiltered: Pipeline | None = None

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.unanswered: list[str] = []

    def upside_down(self, leg: str, question: str) -> bool:
        """Whether a leg's list begins with its worst scores."""
        hits = self.listed(leg, question, ALL)
        return hits.rows.size > 1 and bool((np.diff(hits.relevance) >= 0).all() and np.ptp(hits.raw) > 0)

    def offers(self, pipeline: Pipeline, slot: str, content: Any) -> bool:
        """Whether the engine can be set so: another value of a stage that it has, or no floor."""
        now = next((stage for stage in pipeline.stages if stage.slot == slot), None)
        if content is None:
            return isinstance(now, Floor)
        return type(content) is type(now) or isinstance(content, Limit)

    def causes(self, runs: Any, goal: Any) -> Iterable[Any]:
        """What is wrong with the legs themselves, as far as it concerns a file that is wanted."""
        from workbench_plugins.recorder.fusion_causes import causes

        return causes(self, runs, goal)


class ListsOfCase(RecordedIndex):
    """The lists of a case, whose system is one of ours, so that any fusion can take the place of its own."""

    def offers(self, pipeline: Pipeline, slot: str, content: Any) -> bool:
        return slot == "fusion" or super().offers(pipeline, slot, content)

"""Runs changed pipelines for one question: only the stages from the first changed one run again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from workbench.contracts import Context, Index
from workbench.lab.cached_index import CachedIndex
from workbench.records import Hits, Query, Trace, Vector
from workbench.retrieval.legs import Union, legs_of
from workbench.retrieval.pipeline import Pipeline, Running, before, run, search
from workbench.retrieval.query import BLANKS


class Aim(StrEnum):
    """What is wanted of a file in the answer."""

    IN = "in the answer"
    FIRST = "first in the answer"
    OUT = "not in the answer"


@dataclass(frozen=True)
class Goal:
    """A file, and what is wanted of it."""

    path: str
    aim: Aim = Aim.IN

    def reached(self, trace: Trace) -> bool:
        """Whether the answer is as wanted."""
        paths = trace.paths()
        if self.aim is Aim.FIRST:
            return paths[:1] == [self.path]
        return (self.path in paths) is (self.aim is Aim.IN)


class RankedIndex(CachedIndex):
    """A `CachedIndex` that asks for all hits once, and cuts them to each limit.

    It suits one question and many depths. Every answer of an index is ordered, so the first hits of a long
    answer are those of a short one.
    """

    def keyword(self, query: Query, limit: int) -> Hits:
        return _first(super().keyword(query, self.size), limit)

    def vector(self, query: Vector, limit: int) -> Hits:
        return _first(super().vector(query, self.size), limit)


def _first(hits: Hits, limit: int) -> Hits:
    return Hits(hits.rows[:limit], hits.raw[:limit], hits.larger_is_better)


class Reruns:
    """One question under many pipelines that differ little from one pipeline, whose trace is `base`.

    Every trace equals that of `search`. Only the stages from the first changed one run again, unless the
    depth of the legs or the layout has changed.
    """

    def __init__(self, question: str, pipeline: Pipeline, index: CachedIndex) -> None:
        self.question = question.strip(BLANKS)
        self.pipeline = pipeline
        self.index: Index = index
        self.vector = index.embed(self.question) if self.question else None
        self.base = search(self.question, pipeline, index, self.vector)
        self._beginnings: dict[int, Trace] = {}

    @property
    def context(self) -> Context:
        """What the stages of `pipeline` may ask for."""
        return self._context(self.pipeline)

    def trace(self, pipeline: Pipeline) -> Trace:
        """The trace of `pipeline`, with the depth of the legs following its own limit."""
        if pipeline.layout == self.pipeline.layout and self._as_deep(pipeline):
            return self.at_same_depth(pipeline)
        with np.errstate(divide="ignore", invalid="ignore"):
            return search(self.question, pipeline, self.index, self.vector)

    def _as_deep(self, pipeline: Pipeline) -> bool:
        """Whether the legs of `pipeline` bring as many for its limit as for the present one.

        Then the limit changes nothing before the stage that cuts: only legs ask for it before.
        """
        now, new = self.pipeline.limit, pipeline.limit
        return now == new or all(leg.deepest(now) == leg.deepest(new) for leg in legs_of(pipeline.stages))

    def at_same_depth(self, pipeline: Pipeline) -> Trace:
        """The trace of `pipeline`, with the depth of the legs as the limit of `self.pipeline` gives it.

        So a pipeline with another limit returns more or fewer of the same candidates.
        """
        if not self.question:
            return self.base
        # A parameter at the end of its range may divide 0 by 0; such a score is absent.
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._run(pipeline)

    def _run(self, pipeline: Pipeline) -> Trace:
        if pipeline.layout != self.pipeline.layout:
            return run(_fresh(self.question, pipeline), self._context(pipeline))
        place = _first_difference(self.pipeline, pipeline)
        trace = self._beginning(place) if place <= _union(self.pipeline) else before(self.base, place)
        changed = trace.but(system=pipeline.name, stages=pipeline.stages)
        return run(changed, self._context(pipeline), place)

    def _context(self, pipeline: Pipeline) -> Running:
        index = self.index.laid_out(pipeline.layout)
        return Running(index, self.question, self.pipeline.limit, self.vector)

    def _beginning(self, place: int) -> Trace:
        """The trace before the stage at `place`, at which there are no candidates yet."""
        if place not in self._beginnings:
            fresh = _fresh(self.question, self.pipeline)
            self._beginnings[place] = run(fresh, self._context(self.pipeline), last=place)
        return self._beginnings[place]


def _fresh(question: str, pipeline: Pipeline) -> Trace:
    return Trace(question, pipeline.name, pipeline.stages, layout=pipeline.layout)


def _first_difference(one: Pipeline, other: Pipeline) -> int:
    pairs = enumerate(zip(one.stages, other.stages, strict=False))
    shorter = min(len(one.stages), len(other.stages))
    return next((place for place, (mine, theirs) in pairs if mine != theirs), shorter)


def _union(pipeline: Pipeline) -> int:
    """The place of the stage that makes candidates of the hits; before it there are no columns."""
    places = (place for place, stage in enumerate(pipeline.stages) if isinstance(stage, Union))
    return next(places, len(pipeline.stages))

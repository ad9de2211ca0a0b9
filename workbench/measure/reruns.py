"""Many changes of one pipeline, run for one question from the first changed stage on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from workbench.contracts import Context, Index
from workbench.errors import InputError
from workbench.records import Trace
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.legs import Union, legs_of
from workbench.retrieval.pipeline import Pipeline, Running, before, caution, run, search
from workbench.retrieval.query import BLANKS


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
        with np.errstate(divide="ignore", invalid="ignore"), self._columns_of_base():
            return search(self.question, pipeline, self.index, self.vector)

    @contextmanager
    def _columns_of_base(self) -> Iterator[None]:
        """Raises InputError if a stage reads, without saying so, a column that only the base has."""
        try:
            yield
        except KeyError as error:
            if error.args[0] not in self.base.columns:
                raise
            raise InputError(
                f"A stage reads the column {error}, and the changed pipeline has none.",
                "Let the method `reads` of the stage name it.",
            ) from error

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
        with np.errstate(divide="ignore", invalid="ignore"), self._columns_of_base():
            return self._run(pipeline)

    def _run(self, pipeline: Pipeline) -> Trace:
        if pipeline.layout != self.pipeline.layout:
            return run(self._fresh(pipeline), self._context(pipeline))
        number = _first_difference(self.pipeline, pipeline)
        trace = self._beginning(number) if number <= _union(self.pipeline) else before(self.base, number)
        changed = trace.with_changes(
            system=pipeline.name, stages=pipeline.stages, caution=caution(pipeline, self.index)
        )
        return run(changed, self._context(pipeline), number)

    def _context(self, pipeline: Pipeline) -> Running:
        index = self.index.laid_out(pipeline.layout)
        return Running(index, self.question, self.pipeline.limit, self.vector)

    def _beginning(self, number: int) -> Trace:
        """The trace before stage `number`, at which there are no candidates yet."""
        if number not in self._beginnings:
            fresh = self._fresh(self.pipeline)
            self._beginnings[number] = run(fresh, self._context(self.pipeline), last=number)
        return self._beginnings[number]

    def _fresh(self, pipeline: Pipeline) -> Trace:
        told = caution(pipeline, self.index)
        return Trace(self.question, pipeline.name, pipeline.stages, layout=pipeline.layout, caution=told)


def _first_difference(one: Pipeline, other: Pipeline) -> int:
    pairs = enumerate(zip(one.stages, other.stages, strict=False))
    shorter = min(len(one.stages), len(other.stages))
    return next((number for number, (mine, theirs) in pairs if mine != theirs), shorter)


def _union(pipeline: Pipeline) -> int:
    """The place of the stage that makes candidates of the hits; before it there are no columns."""
    unions = (number for number, stage in enumerate(pipeline.stages) if isinstance(stage, Union))
    return next(unions, len(pipeline.stages))

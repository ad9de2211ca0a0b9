"""The strictest floor that costs no answer: every labelled question that finds its file still finds it.

A new question that is drawn as the n labelled ones were, about the same files, loses its file with a
probability of at most 1 / (n + 1): its score is as likely as any other to be the lowest of them all (Vovk,
Gammerman and Shafer, Algorithmic Learning in a Random World, 2005, section 2.2). Unlike the promise of
`calibrate`, this one is about the questions that have an answer; it says nothing about how many of the
others get one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.evaluation import evaluate
from workbench.measure.measures import Share
from workbench.measure.questions import QuestionSet
from workbench.records import Trace
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline
from workbench.safe_text import counted
from workbench_plugins.calibrate.calibrated import Labelled, once
from workbench_plugins.calibrate.floors import Floored, Values, levels, with_floor

FEWEST = 19
"""Labelled questions that find their file. With these, a new one loses its file in 1 of 20 cases at most."""


@dataclass(frozen=True)
class FreeFloor:
    """A system with the floor, and what the floor changes on the labels.

    `hits` are the labelled questions that find their file, with the new floor as with the old one. `before`
    and `after` are the unanswerable questions that get an answer. What is found is in `files` files.
    """

    pipeline: Pipeline
    thresholds: dict[str, float]
    hits: Share
    files: int
    before: Share
    after: Share

    @property
    def summary(self) -> list[str]:
        """The floor, what it refuses, and how likely it costs an answer."""
        if self.after == self.before:
            return [f"It stays: a stricter one of {self.pipeline.name} refuses nothing, or costs an answer."]
        values = ", ".join(f"{name} = {value:g}" for name, value in self.thresholds.items())
        kept = f"all {self.hits.hits} labelled questions that find their file still find it"
        return [
            f"{self.pipeline.name}: {values}",
            f"Unanswerable questions that get an answer: {self.after.hits} of {self.after.n}, before "
            f"{self.before.hits}; {kept}.",
            f"A new question about the same {counted(self.files, 'file')}, asked as these were, loses its "
            f"file in at most 1 of {self.hits.hits + 1} cases. Nothing is promised for other files.",
        ]


def free_floor(asked: Pipeline, labels: QuestionSet, index: Index) -> FreeFloor:
    """The strictest floor that costs no labelled question its file, of those that refuse something.

    It is the system's own where no stricter one is free. Raises InputError for too few labels.
    """
    cached = CachedIndex(index)
    (evaluation,) = evaluate(labels, [with_floor(asked)], cached)
    floored = Floored(evaluation.pipeline, cached)
    labelled = once([Labelled(one.trace, one.question.target) for one in evaluation.asked])
    found = [one for one in labelled if one.target in one.trace.paths()]
    if len(found) < FEWEST or not evaluation.controls:
        raise InputError(
            f"{counted(len(found), 'labelled question')} find their file, and "
            f"{len(evaluation.controls)} have no answer.",
            f"A floor needs {FEWEST} that find it, and one that has no answer.",
        )

    values = strictest_free(floored, found, evaluation.controls)
    return FreeFloor(
        pipeline=asked if values == floored.own() else floored.at(values),
        thresholds=dict(zip(floored.names, values, strict=True)),
        hits=Share(len(found), len(labelled)),
        files=len({one.target for one in found}),
        before=_answered(floored, evaluation.controls, floored.own()),
        after=_answered(floored, evaluation.controls, values),
    )


def strictest_free(floored: Floored, found: Sequence[Labelled], controls: Sequence[Trace]) -> Values:
    """The strictest thresholds with which all of `found` find their file, and fewer controls get an answer.

    They are the system's own if no others do.
    """
    own = floored.own()
    for values in levels(floored, controls, [one.trace for one in found]):
        stricter = all(new >= old for new, old in zip(values, own, strict=True))
        if stricter and all(one.target in floored.paths(one.trace, values) for one in found):
            fewer = _answered(floored, controls, values).hits < _answered(floored, controls, own).hits
            return values if fewer else own
    return own


def _answered(floored: Floored, controls: Sequence[Trace], values: Values) -> Share:
    return Share(sum(bool(floored.paths(one, values)) for one in controls), len(controls))

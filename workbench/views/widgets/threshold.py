"""The threshold lab: you move a floor and other settings, and see which files fall.

The page computes what a setting changes from the traces, with the formulas that Python used. Here are the
same numbers as text. A setting that leads to another search is asked of Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import ceil, floor, isfinite, log10
from typing import Any

import numpy as np

from workbench.errors import InputError, WorkbenchError
from workbench.measure.evaluation import Evaluation, evaluate
from workbench.measure.questions import Control as Unanswerable
from workbench.measure.questions import QuestionSet
from workbench.measure.reach import Reach, reaches
from workbench.measure.thresholds import Outcome, Scores, scores
from workbench.registry import declared_module
from workbench.retrieval.settings import with_settings
from workbench.tables import Table, apart
from workbench.views.living.controls import Choice, Control, Living, Span
from workbench.views.living.data import LEGS, Axis, lab_data
from workbench.views.widgets.panel import Link, Panel, Selection, number_text, pipeline_code

Reaches = Mapping[str, Reach | None]


def score_axis(scores: Scores) -> Axis:
    """An axis that covers all scores and the floor: 0 to 1, wider, or narrower if no score is above 0.1."""
    every = np.concatenate([scores.target, scores.other, scores.control, [0.0]])
    every = np.append(every[np.isfinite(every)], scores.floor if isfinite(scores.floor) else 0.0)
    most = float(every.max())
    unit = 10.0 ** floor(log10(most)) / 2 if most > 0 else 1.0
    high = 1.0 if 0.1 < most <= 1 or most <= 0 else ceil(most / unit) * unit
    low = floor(float(every.min()) / (high / 10)) * (high / 10)
    return Axis(low, high, 10.0 ** (floor(log10(high)) - 2))


def reach_words(leg: str, reaches: Reaches, min_score: float) -> str:
    """The highest score of one leg alone, against a floor: `… 0.7 × 0 + 0.3 × 1 = 0.300 < 0.350`."""
    if leg not in reaches:
        return f"no {leg} leg"
    reach = reaches[leg]
    if reach is None:
        return f"{leg} leg alone: also depends on the texts"
    score, least = apart(reach.score, min_score)
    made = "" if reach.formula.text == f"{reach.score:g}" else f"{reach.formula} = "
    verdict = f"≥ {least}" if reach.score >= min_score else f"< {least}, out of reach"
    return f"{leg} leg alone: at most {made}{score} {verdict}"


class ThresholdLab(Panel):
    """Settings that you move over the answers of evaluated pipelines: a floor, weights, constants.

    `settings` are `system`, `question`, `min_score`, `moved` (other parameters, such as
    `{"fusion.vector": 0.5}`) and `chunk`, the id of the selected one. Choosing a system also sets its own
    floor. `evaluation` is that of the moved pipeline, `scores` are its numbers, and `outcome` is what passes
    the floor: hits, precision, and the unanswerable questions for which nothing is returned.

    Raises InputError if there is no evaluation.
    """

    name = "threshold-lab"
    selects: Mapping[str, str] = {"system": "system", "question": "question"}

    def __init__(self, evaluations: Sequence[Evaluation], link: Link = True) -> None:
        if not evaluations:
            raise InputError("The threshold lab got no evaluation.", "Pass the result of evaluate().")
        self._by_system = {one.pipeline.name: one for one in evaluations}
        self._evaluated = lru_cache(maxsize=64)(self._evaluate)
        self._scored = lru_cache(maxsize=64)(lambda *key: scores(self._evaluated(*key)))
        names = tuple(self._by_system)
        questions = tuple(trace.question for trace in _traces(evaluations[0]))
        self.system, self.question = Choice(names, names[0]), Choice(questions, _first_missed(evaluations[0]))
        self.moved, self.chunk = Control(value={}), Control(value="")
        axis = score_axis(self.scores)
        self.floor = Span(axis.low, axis.high, axis.step, max(axis.low, self.scores.floor))
        self.controls = {
            "system": self.system, "question": self.question, "min_score": self.floor,
            "moved": self.moved, "chunk": self.chunk,
        }  # fmt: skip
        self.system.observe(self._system_changed, "value")
        self.root = Living(self._data(evaluations), self.controls, self.name, self.heard_from_page)
        self.chunk.observe(self._picked, "value")
        self.join(link)

    def follow(self, chosen: Selection) -> None:
        """Shows the selected system and question, and marks the selected chunk."""
        if chosen.system in self.system.options:
            self.system.value = chosen.system
        if chosen.question in self.question.options:
            self.question.value = chosen.question
        self.chunk.value = chosen.chunk.id if chosen.chunk else ""

    @property
    def evaluation(self) -> Evaluation:
        """The evaluation of the chosen system with the parameters that were moved, but for the floor."""
        return self._evaluated(*self._key)

    @property
    def _key(self) -> tuple[str, tuple[tuple[str, float], ...]]:
        return self.system.value, tuple(sorted(self.moved.value.items()))

    @property
    def scores(self) -> Scores:
        return self._scored(*self._key)

    @property
    def reaches(self) -> Reaches:
        """The highest score that each leg of the chosen system can reach alone."""
        return reaches(self.evaluation.pipeline)

    @property
    def outcome(self) -> Outcome:
        """What passes the floor."""
        return self.scores.at(self.floor.value)

    @property
    def hits(self) -> int:
        """The number of questions with a hit at this floor."""
        return self.outcome.hits.hits

    @property
    def floor_text(self) -> str:
        """The floor with all of its decimals."""
        return number_text(self.floor.value, self.floor.step)

    @property
    def sentence(self) -> str:
        outcome = self.outcome
        hits, silent = outcome.hits, outcome.silent
        empty = (
            f"and nothing is returned for {silent.hits} of {silent.n} unanswerable questions."
            if silent.n
            else "and no question is known to be unanswerable."
        )
        said = f"At {self.floor_text}, {hits.hits} of {hits.n} questions hit, {_precision(outcome)},"
        return " ".join([said, empty, *_reach_sentences(self.reaches, self.floor.value)])

    @property
    def table(self) -> Table:
        own = self.scores.floor
        columns = [self._column(floor) for floor in (self.floor.value, own)]
        return Table(
            f"{self.system.value}: what passes the floor",
            ("", f"at {self.floor_text}", f"its own floor: {own:g}" if isfinite(own) else "without a floor"),
            tuple((name, *(column[name] for column in columns)) for name in columns[0]),
        )

    def _column(self, floor: float) -> dict[str, str]:
        outcome = self.scores.at(floor)
        return {
            "questions with a hit": f"{outcome.hits.hits} of {outcome.hits.n}",
            "returned chunks of the right file": f"{outcome.right.hits} of {outcome.right.n}",
            "precision": "–" if outcome.precision is None else f"{outcome.precision:.1%}",
            "unanswerable, nothing returned": f"{outcome.silent.hits} of {outcome.silent.n}",
        }

    @property
    def code(self) -> str:
        moved = _as_text(self.moved.value)
        return "\n".join(
            [
                "import workbench as wb",
                *(["from workbench.retrieval.settings import with_settings"] if moved else []),
                "",
                *pipeline_code(self._by_system[self.system.value].pipeline),
                *([f"pipeline = with_settings(pipeline, {moved!r})"] if moved else []),
                f"pipeline = pipeline.asking(min_score={self.floor.value!r})",
                "[evaluated] = wb.evaluate(questions, [pipeline], index)",
                "print(evaluated.overall, evaluated.silent)",
            ]
        )

    def _evaluate(self, system: str, moved: tuple[tuple[str, float], ...]) -> Evaluation:
        there = self._by_system[system]
        if not moved:
            return there
        if there.index is None:
            raise InputError(
                f"The evaluation of {system} does not know its index.", "Evaluate with workbench.evaluate()."
            )
        asked = QuestionSet(
            questions=tuple(one.question for one in there.asked),
            controls=tuple(Unanswerable(question=one.question) for one in there.controls),
        )
        pipeline = with_settings(there.pipeline, _as_text(dict(moved)))
        return evaluate(asked, [pipeline], there.index)[0]

    def _data(self, evaluations: Sequence[Evaluation]) -> dict[str, Any]:
        part = declared_module("diagram", "reliability")
        return lab_data([
            (one, score_axis(scores(one)), reaches(one.pipeline), part and part.diagram_data(one))
            for one in evaluations
        ])  # fmt: skip

    def heard_from_page(self) -> str:
        """Searches with the settings of the page, which cannot compute them, or says why not."""
        chosen = self.system.value
        try:
            shown = [self.evaluation if name == chosen else one for name, one in self._by_system.items()]
        except WorkbenchError as error:
            return f"{error.problem} {error.remedy}"
        self.root.data = self._data(shown)
        return ""

    def _system_changed(self, _: Any) -> None:
        self.moved.value = {}
        axis = score_axis(self.scores)
        self.floor.span(axis.low, axis.high, axis.step)
        self.floor.value = max(axis.low, self.scores.floor)

    def _picked(self, change: Any) -> None:
        every = (chunk for trace in _traces(self.evaluation) for chunk in trace.chunks)
        chunk = next((one for one in every if one.id == change["new"]), None)
        if chunk and not self._apart:
            chosen = {"question": self.question.value, "system": self.system.value}
            self.selection.choose(chunk=chunk, **chosen)


def _traces(evaluation: Evaluation) -> list[Any]:
    return [*(one.trace for one in evaluation.asked), *evaluation.controls]


def _first_missed(evaluation: Evaluation) -> str:
    """The first question whose right file is a candidate and not returned, or else the first of all."""
    missed = (
        one.trace.question
        for one in evaluation.asked
        if not one.hit and any(chunk.path == one.question.target for chunk in one.trace.chunks)
    )
    return next(missed, _traces(evaluation)[0].question)


def _as_text(moved: Mapping[str, float]) -> list[str]:
    return [f"{name}={value!r}" for name, value in moved.items()]


def _reach_sentences(reaches: Reaches, floor: float) -> list[str]:
    """What one leg alone can reach; one sentence where the stages say for no leg."""
    if all(reaches.get(leg, True) is None for leg in LEGS):
        return ["What one leg alone can reach also depends on the texts."]
    return [f"{reach_words(leg, reaches, floor).capitalize()}." for leg in LEGS]


def _precision(outcome: Outcome) -> str:
    if outcome.precision is None:
        return "no question returns anything"
    right = outcome.right
    return (
        f"{right.hits} of {right.n} returned chunks are of the right file (precision {outcome.precision:.0%})"
    )

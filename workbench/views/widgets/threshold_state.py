"""The state of the threshold lab: you move a floor and other settings, and see which files fall.

The page computes what a setting changes from the traces, with the formulas that Python used. Here are the
same numbers as text. A setting that leads to another search is asked of Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import isfinite
from typing import Any

import numpy as np
import traitlets

from workbench.errors import InputError
from workbench.measure.distributions import deciding_floor
from workbench.measure.evaluation import Evaluation, evaluate, of_one_set
from workbench.measure.questions import Control as Unanswerable
from workbench.measure.questions import QuestionSet
from workbench.measure.reach import Reach, reaches
from workbench.measure.thresholds import Outcome, Scores, scores
from workbench.records import Chunk, Trace
from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.settings import as_settings, with_values
from workbench.tables import Table, apart
from workbench.views.living.as_code import number_text, pipeline_code
from workbench.views.living.data import LEGS, Axis, Judged, axis_of, floor_name, lab_data, unknown_reach
from workbench.views.living.selection import Link, Selection
from workbench.views.living.state import RefusedError, State, setting

DISTRIBUTIONS = ("histogram", "share that passes", "strip")
"""How the numbers that a floor looks at are drawn."""

Reaches = Mapping[str, Reach | None]


def score_axis(scores: Scores) -> Axis:
    """The axis of the number that a floor looks at."""
    return axis_of(np.concatenate([scores.target, scores.other, scores.control]), scores.floor)


def reach_words(leg: str, reaches: Reaches, min_score: float) -> str:
    """The highest score of one leg alone, against a floor: `… 0.7 × 0 + 0.3 × 1 = 0.300 < 0.350`."""
    if leg not in reaches:
        return f"no {leg} leg"
    reach = reaches[leg]
    if unknown := unknown_reach(reach):
        return f"{leg} leg alone: {unknown}"
    assert reach
    score, least = apart(reach.score, min_score)
    computation = "" if reach.formula.text == f"{reach.score:g}" else f"{reach.formula} = "
    verdict = f"≥ {least}" if reach.score >= min_score else f"< {least}, out of reach"
    return f"{leg} leg alone: at most {computation}{score} {verdict}"


class ThresholdState(State):
    """The settings of the threshold lab, and what passes its floor: see `ThresholdLab`."""

    name, view, main = "threshold-lab", "threshold", "min_score"
    selects: Mapping[str, str] = {"system": "system", "question": "question"}

    system = setting(traitlets.Unicode())
    question = setting(traitlets.Unicode())
    min_score = setting(traitlets.Float())
    moved = setting(traitlets.Dict(help="numbers by name, such as {'fusion.vector': 0.5}"))
    distribution = setting(traitlets.Unicode(DISTRIBUTIONS[0]))
    chunk = setting(traitlets.Unicode())

    def __init__(self, evaluations: Sequence[Evaluation], link: Link = True) -> None:
        evaluations = of_one_set(evaluations)
        first = evaluations[0]
        floor = scores(first)
        axis = score_axis(floor)
        super().__init__(
            system=first.pipeline.name, question=_first_missed(first), min_score=max(axis.low, floor.floor)
        )
        self._by_system = {one.pipeline.name: one for one in evaluations}
        self._evaluated = lru_cache(maxsize=64)(self._evaluate)
        self._scored = lru_cache(maxsize=64)(lambda *key: scores(self._evaluated(*key)))
        self._axes = {name: score_axis(scores(one)) for name, one in self._by_system.items()}
        self.options = {
            "system": list(self._by_system), "question": [trace.question for trace in first.traces],
            "distribution": list(DISTRIBUTIONS),
        }  # fmt: skip
        self.begin(link)

    def following(self, before: Mapping[str, Any]) -> Mapping[str, Any]:
        """Another system comes as it is, with its own floor."""
        if self.system == before["system"] or self.system not in self._by_system:
            return {}
        return {"moved": {}, "min_score": self._own(self.system)}

    def adapt(self) -> None:
        if self.system in self._axes:
            axis = self._axes[self.system]
            self.set_trait("spans", {"min_score": [axis.low, axis.high]})

    def check(self, name: str) -> None:
        super().check(name)
        if name == "moved" and self.moved:
            pipeline = self._by_system[self.system].pipeline
            if (floor := floor_name(pipeline)) in self.moved:
                raise RefusedError(f"{floor} is not moved here.", "Set min_score, which is this floor.")
            with_values(pipeline, self.moved)

    def wanted(self, chosen: Selection) -> Mapping[str, Any]:
        """The selected system and question."""
        wanted = {"system": chosen.system, "question": chosen.question}
        return {name: value for name, value in wanted.items() if value in self.options[name]}

    def shown(self, name: str) -> Iterator[str] | None:
        """The candidates of the question."""
        return (chunk.id for chunk in self._candidates()) if name == "chunk" else None

    def _candidates(self) -> Iterator[Chunk]:
        """The candidates of the question; last those of moved settings, which take a search."""
        yield from _trace_of(self.question, self._by_system[self.system]).chunks
        if self.moved:
            yield from _trace_of(self.question, self.evaluation).chunks

    def choice(self, changed: set[str]) -> dict[str, Any]:
        """A candidate selects its chunk, its question and its system."""
        chosen = super().choice(changed)
        every = self._candidates()
        if "chunk" in changed and (chunk := next((one for one in every if one.id == self.chunk), None)):
            chosen |= {"chunk": chunk, "question": self.question, "system": self.system}
        return chosen

    @property
    def evaluation(self) -> Evaluation:
        """The evaluation of the chosen system with the parameters that were moved, but for the floor."""
        return self._evaluated(*self._key)

    @property
    def _key(self) -> tuple[str, tuple[tuple[str, float], ...]]:
        return self.system, tuple(sorted(self.moved.items()))

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
        return self.scores.at(self.min_score)

    @property
    def hits(self) -> int:
        """The number of questions with a hit at this floor."""
        return self.outcome.hits.hits

    @property
    def floor_text(self) -> str:
        """The floor, by its name where the pictures are about other thresholds, and what else was moved."""
        decides = deciding_floor(self._by_system[self.system].pipeline)
        name = "" if decides is None or isinstance(decides, MinScore) else "min score "
        others = ", ".join(sorted(f"{key} {value:.4g}" for key, value in self.moved.items()))
        floor = number_text(self.min_score, self._axes[self.system].step)
        return f"{name}{floor}{f' with {others}' if others else ''}"

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
        reach = [] if self.moved else _reach_sentences(self.reaches, self.min_score)
        return " ".join([said, empty, *reach])

    @property
    def table(self) -> Table:
        own = self.scores.floor
        columns = [self._column(floor) for floor in (self.min_score, own)]
        return Table(
            f"{self.system}: what passes the floor",
            ("", f"at {self.floor_text}", f"its own floor: {own:g}" if isfinite(own) else "without a floor"),
            tuple((name, *(column[name] for column in columns)) for name in columns[0]),
        )

    def _column(self, floor: float) -> dict[str, str]:
        outcome = self.scores.at(floor)
        return {
            "questions with a hit": f"{outcome.hits.hits} of {outcome.hits.n}",
            "returned chunks of the right file": f"{outcome.right.hits} of {outcome.right.n}",
            "precision": "–" if outcome.precision is None else f"{100 * outcome.precision:.1f} %",
            "unanswerable, nothing returned": f"{outcome.silent.hits} of {outcome.silent.n}",
        }

    @property
    def code(self) -> str:
        moved = as_settings(self.moved)
        return "\n".join(
            [
                "import workbench as wb",
                *(["from workbench.retrieval.settings import with_settings"] if moved else []),
                "",
                *pipeline_code(self._by_system[self.system].pipeline),
                *([f"pipeline = with_settings(pipeline, {moved!r})"] if moved else []),
                f"pipeline = pipeline.asking(min_score={self.min_score:.6g})",
                "[evaluated] = wb.evaluate(questions, [pipeline], index)",
                "print(evaluated.overall, evaluated.silent)",
            ]
        )

    @property
    def _at_floor(self) -> Evaluation:
        """The evaluation with the parameters that were moved, and the floor."""
        return self._evaluated(*self._key, self.min_score)

    def _evaluate(
        self, system: str, moved: tuple[tuple[str, float], ...], floor: float | None = None
    ) -> Evaluation:
        there = self._by_system[system]
        if not moved and floor is None:
            return there
        if there.index is None:
            raise InputError(
                f"The evaluation of {system} does not know its index.", "Evaluate with workbench.evaluate()."
            )
        asked = QuestionSet(
            questions=tuple(one.question for one in there.asked),
            controls=tuple(Unanswerable(question=one.question) for one in there.controls),
        )
        pipeline = with_values(there.pipeline, dict(moved))
        return evaluate(
            asked, [pipeline if floor is None else pipeline.asking(min_score=floor)], there.index
        )[0]

    @property
    def facts(self) -> Mapping[str, Any]:
        every = {
            name: Judged(one, self._axes[name], self._own(name), {}) for name, one in self._by_system.items()
        }
        if self.moved or self.min_score != self._own(self.system):
            every[self.system] = replace(every[self.system], evaluation=self._at_floor, moved=self.moved)
        return lab_data(list(every.values()))

    def _own(self, system: str) -> float:
        """The floor of a system as it is, or the lower end of the axis if it has none."""
        return max(self._axes[system].low, self._by_system[system].pipeline.floor)

    def pressed(self, button: Mapping[str, Any]) -> None:
        """Searches with the settings of the page, which cannot compute them."""
        self.show()


def _trace_of(question: str, evaluation: Evaluation) -> Trace:
    return next(one for one in evaluation.traces if one.question == question)


def _first_missed(evaluation: Evaluation) -> str:
    """The first question whose right file is a candidate and not returned, or else the first of all."""
    missed = (
        one.trace.question
        for one in evaluation.asked
        if not one.hit and any(chunk.path == one.question.target for chunk in one.trace.chunks)
    )
    return next(missed, evaluation.traces[0].question)


def _reach_sentences(reaches: Reaches, floor: float) -> list[str]:
    """What one leg alone can reach; one sentence where the stages say for no leg."""
    unknown = {unknown_reach(reaches[leg]) if leg in reaches else "" for leg in LEGS}
    if len(unknown) == 1 and (why := unknown.pop()):
        return [f"What one leg alone can reach {why}."]
    return [f"{reach_words(leg, reaches, floor).capitalize()}." for leg in LEGS]


def _precision(outcome: Outcome) -> str:
    if outcome.precision is None:
        return "no question returns anything"
    right, share = outcome.right, f"{100 * outcome.precision:.0f} %"
    return f"{right.hits} of {right.n} returned chunks are of the right file (precision {share})"

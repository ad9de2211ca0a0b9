"""The threshold lab: you move a floor over the scores of evaluated pipelines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

import ipywidgets as w
import numpy as np

from workbench.errors import InputError
from workbench.lab.checks.reliability import Reliability, can_be_judged, reliability
from workbench.lab.evaluation import Evaluation
from workbench.lab.lint import reaches
from workbench.lab.thresholds import Outcome, Scores, compared, scores
from workbench.records import Floats, Rows, Trace
from workbench.views.figures.reliability import (
    line_updates,
    reliability_axes,
    reliability_figure,
    reliability_updates,
)
from workbench.views.figures.style import live, move, restyle
from workbench.views.figures.threshold import (
    KINDS,
    LEGS,
    Marked,
    Reaches,
    axis_updates,
    bar_ends,
    floor_updates,
    mark_updates,
    reach_words,
    score_span,
    system_updates,
    threshold_figure,
)
from workbench.views.measuring.reliability import HEADS, reliability_rows, sentence
from workbench.views.widgets.panel import HIDDEN, SHOWN, Number, Panel, Table, number_text, pipeline_code
from workbench.views.widgets.selection import Link, Selection


class ThresholdLab(Panel):
    """A floor that you move over the scores of evaluated pipelines, and what passes it.

    `settings` are `system` and `min_score`; choosing a system also sets its own floor. `scores` are the
    numbers behind the figure, `outcome` is what passes the floor: hits, precision, and the unanswerable
    questions for which nothing is returned. Raises InputError if there is no evaluation.
    """

    name = "threshold-lab"
    selects: Mapping[str, str] = {"system": "system"}

    def __init__(self, evaluations: Sequence[Evaluation], link: Link = True) -> None:
        if not evaluations:
            raise InputError("The threshold lab got no evaluation.", "Pass the result of evaluate().")
        self._by_system = {one.pipeline.name: one for one in evaluations}
        self._scores = {name: scores(one) for name, one in self._by_system.items()}
        self._reaches = {name: reaches(one.pipeline) for name, one in self._by_system.items()}
        self.system = w.Dropdown(
            options=list(self._by_system), description="system", layout={"width": "27em"}
        )
        span = score_span(self.scores)
        at = max(span.low, self.scores.floor)
        number = Number("min score", at, *span, self._floor_changed, width="26em")
        self.number, self.floor, self.box = number, number.slider, number.box
        self.controls = {"system": self.system, "min_score": self.floor}
        self.outcome = self.scores.at(self.floor.value)
        self.diagram = ReliabilityDiagram(evaluations, self.system.value)
        low = self.diagram.figure is not None
        self.figure = live(threshold_figure(self.scores, self.reaches, self.floor.value, low))
        self.system.observe(self._system_changed, "value")
        self.lay_out([self.system, self.number.row], self.diagram.below(self.figure), link)

    def follow(self, chosen: Selection) -> None:
        """Shows the selected system, and marks the scores of the selected question's candidates."""
        if chosen.system in self._by_system:
            self.system.value = chosen.system
        self._floor_changed(None)

    def picked(self, name: str, point: int) -> Mapping[str, Any]:
        """A bar selects its system, and the next of its candidates with its question."""
        kind, low, high = name.removesuffix(" passing"), *bar_ends(self.scores, point)
        if name.endswith(" passing"):
            low = max(low, self.floor.value)
        inside = [
            (trace.question, trace.chunks[row])
            for trace, rows in self._rows_of(kind)
            for row in rows[(self._compared(trace)[rows] >= low) & (self._compared(trace)[rows] < high)]
        ]
        if not inside:
            return {}
        before = (self.selection.question, self.selection.chunk)
        question, chunk = inside[(inside.index(before) + 1) % len(inside) if before in inside else 0]
        return {"system": self.system.value, "question": question, "chunk": chunk}

    def _rows_of(self, kind: str) -> Iterator[tuple[Trace, Rows]]:
        """Each search, with the rows of its candidates of this kind."""
        if kind == "control":
            yield from ((trace, np.arange(len(trace.chunks))) for trace in self.evaluation.controls)
        else:
            for one in self.evaluation.asked:
                right = [chunk.path == one.question.target for chunk in one.trace.chunks]
                yield one.trace, np.flatnonzero(np.array(right, bool) == (kind == "target"))

    @property
    def _marked(self) -> Marked:
        """The scores of the selected question's candidates, by kind, and of the selected chunk among them."""
        chosen = self.selection
        found: dict[str, tuple[Floats, Floats]] = {}
        for kind in KINDS:
            asked = [pair for pair in self._rows_of(kind) if pair[0].question == chosen.question]
            of_question = [self._compared(trace)[row] for trace, rows in asked for row in rows]
            of_chunk = [
                self._compared(trace)[row]
                for trace, rows in asked
                for row in rows
                if chosen.covers(trace.chunks[row])
            ]
            found[kind] = np.array(of_question), np.array(of_chunk)
        return found

    def _compared(self, trace: Trace) -> Floats:
        return compared(trace, self.evaluation.pipeline)

    @property
    def evaluation(self) -> Evaluation:
        return self._by_system[self.system.value]

    @property
    def scores(self) -> Scores:
        return self._scores[self.system.value]

    @property
    def reaches(self) -> Reaches:
        """The highest score that each leg of the chosen system can reach alone."""
        return self._reaches[self.system.value]

    @property
    def hits(self) -> int:
        """The number of questions with a hit at this floor."""
        return self.outcome.hits.hits

    @property
    def silent(self) -> int:
        """The number of unanswerable questions for which nothing is returned at this floor."""
        return self.outcome.silent.hits

    @property
    def floor_text(self) -> str:
        """The floor with all of its decimals."""
        return number_text(self.floor.value, self.floor.step)

    @property
    def sentence(self) -> str:
        hits, silent = self.outcome.hits, self.outcome.silent
        empty = (
            f"and nothing is returned for {silent.hits} of {silent.n} unanswerable questions."
            if silent.n
            else "and no question is known to be unanswerable."
        )
        said = f"At {self.floor_text}, {hits.hits} of {hits.n} questions hit, {_precision(self.outcome)},"
        legs = _reach_sentences(self.reaches, self.floor.value)
        return " ".join([said, empty, *legs, *([self.diagram.sentence] if self.diagram.shown else [])])

    @property
    def tables(self) -> Sequence[Table]:
        return [self.table, *([self.diagram.table] if self.diagram.shown else [])]

    @property
    def table(self) -> Table:
        own = self.scores.floor
        columns = [self._column(self.outcome, self.floor.value), self._column(self.scores.at(own), own)]
        return Table(
            f"{self.system.value}: what passes the floor",
            ("", f"at {self.floor_text}", f"its own floor: {own:g}" if isfinite(own) else "without a floor"),
            tuple((name, *(column[name] for column in columns)) for name in columns[0]),
        )

    def _column(self, outcome: Outcome, floor: float) -> dict[str, str]:
        passing = {
            f"candidates passing: {label.replace('<br>', ' ')}": getattr(self.scores, kind)
            for kind, (label, _) in KINDS.items()
        }
        return {
            "questions with a hit": f"{outcome.hits.hits} of {outcome.hits.n}",
            "returned chunks of the right file": f"{outcome.right.hits} of {outcome.right.n}",
            "precision": "–" if outcome.precision is None else f"{outcome.precision:.1%}",
            "unanswerable, nothing returned": f"{outcome.silent.hits} of {outcome.silent.n}",
            **{name: f"{np.sum(some >= floor)} of {some.size}" for name, some in passing.items()},
        }

    @property
    def code(self) -> str:
        return "\n".join(
            [
                "import workbench as wb",
                "",
                *pipeline_code(self.evaluation.pipeline),
                f"pipeline = pipeline.asking(min_score={self.floor.value!r})",
                "[evaluated] = wb.evaluate(questions, [pipeline], index)",
                "print(evaluated.overall, evaluated.silent)",
            ]
        )

    def _system_changed(self, _: Any) -> None:
        low, high, step = score_span(self.scores)
        move(self.figure, system_updates(self.scores, self.reaches), axis_updates(self.scores))
        self.diagram.choose(self.system.value)
        self.number.span(low, high, step, max(low, self.scores.floor))
        self._floor_changed(None)

    def _floor_changed(self, _: Any) -> None:
        chosen = self.floor.value
        self.outcome = self.scores.at(chosen)
        move(self.figure, floor_updates(self.scores, self.reaches, self.outcome, chosen))
        move(self.figure, mark_updates(self._marked))
        self.diagram.move(chosen)
        self.tell()


class ReliabilityDiagram:
    """The reliability diagram below the lab, hidden for a system that states no probability.

    It needs questions with and without an answer. Without any system that states a probability there is no
    figure at all.
    """

    def __init__(self, evaluations: Sequence[Evaluation], system: str) -> None:
        self._found = {one.pipeline.name: reliability(one) for one in evaluations if can_be_judged(one)}
        first = self._found.get(system) or next(iter(self._found.values()), None)
        self.figure = None if first is None else live(reliability_figure(first, low=True))
        self._box = None if self.figure is None else w.VBox([self.figure])
        self.choose(system)

    def below(self, figure: w.Widget) -> w.Widget:
        """`figure` with the diagram below it."""
        return figure if self._box is None else w.VBox([figure, self._box])

    def choose(self, system: str) -> None:
        """Shows the diagram of this system, or hides it."""
        self._chosen = self._found.get(system)
        if self._box is not None:
            self._box.layout = SHOWN if self.shown else HIDDEN
        if self._chosen is not None:
            restyle(self.figure, reliability_updates(self._chosen), reliability_axes(self._chosen))

    def move(self, floor: float) -> None:
        """Moves the line of the floor."""
        if self._chosen is not None:
            restyle(self.figure, line_updates(self._chosen, floor))

    @property
    def shown(self) -> bool:
        """Whether the chosen system states a probability."""
        return self._chosen is not None

    @property
    def reliability(self) -> Reliability:
        """The numbers of the diagram. Raises InputError where it is hidden."""
        if self._chosen is None:
            raise InputError("This system states no probability.", "Choose another system.")
        return self._chosen

    @property
    def sentence(self) -> str:
        """What the diagram shows, in words."""
        return sentence(self.reliability)

    @property
    def table(self) -> Table:
        """The bins of the diagram."""
        rows = tuple(reliability_rows(self.reliability))
        return Table(f"{self.reliability.system}: how true its probabilities are", HEADS, rows)


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

"""The threshold lab: a floor to slide over the scores of evaluated pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets as w

from workbench.lab.lint import Reach, reach
from workbench.lab.metrics import Evaluation
from workbench.lab.thresholds import Scores, scores
from workbench.records import InputError
from workbench.views.figures.style import live
from workbench.views.figures.threshold import reach_traces, score_range, threshold_figure, trace_updates


class ThresholdLab:
    """A floor to slide over the scores of evaluated pipelines, and what it lets through.

    `settings` are the named values, `scores` the numbers behind the figure, `sentence` what the status
    line says. Display it in a notebook by naming it.
    """

    def __init__(self, evaluations: Sequence[Evaluation]) -> None:
        if not evaluations:
            raise InputError("The threshold lab was given no evaluation.", "Pass what evaluate() returned.")
        self._by_system = {one.pipeline.name: one for one in evaluations}
        self._scores = {name: scores(one) for name, one in self._by_system.items()}
        names = list(self._by_system)
        self.system = w.Dropdown(options=names, description="system", layout={"width": "27em"})
        self.floor = w.FloatSlider(
            value=self.scores.floor, min=0, max=1, step=0.01, description="min score", readout=False,
            layout={"width": "24em"},
        )  # fmt: skip
        self.box = w.BoundedFloatText(
            value=self.floor.value, min=0, max=1, step=0.01, layout={"width": "5em"},
            description="", tooltip="min score",
        )  # fmt: skip
        self.status = w.HTML()
        self.figure = live(threshold_figure(self.scores, self.reaches))
        w.link((self.floor, "value"), (self.box, "value"))
        self.system.observe(self._system_changed, "value")
        self.floor.observe(self._floor_changed, "value")
        self._say()
        controls = w.HBox([self.system, self.floor, self.box], layout={"flex_flow": "row wrap"})
        self.view = w.VBox([controls, self.status, self.figure])

    @property
    def settings(self) -> Mapping[str, Any]:
        """The named values: the system, and the floor."""
        return {"system": self.system.value, "min_score": self.floor.value}

    @property
    def evaluation(self) -> Evaluation:
        return self._by_system[self.system.value]

    @property
    def scores(self) -> Scores:
        return self._scores[self.system.value]

    @property
    def reaches(self) -> list[Reach]:
        """What each leg of the chosen system can reach alone."""
        found = (reach(self.evaluation.pipeline, leg) for leg in ("vector", "keyword"))
        return [one for one in found if one is not None]

    @property
    def hits(self) -> int:
        """How many questions hit at the floor."""
        return self.scores.hits(self.floor.value)

    @property
    def silent(self) -> int:
        """How many controls return nothing at the floor."""
        return self.scores.silent(self.floor.value)

    @property
    def sentence(self) -> str:
        """What the figure shows, in words."""
        n, controls = len(self.scores.best), len(self.scores.control_best)
        floor = self.floor.value
        beyond = [
            f"A candidate of the {one.leg} leg alone reaches {one.score:.2f} at most"
            + (", below the floor: it is always dropped." if one.score < floor else ".")
            for one in self.reaches
        ]
        found = (
            f"At {floor:.2f}, {self.hits} of {n} questions hit, "
            f"and {self.silent} of {controls} controls return nothing."
        )
        return " ".join([found, *beyond])

    def _system_changed(self, _: Any) -> None:
        low, high = score_range(self.scores)
        with self.figure.batch_update():
            for index, trace in enumerate(reach_traces(self.reaches, high)):
                self.figure.data[index].x = trace.x
                self.figure.data[index].text = trace.text
            self.figure.update_xaxes(range=[low, high])
            self._draw()
        self.floor.value = self.scores.floor
        self._say()

    def _floor_changed(self, _: Any) -> None:
        with self.figure.batch_update():
            self._draw()
        self._say()

    def _draw(self) -> None:
        for index, update in trace_updates(self.scores, self.floor.value).items():
            self.figure.data[index].update(update)

    def _say(self) -> None:
        self.status.value = f'<div role="status">{self.sentence}</div>'

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.view._repr_mimebundle_(**kwargs)

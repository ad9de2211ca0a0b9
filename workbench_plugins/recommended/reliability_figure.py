"""The reliability diagram: what a system states about its questions, against what is true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, nan

import ipywidgets as w
import numpy as np
import plotly.graph_objects as go

from workbench.errors import InputError
from workbench.measure.evaluation import Evaluation
from workbench.views.figures.style import BLUE, CLEAR, FLOOR, GRID, INK, SKY, dress, live
from workbench.views.text import Table
from workbench.views.widgets.panel import HIDDEN, SHOWN
from workbench_plugins.recommended.reliability import (
    Reliability,
    can_be_judged,
    reliability,
    reliability_table,
    sentence,
)

TOP = 1.08


def reliability_figure(found: Reliability, floor: float | None = None, low: bool = False) -> go.Figure:
    """A point for each bin: its mean stated probability, and the share of answerable questions.

    The error bars are 95 % intervals. A system that states true probabilities is on the dashed diagonal.
    Below: the number of questions in each bin. The line is the floor, by default the system's own. A `low`
    figure leaves room for another one on the screen.
    """
    share = np.array([one.answerable.rate for one in found.bins])
    least, most = np.array([one.answerable.interval for one in found.bins]).T
    counts = [one.answerable.n for one in found.bins]
    highest = 1.35 * max(counts)
    at = found.floor if floor is None else floor
    line = [at, at] if isfinite(at) else []
    figure = go.Figure(
        [
            go.Scatter(
                name="true probabilities", x=[0, 1], y=[0, 1], mode="lines", hoverinfo="skip",
                line={"color": INK, "width": 1, "dash": "dot"},
            ),
            go.Scatter(
                name="answerable questions", x=[one.stated for one in found.bins], y=share,
                error_y={
                    "type": "data", "symmetric": False, "array": most - share, "arrayminus": share - least,
                    "color": BLUE, "thickness": 1.5, "width": 4,
                },
                mode="lines+markers", cliponaxis=False,
                line={"color": BLUE, "width": 1.5}, marker={"size": 9, "symbol": "circle"},
                hovertemplate="stated %{x:.2f}, true for %{y:.2f}<extra></extra>",
            ),
            go.Bar(
                name="questions in the bin", x=[(one.low + one.high) / 2 for one in found.bins], y=counts,
                width=[0.9 * (one.high - one.low) for one in found.bins], text=[str(one) for one in counts],
                yaxis="y2", textposition="outside", cliponaxis=False,
                textfont={"color": INK}, marker={"color": SKY, "line": {"color": INK, "width": 1}},
                hovertemplate="%{y} questions<extra></extra>",
            ),
            *(
                go.Scatter(
                    name=name, x=line, y=[0, top], yaxis=axis, mode="lines", showlegend=axis == "y",
                    hovertemplate="floor %{x:.2f}<extra></extra>",
                    line={"color": FLOOR, "width": 2, "dash": "dash"},
                )
                for name, axis, top in (("floor", "y", TOP), ("floor below", "y2", highest))
            ),
        ]
    )  # fmt: skip
    small = {"size": 10} if low else {}  # so that no name of an axis reaches into the next
    title = {"text": "stated probability of an answer", "standoff": 4}
    share_title = {"text": "share that is<br>answerable", "font": small}
    dress(figure, height=216 if low else 440)
    figure.update_layout(
        margin={"b": 34}, showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "bgcolor": CLEAR},
        xaxis={"range": [0, 1], "anchor": "y2", "title": title},
        yaxis={"domain": [0.34, 1], "range": [0, TOP], "title": share_title},
        yaxis2={
            "domain": [0, 0.26], "range": [0, highest], "title": {"text": "questions", "font": small},
            "gridcolor": GRID, "zeroline": False, "fixedrange": True,
        },
    )  # fmt: skip
    return figure


class ReliabilityDiagram:
    """The reliability diagram below the threshold lab, hidden for a system that states no probability.

    `found` has what the systems state, by their names; there must be one.
    """

    def __init__(self, found: Mapping[str, Reliability], system: str) -> None:
        self._found = found
        first = found.get(system) or next(iter(found.values()))
        self.figure = live(reliability_figure(first, low=True))
        self.box = w.VBox([self.figure])
        self.show(system, nan)

    def show(self, system: str, floor: float) -> None:
        """Shows the diagram of this system with a floor, or hides it."""
        self._chosen = self._found.get(system)
        self.box.layout = SHOWN if self.shown else HIDDEN
        if self._chosen is not None:
            self.figure.show(reliability_figure(self._chosen, floor, low=True))

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
    def sentences(self) -> list[str]:
        """What the diagram shows, in words; nothing where it is hidden."""
        return [sentence(self.reliability)] if self.shown else []

    @property
    def tables(self) -> list[Table]:
        """The bins of the diagram; nothing where it is hidden."""
        return [reliability_table(self.reliability)] if self.shown else []


def diagram_below(evaluations: Sequence[Evaluation], system: str) -> ReliabilityDiagram | None:
    """The diagram for a lab that shows these evaluations; None if none of them can be judged."""
    found = {one.pipeline.name: reliability(one) for one in evaluations if can_be_judged(one)}
    return ReliabilityDiagram(found, system) if found else None

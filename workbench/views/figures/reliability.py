"""The reliability diagram: what a system states about its questions, against what is true."""

from __future__ import annotations

from math import isfinite

import numpy as np
import plotly.graph_objects as go

from workbench.lab.checks.reliability import Reliability
from workbench.views.figures.style import BLUE, CLEAR, FLOOR, GRID, INK, SKY, Updates, dress, restyle

TOP = 1.08


def reliability_figure(found: Reliability, floor: float | None = None, low: bool = False) -> go.Figure:
    """A point for each bin: its mean stated probability, and the share of answerable questions.

    The error bars are 95 % intervals. A system that states true probabilities is on the dashed diagonal.
    Below: the number of questions in each bin. The line is the floor, by default the system's own. A `low`
    figure leaves room for another one on the screen.
    """
    figure = go.Figure(
        [
            go.Scatter(
                name="true probabilities", x=[0, 1], y=[0, 1], mode="lines", hoverinfo="skip",
                line={"color": INK, "width": 1, "dash": "dot"},
            ),
            go.Scatter(
                name="answerable questions", mode="lines+markers", cliponaxis=False,
                line={"color": BLUE, "width": 1.5}, marker={"size": 9, "symbol": "circle"},
                hovertemplate="stated %{x:.2f}, true for %{y:.2f}<extra></extra>",
            ),
            go.Bar(
                name="questions in the bin", yaxis="y2", textposition="outside", cliponaxis=False,
                textfont={"color": INK}, marker={"color": SKY, "line": {"color": INK, "width": 1}},
                hovertemplate="%{y} questions<extra></extra>",
            ),
            *(
                go.Scatter(
                    name=name, yaxis=axis, mode="lines", hovertemplate="floor %{x:.2f}<extra></extra>",
                    line={"color": FLOOR, "width": 2, "dash": "dash"}, showlegend=axis == "y",
                )
                for name, axis in (("floor", "y"), ("floor below", "y2"))
            ),
        ]
    )  # fmt: skip
    _dress(figure, low)
    restyle(figure, reliability_updates(found), reliability_axes(found))
    restyle(figure, line_updates(found, found.floor if floor is None else floor))
    return figure


def _dress(figure: go.Figure, low: bool) -> None:
    small = {"size": 10} if low else {}  # so that no name of an axis reaches into the next
    dress(figure, height=216 if low else 440)
    figure.update_layout(
        margin={"b": 34},
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "bgcolor": CLEAR},
        xaxis={
            "range": [0, 1],
            "anchor": "y2",
            "title": {"text": "stated probability of an answer", "standoff": 4},
        },
        yaxis={
            "domain": [0.34, 1],
            "range": [0, TOP],
            "title": {"text": "share that is<br>answerable", "font": small},
        },
        yaxis2={
            "domain": [0, 0.26],
            "title": {"text": "questions", "font": small},
            "gridcolor": GRID,
            "zeroline": False,
            "fixedrange": True,
        },
    )


def reliability_updates(found: Reliability) -> Updates:
    """The traces of a system: its points with their intervals, and the bars."""
    share = np.array([one.answerable.rate for one in found.bins])
    low, high = np.array([one.answerable.interval for one in found.bins]).T
    counts = [one.answerable.n for one in found.bins]
    return {
        "answerable questions": {
            "x": np.array([one.stated for one in found.bins]),
            "y": share,
            "error_y": {
                "type": "data", "symmetric": False, "array": high - share, "arrayminus": share - low,
                "color": BLUE, "thickness": 1.5, "width": 4,
            },
        },
        "questions in the bin": {
            "x": np.array([(one.low + one.high) / 2 for one in found.bins]),
            "y": np.array(counts),
            "width": np.array([0.9 * (one.high - one.low) for one in found.bins]),
            "text": [str(count) for count in counts],
        },
    }  # fmt: skip


def reliability_axes(found: Reliability) -> Updates:
    """The axis of the counts, with room for the numbers above the bars."""
    return {"yaxis2": {"range": [0, _highest(found)]}}


def line_updates(found: Reliability, floor: float) -> Updates:
    """The line of a floor; none for a system without one."""
    x = np.array([floor, floor] if isfinite(floor) else [np.nan, np.nan])
    return {
        "floor": {"x": x, "y": np.array([0, TOP])},
        "floor below": {"x": x, "y": np.array([0, _highest(found)])},
    }


def _highest(found: Reliability) -> float:
    return 1.35 * max(one.answerable.n for one in found.bins)

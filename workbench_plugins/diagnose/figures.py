"""The map of a sweep: right answers by one or two parameters, the present and the best setting marked."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from workbench.errors import InputError
from workbench.records import Floats
from workbench_plugins.diagnose.sweep import Axis, Sweep, best, right_answers
from workbench_plugins.style import BLUE, GREEN, INK, ORANGE, dress

RIGHT = "right answers"


def sweep_figure(sweep: Sweep) -> go.Figure:
    """A line for one axis, a heat map for two. With more axes, each cell shows its best other setting.

    Raises InputError for a sweep that moved one parameter at a time: it has no grid.
    """
    if len(sweep.axes) == 1:
        return _line(sweep)
    return _heat_map(sweep)


def _line(sweep: Sweep) -> go.Figure:
    right = right_answers(sweep)
    silent = sweep.silent[:-1].sum(axis=1)
    values = [setting[0] for setting in sweep.settings]
    figure = go.Figure(
        [
            go.Scatter(x=values, y=right, name=RIGHT, mode="lines+markers", line={"color": BLUE}),
            go.Scatter(
                x=values,
                y=silent,
                name="of them unanswerable, nothing returned",
                mode="lines+markers",
                line={"color": ORANGE, "dash": "dot"},
            ),
            _mark([sweep.now[0]], [_now(sweep)], "now", "x", INK),
            _mark([values[best(sweep)]], [right[best(sweep)]], "best", "star", GREEN),
        ]
    )
    figure.update_xaxes(type=_type(sweep.axes[0]))
    return _dressed(figure, sweep.axes[0].name, RIGHT)


def grid_of(sweep: Sweep) -> Floats:
    """The right answers by the second axis and the first: the best over all other axes.

    Raises InputError if a cell of the grid has no setting.
    """
    columns, rows = ({value: i for i, value in enumerate(one.values)} for one in sweep.axes[:2])
    cells = np.full((len(rows), len(columns)), np.nan)
    for setting, right in zip(sweep.settings, right_answers(sweep), strict=True):
        if setting[0] in columns and setting[1] in rows:
            place = rows[setting[1]], columns[setting[0]]
            cells[place] = np.fmax(cells[place], right)
    if np.isnan(cells).any():
        raise InputError(
            "A sweep of one parameter at a time has no map.",
            "Sweep the grid, or print the table of settings.",
        )
    return cells


def _heat_map(sweep: Sweep) -> go.Figure:
    first, second, *others = sweep.axes
    cells, chosen = grid_of(sweep), sweep.settings[best(sweep)]
    figure = go.Figure(
        [
            go.Heatmap(
                x=list(first.values),
                y=list(second.values),
                z=cells,
                colorscale="Cividis",
                colorbar={"title": {"text": RIGHT}},
                hovertemplate=f"{first.name} %{{x}}<br>{second.name} %{{y}}<br>%{{z}} {RIGHT}<extra></extra>",
            ),
            _mark([sweep.now[0]], [sweep.now[1]], "now", "x", "white"),
            _mark([chosen[0]], [chosen[1]], "best", "star", "white"),
        ]
    )
    also = f" (best over {', '.join(one.name for one in others)})" if others else ""
    figure.update_layout(xaxis_type=_type(first), yaxis_type=_type(second))
    return _dressed(figure, first.name, f"{second.name}{also}", height=460)


def _now(sweep: Sweep) -> float:
    return float(sweep.values[-1].sum() + sweep.silent[-1].sum())


def _mark(x: list[object], y: list[object], name: str, symbol: str, colour: str) -> go.Scatter:
    marker = {"symbol": symbol, "size": 14, "color": colour, "line": {"color": "black", "width": 1}}
    return go.Scatter(x=x, y=y, name=name, mode="markers", marker=marker)


def _dressed(figure: go.Figure, across: str, up: str, height: int = 420) -> go.Figure:
    """The figure in the common style, with titles of its axes and a legend above it."""
    dress(figure, height=height)
    figure.update_layout(xaxis_title_text=across, yaxis_title_text=up, showlegend=True, margin={"t": 50})
    figure.update_layout(legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"})
    return figure


def _type(axis: Axis) -> str:
    return "linear" if axis.is_number else "category"

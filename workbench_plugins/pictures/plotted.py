"""Distributions of scores against their floors, as a figure of plotly: to zoom, to hover over and to save."""

from __future__ import annotations

import math

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from workbench.errors import InputError
from workbench.measure.thresholds import Scores

COLOURS = {"right file": "#0072B2", "other files": "#999999", "unanswerable questions": "#D55E00"}
"""Three colours of Okabe and Ito, which colour-blind readers can tell apart."""


def score_figure(*systems: Scores) -> go.Figure:
    """Draws how the scores of candidates are distributed, one row for each system, with its floor as a line.

    A bar is the share of its group, in percent: candidates of the right file, of other files, and of the
    unanswerable questions. The axis of a row is the number that the system's floor looks at. Raises
    InputError without a system.
    """
    if not systems:
        raise InputError("score_figure got no system.", "Give it wb.scores(run) for each evaluation.")
    figure = make_subplots(len(systems), 1)
    for row, one in enumerate(systems, 1):
        groups = dict(zip(COLOURS, (one.target, one.other, one.control), strict=True))
        for group, colour in COLOURS.items():
            bars = go.Histogram(x=groups[group], name=group, legendgroup=group, bingroup=str(row))
            figure.add_trace(bars.update(showlegend=row == 1, marker_color=colour), row, 1)
        if math.isfinite(one.floor):
            figure.add_vline(
                one.floor, row=row, col=1, annotation_text=f"floor {one.floor:g}", annotation_yshift=16
            )
        figure.update_xaxes(title_text=f"{one.system}: {one.column}", row=row, col=1)
    figure.update_traces(histnorm="percent", opacity=0.6)
    figure.update_yaxes(title_text="% of the group")
    return figure.update_layout(barmode="overlay", height=140 + 260 * len(systems))

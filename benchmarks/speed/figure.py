"""The time of a search by the number of chunks, one panel for each kind of search."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from benchmarks.speed.ours import ThisWorkbench
from benchmarks.speed.report import Search, SpeedReport

# The palette of Okabe and Ito. Colours are never the only sign: symbols and words repeat them.
BLUE, ORANGE, PURPLE, GREEN = "#0072B2", "#E69F00", "#CC79A7", "#009E73"
VERMILION, SKY, GREY = "#D55E00", "#56B4E9", "#999999"

INK = "#757575"

CLEAR, GRID = "rgba(0,0,0,0)", "rgba(128,128,128,0.25)"
COLOURS = (BLUE, INK, ORANGE, GREEN, PURPLE, VERMILION, SKY, GREY)
SYMBOLS = ("circle", "x", "square", "diamond", "triangle-up", "star", "cross", "hexagon")
PANEL = 300


def speed_figure(report: SpeedReport) -> go.Figure:
    """Medians of CPU time with their quartiles on logarithmic axes; ours has the thick line."""
    kinds = sorted({one.kind for one in report.searches})
    systems = list(dict.fromkeys(one.system for one in report.searches))
    figure = make_subplots(rows=len(kinds), cols=1, subplot_titles=kinds, vertical_spacing=0.3 / len(kinds))
    named: set[str] = set()
    for row, kind in enumerate(kinds, 1):
        for place, system in enumerate(systems):
            several = sorted(
                (one for one in report.searches if (one.kind, one.system) == (kind, system)),
                key=lambda one: one.chunks,
            )
            if several:
                figure.add_trace(_line(several, place, system not in named), row=row, col=1)
                named.add(system)
    dress(figure, height=PANEL * len(kinds) + 60)
    figure.update_xaxes(type="log", title_text="chunks")
    figure.update_yaxes(type="log", title_text="ms of CPU time")
    figure.update_layout(showlegend=True, margin={"t": 40})
    return figure


def _line(several: list[Search], place: int, legend: bool) -> go.Scatter:
    quartiles = np.array([np.percentile(one.cpu_ms, [25, 50, 75]) for one in several])
    own = several[0].system == ThisWorkbench.name
    colour = COLOURS[place % len(COLOURS)]
    return go.Scatter(
        x=[one.chunks for one in several],
        y=quartiles[:, 1],
        error_y={"array": quartiles[:, 2] - quartiles[:, 1], "arrayminus": quartiles[:, 1] - quartiles[:, 0]},
        mode="lines+markers",
        name=several[0].system,
        legendgroup=several[0].system,
        showlegend=legend,
        line={"color": colour, "width": 3 if own else 1.5},
        marker={"symbol": SYMBOLS[place % len(SYMBOLS)], "size": 9},
    )


def dress(figure: go.Figure, height: int, width: int = 840) -> None:
    """Sets the common look: transparent background, text for light and dark themes, a faint fixed grid."""
    # Without a template and without draggable axes, a browser redraws in two thirds of the time.
    figure.update_xaxes(gridcolor=GRID, zeroline=False, fixedrange=True)
    figure.update_yaxes(gridcolor=GRID, zeroline=False, fixedrange=True)
    figure.update_layout(
        template=go.layout.Template(),
        showlegend=False,
        height=height,
        width=width,
        margin={"l": 90, "r": 20, "t": 20, "b": 50},
        paper_bgcolor=CLEAR,
        plot_bgcolor=CLEAR,
        font={"color": INK, "size": 12},
    )

"""What all figures share: a palette that colour-blind readers can tell apart, and quiet axes on any theme."""

from __future__ import annotations

import plotly.graph_objects as go

# Okabe and Ito's palette, told apart under the common colour-blindnesses; the figures say it again in words.
TARGET, OTHER, CONTROL = "#0072B2", "#E69F00", "#CC79A7"
REACHED, OUT_OF_REACH, FLOOR, INK = "#009E73", "#999999", "#D55E00", "#757575"
FADED = 0.3

CLEAR, GRID = "rgba(0,0,0,0)", "rgba(128,128,128,0.25)"


def live(figure: go.Figure) -> go.FigureWidget:
    """The same figure as a widget, whose traces can be changed while it is shown."""
    return go.FigureWidget(figure)


def dress(figure: go.Figure, height: int, width: int = 840) -> None:
    """The house's look: a clear background, ink that both themes carry, and a faint grid."""
    figure.update_xaxes(gridcolor=GRID, zeroline=False)
    figure.update_yaxes(gridcolor=GRID, zeroline=False)
    figure.update_layout(
        showlegend=False,
        height=height,
        width=width,
        margin={"l": 90, "r": 20, "t": 20, "b": 50},
        modebar={"bgcolor": CLEAR, "color": OUT_OF_REACH},
        paper_bgcolor=CLEAR,
        plot_bgcolor=CLEAR,
        font={"color": INK, "size": 12},
    )

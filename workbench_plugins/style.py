"""The palette and the axes of all figures; colour-blind readers can tell the colours apart."""

from __future__ import annotations

import plotly.graph_objects as go

# The palette of Okabe and Ito. Colours are never the only sign: symbols and words repeat them.
BLUE, ORANGE, PURPLE, GREEN = "#0072B2", "#E69F00", "#CC79A7", "#009E73"
VERMILION, SKY, GREY = "#D55E00", "#56B4E9", "#999999"

FLOOR = VERMILION
INK = "#757575"

CLEAR, GRID = "rgba(0,0,0,0)", "rgba(128,128,128,0.25)"


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

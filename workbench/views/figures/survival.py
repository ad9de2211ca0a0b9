"""The survival chart's figure: how many targets are left after each step of a search, system by system."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from workbench.lab.survival import Survival, SurvivalStep
from workbench.views.figures.style import BLUE, GREEN, INK, ORANGE, PURPLE, SKY, VERMILION, dress, restyle

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION)
PATTERNS = ("", "/", "x", ".", "-", "+", "|", "\\")


def survival_figure(survivals: Sequence[Survival], chosen: Sequence[str] | None = None) -> go.Figure:
    """One bar per step and system: the number of questions whose target is left, written on top.

    `chosen` names the systems to show; by default all.
    """
    figure = go.Figure([_bars(place, one) for place, one in enumerate(survivals)])
    names = [one.system for one in survivals] if chosen is None else chosen
    restyle(figure, survival_updates(survivals, names), axis_updates(survivals))
    dress(figure, height=420)
    figure.update_layout(
        barmode="group",
        bargap=0.2,
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    )
    figure.update_yaxes(title_text="questions whose target is left")
    figure.update_xaxes(title_text="step of the search")
    return figure


def _bars(place: int, survival: Survival) -> go.Bar:
    return go.Bar(
        name=survival.system,
        x=[step.says.replace(" ", "<br>", 1) for step in SurvivalStep],
        textposition="outside",
        cliponaxis=False,
        textfont={"color": INK},
        marker={
            "color": COLOURS[place % len(COLOURS)],
            "pattern": {
                "shape": PATTERNS[place % len(PATTERNS)],
                "fillmode": "overlay",
                "fgcolor": "white",
                "size": 6,
                "solidity": 0.2,
            },
        },
        hovertemplate="%{x}: %{y}<extra>%{fullData.name}</extra>",
    )


def survival_updates(survivals: Sequence[Survival], chosen: Sequence[str]) -> dict[str, dict[str, object]]:
    """The properties of the bars, by system: the number left after each step, and whether it is shown."""
    updates: dict[str, dict[str, object]] = {}
    for one in survivals:
        counts = [one.count(step) for step in SurvivalStep]
        updates[one.system] = {"y": counts, "text": counts, "visible": one.system in chosen}
    return updates


def axis_updates(survivals: Sequence[Survival]) -> dict[str, dict[str, object]]:
    """The properties of the axes: from 0 to the number of questions, with room for the labels."""
    most = max((len(one.survivors) for one in survivals), default=1)
    return {"yaxis": {"range": [0, most * 1.12]}}

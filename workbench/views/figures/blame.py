"""The figures of the diagnosis: the blame waterfall, and what each fix wins and loses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from workbench.lab.diagnose.blame import Blame, BlamePart
from workbench.lab.diagnose.fixes import Fix
from workbench.views.diagnosis import number, share_text, signed
from workbench.views.figures.style import BLUE, GREEN, INK, VERMILION, Updates, dress, restyle

SHARES = "shares"
WON, LOST = "answers won", "answers lost"
OUTSIDE = {"textposition": "outside", "cliponaxis": False}


def by_share(blame: Blame) -> list[BlamePart]:
    """The changes, the one with the largest share first."""
    return sorted(blame.parts, key=lambda one: (-abs(one.share), one.name))


def blame_figure(blame: Blame) -> go.Figure:
    """A waterfall of the Shapley shares: it begins at the first system's value and ends at the second's.

    A share from drawn orders has its standard error in the text of its bar.
    """
    figure = go.Figure(go.Waterfall(name=SHARES, **_looks()))
    dress(figure, height=420)
    figure.update_xaxes(title_text="change")
    restyle(figure, *blame_updates(blame))
    return figure


def blame_updates(blame: Blame) -> tuple[Updates, Updates]:
    """The properties of the waterfall and of its axes."""
    return {SHARES: _bars(blame)}, {"yaxis": {"title": {"text": blame.measure}}}


def _bars(blame: Blame) -> dict[str, Any]:
    parts = by_share(blame)
    names = [part.name.replace("_", " ").replace(" and ", "<br>and ") for part in parts]
    alone = [[signed(part.alone), signed(part.last)] for part in parts]
    return {
        "x": [_broken(blame.one.name), *names, _broken(blame.other.name)],
        "y": [float(blame.before), *(float(part.share) for part in parts), float(blame.after)],
        "measure": ["absolute", *["relative"] * len(parts), "total"],
        "text": [number(blame.before), *map(share_text, parts), number(blame.after)],
        "customdata": [["", ""], *alone, ["", ""]],
    }


def _broken(name: str) -> str:
    """A system's name with its changes on a second line, since a bar is narrow."""
    return name.replace("+", "<br>+", 1)


def _looks() -> dict[str, Any]:
    return {
        "textposition": "outside",
        "textfont": {"color": INK},
        "cliponaxis": False,
        "increasing": {"marker": {"color": GREEN}},
        "decreasing": {"marker": {"color": VERMILION}},
        "totals": {"marker": {"color": BLUE}},
        "hovertemplate": "%{x}<br>%{text}<br>alone %{customdata[0]}, last %{customdata[1]}<extra></extra>",
    }


def fixes_figure(fixes: Sequence[Fix], names: Sequence[str]) -> go.Figure:
    """Two bars for each fix: the right answers that it wins over the questions, and those that it loses."""
    won = go.Bar(name=WON, orientation="h", marker={"color": GREEN}, **OUTSIDE)
    lost = go.Bar(
        name=LOST,
        orientation="h",
        marker={"color": VERMILION, "pattern": {"shape": "/", "fillmode": "overlay", "size": 6}},
        **OUTSIDE,
    )
    figure = go.Figure([won, lost])
    dress(figure, height=340)
    figure.update_layout(barmode="group", margin={"l": 250}, showlegend=True)
    figure.update_xaxes(title_text="questions, unanswerable ones included", rangemode="tozero")
    figure.update_yaxes(autorange="reversed")
    restyle(figure, fixes_updates(fixes, names))
    return figure


def fixes_updates(fixes: Sequence[Fix], names: Sequence[str]) -> Updates:
    """The properties of the bars: the best fix on top."""
    wins, losses = [one.price.wins for one in fixes], [one.price.losses for one in fixes]
    return {
        WON: {"x": wins, "y": list(names), "text": [f"{one} won" for one in wins]},
        LOST: {"x": losses, "y": list(names), "text": [f"{one} lost" for one in losses]},
    }

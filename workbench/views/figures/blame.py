"""The figure of a blame: a waterfall of the shares."""

from __future__ import annotations

import plotly.graph_objects as go

from workbench.measure.blame import Blame
from workbench.views.blame import by_share, number, share_text, signed
from workbench.views.figures.style import BLUE, GREEN, INK, VERMILION, dress


def blame_figure(blame: Blame) -> go.Figure:
    """A waterfall of the Shapley shares: it begins at the first system's value and ends at the second's.

    A share from drawn orders has its standard error in the text of its bar.
    """
    parts = by_share(blame)
    names = [part.name.replace("_", " ").replace(" and ", "<br>and ") for part in parts]
    alone = [[signed(part.alone), signed(part.last)] for part in parts]
    bars = go.Waterfall(
        x=[_broken(blame.one.name), *names, _broken(blame.other.name)],
        y=[float(blame.before), *(float(part.share) for part in parts), float(blame.after)],
        measure=["absolute", *["relative"] * len(parts), "total"],
        text=[number(blame.before), *map(share_text, parts), number(blame.after)],
        customdata=[["", ""], *alone, ["", ""]],
        hovertemplate="%{x}<br>%{text}<br>alone %{customdata[0]}, last %{customdata[1]}<extra></extra>",
        textposition="outside", textfont={"color": INK}, cliponaxis=False,
        increasing={"marker": {"color": GREEN}}, decreasing={"marker": {"color": VERMILION}},
        totals={"marker": {"color": BLUE}},
    )  # fmt: skip
    figure = go.Figure(bars)
    dress(figure, height=420)
    figure.update_xaxes(title_text="change")
    figure.update_yaxes(title_text=blame.measure)
    return figure


def _broken(name: str) -> str:
    """A system's name with its changes on a second line, since a bar is narrow."""
    return name.replace("+", "<br>+", 1)

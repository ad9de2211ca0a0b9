"""The figure of the fusion lab: ranks in each leg, fused ranks, and fused scores with the floor."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import floor, log10
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from workbench.records import Floats
from workbench.views.figures.style import BLUE, FLOOR, GREEN, GREY, INK, Updates, dress, restyle
from workbench_plugins.engines.presets import FusedHit

MOST_ROWS = 16
NAME = 27
"""The number of characters shown of a candidate's name."""

LEGS = {"keyword": 0.0, "vector": 1.4}
"""The x where the lines of each leg begin; they are one unit wide."""

NAMES = 2.65
"""The x where the names of the candidates begin."""

STYLES: dict[str, dict[str, Any]] = {
    "passing": {"line": {"color": GREEN, "width": 2}, "marker": {"symbol": "circle", "size": 8}},
    "dropped": {
        "line": {"color": GREY, "width": 1.2, "dash": "dot"},
        "marker": {"symbol": "x-thin-open", "size": 7},
    },
    "watched": {"line": {"color": BLUE, "width": 4}, "marker": {"symbol": "diamond", "size": 11}},
}


def fusion_figure(places: Sequence[FusedHit], min_score: float, watched: Collection[str] = ()) -> go.Figure:
    """A slope chart from the ranks in the keyword leg and in the vector leg to the fused ranks.

    Ties end in one point, and a bracket joins their names. The right plot shows the fused scores and the
    floor. Solid lines and dots pass the floor, dotted lines and crosses do not. Thick lines with diamonds
    are the candidates in `watched`, by id. At most MOST_ROWS candidates are drawn, watched ones always.
    """
    figure = make_subplots(
        rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.02, column_widths=[0.7, 0.3]
    )
    box = {"size": 17, "symbol": "square-open", "line": {"color": INK, "width": 2}, "color": INK}
    slopes = [
        go.Scatter(name=f"{leg} {kind}", mode="lines+markers", hoverinfo="none", **style)
        for leg in LEGS
        for kind, style in STYLES.items()
    ]
    left = [
        *slopes,
        go.Scatter(name="names", mode="text", textposition="middle right", hoverinfo="none"),
        go.Scatter(name="ties", mode="lines", line={"color": INK, "width": 3}, hoverinfo="skip"),
    ]
    right = [
        go.Scatter(name="stems", mode="lines", line={"color": GREY, "width": 1}, hoverinfo="skip"),
        *map(_dots, ("passing", "dropped")),
        go.Scatter(name="selected", mode="markers", marker=box, hoverinfo="skip", cliponaxis=False),
        go.Scatter(
            name="floor", mode="lines+text", line={"color": FLOOR, "width": 2, "dash": "dash"},
            hovertemplate="min score %{x:.3g}<extra></extra>", textposition="top center", cliponaxis=False,
            textfont={"color": INK},
        ),
    ]  # fmt: skip
    for column, traces in enumerate((left, right), 1):
        for trace in traces:
            figure.add_trace(trace, row=1, col=column)
    _dress(figure, places)
    restyle(figure, fusion_updates(places, min_score, watched), fusion_axes(places, min_score))
    return figure


def _dots(kind: str) -> go.Scatter:
    symbol, colour = STYLES[kind]["marker"]["symbol"], STYLES[kind]["line"]["color"]
    return go.Scatter(
        name=f"score {kind}", mode="markers", hovertemplate="fused score %{x:.4f}<extra></extra>",
        marker={"symbol": symbol, "color": colour, "size": 9, "line": {"width": 2, "color": colour}},
    )  # fmt: skip


def shown(places: Sequence[FusedHit], watched: Collection[str]) -> list[FusedHit]:
    """The candidates that are drawn, one per row: the watched ones, and the first of the others."""
    wanted = sorted(enumerate(places), key=lambda pair: (pair[1].id not in watched, pair[0]))
    return [one for _, one in sorted(wanted[:MOST_ROWS], key=lambda pair: pair[0])]


def row_of(name: str, point: int) -> int | None:
    """The row, counted from 0, that a point of the trace `name` stands for; None for other traces."""
    if name.split()[0] in LEGS:
        return point // 3
    return point if name == "names" or name.startswith("score ") else None


def figure_height(places: Sequence[FusedHit]) -> int:
    """The height in pixels for the rows and the axes."""
    return 110 + max(10, _rows(places)) * 14


def _rows(places: Sequence[FusedHit]) -> int:
    """The number of rows: all candidates that are drawn, and all ranks have one."""
    ranks = [given.rank for one in places for given in (one.keyword, one.vector) if given]
    return max(min(len(places), MOST_ROWS), *ranks, 1)


def _lines(starts: Floats, ends: Floats) -> Floats:
    """One coordinate of many lines in one trace: start, end, gap, start, …"""
    return np.column_stack([starts, ends, np.full(starts.size, np.nan)]).ravel()


def fusion_updates(
    places: Sequence[FusedHit],
    min_score: float,
    watched: Collection[str] = (),
    marked: Collection[str] = (),
) -> Updates:
    """The trace properties that depend on the lists, the fusion, the floor, and the chosen candidates.

    Every trace has all rows, and those of no candidate are empty: a browser that moves marks neither draws
    nor clears a trace without a point.
    """
    drawn, rows = shown(places, watched), np.arange(1.0, MOST_ROWS + 1)
    scores = np.array([one.score for one in drawn])
    passing, bold = scores >= min_score, np.array([one.id in watched for one in drawn], bool)
    drawn_as = {"passing": passing & ~bold, "dropped": ~passing & ~bold, "watched": bold}
    firsts, middles, sizes = _ties(drawn)
    updates: Updates = {}
    for leg, start in LEGS.items():
        ranks = np.array([_rank(one, leg) for one in drawn])
        for kind, some in drawn_as.items():
            updates[f"{leg} {kind}"] = {
                "x": _lines(rows * 0 + start, rows * 0 + start + 1),
                "y": _lines(_only(some, ranks), _only(some, middles)),
            }
    chosen = np.array([one.id in marked for one in drawn], bool)
    for name, some in (("score passing", passing), ("score dropped", ~passing), ("selected", chosen)):
        updates[name] = {"x": _only(some, scores), "y": rows}
    updates["stems"] = {"x": _lines(_every(scores * 0), _every(scores)), "y": _lines(rows, rows)}
    names = [_name(one, yes) for one, yes in zip(drawn, bold, strict=True)]
    updates["names"] = {
        "x": np.full(rows.size, NAMES + 0.06), "y": rows, "text": [*names, *[""] * (MOST_ROWS - len(names))]
    }  # fmt: skip
    heads = (sizes > 1) & (firsts == np.arange(1, len(drawn) + 1))
    updates["ties"] = {
        "x": _lines(rows * 0 + NAMES, rows * 0 + NAMES),
        "y": _lines(_only(heads, firsts - 0.3), _only(heads, firsts + sizes - 0.7)),
    }
    updates["floor"] = {
        "x": [min_score] * 2, "y": [0.4, _rows(places) + 0.6], "text": [f"min score {min_score:g}", ""]
    }  # fmt: skip
    return updates


def _only(some: NDArray[np.bool_], column: Floats) -> Floats:
    """The numbers of some rows, and NaN for the other rows of the figure."""
    return _every(np.where(some, column, np.nan))


def _every(column: Floats) -> Floats:
    """A number for every row of the figure; NaN for a row without a candidate."""
    return np.pad(column, (0, MOST_ROWS - column.size), constant_values=np.nan)


def fusion_axes(places: Sequence[FusedHit], min_score: float) -> Updates:
    """The properties of the axes: all rows of ranks; scores and the floor, up to 1, 2 or 5 times 10ⁿ.

    Round ends keep the axis still while the floor moves; otherwise the floor's line would not seem to move.
    """
    rows, ends = _rows(places), [0.0, min_score, *(one.score for one in places)]
    ticks = {"dtick": 1, "tick0": 1} if rows <= 12 else {"dtick": 4, "tick0": 0}
    ranks = {"range": [rows + 0.6, 0.4], **ticks}
    low, high = 0.0 - _step_up(-min(ends)), _step_up(max(ends))
    return {"yaxis": ranks, "yaxis2": ranks, "xaxis2": {"range": [low, high + 0.03 * (high - low)]}}


def _step_up(most: float) -> float:
    """The smallest 1, 2 or 5 times a power of ten that is at least the number; 0 for 0."""
    if most <= 0:
        return 0.0
    unit = 10.0 ** floor(log10(most))
    return next(times * unit for times in (1, 2, 5, 10) if times * unit >= most * (1 - 1e-9))


def _rank(one: FusedHit, leg: str) -> float:
    given = one.keyword if leg == "keyword" else one.vector
    return given.rank if given else np.nan


def _ties(drawn: Sequence[FusedHit]) -> tuple[Floats, Floats, Floats]:
    """For each candidate's tie (perhaps of one): its first row, its middle, and its number of rows."""
    first, back, sizes = np.unique([one.first for one in drawn], return_inverse=True, return_counts=True)
    starts = 1.0 + np.concatenate([[0], np.cumsum(sizes)[:-1]]) if first.size else np.empty(0)
    return starts[back], (starts + (sizes - 1) / 2)[back], sizes[back].astype(float)


def _name(one: FusedHit, bold: bool) -> str:
    short = one.id if len(one.id) <= NAME else f"…{one.id[1 - NAME :]}"
    text = f"{one.first}{'=' if one.tied else ' '} {short}"
    return f"<b>{text}</b>" if bold else text


def _dress(figure: go.Figure, places: Sequence[FusedHit]) -> None:
    dress(figure, height=figure_height(places))
    figure.update_layout(margin={"l": 50, "t": 25, "r": 50}, font={"size": 11})
    figure.update_yaxes(title_text="rank, from 1 (best)", row=1, col=1)
    poles = [place for start in LEGS.values() for place in (start, start + 1)]
    words = [text for leg in LEGS for text in (f"{leg}<br>rank", "fused<br>place")]
    figure.update_xaxes(range=[-0.2, 4.6], tickvals=poles, ticktext=words, row=1, col=1)
    figure.update_yaxes(showgrid=False, row=1, col=1)
    figure.update_xaxes(title_text="fused score (no unit)", nticks=6, row=1, col=2)

"""The threshold lab's figure: scores by kind of candidate, the floor across them, what one leg can reach."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from workbench.lab.lint import Reach
from workbench.lab.thresholds import Scores
from workbench.records import Floats
from workbench.views.figures.style import (
    CONTROL,
    FADED,
    FLOOR,
    INK,
    OTHER,
    OUT_OF_REACH,
    REACHED,
    TARGET,
    dress,
)

BIN = 0.02

ROWS = (
    ("target", "chunks of the<br>right file", TARGET),
    ("other", "chunks of<br>other files", OTHER),
    ("control", "answers to<br>controls", CONTROL),
)


def threshold_figure(scores: Scores, reaches: Sequence[Reach], floor: float | None = None) -> go.Figure:
    """The distribution of a pipeline's scores, with the floor across it and what one leg alone can reach.

    Top row: per leg, a bar up to the highest score that a candidate of that leg alone can get, and a
    hatched one over what it cannot reach. Below: candidates per score, for the right file, other files,
    and controls; what the floor drops is faded.
    """
    low, high = score_range(scores)
    figure = make_subplots(
        rows=4, cols=1, shared_xaxes=True, vertical_spacing=0.05, row_heights=[0.16, 0.28, 0.28, 0.28]
    )
    for trace in reach_traces(reaches, high):
        figure.add_trace(trace, row=1, col=1)
    for row, (name, label, colour) in enumerate(ROWS, 2):
        figure.add_trace(_histogram(name, colour), row=row, col=1)
        figure.update_yaxes(title_text=label, row=row, col=1)
    for row in range(1, 5):
        figure.add_trace(_floor_line(row), row=row, col=1)
    for index, update in trace_updates(scores, scores.floor if floor is None else floor).items():
        figure.data[index].update(update)
    _dress(figure, low, high)
    return figure


def score_range(scores: Scores) -> tuple[float, float]:
    """The ends of the score axis: all the scores, and at least 0 to 1."""
    every = np.concatenate([scores.target, scores.other, scores.control, [0.0, 1.0]])
    return float(np.floor(every.min() / 0.1) * 0.1), float(np.ceil(every.max() / 0.1) * 0.1)


def reach_traces(reaches: Sequence[Reach], high: float) -> list[go.Bar]:
    """Two bars a leg, always for both legs: what it reaches alone, and what it cannot."""
    by_leg = {one.leg: one.score for one in reaches}
    legs = ["keyword", "vector"]
    reached = [by_leg.get(leg, 0.0) for leg in legs]
    words = [
        f"{leg} leg alone: up to {by_leg[leg]:.2f}" if leg in by_leg else f"no {leg} leg" for leg in legs
    ]
    return [
        go.Bar(
            name="reached", y=[0, 1], x=reached, orientation="h", marker_color=REACHED, text=words,
            textposition="inside", insidetextanchor="start", constraintext="none", hoverinfo="text",
            textfont={"color": "white"},
        ),
        go.Bar(
            name="out of reach", y=[0, 1], x=[high - score for score in reached], orientation="h",
            text=["out of reach"] * 2, textposition="inside", insidetextanchor="end", hoverinfo="text",
            textfont={"color": INK},
            marker={"color": "rgba(0,0,0,0)", "line": {"color": OUT_OF_REACH, "width": 1},
                    "pattern": {"shape": "/", "fgcolor": OUT_OF_REACH, "size": 6}},
        ),
    ]  # fmt: skip


def _histogram(name: str, colour: str) -> go.Bar:
    return go.Bar(
        name=name, marker={"color": colour}, width=BIN * 0.9,
        hovertemplate="score %{x:.2f}: %{y} candidates<extra></extra>",
    )  # fmt: skip


def _floor_line(row: int) -> go.Scatter:
    # A trace, not a layout shape: shapes that move are lost under Voila.
    return go.Scatter(
        name=f"floor {row}", mode="lines", line={"color": FLOOR, "width": 2, "dash": "dash"},
        hovertemplate="floor %{x:.2f}<extra></extra>",
    )  # fmt: skip


def trace_updates(scores: Scores, floor: float) -> dict[int, dict[str, object]]:
    """What to set on each of the figure's traces, by index, for these scores and this floor."""
    low, high = score_range(scores)
    edges = np.arange(low, high + BIN / 2, BIN)
    updates: dict[int, dict[str, object]] = {}
    tallest = [1.0]
    for index, (name, _, _) in enumerate(ROWS, 2):
        counts = counted(getattr(scores, name), edges)
        centres = edges[:-1] + BIN / 2
        faded = np.where(centres >= floor, 1.0, FADED)
        updates[index] = {"x": centres, "y": counts, "marker.opacity": faded}
        tallest.append(max(1.0, float(counts.max(initial=0))))
    spans = [[-0.5, 1.5], *([0, height] for height in tallest[1:])]
    for index, span in enumerate(spans, 5):
        updates[index] = {"x": [floor, floor], "y": span}
    return updates


def counted(column: Floats, edges: Floats) -> Floats:
    """How many numbers of a column fall between each pair of edges."""
    counts: Floats = np.histogram(column, edges)[0].astype(float)
    return counts


def _dress(figure: go.Figure, low: float, high: float) -> None:
    dress(figure, height=520)
    figure.update_xaxes(range=[low, high])
    figure.update_xaxes(title_text="fused score (no unit)", row=4, col=1)
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(showticklabels=False, title_text="one leg<br>alone", row=1, col=1, range=[-0.5, 1.5])
    figure.update_layout(barmode="stack")

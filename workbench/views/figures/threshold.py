"""The figure of the threshold lab: scores by kind of candidate, the floor, and each leg's reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, isfinite, log10, nan
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from workbench.lab.lint import Reach
from workbench.lab.thresholds import Outcome, Scores
from workbench.records import Floats
from workbench.views.figures.style import (
    CLEAR,
    CONTROL,
    FLOOR,
    INK,
    OTHER,
    OUT_OF_REACH,
    REACHED,
    TARGET,
    Updates,
    dress,
    restyle,
    whole_ticks,
)
from workbench.views.text import apart

BINS = 50
LEGS = ("keyword", "vector")
ACROSS_BOXES = [-0.25, 0.25, None, 0.75, 1.25]  # the line skips the text between the boxes
KINDS = {
    "target": ("chunks of the<br>right file", TARGET),
    "other": ("chunks of<br>other files", OTHER),
    "control": ("answers to<br>unanswerable<br>questions", CONTROL),
}

AXES = {"score": "fused score (no unit)", "answerable": "stated probability of an answer"}
"""The title of the axis by the column that the floor looks at."""

Reaches = Mapping[str, Reach | None]

Marked = Mapping[str, tuple[Floats, Floats]]
"""By kind of candidate: the scores of the selected question's candidates, and of the selected chunk's."""


class Span(NamedTuple):
    """The ends of the score axis, and the floor's step along it."""

    low: float
    high: float
    step: float


def threshold_figure(
    scores: Scores, reaches: Reaches, min_score: float | None = None, low: bool = False
) -> go.Figure:
    """The distribution of a pipeline's scores, with the floor, and the reach of each leg alone.

    Top row, for each leg: a box up to the highest score that a candidate of this leg alone can get, a hatched
    box above it, and the formula. Below: the number of candidates per score, for the right files, other
    files, and unanswerable questions. It is filled where candidates pass the floor, and an outline elsewhere.
    The text at the floor's line says what passes. A `low` figure leaves room for another one on the screen.
    """
    figure = go.Figure([*_reach_traces(), _floor_line(1)])
    for row, (kind, (_, colour)) in enumerate(KINDS.items(), 2):
        figure.add_traces([*_histograms(kind, colour, row), _floor_line(row), *_marks(kind, row)])
    figure.update_traces(showlegend=False)
    figure.add_traces(_legend())
    _dress(figure, low)
    chosen = scores.floor if min_score is None else min_score
    restyle(figure, system_updates(scores, reaches), axis_updates(scores))
    restyle(figure, floor_updates(scores, reaches, scores.at(chosen), chosen))
    return figure


def score_span(scores: Scores) -> Span:
    """An axis that covers all scores and the floor: 0 to 1, wider, or narrower if no score is above 0.1."""
    every = np.concatenate([scores.target, scores.other, scores.control, [0.0]])
    every = np.append(every[np.isfinite(every)], scores.floor if isfinite(scores.floor) else 0.0)
    most = float(every.max())
    unit = 10.0 ** floor(log10(most)) / 2 if most > 0 else 1.0
    high = 1.0 if 0.1 < most <= 1 or most <= 0 else ceil(most / unit) * unit
    low = floor(float(every.min()) / (high / 10)) * (high / 10)
    return Span(low, high, 10.0 ** (floor(log10(high)) - 2))


def _reach_traces() -> list[go.Scatter]:
    """For each leg two thin boxes (within reach, out of reach), and a line of text above them."""
    box: dict[str, Any] = {"mode": "lines", "fill": "toself", "hoverinfo": "skip"}
    hatches = {"shape": "/", "fgcolor": OUT_OF_REACH, "bgcolor": CLEAR, "size": 6}
    return [
        go.Scatter(name="reached", fillcolor=REACHED, line={"color": REACHED, "width": 0}, **box),
        go.Scatter(name="out of reach", fillpattern=hatches, line={"color": OUT_OF_REACH, "width": 1}, **box),
        go.Scatter(
            name="arithmetic", mode="text", y=[0.45, 1.45], textposition="middle right", hoverinfo="skip"
        ),
    ]


def _legend() -> list[go.Scatter]:
    """What lines, fillings and hatches mean: plotly would name each trace, and leave out empty ones."""
    reached, beyond, _ = _reach_traces()
    outline, filled = _histograms("", INK, 1)
    keys = {
        "all candidates": outline,
        "those that pass the floor": filled,
        "a leg's reach, alone": reached,
        "out of its reach": beyond,
        "floor": _floor_line(1).update(mode="lines"),
    }
    return [
        key.update(name=name, x=[None], y=[None], showlegend=True, yaxis="y") for name, key in keys.items()
    ]


def _histograms(kind: str, colour: str, row: int) -> list[go.Scatter]:
    """An outline of all candidates, and inside it a filled area of those that pass the floor."""
    # Outlines, not bars: with one path instead of fifty bars, drawing takes 0.7 of the time.
    steps = {"color": colour, "shape": "hvh"}
    return [
        go.Scatter(
            name=kind, yaxis=f"y{row}", mode="lines", line={"width": 1.2, **steps},
            hovertemplate="%{x:.3g}: %{y} in all; click to select one<extra></extra>",
        ),
        go.Scatter(
            name=f"{kind} passing", yaxis=f"y{row}", mode="lines", line={"width": 0, **steps},
            fill="tozeroy", fillcolor=colour, hovertemplate="%{x:.3g}: %{y} pass<extra></extra>",
        ),
    ]  # fmt: skip


def _marks(kind: str, row: int) -> list[go.Scatter]:
    """The candidates of the selected question as ticks on the axis, and the selected chunk as a square."""
    looks: dict[str, dict[str, Any]] = {
        "question": {"symbol": "line-ns", "size": 12, "line": {"color": INK, "width": 2}},
        "chunk": {"symbol": "square-open", "size": 15, "color": INK, "line": {"color": INK, "width": 2}},
    }
    return [
        go.Scatter(
            name=f"{kind}, selected {what}", yaxis=f"y{row}", mode="markers", marker=look, cliponaxis=False,
            hovertemplate=f"selected {what}: %{{x:.4g}}<extra></extra>", **_at(np.empty(0)),
        )
        for what, look in looks.items()
    ]  # fmt: skip


def _at(scores: Floats) -> dict[str, Floats]:
    """Points on the axis of the scores; one empty point for none, since a browser needs a point to clear."""
    x = scores if scores.size else np.array([np.nan])
    return {"x": x, "y": np.zeros(x.size)}


def mark_updates(marked: Marked) -> Updates:
    """The traces of the selected question and the selected chunk, by the scores of their candidates."""
    return {
        f"{kind}, selected {what}": _at(some[np.isfinite(some)])
        for kind, found in marked.items()
        for what, some in zip(("question", "chunk"), found, strict=True)
    }


def bar_ends(scores: Scores, point: int) -> tuple[float, float]:
    """The scores between which a point of a histogram counts, the upper one excluded."""
    edges = np.concatenate([[-np.inf], _edges(scores), [np.inf]])
    return float(edges[point]), float(edges[point + 1]) if point < BINS else np.inf


def _floor_line(row: int) -> go.Scatter:
    # A trace and not a layout shape: Voila loses shapes that move.
    return go.Scatter(
        name=f"floor {row}", yaxis=f"y{row}", mode="lines+text", textfont={"color": INK},
        line={"color": FLOOR, "width": 2, "dash": "dash"}, hovertemplate="min score %{x:.3g}<extra></extra>",
    )  # fmt: skip


def system_updates(scores: Scores, reaches: Reaches) -> Updates:
    """The trace properties that depend on the system, but not on the floor."""
    low, high, _ = score_span(scores)
    ends = [_end(reaches.get(leg), low, high) for leg in LEGS]
    updates: Updates = {
        "reached": _boxes([low] * 2, ends),
        "out of reach": _boxes(ends, [_high(reaches, leg, high) for leg in LEGS]),
        "arithmetic": {"x": [low] * 2},
        "floor 1": {"y": ACROSS_BOXES},
    }
    edges = _edges(scores)
    half = (high - low) / BINS / 2
    middles = np.linspace(low - half, high + half, BINS + 2)  # plus an empty bin at each end
    for row, kind in enumerate(KINDS, 2):
        counts = _counts(getattr(scores, kind), edges)
        updates[kind] = {"x": middles, "y": counts}
        updates[f"{kind} passing"] = {"x": middles}
        updates[f"floor {row}"] = {"y": [0, _top(counts)]}
    return updates


def axis_updates(scores: Scores) -> Updates:
    """The axis properties for a system: the range of the scores, and of the counts in each row."""
    low, high, _ = score_span(scores)
    edges = _edges(scores)
    tops = [_top(_counts(getattr(scores, kind), edges)) for kind in KINDS]
    counts = {
        f"yaxis{row}": {"range": [0, 1.05 * top], **whole_ticks(top)} for row, top in enumerate(tops, 2)
    }
    title = AXES.get(scores.column, scores.column.replace("_", " "))
    return {"xaxis": {"range": [low, high], "title": {"text": title, "standoff": 4}}, **counts}


def _top(counts: Floats) -> float:
    """The top of the floor's line: above all counts, with room for its text."""
    return 1.3 * max(1.0, float(counts.max()))


def _end(reach: Reach | None, low: float, high: float) -> float:
    return low if reach is None else min(max(reach.score, low), high)


def _high(reaches: Reaches, leg: str, high: float) -> float:
    """Where the box above a leg's reach ends; without a number for the reach there is no such box."""
    return nan if leg in reaches and reaches[leg] is None else high


def _boxes(starts: Sequence[float], ends: Sequence[float]) -> dict[str, Any]:
    """The outlines of one box per leg, from one score to another, in one trace."""
    x = [at for start, end in zip(starts, ends, strict=True) for at in (start, end, end, start, start, None)]
    y = [row + side for row in range(len(starts)) for side in (-0.15, -0.15, 0.15, 0.15, -0.15, 0)]
    return {"x": x, "y": y}


def reach_words(leg: str, reaches: Reaches, min_score: float) -> str:
    """The highest score of one leg alone, against a floor: `… 0.7 × 0 + 0.3 × 1 = 0.300 < 0.350`."""
    if leg not in reaches:
        return f"no {leg} leg"
    reach = reaches[leg]
    if reach is None:
        return f"{leg} leg alone: also depends on the texts"
    score, least = apart(reach.score, min_score)
    made = "" if reach.formula.text == f"{reach.score:g}" else f"{reach.formula} = "
    if not isfinite(min_score):
        return f"{leg} leg alone: at most {made}{score}; no floor"
    verdict = f"≥ {least}" if reach.score >= min_score else f"< {least}, out of reach"
    return f"{leg} leg alone: at most {made}{score} {verdict}"


def floor_updates(scores: Scores, reaches: Reaches, outcome: Outcome, min_score: float) -> Updates:
    """The trace properties that depend on the floor: what passes, the line, and its text."""
    low, high, _ = score_span(scores)
    edges = _edges(scores)
    updates: Updates = {"arithmetic": {"text": [reach_words(leg, reaches, min_score) for leg in LEGS]}}
    for kind in KINDS:
        column = getattr(scores, kind)
        updates[f"{kind} passing"] = {"y": _counts(column[column >= min_score], edges)}
    side = "bottom right" if min_score < (low + high) / 2 else "bottom left"
    for row, words in enumerate(["", *beside(outcome)], 1):
        ends = len(ACROSS_BOXES) if row == 1 else 2
        line = {"x": [max(low, min_score)] * ends, "text": ["", f"\u00a0{words}\u00a0"], "textposition": side}
        updates[f"floor {row}"] = line
    return updates


def _edges(scores: Scores) -> Floats:
    low, high, _ = score_span(scores)
    return np.linspace(low, high, BINS + 1)


def _counts(column: Floats, edges: Floats) -> Floats:
    """The counts of a column's numbers between the edges, with a 0 before and after them."""
    counts: Floats = np.pad(np.histogram(column, edges)[0].astype(float), 1)
    return counts


def beside(outcome: Outcome) -> list[str]:
    """What passes a floor, in a few words per row: hits, precision, empty answers."""
    hits, right, silent = outcome.hits, outcome.right, outcome.silent
    precision = "nothing returned" if outcome.precision is None else (
        f"precision {outcome.precision:.0%}: {right.hits} of {right.n} returned are right"
    )  # fmt: skip
    return [
        f"{hits.hits} of {hits.n} questions hit",
        precision,
        f"nothing returned for {silent.hits} of {silent.n}" if silent.n else "no unanswerable question",
    ]


def _dress(figure: go.Figure, low: bool) -> None:
    # One score axis below all rows: an axis per row takes a browser longer.
    rows = {"rows": 4, "columns": 1, "subplots": [["xy"], ["xy2"], ["xy3"], ["xy4"]], "ygap": 0.2}
    # So that no name and no number of a row reaches into the next.
    small, ticks = ({"size": 10}, 3) if low else ({}, 0)
    figure.update_layout(grid=rows, hovermode="x")
    for row, (label, _) in enumerate(KINDS.values(), 2):
        axis = {"title": {"text": label, "font": small}, "nticks": ticks}
        figure.update_layout({f"yaxis{row}": axis})
    alone = {"range": [-0.4, 1.9], "showticklabels": False, "showgrid": False}
    figure.update_layout(yaxis={"title": {"text": "one leg<br>alone", "font": small}, **alone})
    dress(figure, height=286 if low else 450)
    figure.update_layout(
        showlegend=True, legend={"orientation": "h", "y": 1.01, "yanchor": "bottom", "x": 0},
        margin={"t": 24, "b": 34},
    )  # fmt: skip

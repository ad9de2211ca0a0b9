"""The question explorer's figure: two systems' candidates by position and score, and who moved where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from workbench.records import Candidate, Chunk, Trace
from workbench.retrieval.explain import Fate, fate_of, floor_of
from workbench.views.figures.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    SKY,
    VERMILION,
    Updates,
    dress,
    restyle,
    whole_ticks,
)

MOST_DRAWN = 48
"""The number of positions drawn for each system: two legs of 24 candidates."""

SIDES = ("left", "right")
LOOKS: dict[Fate, dict[str, Any]] = {
    Fate.RETURNED: {"color": GREEN, "symbol": "circle"},
    Fate.BEYOND_LIMIT: {"color": ORANGE, "symbol": "triangle-down"},
    Fate.BELOW_FLOOR: {"color": VERMILION, "symbol": "x"},
    Fate.BELOW_LEG_FLOOR: {"color": SKY, "symbol": "x-open"},
    Fate.FILTERED: {"color": INK, "symbol": "square-open"},
    Fate.FOLDED: {"color": GREY, "symbol": "circle-open"},
}
"""How a candidate is drawn, by its fate."""

MOVED, MOVED_TARGET = "in both", "in both, in the chosen file"


def explorer_figure(left: Trace, right: Trace, target: str = "") -> go.Figure:
    """The candidates of two searches for one question, first position on top, and their fates.

    The outer plots show each candidate's score and the floor. The symbol of a candidate shows its fate; a
    ring marks chunks of the file `target`. In the middle, a line joins a chunk's positions in both searches.
    """
    figure = make_subplots(rows=1, cols=3, column_widths=[0.38, 0.24, 0.38], horizontal_spacing=0.03)
    for column, side in ((1, "left"), (3, "right")):
        for trace in (
            _floor_trace(side),
            _ring_trace(side),
            _chosen_trace(side),
            *(_dots(side, fate) for fate in LOOKS),
        ):
            figure.add_trace(trace, row=1, col=column)
    for trace in (_line_trace(MOVED, GREY, 1), _line_trace(MOVED_TARGET, BLUE, 3)):
        figure.add_trace(trace, row=1, col=2)
    figure.add_traces(_legend())
    _dress(figure)
    restyle(figure, trace_updates(left, right, target), axis_updates(left, right))
    return figure


def _dots(side: str, fate: Fate) -> go.Scatter:
    return go.Scatter(
        name=f"{fate} ({side})", mode="markers", marker={"size": 8, **LOOKS[fate]},
        hovertemplate="%{customdata}<extra></extra>", showlegend=False,
    )  # fmt: skip


def _ring_trace(side: str) -> go.Scatter:
    ring = {"size": 15, "symbol": "circle-open", "line": {"color": BLUE, "width": 2}, "color": BLUE}
    return go.Scatter(
        name=f"file ({side})", mode="markers", marker=ring, cliponaxis=False, hoverinfo="skip",
        showlegend=False,
    )  # fmt: skip


def _chosen_trace(side: str) -> go.Scatter:
    box = {"size": 21, "symbol": "square-open", "line": {"color": INK, "width": 2}, "color": INK}
    return go.Scatter(
        name=f"selected ({side})", mode="markers", marker=box, cliponaxis=False, hoverinfo="skip",
        showlegend=False,
    )  # fmt: skip


def _floor_trace(side: str) -> go.Scatter:
    # A trace and not a layout shape: Voila loses shapes that move.
    return go.Scatter(
        name=f"floor ({side})", mode="lines", line={"color": INK, "width": 1.5, "dash": "dash"},
        hovertemplate="floor %{x:.3g}<extra></extra>", showlegend=False,
    )  # fmt: skip


def _line_trace(name: str, colour: str, width: int) -> go.Scatter:
    line = {"color": colour, "width": width}
    return go.Scatter(name=name, mode="lines", line=line, hoverinfo="skip", showlegend=False)


def _legend() -> list[go.Scatter]:
    """Legend entries for all symbols: plotly leaves out those of empty traces."""
    keys = [
        *(_dots("", fate).update(name=fate.value) for fate in LOOKS),
        _floor_trace("").update(name="floor"),
        _ring_trace("").update(name="in the chosen file"),
        _chosen_trace("").update(name="selected"),
    ]
    return [key.update(x=[None], y=[None], showlegend=True) for key in keys]


def beside(left: Trace, right: Trace) -> list[tuple[Candidate | None, Candidate | None]]:
    """Pairs of the same chunk's candidates in two searches (None if absent); the left search comes first.

    If one search returns whole notes and the other chunks, a note is paired with its best chunk.
    """
    of_notes = any(chunk.id == chunk.path for chunk in (*left.chunks, *right.chunks))

    def key(one: Candidate) -> str:
        return one.chunk.path if of_notes else one.chunk.id

    theirs = {key(one): one for one in reversed(right.candidates)}
    pairs = [(one, theirs.pop(key(one), None)) for one in left.candidates]
    taken = {other.position for _, other in pairs if other}
    return [*pairs, *((None, one) for one in right.candidates if one.position not in taken)]


def drawn(trace: Trace, fate: Fate) -> list[Candidate]:
    """The candidates of a fate that the figure draws, in the order of its points."""
    return [one for one in _shown(trace) if fate_of(one) is fate]


def trace_updates(
    left: Trace, right: Trace, target: str = "", marked: Callable[[Chunk], bool] = lambda _: False
) -> Updates:
    """The properties of the figure's traces, by name, for these two searches, this file and marked chunks."""
    updates: Updates = {}
    for side, trace in zip(SIDES, (left, right), strict=True):
        shown = _shown(trace)
        for fate in LOOKS:
            some = drawn(trace, fate)
            updates[f"{fate} ({side})"] = _points(some) | {"customdata": [_hover(one) for one in some]}
        updates[f"file ({side})"] = _points([one for one in shown if one.chunk.path == target])
        updates[f"selected ({side})"] = _points([one for one in shown if marked(one.chunk)])
        floor = floor_of(trace)
        there = floor is not None and isfinite(floor)
        updates[f"floor ({side})"] = {"x": [floor] * 2 if there else [], "y": _ends(left, right)}
    pairs = [(one, other) for one, other in beside(left, right) if one and other]
    both = [
        (one, other)
        for one, other in pairs
        if _both_shown(one, other) and scored(left, one) and scored(right, other)
    ]
    updates[MOVED] = _lines([pair for pair in both if pair[0].chunk.path != target])
    updates[MOVED_TARGET] = _lines([pair for pair in both if pair[0].chunk.path == target])
    return updates


def _ends(left: Trace, right: Trace) -> list[float]:
    """The ends of the position axis; position 1 is at the top."""
    return [max([1, len(_shown(left)), len(_shown(right))]) + 0.5, 0.5]


def axis_updates(left: Trace, right: Trace) -> Updates:
    """The properties of the figure's axes, by name, for these two searches."""
    down = {"range": _ends(left, right), **whole_ticks(_ends(left, right)[0])}
    return {
        "xaxis": {"title": {"text": f"score: {left.system}"}, "range": _span(left)},
        "xaxis3": {"title": {"text": f"score: {right.system}"}, "range": _span(right)},
        **dict.fromkeys(("yaxis", "yaxis2", "yaxis3"), down),
    }


def scored(trace: Trace, one: Candidate) -> bool:
    """Whether the candidate got the score that the trace is ranked by: it was not dropped before."""
    if not isfinite(one.score):
        return False
    writer = next((n for n, stage in enumerate(trace.stages) if trace.ranked_by in stage.writes()), -1)
    return one.drop is None or trace.place_of(one.drop.stage) > writer


def _shown(trace: Trace) -> list[Candidate]:
    return [one for one in trace.candidates[:MOST_DRAWN] if scored(trace, one)]


def _both_shown(one: Candidate, other: Candidate) -> bool:
    return max(one.position, other.position) <= MOST_DRAWN


def _points(some: Sequence[Candidate]) -> dict[str, Any]:
    return {"x": [one.score for one in some], "y": [one.position for one in some]}


def _hover(one: Candidate) -> str:
    return f"{one.position}. {one.chunk.place}<br>score {one.score:.4g}, {fate_of(one)}"


def _lines(pairs: Sequence[tuple[Candidate, Candidate]]) -> dict[str, Any]:
    return {
        "x": [x for _ in pairs for x in (0, 1, None)],
        "y": [y for one, other in pairs for y in (one.position, other.position, None)],
    }


def _span(trace: Trace) -> list[float]:
    """The range of the score axis: it covers zero, every drawn score, and the floor."""
    floor = floor_of(trace)
    ends = [0.0, *(one.score for one in _shown(trace)), *([floor] if floor and isfinite(floor) else [])]
    low, high = min(ends), max(ends)
    room = 0.05 * (high - low or 1.0)
    return [low - room, high + room]


def _dress(figure: go.Figure) -> None:
    dress(figure, height=510)
    figure.update_yaxes(showticklabels=False, zeroline=False)
    figure.update_yaxes(title_text="position (1 is best)", showticklabels=True, col=1)
    figure.update_yaxes(showticklabels=True, side="right", col=3)
    figure.update_xaxes(
        title_text="the same chunk", range=[0, 1], showgrid=False, showticklabels=False, col=2
    )
    figure.update_layout(
        showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        margin={"t": 64, "r": 60},
    )  # fmt: skip

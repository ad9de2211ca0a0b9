"""The figure of the microscope: the lattice of words joined with AND, and each word's rows and IDF."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from string import ascii_uppercase
from typing import Any, NamedTuple

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from workbench.lab.microscope import Dissection, Word, WordSet
from workbench.views.figures.style import BLUE, CLEAR, GRID, INK, ORANGE, VERMILION, dress, restyle

MOST_DRAWN = 16
"""With more words than this, only the rarest are drawn."""

NODE = 24
"""The width of a node, in pixels."""

IDF_HEIGHT, HEADROOM = 1.32, 1.48
"""The height of the IDF labels, and the end of the bars' axis, as shares of all chunks."""

MATCHED, NOTHING, BEST = "chunks match", "nothing matches", "after the best drop"
BARS, FLOORED = "chunks with the word", "IDF at its floor"
EDGES, KEYS, IDF, HALF = "edges", "keys", "IDF", "half of the chunks"
"""The names of the traces; those made of words are in the legend."""

MARKERS: dict[str, dict[str, Any]] = {
    MATCHED: {"color": BLUE, "symbol": "circle"},
    NOTHING: {"color": INK, "symbol": "square"},
    BEST: {"color": VERMILION, "symbol": "diamond"},
    BARS: {"color": BLUE},
    FLOORED: {
        "color": CLEAR,
        "line": {"color": ORANGE, "width": 1.5},
        "pattern": {"shape": "/", "fgcolor": ORANGE, "size": 6},
    },
}


class Level(NamedTuple):
    """One row of the lattice: sets of words, from left to right."""

    label: str
    sets: tuple[WordSet, ...]


class Node(NamedTuple):
    """A set of words and its position: `x` counts words from the left, `y` counts levels from below."""

    found: WordSet
    x: float
    y: int


def microscope_figure(found: Dissection) -> go.Figure:
    """How many chunks match each set of a question's words, and the weight of each word.

    Top: each set of words is a node with the number of chunks that have all of them. Single words are at the
    bottom, all words at the top. With more than six words, only these are drawn, and all but one, each above
    the left-out word. Bottom: the number of chunks with each word, and its IDF; hatched if FTS5 uses its
    smallest IDF.
    """
    figure = make_subplots(rows=2, cols=1, vertical_spacing=0.03, row_heights=[0.66, 0.34])
    lattice = [
        _edge_trace(),
        *map(_node_trace, (MATCHED, NOTHING, BEST)),
        _key_trace(),
    ]
    bars = [*map(_bar_trace, (BARS, FLOORED)), _idf_trace(), _half_trace()]
    for row, traces in enumerate((lattice, bars), 1):
        for trace in traces:
            figure.add_trace(trace, row=row, col=1)
    _dress(figure)
    restyle(figure, trace_updates(found), axis_updates(found))
    return figure


def _edge_trace() -> go.Scatter:
    line = {"color": GRID, "width": 1}
    return go.Scatter(name=EDGES, mode="lines", line=line, hoverinfo="skip", showlegend=False)


def _node_trace(kind: str) -> go.Scatter:
    return go.Scatter(
        name=kind, mode="markers+text", textfont={"color": "white", "size": 11},
        marker=MARKERS[kind] | {"size": NODE}, hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip


def _key_trace() -> go.Scatter:
    beneath = {"size": NODE, "color": CLEAR}  # an invisible marker of the size of a node
    return go.Scatter(
        name=KEYS, mode="markers+text", marker=beneath, textposition="bottom center",
        textfont={"color": INK, "size": 9}, hoverinfo="skip", showlegend=False,
    )  # fmt: skip


def _bar_trace(kind: str) -> go.Bar:
    return go.Bar(
        name=kind, marker=MARKERS[kind], width=0.7, showlegend=kind == FLOORED, textposition="outside",
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip


def _idf_trace() -> go.Scatter:
    font = {"color": INK, "size": 11}
    return go.Scatter(name=IDF, mode="text", textfont=font, hoverinfo="skip", showlegend=False)


def _half_trace() -> go.Scatter:
    return go.Scatter(
        name=HALF, mode="lines", line={"color": INK, "width": 1.5, "dash": "dash"},
        hovertemplate="half of the chunks: %{y}<extra></extra>",
    )  # fmt: skip


def drawn(found: Dissection) -> tuple[Word, ...]:
    """The words that the figure shows: all, or the rarest, in the question's order."""
    rarest = sorted(found.words, key=lambda word: word.rows)[:MOST_DRAWN]
    return tuple(word for word in found.words if word in rarest)


def trace_updates(found: Dissection) -> dict[str, dict[str, Any]]:
    """The properties of the figure's traces, by name, for this dissection."""
    words = drawn(found)
    nodes = [node for level in _nodes(found) for node in level]
    best = _best(found)
    kinds: dict[str, list[Node]] = {MATCHED: [], NOTHING: [], BEST: []}
    for node in nodes:
        kinds[BEST if node.found == best else MATCHED if node.found.rows else NOTHING].append(node)
    return {
        EDGES: _edge_points(found),
        **{kind: _node_points(some) for kind, some in kinds.items()},
        KEYS: _key_points(nodes, found),
        BARS: _bar_points(words, floored=False),
        FLOORED: _bar_points(words, floored=True),
        IDF: _idf_points(words, found.size),
        HALF: {"x": [-0.5, max(1, len(words)) - 0.5], "y": [found.size / 2] * 2},
    }


def axis_updates(found: Dissection) -> dict[str, dict[str, Any]]:
    """The properties of the figure's axes, by name, for this dissection."""
    words, levels = drawn(found), _levels(found)
    span = [-0.5, max(1, len(words)) - 0.5]
    return {
        "xaxis": {"range": span},
        "xaxis2": {
            "range": span,
            "tickvals": list(range(len(words))),
            "ticktext": [" ".join(filter(None, (_key(word, found), word.text))) for word in words],
        },
        "yaxis": {
            "range": [0.3, max(1, len(levels)) + 0.6],
            "tickvals": list(range(1, len(levels) + 1)),
            "ticktext": [level.label for level in levels],
        },
        "yaxis2": {
            "range": [0, max(1, found.size) * HEADROOM],
            "tickvals": [0, found.size / 2, found.size, found.size * IDF_HEIGHT],
            "ticktext": ["0", "half", f"all {found.size}", "IDF"],
        },
    }


def _best(found: Dissection) -> WordSet | None:
    """The words that remain after the best drop."""
    if found.drop is None:
        return None
    kept = tuple(word.text for word in found.words if word.text not in found.drop.words)
    return WordSet(kept, found.drop.rows)


def _levels(found: Dissection) -> list[Level]:
    """The rows of nodes, from single words up to all words."""
    n = len(found.words)
    by_size = [tuple(one for one in found.sets if len(one.words) == size) for size in range(1, n + 1)]
    if found.complete:
        labels = ["1 word", *(f"{size} words" for size in range(2, n + 1))]
        return [Level(*level) for level in zip(labels, by_size, strict=False)]
    words = {word.text for word in drawn(found)}
    best = _best(found)
    return [
        Level("1 word", tuple(one for one in by_size[0] if words & set(one.words))),
        *([Level(f"{len(best.words)} words", (best,))] if best and len(best.words) < n - 1 else []),
        Level("all but one", tuple(one for one in by_size[n - 2] if words - set(one.words))),
        Level(f"all {n} words", by_size[n - 1]),
    ]


def _nodes(found: Dissection) -> list[list[Node]]:
    width = len(drawn(found))
    return [
        [Node(one, (i + 0.5) / len(level.sets) * width - 0.5, y) for i, one in enumerate(level.sets)]
        for y, level in enumerate(_levels(found), 1)
    ]


def _edge_points(found: Dissection) -> dict[str, Any]:
    """Lines between sets on neighbouring levels that differ by one word, and lines to the best set."""
    best = _best(found)
    ends = [
        (low, high)
        for lower, upper in pairwise(_nodes(found))
        for low in lower
        for high in upper
        if set(low.found.words) < set(high.found.words)
        and (len(high.found.words) - len(low.found.words) == 1 or best in (low.found, high.found))
    ]
    return {
        "x": [x for low, high in ends for x in (low.x, high.x, None)],
        "y": [y for low, high in ends for y in (low.y, high.y, None)],
    }


def _node_points(nodes: Sequence[Node]) -> dict[str, Any]:
    return {
        "x": [node.x for node in nodes],
        "y": [node.y for node in nodes],
        "text": [str(node.found.rows) for node in nodes],
        "customdata": [f"{' AND '.join(node.found.words)}: {node.found.rows} chunks" for node in nodes],
    }


def _key(word: Word, found: Dissection) -> str:
    """The letter of each word in node labels, if every set of words has a node."""
    return ascii_uppercase[found.words.index(word)] if found.complete else ""


def _key_points(nodes: Sequence[Node], found: Dissection) -> dict[str, Any]:
    letters = {word.text: _key(word, found) for word in found.words}
    return {
        "x": [node.x for node in nodes],
        "y": [node.y for node in nodes],
        "text": ["".join(letters[text] for text in node.found.words) for node in nodes],
    }


def _bar_points(words: Sequence[Word], floored: bool) -> dict[str, Any]:
    shown = [(place, word) for place, word in enumerate(words) if word.floored == floored]
    return {
        "x": [place for place, _ in shown],
        "y": [word.rows for _, word in shown],
        "text": [str(word.rows) for _, word in shown],
        "customdata": [f"{word.text}: {word.rows} chunks, IDF {idf_text(word)}" for _, word in shown],
    }


def _idf_points(words: Sequence[Word], size: int) -> dict[str, Any]:
    return {
        "x": list(range(len(words))),
        "y": [size * IDF_HEIGHT] * len(words),
        "text": ["10<sup>-6</sup>" if word.floored else idf_text(word) for word in words],
    }


def idf_text(word: Word) -> str:
    """A word's IDF with two decimals; 0.000001 if it is FTS5's smallest."""
    return "0.000001" if word.floored else f"{word.idf:.2f}"


def _dress(figure: go.Figure) -> None:
    dress(figure, height=520)
    figure.update_xaxes(showgrid=False)
    figure.update_xaxes(showticklabels=False, row=1, col=1)
    figure.update_xaxes(title_text="word of the question", tickfont_size=12, row=2, col=1)
    figure.update_yaxes(title_text="words joined with AND", showgrid=False, row=1, col=1)
    figure.update_yaxes(title_text="chunks with<br>the word", showgrid=False, row=2, col=1)
    figure.update_layout(
        showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        barmode="overlay", margin={"t": 64},
    )  # fmt: skip

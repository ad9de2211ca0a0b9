"""The FTS microscope: what the words of a question match in FTS5, one by one and together.

Its figure is the lattice of words joined with AND, and each word's rows and IDF.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from string import ascii_uppercase
from typing import Any, NamedTuple

import ipywidgets as w
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from workbench.contracts import Index
from workbench.retrieval.query import ascii_words, unicode_words
from workbench.views.figures.style import BLUE, CLEAR, GRID, INK, ORANGE, VERMILION, dress
from workbench.views.html import framed, html_table
from workbench.views.text import ABSENT, Table
from workbench.views.widgets.panel import Link, Selection
from workbench_plugins.asking import GIVEN, Asking, question_box
from workbench_plugins.drawn import live
from workbench_plugins.explore.microscope import (
    Dissection,
    MatchAttempt,
    Word,
    Words,
    WordSet,
    asked,
    dissect,
    sentences,
)

MOST_DRAWN = 16
"""With more words than this, only the rarest are drawn."""

NODE = 24
"""The width of a node, in pixels."""

IDF_HEIGHT, HEADROOM = 1.32, 1.48
"""The height of the IDF labels, and the end of the bars' axis, as shares of all chunks."""

MATCHED, NOTHING, BEST = "chunks match", "nothing matches", "after the best drop"
BARS, FLOORED = "chunks with the word", "IDF at its floor"
"""The names of the traces in the legend."""

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
    nodes = [node for level in _nodes(found) for node in level]
    for trace in (_edges(found), *_node_traces(nodes, found), _keys(nodes, found)):
        figure.add_trace(trace, row=1, col=1)
    for trace in _bar_traces(found):
        figure.add_trace(trace, row=2, col=1)
    _dress(figure, found)
    return figure


def drawn(found: Dissection) -> tuple[Word, ...]:
    """The words that the figure shows: all, or the rarest, in the question's order."""
    rarest = sorted(found.words, key=lambda word: word.rows)[:MOST_DRAWN]
    return tuple(word for word in found.words if word in rarest)


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


def _edges(found: Dissection) -> go.Scatter:
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
    return go.Scatter(
        name="edges", mode="lines", line={"color": GRID, "width": 1}, hoverinfo="skip", showlegend=False,
        x=[x for low, high in ends for x in (low.x, high.x, None)],
        y=[y for low, high in ends for y in (low.y, high.y, None)],
    )  # fmt: skip


def _node_traces(nodes: Sequence[Node], found: Dissection) -> Iterator[go.Scatter]:
    best = _best(found)
    kinds: dict[str, list[Node]] = {MATCHED: [], NOTHING: [], BEST: []}
    for node in nodes:
        kinds[BEST if node.found == best else MATCHED if node.found.rows else NOTHING].append(node)
    for kind, some in kinds.items():
        yield go.Scatter(
            name=kind, mode="markers+text", textfont={"color": "white", "size": 11},
            marker=MARKERS[kind] | {"size": NODE}, hovertemplate="%{customdata}<extra></extra>",
            x=[node.x for node in some], y=[node.y for node in some],
            text=[str(node.found.rows) for node in some],
            customdata=[f"{' AND '.join(node.found.words)}: {node.found.rows} chunks" for node in some],
        )  # fmt: skip


def _key(word: Word, found: Dissection) -> str:
    """The letter of each word in node labels, if every set of words has a node."""
    return ascii_uppercase[found.words.index(word)] if found.complete else ""


def _keys(nodes: Sequence[Node], found: Dissection) -> go.Scatter:
    """The letters below each node, below an invisible marker of its size."""
    letters = {word.text: _key(word, found) for word in found.words}
    return go.Scatter(
        name="keys", mode="markers+text", marker={"size": NODE, "color": CLEAR},
        textfont={"color": INK, "size": 9}, textposition="bottom center", hoverinfo="skip", showlegend=False,
        x=[node.x for node in nodes], y=[node.y for node in nodes],
        text=["".join(letters[text] for text in node.found.words) for node in nodes],
    )  # fmt: skip


def _bar_traces(found: Dissection) -> Iterator[Any]:
    """The chunks with each word, its IDF above its bar, and a line at half of the chunks."""
    words, size = drawn(found), found.size
    for kind in (BARS, FLOORED):
        shown = [(place, word) for place, word in enumerate(words) if word.floored == (kind == FLOORED)]
        yield go.Bar(
            name=kind, marker=MARKERS[kind], width=0.7, showlegend=kind == FLOORED, textposition="outside",
            hovertemplate="%{customdata}<extra></extra>",
            x=[place for place, _ in shown], y=[word.rows for _, word in shown],
            text=[str(word.rows) for _, word in shown],
            customdata=[f"{word.text}: {word.rows} chunks, IDF {idf_text(word)}" for _, word in shown],
        )  # fmt: skip
    yield go.Scatter(
        name="IDF", mode="text", textfont={"color": INK, "size": 11}, hoverinfo="skip", showlegend=False,
        x=list(range(len(words))), y=[size * IDF_HEIGHT] * len(words),
        text=["10<sup>-6</sup>" if word.floored else idf_text(word) for word in words],
    )  # fmt: skip
    yield go.Scatter(
        name="half of the chunks", mode="lines", line={"color": INK, "width": 1.5, "dash": "dash"},
        hovertemplate="half of the chunks: %{y}<extra></extra>",
        x=[-0.5, max(1, len(words)) - 0.5], y=[size / 2] * 2,
    )  # fmt: skip


def idf_text(word: Word) -> str:
    """A word's IDF with two decimals; 0.000001 if it is FTS5's smallest."""
    return "0.000001" if word.floored else f"{word.idf:.2f}"


def _dress(figure: go.Figure, found: Dissection) -> None:
    words, levels, size = drawn(found), _levels(found), found.size
    dress(figure, height=520)
    figure.update_xaxes(showgrid=False, range=[-0.5, max(1, len(words)) - 0.5])
    figure.update_xaxes(showticklabels=False, row=1, col=1)
    figure.update_xaxes(
        title_text="word of the question", tickfont_size=12, tickvals=list(range(len(words))),
        ticktext=[" ".join(filter(None, (_key(word, found), word.text))) for word in words], row=2, col=1,
    )  # fmt: skip
    figure.update_yaxes(
        title_text="words joined with AND", showgrid=False, range=[0.3, max(1, len(levels)) + 0.6],
        tickvals=list(range(1, len(levels) + 1)), ticktext=[level.label for level in levels], row=1, col=1,
    )  # fmt: skip
    figure.update_yaxes(
        title_text="chunks with<br>the word", range=[0, max(1, size) * HEADROOM],
        tickvals=[0, size / 2, size, size * IDF_HEIGHT], ticktext=["0", "half", f"all {size}", "IDF"],
        row=2, col=1,
    )  # fmt: skip
    figure.update_layout(
        showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        barmode="overlay", margin={"t": 64},
    )  # fmt: skip


WORDS: Mapping[str, Words] = {"ASCII": ascii_words, "any script": unicode_words}
"""How a question is cut into words: as in OpenClaw 2026.2.13, and as in OpenClaw since 2026.2.15."""

NO_BREAK = "\N{NO-BREAK SPACE}"
NAMED = 2
"""The number of systems that are named for one MATCH expression."""


class Microscope(Asking):
    """The words of a question: the rows that match each word and all together, and each system's MATCH.

    `settings` are the question and the letters that form words; `dissection` and `asked` are the numbers
    behind the figure and the tables. Raises InputError for a question that cannot be searched; if you type
    one into the widget, the status line says why.
    """

    name = "microscope"
    selects: Mapping[str, str] = {"question": "question"}
    dissection: Dissection
    asked: list[MatchAttempt]

    def __init__(self, index: Index, question: str, link: Link = True) -> None:
        self.index = index
        self.question = question_box(question)
        self.letters = w.Dropdown(options=list(WORDS), description="words of", layout={"width": "16em"})
        self.controls = {"question": self.question, "letters": self.letters}
        self.look()
        self.figure = live(microscope_figure(self.dissection))
        self.builders = w.HTML()
        self.watch()
        self.lay_out([self.question, self.letters], w.VBox([self.figure, self.builders]), link)

    def look(self) -> None:
        """Dissects the question, and runs the MATCH expressions of all systems."""
        question, words = self.question.value, WORDS[self.letters.value]
        self.dissection, self.asked = dissect(question, self.index, words), asked(question, self.index)

    def draw(self) -> None:
        """Draws the current dissection."""
        self.figure.show(microscope_figure(self.dissection))

    def follow(self, chosen: Selection) -> None:
        """Dissects the selected question."""
        if chosen.question:
            self.take({"question": chosen.question})

    def tell(self) -> None:
        """Updates the texts, including the MATCH expressions."""
        super().tell()
        self.builders.value = framed(html_table(builders_table(self.asked)))

    @property
    def finding(self) -> str:
        """What the words match alone and together, and which to leave out."""
        said = sentences(self.dissection)
        shown, n = len(drawn(self.dissection)), len(self.dissection.words)
        return " ".join(
            [*said, *([f"The figure shows the {shown} rarest of {n} words."] if shown < n else [])]
        )

    @property
    def table(self) -> Table:
        """The words with their IDF, and then the sets of words."""
        return sets_table(self.dissection)

    @property
    def code(self) -> str:
        words = WORDS[self.letters.value].__name__
        return (
            f"{GIVEN}"
            "from workbench_plugins.explore.microscope import asked, dissect, sentences\n"
            f"from workbench.retrieval.query import {words}\n\n"
            f"found = dissect({self.dissection.question!r}, index, {words})\n"
            "sets = {one.words: one.rows for one in found.sets}\n"
            "idf = {word.text: word.idf for word in found.words}\n"
            "matches = {one.matches: one.rows for one in asked(found.question, index)}\n"
            'print(*sentences(found), sep="\\n")'
        )


def sets_table(found: Dissection) -> Table:
    """Each word with its rows and its IDF, and below them the larger sets of words."""
    idf: dict[tuple[str, ...], str] = {
        (word.text,): idf_text(word) + " (floor)" * word.floored for word in found.words
    }
    return Table(
        f"How many of {found.size} chunks have all of these words",
        ("words", "chunks", "IDF of the word"),
        tuple(
            (_set_text(one, found), str(one.rows), idf.get(one.words, ABSENT))
            for one in sorted(found.sets, key=lambda one: len(one.words))
        ),
    )


def _set_text(one: WordSet, found: Dissection) -> str:
    left_out = [word.text for word in found.words if word.text not in one.words]
    if len(one.words) == 1 or (found.complete and left_out):
        return " AND ".join(one.words)
    return f"all but {left_out[0]}" if left_out else f"all {len(one.words)} words"


def builders_table(ways: list[MatchAttempt]) -> Table:
    """Each MATCH expression, what it finds, and which systems send it."""
    return Table(
        "What the systems send to FTS5",
        ("MATCH", "finds", "systems", "how it is built"),
        tuple((_match_text(one), _count_text(one), _named(one), _how(one)) for one in ways),
    )


def _match_text(one: MatchAttempt) -> str:
    if not one.matches:
        return "nothing: no usable word"
    return ("one by one: " if len(one.matches) > 1 else "") + " ; ".join(one.matches)


def _count_text(one: MatchAttempt) -> str:
    return f"{one.rows} of {one.of} {one.unit}".replace(" ", NO_BREAK)


def _named(one: MatchAttempt) -> str:
    named = ", ".join(one.systems[:NAMED])
    return f"{named} and {len(one.systems) - NAMED} more" if len(one.systems) > NAMED else named


def _how(one: MatchAttempt) -> str:
    others = len(one.says) - 1
    said = one.says[0].removeprefix("MATCH = ")
    return (
        f"{said} ({others} other {'rule gives' if others == 1 else 'rules give'} the same)"
        if others
        else said
    )

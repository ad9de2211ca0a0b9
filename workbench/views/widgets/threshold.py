"""The threshold lab: you move a floor over the scores of evaluated pipelines.

Its figure has the scores by kind of candidate, the floor, and each leg's reach.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor, isfinite, log10, nan
from typing import Any, NamedTuple

import ipywidgets as w
import numpy as np
import plotly.graph_objects as go

from workbench.errors import InputError
from workbench.measure.evaluation import Evaluation
from workbench.measure.reach import Reach, reaches
from workbench.measure.thresholds import Outcome, Scores, compared, scores
from workbench.records import Floats, Rows, Trace
from workbench.registry import declared_module
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
    live,
    restyle,
    whole_ticks,
)
from workbench.views.text import Table, apart
from workbench.views.widgets.panel import (
    Link,
    Number,
    Panel,
    Selection,
    number_text,
    pipeline_code,
)

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


NONE: Floats = np.empty(0)


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
    restyle(figure, *threshold_updates(scores, reaches, chosen))
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
            hovertemplate=f"selected {what}: %{{x:.4g}}<extra></extra>",
        )
        for what, look in looks.items()
    ]  # fmt: skip


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


def threshold_updates(
    scores: Scores, reaches: Reaches, min_score: float, marked: Marked | None = None
) -> tuple[Updates, Updates]:
    """The properties of the traces and of the axes: what passes a floor, what one leg reaches, and the marks.

    `marked` are the scores of the selected question's candidates.
    """
    low, high, _ = score_span(scores)
    edges, half = _edges(scores), (high - low) / BINS / 2
    middles = np.linspace(low - half, high + half, BINS + 2)  # plus an empty bin at each end
    ends = [_end(reaches.get(leg), low, high) for leg in LEGS]
    # Without a number for a leg's reach there is no box above it.
    tops = [nan if leg in reaches and reaches[leg] is None else high for leg in LEGS]
    at, side = max(low, min_score), "bottom right" if min_score < (low + high) / 2 else "bottom left"
    updates: Updates = {
        "reached": _boxes([low] * 2, ends),
        "out of reach": _boxes(ends, tops),
        "arithmetic": {"x": [low] * 2, "text": [reach_words(leg, reaches, min_score) for leg in LEGS]},
        "floor 1": {"x": [at] * len(ACROSS_BOXES), "y": ACROSS_BOXES},
    }
    title = AXES.get(scores.column, scores.column.replace("_", " "))
    axes: Updates = {"xaxis": {"range": [low, high], "title": {"text": title, "standoff": 4}}}
    for row, (kind, words) in enumerate(zip(KINDS, beside(scores.at(min_score)), strict=True), 2):
        column = getattr(scores, kind)
        counts = _counts(column, edges)
        top = 1.3 * max(1.0, float(counts.max()))  # above all counts, with room for the text of the floor
        updates[kind] = {"x": middles, "y": counts}
        updates[f"{kind} passing"] = {"x": middles, "y": _counts(column[column >= min_score], edges)}
        updates[f"floor {row}"] = {
            "x": [at] * 2,
            "y": [0, top],
            "text": ["", f"\u00a0{words}\u00a0"],
            "textposition": side,
        }
        for what, some in zip(("question", "chunk"), (marked or {}).get(kind, (NONE, NONE)), strict=True):
            found = some[np.isfinite(some)]
            updates[f"{kind}, selected {what}"] = {"x": found, "y": np.zeros(found.size)}
        axes[f"yaxis{row}"] = {"range": [0, 1.05 * top], **whole_ticks(top)}
    return updates, axes


def _end(reach: Reach | None, low: float, high: float) -> float:
    return low if reach is None else min(max(reach.score, low), high)


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


class ThresholdLab(Panel):
    """A floor that you move over the scores of evaluated pipelines, and what passes it.

    `settings` are `system` and `min_score`; choosing a system also sets its own floor. `scores` are the
    numbers behind the figure, `outcome` is what passes the floor: hits, precision, and the unanswerable
    questions for which nothing is returned. `diagram` is the reliability diagram below the figure, None
    without a system that states a probability. Raises InputError if there is no evaluation.
    """

    name = "threshold-lab"
    selects: Mapping[str, str] = {"system": "system"}

    def __init__(self, evaluations: Sequence[Evaluation], link: Link = True) -> None:
        if not evaluations:
            raise InputError("The threshold lab got no evaluation.", "Pass the result of evaluate().")
        self._by_system = {one.pipeline.name: one for one in evaluations}
        self._scores = {name: scores(one) for name, one in self._by_system.items()}
        self._reaches = {name: reaches(one.pipeline) for name, one in self._by_system.items()}
        self.system = w.Dropdown(
            options=list(self._by_system), description="system", layout={"width": "27em"}
        )
        span = score_span(self.scores)
        at = max(span.low, self.scores.floor)
        number = Number("min score", at, *span, self._floor_changed, width="26em")
        self.number, self.floor, self.box = number, number.slider, number.box
        self.controls = {"system": self.system, "min_score": self.floor}
        self.outcome = self.scores.at(self.floor.value)
        part = declared_module("diagram", "reliability")
        self.diagram: Any = part and part.diagram_below(evaluations, self.system.value)
        low = self.diagram is not None
        self.figure = live(threshold_figure(self.scores, self.reaches, self.floor.value, low))
        self.system.observe(self._system_changed, "value")
        below = [self.diagram.box] if self.diagram else []
        self.lay_out([self.system, self.number.row], w.VBox([self.figure, *below]), link)

    def follow(self, chosen: Selection) -> None:
        """Shows the selected system, and marks the scores of the selected question's candidates."""
        if chosen.system in self._by_system:
            self.system.value = chosen.system
        self._floor_changed(None)

    def picked(self, name: str, point: int) -> Mapping[str, Any]:
        """A bar selects its system, and the next of its candidates with its question."""
        kind, low, high = name.removesuffix(" passing"), *bar_ends(self.scores, point)
        if name.endswith(" passing"):
            low = max(low, self.floor.value)
        inside = [
            (trace.question, trace.chunks[row])
            for trace, rows in self._rows_of(kind)
            for row in rows[(self._compared(trace)[rows] >= low) & (self._compared(trace)[rows] < high)]
        ]
        if not inside:
            return {}
        before = (self.selection.question, self.selection.chunk)
        question, chunk = inside[(inside.index(before) + 1) % len(inside) if before in inside else 0]
        return {"system": self.system.value, "question": question, "chunk": chunk}

    def _rows_of(self, kind: str) -> Iterator[tuple[Trace, Rows]]:
        """Each search, with the rows of its candidates of this kind."""
        if kind == "control":
            yield from ((trace, np.arange(len(trace.chunks))) for trace in self.evaluation.controls)
        else:
            for one in self.evaluation.asked:
                right = [chunk.path == one.question.target for chunk in one.trace.chunks]
                yield one.trace, np.flatnonzero(np.array(right, bool) == (kind == "target"))

    @property
    def _marked(self) -> Marked:
        """The scores of the selected question's candidates, by kind, and of the selected chunk among them."""
        chosen = self.selection
        found: dict[str, tuple[Floats, Floats]] = {}
        for kind in KINDS:
            asked = [pair for pair in self._rows_of(kind) if pair[0].question == chosen.question]
            of_question = [self._compared(trace)[row] for trace, rows in asked for row in rows]
            of_chunk = [
                self._compared(trace)[row]
                for trace, rows in asked
                for row in rows
                if chosen.covers(trace.chunks[row])
            ]
            found[kind] = np.array(of_question), np.array(of_chunk)
        return found

    def _compared(self, trace: Trace) -> Floats:
        return compared(trace, self.evaluation.pipeline)

    @property
    def evaluation(self) -> Evaluation:
        return self._by_system[self.system.value]

    @property
    def scores(self) -> Scores:
        return self._scores[self.system.value]

    @property
    def reaches(self) -> Reaches:
        """The highest score that each leg of the chosen system can reach alone."""
        return self._reaches[self.system.value]

    @property
    def hits(self) -> int:
        """The number of questions with a hit at this floor."""
        return self.outcome.hits.hits

    @property
    def silent(self) -> int:
        """The number of unanswerable questions for which nothing is returned at this floor."""
        return self.outcome.silent.hits

    @property
    def floor_text(self) -> str:
        """The floor with all of its decimals."""
        return number_text(self.floor.value, self.floor.step)

    @property
    def sentence(self) -> str:
        hits, silent = self.outcome.hits, self.outcome.silent
        empty = (
            f"and nothing is returned for {silent.hits} of {silent.n} unanswerable questions."
            if silent.n
            else "and no question is known to be unanswerable."
        )
        said = f"At {self.floor_text}, {hits.hits} of {hits.n} questions hit, {_precision(self.outcome)},"
        legs = _reach_sentences(self.reaches, self.floor.value)
        return " ".join([said, empty, *legs, *(self.diagram.sentences if self.diagram else [])])

    @property
    def tables(self) -> Sequence[Table]:
        return [self.table, *(self.diagram.tables if self.diagram else [])]

    @property
    def table(self) -> Table:
        own = self.scores.floor
        columns = [self._column(self.outcome, self.floor.value), self._column(self.scores.at(own), own)]
        return Table(
            f"{self.system.value}: what passes the floor",
            ("", f"at {self.floor_text}", f"its own floor: {own:g}" if isfinite(own) else "without a floor"),
            tuple((name, *(column[name] for column in columns)) for name in columns[0]),
        )

    def _column(self, outcome: Outcome, floor: float) -> dict[str, str]:
        passing = {
            f"candidates passing: {label.replace('<br>', ' ')}": getattr(self.scores, kind)
            for kind, (label, _) in KINDS.items()
        }
        return {
            "questions with a hit": f"{outcome.hits.hits} of {outcome.hits.n}",
            "returned chunks of the right file": f"{outcome.right.hits} of {outcome.right.n}",
            "precision": "–" if outcome.precision is None else f"{outcome.precision:.1%}",
            "unanswerable, nothing returned": f"{outcome.silent.hits} of {outcome.silent.n}",
            **{name: f"{np.sum(some >= floor)} of {some.size}" for name, some in passing.items()},
        }

    @property
    def code(self) -> str:
        return "\n".join(
            [
                "import workbench as wb",
                "",
                *pipeline_code(self.evaluation.pipeline),
                f"pipeline = pipeline.asking(min_score={self.floor.value!r})",
                "[evaluated] = wb.evaluate(questions, [pipeline], index)",
                "print(evaluated.overall, evaluated.silent)",
            ]
        )

    def _system_changed(self, _: Any) -> None:
        low, high, step = score_span(self.scores)
        self.number.span(low, high, step, max(low, self.scores.floor))
        self._floor_changed(None)

    def _floor_changed(self, _: Any) -> None:
        chosen = self.floor.value
        self.outcome = self.scores.at(chosen)
        restyle(self.figure, *threshold_updates(self.scores, self.reaches, chosen, self._marked))
        if self.diagram:
            self.diagram.show(self.system.value, chosen)
        self.tell()


def _reach_sentences(reaches: Reaches, floor: float) -> list[str]:
    """What one leg alone can reach; one sentence where the stages say for no leg."""
    if all(reaches.get(leg, True) is None for leg in LEGS):
        return ["What one leg alone can reach also depends on the texts."]
    return [f"{reach_words(leg, reaches, floor).capitalize()}." for leg in LEGS]


def _precision(outcome: Outcome) -> str:
    if outcome.precision is None:
        return "no question returns anything"
    right = outcome.right
    return (
        f"{right.hits} of {right.n} returned chunks are of the right file (precision {outcome.precision:.0%})"
    )

"""The fusion lab: two lists, a fusion method with its weights, and a floor on the fused scores.

Its figure shows the ranks in each leg, the fused ranks, and the fused scores with the floor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import floor, log10
from typing import Any

import ipywidgets as w
import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.records import Candidate, Floats, Trace
from workbench.retrieval.columns import parameters
from workbench.retrieval.fusion import Fusion
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench.views.figures.style import BLUE, FLOOR, GREEN, GREY, INK, dress
from workbench.views.text import ABSENT, Table, apart
from workbench.views.widgets.panel import Link, Selection, number_text
from workbench_plugins.asking import Arranged, Number
from workbench_plugins.drawn import Updates, live, restyle
from workbench_plugins.engines.presets import ENGINES, PIPELINES, FusedHit, LegPart, fuse
from workbench_plugins.engines.whose_fusion import (
    EXAMPLE,
    Lists,
    lists_of,
    named_candidates,
    place_text,
)

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


# The sliders: the label, the ends, and the step.
PARAMETERS = {
    "keyword": ("keyword weight", 0.0, 2.0, 0.05),
    "vector": ("vector weight", 0.0, 2.0, 0.05),
    "k": ("k", 0.0, 100.0, 1.0),
    "share": ("bonus share", 0.0, 1.0, 0.05),
}
NOTHING = "nothing"


class FusionLab(Arranged):
    """Fuses two lists with any engine's method; sliders set its weights and constants, and a floor.

    `settings` are `method`, `min_score`, `watch`, and those of `keyword`, `vector`, `k` and `share` that the
    method has. With an `index`, the lists are the hits of the legs for `question`, which is a setting too;
    `trace` is then the search with this fusion. Without an index, they are `lists`: the scores of the vector
    leg by id, and those of the keyword leg; larger is better. `places` are the candidates in the figure.

    By default, `min_score` is OpenClaw's 0.35, or half of the best score if no candidate would pass 0.35.
    It stays when you choose another method. A `watch`ed file stays chosen when a question does not bring it.
    """

    name = "fusion-lab"
    _candidates: Mapping[str, Candidate]

    def __init__(
        self,
        lists: Lists = EXAMPLE,
        index: Index | None = None,
        question: str = "",
        watch: str = NOTHING,
        method: str = "rrf-60",
        min_score: float | None = None,
        link: Link = True,
    ) -> None:
        self._index = None if index is None else CachedIndex(index)
        self.selects = {} if index is None else {"question": "question", "watch": "file"}
        self.lists, self._candidates = lists, {}
        self._ask(question)
        self.question = w.Text(
            value=question, description="question", disabled=index is None, continuous_update=False,
            layout={"width": "55em"},
        )  # fmt: skip
        self.method = w.Dropdown(options=list(ENGINES), description="method", layout={"width": "24em"})
        self.watch = w.Dropdown(options=self._watchable(), description="watch", layout={"width": "27em"})
        self.numbers = {
            name: Number(label, low, low, high, step, self._changed)
            for name, (label, low, high, step) in PARAMETERS.items()
        }
        self.floor = Number("min score", 0.35, 0.0, 1.0, 0.005, self._changed)
        self.controls = {
            "question": self.question,
            "method": self.method,
            **{name: number.slider for name, number in self.numbers.items()},
            "min_score": self.floor.slider,
            "watch": self.watch,
        }
        with self._together():
            self.settings = {"method": method, "watch": watch}
            self._take_over_parameters()
            self.places = fuse(self.fusion, *self.lists)
            self.settings = {"min_score": self._first_floor if min_score is None else min_score}
        self.figure = live(fusion_figure(self.places, self.floor.value, self.watched))
        self.question.observe(self._question_changed, "value")
        self.method.observe(self._method_changed, "value")
        self.watch.observe(self._lists_changed, "value")
        asked = [] if index is None else [self.question]
        rows = [number.row for number in (*self.numbers.values(), self.floor)]
        self.lay_out([*asked, self.method, self.watch, *rows], self.figure, link)

    @property
    def _first_floor(self) -> float:
        """OpenClaw's floor, 0.35, or half of the best score if no candidate would pass it."""
        best = max((one.score for one in self.places), default=1.0)
        half = max(0.0, best) / 2
        return self.floor.value if best >= self.floor.value else half - half % self.floor.slider.step

    def _ask(self, question: str) -> None:
        if self._index is not None:
            self._candidates = named_candidates(question, self._index)
            self.lists = lists_of(self._candidates)

    @property
    def fusion(self) -> Fusion:
        """The method with the current values of its sliders."""
        return replace(ENGINES[self.method.value].fusion, **self._parameters)

    @property
    def _parameters(self) -> dict[str, float]:
        return {name: n.value for name, n in self.numbers.items() if not n.slider.disabled}

    @property
    def pipeline(self) -> Pipeline:
        """The engines' legs with this fusion and this floor."""
        fused = PIPELINES[0].with_stage(self.fusion).asking(min_score=self.floor.value)
        return replace(fused, name=f"engine-{self.method.value}")

    @property
    def trace(self) -> Trace:
        """The search for the question with this fusion. Raises InputError if two lists were given."""
        if self._index is None:
            raise InputError(
                "This fusion lab shows two given lists, not a search.", "Give it an index and a question."
            )
        return search(self.question.value, self.pipeline, self._index)

    @property
    def watched(self) -> set[str]:
        """The watched ids: one, or all chunks of a file."""
        return {name for name in (*self.lists[0], *self.lists[1]) if _watch_name(name) == self.watch.value}

    def _watchable(self) -> list[str]:
        return [NOTHING, *sorted({_watch_name(name) for name in (*self.lists[0], *self.lists[1])})]

    def _offer(self, kept: str) -> None:
        """Offers what can be watched, and keeps a file that no list has now: another question may."""
        with self._together():
            self.watch.options = list(dict.fromkeys([*self._watchable(), kept]))
            self.watch.value = kept

    def follow(self, chosen: Selection) -> None:
        """Fuses the lists of the selected question, watches the selected file, and marks the chunk."""
        if self._index is None:
            return
        if chosen.question:
            self.question.value = chosen.question
        if chosen.file and chosen.file != self.watch.value:
            self._offer(chosen.file)
        self._changed(None)

    def picked(self, name: str, point: int) -> Mapping[str, Any]:
        """A candidate's mark selects its chunk and its question."""
        row, drawn = row_of(name, point), shown(self.places, self.watched)
        if row is None or row >= len(drawn) or not self._candidates:
            return {}
        return {"question": self.question.value, "chunk": self._candidates[drawn[row].id].chunk}

    def _chosen(self, what: str, value: Any) -> None:
        if value != NOTHING:
            super()._chosen(what, value)

    @property
    def _marked(self) -> set[str]:
        """The ids of the selected chunk."""
        return {name for name, one in self._candidates.items() if self.selection.covers(one.chunk)}

    @property
    def sentence(self) -> str:
        if not self.places:
            return "Neither list has a candidate."
        floor = self.floor.value
        passing = sum(one.score >= floor for one in self.places)
        ties = {one.first for one in self.places if one.tied}
        leaders, best = [one.id for one in self.places if one.first == 1], self.places[0].score
        told = [
            f"{self.method.value}: {self.fusion.says}.",
            f"{' = '.join(leaders)} {'is' if len(leaders) == 1 else 'are'} first with {best:.4g}.",
            f"{len(ties)} ties." if len(ties) != 1 else "One tie.",
            f"{passing} of {len(self.places)} candidates pass {number_text(floor, 0.01)}.",
            *([f"The figure shows {MOST_ROWS} of them."] if len(self.places) > MOST_ROWS else []),
        ]
        return " ".join([*told, *self._of_the_watched])

    @property
    def _of_the_watched(self) -> list[str]:
        """What becomes of the watched file's best chunk, as one sentence, if a file is watched."""
        if self.watch.value == NOTHING:
            return []
        watched = self.watched
        best = next((one for one in self.places if one.id in watched), None)
        return [_told(best, self.floor.value) if best else f"{self.watch.value} is in neither list."]

    @property
    def table(self) -> Table:
        legs = [name for leg in ("keyword", "vector") for name in (f"{leg} rank", "score", "gives")]
        return Table(
            f"{self.method.value}: all candidates, best first",
            ("candidate", "place", *legs, "fused score", f"floor {number_text(self.floor.value, 0.01)}"),
            tuple(self._row(one) for one in self.places),
        )

    def _row(self, one: FusedHit) -> tuple[str, ...]:
        fate = "passes" if one.score >= self.floor.value else "dropped"
        return (one.id, place_text(one), *_cells(one.keyword), *_cells(one.vector), f"{one.score:.4f}", fate)

    @property
    def code(self) -> str:
        numbers = "".join(f", {name}={value!r}" for name, value in self._parameters.items())
        needed = ["from workbench_plugins.engines.whose_fusion import legs_of"] if self._index else []
        lists = (
            [f"vector, keyword = legs_of({self.question.value!r}, index)"]
            if self._index
            else [f"vector = {dict(self.lists[0])!r}", f"keyword = {dict(self.lists[1])!r}"]
        )
        return "\n".join(
            [
                "from dataclasses import replace",
                "",
                *needed,
                "from workbench_plugins.engines.presets import ENGINES, fuse",
                "",
                *lists,
                f"fusion = replace(ENGINES[{self.method.value!r}].fusion{numbers})",
                "hits = fuse(fusion, vector, keyword)",
                "for hit in hits:",
                f"    print(hit.id, hit.score, hit.score >= {self.floor.value!r})",
            ]
        )

    @contextmanager
    def _together(self) -> Iterator[None]:
        """Changes several controls, and draws the figure once afterwards."""
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False

    def _question_changed(self, _: Any) -> None:
        self._ask(self.question.value)
        self._offer(self.watch.value)
        self._lists_changed(None)

    def _method_changed(self, _: Any) -> None:
        with self._together():
            self._take_over_parameters()
        self._changed(None)

    def _take_over_parameters(self) -> None:
        """Sets the sliders to the method's default values, and disables those that it does not have."""
        own = parameters(ENGINES[self.method.value].fusion)
        ranges = ENGINES[self.method.value].fusion.ranges
        for name, number in self.numbers.items():
            _, low, high, step = PARAMETERS[name]
            number.enable(name in own)
            if name in own:
                number.span(max(low, ranges.get(name, (low, high))[0]), high, step, own[name])

    def _lists_changed(self, _: Any) -> None:
        if not self._quiet:
            self.figure.layout.height = figure_height(fuse(self.fusion, *self.lists))
            self._changed(None)

    def _changed(self, _: Any) -> None:
        if not self._quiet:
            self.places = fuse(self.fusion, *self.lists)
            floor = self.floor.value
            updates = fusion_updates(self.places, floor, self.watched, self._marked)
            restyle(self.figure, updates, fusion_axes(self.places, floor))
            self.tell()


def _watch_name(name: str) -> str:
    """The choice that watches a candidate: its file, if its name is a place in a file."""
    return name.rpartition(":")[0] or name


def _cells(given: LegPart | None) -> tuple[str, str, str]:
    if given is None:
        return ABSENT, ABSENT, ABSENT
    return f"{given.rank}", f"{given.score:.4g}", f"{given.part:.4f}"


def _told(one: FusedHit, floor: float) -> str:
    score, least = apart(one.score, floor)
    fate = f"≥ {least}, it passes" if one.score >= floor else f"< {least}, it is dropped"
    return f"{one.id} is {place_text(one)}: {score} {fate}."

"""Figures of plain numbers, drawn by plotly in one look: `from workbench.views import plots` has their names.

Importing this module loads plotly and registers the look as `plotly.io.templates["workbench"]`: colours of
Okabe and Ito, text of 14 px, a background that lets light and dark pages through, and margins that grow with
the labels, so that none is cut. Every name is shown as text, whatever it holds.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import cycle, pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio
from numpy.typing import ArrayLike, NDArray

from workbench.errors import InputError
from workbench.masking import without_own_keys
from workbench.safe_text import one_line

BLUE, VERMILION, GREEN, PURPLE, OCHRE, GREY = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b38600", "#8c8c8c"
)  # fmt: skip
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, OCHRE, GREY)
"""Colours that colour-blind readers can tell apart (Okabe and Ito; ochre is their orange, darker)."""

INK = "#767676"
"""The colour of text: readable on white and on a dark page."""

CLEAR, GRID = "rgba(0,0,0,0)", "rgba(128,128,128,0.25)"
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
BINS, MOST_MARKS, MOST_CELLS = 50, 300, 12
"""Bars of a histogram, marks of a curve or strip, and columns of a heat map with numbers, at most."""

MOST_ROWS, MOST_POINTS = 500, 10_000
"""Names of a figure, and points or cells of one, at most: more take a browser seconds."""

FEW = 5
"""A larger count needs no tick for each whole number: plotly's own ticks are whole then."""

NAME_COLUMNS = 26
"""The columns of a line of a name beside a bar; a longer name continues on the next line."""

RANKED_COLUMNS = 20
"""The columns of a line of a name at both sides of a figure of ranks."""

TITLE_COLUMNS = 28
"""The columns of a line of an axis title, so that it fits a page of 400 pixels."""

LINE, ROW, MODE_BAR = 19, 17, 28
"""Pixels of a line of text, of the space around the bar of a row, and of plotly's buttons above a figure."""

NO_BUTTONS = ["sendcharttocloud", "lasso2d", "select2d", "zoomin2d", "zoomout2d", "autoscale2d"]
"""Buttons of plotly that a figure does not have: the first one sends it to a server of plotly's maker."""

MINUS = "−"
"""The minus sign that plotly writes on an axis."""

Interval = tuple[float, float, float]
"""A number with the ends of its interval."""

Floats = NDArray[np.float64]
Points = Sequence[tuple[float, float]]
Shape = Literal["histogram", "ecdf", "strip"]

_axis = {
    "automargin": True, "ticks": "outside", "ticklen": 5, "tickcolor": GREY, "linecolor": GREY,
    "gridcolor": GRID, "showline": True, "zeroline": False, "title": {"standoff": 10, "font": {"size": 14}},
}  # fmt: skip
pio.templates["workbench"] = go.layout.Template(
    layout={
        "font": {"size": 14, "color": INK, "family": "system-ui, sans-serif"},
        "colorway": list(COLOURS),
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "margin": {"l": 8, "r": 12, "t": MODE_BAR, "b": 8},
        "xaxis": _axis,
        "yaxis": _axis,
        "legend": {
            "orientation": "h",
            "xref": "container",
            "yref": "container",
            "x": 0,
            "y": 0,
            "yanchor": "bottom",
        },
        "hoverlabel": {"align": "left", "namelength": -1},
        "modebar": {"bgcolor": CLEAR, "color": INK, "activecolor": BLUE, "remove": NO_BUTTONS},
        "bargap": 0.3,
    }
)


class Figure(go.Figure):  # type: ignore[misc]
    """A figure of plotly that also says its numbers in words: to change, to reuse, and to save.

    A notebook gets plotly's own form of it, which JupyterLab and VS Code draw; elsewhere it is its words.
    """

    _ipython_display_ = _repr_html_ = None

    @property
    def words(self) -> str:
        """The numbers of the figure in words."""
        return str(self.layout.meta["words"])

    def __repr__(self) -> str:
        return self.words

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, Any]:
        spec = self.spec | {"config": {"displaylogo": False, "typesetMath": False}}
        return {"application/vnd.plotly.v1+json": spec, "text/plain": self.words}

    @property
    def spec(self) -> dict[str, Any]:
        """The figure as plotly.js takes it: `data` and `layout`."""
        found: dict[str, Any] = json.loads(self.to_json())
        return found


# Text


def text(words: str) -> str:
    """Words that plotly shows as they are: no markup, no formula, no control character."""
    return escape(one_line(without_own_keys(words)), quote=False).replace("$", "&#36;")


def folded(name: str, columns: int = NAME_COLUMNS) -> str:
    """A name in lines, folded after blanks and slashes, and within a word that is longer than a line."""
    lines, room = [""], columns
    for piece in re.findall(r"[^\s/]*(?:/|\s+|$)", one_line(without_own_keys(name))):
        for part in _parts(piece, columns):
            if _columns(part.rstrip()) > room and lines[-1]:
                lines.append("")
                room = columns
            lines[-1] += part
            room -= _columns(part)
    return "<br>".join(text(line.strip()) for line in lines)


def _parts(piece: str, columns: int) -> list[str]:
    wide = columns // 2 if _columns(piece) > len(piece) else columns
    return [piece[start : start + wide] for start in range(0, len(piece), wide)]


def _columns(words: str) -> int:
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in words)


def title(words: str) -> str:
    """The title of an axis in as few lines as fit, which are about as long as each other."""
    count = folded(words, TITLE_COLUMNS).count("<br>")
    longest = max(map(_columns, words.split()), default=0)  # narrower lines would break this word
    widths = range(max(2, min(longest, TITLE_COLUMNS)), TITLE_COLUMNS + 1)
    return next(found for width in widths if (found := folded(words, width)).count("<br>") == count)


def number(value: float) -> str:
    """A number with four digits at most."""
    return with_minus(f"{value:.4g}") if math.isfinite(value) else "no number"


def with_minus(written: str) -> str:
    """A written number with the minus sign that plotly puts on an axis. The hyphen of an exponent stays."""
    return re.sub(r"^-", MINUS, written)


def with_interval(value: float, low: float, high: float) -> str:
    """A number and its interval, with the decimals that two digits of the interval's width have.

    An interval without an end is written with the number alone.

    >>> with_interval(-14.035, -28.0, 1e-8), with_interval(0.0712, 0.031, 0.0899), with_interval(51, 51, 51)
    ('−14 (−28 to 0)', '0.071 (0.031 to 0.090)', '51')
    """
    if not 0 < high - low < math.inf:
        return number(value)
    digits = max(0, 1 - math.floor(math.log10(high - low)))
    value, low, high = (round(one, digits) + 0.0 for one in (value, low, high))  # + 0.0: no negative zero
    written, first, last = (with_minus(f"{one:.{digits}f}") for one in (value, low, high))
    return f"{written} ({first} to {last})"


# The frame of a figure


def _figure(words: str, height: float, **layout: Any) -> Figure:
    figure = Figure(layout={"template": "workbench", "height": round(height), "meta": {"words": words}})
    figure.update_layout(layout)
    return figure


def _reference(figure: Figure, across: bool, at: float, label: str) -> None:
    """A line across the figure at a number of the y axis, or up at one of the x axis, with its label."""
    line = {"color": INK, "width": 1.5, "dash": "dash"}
    about: dict[str, Any] = {"line": line, "annotation_text": text(label)}
    if across:
        figure.add_hline(at, annotation_position="top left", **about)
    else:
        figure.add_vline(at, annotation_position="top", **about)
        figure.update_layout(margin_t=MODE_BAR + LINE)


def _numbers(values: ArrayLike, columns: int = 0) -> Floats:
    """The values as a flat array, or as rows of so many columns. Raises InputError for anything else."""
    try:
        if np.asarray(values).dtype.kind in "US":
            raise TypeError("texts")
        found: Floats = np.asarray(values, float)
        return found.reshape(-1, columns) if columns else found.ravel()
    except (TypeError, ValueError, OverflowError):
        form = f"rows of {columns} numbers" if columns else "a flat array of numbers"
        raise InputError(f"This cannot be drawn: {reprlib.repr(values)}.", f"Give {form}.") from None


def _limit(value: float | None) -> float | None:
    """A number of an axis, or None if it is missing."""
    (found,) = _row([math.nan if value is None else value], 1)
    return found if math.isfinite(found) else None


def _row(values: ArrayLike, size: int) -> list[float]:
    """The numbers, if there are `size` of them. Raises InputError for more or fewer."""
    found: list[float] = _numbers(values).tolist()
    if len(found) != size:
        raise InputError(f"This cannot be drawn: {reprlib.repr(values)}.", f"Give numbers: {size}.")
    return found


def _whole(values: ArrayLike) -> list[float]:
    """Numbers, of which the whole ones are written without a fraction."""
    return [int(one) if one.is_integer() else one for one in _numbers(values).tolist()]


def _names(values: Iterable[str], what: str) -> list[str]:
    """The texts of a sequence. Raises InputError for anything else."""
    problem = InputError(f"These are no names: {reprlib.repr(values)}.", f"Give texts as {what}.")
    try:
        found = list(values)
    except TypeError:
        raise problem from None
    if isinstance(values, str) or not all(isinstance(one, str) for one in found):
        raise problem
    return [str(one) for one in found]


def _finite(values: ArrayLike, what: str = "number") -> Floats:
    found = _numbers(values)
    found = found[np.isfinite(found)]
    if not found.size:
        raise InputError("There is nothing to draw.", f"Give one {what} or more that is not missing.")
    if not math.isfinite(float(found.max()) - float(found.min())):
        raise InputError(
            "The numbers are too far apart for one axis.", "Draw the largest ones by themselves."
        )
    return found


def _named(value: Any, form: str, most: int = MOST_ROWS) -> None:
    """Raises InputError if this is no mapping from texts, or one that is too long for a figure."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InputError(f"This cannot be drawn: {reprlib.repr(value)}.", f"Give {form}.")
    _at_most(len(value), most)


def _at_most(count: int, most: int) -> None:
    if count > most:
        raise InputError(f"A figure shows at most {most:,} of these, not {count:,}.", "Draw a part of them.")


def _interval(one: float | Interval) -> Interval:
    values = _numbers(one).tolist()
    if len(values) not in (1, 3):
        raise InputError(
            f"This cannot be drawn: {reprlib.repr(one)}.", "Give a number, or (number, low, high)."
        )
    value, low, high = values * 3 if len(values) == 1 else values
    return value, low, high


# Bars, lines and maps


def bars(numbers: Mapping[str, float | Interval], unit: str, reference: float | None = None) -> Figure:
    """One bar for each name, with its number beside it; (number, low, high) adds a line from low to high.

    `unit` is what the numbers count. `reference` is a number that all are compared with. Raises InputError if
    there is no number.
    """
    _named(numbers, "numbers by name, such as {'one': 3}")
    found = {name: _interval(one) for name, one in numbers.items()}
    _finite([one[0] for one in found.values()])
    shown = [with_interval(*one) for one in found.values()]
    words = f"{unit}: " + ", ".join(f"{name} {one}" for name, one in zip(found, shown, strict=True))
    values = [value if math.isfinite(value) else None for value, _, _ in found.values()]
    figure = _rows(words, list(zip(found, shown, strict=True)), unit)
    whiskers = [(high - value, value - low) for value, low, high in found.values()]
    figure.add_bar(
        x=values,
        y=list(range(len(found))),
        orientation="h",
        marker_color=[VERMILION if (value or 0) < 0 else BLUE for value in values],
        hovertext=[f"{text(name)}: {one}" for name, one in zip(found, shown, strict=True)],
        hoverinfo="text",
    )
    ends = {"array": [above for above, _ in whiskers], "arrayminus": [below for _, below in whiskers]}
    # Ink alone is not seen on a bar, and white alone is not seen beside it on a light page.
    for colour, thickness in (("white", 4.5), (INK, 1.5)) if any(map(any, whiskers)) else ():
        figure.add_scatter(
            x=values, y=list(range(len(found))), mode="markers", marker_opacity=0, hoverinfo="skip",
            error_x={"type": "data", "color": colour, "thickness": thickness, **ends},
        )  # fmt: skip
    if all(float(one or 0).is_integer() and abs(one or 0) <= FEW for one in values):
        figure.update_xaxes(dtick=1)
    if (at := _limit(reference)) is not None:
        _reference(figure, False, at, number(at))
    return figure


def _rows(words: str, shown: Sequence[tuple[str, str]], unit: str, bars_a_row: int = 1) -> Figure:
    """A figure of horizontal bars, the first one on top: each with a name and, at the right, a text."""
    names = [folded(name) for name, _ in shown]
    lines = [max(name.count("<br>") + 1, bars_a_row) for name in names]
    figure = _figure(
        words,
        48 + MODE_BAR + LINE * title(unit).count("<br>") + sum(LINE * count + ROW for count in lines),
        showlegend=False,
    )
    ticks = list(range(len(names)))
    axis = {"tickvals": ticks, "range": [len(names) - 0.5, -0.5], "showgrid": False, "ticks": ""}
    figure.update_layout(
        xaxis={"title_text": title(unit), "rangemode": "tozero", "zeroline": True, "zerolinecolor": GREY},
        yaxis=axis | {"ticktext": names},
    )
    if any(right for _, right in shown):
        figure.add_scatter(x=[0], y=[0], yaxis="y2", mode="markers", marker_opacity=0, hoverinfo="skip")
        right_axis = {"ticktext": [text(right) for _, right in shown], "side": "right", "overlaying": "y"}
        figure.update_layout(
            yaxis2=axis | right_axis | {"showline": False, "automargin": True, "tickmode": "array"}
        )
    return figure


def lines(
    points: Mapping[str, Points],
    x: str,
    y: str,
    references: Mapping[str, float] | None = None,
    bands: Mapping[str, tuple[float, float]] | None = None,
) -> Figure:
    """The points of each name, joined in their order; `x` and `y` name the axes with their units.

    `references` are numbers of the y axis that stand as dashed lines, and `bands` are spans of it. Raises
    InputError if there is no point.
    """
    _named(points, "points by name, such as {'one': [(0, 1), (1, 3)]}")
    points = {name: [(a, b) for a, b in _numbers(some, 2).tolist()] for name, some in points.items()}
    _at_most(sum(map(len, points.values())), MOST_POINTS)
    _finite([one for some in points.values() for one in some], "point")
    described = (
        f"{name}: " + ", ".join(f"({number(a)}, {number(b)})" for a, b in some)
        for name, some in points.items()
    )
    figure = _figure(f"{y} by {x}. " + "; ".join(described), 400, showlegend=len(points) > 1)
    figure.update_layout(xaxis_title_text=title(x), yaxis_title_text=title(y))
    for label, ends in (bands or {}).items():
        low, high = _row(ends, 2)
        figure.add_hrect(low, high, fillcolor=GREY, opacity=0.2, line_width=0, annotation_text=text(label))
    for nth, (name, some) in enumerate(points.items()):
        figure.add_scatter(
            x=[a for a, _ in some],
            y=[b for _, b in some],
            name=text(name),
            mode="lines+markers",
            marker={"size": 8, "symbol": SYMBOLS[nth % len(SYMBOLS)]},
            hovertext=[f"{text(name)}<br>{text(x)}: {number(a)}<br>{text(y)}: {number(b)}" for a, b in some],
            hoverinfo="text",
        )
    for label, value in (references or {}).items():
        if (at := _limit(value)) is not None:
            _reference(figure, True, at, label)
    return figure


def heat_map(
    cells: Mapping[tuple[str, str], float],
    x: str,
    y: str,
    unit: str = "",
    marks: Mapping[tuple[str, str], str] | None = None,
) -> Figure:
    """A cell for each pair of names, the darker the larger its number; `marks` stand beside some numbers.

    Of more than twelve columns only the marks are written; hovering has the numbers. Raises InputError if
    there is no number.
    """
    if not isinstance(cells, Mapping) or not all(isinstance(one, tuple) and len(one) == 2 for one in cells):
        raise InputError(
            f"This cannot be drawn: {reprlib.repr(cells)}.", "Give numbers by two names: {('one', 'two'): 3}."
        )
    _at_most(len(cells), MOST_POINTS)
    cells = dict(zip(cells, (_row([value], 1)[0] for value in cells.values()), strict=True))
    _finite([*cells.values()])
    marks = marks or {}
    across, up = ([*dict.fromkeys(pair[axis] for pair in cells)] for axis in (0, 1))
    table = [[cells.get((one, other), math.nan) for one in across] for other in up]
    described = [f"({one}, {other}) {number(value)}" for (one, other), value in cells.items()]
    named = [f"{mark} ({one}, {other})" for (one, other), mark in marks.items()]
    words = f"{unit or 'number'} by {x} and {y}: {', '.join(described)}. {', '.join(named)}".rstrip(". ")

    def written(pair: tuple[str, str]) -> str:
        value = cells.get(pair, math.nan)
        shown = number(value) if len(across) <= MOST_CELLS and math.isfinite(value) else ""
        return f"{shown} {text(marks.get(pair, ''))}".strip()

    figure = _figure(words, 94 + MODE_BAR + 34 * len(up))
    figure.add_heatmap(
        z=[[None if math.isnan(value) else value for value in row] for row in table],
        x=list(range(len(across))),
        y=list(range(len(up))),
        colorscale=[[0, "#dcebf5"], [0.5, "#5aa5d0"], [1, "#005a8e"]],
        colorbar={
            "title": {"text": folded(unit, 12)}, "outlinewidth": 0, "thickness": 12,
            "nticks": min(6, 2 + len(up)),
        },
        text=[[written((one, other)) for one in across] for other in up],
        texttemplate="%{text}",
        hovertext=[
            [
                f"{text(one)}<br>{text(other)}<br>{number(cells.get((one, other), math.nan))} {text(unit)}"
                for one in across
            ]
            for other in up
        ],
        hoverinfo="text",
        xgap=1,
        ygap=1,
    )  # fmt: skip
    # Of many columns, as many have a name as stand beside each other.
    step = -(-len(across) // MOST_CELLS)
    figure.update_layout(
        xaxis={
            "title_text": title(x), "tickvals": list(range(0, len(across), step)), "showgrid": False,
            "ticktext": [folded(name, 12) for name in across[::step]],
        },
        yaxis={
            "title_text": title(y), "tickvals": list(range(len(up))), "showgrid": False,
            "ticktext": [folded(name) for name in up],
        },
    )  # fmt: skip
    return figure


def ranks(orders: Mapping[str, Sequence[str]], watched: str | None = None) -> Figure:
    """The rank of each name in several orders, such as before and after a fusion; a line joins the ranks.

    A name that an order lacks has no mark there. `watched` has a thick line. Raises InputError if no order
    has a name.
    """
    _named(orders, "orders by name, such as {'before': ['a', 'b']}")
    orders = {head: _names(order, "an order") for head, order in orders.items()}
    names = [*dict.fromkeys(name for order in orders.values() for name in order)]
    if not names:
        raise InputError("There is nothing to draw.", "Give an order with one name or more.")
    _at_most(len(names), MOST_ROWS)
    if twice := [head for head, order in orders.items() if len(set(order)) < len(order)]:
        raise InputError(f"A name stands twice in {twice[0]!r}.", "Give each name one rank.")
    described = (f"{head}: " + ", ".join(order) for head, order in orders.items())
    top = MODE_BAR + 2 * LINE  # the heads of the orders stand there
    figure = _figure("; ".join(described), 76 + top + 36 * len(names), margin_t=top, showlegend=False)
    numbers = {head: {name: number for number, name in enumerate(order, 1)} for head, order in orders.items()}
    for name, colour in zip(names, cycle(COLOURS), strict=False):
        ranked = [numbers[head].get(name) for head in orders]
        is_watched = name == watched or watched is None
        figure.add_scatter(
            x=list(range(len(orders))),
            y=ranked,
            mode="lines+markers",
            line={"color": colour if is_watched else GREY, "width": 4 if name == watched else 2},
            marker_size=9,
            connectgaps=False,
            hovertext=[
                f"{text(name)}: rank {rank} in {text(head)}"
                for rank, head in zip(ranked, orders, strict=True)
            ],
            hoverinfo="text",
        )
    every = list(range(1, len(names) + 1))

    def named(order: Sequence[str]) -> list[str]:
        """What stands beside the ranks of an order: the names that it has."""
        return [folded(name, RANKED_COLUMNS) for name in order] + [""] * (len(names) - len(order))

    first, *_, last = [*orders.values()] * 2
    axis = {"range": [len(names) + 0.5, 0.5], "tickvals": every}
    figure.update_layout(
        xaxis={
            "tickvals": list(range(len(orders))), "ticktext": [folded(one, 14) for one in orders],
            "range": [-0.1, len(orders) - 0.9], "side": "top", "showline": False,
        },
        yaxis=axis | {"ticktext": [f"{name} {rank}" for rank, name in zip(every, named(first), strict=True)]},
    )  # fmt: skip
    if len(orders) > 1:
        figure.data[-1].update(yaxis="y2")
        right_axis = {"ticktext": named(last), "side": "right", "overlaying": "y", "showgrid": False}
        figure.update_layout(yaxis2=axis | right_axis | {"automargin": True, "tickmode": "array"})
    return figure


# Scores and thresholds


class Group(NamedTuple):
    """Numbers that are compared with a threshold, by what they belong to."""

    name: str
    colour: str
    values: Floats
    missing: int


RIGHT, OTHER, UNANSWERABLE = "right file", "other files", "unanswerable"


def scores(
    right: ArrayLike,
    other: ArrayLike,
    unanswerable: ArrayLike = (),
    threshold: float | None = None,
    shape: Shape = "histogram",
    axis: str = "score",
) -> Figure:
    """How scores lie around a threshold: of the right file, of other files, and of unanswerable questions.

    All three are flat arrays; missing numbers are left out and counted. The groups share both axes: the y
    axis is the share of each group, and the legend counts what passes: what is at least `threshold`.
    `shape` is a histogram, the cumulative share (ecdf), or one mark for each number (strip). `axis` names the
    numbers. Raises InputError if there is no number, and for an unknown shape.
    """
    samples = {RIGHT: (BLUE, right), OTHER: (GREY, other), UNANSWERABLE: (VERMILION, unanswerable)}
    return _distributions(samples, threshold, shape, axis)


def stated(
    answerable: ArrayLike,
    unanswerable: ArrayLike,
    threshold: float | None = None,
    shape: Shape = "histogram",
    axis: str = "stated probability of an answer",
) -> Figure:
    """How one number for each question lies around a threshold, such as a stated probability of an answer.

    Both are flat arrays with one number a question; otherwise as `scores`.
    """
    samples = {
        "answerable questions": (BLUE, answerable),
        "unanswerable questions": (VERMILION, unanswerable),
    }
    return _distributions(samples, threshold, shape, axis)


def _distributions(
    samples: Mapping[str, tuple[str, ArrayLike]], threshold: float | None, shape: Shape, axis: str
) -> Figure:
    if not isinstance(shape, str) or shape not in _SHAPES:
        raise InputError(f"There is no shape {shape!r}.", f"Choose one of {', '.join(_SHAPES)}.")
    limit = _limit(threshold)
    groups = [_group(name, colour, values) for name, (colour, values) in samples.items()]
    groups = [one for one in groups if one.values.size]
    _finite(np.concatenate([one.values for one in groups] or [np.empty(0)]), "score")
    at = "" if limit is None else f" The threshold is {number(limit)}."
    figure = _figure(
        f"{axis}. {'; '.join(_group_text(one, limit) for one in groups)}.{at}", 380, showlegend=True
    )
    figure.update_layout(xaxis_title_text=title(axis))
    _SHAPES[shape](figure, groups, limit)
    if limit is not None:
        _reference(figure, False, limit, number(limit))
    return figure


def _group(name: str, colour: str, values: ArrayLike) -> Group:
    flat = _numbers(values)
    finite = flat[np.isfinite(flat)]
    return Group(name, colour, np.sort(finite), flat.size - finite.size)


def _group_text(group: Group, limit: float | None) -> str:
    """A group in words: its numbers, and how many of them pass."""
    values = group.values
    ends = (
        f"from {number(values[0])} to {number(values[-1])}"
        if values[0] < values[-1]
        else f"all {number(values[0])}"
    )
    missing = f", {group.missing} without a number" if group.missing else ""
    return f"{_counted(group, limit)}, {ends}{missing}"


def _counted(group: Group, limit: float | None) -> str:
    if limit is None:
        return f"{group.name} ({group.values.size})"
    return f"{group.name} ({int((group.values >= limit).sum())} of {group.values.size} pass)"


def bins(values: Floats) -> Floats:
    """The edges of at most 50 bins of a round width that cover the values; equal values have one bin."""
    low, high = float(values.min()), float(values.max())
    # The power of ten below this still tells neighbouring edges apart, as floating-point numbers are.
    nearest = 40 * float(np.spacing(max(abs(low), abs(high))))
    least = max((high - low) / BINS, nearest) if low < high else max(abs(low), 1.0) / 10
    exponent = math.floor(math.log10(least))
    power = 10.0**exponent
    # With the first and the last bin cut by round edges, one step less fills the range.
    width = next(times * power for times in (1, 2, 5, 10, 20) if (high - low) / (times * power) < BINS - 2)
    first = math.floor(low / width)
    edges: Floats = np.arange(first, math.floor(high / width) + 2, dtype=float) * width
    if exponent > -300:  # beyond, the power of ten by which NumPy rounds is infinite
        edges = np.round(edges, max(12, 1 - exponent))
    edges[0] = min(edges[0], low)  # which rounding may have put above the least value
    return edges


def _histogram(figure: Figure, groups: Sequence[Group], limit: float | None) -> None:
    edges = bins(np.concatenate([one.values for one in groups]))
    for one in groups:
        counts = np.histogram(one.values, edges)[0].tolist()
        size = one.values.size
        spans = [f"{number(low)} to {number(high)}" for low, high in pairwise(edges)]
        told = [f"{one.name}, {span}: {count} of {size}" for span, count in zip(spans, counts, strict=True)]
        figure.add_scatter(
            x=[edges[0], *edges.tolist()],
            y=[0, *(100 * count / size for count in counts), 0],
            name=_counted(one, limit),
            mode="lines",
            line={"color": one.colour, "shape": "hv", "width": 1.5},
            fill="tozeroy",
            hovertext=["", *told, ""],
            hoverinfo="text",
        )
    figure.update_layout(yaxis_title_text="% of the group", xaxis_range=_range(edges, limit))


def _ecdf(figure: Figure, groups: Sequence[Group], limit: float | None) -> None:
    every = np.concatenate([one.values for one in groups])
    for one, dash in zip(groups, ("solid", "dot", "dash"), strict=False):
        size = one.values.size
        shown = np.unique(np.linspace(0, size - 1, min(size, MOST_MARKS // 3)).astype(int))
        figure.add_scatter(
            x=one.values[shown].tolist(),
            y=(100 * (shown + 1) / size).tolist(),
            name=_counted(one, limit),
            mode="lines" if size > 1 else "markers",
            line={"color": one.colour, "shape": "hv", "dash": dash, "width": 2.5},
            hovertemplate="%{y:.0f} % of the group are at most %{x:.4g}<extra></extra>",
        )
    figure.update_layout(
        yaxis={"title_text": "% of the group at or below", "range": [0, 102]},
        xaxis_range=_range(every, limit),
    )


def _strip(figure: Figure, groups: Sequence[Group], limit: float | None) -> None:
    every = np.concatenate([one.values for one in groups])
    for number, one in enumerate(groups):
        size = one.values.size
        shown = np.unique(np.linspace(0, size - 1, min(size, MOST_MARKS // 3)).astype(int))
        spread = 0.3 * np.sin(np.arange(shown.size) * 2.4)  # so that marks do not cover each other
        figure.add_scatter(
            x=one.values[shown].tolist(),
            y=(number + spread).tolist(),
            name=_counted(one, limit),
            mode="markers",
            marker={"color": one.colour, "size": 8, "symbol": SYMBOLS[number], "opacity": 0.7},
            hovertemplate=f"{one.name}: %{{x:.4g}}<extra></extra>",
        )
    names = [f"{one.name}<br>{min(one.values.size, MOST_MARKS // 3)} of {one.values.size}" for one in groups]
    figure.update_layout(
        yaxis={"tickvals": list(range(len(groups))), "ticktext": names, "showgrid": False},
        xaxis_range=_range(every, limit),
    )


_SHAPES = {"histogram": _histogram, "ecdf": _ecdf, "strip": _strip}


def _range(values: Floats, limit: float | None) -> list[float]:
    """The ends of an axis that covers the values and the threshold, with a little space."""
    low, high = (f([*values, *([] if limit is None else [limit])]) for f in (min, max))
    space = 0.03 * (high - low) or max(abs(high), 1.0) / 10
    return [float(low - space), float(high + space)]


def evidence(
    right: ArrayLike, other: ArrayLike, unanswerable: ArrayLike, cosine: float, relevance: float
) -> Figure:
    """Candidates by the evidence of both legs, and the region that passes: either threshold is enough.

    Each group is an array of shape (candidates, 2): the cosine and the keyword relevance r / (1 + r), with
    NaN for a leg that did not bring the candidate. Raises InputError if there is no candidate.
    """
    samples = {RIGHT: (BLUE, right), OTHER: (GREY, other), UNANSWERABLE: (VERMILION, unanswerable)}
    groups = {name: (colour, _numbers(some, 2)) for name, (colour, some) in samples.items()}
    _finite(np.concatenate([some.ravel() for _, some in groups.values()]), "candidate")
    passing = {
        name: (int(((some[:, 0] >= cosine) | (some[:, 1] >= relevance)).sum()), len(some))
        for name, (_, some) in groups.items()
    }
    counts = "; ".join(f"{name}: {count} of {n} pass" for name, (count, n) in passing.items() if n)
    figure = _figure(
        f"Evidence of both legs. {counts}. A candidate passes with a cosine of {number(cosine)} or a keyword "
        f"relevance of {number(relevance)}.",
        440,
    )
    absent = -0.06  # where a leg that did not bring the candidate stands
    for nth, (name, (colour, some)) in reversed([*enumerate(groups.items())]):
        if not len(some):
            continue
        shown = np.unique(np.linspace(0, len(some) - 1, min(len(some), 1500)).astype(int))
        near, shared = np.where(np.isnan(some[shown]), absent, some[shown]).T
        figure.add_scatter(
            x=near.tolist(),
            y=shared.tolist(),
            mode="markers",
            name=f"{name} ({passing[name][0]} of {passing[name][1]} pass)",
            marker={
                "color": colour,
                "symbol": SYMBOLS[nth],
                "size": 7 if name == OTHER else 9,
                "opacity": 0.65,
            },
            hovertemplate=f"{name}: cosine %{{x:.3f}}, relevance %{{y:.3f}}<extra></extra>",
        )
    cosines = np.concatenate([some[:, 0] for _, some in groups.values()])
    high = float(cosines[np.isfinite(cosines)].max(initial=1.0))
    region = {"fillcolor": BLUE, "opacity": 0.12, "line_width": 0, "layer": "below"}
    figure.add_shape(type="rect", x0=cosine, x1=high, y0=-0.1, y1=1.04, **region)
    figure.add_shape(type="rect", x0=-0.1, x1=cosine, y0=relevance, y1=1.04, **region)
    figure.update_layout(
        xaxis={"title_text": title("cosine of the vector leg"), "range": [-0.1, high]},
        yaxis={
            "title_text": title("keyword relevance, r/(1 + r)"), "range": [-0.1, 1.04],
            "tickvals": [absent, 0, 0.25, 0.5, 0.75, 1],
            "ticktext": ["absent", "0", "0.25", "0.5", "0.75", "1"],
        },
    )  # fmt: skip
    return figure


# Results


def survival(left: Mapping[str, Sequence[float]], steps: Sequence[str]) -> Figure:
    """How many questions' right file is left after each step of a search, for each system."""
    _named(left, "counts by the name of a system, such as {'one': [3, 2]}")
    steps = _names(steps, "steps")
    left = {name: _whole(some) for name, some in left.items()}
    _finite([count for some in left.values() for count in some])
    if any(len(some) != len(steps) for some in left.values()):
        raise InputError("The steps and the counts differ in number.", "Give a count for each step.")
    described = (
        f"{name}: " + ", ".join(f"{step} {count}" for step, count in zip(steps, some, strict=True))
        for name, some in left.items()
    )
    figure = _rows(
        "questions whose right file is left. " + "; ".join(described),
        [(step, "") for step in steps],
        "questions whose right file is left",
        len(left),
    )
    for name, some in left.items():
        figure.add_bar(
            x=list(some),
            y=list(range(len(steps))),
            orientation="h",
            name=text(name),
            text=list(some),
            textposition="auto",
            textangle=0,
            hovertext=[
                f"{text(name)}: {count} {text(step)}" for step, count in zip(steps, some, strict=True)
            ],
            hoverinfo="text",
        )
    figure.update_layout(barmode="group", bargap=0.2, showlegend=len(left) > 1, legend_traceorder="normal")
    return figure


def waterfall(
    before: tuple[str, float], changes: Mapping[str, float], after: tuple[str, float], unit: str
) -> Figure:
    """How the changes lead from one number to another: each bar begins where the one before it ends."""
    _named(changes, "changes by name, such as {'one': 3}")
    changes = {name: _row([change], 1)[0] for name, change in changes.items()}
    _finite([before[1], *changes.values(), after[1]])
    starts = np.concatenate([[before[1]], before[1] + np.cumsum([*changes.values()])])[:-1]
    rows: list[tuple[str, float, float, str, str]] = [(before[0], 0.0, before[1], number(before[1]), GREY)]
    for (name, change), start in zip(changes.items(), starts.tolist(), strict=True):
        rows.append((name, start, change, with_minus(f"{change:+.4g}"), VERMILION if change < 0 else BLUE))
    rows.append((after[0], 0.0, after[1], number(after[1]), GREY))
    words = f"{unit}: " + ", ".join(f"{name} {shown}" for name, _, _, shown, _ in rows)
    figure = _rows(words, [(name, shown) for name, _, _, shown, _ in rows], unit)
    figure.add_bar(
        base=[start for _, start, *_ in rows],
        x=[size for _, _, size, *_ in rows],
        y=list(range(len(rows))),
        orientation="h",
        marker_color=[colour for *_, colour in rows],
        hovertext=[f"{text(name)}: {shown}" for name, _, _, shown, _ in rows],
        hoverinfo="text",
    )
    return figure


def prices(changes: Mapping[str, Sequence[float]], unit: str) -> Figure:
    """What each change wins, to the right of 0, and loses, to the left of it; `unit` is what is counted.

    Each change is (won, lost). Raises InputError if there is no change.
    """
    _named(changes, "(won, lost) by name, such as {'one': (3, 1)}")
    changes = {name: _row(pair, 2) for name, pair in changes.items()}
    _finite([*changes.values()], "change")
    outcomes = {name: f"{number(won)} won, {number(lost)} lost" for name, (won, lost) in changes.items()}
    words = f"{unit}: " + "; ".join(f"{name}: {one}" for name, one in outcomes.items())
    figure = _rows(words, list(outcomes.items()), unit)
    for nth, (colour, sign) in enumerate(((BLUE, 1), (VERMILION, -1))):
        figure.add_bar(
            x=[sign * pair[nth] for pair in changes.values()],
            y=list(range(len(changes))),
            orientation="h",
            marker_color=colour,
            hovertext=[f"{text(name)}: {one}" for name, one in outcomes.items()],
            hoverinfo="text",
        )
    figure.update_layout(barmode="relative")
    return figure


def answered(
    curves: Mapping[str, Points], own: Mapping[str, Sequence[float]], questions: int, unanswerable: int
) -> Figure:
    """Questions that hit against unanswerable questions with no result, as the floor of each system moves.

    The points of a curve are (hits, no result); `own` is the point of each system's own floor, a star.
    """
    x, y = f"questions of {questions} that hit", f"unanswerable questions of {unanswerable} with no result"
    figure = lines(curves, x, y)
    own = {name: _row(point, 2) for name, point in own.items()}
    for name, colour in zip(curves, cycle(COLOURS), strict=False):
        if name in own:
            figure.add_scatter(
                x=[own[name][0]], y=[own[name][1]], mode="markers", showlegend=False,
                marker={"symbol": "star", "size": 18, "color": colour, "line": {"color": INK, "width": 1}},
                hovertext=f"{text(name)}, its own floor", hoverinfo="text",
            )  # fmt: skip
    stars = ", ".join(f"{name} ({number(a)}, {number(b)})" for name, (a, b) in own.items())
    figure.update_layout(meta={"words": f"{figure.words}. A star is a system's own floor: {stars}"})
    return figure


def reliability(
    stated: Sequence[float], shares: Sequence[Interval], counts: Sequence[float], floor: float | None
) -> Figure:
    """Stated probabilities against what is true: one mark a bin, with the 95 % interval of its share.

    The dashed line is where both agree. `counts` are the questions of the bins.
    """
    stated, shares = _numbers(stated).tolist(), [_interval(one) for one in _numbers(shares, 3)]
    counts = _whole(counts)
    _finite(stated, "bin")
    if not len(stated) == len(shares) == len(counts):
        raise InputError(
            "The bins differ in number.", "Give a share with its interval, and a count, for each."
        )
    described = [
        f"stated {a:.2f}, true {share:.2f} ({low:.2f} to {high:.2f}) of {n}"
        for a, (share, low, high), n in zip(stated, shares, counts, strict=True)
    ]
    figure = _figure(
        "Share of answerable questions by stated probability: " + "; ".join(described), 400, showlegend=False
    )
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", line={"color": INK, "dash": "dash", "width": 1.5}, hoverinfo="skip"
    )
    figure.add_scatter(
        x=list(stated),
        y=[share for share, _, _ in shares],
        mode="markers",
        marker={"color": BLUE, "size": 10},
        error_y={
            "type": "data", "color": BLUE, "thickness": 1.5,
            "array": [high - share for share, _, high in shares],
            "arrayminus": [share - low for share, low, _ in shares],
        },
        hovertext=described,
        hoverinfo="text",
    )  # fmt: skip
    figure.update_layout(
        xaxis={"title_text": title("stated probability of an answer"), "range": [-0.02, 1.02]},
        yaxis={"title_text": title("share of the questions that have one"), "range": [-0.02, 1.02]},
    )
    if (at := _limit(floor)) is not None:
        _reference(figure, False, at, f"floor {number(at)}")
    return figure


def memory_map(
    points: Points,
    names: Sequence[str],
    near: Sequence[int],
    question: tuple[float, float],
    axes: tuple[str, str],
) -> Figure:
    """The chunks of a memory on a plane, the question, and its neighbours, which are numbered by their rank.

    `near` are the places of the neighbours in `points`, the nearest first; `axes` name the two directions.
    """
    nearest = ", ".join(f"{rank}. {names[number]}" for rank, number in enumerate(near, 1))
    figure = _figure(
        f"{len(points)} chunks on a plane. Nearest to the question: {nearest}", 520, showlegend=True
    )
    others = [number for number in range(len(points)) if number not in near]
    places = np.array([*points, question])
    sides = _sides([points[number] for number in near], question, float(np.ptp(places, axis=0).max()))
    figure.add_scatter(
        x=[points[number][0] for number in others], y=[points[number][1] for number in others],
        mode="markers", name="chunks", marker={"color": GREY, "size": 6, "opacity": 0.5},
        hovertext=[text(names[number]) for number in others], hoverinfo="text",
    )  # fmt: skip
    figure.add_scatter(
        x=[question[0]], y=[question[1]], mode="markers", name="question", hovertext="the question",
        hoverinfo="text", marker={"color": VERMILION, "size": 15, "symbol": "diamond"},
    )  # fmt: skip
    figure.add_scatter(
        x=[points[number][0] for number in near], y=[points[number][1] for number in near],
        mode="markers+text", name="nearest to the question", marker={"color": BLUE, "size": 11},
        text=[str(rank) for rank in range(1, len(near) + 1)], textposition=sides,
        hovertext=[text(names[number]) for number in near], hoverinfo="text",
    )  # fmt: skip
    figure.update_layout(
        xaxis_title_text=title(axes[0]), yaxis={"title_text": title(axes[1]), "scaleanchor": "x"}
    )
    return figure


_SIDES = {"top center": (0, 1), "middle right": (1, 0), "bottom center": (0, -1), "middle left": (-1, 0)}


def _sides(points: Points, question: tuple[float, float], span: float) -> list[str]:
    """For each point the side on which its rank is farthest from all points and from the ranks before it."""
    taken, sides, away = [*points, question], list[str](), 0.04 * span
    for x, y in points:
        places = {side: (x + away * right, y + away * up) for side, (right, up) in _SIDES.items()}
        free = {side: min(math.dist(place, other) for other in taken) for side, place in places.items()}
        sides.append(max(free, key=lambda side: round(free[side], 9)))
        taken.append(places[sides[-1]])
    return sides

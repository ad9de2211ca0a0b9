"""The palette and the axes of all figures; colour-blind readers can tell the colours apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import plotly.graph_objects as go
import traitlets
from plotly.basewidget import BaseFigureWidget

# The palette of Okabe and Ito. Colours are never the only sign: symbols and words repeat them.
BLUE, ORANGE, PURPLE, GREEN = "#0072B2", "#E69F00", "#CC79A7", "#009E73"
VERMILION, SKY, GREY = "#D55E00", "#56B4E9", "#999999"

TARGET, OTHER, CONTROL = BLUE, ORANGE, PURPLE
REACHED, FLOOR = GREEN, VERMILION
INK = OUT_OF_REACH = "#757575"

CLEAR, GRID = "rgba(0,0,0,0)", "rgba(128,128,128,0.25)"

FEW = 7.0
"""The end of an axis whose whole numbers all have room."""

Updates = dict[str, dict[str, Any]]
"""The properties to set, by the name of a trace or an axis."""


@cache
def _plotly() -> bytes:
    return str(BaseFigureWidget._esm).encode()


class _Whole(go.FigureWidget):  # type: ignore[misc]
    """A figure widget that reaches the browser complete.

    plotly first sends an empty figure to the browser and then its traces; a browser that draws in between
    stays empty. Here the first message already has the traces. `live.js` loads plotly once per page. Its
    source, 5 MB, is sent as a message. It is no part of the state, with which notebooks are saved.
    """

    _esm = Path(__file__).with_name("live.js")
    _css = Path(__file__).with_name("live.css")
    _key = traitlets.Unicode().tag(sync=True)
    _still = traitlets.Unicode().tag(sync=True)
    _resets = traitlets.Dict().tag(sync=True)
    # plotly numbers changes for a browser that reports back. live.js does not, and each number is a message.
    _last_trace_edit_id = traitlets.Integer(0)
    _last_layout_edit_id = traitlets.Integer(0)
    _ready = False

    def __init__(self, figure: go.Figure) -> None:
        super().__init__(figure)
        self._key = self._model_id = uuid4().hex  # live.js finds its own model by it
        self._config = {"displayModeBar": False}
        # Not plotly's copies of the first state: a page that opens later draws from these.
        self._widget_data, self._widget_layout = self._data, self._layout_obj._props
        self._ready = True
        self.open()

    def open(self) -> None:
        if self._ready:
            super().open()
            self.on_msg(self._asked)
            self._send_plotly()

    def _send_plotly(self) -> None:
        self.send({"workbench": "plotly"}, [_plotly()])

    def _asked(self, _: Any, content: Any, buffers: Any) -> None:
        # A page asks twice: it may have come too late for what was sent first, but for nothing after that.
        if content == {"workbench": "plotly?"}:
            self.send({"workbench": "sent"})
        elif content == {"workbench": "plotly!"}:
            self._send_plotly()

    def _send_animate_msg(
        self, styles_data: Any, relayout_data: Any, trace_indexes: Any, animation_opts: Any
    ) -> None:
        # All axes at once, before the traces: plotly animates some ranges, and forgets others.
        if relayout_data:
            self._send_relayout_msg(relayout_data)
        # Name all traces, because plotly empties a subplot without a named one; and redraw nothing else.
        changed = dict(zip(trace_indexes, styles_data, strict=True))
        every = range(len(self.data))
        at_once = {**animation_opts, "frame": {"duration": 0, "redraw": False}}
        super()._send_animate_msg([changed.get(n, {}) for n in every], {}, [*every], at_once)


def live(figure: go.Figure) -> go.FigureWidget:
    """The same figure as a widget, whose traces can be changed while it is shown."""
    return _Whole(figure)


def on_click(figure: go.Figure, picked: Callable[[str, int], None]) -> None:
    """Calls `picked` with the name of a trace and the number of its point for each click on a mark.

    A click on a mark that has changed since the browser drew it is left out.
    """

    def clicked(trace: Any, points: Any, _: Any) -> None:
        for x, y, point in zip(points.xs, points.ys, points.point_inds, strict=True):
            if point < len(trace.x) and (trace.x[point], trace.y[point]) == (x, y):
                picked(trace.name, point)

    for trace in figure.data:
        trace.on_click(clicked)


def resets(figure: go.Figure, by: Any, controls: Sequence[Any]) -> None:
    """Says that a new choice in the control `by` sets other controls; moves of these that wait are dropped.

    A browser keeps a slider's moves back while the kernel is busy. A move made before the choice would then
    arrive after it.
    """
    figure._resets = {"by": by.model_id, "controls": [one.model_id for one in controls]}


def restyle(figure: go.Figure, updates: Updates, axes: Updates | None = None) -> None:
    """Sets properties of traces and axes by name; a figure on a page gets them in one message."""
    with figure.batch_update():
        _put(figure, updates, axes)


def move(figure: go.Figure, updates: Updates, axes: Updates | None = None) -> None:
    """Like `restyle`, for changes by a slider: axes are redrawn only if one changes.

    Every axis needs an explicit range, because a range that plotly chose would not change. Do not mix `move`
    and `restyle` on one figure: a pending move would undo the restyle.
    """
    with figure.batch_animate(duration=0):
        _put(figure, updates, axes)


def _put(figure: go.Figure, updates: Updates, axes: Updates | None) -> None:
    by_name = {trace.name: trace for trace in figure.data}
    for name, update in updates.items():
        for key, value in update.items():
            if not _same(by_name[name][key], value):
                by_name[name][key] = value
    for name, update in (axes or {}).items():
        for key, value in update.items():
            figure.layout[name][key] = value


def _same(old: Any, new: Any) -> bool:
    # plotly compares too, but takes a tenth of a millisecond.
    return isinstance(new, np.ndarray) and np.array_equal(old, new, equal_nan=True)


def whole_ticks(top: float) -> dict[str, Any]:
    """The ticks of an axis that counts from 0 to `top`: plotly would write halves on a short one."""
    return {"tickmode": "linear", "tick0": 0, "dtick": 1} if top < FEW else {"tickmode": "auto"}


def dress(figure: go.Figure, height: int, width: int = 840) -> None:
    """Sets the common look: transparent background, text for light and dark themes, a faint fixed grid."""
    # Without a template and without draggable axes, a browser redraws in two thirds of the time.
    figure.update_xaxes(gridcolor=GRID, zeroline=False, fixedrange=True)
    figure.update_yaxes(gridcolor=GRID, zeroline=False, fixedrange=True)
    figure.update_layout(
        template=go.layout.Template(),
        showlegend=False,
        height=height,
        width=width,
        margin={"l": 90, "r": 20, "t": 20, "b": 50},
        paper_bgcolor=CLEAR,
        plot_bgcolor=CLEAR,
        font={"color": INK, "size": 12},
    )

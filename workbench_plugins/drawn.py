"""Figures of plotly in a notebook that Python redraws, for the guests' widgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

import anywidget
import plotly.graph_objects as go
import traitlets
from plotly.offline import get_plotlyjs

FEW = 7.0
"""The end of an axis whose whole numbers all have room."""

Updates = dict[str, dict[str, Any]]
"""The properties to set, by the name of a trace or an axis."""


class LiveFigure(anywidget.AnyWidget):
    """A figure in a notebook, whose traces can be changed while it is shown: `restyle` does it.

    `drawn.js` loads plotly once per page. Its source, 5 MB, is sent as a message: it is no part of the state,
    with which notebooks are saved.
    """

    _esm = Path(__file__).with_name("drawn.js")
    _css = Path(__file__).with_name("drawn.css")
    key = traitlets.Unicode().tag(sync=True)
    drawn = traitlets.Unicode().tag(sync=True)
    still = traitlets.Unicode().tag(sync=True)
    brought: ClassVar[bool] = False

    def __init__(self, figure: go.Figure) -> None:
        super().__init__(key=uuid4().hex, drawn=figure.to_json())
        self.figure = figure
        self.observers: list[Callable[[Mapping[str, Any]], None]] = []
        self.on_msg(self.heard)
        if not LiveFigure.brought:
            LiveFigure.brought = True
            self._bring_plotly()

    @property
    def data(self) -> Any:
        """The traces of the figure."""
        return self.figure.data

    @property
    def layout(self) -> Any:
        """The layout of the figure."""
        return self.figure.layout

    def show(self, figure: go.Figure) -> None:
        """Shows another figure in the place of this one."""
        self.figure, self.drawn = figure, figure.to_json()

    def heard(self, _: Any, content: Any, buffers: Any) -> None:
        """Answers the browser, which asks for plotly, or says which marks are clicked."""
        if content == "plotly":
            self._bring_plotly()
            return
        for point in content["clicked"]:
            for told in self.observers:
                told(point)

    def _bring_plotly(self) -> None:
        self.send("plotly", [get_plotlyjs().encode()])


def live(figure: go.Figure) -> LiveFigure:
    """The same figure as a widget, whose traces can be changed while it is shown."""
    return LiveFigure(figure)


def on_click(figure: LiveFigure, picked: Callable[[str, int], None]) -> None:
    """Calls `picked` with the name of a trace and the number of its point for each click on a mark.

    A click on a mark that has changed since the browser drew it is left out.
    """

    def clicked(one: Mapping[str, Any]) -> None:
        trace = next(trace for trace in figure.data if trace.name == one["trace"])
        point = one["point"]
        if point < len(trace.x) and (trace.x[point], trace.y[point]) == (one["x"], one["y"]):
            picked(trace.name, point)

    figure.observers.append(clicked)


def restyle(figure: go.Figure | LiveFigure, updates: Updates, axes: Updates | None = None) -> None:
    """Sets properties of traces and axes by name; a figure on a page is drawn again, once."""
    by_name = {trace.name: trace for trace in figure.data}
    for name, update in updates.items():
        by_name[name].update(update, overwrite=True)
    for name, update in (axes or {}).items():
        figure.layout[name].update(update, overwrite=True)
    if isinstance(figure, LiveFigure):
        figure.show(figure.figure)


def whole_ticks(top: float) -> dict[str, Any]:
    """The ticks of an axis that counts from 0 to `top`: plotly would write halves on a short one."""
    return {"tickmode": "linear", "tick0": 0, "dtick": 1} if top < FEW else {"tickmode": "auto"}

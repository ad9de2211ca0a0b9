"""Widgets of ipywidgets' controls that Python answers: the base that several guests share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as w

from workbench.errors import WorkbenchError
from workbench.views.living import module
from workbench.views.widgets.panel import Link, Panel
from workbench_plugins.drawn import on_click


class Keeper(anywidget.AnyWidget):
    """An invisible part of every widget, which saves the notebook's widgets with it."""

    _esm = module()
    _css = Path(__file__).with_name("keeper.css")


def column(children: Sequence[w.Widget]) -> w.VBox:
    """A widget of other widgets, one below the other, that is saved with its notebook."""
    whole = w.VBox([*children, Keeper(layout={"display": "none"})])
    whole.add_class("workbench-widget")
    return whole


LABEL = {"description_width": "8em"}
HIDDEN, SHOWN = {"display": "none"}, {"display": ""}
STATUS = "padding:4px 0;line-height:1.5"
CODE = "padding:8px;overflow:auto;line-height:1.4;user-select:all;border:1px solid rgba(128,128,128,0.4)"


def status_html(sentence: str) -> str:
    """A sentence as a status line, which a screen reader reads when it changes."""
    return f'<div role="status" style="{STATUS}">{escape(sentence)}</div>'


GIVEN = "# `index` is the index that the widget was given.\n"
"""The first line of a widget's code."""

BOX = {"width": "31em"}
"""The layout of a text box: two fit side by side, even with JupyterLab's file list open."""


class Number:
    """A slider and a number box with one label and one value; `row` shows them side by side.

    Each change calls `changed`.
    """

    def __init__(
        self,
        label: str,
        value: float,
        low: float,
        high: float,
        step: float,
        changed: Callable[[Any], None],
        width: str = "25em",
    ) -> None:
        span = {"value": value, "min": low, "max": high, "step": step}
        self.slider = w.FloatSlider(
            **span, description=label, readout=False, style=LABEL, layout={"width": width}
        )
        self.box = w.BoundedFloatText(**span, tooltip=label, layout={"width": "4.5em"})
        self.slider.observe(
            changed, "value"
        )  # registered before the link, so the figure does not wait for the box
        w.link((self.slider, "value"), (self.box, "value"))
        self.row = w.HBox([self.slider, self.box])

    @property
    def value(self) -> float:
        return float(self.slider.value)

    def enable(self, yes: bool) -> None:
        """Enables or disables both."""
        self.slider.disabled = self.box.disabled = not yes

    def span(self, low: float, high: float, step: float, value: float) -> None:
        """Sets the ends, the step and the value of both."""
        for control in (self.slider, self.box):
            # In one message: given new ends only, a browser would move the value and send it back.
            with control.hold_sync(), control.hold_trait_notifications():
                control.min, control.max, control.step, control.value = low, high, step, value
            # Also if the value is the same here: a browser may show a move that never arrives.
            control.send_state("value")


class Folded:
    """A button that opens and closes some HTML; the HTML is written only while it is open."""

    def __init__(self, label: str, write: Callable[[], str]) -> None:
        self._write = write
        self.button = w.ToggleButton(value=False, description=label, layout={"width": "auto"})
        self.content = w.HTML(layout=dict(HIDDEN))
        self.button.observe(self._turned, "value")

    def _turned(self, _: Any) -> None:
        self.refresh()
        self.content.layout = SHOWN if self.button.value else HIDDEN

    def refresh(self) -> None:
        """Writes the content again if it is open."""
        if self.button.value:
            self.content.value = self._write()


class Arranged(Panel):
    """A widget of ipywidgets' controls around a figure, which Python computes."""

    figure: Any

    def lay_out(self, controls: Sequence[w.Widget], figure: w.Widget, link: Link) -> None:
        """Arranges the controls, the status line, the figure, the table and the code; joins the selection."""
        self.status = w.HTML()
        self.folded = [
            Folded("table", lambda: self._tables_html),
            Folded("copy as code", lambda: f'<pre tabindex="0" style="{CODE}">{escape(self.code)}</pre>'),
        ]
        buttons = w.HBox([one.button for one in self.folded])
        self.root = column(
            [
                w.HBox(list(controls), layout={"flex_flow": "row wrap"}),
                self.status,
                figure,
                buttons,
                *(one.content for one in self.folded),
            ]
        )
        self.join(link)
        self.tell()
        self.listen()

    def listen(self) -> None:
        """Selects what is clicked in the figure; a widget without a drawn figure overrides this."""
        on_click(self.figure, self._clicked)

    def tell(self) -> None:
        """Updates the status line, and the table and the code if they are open."""
        self.status.value = status_html(self.sentence)
        for one in self.folded:
            one.refresh()

    def picked(self, name: str, point: int) -> Mapping[str, Any]:
        """What a click on this point of the figure's trace `name` selects; empty for nothing."""
        return {}

    def _clicked(self, name: str, point: int) -> None:
        if values := self.picked(name, point):
            self.selection.choose(**values)


class Answering(Panel):
    """A widget with answers to a question. After an invalid question, the last answers stay.

    A subclass implements three methods: `look` computes everything that the widget shows, or raises
    InputError and changes nothing; `tell` shows it; `finding` is the sentence.
    """

    problem: WorkbenchError | None = None
    _held = False

    def look(self) -> None:
        """Computes the answers to the current settings. Raises InputError for invalid ones."""
        raise NotImplementedError

    def tell(self) -> None:
        """Shows the answers."""
        raise NotImplementedError

    @property
    def finding(self) -> str:
        """The answers as a sentence."""
        raise NotImplementedError

    @property
    def sentence(self) -> str:
        """The content of the figure as a sentence; or why the current question is invalid."""
        if self.problem is None:
            return self.finding
        return f"{self.problem.problem} {self.problem.remedy} The figure still shows the last valid question."

    def watch(self, *names: str) -> None:
        """Updates the widget after every change of these controls, or of all, from now on."""
        for name in names or self.controls:
            self.controls[name].observe(self._changed, "value")

    def take(self, values: Mapping[str, Any]) -> bool:
        """Sets several controls and looks once; says whether one of them had another value."""
        new = {name: value for name, value in values.items() if value != self.controls[name].value}
        self._held = True
        for name, value in new.items():
            self.controls[name].value = value
        self._held = False
        if new:
            self._changed(None)
        return bool(new)

    def _chosen(self, what: str, value: Any) -> None:
        if self.problem is None:
            super()._chosen(what, value)

    def _changed(self, _: Any) -> None:
        if self._held:
            return
        try:
            self.look()
        except WorkbenchError as error:
            self.problem = error
        else:
            self.problem = None
        self.tell()

    def _put(self, values: Mapping[str, Any]) -> None:
        super()._put(values)
        if self.problem is not None:
            raise self.problem


class Asking(Answering, Arranged):
    """The same with a figure that Python draws: a subclass implements `draw` too."""

    def draw(self) -> None:
        """Updates the figure."""
        raise NotImplementedError

    def tell(self) -> None:
        """Updates the figure, if the question is valid, and the words."""
        if self.problem is None and hasattr(self, "root"):
            self.draw()
        Arranged.tell(self)


def question_box(question: str) -> w.Text:
    """A text box for a question; Enter searches."""
    return w.Text(question, description="question", continuous_update=False, layout=dict(BOX))

"""Widgets that answer a question: the base that several guests share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets as w

from workbench.errors import WorkbenchError
from workbench.views.widgets.panel import BOX, Panel


class Asking(Panel):
    """A widget with answers to a question. After an invalid question, the last answers stay.

    A subclass implements three methods: `look` computes everything that the widget shows, or raises
    InputError and changes nothing; `draw` updates the figure; `finding` is the sentence.
    """

    problem: WorkbenchError | None = None
    _held = False

    def look(self) -> None:
        """Computes the answers to the current settings. Raises InputError for invalid ones."""
        raise NotImplementedError

    def draw(self) -> None:
        """Updates the figure."""
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

    def watch(self) -> None:
        """Updates the widget after every change of a control, from now on."""
        for control in self.controls.values():
            control.observe(self._changed, "value")

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
            self.draw()
        self.tell()

    def _put(self, values: Mapping[str, Any]) -> None:
        super()._put(values)
        if self.problem is not None:
            raise self.problem


def question_box(question: str) -> w.Text:
    """A text box for a question; Enter searches."""
    return w.Text(question, description="question", continuous_update=False, layout=dict(BOX))

"""A panel that asks an index: what is typed into it may be unanswerable, and is then refused in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets as w

from workbench.errors import WorkbenchError
from workbench.views.widgets.panel import Panel

GIVEN = "# `index` is the index that the widget was given.\n"
"""The first line of its code."""

BOX = {"width": "31em"}
"""How wide a box for text is: two stand side by side, even beside JupyterLab's list of files."""


class Asking(Panel):
    """A panel of answers to a question. One that cannot be asked leaves the last answer where it is.

    A subclass finds in `look` all that it shows, or raises InputError and changes nothing; `draw` shows
    it, and `finding` says it.
    """

    problem: WorkbenchError | None = None

    def look(self) -> None:
        """Finds what the present settings ask for. Raises InputError where that cannot be asked."""
        raise NotImplementedError

    def draw(self) -> None:
        """Shows what was found."""
        raise NotImplementedError

    @property
    def finding(self) -> str:
        """What was found, in words."""
        raise NotImplementedError

    @property
    def sentence(self) -> str:
        """What the figure shows, in words; or why the present question cannot be asked."""
        if self.problem is None:
            return self.finding
        return f"{self.problem.problem} {self.problem.remedy} The figure is still that of the last question."

    def watch(self) -> None:
        """Answers every change of a control from now on."""
        for control in self.controls.values():
            control.observe(self._changed, "value")

    def _changed(self, _: Any) -> None:
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
    """A box for a question, which is asked on Enter."""
    return w.Text(question, description="question", continuous_update=False, layout=dict(BOX))

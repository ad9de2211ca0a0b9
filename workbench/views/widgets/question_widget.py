"""The base of widgets that ask Python for their facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from workbench.errors import WorkbenchError
from workbench.tables import Table
from workbench.views.living.controls import Living
from workbench.views.widgets.panel import Link, Panel

GIVEN = "# `index` is the index that the widget was given.\n"
"""The first line of a widget's code."""


def rows(table: Table) -> list[list[str]]:
    """A table for a page: its header and its rows."""
    return [list(table.header), *map(list, table.rows)]


class QuestionWidget(Panel):
    """A widget with answers to a question. After an invalid question, the last answers stay.

    A subclass names its `view`, and the controls whose change takes Python in `asks`. It implements `look`,
    which computes everything that the widget shows, or raises InputError and changes nothing; `facts`, what
    the page gets of it; and `finding`, the sentence.
    """

    view: ClassVar[str] = ""
    asks: tuple[str, ...] = ()
    problem: WorkbenchError | None = None
    _held = False

    def open(self, link: Link) -> None:
        """Looks, and shows the answers; the controls must be there."""
        self.look()
        self.root = Living(self.data, self.controls, self.name)
        self.watch(*self.asks)
        self.join(link)

    def look(self) -> None:
        """Computes the answers to the current settings. Raises InputError for invalid ones."""
        raise NotImplementedError

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the page needs of the answers."""
        raise NotImplementedError

    @property
    def finding(self) -> str:
        """The answers as a sentence."""
        raise NotImplementedError

    @property
    def data(self) -> dict[str, Any]:
        """The answers for the page, and in `of` the settings that they answer."""
        return {
            "view": self.view,
            "of": {name: self.controls[name].value for name in self.asks},
            "problem": self.problem is not None,
            "sentence": self.sentence,
            "table": rows(self.table),
            "code": self.code,
            **self.facts,
        }

    def tell(self) -> None:
        """Brings the answers to the page."""
        self.root.data = self.data

    @property
    def sentence(self) -> str:
        """The content of the picture as a sentence; or why the current question is invalid."""
        if self.problem is None:
            return self.finding
        return (
            f"{self.problem.problem} {self.problem.remedy} The picture still shows the last valid question."
        )

    def watch(self, *names: str) -> None:
        """Updates the widget after every change of these controls from now on."""
        for name in names:
            self.controls[name].observe(self._changed, "value")

    def take(self, values: Mapping[str, Any]) -> None:
        """Sets several controls, and looks once if one of them had another value."""
        new = {name: value for name, value in values.items() if value != self.controls[name].value}
        self._held = True
        for name, value in new.items():
            self.controls[name].value = value
        self._held = False
        if new:
            self._changed(None)

    def _chosen(self, what: str, change: Any) -> None:
        if self.problem is None:
            super()._chosen(what, change)

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

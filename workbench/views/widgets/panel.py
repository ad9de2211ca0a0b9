"""The base of all widgets: named settings, and the picture as a sentence, a table and code.

What is selected on a page: a value in Python that the widgets of the page share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

import traitlets
from traitlets import TraitError

from workbench.errors import InputError, WorkbenchError
from workbench.records import Chunk
from workbench.retrieval.pipeline import Pipeline
from workbench.systems.catalogue import SYSTEMS
from workbench.tables import Table, framed, html_table
from workbench.views.living.controls import Living


class Selection(traitlets.HasTraits):
    """What is selected: `question`, `chunk`, `file` and `system`. An empty text, and None, select nothing.

    All widgets of a page share `workbench.selection`. A click on a mark in one of them selects the mark's
    chunk, question or system; so do a question that is typed, and a file or a system that is chosen. The
    other widgets then show what is selected, as far as they have it. From Python:

        wb.selection.chunk.text                        # read it
        wb.selection.question = "rooibos tea"          # all linked widgets ask this question
        wb.selection.choose(question="tea", system="bm-head")
        wb.selection.observe(print, "chunk")           # call a function at every change
        wb.selection.clear()
        QuestionExplorer(index, question, link=False)  # this widget takes no part
        explorer.link = Selection()                    # a group of its own; True joins the page again

    `chunk` is a `Chunk`, such as `trace.candidates[0].chunk`, and `file` is a path of the index. A chunk
    selects its file, and a file that is not the chunk's selects no chunk. A widget that joins takes part in
    later changes. Settings that you assign in Python (`widget.settings = ...`) change that widget alone.
    Raises InputError for another name, and for a value of another type.
    """

    question = traitlets.Unicode("")
    chunk = traitlets.Instance(Chunk, allow_none=True)
    file = traitlets.Unicode("")
    system = traitlets.Unicode("")

    NAMES: ClassVar[tuple[str, ...]] = ("question", "chunk", "file", "system")

    def __setattr__(self, name: str, value: Any) -> None:
        if not hasattr(self, name) and not name.startswith("_"):
            raise InputError(f"A selection has no {name!r}.", f"It has {', '.join(self.NAMES)}.")
        try:
            super().__setattr__(name, value)
        except traitlets.TraitError:
            expected = "a Chunk, such as trace.candidates[0].chunk" if name == "chunk" else "a text"
            raise InputError(f"The selected {name} cannot be {value!r}.", f"Give {expected}.") from None

    def choose(self, **values: Any) -> None:
        """Selects several things at once; an observer then finds all of them. If one is wrong, none is."""
        tried = Selection()
        for name, value in values.items():
            setattr(tried, name, value)
        with self.hold_trait_notifications():
            for name, value in values.items():
                setattr(self, name, value)
            self._agree(values)

    def clear(self) -> None:
        """Selects nothing."""
        self.choose(question="", chunk=None, file="", system="")

    @traitlets.observe("chunk", "file")
    def _changed(self, change: Any) -> None:
        self._agree({change["name"]: change["new"]})

    def _agree(self, given: dict[str, Any]) -> None:
        """Keeps the chunk and the file in agreement; the chunk decides if both are given."""
        if isinstance(chunk := given.get("chunk"), Chunk):
            self.file = chunk.path
        elif "file" in given and self.chunk is not None and self.chunk.path != self.file:
            self.chunk = None

    @property
    def values(self) -> tuple[object, ...]:
        """What is selected: the question, the chunk, the file and the system."""
        return self.question, self.chunk, self.file, self.system

    def covers(self, chunk: Chunk) -> bool:
        """Whether this chunk is selected; a whole note and the chunks of its file select each other."""
        if self.chunk is None:
            return False
        whole = any(one.id == one.path for one in (chunk, self.chunk))
        return chunk.path == self.chunk.path if whole else chunk.id == self.chunk.id

    def __repr__(self) -> str:
        """One line that names what is selected."""
        place = self.chunk.place if self.chunk else ""
        named = {"question": self.question, "chunk": place, "file": self.file, "system": self.system}
        told = ", ".join(f"{name} {value!r}" for name, value in named.items() if value)
        return f"<Selection: {told or 'nothing'}>"


selection = Selection()
"""What is selected on the page: the widgets share it, unless they are told otherwise."""

Link = bool | Selection
"""How a widget is linked: True with the page's selection, False with none, or with a selection of its own."""


def number_text(value: float, step: float) -> str:
    """A number with the decimals of its slider's step, or with all of its decimals if it has more.

    >>> number_text(0.3, 0.01), number_text(0.123, 0.01), number_text(60, 1)
    ('0.30', '0.123', '60')
    """
    decimals = max(0, -int(f"{step:e}".partition("e")[2]))
    text = f"{value:.{decimals}f}"
    return text if abs(float(text) - value) < 1e-9 else f"{value:g}"


def pipeline_code(pipeline: Pipeline, name: str = "pipeline") -> list[str]:
    """Lines of code that get `pipeline`: by its name if it is registered, else from the evaluations."""
    if SYSTEMS.get(pipeline.name) == pipeline:
        return [f"{name} = wb.system({pipeline.name!r})"]
    return [f"{name} = next(one.pipeline for one in evaluations if one.pipeline.name == {pipeline.name!r})"]


class Panel:
    """A widget: named settings, a figure, and its content as a sentence, a table and code.

    A subclass lists its `controls` in the order in which they are set, computes `sentence`, `table` and
    `code` from their values. As the last line of a notebook cell, a widget
    displays itself.

    A widget takes part in `selection`; you join it with `link` (see `Selection`). `selects` says which
    control selects what, and `follow` shows what is selected.
    """

    name: str
    controls: Mapping[str, Any]
    root: Living
    selects: Mapping[str, str] = {}
    selection: Selection
    _apart = False
    _followed: tuple[object, ...] = ()

    @property
    def sentence(self) -> str:
        """The content of the figure as a sentence."""
        raise NotImplementedError

    @property
    def table(self) -> Table:
        """The content of the figure as a table."""
        raise NotImplementedError

    @property
    def code(self) -> str:
        """Code that computes the same numbers."""
        raise NotImplementedError

    def join(self, link: Link) -> None:
        """Joins the selection; the controls must be there."""
        self.link = link
        for control, what in self.selects.items():
            self.controls[control].observe(partial(self._chosen, what), "value")

    @property
    def settings(self) -> dict[str, Any]:
        """The named values. You can set some of them; if one is wrong, none is set.

        Raises InputError for a name or a value that this widget does not have.
        """
        return {name: control.value for name, control in self.controls.items() if not control.disabled}

    @settings.setter
    def settings(self, values: Mapping[str, Any]) -> None:
        unknown = [name for name in values if name not in self.controls]
        if unknown:
            raise InputError(
                f"The {self.name} has no setting {unknown[0]!r}.", f"It has {', '.join(self.controls)}."
            )
        before = self.settings
        with self._alone():
            try:
                self._put(values)
            except WorkbenchError:
                self._put(before)
                raise

    def _put(self, values: Mapping[str, Any]) -> None:
        for name, control in self.controls.items():
            if name in values:
                put(name, control, values[name])

    @property
    def link(self) -> Link:
        """True if the widget takes part in the page's selection; otherwise its own selection.

        Set it to True to join, to False to leave, and to a `Selection` to form a group with other widgets.
        """
        return True if self.selection is selection else self.selection

    @link.setter
    def link(self, link: Link) -> None:
        if not isinstance(link, bool | Selection):
            raise InputError(f"link cannot be {link!r}.", "Give True, False, or a Selection.")
        if hasattr(self, "selection"):
            self.selection.unobserve(self._heard, Selection.NAMES)
        self.selection = link if isinstance(link, Selection) else selection if link else Selection()
        self.selection.observe(self._heard, Selection.NAMES)

    def follow(self, chosen: Selection) -> None:
        """Shows what is selected, as far as this widget has it."""

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Changes within this block are this widget's only: it neither selects nor follows."""
        before, self._apart = self._apart, True
        try:
            yield
        finally:
            self._apart = before

    def _heard(self, _: Any) -> None:
        chosen = self.selection
        if self._apart or self._followed == chosen.values:
            return
        self._followed = chosen.values
        with self._alone():
            self.follow(chosen)

    def _chosen(self, what: str, change: Any) -> None:
        """A control has another value: it is selected."""
        if not self._apart and change["new"]:
            self.selection.choose(**{what: change["new"]})

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.root.shown(self.sentence, framed(html_table(self.table)), **kwargs)


def put(name: str, control: Any, value: Any) -> None:
    """Sets a control. Raises InputError for an invalid value, with the remedy."""
    if control.disabled:
        raise InputError(
            f"{name} has no effect with the current settings.",
            "Choose a method that uses it; a question needs an index.",
        )
    try:
        if _within(control, value):
            control.value = value
            return
    except TraitError:
        pass
    raise InputError(f"{name} cannot be {value!r}.", _choices(control))


def _within(control: Any, value: Any) -> bool:
    try:
        return not hasattr(control, "min") or bool(control.min <= value <= control.max)
    except TypeError:
        return False


def _choices(control: Any) -> str:
    if hasattr(control, "options"):
        return f"Choose one of: {', '.join(map(str, control.options))}."
    return f"It goes from {control.min:g} to {control.max:g}." if hasattr(control, "min") else "Give text."

"""The settings of a living view in Python: values that are checked, and that a page shows as inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from html import escape
from typing import Any

import traitlets

from workbench.views.living import VERSION

ALIVE = "This is a saved widget. To move it, trust the notebook (File, Trust Notebook), or run its cells."


Facts = Mapping[str, Any]


class Control(traitlets.HasTraits):
    """One setting. A change of `value` is heard with `observe`."""

    value = traitlets.Any()
    disabled = False


class Text(Control):
    """A text."""

    value = traitlets.Unicode()


class Choice(Control):
    """One of several texts."""

    def __init__(self, options: tuple[str, ...], value: Any) -> None:
        self.options = options
        super().__init__(value=value)

    @traitlets.validate("value")
    def _is_offered(self, proposal: Any) -> Any:
        if proposal["value"] not in self.options:
            raise traitlets.TraitError(f"{proposal['value']!r} is not offered.")
        return proposal["value"]


class Several(Choice):
    """Some of several texts, as a tuple in their order."""

    @traitlets.validate("value")
    def _is_offered(self, proposal: Any) -> Any:
        if unknown := set(proposal["value"]) - set(self.options):
            raise traitlets.TraitError(f"{sorted(unknown)} are not offered.")
        return tuple(one for one in self.options if one in proposal["value"])


class Span(Control):
    """A number from `min` to `max`; `step` is that of its slider."""

    def __init__(self, low: float, high: float, step: float, value: float) -> None:
        self.span(low, high, step)
        super().__init__(value=value)

    def span(self, low: float, high: float, step: float) -> None:
        """Sets the ends and the step."""
        self.min, self.max, self.step = low, high, step


class Living(traitlets.HasTraits):
    """The living view: `data` to compute from, and `settings`, which a page and Python set.

    `name` is that of the widget. `heard` is called when the page sends a message, and returns what is wrong
    with it, or nothing.
    """

    data = traitlets.Dict()
    settings = traitlets.Dict()

    @traitlets.validate("data")
    def _of_this_version(self, proposal: Any) -> Any:
        return {"version": VERSION, **proposal["value"]}

    def __init__(
        self, data: Facts, controls: Mapping[str, Control], name: str, heard: Callable[[], str] = str
    ) -> None:
        super().__init__(data=data, settings={name: one.value for name, one in controls.items()})
        self.name, self.heard = name, heard
        self._controls = controls
        self.observe(self._moved, "settings")
        for one in controls.values():
            one.observe(self._set, "value")

    @cached_property
    def in_notebook(self) -> Any:
        """The view as a widget of a notebook. Its packages are loaded when the first one is shown."""
        from workbench.views.living.notebook import NotebookView

        return NotebookView(self)

    def shown(self, sentence: str, html: str, **kwargs: Any) -> Any:
        """The output of a cell; where widgets cannot be shown, the sentence and `html`."""
        shown = self.in_notebook._repr_mimebundle_(**kwargs)
        bundle = shown[0] if isinstance(shown, tuple) else shown
        if isinstance(bundle, dict):
            twin = f"<p><b>{escape(ALIVE)}</b></p><p>{escape(sentence)}</p>{html}"
            bundle |= {"text/plain": sentence, "text/html": twin}
        return shown

    def _moved(self, change: Any) -> None:
        """Takes over what was moved on the page."""
        for name, control in self._controls.items():
            if name in change["new"]:
                control.value = change["new"][name]
        self._set(None)

    def _set(self, _: Any) -> None:
        """Shows what was set in Python."""
        self.settings = {name: one.value for name, one in self._controls.items()}

"""A widget of a notebook: its state as an anywidget, which ipywidgets can place, link and observe."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import cache
from html import escape
from typing import Any

import anywidget
import ipywidgets
import traitlets

from workbench.errors import WorkbenchError
from workbench.tables import NO_FORMULAS
from workbench.views.living import loader, module, style
from workbench.views.living.state import State, setting_names
from workbench.views.plotlyjs import figures_style, packed

ALIVE = "This is a saved widget. To move it, trust the notebook (File, Trust Notebook), or run its cells."


class Carrier(anywidget.AnyWidget):
    """Carries the module of all widgets and plotly.js to a notebook's page, once; nothing of it is shown."""

    _esm = "export default { render() {} };"
    module = traitlets.Bytes().tag(sync=True)
    plotly = traitlets.Bytes().tag(sync=True)


@cache
def carrier() -> Carrier:
    """The carrier of this kernel."""
    return Carrier(module=gzip.compress(module().encode(), mtime=0), plotly=packed())


class Widget(State, ipywidgets.ValueWidget, anywidget.AnyWidget):  # type: ignore[misc]
    """A state on a notebook's page. It stands in an `HBox`; its settings can be linked and observed."""

    _esm, _css = loader(), style() + figures_style()
    closed = (*State.closed, "carrier")
    carrier = traitlets.Instance(Carrier).tag(sync=True, **ipywidgets.widget_serialization)
    description = traitlets.Unicode(help="The name that `interact` gives a widget.")
    _arrived: Mapping[str, Any] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(carrier=carrier(), **settings)
        self.add_class(f"workbench-{self.name}")
        self.add_class(f"workbench-{self.model_id}")  # by which the page finds the element of this model
        self.on_msg(self._hear)

    def take(self, values: Mapping[str, Any]) -> None:
        with self.hold_sync():
            super().take(values)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Takes what the page sends. What is refused goes back to the page, with the reason."""
        own = setting_names(type(self))
        self._arrived = {name: value for name, value in sync_data.items() if name in own}
        try:
            self.from_page(self._arrived)
        except WorkbenchError as error:
            back, self._arrived = list(self._arrived), {}
            self.send_state(back)
            self.send({"problem": f"{error.problem} {error.remedy}"})
        else:
            # What was taken may differ from what was sent: a report masks secrets.
            taken = {name: getattr(self, name) for name in self._arrived}
            self._arrived = {}
            others = sync_data.keys() - {*own, *self.closed}
            super().set_state({name: sync_data[name] for name in others} | taken)

    def send_state(self, key: Any = None) -> None:
        """Sends values to the page, but for those that it has just sent: it may have moved on meanwhile."""
        names = {key} if isinstance(key, str) else {*(key or ())}
        known = {name for name, value in self._arrived.items() if getattr(self, name) == value}
        if key is None or names - known:
            super().send_state(key and names - known)

    def _hear(self, _: Any, content: Mapping[str, Any], __: Any) -> None:
        try:
            self.pressed(content)
        except WorkbenchError as error:
            self.send({"problem": f"{error.problem} {error.remedy}"})

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The output of a cell; where widgets cannot be shown, the sentence and the table."""
        shown: Any = super()._repr_mimebundle_(**kwargs)
        bundle = shown[0] if isinstance(shown, tuple) else shown
        said = f"<p><b>{escape(ALIVE)}</b></p><p>{escape(self.sentence)}</p>"
        twin = f'<div class="{NO_FORMULAS}">{said}{self.html}</div>'
        bundle |= {"text/plain": self.sentence, "text/html": twin}
        return shown

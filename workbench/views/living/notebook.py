"""The living view as an anywidget of a notebook."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from workbench.views.living import module, style
from workbench.views.living.controls import Living


class NotebookView(anywidget.AnyWidget):
    """A living view on a notebook's page: both have the same `data` and `settings`."""

    _esm, _css = module(), style()
    data = traitlets.Dict().tag(sync=True)
    settings = traitlets.Dict().tag(sync=True)

    def __init__(self, view: Living) -> None:
        super().__init__(data=view.data, settings=view.settings)
        self.view = view
        self.add_class(f"workbench-{view.name}")
        self.add_class(f"workbench-{self.model_id}")  # by which the page finds the element of this model
        self.on_msg(self._hear)
        self.observe(self._moved, "settings")
        view.observe(self._follow, ("data", "settings"))

    def _hear(self, *_: Any) -> None:
        if problem := self.view.heard():
            self.send({"problem": problem})

    def _moved(self, change: Any) -> None:
        self.view.settings = change["new"]

    def _follow(self, change: Any) -> None:
        # As it is now: an observer before this one may have set it again.
        setattr(self, change["name"], getattr(self.view, change["name"]))

"""What stays of a widget when its kernel has ended: a picture in a saved notebook, and a text elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as w

ALIVE = "This is a saved widget without its kernel. Run the notebook's cells to use it."


class Keeper(anywidget.AnyWidget):
    """An invisible part of every widget, which saves the notebook's widgets with it (see `keep.js`)."""

    _esm = Path(__file__).with_name("keep.js")
    _css = Path(__file__).with_name("keeper.css")


def column(children: Sequence[w.Widget]) -> w.VBox:
    """A widget of other widgets, one below the other, that is saved with its notebook."""
    whole = w.VBox([*children, Keeper(layout={"display": "none"})])
    whole.add_class("workbench-widget")
    return whole


def with_twin(root: w.Widget, sentence: str, html: str, **kwargs: Any) -> Any:
    """The output of a cell that shows `root`; where widgets cannot be shown, the sentence and `html`."""
    shown = root._repr_mimebundle_(**kwargs)
    if isinstance(shown, dict):
        twin = f"<p><b>{escape(ALIVE)}</b></p><p>{escape(sentence)}</p>{html}"
        shown |= {"text/plain": sentence, "text/html": twin}
    return shown

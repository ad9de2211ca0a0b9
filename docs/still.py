"""An IPython extension that shows widgets as HTML without a kernel, for the pages.

A widget moves: the page that shows it provides the living view. Without JavaScript, it is its sentence and
its table.
"""

from __future__ import annotations

from html import escape
from typing import Any

import ipywidgets as w
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from workbench.tables import html_table
from workbench.views.living import page_part, script, style
from workbench.views.living.state import State
from workbench.views.plotlyjs import plotly_script
from workbench.views.widgets.prediction import Prediction


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Makes this kernel show widgets as `still` writes them."""
    Prediction.waits = False
    for kind in (State, w.Widget):
        shell.display_formatter.ipython_display_formatter.for_type(kind, _show)


def _show(shown: Any) -> None:
    if html := still(shown):
        display({"text/html": html, "text/plain": type(shown).__name__}, raw=True)


def page_of(shown: State) -> str:
    """A page with one widget, which needs no other file: it can be opened anywhere, without a network."""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f"<title>{escape(shown.name)}</title>"
        f"<style>body {{ background: Canvas; color: CanvasText; }} {style()}</style>"
        f"<script>{plotly_script()}</script><script>{script()}</script>"
        f"<body><main>{still(shown)}</main></body></html>"
    )


def still(shown: Any) -> str:
    """The current content of a widget as HTML."""
    if not isinstance(shown, State):
        return ""
    words = f"<p>{escape(shown.sentence)}</p>{html_table(shown.table)}"
    return page_part(shown.data, shown.values, shown.name, words)

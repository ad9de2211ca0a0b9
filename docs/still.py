"""An IPython extension that shows figures and widgets as HTML without a kernel, for the pages.

A figure stays interactive. A widget becomes static: the values of its controls, its sentence, its figure, its
table and its code, as they were when the cell ran. The page that shows them provides plotly.js.
"""

from __future__ import annotations

from html import escape
from typing import Any

import ipywidgets as w
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display
from plotly.basedatatypes import BaseFigure

from workbench.views.html import html_table
from workbench.views.living import placed, script, style
from workbench.views.living.controls import Living
from workbench.views.widgets.panel import Panel
from workbench.views.widgets.prediction import Prediction
from workbench_plugins.drawn import LiveFigure

CONFIG = {"responsive": True, "displayModeBar": False}


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Makes this kernel show figures and widgets as `still` writes them."""
    Prediction.waits = False
    for kind in (BaseFigure, Panel, Prediction, w.Widget):
        shell.display_formatter.ipython_display_formatter.for_type(kind, _show)


def _show(shown: Any) -> None:
    if html := still(shown):
        display({"text/html": html, "text/plain": type(shown).__name__}, raw=True)


def page_of(shown: Panel) -> str:
    """A page with one widget, which needs no other file: it can be opened anywhere, without a network."""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f"<title>{escape(shown.name)}</title><style>{style()}</style><script>{script()}</script>"
        f"<body>{still(shown)}</body></html>"
    )


def still(shown: Any) -> str:
    """The current content of a figure or a widget as HTML."""
    match shown:
        case BaseFigure():
            return str(shown.to_html(full_html=False, include_plotlyjs=False, config=CONFIG))
        case LiveFigure():
            return still(shown.figure)
        case Panel(root=Living()):
            words = f"<p>{escape(shown.sentence)}</p>{html_table(shown.table)}"
            return placed(shown.root.data, shown.root.settings, shown.name, words)
        case Panel():
            folds = (
                _folded("table", html_table(shown.table)),
                _folded("as code", f"<pre>{escape(shown.code)}</pre>"),
            )
            return f'<div class="still" data-widget="{shown.name}">{still(shown.root)}{"".join(folds)}</div>'
        case Prediction():
            words = f"<p>{escape(shown.question)}</p><p>{escape(' / '.join(shown.choices))}</p>"
            return placed(shown.root.data, shown.root.settings, "prediction", words)
        case w.Widget(layout=w.Layout(display="none")) | w.Button() | w.ToggleButton():
            return ""
        case w.Box(children=[_, w.FloatProgress(), _]):
            return ""  # tqdm's bar, which disappears when the cell has run
        case w.Box():
            content = "".join(map(still, shown.children))
            return f'<div class="{type(shown).__name__}">{content}</div>' if content else ""
        case w.HTML():
            return f"<div>{shown.value}</div>"
        case w.Widget(description=str(label), value=value, disabled=False) if label:
            return f'<span class="control">{escape(label)} <b>{escape(_words(value))}</b></span>'
        case _:
            return ""


def _folded(label: str, content: str) -> str:
    return f"<details><summary>{label}</summary>{content}</details>"


def _words(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case tuple():
            return ", ".join(map(_words, value))
        case _:
            return str(value)

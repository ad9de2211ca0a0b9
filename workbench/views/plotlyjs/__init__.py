"""plotly.js for pages: the cartesian bundle of the npm package `plotly.js-cartesian-dist-min` 4.1.1 (MIT).

It has bars, lines, histograms and heat maps, and is stored compressed beside this file, with its licence. A
page carries it once, and asks no network for it.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
VERSION = "4.1.1"
LESS_THAN = "\\u003c"
"""`<` in JSON that stands in a script of a page."""

Spec = dict[str, Any]
"""A figure as plotly.js takes it: `data`, `layout`, and the words that say the same under `layout.meta`."""


@cache
def packed() -> bytes:
    """plotly.js, compressed with gzip: 0.5 MB."""
    return (HERE / "plotly-cartesian.min.js.gz").read_bytes()


@cache
def plotly_script() -> str:
    """plotly.js as a classic script, which sets `Plotly`: 1.5 MB."""
    return gzip.decompress(packed()).decode("utf-8")


@cache
def figures_script() -> str:
    """The script that draws the figures of a page: `workbenchFigures.draw(element, figure)`."""
    return (HERE / "figures.js").read_text(encoding="utf-8")


@cache
def figures_style() -> str:
    """The look of figures on a page of ours: their words have the colour of the page's text."""
    return (HERE / "figures.css").read_text(encoding="utf-8")


def figure_html(figure: Spec) -> str:
    """A figure as a part of a page that has both scripts; without JavaScript, its words."""
    spec = json.dumps({"data": figure["data"], "layout": figure["layout"]}, separators=(",", ":"))
    data = f'<script type="application/json">{spec.replace("<", LESS_THAN)}</script>'
    return f'<div class="workbench-figure">{data}<p>{_words(figure)}</p></div>'


def figure_page(title: str, figure: Spec) -> str:
    """One figure and its words as a page that needs no other file and no network."""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(title)}</title>'
        "<style>body { max-width: 1100px; margin: 16px auto; padding: 0 12px; }"
        "body { font: 14px/1.5 system-ui, sans-serif; }"
        f"{figures_style()}</style><script>{plotly_script()}</script>"
        f"<body><h1>{escape(title)}</h1>{figure_html(figure)}<p>{_words(figure)}</p>"
        f"<script>{figures_script()}</script></body></html>"
    )


def _words(figure: Spec) -> str:
    return escape(figure["layout"].get("meta", {}).get("words", ""))

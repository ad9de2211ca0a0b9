"""The living view: one front-end module that computes what a setting changes, in every host.

A live notebook, a saved one without its kernel, a page opened from a file, and `workbench explore`.
"""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from workbench.safe_text import visible

HERE = Path(__file__).parent
PARTS = ("pipeline", "keep", "explorer", "plot", "view", "panel", "fusion", "words", "diagnosis", "report")
IMPORT = re.compile(r"^import .*;\n", re.MULTILINE)
EXPORT = "export default { initialize, render };"
VERSION = 3
"""The version of the data, which the module checks."""


@cache
def module() -> str:
    """The front-end module as one text, in anywidget's form: it exports `render({ model, el })`."""
    parts = "".join((HERE / f"{name}.js").read_text(encoding="utf-8") for name in PARTS)
    return IMPORT.sub("", parts).replace("\nexport ", "\n") + EXPORT


@cache
def loader() -> str:
    """What each widget of a notebook has in place of the module: it loads the one that they share."""
    return (HERE / "loader.js").read_text(encoding="utf-8")


@cache
def style() -> str:
    """The look of the view, for light and dark pages."""
    return (HERE / "view.css").read_text(encoding="utf-8")


@cache
def script() -> str:
    """The module as a script for a page that is opened from a file: `workbenchView.render`."""
    body = module().replace(
        EXPORT, "globalThis.workbenchView = { render, still, place, held, h, broken, keepingFocus };"
    )
    return f"(() => {{\n{body}}})();\n"


def as_json(state: Any) -> str:
    """JSON without blanks, which may stand in a script of a page."""
    return json.dumps(state, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def page_part(data: dict[str, Any], settings: dict[str, Any], name: str, twin: str) -> str:
    """The view as a part of a page that has `script` and `style`; without JavaScript, the HTML of `twin`.

    Its data are JSON, packed with gzip, as base64.
    """
    state = gzip.compress(as_json({"data": data, "settings": settings}).encode(), mtime=0)
    packed = b64encode(state).decode()
    return (
        f'<div data-widget="{escape(visible(name))}"><script type="application/gzip">{packed}</script>'
        f"<div>{twin}</div><script>workbenchView.place(document.currentScript.parentElement)</script></div>"
    )

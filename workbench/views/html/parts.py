"""The parts of a printed view as HTML: lines, tables, and indented blocks.

The views of `workbench.show` are made of a few parts of rich. Each becomes HTML here, so that a notebook has
the same words and numbers as a terminal. Every text is escaped, and control characters are made visible.
"""

from __future__ import annotations

from functools import singledispatch
from html import escape
from itertools import zip_longest

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from workbench.safe_text import visible, without_own_keys
from workbench.views.console import PlainTable

NAME = "workbench-shown"
TABLE = f".{NAME}.{NAME} table"
"""Its tables. The name stands twice: JupyterLab aligns all cells to the right with a longer selector."""

STYLE = (
    "<style>"
    f".{NAME}{{line-height:1.45;font-size:13px;color:inherit;overflow-x:auto}}"
    f".{NAME} .line{{white-space:pre-wrap;overflow-wrap:anywhere}}"
    f".{NAME} .dim{{opacity:.75}}"
    f".{NAME} table{{border-collapse:collapse;margin:6px 0;font-size:13px;color:inherit;"
    "font-variant-numeric:tabular-nums}"
    f"{TABLE} th,{TABLE} td{{padding:2px 10px 2px 0;text-align:left;vertical-align:top;white-space:pre-wrap;"
    "overflow-wrap:break-word;max-width:44em;color:inherit;background:none;border:0}"
    f"{TABLE} th{{border-bottom:1px solid rgba(128,128,128,.5);font-weight:600;vertical-align:bottom}}"
    f"{TABLE} .right{{text-align:right}}"
    f"{TABLE} .whole{{white-space:pre;overflow-wrap:normal}}"
    f".{NAME} summary{{cursor:pointer;padding:4px 0}}"
    "</style>"
)
"""The look of all shown values: the page's own colours, so that both themes are readable."""


def safe(text: str) -> str:
    """A text as HTML: escaped, without control characters, and without this process's own keys."""
    return escape(visible(without_own_keys(text)))


def framed(content: str) -> str:
    """HTML with the look of shown values."""
    return f'{STYLE}<div class="{NAME}">{content}</div>'


@singledispatch
def part(shown: RenderableType) -> str:
    """The HTML of one part of a printed view."""
    return _line(str(shown), "")


@part.register
def _group(shown: Group) -> str:
    return "".join(map(part, shown.renderables))


@part.register
def _padding(shown: Padding) -> str:
    return f'<div style="margin-left:{shown.left}ch">{part(shown.renderable)}</div>'


@part.register
def _text(shown: Text) -> str:
    return _line(shown.plain, str(shown.style))


def _line(text: str, style: str) -> str:
    words = safe(text) or "&nbsp;"
    words = f"<b>{words}</b>" if "bold" in style else words
    return f'<div class="line{" dim" if "dim" in style else ""}">{words}</div>'


@part.register
def _table(shown: PlainTable) -> str:
    classes = [_classes(str(column.justify), column.no_wrap, str(column.style)) for column in shown.columns]
    head = ""
    if shown.show_header:
        cells = zip(shown.columns, classes, strict=True)
        names = (f'<th scope="col"{kind}>{_plain(column.header)}</th>' for column, kind in cells)
        head = f"<thead><tr>{''.join(names)}</tr></thead>"
    rows = zip_longest(*(list(column.cells) for column in shown.columns), fillvalue="")
    body = "".join(f"<tr>{_row(row, classes)}</tr>" for row in rows)
    return f"<table>{head}<tbody>{body}</tbody></table>"


def _row(cells: tuple[RenderableType, ...], classes: list[str]) -> str:
    return "".join(f"<td{kind}>{_plain(cell)}</td>" for cell, kind in zip(cells, classes, strict=True))


def _classes(justify: str, whole: bool, style: str) -> str:
    said = {"right": justify == "right", "whole": whole, "dim": "dim" in style}
    names = " ".join(name for name, yes in said.items() if yes)
    return f' class="{names}"' if names else ""


def _plain(cell: RenderableType) -> str:
    return safe(cell.plain if isinstance(cell, Text) else str(cell))

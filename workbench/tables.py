"""What a result shows, as plain data, and the forms that it takes: HTML, Markdown, JSON and pandas.

A result gives parts: lines, blocks, excerpts, tables, folds and pictures. No result prints by itself;
`workbench.terminal` prints the same parts as text. Every text is made safe in these two modules: control
characters become visible, this process's own keys become an ellipsis, and HTML and Markdown are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from workbench.errors import InputError, install_extra
from workbench.masking import masked, without_own_keys
from workbench.safe_text import one_line, visible

ABSENT = "–"
"""What a table shows for a value that is absent."""

WIDTH = 106
"""As many columns as a notebook shows on a small laptop, with JupyterLab's list of files open."""


class Line(NamedTuple):
    """One line of text, whose line ends and tabs are made visible.

    `style` is `bold`, `dim` (on a page) or nothing.
    """

    text: str
    style: str = ""


class Block(NamedTuple):
    """A text that keeps its line ends. With `indent` it continues below its own beginning."""

    text: str
    indent: int | None = None
    style: str = ""


class Code(NamedTuple):
    """Code to copy: no line of it is ever folded, since a fold would be copied, too."""

    text: str


class Excerpt(NamedTuple):
    """A text whose `marks` stand out, from one place in it to another; it is cut after so many `lines`.

    Its first `whole` characters are never cut. It is `indent` columns away from the edge.
    """

    text: str
    marks: Sequence[tuple[int, int]] = ()
    indent: int = 0
    lines: int = 2
    whole: int = 0

    @property
    def in_one_line(self) -> Excerpt:
        """The same in one line, and without this process's own keys; no mark parts a key."""
        text = without_own_keys(self.text)
        return self._replace(text=one_line(text), marks=self.marks if text == self.text else ())


class Column(NamedTuple):
    """A column of a table: `type` is a type of pandas, or how text is printed.

    Text is a `number` (to the right), `whole` (never folded), a `label` (whole and bold), `narrow`, or a
    `beginning` (dim on a page, and cut where the page is narrow). The types of pandas are str, bool,
    boolean, int64, Int64 and float64; `boolean` and `Int64` may be missing.
    """

    name: str
    type: str = "text"


@dataclass(frozen=True)
class Table:
    """A result as a table: a caption, columns with their types, and rows. A string is a column of text.

    A table whose columns have no names is printed without a head. `padded` puts a blank before each row.
    """

    caption: str
    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Any]]
    padded: bool = False

    @property
    def typed(self) -> list[Column]:
        """The columns, each with its type."""
        return [Column(one) if isinstance(one, str) else one for one in self.columns]

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(one.name for one in self.typed)


class Fold(NamedTuple):
    """Details, under a summary: a page folds them, and a terminal prints them on request."""

    summary: str
    parts: Sequence[Part]


class Note(NamedTuple):
    """A remark and its reason: a page shows the remark and folds the reason, and a terminal prints both."""

    remark: str
    reason: str


class Box(NamedTuple):
    """One box of a picture: its name, what its tooltip says, its kinds, and words below the name."""

    name: str
    tooltip: str
    kind: str = ""
    words: str = ""


class Picture(NamedTuple):
    """Groups of boxes from left to right, those of a group above each other. A terminal leaves it out."""

    label: str
    groups: Sequence[Sequence[Box]]


Part = str | Line | Block | Code | Excerpt | Table | Fold | Note | Picture
"""A part of what a result shows. A string is a line."""

Types = Mapping[str, str]
"""The names of columns in their order, with the type of each."""


def numbers(*names: str) -> list[Column]:
    """Columns of numbers that are written as text: printed to the right."""
    return [Column(name, "number") for name in names]


def tidy(types: Types, rows: Iterable[Sequence[Any]]) -> Table:
    """A table for pandas: one row for each observation. An absent value is None or NaN, never a word."""
    return Table("", [Column(name, type_) for name, type_ in types.items()], list(rows))


def masked_parts(parts: Iterable[Part], mask: Callable[[str], str] = masked) -> list[Part]:
    """The parts with an ellipsis in place of each secret, for texts that somebody else has written."""
    return [_masked_part(one, mask) for one in parts]


def masked_table(table: Table, mask: Callable[[str], str] = masked) -> Table:
    """The table with an ellipsis in place of each secret in its texts."""
    rows = [[mask(one) if isinstance(one, str) else one for one in row] for row in table.rows]
    return replace(table, caption=mask(table.caption), rows=rows)


def _masked_part(part: Part, mask: Callable[[str], str]) -> Part:
    match part:
        case str():
            return mask(part)
        case Excerpt(text) if (hidden := mask(text)) != text:
            return part._replace(text=hidden, marks=(), whole=0)
        case Line() | Block() | Code():
            return part._replace(text=mask(part.text))
        case Table():
            return masked_table(part, mask)
        case Fold(summary, inside):
            return Fold(mask(summary), masked_parts(inside, mask))
        case Note():
            return Note(*map(mask, part))
        case Picture(label, groups):
            return Picture(mask(label), [[Box(*map(mask, box)) for box in group] for group in groups])
    return part


def hanging(line: str) -> Part:
    """A line that continues below its own beginning where the page is narrow."""
    text = line.lstrip()
    return Block(text, len(line) - len(text)) if text else ""


def apart(value: float, limit: float) -> tuple[str, str]:
    """Two numbers with three decimals, or with as many more as it takes to tell them apart, and from 0.

    >>> apart(0.3071, 0.35), apart(0.34996, 0.35), apart(0.00032, 0.01), apart(0.0, 1e-45)
    (('0.307', '0.350'), ('0.34996', '0.35000'), ('0.0003', '0.0100'), ('0.0', '1e-45'))
    """
    for digits in range(3, 17):
        left, right = f"{value:.{digits}f}", f"{limit:.{digits}f}"
        hidden = any(one != 0 and float(text) == 0 for text, one in ((left, value), (right, limit)))
        if (value == limit or left != right) and not hidden:
            return left, right
    return repr(float(value)), repr(float(limit))


# JSON


def json_rows(table: Table) -> list[dict[str, Any]]:
    """The rows for JSON, each with the names of its columns."""
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


# pandas


def pandas() -> Any:
    """The module pandas. Raises InputError if it is not installed."""
    try:
        import pandas as pd
    except ImportError:
        raise InputError(
            "A table needs pandas, which is not installed.",
            install_extra("lab"),
        ) from None
    return pd


def frame(table: Table) -> Any:
    """The table as a `pandas.DataFrame`. Raises InputError if pandas is not installed."""
    types = {one.name: one.type for one in table.typed}
    return pandas().DataFrame(list(table.rows), columns=list(types)).astype(types)


# HTML

NAME = "workbench-shown"
NO_FORMULAS = "tex2jax_ignore mathjax_ignore"
"""Classes of which MathJax reads nothing: the page of a notebook would take `$…$` of a note for a formula."""
STYLE = f"<style>{Path(__file__).with_name('shown.css').read_text(encoding='utf-8')}</style>"
"""The look of all shown values: the page's own colours, so that both themes are readable."""

CLASSES: Mapping[str, str] = {"number": "right whole", "whole": "whole", "label": "whole", "beginning": "dim"}
"""The classes of a column's cells in HTML, by its type."""


def safe(text: str) -> str:
    """A text as HTML: escaped, without control characters, and without this process's own keys."""
    return escape(visible(without_own_keys(text)))


def framed(content: str) -> str:
    """HTML with the look of shown values."""
    return f'{STYLE}<div class="{NAME} {NO_FORMULAS}">{content}</div>'


def html_of(parts: Iterable[Part]) -> str:
    """The parts as HTML, without the page's style."""
    return "".join(map(_html, parts))


def _html(part: Part) -> str:
    match part:
        case str():
            return _html_line(one_line(part))
        case Line(text, style):
            return _html_line(one_line(text), style)
        case Block(text, None, style):
            return _html_line(text, style)
        case Block(text, indent, style):
            return f'<div style="margin-left:{indent}ch">{_html_line(text, style)}</div>'
        case Code(text):
            return f"<pre>{safe(text)}</pre>"
        case Excerpt():
            return _html_excerpt(part.in_one_line)
        case Fold(summary, parts):
            return f"<details><summary>{safe(summary)}</summary>{html_of(parts)}</details>"
        case Note(remark, reason):
            folded = f"<summary>{safe(remark)}</summary>{_html_line(reason)}"
            return f'<details class="dim">{folded}</details>'
        case Picture():
            return _html_picture(part)
        case Table():
            return _html_table(part)


def _html_line(text: str, style: str = "") -> str:
    words = safe(text) or "&nbsp;"
    words = f"<b>{words}</b>" if style == "bold" else words
    return f'<div class="line{" dim" if style == "dim" else ""}">{words}</div>'


def _html_excerpt(part: Excerpt) -> str:
    text, words, at = part.text, "", 0
    for begin, end in part.marks:
        words += f"{safe(text[at:begin])}<mark>{safe(text[begin:end])}</mark>"
        at = end
    cut = "" if part.whole else f";-webkit-line-clamp:{part.lines}"
    kind = "line" if part.whole else "line excerpt"
    return f'<div class="{kind}" style="margin-left:{part.indent}ch{cut}">{words}{safe(text[at:])}</div>'


def html_table(table: Table) -> str:
    """The table with its caption."""
    return _html_table(table, f"<caption>{safe(table.caption)}</caption>" if table.caption else "")


def _html_table(table: Table, caption: str = "") -> str:
    classes = [CLASSES.get(one.type, "") for one in table.typed]
    kinds = [f' class="{one}"' if one else "" for one in classes]
    names = zip(table.header, kinds, strict=True)
    heads = "".join(f'<th scope="col"{kind}>{safe(name)}</th>' for name, kind in names)
    head = f"<thead><tr>{heads}</tr></thead>" if any(table.header) else ""
    body = "".join(f"<tr>{_html_row(row, kinds)}</tr>" for row in table.rows)
    return f"<table>{caption}{head}<tbody>{body}</tbody></table>"


def _html_row(row: Sequence[str], kinds: Sequence[str]) -> str:
    """A row, whose first cell is its header: screen readers use it."""
    first, *others = (f"{kind}>{safe(one_line(cell))}" for cell, kind in zip(row, kinds, strict=True))
    return f'<th scope="row"{first}</th>' + "".join(f"<td{one}</td>" for one in others)


def _html_picture(picture: Picture) -> str:
    steps = (f'<div class="step">{"".join(map(_html_box, group))}</div>' for group in picture.groups)
    arrow = '<span class="arrow" aria-hidden="true">→</span>'
    return f'<div class="flow" role="img" aria-label="{safe(picture.label)}">{arrow.join(steps)}</div>'


def _html_box(box: Box) -> str:
    classes = " ".join(filter(None, ("stage", box.kind)))
    words = f"<small>{safe(box.words)}</small>" if box.words else ""
    return f'<span class="{classes}" title="{safe(box.tooltip)}">{safe(box.name)}{words}</span>'


# Markdown

MARKUP = re.compile(r"[\\`*_\[\]|#~@]|:(?=//|[\w+-]*[A-Za-z+-][\w+-]*:)")
"""Characters that begin markup, a mention, the address of a page, or the name of an emoji."""


def markdown_line(text: str) -> str:
    """A text in one line of Markdown, in which nothing is markup, a link or a mention."""
    return MARKUP.sub(lambda found: f"&#{ord(found[0])};", escape(one_line(text), quote=False))


def markdown_table(table: Table) -> str:
    """The table in Markdown, without its caption."""
    rows = [table.header, ("---",) * len(table.header), *(map(markdown_line, row) for row in table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def markdown_block(text: str, language: str = "") -> str:
    """The text in a fence that is longer than every run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    stripped = text.rstrip("\n")
    return f"{fence}{language}\n{stripped}\n{fence}"

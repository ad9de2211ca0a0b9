"""The parts of a result as text for a terminal, through rich.

Only this module makes rich's consoles and tables. Names, notes and questions reach them as plain text: no
text is read as markup, and no control character gets out. Rich takes 0.07 s to load, so this module is
imported when something is printed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from io import StringIO
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

from workbench.masking import own_keys, without_own_keys
from workbench.safe_text import one_line, visible
from workbench.tables import WIDTH, Block, Column, Fold, Line, Part, Picture, Table

LOOKS: Mapping[str, Mapping[str, Any]] = {
    "number": {"justify": "right", "no_wrap": True},
    "whole": {"no_wrap": True},
    "label": {"no_wrap": True, "style": "bold"},
    "narrow": {"max_width": 20},
    "beginning": {"style": "dim"},
}
"""How a column is printed by its type; every other type is printed as it comes."""


class PlainConsole(Console):
    """A console that reads no markup, and makes control characters visible in whatever it prints."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)
        self._own_keys = own_keys()

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of a renderable, without control characters and without this process's own keys."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(without_own_keys(segment.text, self._own_keys)), segment.style)


class FoldingTable(RichTable):
    """A table that, where it is wider than the page, folds every column, so that no name is cut."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = self
        if Measurement.get(console, options, self).minimum >= options.max_width:
            table = copy(self)
            table.columns = [replace(one, no_wrap=False) for one in self.columns]
        return super(FoldingTable, table).__rich_console__(console, options)


def rich_table(table: Table) -> RichTable:
    """The table for a terminal, without its caption. Long words are folded, never cut."""
    made = FoldingTable(
        box=None,
        padding=(0, 1),
        header_style="bold",
        pad_edge=table.padded,
        show_header=any(table.header),
    )
    for column in table.typed:
        made.add_column(Text(visible(column.name)), overflow="fold", **LOOKS.get(column.type, {}))
    for row in table.rows:
        made.add_row(*map(_cell, row, table.typed))
    return made


def _cell(text: str, column: Column) -> Text:
    if column.type == "beginning":
        return Text(one_line(text), no_wrap=True, overflow="ellipsis")
    return Text(one_line(text))


def renderable(parts: Iterable[Part]) -> RenderableType:
    """The parts in a form that rich can print; a terminal has no folds and no pictures."""
    return Group(*(_printed(one) for one in parts if not isinstance(one, Fold | Picture)))


def _printed(part: Part) -> RenderableType:
    match part:
        case Line(text, style):
            return Text(one_line(text), style)
        case Block(text, indent, style):
            block = Text(text, style)
            return block if indent is None else Padding.indent(block, indent)
        case Table():
            return rich_table(part)
        case _:
            return Text(one_line(str(part)))


def text_of(parts: Iterable[Part]) -> str:
    """What is printed of these parts, as a string without colours, WIDTH columns wide."""
    out = StringIO()
    console = PlainConsole(file=out, width=WIDTH, color_system=None, force_jupyter=False)
    console.print(renderable(parts))
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip("\n").split("\n"))


def print_parts(parts: Iterable[Part], soft_wrap: bool = False) -> None:
    """Prints the parts: as wide as the terminal, or WIDTH columns into a notebook or a file.

    With `soft_wrap`, long lines are left to the terminal.
    """
    # Into a notebook as text, like print: as HTML rich sets it larger, and too wide for the page.
    styles: dict[str, Any] = {"force_terminal": True, "color_system": "standard"} if _in_notebook() else {}
    console = PlainConsole(force_jupyter=False, **styles)
    if not sys.stdout.isatty():
        console.width = WIDTH
    console.print(renderable(parts), soft_wrap=soft_wrap)


def _in_notebook() -> bool:
    return PlainConsole().is_jupyter

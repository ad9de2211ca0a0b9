"""The parts of a result as text for a terminal, through rich.

Only this module makes rich's consoles and tables. Names, notes and questions reach them as plain text: no
text is read as markup, and no control character gets out. Rich takes 0.07 s to load, so this module is
imported when something is printed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from io import StringIO
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Column as RichColumn
from rich.table import Table as RichTable
from rich.text import Text

from workbench.masking import own_keys, without_own_keys
from workbench.safe_text import one_line, visible
from workbench.tables import WIDTH, Block, Code, Column, Excerpt, Fold, Line, Note, Part, Picture, Table

LOOKS: Mapping[str, Mapping[str, Any]] = {
    "number": {"justify": "right", "no_wrap": True},
    "whole": {"no_wrap": True},
    "label": {"no_wrap": True, "style": "bold"},
    "narrow": {"max_width": 20},
    "beginning": {"style": "none"},
}
"""How a column is printed by its type; every other type is printed as it comes.

Nothing is dim in a terminal: many show that as a grey that is hard to read on their background.
"""


NO_BREAK = "\ue000"
"""A blank at which no line ends, until it is printed: rich breaks lines at no-break blanks, too."""
TOGETHER = re.compile(r"(?<=\d) (?=(?:ms|s|[kMG]?B|%)(?:\W|$))|(?<=\d) (?=[<>≥≤→] )|(?<=[<>≥≤→]) (?=-?\d)")
"""The blank between a number and its unit, and those of `6 → 27` and `0.349 < 0.350`."""


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
                text = visible(without_own_keys(segment.text, self._own_keys))
                yield Segment(text.replace(NO_BREAK, " "), segment.style)


class FoldingTable(RichTable):
    """A table that, where it is wider than the page, folds every column, so that no name or number is cut.

    The beginnings of texts are then left out: they would be a few characters wide.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = copy(self)
        table.columns = [
            replace(one, min_width=_widest(one.header, *one.cells)) if one.no_wrap else one
            for one in self.columns
        ]
        if Measurement.get(console, options, table).minimum >= options.max_width:
            foldable = (one for one in self.columns if one.style != LOOKS["beginning"]["style"])
            table.columns = [_folded(one) for one in foldable]
        return super(FoldingTable, table).__rich_console__(console, options)


def _folded(column: RichColumn) -> RichColumn:
    """The column as it is folded: of one with numbers the name at each blank, and no number."""
    if column.justify != LOOKS["number"]["justify"]:
        return replace(column, no_wrap=False)
    number, word = _widest(*column.cells), _widest(*str(column.header).split())
    return replace(column, no_wrap=False, min_width=number, max_width=max(number, word))


def _widest(*texts: RenderableType) -> int:
    """The columns of the widest line of these texts."""
    return max((cell_len(line) for one in texts for line in str(one).split("\n")), default=0)


def rich_table(table: Table) -> RichTable:
    """The table for a terminal, without its caption. Long words are folded, never cut."""
    printed = FoldingTable(
        box=None,
        padding=(0, 1),
        header_style="bold",
        pad_edge=table.padded,
        show_header=any(table.header),
    )
    for column in table.typed:
        printed.add_column(Text(visible(column.name)), overflow="fold", **LOOKS.get(column.type, {}))
    for row in table.rows:
        printed.add_row(*map(_cell, row, table.typed))
    return printed


def _cell(text: str, column: Column) -> Text:
    if column.type == "beginning":
        return Text(one_line(text), no_wrap=True, overflow="ellipsis")
    return Text(one_line(text))


class CutText:
    """An excerpt for a terminal; what it leaves out at the end is an ellipsis.

    It is at most WIDTH columns wide, so that it is easy to read, unless something in it must be whole.
    """

    def __init__(self, part: Excerpt) -> None:
        self.part = part.in_one_line

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        part = self.part
        text = Text(part.text)
        for begin, end in part.marks:
            text.stylize("bold", begin, end)
        widest = options.max_width if part.whole else min(options.max_width, WIDTH)
        width = max(1, widest - part.indent)
        lines = list(text.wrap(console, width))
        if len(lines) > part.lines and part.whole < width * part.lines:
            lines = lines[: part.lines]
            kept = sum(len(one.plain.rstrip()) for one in lines)
            if kept > part.whole:  # right behind what is never cut, an ellipsis would say that it is
                lines[-1] = _before_the_ellipsis(lines[-1], width).append("…")
        yield Padding.indent(Group(*lines), part.indent)


def _before_the_ellipsis(line: Text, width: int) -> Text:
    """A line that leaves room for an ellipsis: without its last word, or cut if it is one long word."""
    line.rstrip()
    if line.cell_len < width:
        return line
    words = line.plain.rpartition(" ")[0]
    line.truncate(min(width - 1, cell_len(words) + 1) if words else width - 1)
    return line


COMMAND = re.compile(r"(.*?: )?((?:workbench [a-z]|perl -|(?:cp|mkdir|mv) .+ && ).*)")
"""A line that is a command for the shell, or ends with one after a colon."""


class LineWithCommand:
    """A line whose command is never folded, since a fold would be copied into the shell, too.

    Where the line is wider than the page, the command stands alone, and the terminal breaks it.
    """

    def __init__(self, text: Text, command: str, indent: int) -> None:
        self.text, self.command, self.indent = text, command, indent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.indent + self.text.cell_len <= options.max_width:
            yield Padding.indent(self.text, self.indent)
            return
        head = self.text[: len(self.text) - len(self.command)]
        head.rstrip()
        if head:
            yield Padding.indent(head, self.indent)
        begin = " " * (self.indent + 2) if head else ""
        yield Text(begin + self.command, self.text.style, no_wrap=True, overflow="ignore")


FORMULA = re.compile(r"([^=]{0,16}= )(.+)")
"""A line that begins with a short name and its formula, or goes on with the numbers of one."""


def _line(text: str, style: str, indent: int) -> RenderableType:
    found = COMMAND.fullmatch(text)
    line = Text(text if found else TOGETHER.sub(NO_BREAK, text), style)
    if found is not None:
        return LineWithCommand(line, found[2], indent)
    if not indent:
        return line
    formula = FORMULA.fullmatch(text)
    return Padding.indent(line if formula is None else _formula(line, len(formula[1])), indent)


def _formula(line: Text, begin: int) -> RenderableType:
    """A formula that continues to the right of its `=` where the page is narrow."""
    columns = RichTable.grid()
    columns.add_column(no_wrap=True)
    columns.add_column(overflow="fold")
    columns.add_row(line[:begin], line[begin:])
    return columns


def renderable(parts: Iterable[Part], details: bool = False) -> RenderableType:
    """The parts in a form that rich can print; a terminal has no pictures, and folds only as `details`."""
    return Group(*(_printed(one) for one in _unfolded(parts, details)))


def _unfolded(parts: Iterable[Part], details: bool) -> Iterator[Part]:
    for one in parts:
        if isinstance(one, Fold):
            if details:
                yield from ("", Line(one.summary, "bold"), *_unfolded(one.parts, details))
        elif not isinstance(one, Picture):
            yield one


def _printed(part: Part) -> RenderableType:
    match part:
        case Excerpt():
            return CutText(part)
        case Line(text, style):
            return _line(one_line(text), style.replace("dim", ""), 0)
        case Block(text, indent, style):
            return Group(*(_line(one, style, indent or 0) for one in text.split("\n")))
        case Code(text):
            return Text(text, no_wrap=True, overflow="ignore")
        case Note(remark, reason):
            return _printed(Block(f"{remark} {reason}", indent=0))
        case Table():
            return rich_table(part)
        case _:
            return _line(one_line(str(part)), "", 0)


def text_of(parts: Iterable[Part], details: bool = False, width: int = WIDTH) -> str:
    """What is printed of these parts, as a string without colours."""
    out = StringIO()
    console = PlainConsole(file=out, width=width, color_system=None, force_jupyter=False)
    console.print(renderable(parts, details), crop=False)
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip("\n").split("\n"))


UNBOUNDED = 100_000
"""The columns of a file or a pipe: no line is folded there, and no column of a table is squeezed."""


def print_parts(parts: Iterable[Part], soft_wrap: bool = False, details: bool = False) -> None:
    """Prints the parts: as wide as the terminal, WIDTH columns in a notebook, or unfolded into a pipe.

    With `soft_wrap`, long lines are left to the terminal. With `details`, folds are printed too.
    """
    if in_notebook():
        # As text, like print: as HTML rich sets it larger, and too wide for the page.
        console = PlainConsole(force_jupyter=False, force_terminal=True, color_system="standard", width=WIDTH)
    elif sys.stdout.isatty():
        console = PlainConsole(force_jupyter=False)
    else:
        PlainConsole(force_jupyter=False).print(Text(text_of(parts, details, UNBOUNDED)), soft_wrap=True)
        return
    console.print(renderable(parts, details), soft_wrap=soft_wrap, crop=False)


def in_notebook() -> bool:
    """Whether a notebook shows what this process prints."""
    return PlainConsole().is_jupyter

"""The console and the tables of all views: no text is read as markup, and no control character gets out.

Only this module makes rich's consoles and tables. Names, notes and questions reach them as plain text.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.style import StyleType
from rich.table import Table
from rich.text import Text

from workbench.safe_text import one_line, own_keys, visible, without_own_keys


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


class PlainTable(Table):
    """A table whose cells are plain text, each in one line of its own until it has to be folded."""

    def __init__(self, *headers: str, padding: tuple[int, ...] = (0, 1), **options: Any) -> None:
        super().__init__(box=None, padding=padding, header_style="bold", **options)  # type: ignore[arg-type]
        for header in headers:
            self.add_column(header)

    def add_column(self, header: RenderableType = "", *more: Any, **options: Any) -> None:
        """Adds a column; a header that is a string is plain text. Long words are folded, never cut."""
        shown = Text(visible(header)) if isinstance(header, str) else header
        super().add_column(shown, *more, **{"overflow": "fold", **options})

    def add_row(
        self, *cells: RenderableType | None, style: StyleType | None = None, end_section: bool = False
    ) -> None:
        """Adds a row; a cell that is a string is plain text in one line."""
        texts = [plain(cell) if isinstance(cell, str) else cell for cell in cells]
        super().add_row(*texts, style=style, end_section=end_section)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table; where it is wider than the page, every column may be folded, so that no name is cut."""
        table = self
        if Measurement.get(console, options, self).minimum >= options.max_width:
            table = copy(self)
            table.columns = [replace(one, no_wrap=False) for one in self.columns]
        return super(PlainTable, table).__rich_console__(console, options)


def plain(text: str, style: str = "", **options: Any) -> Text:
    """One line of plain text: line ends inside of it are made visible, so that no text can add a line."""
    return Text(one_line(text), style=style, **options)

"""The chunks of a file as the index holds them: what the model read, and what is repeated."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import pairwise
from typing import Any

import ipywidgets as w

from workbench.contracts import Index
from workbench.safe_text import visible
from workbench.views.text import Table
from workbench.views.widgets.panel import Link, Selection
from workbench_plugins.asking import GIVEN, Asking
from workbench_plugins.explore.held import (
    HeldChunk,
    HeldFile,
    chunk_line,
    held_file,
    held_sentence,
    read_text,
)

STYLE = (
    "<style>.workbench-chunk{border-left:4px solid transparent;padding:2px 8px;margin:2px 0}"
    ".workbench-chunk[aria-current]{border-left-color:currentColor}"
    ".workbench-chunk summary{cursor:pointer;line-height:1.4;overflow-wrap:anywhere}"
    ".workbench-chunk pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:4px 0;line-height:1.4;"
    "font-size:12px}"
    ".workbench-chunk .repeated{opacity:.75;font-style:italic}"
    ".workbench-chunk .unread{text-decoration:line-through}</style>"
)


class FileChunks(Asking):
    """A file as the index holds it, chunk by chunk; the selected chunk is open and marked.

    `settings` are the `file`. `held` is what is shown. Text that the model did not read is struck through,
    lines that repeat the end of the chunk before are in italics. Raises InputError for a file that is not
    indexed.
    """

    name = "file-chunks"
    selects: Mapping[str, str] = {"file": "file"}
    held: HeldFile

    def __init__(self, index: Index, file: str, link: Link = True, height: str = "26em") -> None:
        self.index = index
        self.file = w.Combobox(
            value=file, options=index.paths(), description="file", continuous_update=False,
            layout={"width": "98%"},
        )  # fmt: skip
        self.controls = {"file": self.file}
        self.look()
        self.figure = w.HTML(layout={"max_height": height, "overflow": "auto"})
        self.watch()
        self.lay_out([self.file], self.figure, link)
        self.draw()

    def listen(self) -> None:
        """Nothing is drawn here that could be clicked."""

    def look(self) -> None:
        """Reads the chunks of the file. Raises InputError for a file that is not indexed."""
        self.held = held_file(self.index, str(self.file.value).strip())

    def draw(self) -> None:
        """Writes the chunks; the selected one is open, or else the first."""
        chosen = [one for one in self.held.chunks if self.selection.covers(one.chunk)]
        opened = chosen or list(self.held.chunks[:1])
        self.figure.value = STYLE + "".join(
            _chunk_html(one, one in opened, one in chosen) for one in self.held.chunks
        )

    def follow(self, chosen: Selection) -> None:
        """Shows the selected file, and opens the selected chunk."""
        if not chosen.file or not self.take({"file": chosen.file}):
            self.draw()

    @property
    def finding(self) -> str:
        return held_sentence(self.held)

    @property
    def table(self) -> Table:
        return Table(
            f"The chunks of {self.held.path}",
            ("lines", "characters", "read by the model", "repeated lines"),
            tuple(
                (
                    f"{one.chunk.start_line}-{one.chunk.end_line}",
                    str(len(one.chunk.text)),
                    read_text(one),
                    str(one.repeated),
                )
                for one in self.held.chunks
            ),
        )

    @property
    def code(self) -> str:
        lines = [
            f"{GIVEN}import workbench as wb",
            "from workbench_plugins.explore.chunks import held_file",
            "",
            f"held = held_file(index, {self.held.path!r})",
            "wb.show(held)",
        ]
        return "\n".join(lines)


def _chunk_html(one: HeldChunk, is_open: bool, chosen: bool) -> str:
    attributes: dict[str, Any] = {" open": is_open, ' aria-current="true"': chosen}
    told = "".join(text for text, yes in attributes.items() if yes)
    head = f"<summary>{_safe(chunk_line(one))}{' (selected)' if chosen else ''}</summary>"
    return f'<details class="workbench-chunk"{told}>{head}<pre tabindex="0">{_text_html(one)}</pre></details>'


def _text_html(one: HeldChunk) -> str:
    """The text: repeated lines in italics, and what the model did not read struck through."""
    text = one.chunk.text
    lines = text.split("\n")
    repeated = len("\n".join(lines[: one.repeated])) if one.repeated else 0
    read_to = len(text) if one.read_to is None else one.read_to
    marks = sorted({0, min(repeated, len(text)), read_to, len(text)})
    pieces = []
    for low, high in pairwise(marks):
        kinds = [name for name, yes in (("repeated", high <= repeated), ("unread", low >= read_to)) if yes]
        piece = _safe(text[low:high])
        pieces.append(f'<span class="{" ".join(kinds)}">{piece}</span>' if kinds else piece)
    return "".join(pieces)


def _safe(text: str) -> str:
    return escape(visible(text))

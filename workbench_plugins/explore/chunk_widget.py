"""The chunks of a file as the index holds them: what the model read, and what is repeated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import traitlets

from workbench.contracts import Index
from workbench.retrieval.index_adapters import check_open
from workbench.safe_text import visible
from workbench.tables import Table
from workbench.views.living.as_code import GIVEN
from workbench.views.living.notebook import Widget
from workbench.views.living.selection import Link, Selection
from workbench.views.living.state import setting
from workbench_plugins.explore.file_chunks import (
    HeldChunk,
    HeldFile,
    chunk_line,
    held_file,
    held_sentence,
    read_text,
)


class FileChunks(Widget):
    """A file as the index holds it, chunk by chunk; the selected chunk is open and marked.

    `settings` are the `file`, and `chunk`, the id of the selected one. `held` is what is shown. Text that the
    model did not read is struck through, lines that repeat the end of the chunk before are in italics. Raises
    InputError for a file that is not indexed.
    """

    name, view, main, asks = "file-chunks", "chunks", "file", ("file",)
    selects: Mapping[str, str] = {"file": "file"}
    held: HeldFile

    file = setting(traitlets.Unicode())
    chunk = setting(traitlets.Unicode())

    def __init__(self, index: Index, file: str, link: Link = True) -> None:
        check_open(index)
        super().__init__(file=file)
        self._index = index
        self.begin(link)

    def look(self) -> None:
        """Reads the chunks of the file. Raises InputError for a file that is not indexed."""
        self.held = held_file(self._index, self.file.strip())

    @property
    def facts(self) -> Mapping[str, Any]:
        chunks = [
            {"id": one.chunk.id, "line": visible(chunk_line(one)), "parts": list(_parts(one))}
            for one in self.held.chunks
        ]
        return self.words | {"chunks": chunks, "files": self._index.paths()}

    def wanted(self, chosen: Selection) -> Mapping[str, Any]:
        """The selected file."""
        return {"file": chosen.file} if chosen.file else {}

    def shown(self, name: str) -> Iterable[str] | None:
        return [one.chunk.id for one in self.held.chunks] if name == "chunk" else None

    @property
    def sentence(self) -> str:
        return held_sentence(self.held)

    @property
    def table(self) -> Table:
        return Table(
            f"The chunks of {self.held.path}",
            ("lines", "characters", "read by the model", "repeated lines"),
            [_row(one) for one in self.held.chunks],
        )

    @property
    def code(self) -> str:
        return (
            f"{GIVEN}import workbench as wb\nfrom workbench_plugins.explore.chunk_widget import held_file\n\n"
            f"held = held_file(index, {self.held.path!r})\nwb.show(held)"
        )


def _row(one: HeldChunk) -> tuple[str, ...]:
    lines = f"{one.chunk.start_line}-{one.chunk.end_line}"
    return lines, str(len(one.chunk.text)), read_text(one), str(one.repeated)


def _parts(one: HeldChunk) -> Iterator[tuple[str, str]]:
    """The text in pieces, each with what it is: `repeated`, `unread`, both, or neither."""
    text = one.chunk.text
    repeated = len("\n".join(text.split("\n")[: one.repeated])) if one.repeated else 0
    read_to = len(text) if one.read_to is None else one.read_to
    for low, high in pairwise(sorted({0, min(repeated, len(text)), read_to, len(text)})):
        kinds = [name for name, yes in (("repeated", high <= repeated), ("unread", low >= read_to)) if yes]
        yield visible(text[low:high]), " ".join(f"wb-{kind}" for kind in kinds)

"""A file as the index holds it: its chunks, what the model read of each, and what is in no chunk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.contracts import Index
from workbench.errors import InputError, unknown_name
from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.files import SOURCE
from workbench.memory.index import OpenIndex
from workbench.records import Chunk, Shown
from workbench.safe_text import counted
from workbench.tables import Block, Line, Part


@dataclass(frozen=True)
class HeldChunk:
    """A chunk, and what the model read of it.

    `repeated` is the number of its first lines that end the chunk before. `windows` is the number of pieces
    that the model read, and `read_to` the number of characters that it read; None where only the share of the
    word pieces is known (`chunk.read_share`).
    """

    chunk: Chunk
    repeated: int
    windows: int | None
    read_to: int | None


@dataclass(frozen=True)
class HeldFile(Shown):
    """The chunks of a file in its order. `left_out` are the ranges of lines that are in no chunk."""

    path: str
    chunks: tuple[HeldChunk, ...]
    left_out: tuple[tuple[int, int], ...]

    def view(self) -> list[Part]:
        """The file, and each chunk with its text: what the model read of it, and what is repeated."""
        parts: list[Part] = [held_sentence(self)]
        for one in self.chunks:
            parts += ["", Line(chunk_line(one), "bold"), Block(one.chunk.text, 2)]
        return parts


def held_file(index: Index, path: str) -> HeldFile:
    """The file as this index holds it. Raises InputError for a file that is not in the index."""
    if not path:
        raise InputError("No file is chosen.", "Name the file that you want to read as the expected file.")
    chunks = index.chunks(index.rows_of(path))
    if not chunks and path in index.paths():
        raise InputError(f"{path} has no text in the index.", "If it has some now: workbench index FOLDER")
    if not chunks:
        raise unknown_name(
            "indexed file", path, index.paths(), "If it is in the memory's folder: workbench index FOLDER"
        )
    read = _read(index, chunks)
    held = []
    for number, (chunk, (windows, read_to)) in enumerate(zip(chunks, read, strict=True)):
        before = chunks[number - 1].end_line if number else 0
        last = min(before, chunk.end_line)
        held.append(HeldChunk(chunk, max(0, last - chunk.start_line + 1), windows, read_to))
    return HeldFile(path, tuple(held), _left_out(index, path, chunks))


def _read(index: Index, chunks: Sequence[Chunk]) -> list[tuple[int | None, int | None]]:
    """For each chunk the number of windows and of characters that the model read, where they are known."""
    embedder = index.embedder if isinstance(index, OpenIndex) else None
    if not isinstance(embedder, LocalEmbedder):
        return [(None, len(one.text) if one.read_share >= 1 else None) for one in chunks]
    texts = [one.text for one in chunks]
    found: list[tuple[int | None, int | None]] = []
    for text, spans in zip(texts, embedder.offsets(texts), strict=True):
        whole = embedder.reading.share(len(spans), embedder.window) >= 1
        windows = len(embedder.reading.pieces(text, spans, embedder.window))
        found.append((windows, len(text) if whole else spans[embedder.window - 1][1]))
    return found


def _left_out(index: Index, path: str, chunks: Sequence[Chunk]) -> tuple[tuple[int, int], ...]:
    """The ranges of lines with text that no chunk has; none where lines are not those of the file's text."""
    text = next((one.text for one in index.documents() or () if one.path == path), "")
    if chunks[0].source != SOURCE:
        return ()
    inside = {line for one in chunks for line in range(one.start_line, one.end_line + 1)}
    ranges: list[tuple[int, int]] = []
    last = -math.inf
    for number, line in enumerate(text.split("\n"), 1):
        if number in inside or not line.strip():
            continue
        if last == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
        last = number
    return tuple(ranges)


def held_sentence(held: HeldFile) -> str:
    """How many chunks the file has, how much the model read of them, and which lines are in no chunk."""
    cut = [one for one in held.chunks if one.chunk.read_share < 1]
    every = "it" if len(held.chunks) == 1 else "each"
    which = every if len(cut) == len(held.chunks) else f"{len(cut)} of them"
    read = f"the model read only a part of {which}" if cut else "the model read all of its text"
    ranges = ", ".join(f"{low}" if low == high else f"{low}-{high}" for low, high in held.left_out)
    missing = f" In no chunk: lines {ranges}." if ranges else ""
    return f"{held.path} is {counted(len(held.chunks), 'chunk')} in the index; {read}.{missing}"


def chunk_line(one: HeldChunk) -> str:
    """The place of a chunk, its length, how much of it the model read, and how many lines it repeats."""
    told = [counted(len(one.chunk.text), "character"), read_text(one)]
    if one.repeated:
        lines = "line" if one.repeated == 1 else f"{one.repeated} lines"
        told.append(f"the first {lines} repeated from the chunk before")
    return f"{one.chunk.location}: {', '.join(told)}"


def read_text(one: HeldChunk) -> str:
    """How much of a chunk the model read: all, or a part, and in how many windows."""
    if one.chunk.read_share < 1:
        return f"the model read {one.chunk.read_share:.0%} of it"
    windows = f" in {one.windows} windows" if one.windows and one.windows > 1 else ""
    return f"the model read all of it{windows}"

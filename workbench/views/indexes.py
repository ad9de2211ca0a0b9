"""The indexes in the cache folder as a table and as data, and a file as an index holds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from workbench.lab.held import HeldChunk, HeldFile
from workbench.memory.inventory import IndexInfo
from workbench.safe_text import counted
from workbench.views.console import PlainTable, plain
from workbench.views.text import rendered

UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


def indexes_table(indexes: Sequence[IndexInfo]) -> RenderableType:
    """One line per index: its name, the memory's folder, size, age and state."""
    table = PlainTable("index", "memory")
    for name in ("size", "changed"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("state")
    for one in indexes:
        size = f"{one.size / 1e6:.1f} MB"
        table.add_row(one.name, one.folder or "not known", size, age_text(one.age), state(one))
    return table


def state(one: IndexInfo) -> str:
    """Whether an index can be read, and whether its memory is still there."""
    if one.problem:
        return one.problem
    return counted(one.files, "file") + ("; the memory's folder is gone" if one.gone else "")


def age_text(seconds: float) -> str:
    """An age in its largest unit.

    >>> age_text(5), age_text(200_000)
    ('just now', '2 days ago')
    """
    for unit, length in UNITS:
        count = int(seconds // length)
        if count:
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"


def index_data(one: IndexInfo) -> dict[str, Any]:
    """An index for JSON: size in bytes, age in seconds; folder and problem are null where there is none."""
    return {
        "name": one.name,
        "folder": one.folder or None,
        "gone": one.gone,
        "bytes": one.size,
        "age_seconds": round(one.age),
        "files": one.files,
        "problem": one.problem or None,
    }


@rendered.register
def rendered_held(held: HeldFile) -> RenderableType:
    """The file, and each chunk with its text: what the model read of it, and what is repeated."""
    parts: list[RenderableType] = [plain(held_sentence(held))]
    for one in held.chunks:
        parts += [plain(""), plain(chunk_line(one), "bold"), Padding.indent(Text(one.chunk.text), 2)]
    return Group(*parts)


def held_sentence(held: HeldFile) -> str:
    """How many chunks the file has, how much the model read of them, and which lines are in no chunk."""
    cut = [one for one in held.chunks if one.chunk.read_share < 1]
    read = f"the model read only a part of {len(cut)} of them" if cut else "the model read all of its text"
    ranges = ", ".join(f"{low}" if low == high else f"{low}-{high}" for low, high in held.left_out)
    missing = f" In no chunk: lines {ranges}." if ranges else ""
    return f"{held.path} is {counted(len(held.chunks), 'chunk')} in the index; {read}.{missing}"


def chunk_line(one: HeldChunk) -> str:
    """The place of a chunk, its length, how much of it the model read, and how many lines it repeats."""
    told = [counted(len(one.chunk.text), "character"), read_text(one)]
    if one.repeated:
        lines = "line" if one.repeated == 1 else f"{one.repeated} lines"
        told.append(f"the first {lines} repeated from the chunk before")
    return f"{one.chunk.place}: {', '.join(told)}"


def read_text(one: HeldChunk) -> str:
    """How much of a chunk the model read: all, or a part, and in how many windows."""
    if one.chunk.read_share < 1:
        return f"the model read {one.chunk.read_share:.0%} of it"
    windows = f" in {one.windows} windows" if one.windows and one.windows > 1 else ""
    return f"the model read all of it{windows}"

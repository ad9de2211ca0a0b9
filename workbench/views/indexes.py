"""The indexes in the cache folder as a table and as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType

from workbench.memory.inventory import IndexInfo
from workbench.views.console import PlainTable

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
    return f"{one.files} files" + ("; the memory's folder is gone" if one.gone else "")


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

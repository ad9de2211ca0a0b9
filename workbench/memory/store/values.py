"""Values that every store takes and gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from workbench.records import Vector


@dataclass(frozen=True)
class Settings:
    """What an index was made with. Another value of any of these means other vectors or other chunks."""

    model: str
    revision: str
    dimensions: int
    chunker: str


class Stamp(NamedTuple):
    """Hash, size and modification time of a file when it was last indexed, and its source."""

    hash: str
    size: int
    mtime_ns: int
    source: str = "memory"

    @property
    def look(self) -> tuple[int, int]:
        """Size and time, which can be compared without reading the file."""
        return self.size, self.mtime_ns


class Cached(NamedTuple):
    """A vector from the embedding cache, and the share of its text that the model has read."""

    vector: Vector
    read_share: float

"""What the packaged model has read of the sample memory, so that nothing is computed before the first lesson.

`python -m benchmarks.shipping` makes the file beside this one; a test computes a part of it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from workbench.memory.embedding.local import PACKAGED_MODEL, PACKAGED_SHA256
from workbench.memory.store.contract import Cached, Settings, VectorSource

FILE = Path(__file__).with_name("sample_memory.npz")
REVISION = f"{PACKAGED_SHA256[:12]}/windowed"


@cache
def _numbers(name: str) -> Mapping[str, int]:
    """The number of each key among those of that name; none without the file."""
    keys = _array(name) if FILE.is_file() else ()
    return {str(key): number for number, key in enumerate(keys)}


@cache
def _array(name: str) -> Any:
    with np.load(FILE, allow_pickle=False) as file:
        return file[name]


class Shipped(VectorSource):
    """Lends the vectors of the sample memory's chunks to an index that has none."""

    name: ClassVar[str] = "sample_memory"

    def cached(self, settings: Settings, role: str, hashes: Iterable[str]) -> dict[str, Cached]:
        """The vectors of these texts that are shipped, for the packaged model that reads texts whole."""
        if (settings.model, settings.revision, role) != (PACKAGED_MODEL, REVISION, "passage"):
            return {}
        known = _numbers("texts")
        return {one: Cached(_array("vectors")[known[one]], 1.0) for one in hashes if one in known}


LENDER = Shipped()


def words_of(keys: Iterable[str]) -> dict[str, bytes]:
    """What was read word by word of these files of the sample memory, as `WordsRead.packed` has it."""
    known = {one: number for one in keys if (number := _numbers("files").get(one)) is not None}
    held, ends = (_array("words").tobytes(), _array("ends").tolist()) if known else (b"", [])
    return {one: held[ends[number] : ends[number + 1]] for one, number in known.items()}

"""The first hour of a newcomer passes; `python -m tests.first_hour` is the long form, to watch."""

from __future__ import annotations

from pathlib import Path

from tests.browser import needs_chromium
from tests.first_hour import walk
from workbench.memory.index import MemoryIndex


@needs_chromium
def test_the_first_hour(tmp_path: Path, sample: MemoryIndex) -> None:
    walk(tmp_path / "hour", quick=True, in_forks=True)
    pictures = sorted(path.name for path in (tmp_path / "hour").glob("*.png"))
    assert pictures == ["00_start-reopened.png", "00_start-run.png"]

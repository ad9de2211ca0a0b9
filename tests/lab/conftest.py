"""Fixtures of the lab's tests."""

from __future__ import annotations

import pytest

from workbench.lab.cached_index import CachedIndex
from workbench.memory.index import MemoryIndex


@pytest.fixture(scope="session")
def kept(sample: MemoryIndex) -> CachedIndex:
    """The sample memory with a cache of its answers, which all tests share."""
    return CachedIndex(sample)

"""Fixtures of the lab's tests."""

from __future__ import annotations

import pytest

from workbench.memory.index import MemoryIndex
from workbench.retrieval.index_adapters import CachedIndex


@pytest.fixture(scope="session")
def kept(sample: MemoryIndex) -> CachedIndex:
    """The sample memory with a cache of its answers, which all tests share."""
    return CachedIndex(sample)

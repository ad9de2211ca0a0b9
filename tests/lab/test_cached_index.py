"""An index that caches its answers: it asks the index once, and changes no answer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.retrieval.test_properties import check_same
from workbench.contracts import Index
from workbench.memory.index import MemoryIndex
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import SYSTEMS


@Index.register
class Counted:
    """An index, and what has been asked of it."""

    def __init__(self, index: MemoryIndex) -> None:
        self.index = index
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        wanted = getattr(self.index, name)

        def called(*arguments: Any) -> Any:
            self.calls.append(name)
            return wanted(*arguments)

        return called if callable(wanted) else wanted


@pytest.mark.parametrize("name", SYSTEMS)
def test_an_index_that_keeps_its_answers_is_asked_once_and_answers_the_same(
    toy: MemoryIndex, name: str
) -> None:
    counted, question = Counted(toy), "who drinks rooibos tea?"
    cached = CachedIndex(counted)
    first = search(question, SYSTEMS[name], cached)
    counted.calls.clear()
    check_same(search(question, SYSTEMS[name], cached), first)
    assert {"keyword", "vector", "embed", "chunks", "rows_of", "documents"}.isdisjoint(counted.calls)
    check_same(search(question, SYSTEMS[name], toy), first)

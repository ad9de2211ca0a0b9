"""Milvus keeps the contract of a store, in its embedded form."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contracts.store_contract import SETTINGS, StoreContract
from tests.milvus import fresh_name
from workbench.memory.store.contract import IndexStore
from workbench.memory.store.places import server_place


class TestMilvus(StoreContract):
    @pytest.fixture
    def empty(self, milvus: str) -> Iterator[IndexStore]:
        place = server_place(fresh_name(milvus))
        with place.rebuilding(SETTINGS):
            pass
        with place.open() as store:
            yield store

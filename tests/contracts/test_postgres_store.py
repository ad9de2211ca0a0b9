"""PostgreSQL keeps the contract of a store, and survives the faults that a server has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contracts.store_contract import SETTINGS, StoreContract
from tests.postgres import fresh_schema
from workbench.memory.store.contract import IndexStore
from workbench.memory.store.places import server_place


class TestPostgres(StoreContract):
    @pytest.fixture
    def empty(self, postgres: str) -> Iterator[IndexStore]:
        place = server_place(fresh_schema(postgres))
        with place.rebuilding(SETTINGS):
            pass
        with place.open() as store:
            yield store


class TestPostgresVectors(StoreContract):
    @pytest.fixture(params=["exact", "hnsw"])
    def empty(self, postgres: str, request: pytest.FixtureRequest) -> Iterator[IndexStore]:
        place = server_place(fresh_schema(postgres, vectors=request.param))
        with place.rebuilding(SETTINGS):
            pass
        with place.open() as store:
            yield store

"""Every store keeps the contract: SQLite in a file and in memory, PostgreSQL with each search, and Milvus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.store_contract import SETTINGS, StoreContract
from tests.milvus import fresh_name
from tests.postgres import fresh_schema
from workbench.memory.addresses import server_location
from workbench.memory.store.contract import IndexStore
from workbench.memory.store.sqlite.store import Store


class TestSQLite(StoreContract):
    @pytest.fixture(params=["index.sqlite", ":memory:"])
    def empty(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[IndexStore]:
        path = Path(request.param) if request.param == ":memory:" else tmp_path / request.param
        with Store.create(path, SETTINGS) as store:
            yield store


class TestServers(StoreContract):
    @pytest.fixture(params=["scan", "exact", "hnsw", "milvus"])
    def empty(self, postgres: str, milvus: str, request: pytest.FixtureRequest) -> Iterator[IndexStore]:
        vectors = request.param
        address = fresh_name(milvus) if vectors == "milvus" else fresh_schema(postgres, vectors=vectors)
        place = server_location(address)
        with place.rebuilding(SETTINGS):
            pass
        with place.open() as store:
            yield store

"""SQLite keeps the contract of a store, in a file and in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.store_contract import SETTINGS, StoreContract
from workbench.memory.store.contract import IndexStore
from workbench.memory.store.sqlite.store import Store


class TestSQLiteFile(StoreContract):
    @pytest.fixture
    def empty(self, tmp_path: Path) -> Iterator[IndexStore]:
        with Store.create(tmp_path / "index.sqlite", SETTINGS) as store:
            yield store


class TestSQLiteInMemory(StoreContract):
    @pytest.fixture
    def empty(self) -> Iterator[IndexStore]:
        with Store.create(Path(":memory:"), SETTINGS) as store:
            yield store

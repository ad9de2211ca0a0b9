"""A store of one's own: `shelf://NAME` is an index in the folder that the variable SHELF names."""

import os
from pathlib import Path

import workbench as wb
from workbench.errors import InputError
from workbench.memory.addresses import StoreKind
from workbench.memory.store.sqlite.location import SQLiteLocation


class ShelfLocation(SQLiteLocation):
    def __init__(self, address):
        self.address = address
        if not os.environ.get("SHELF"):
            raise InputError(f"There is no shelf for {address}.", "Set it: export SHELF=FOLDER")
        super().__init__(Path(os.environ["SHELF"]) / f"{address.removeprefix('shelf://')}.sqlite")

    @property
    def name(self):
        return self.address


wb.register(StoreKind("shelf", ShelfLocation))

"""An index file's table meta of keys and values, and the settings that it names."""

from __future__ import annotations

import json
from dataclasses import astuple
from pathlib import Path

from workbench.errors import InputError
from workbench.memory.store.described import Described
from workbench.memory.store.errors import DamagedError
from workbench.memory.store.sqlite.database import Database
from workbench.memory.store.sqlite.soundness import damaged
from workbench.memory.store.values import Settings

LARGEST_DIMENSIONS = 8192
"""The longest vector that vec0 stores."""


def check_dimensions(settings: Settings) -> None:
    """Raises InputError for vectors of a length that sqlite-vec cannot store."""
    if not 1 <= settings.dimensions <= LARGEST_DIMENSIONS:
        raise InputError(
            f"The model {settings.model} has vectors of {settings.dimensions:,} dimensions; an index stores "
            f"1 to {LARGEST_DIMENSIONS:,}.",
            "Use another model, or ask a provider's model for fewer: PROVIDER/MODEL@1024",
        )


def settings_in(text: object, path: Path) -> Settings:
    """The settings that an index file names. Raises DamagedError for a text that is none."""
    try:
        made_with = Settings(**json.loads(str(text)))
    except (ValueError, TypeError, RecursionError):
        raise damaged(path, "it does not say how it was made") from None
    if list(map(type, astuple(made_with))) != [str, str, int, str]:
        raise damaged(path, "it does not say how it was made")
    check_dimensions(made_with)
    return made_with


class DescribedDatabase(Database, Described):
    """A database file that says of itself what it is."""

    def damaged(self, problem: str) -> DamagedError:
        return damaged(self.path, problem)

    @property
    def settings(self) -> Settings:
        """What the index was made with."""
        return settings_in(self.meta("settings"), self.path)

    def meta(self, key: str) -> str:
        found = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
        return "" if found is None else str(found)

    def set_meta(self, key: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

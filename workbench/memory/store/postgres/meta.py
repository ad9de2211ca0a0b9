"""The table meta of an index in PostgreSQL: keys and values, with the index's settings."""

from __future__ import annotations

import json

from workbench.memory.store.described import Described
from workbench.memory.store.errors import DamagedError
from workbench.memory.store.postgres.database import Session
from workbench.memory.store.values import Settings


class DescribedSession(Session, Described):
    """A session on a schema that says of itself what it is."""

    @property
    def name(self) -> str:
        return self.address.name

    def meta(self, key: str) -> str:
        row = self.execute("SELECT value FROM meta WHERE key = %s", (key,)).fetchone()
        return str(row[0]) if row else ""

    def set_meta(self, key: str, value: str) -> None:
        self.execute(
            "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, value),
        )

    @property
    def settings(self) -> Settings:
        try:
            return Settings(**json.loads(self.meta("settings")))
        except (ValueError, TypeError):
            raise self.damaged("it does not say how it was made") from None

    def damaged(self, problem: str) -> DamagedError:
        return DamagedError(
            f"The index {self.name} is damaged: {problem}.",
            f"Build it again: workbench index FOLDER --store '{self.name}' --rebuild",
        )

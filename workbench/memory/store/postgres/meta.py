"""What an index in PostgreSQL says of itself: its generation, its settings, and how the folder was read."""

from __future__ import annotations

import json
from dataclasses import asdict

from workbench.errors import InputError
from workbench.memory.paths import GENERAL, FileRules
from workbench.memory.store.errors import DamagedError
from workbench.memory.store.postgres.database import Session
from workbench.memory.store.values import Settings


class DescribedSession(Session):
    """A session on a schema with a table meta of keys and values."""

    @property
    def name(self) -> str:
        return self.address.name

    def meta(self, key: str) -> str:
        """One value of the table meta; empty when it has none."""
        row = self.execute("SELECT value FROM meta WHERE key = %s", (key,)).fetchone()
        return str(row[0]) if row else ""

    def set_meta(self, key: str, value: str) -> None:
        """Writes one value of the table meta, inside `writing`."""
        self.execute(
            "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, value),
        )

    @property
    def settings(self) -> Settings:
        try:
            return Settings(**json.loads(self.meta("settings")))
        except (ValueError, TypeError):
            raise self._damaged("it does not say how it was made") from None

    def _damaged(self, problem: str) -> DamagedError:
        return DamagedError(
            f"The index {self.name} is damaged: {problem}.",
            f"Build it again: workbench index FOLDER --store '{self.name}' --rebuild",
        )

    @property
    def generation(self) -> int:
        text = self.meta("generation")
        if not text.isdecimal():
            raise self._damaged("it has no generation")
        return int(text)

    @property
    def folder(self) -> str:
        return self.meta("folder")

    @property
    def file_rules(self) -> FileRules:
        try:
            known = json.loads(self.meta("file_rules") or "{}")
            return FileRules(**{**known, "heads": tuple(known["heads"])}) if known else GENERAL
        except (InputError, ValueError, TypeError, KeyError):
            raise self._damaged("it does not say which files it has") from None

    @property
    def ties_by_row(self) -> bool:
        """Whether hits with equal numbers come in the order in which they were stored, not of their ids."""
        return self.meta("ties_by_row") == "yes"

    def describe(
        self, folder: str | None = None, file_rules: FileRules | None = None, ties_by_row: bool | None = None
    ) -> None:
        wanted = {
            "folder": folder,
            "file_rules": None if file_rules is None else json.dumps(asdict(file_rules)),
            "ties_by_row": None if ties_by_row is None else ("yes" if ties_by_row else ""),
        }
        with self.writing():
            for key, value in wanted.items():
                if value is not None and value != self.meta(key):
                    self.set_meta(key, value)

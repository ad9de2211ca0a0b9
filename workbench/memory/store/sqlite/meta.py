"""What an index says of itself in its table meta: its generation, and how the folder was read."""

from __future__ import annotations

import json
from dataclasses import asdict, astuple
from pathlib import Path

from workbench.errors import InputError
from workbench.memory.paths import GENERAL, FileRules
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


class DescribedDatabase(Database):
    """A database file with a table meta of keys and values."""

    def _damaged(self, problem: str) -> DamagedError:
        return damaged(self.path, problem)

    @property
    def settings(self) -> Settings:
        """What the index was made with."""
        return settings_in(self.meta("settings"), self.path)

    @property
    def generation(self) -> int:
        """A number that grows with every change."""
        text = self.meta("generation")
        if not text.isdecimal() or len(text) > 30:
            raise damaged(self.path, "it has no generation")
        return int(text)

    @property
    def folder(self) -> str:
        """The memory's folder, empty in an index that does not say."""
        return self.meta("folder")

    @folder.setter
    def folder(self, folder: str) -> None:
        with self.writing():
            self.set_meta("folder", folder)

    @property
    def file_rules(self) -> FileRules:
        """Which files of the folder are indexed."""
        try:
            known = json.loads(self.meta("file_rules", "{}"))
            return FileRules(**{**known, "heads": tuple(known["heads"])}) if known else GENERAL
        except (InputError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise damaged(self.path, "it does not say which files it has") from None

    @file_rules.setter
    def file_rules(self, rules: FileRules) -> None:
        if rules != self.file_rules:
            with self.writing():
                self.set_meta("file_rules", json.dumps(asdict(rules)))

    @property
    def ties_by_row(self) -> bool:
        """Whether hits with equal numbers come in the order in which they were stored, not of their ids."""
        return self.meta("ties_by_row") == "yes"

    @ties_by_row.setter
    def ties_by_row(self, on: bool) -> None:
        if on != self.ties_by_row:
            with self.writing():
                self.set_meta("ties_by_row", "yes" if on else "")

    def describe(
        self, folder: str | None = None, file_rules: FileRules | None = None, ties_by_row: bool | None = None
    ) -> None:
        """Keeps how the folder was read; None leaves a value as it is."""
        if folder is not None and folder != self.folder:
            self.folder = folder
        if file_rules is not None:
            self.file_rules = file_rules
        if ties_by_row is not None:
            self.ties_by_row = ties_by_row

    def meta(self, key: str, absent: str = "") -> str:
        """One value of the table meta."""
        found = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
        return absent if found is None else str(found)

    def set_meta(self, key: str, value: str) -> None:
        """Writes one value of the table meta, within `writing`."""
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

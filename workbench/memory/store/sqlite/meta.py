"""What an index says of itself in its table meta: its generation, and how the folder was read."""

from __future__ import annotations

import json
from dataclasses import asdict

from workbench.errors import InputError
from workbench.memory.paths import GENERAL, FileRules
from workbench.memory.store.sqlite.database import Database
from workbench.memory.store.sqlite.soundness import damaged


class DescribedDatabase(Database):
    """A database file with a table meta of keys and values."""

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

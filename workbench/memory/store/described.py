"""What an index says of itself in a table of keys and values: its generation, and how the folder was read."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import asdict

from workbench.errors import InputError
from workbench.memory.paths import GENERAL, FileRules
from workbench.memory.store.errors import DamagedError


class Described(ABC):
    """A store with a table meta of keys and values. Raises DamagedError for values that cannot be read."""

    @abstractmethod
    def meta(self, key: str) -> str:
        """One value of the table meta; empty when it has none."""

    @abstractmethod
    def set_meta(self, key: str, value: str) -> None:
        """Writes one value of the table meta, within `writing`."""

    @abstractmethod
    def damaged(self, problem: str) -> DamagedError:
        """The error for a store with other contents than the workbench writes."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[None]:
        """A transaction."""

    @property
    def generation(self) -> int:
        """A number that grows with every change."""
        text = self.meta("generation")
        if not text.isdecimal() or len(text) > 30:
            raise self.damaged("it has no generation")
        return int(text)

    @property
    def folder(self) -> str:
        """The memory's folder, empty in an index that does not say."""
        return self.meta("folder")

    @property
    def file_rules(self) -> FileRules:
        """Which files of the folder are indexed."""
        try:
            known = json.loads(self.meta("file_rules") or "{}")
            return FileRules(**{**known, "heads": tuple(known["heads"])}) if known else GENERAL
        except (InputError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise self.damaged("it does not say which files it has") from None

    @property
    def ties_by_row(self) -> bool:
        """Whether hits with equal numbers come in the order in which they were stored, not of their ids."""
        return self.meta("ties_by_row") == "yes"

    def describe(
        self, folder: str | None = None, file_rules: FileRules | None = None, ties_by_row: bool | None = None
    ) -> None:
        """Keeps how the folder was read; None leaves a value as it is."""
        wanted = {
            "folder": folder,
            "file_rules": None if file_rules is None else json.dumps(asdict(file_rules)),
            "ties_by_row": None if ties_by_row is None else ("yes" if ties_by_row else ""),
        }
        known = {
            "folder": self.folder,
            "file_rules": json.dumps(asdict(self.file_rules)),
            "ties_by_row": self.meta("ties_by_row"),
        }
        changed = {key: value for key, value in wanted.items() if value is not None and value != known[key]}
        if changed:
            with self.writing():
                for key, value in changed.items():
                    self.set_meta(key, value)

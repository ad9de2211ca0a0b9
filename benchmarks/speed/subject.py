"""What is timed: a system that indexes given texts and vectors, and answers questions about them."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.speed.corpus import Asked, Corpus
from workbench.errors import InputError, install_extra

DEPTH = 24
"""How many chunks an answer has, or a leg of a hybrid search."""

Ask = Callable[[Asked], object]
REMEDY = install_extra("bench")


class Subject(ABC):
    """One system. `needs` are the modules that it imports, `largest` the most chunks it is asked to index.

    `why_largest` gives the reason for this limit.
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = "bench"
    """The extra of this package that installs them."""
    largest: ClassVar[int] = 10**9
    why_largest: ClassVar[str] = ""
    keeps_texts: ClassVar[bool] = True
    """Whether its index on disk holds the texts."""
    reopens: ClassVar[bool] = True
    """Whether it keeps an index on disk that a new process can open."""

    @classmethod
    def lacking(cls) -> tuple[str, ...]:
        """The modules that are not installed."""
        return tuple(name for name in cls.needs if find_spec(name) is None)

    @abstractmethod
    def build(self, corpus: Corpus, folder: Path) -> None:
        """Indexes the texts with their vectors in an empty folder, and is then ready to answer."""

    def open(self, folder: Path) -> None:
        """Opens what `build` has left in the folder, in another process."""
        raise NotImplementedError(f"{self.name} keeps nothing on disk")

    @property
    @abstractmethod
    def asks(self) -> Mapping[str, Ask]:
        """The ways to ask, by kind of search: hybrid, keyword, vector …"""

    def served_seconds(self) -> float:
        """The processor time so far of another process that answers for this one."""
        return 0.0

    def close(self) -> None:
        """Frees what is open; may be called twice."""
        return


def library(name: str) -> Any:
    """The module of that name. Raises InputError, with the remedy, if it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise InputError(f"{error.name} is not installed.", REMEDY) from None

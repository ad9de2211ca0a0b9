"""Forms of records: how the lists of a recorded system are read, and how its questions are asked again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from workbench.contracts import Index


class Unreadable(Exception):  # noqa: N818
    """A record, or a part of one, that cannot be replayed."""


@dataclass(frozen=True)
class Row:
    """One result: where it is, its score, and a digest of its snippet where the record has one."""

    location: str
    score: float
    snippet: str = ""


Rows = Sequence[Row] | None
"""A list of results, best first; None where the question is refused."""


@dataclass(frozen=True)
class Asked:
    """A question to a workspace with the arguments of the call, and the rows that the system returned."""

    workspace: str
    arguments: str
    question: str
    rows: Rows


Answer = Callable[[Asked], Rows]
"""Our own rows for a question."""


class Form(Protocol):
    """One form of record."""

    def fits(self, record: Mapping[str, Any]) -> bool:
        """Whether a record has this form."""

    def lists(self, results: Mapping[str, Any], folders: Mapping[str, Path]) -> list[Asked]:
        """The lists of the workspaces that have a folder. Raises Unreadable for a name that is not there."""

    def opened(
        self, record: Mapping[str, Any], system: str, folder: Path, scratch: Path, today: str
    ) -> AbstractContextManager[Answer]:
        """A workspace's folder, indexed into `scratch` and ready to be asked."""

    def answering(self, record: Mapping[str, Any], system: str, index: Index, today: str = "") -> Answer:
        """What answers from an index that is there already."""


def form_of(record: Mapping[str, Any]) -> Form:
    """The form of a record. Raises Unreadable for an unknown one."""
    from tests.replaying.basic_memory import BasicMemoryForm
    from tests.replaying.openclaw import OpenClawForm
    from tests.replaying.qmd import QmdForm

    forms: Sequence[Form] = (BasicMemoryForm(), QmdForm(), OpenClawForm())
    for form in forms:
        if form.fits(record):
            return form
    raise Unreadable("the record has none of the known forms")


def chosen(known: Mapping[str, Any], folders: Mapping[str, Path]) -> list[str]:
    """The names of the workspaces to be replayed. Raises Unreadable for one that the record does not have."""
    unknown = [name for name in folders if name not in known]
    if unknown:
        raise Unreadable(f"the record has no workspace {unknown[0]!r}; it has {', '.join(known)}")
    return [name for name in known if name in folders]

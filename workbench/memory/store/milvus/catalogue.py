"""What an index in Milvus says of itself: one row with its build, generation, settings and file rules.

Milvus has no transactions. Each row carries the generation that added it and the one that removed it. A
reader sees the rows of the generation that this catalogue names, so one write of this row makes a change
visible.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from workbench.errors import InputError
from workbench.memory.paths import GENERAL, FileRules
from workbench.memory.store.errors import DamagedError
from workbench.memory.store.milvus.session import MilvusSession, text
from workbench.memory.store.values import Settings

VERSION = 1
NO_VECTOR = [1.0, 0.0]
"""Each collection must have a vector; tables without one get this."""


@dataclass(frozen=True)
class State:
    """The state of an index; `build` is a part of the names of its collections."""

    build: str
    generation: int
    next_row: int
    settings: Settings
    folder: str = ""
    file_rules: FileRules = GENERAL
    ties_by_row: bool = False

    def changed(self, **values: Any) -> State:
        """This state with other values."""
        return replace(self, **values)


def collection(session: MilvusSession) -> str:
    """The name of the catalogue's collection."""
    return f"{session.address.prefix}_catalogue"


def read(session: MilvusSession) -> State | None:
    """The state of the index; None if there is no index. Raises InputError for one of another version."""
    if not session.has(collection(session)):
        return None
    found = session.rows(collection(session), "id == 1", ["value"])
    if not found:
        return None
    try:
        known = json.loads(found[0]["value"])
        if known["version"] != VERSION:
            raise InputError(
                f"The index {session.name} has version {known['version']}; this workbench reads {VERSION}.",
                "Build it again with --rebuild.",
            )
        rules = known["file_rules"]
        return State(
            str(known["build"]),
            int(known["generation"]),
            int(known["next_row"]),
            Settings(**known["settings"]),
            str(known["folder"]),
            FileRules(**{**rules, "heads": tuple(rules["heads"])}),
            bool(known["ties_by_row"]),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise DamagedError(
            f"The index {session.name} is damaged: its catalogue has {error!r:.80}.",
            "Build it again with --rebuild.",
        ) from None


def write(session: MilvusSession, state: State) -> None:
    """Makes a state the visible one, with one write."""
    if not session.has(collection(session)):
        session.make(collection(session), {"value": text()}, dense=len(NO_VECTOR))
    value = json.dumps({"version": VERSION, **asdict(state)})
    session.put(collection(session), [{"id": 1, "value": value, "dense": NO_VECTOR}])

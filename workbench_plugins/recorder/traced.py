"""A case of a retrieval that was traced: the lists of its two legs, and the answer that they gave."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence

from workbench.errors import InputError
from workbench_plugins.cases.model import Case
from workbench_plugins.recorder.cases import case_of
from workbench_plugins.recorder.recording import record
from workbench_plugins.runs.traces import Retrieval, TracedRuns

OF_WORDS = re.compile(r"bm25|keyword|lexical|sparse|full.?text|fts|tf.?idf|elastic|match", re.IGNORECASE)
"""Names of retrievers that look for words."""


def case_of_row(found: TracedRuns, number: int, target: str, keyword: str = "") -> Case:
    """The case of a row of `workbench runs traces`, counted from 1, that expects `target` in the answer.

    The row is a retrieval with two others inside, or one of these. `keyword` names the retriever that looks
    for words, if its name does not say so. Raises InputError for a row that is not there, one without two
    legs, a target that no leg brought, and a fusion that no system here has.
    """
    rows = [one for one, _ in found.worst]
    if not 0 < number <= len(rows):
        raise InputError(f"There is no row {number}.", f"Choose one of 1 to {len(rows)}.")
    chosen = rows[number - 1]
    whole = next((one for one in rows if one.id == chosen.parent), chosen)
    legs = _legs([one for one in rows if one.parent == whole.id and one is not whole], keyword)
    if not legs:
        raise InputError(
            f"The row {number} ({whole.name}) has no two retrievals inside that were recorded, so its fusion "
            "is not known.",
            f"Make a case of the notes: {new_case(whole.question, target)}",
        )
    lists = {name: _pairs(one) for name, one in legs.items()}
    if not any(target == id_ for pairs in lists.values() for id_, _ in pairs):
        raise InputError(
            f"No retrieval of the row {number} brought {target}, so a case of its lists cannot find it.",
            f"Make a case of the notes: {new_case(whole.question, target)}",
        )
    recording = record(whole.question, lists, _pairs(whole), engine=whole.name)
    return case_of(recording, target)


def new_case(question: str, target: str = "FILE") -> str:
    """The command that makes a case of a folder of notes."""
    asked = shlex.quote(" ".join(question.split()))
    return f"workbench case new {asked} --target {shlex.quote(target)} -m FOLDER"


def _legs(inside: Sequence[Retrieval], keyword: str) -> dict[str, Retrieval]:
    """The retrievals by leg; none if there are not two. Raises InputError if no name says which is which."""
    retrievers = [one for one in inside if one.kind == "retriever"]
    if len(retrievers) != 2:
        return {}
    words = [one for one in retrievers if (one.name == keyword if keyword else OF_WORDS.search(one.name))]
    if len(words) != 1:
        names = " and ".join(one.name for one in retrievers)
        raise InputError(
            f"The names {names} do not say which of the two looks for words.",
            "Name it: --keyword NAME",
        )
    vector = next(one for one in retrievers if one is not words[0])
    return {"vector": vector, "keyword": words[0]}


def _pairs(one: Retrieval) -> list[tuple[str, float | None]]:
    return [(id_, None if math.isnan(score) else score) for id_, score in one.results]

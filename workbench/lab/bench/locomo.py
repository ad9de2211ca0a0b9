"""Read LoCoMo's conversations as documents, turns and questions, and apply the corrections of its audit.

The data are licensed CC BY-NC 4.0 and are not part of this project: you give their path. The file comes from
snap-research/locomo (`data/locomo10.json`, or a part of it), the corrections from dial481/locomo-audit
(`audit/errors_*.json`, or several of them joined in one list).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.errors import InputError
from workbench.memory.chunking import whole_characters
from workbench.memory.files import read_input

SESSION = re.compile(r"session_(\d+)$")
EVIDENCE = re.compile(r"^D(\d+):")
TURN = re.compile(r"D\d+:\d+")


@dataclass(frozen=True)
class Turn:
    """One utterance of one speaker; `id` is unique over all conversations."""

    id: str
    conversation: int
    session: int
    speaker: str
    text: str

    @property
    def bullet(self) -> str:
        """The turn as a line of its session's document."""
        return f"- **{self.speaker}:** {self.text}"


@dataclass(frozen=True)
class SessionDocument:
    """One session of a conversation as a Markdown document."""

    id: str
    title: str
    body: str
    conversation: int
    session: int


@dataclass(frozen=True)
class LocomoQuestion:
    """A question with the ids of the turns and of the documents that answer it.

    `category` is LoCoMo's number. Projects name the categories differently, and the common names are wrong.
    """

    text: str
    category: int
    conversation: int
    turns: frozenset[str]
    documents: frozenset[str]
    answer: str


@dataclass(frozen=True)
class Locomo:
    """The conversations of one file, in its order."""

    documents: tuple[SessionDocument, ...]
    turns: tuple[Turn, ...]
    questions: tuple[LocomoQuestion, ...]
    corrected: int


def load(path: str | os.PathLike[str], corrections: str | os.PathLike[str] | None = None) -> Locomo:
    """Read the documents, turns and questions of a LoCoMo file.

    A correction that lists evidence replaces the evidence of its question. Raises InputError for a file that
    is missing or has another format, and for a correction whose text differs from its question: an edited
    copy of the data is in circulation.
    """
    conversations = _read(path)
    fixes = _corrections(corrections) if corrections else {}
    documents: list[SessionDocument] = []
    turns: list[Turn] = []
    questions: list[LocomoQuestion] = []
    corrected = 0
    try:
        for number, sample in enumerate(conversations):
            sessions = list(_sessions(number, sample["conversation"]))
            documents += [document for document, _ in sessions]
            turns += [turn for _, some in sessions for turn in some]
            for place, row in enumerate(sample["qa"]):
                fix = fixes.pop(f"locomo_{number}_qa{place}", None)
                corrected += fix is not None
                questions.append(_question(number, row, fix))
    except MALFORMED as error:
        raise InputError(f"{path} is not a LoCoMo file: {error!r}.", FORM) from None
    if fixes:
        raise InputError(
            f"{corrections} corrects {next(iter(fixes))}, which is not in {path}.",
            "Use the corrections that belong to this file.",
        )
    return Locomo(tuple(documents), tuple(turns), tuple(questions), corrected)


FORM = "Use a file with the format of snap-research/locomo's data/locomo10.json."
MALFORMED = (KeyError, TypeError, AttributeError, ValueError, OverflowError)
LARGEST_FILE = 50_000_000
"""Bytes; the published file has 3 MB."""


def _corrections(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        return {_string(one, "question_id"): one for one in _read(path)}
    except MALFORMED as error:
        raise InputError(
            f"{path} is not a file of corrections: {error!r}.",
            "Give a file of the form of dial481/locomo-audit's audit/errors_*.json.",
        ) from None


def _string(row: Mapping[str, Any], key: str) -> str:
    value = row[key]
    if not isinstance(value, str):
        raise TypeError(f"{key} is {value!r:.40}, not text")
    return whole_characters(value)


def _read(path: str | os.PathLike[str]) -> list[Any]:
    text = read_input(path, "The file", LARGEST_FILE)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not valid JSON: {error}.", FORM) from None
    if not isinstance(data, list):
        raise InputError(f"{path} does not contain a list.", FORM)
    return data


def _sessions(number: int, conversation: Mapping[str, Any]) -> Iterator[tuple[SessionDocument, list[Turn]]]:
    found = (SESSION.match(key) for key in conversation)
    for session in sorted(int(match[1]) for match in found if match):
        rows = conversation[f"session_{session}"]
        turns = [
            Turn(
                f"c{number:02}-{_string(row, 'dia_id')}",
                number,
                session,
                _string(row, "speaker"),
                _string(row, "text"),
            )
            for row in rows
            if row.get("text", "").strip()
        ]
        yield _document(number, session, _string(conversation, f"session_{session}_date_time"), turns), turns


def _document(number: int, session: int, date: str, turns: Sequence[Turn]) -> SessionDocument:
    id_ = f"locomo-c{number:02}-s{session:02}"
    lines = [f"# Chat session at {date}", "", "## Conversation", "", *(turn.bullet for turn in turns)]
    return SessionDocument(id_, f"{id_} ({date})", "\n".join(lines) + "\n", number, session)


def _question(number: int, row: Mapping[str, Any], fix: Mapping[str, Any] | None) -> LocomoQuestion:
    evidence = list(row.get("evidence") or [])
    if fix is not None:
        if fix["question"] != row["question"]:
            raise InputError(
                f"The correction {fix['question_id']} is for {fix['question']!r}, not {row['question']!r}.",
                "Use the original data: an edited copy has other question numbers.",
            )
        evidence = list(fix.get("correct_evidence") or []) or evidence
    return LocomoQuestion(
        _string(row, "question"),
        int(row["category"]),
        number,
        frozenset(f"c{number:02}-{id_}" for text in evidence for id_ in TURN.findall(text)),
        frozenset(f"locomo-c{number:02}-s{session:02}" for session in evidence_sessions(evidence)),
        str(row.get("answer", row.get("adversarial_answer", ""))),
    )


def evidence_sessions(evidence: Sequence[str]) -> list[int]:
    """The sessions named by evidence strings, without duplicates: the first id of each string counts.

    >>> evidence_sessions(["D1:12", "D9:1 D4:4", "D1:3"])
    [1, 9]
    """
    found = (EVIDENCE.match(text) for text in evidence)
    return list(dict.fromkeys(int(match[1]) for match in found if match))

"""Reads test collections in their own formats, and writes them as a BEIR folder for other engines and tools.

The forms: BEIR, TREC, LongMemEval, LoCoMo, or a folder with labelled questions. The data are not part of this
project: you give their path. LoCoMo (CC BY-NC 4.0) comes from snap-research/locomo (`data/locomo10.json`, or
a part of it), the corrections of its audit from dial481/locomo-audit (`audit/errors_*.json`, or several of
them joined in one list).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.memory.sources import whole_characters
from workbench_plugins.runs.run_files import json_document, pairs, read_qrels, text_lines

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
            for document, some in _sessions(number, sample["conversation"]):
                documents.append(document)
                turns += some
            for nth, row in enumerate(sample["qa"]):
                fix = fixes.pop(f"locomo_{number}_qa{nth}", None)
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
LARGEST_LOCOMO = 50_000_000
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
    data = json_document(path, "The file", LARGEST_LOCOMO, FORM)
    if not isinstance(data, list):
        raise InputError(f"{path} does not contain a list.", FORM)
    return data


def _sessions(number: int, conversation: Mapping[str, Any]) -> Iterator[tuple[SessionDocument, list[Turn]]]:
    found = (SESSION.match(key) for key in conversation)
    for session in sorted(int(match[1]) for match in found if match):
        rows = conversation[f"session_{session}"]
        turns = [
            Turn(f"c{number:02}-{id_}", number, session, speaker, text)
            for row in rows
            if row.get("text", "").strip()
            for id_, speaker, text in [[_string(row, key) for key in ("dia_id", "speaker", "text")]]
        ]
        date, id_ = (
            _string(conversation, f"session_{session}_date_time"),
            f"locomo-c{number:02}-s{session:02}",
        )
        told = [f"# Chat session at {date}", "", "## Conversation", "", *(turn.bullet for turn in turns), ""]
        yield SessionDocument(id_, f"{id_} ({date})", "\n".join(told), number, session), turns


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


LARGEST_FILE = 2_000_000_000
"""Bytes."""


@dataclass(frozen=True)
class Text:
    """A document: its id, its Markdown text, and the group that it belongs to, such as a conversation."""

    id: str
    text: str
    group: str = ""


@dataclass(frozen=True)
class BenchQuestion:
    """A question, the ids of the documents that answer it, its kind, and the group that it is about."""

    id: str
    text: str
    truth: frozenset[str]
    kind: str = ""
    group: str = ""


@dataclass(frozen=True)
class TestCollection:
    """Documents and questions of one benchmark; `folder` is set where the documents are a memory already."""

    __test__ = False

    name: str
    documents: tuple[Text, ...]
    questions: tuple[BenchQuestion, ...]
    folder: Path | None = None

    def __post_init__(self) -> None:
        if not self.questions:
            raise InputError(f"{self.name} has no question with an answer.", "Give a collection with labels.")


def of_locomo(data: Locomo, name: str) -> TestCollection:
    """LoCoMo with one document a session; a group is a conversation."""
    documents = tuple(Text(one.id, one.body, str(one.conversation)) for one in data.documents)
    questions = tuple(
        BenchQuestion(f"q{number}", one.text, one.documents, str(one.category), str(one.conversation))
        for number, one in enumerate(data.questions)
    )
    return TestCollection(name, documents, questions)


def beir(path: Path) -> TestCollection:
    """A collection of BEIR's form: corpus.jsonl, queries.jsonl and qrels/test.tsv."""
    documents = tuple(
        Text(_text(row, "_id"), f"# {title}\n\n{body}" if (title := _optional(row, "title")) else body)
        for row in _lines_of_json(path / "corpus.jsonl")
        if (body := _text(row, "text")) is not None
    )
    truth = _truth(path / "qrels" / "test.tsv")
    questions = tuple(
        BenchQuestion(id_, _text(row, "text"), truth[id_])
        for row in _lines_of_json(path / "queries.jsonl")
        if (id_ := _text(row, "_id")) in truth
    )
    return TestCollection(path.name, documents, questions)


def trec(path: Path) -> TestCollection:
    """A folder with collection.tsv (id, text), queries.tsv (id, text) and TREC's qrels.txt."""
    documents = tuple(Text(id_, text) for id_, text in pairs(path / "collection.tsv"))
    truth = _truth(path / "qrels.txt")
    questions = tuple(
        BenchQuestion(id_, text, truth[id_]) for id_, text in pairs(path / "queries.tsv") if id_ in truth
    )
    return TestCollection(path.name, documents, questions)


LONGMEMEVAL = "Use a file such as longmemeval_s.json."


def longmemeval(path: Path) -> TestCollection:
    """LongMemEval's JSON, with one document a session and all sessions pooled; a group is a question."""
    rows = json_document(path, "The file", LARGEST_FILE, LONGMEMEVAL)
    try:
        sessions = {
            id_: Text(id_, _conversation(turns, date))
            for row in rows
            for id_, turns, date in zip(
                row["haystack_session_ids"], row["haystack_sessions"], row["haystack_dates"], strict=True
            )
        }
        questions = tuple(
            BenchQuestion(
                id=_text(row, "question_id"),
                text=_text(row, "question"),
                truth=frozenset(row["answer_session_ids"]),
                kind=_optional(row, "question_type"),
            )
            for row in rows
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not a LongMemEval file: {error!r}.", LONGMEMEVAL) from None
    return TestCollection(path.stem, tuple(sessions.values()), questions)


def _conversation(turns: Sequence[Mapping[str, Any]], date: str) -> str:
    lines = [f"- **{_text(turn, 'role').title()}:** {_text(turn, 'content')}" for turn in turns]
    return "\n".join([f"# Chat session at {date}", "", *lines, ""])


def _truth(path: Path) -> dict[str, frozenset[str]]:
    """The documents that answer each question: those that are judged above 0."""
    right = {
        question: frozenset(document for document, grade in grades.items() if grade > 0)
        for question, grades in read_qrels(path).items()
    }
    return {question: documents for question, documents in right.items() if documents}


def _lines_of_json(path: Path) -> Iterator[Mapping[str, Any]]:
    for number, line in text_lines(path):
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError("no object")
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{path}, line {number} is not a JSON object: {error}.", "Use a file of BEIR's form."
            ) from None
        yield row


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str):
        raise InputError(f"{key} is {value!r:.40}, not text.", "Use a file of the collection's own form.")
    return whole_characters(value)


def _optional(row: Mapping[str, Any], key: str) -> str:
    return _text(row, key) if row.get(key) else ""


def locomo(path: Path) -> TestCollection:
    """LoCoMo's JSON file, with one document a session; a group is a conversation."""
    return of_locomo(load(path), path.stem)


FORMS = {"beir": beir, "trec": trec, "longmemeval": longmemeval, "locomo": locomo}


def read_collection(path: Path, form: str) -> TestCollection:
    """The collection in a file or folder of one of FORMS. Raises InputError for an unknown form."""
    if form not in FORMS:
        raise InputError(f"There is no form {form!r}.", f"Use one of {', '.join(FORMS)}.")
    return FORMS[form](path)


def write_beir(collection: TestCollection, folder: str | os.PathLike[str]) -> None:
    """Writes corpus.jsonl, queries.jsonl and qrels/test.tsv into a new or an empty folder.

    Raises InputError for a folder that holds something, and for one that cannot be written.
    """
    root = Path(folder)
    try:
        root.mkdir(parents=True, exist_ok=True)
        if any(root.iterdir()):
            raise InputError(f"The folder {root} is not empty.", "Give a new folder.")
        for name, some in (("corpus", collection.documents), ("queries", collection.questions)):
            with (root / f"{name}.jsonl").open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(json.dumps({"_id": one.id, "text": one.text}) + "\n" for one in some)
        (root / "qrels").mkdir()
        rows = [f"{one.id}\t{id_}\t1\n" for one in collection.questions for id_ in sorted(one.truth)]
        text = "".join(["query-id\tcorpus-id\tscore\n", *rows])
        (root / "qrels" / "test.tsv").write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{root} cannot be written: {error.strerror}.", "Check the path.") from None

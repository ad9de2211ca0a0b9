"""Reads test collections in their own formats: documents, questions, and the documents that answer.

BEIR, TREC, LongMemEval, or a folder with labelled questions. The data are not part of this project: you give
their path.
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
from workbench.lab.bench.locomo import Locomo
from workbench.lab.questions import load_questions
from workbench.memory.chunking import whole_characters
from workbench.memory.files import read_input

LARGEST_FILE = 2_000_000_000
"""Bytes."""
UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


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
        BenchQuestion(f"q{place}", one.text, one.documents, str(one.category), str(one.conversation))
        for place, one in enumerate(data.questions)
    )
    return TestCollection(name, documents, questions)


def folder(path: Path, questions: Path | None = None) -> TestCollection:
    """A memory's folder with labelled questions, by default its own questions.yaml."""
    asked = load_questions(questions or path / "questions.yaml").questions
    missing = next((one.target for one in asked if not (path / one.target).is_file()), None)
    if missing is not None:
        raise InputError(f"The target {missing} is not a file in {path}.", "Correct it, or name its folder.")
    found = tuple(
        BenchQuestion(f"q{place}", one.question, frozenset([one.target]), one.kind)
        for place, one in enumerate(asked)
    )
    return TestCollection(path.name, (), found, path)


def beir(path: Path) -> TestCollection:
    """A collection of BEIR's form: corpus.jsonl, queries.jsonl and qrels/test.tsv."""
    documents = tuple(
        Text(_text(row, "_id"), f"# {title}\n\n{body}" if (title := _optional(row, "title")) else body)
        for row in _lines_of_json(path / "corpus.jsonl")
        if (body := _text(row, "text")) is not None
    )
    qrels = _qrels(path / "qrels" / "test.tsv", columns=3)
    questions = tuple(
        BenchQuestion(id_, _text(row, "text"), frozenset(qrels[id_]))
        for row in _lines_of_json(path / "queries.jsonl")
        if (id_ := _text(row, "_id")) in qrels
    )
    return TestCollection(path.name, documents, questions)


def trec(path: Path) -> TestCollection:
    """A folder with collection.tsv (id, text), queries.tsv (id, text) and TREC's qrels.txt."""
    documents = tuple(Text(id_, text) for id_, text in _pairs(path / "collection.tsv"))
    qrels = _qrels(path / "qrels.txt", columns=4)
    questions = tuple(
        BenchQuestion(id_, text, frozenset(qrels[id_]))
        for id_, text in _pairs(path / "queries.tsv")
        if id_ in qrels
    )
    return TestCollection(path.name, documents, questions)


def longmemeval(path: Path) -> TestCollection:
    """LongMemEval's JSON, with one document a session and all sessions pooled; a group is a question."""
    try:
        rows = json.loads(read_input(path, "The file", LARGEST_FILE))
        sessions = {
            id_: Text(id_, _conversation(turns, date))
            for row in rows
            for id_, turns, date in zip(
                row["haystack_session_ids"], row["haystack_sessions"], row["haystack_dates"], strict=True
            )
        }
        questions = tuple(
            BenchQuestion(
                _text(row, "question_id"), _text(row, "question"), frozenset(row["answer_session_ids"]),
                _optional(row, "question_type"),
            )
            for row in rows
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path} is not a LongMemEval file: {error!r}.", "Use a file such as longmemeval_s.json."
        ) from None
    return TestCollection(path.stem, tuple(sessions.values()), questions)


def _conversation(turns: Sequence[Mapping[str, Any]], date: str) -> str:
    lines = [f"- **{_text(turn, 'role').title()}:** {_text(turn, 'content')}" for turn in turns]
    return "\n".join([f"# Chat session at {date}", "", *lines, ""])


def file_name(id_: str) -> str:
    """A file name for a document's id, which may hold anything."""
    return f"{UNSAFE.sub('_', id_)[:80]}.md"


def _qrels(path: Path, columns: int) -> dict[str, list[str]]:
    """The documents that answer each question: those that are judged above 0."""
    found: dict[str, list[str]] = {}
    for number, parts in _rows(path):
        if len(parts) < columns or not _is_number(parts[-1]):
            if number == 1 and columns == 3:
                continue  # BEIR's files have a heading
            raise InputError(
                f"{path}, line {number}: {' '.join(parts)!r:.60} is no judgement.",
                "Give the question, the document and the relevance"
                + (", as TREC does: qid 0 docid 1." if columns == 4 else "."),
            )
        if float(parts[-1]) > 0:
            found.setdefault(parts[0], []).append(parts[-2])
    return found


def _pairs(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(_text_of(path).splitlines(), 1):
        id_, tab, text = line.partition("\t")
        if line and not tab:
            raise InputError(
                f"{path}, line {number} has no tab.", "Give an id, a tab, and a text in each line."
            )
        if line:
            yield id_, text


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(_text_of(path).splitlines(), 1):
        if line.strip():
            yield number, line.split()


def _lines_of_json(path: Path) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(_text_of(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError("no object")
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{path}, line {number} is not a JSON object: {error}.", "Use a file of BEIR's form."
            ) from None
        yield row


def _text_of(path: str | os.PathLike[str]) -> str:
    return whole_characters(read_input(path, "The file", LARGEST_FILE))


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str):
        raise InputError(f"{key} is {value!r:.40}, not text.", "Use a file of the collection's own form.")
    return whole_characters(value)


def _optional(row: Mapping[str, Any], key: str) -> str:
    return _text(row, key) if row.get(key) else ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

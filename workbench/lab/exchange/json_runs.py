"""Runs in JSON: one object a question, in lines or in one list; results may have an engine's own form."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.lab.exchange.engines import plain_id, result_of
from workbench.lab.exchange.runs import Collector, Run
from workbench.lab.exchange.trec import read_trec
from workbench.memory.files import read_input

LARGEST_FILE = 1_000_000_000
"""Bytes."""
TEXTS = ("question", "query", "text", "input")
NAMES = ("qid", "query_id", "question_id", "id", "_id")
LISTS = ("results", "hits", "documents", "docs", "nodes", "source_nodes", "context", "response", "output")
FORM = (
    'A line is {"question": "…", "results": [{"id": "…", "score": 0.8, "scores": {"vector": 0.7}}]}; results '
    "may have the form of OpenSearch, Elasticsearch, qmd --explain, LangChain or LlamaIndex."
)


def read_run(path: str | os.PathLike[str], name: str | None = None, id_field: str | None = None) -> Run:
    """The run in a file, whatever its form: TREC, JSON lines, or one JSON document.

    `id_field` names where the id of a JSON result stands, such as `_source.path`. Raises InputError, with the
    line, for what cannot be read.
    """
    if _starts_json(path):
        return read_json(path, name, id_field)
    if id_field is not None:
        raise InputError(f"{path} is a run of TREC's form, which has no field {id_field!r}.", "Leave it out.")
    return read_trec(path, name)


def _starts_json(path: str | os.PathLike[str]) -> bool:
    try:
        with Path(path).open("rb") as file:
            start = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    except OSError as error:
        raise InputError(f"The run {path} cannot be read: {error.strerror}.", "Check the path.") from None
    if not start:
        raise InputError(f"The run {path} is empty.", FORM)
    return start[:1] in b"[{"


def read_json(path: str | os.PathLike[str], name: str | None = None, id_field: str | None = None) -> Run:
    """The run in a file of JSON lines, or of one JSON document."""
    collected = Collector(name or Path(path).stem, file=str(path))
    for line, record in _records(path):
        try:
            _add(collected, record, line, id_field)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {line}: {error}.", FORM) from None
    return collected.run()


def _add(collected: Collector, record: Any, line: int, id_field: str | None) -> None:
    if not isinstance(record, Mapping):
        raise ValueError(f"{record!r:.60} is not an object with a question and its results")
    text = next((record[key] for key in TEXTS if isinstance(record.get(key), str)), "")
    named = next((record[key] for key in NAMES if record.get(key) is not None), None)
    if not text and named is None:
        raise ValueError("the question of these results is not named; add question or qid")
    question = plain_id(named) if named is not None else text
    collected.question(question, text, line)
    for place, value in enumerate(_results(record), 1):
        try:
            found = result_of(value, id_field)
        except ValueError as error:
            raise ValueError(f"result {place}: {error}") from None
        collected.add(question, found.id, found.score, line=line, parts=found.parts)


def _results(record: Mapping[str, Any]) -> list[Any]:
    """The list of results; Elasticsearch and OpenSearch have it at hits.hits."""
    for key in LISTS:
        inner = record.get(key)
        if isinstance(inner, list):
            return inner
        if isinstance(inner, Mapping):
            return _results(inner)
    raise ValueError(f"there is no list of results; there are {', '.join(map(str, record))}")


def _records(path: str | os.PathLike[str]) -> Iterator[tuple[int, Any]]:
    text = read_input(path, "The run", LARGEST_FILE).removeprefix("\ufeff")
    whole = _whole(text)
    if whole is not None:
        yield from ((1, record) for record in whole)
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{path}, line {number} is not JSON: {error}.", FORM) from None


def _whole(text: str) -> list[Any] | None:
    """The records of a file that is one JSON document; None for JSON lines."""
    start = text.lstrip()
    first = start.partition("\n")[0]
    if start.startswith("{"):
        try:
            json.loads(first)
            return None
        except (ValueError, RecursionError):
            pass
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else [found]


def write_json(run: Run, path: str | os.PathLike[str]) -> None:
    """Writes a run as JSON lines: every result as it was returned, with its sub-scores."""
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        for question in run.rows:
            ranking = run.ranking(question)
            results = [
                {"id": id_, "score": _or_none(score), **_scores(ranking.parts, row)}
                for row, (id_, score) in enumerate(zip(ranking.ids, ranking.scores.tolist(), strict=True))
            ]
            text = {"question": run.texts[question]} if question in run.texts else {}
            file.write(json.dumps({"qid": question, **text, "results": results}) + "\n")


def _scores(parts: Mapping[str, Any], row: int) -> dict[str, dict[str, float]]:
    there = {name: float(column[row]) for name, column in parts.items() if not math.isnan(column[row])}
    return {"scores": there} if there else {}


def _or_none(score: float) -> float | None:
    return None if math.isnan(score) else score

"""Runs in JSON: one object a question, in lines or in one list; results may have an engine's own form.

Sources of the forms: OpenSearch 3.5 documentation, hybrid search explain; Elasticsearch, RRFRankDoc.java;
tobi/qmd, README (`--explain`); LangChain's Document; LlamaIndex' NodeWithScore.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.memory.files import read_input
from workbench_plugins.runs.runs import Run
from workbench_plugins.runs.trec import read_trec

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
    collected = Run(name or Path(path).stem, file=str(path))
    for line, record in _records(path):
        try:
            _add(collected, record, line, id_field)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {line}: {error}.", FORM) from None
    return collected


def _add(collected: Run, record: Any, line: int, id_field: str | None) -> None:
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
            id_, score, parts = result_of(value, id_field)
        except ValueError as error:
            raise ValueError(f"result {place}: {error}") from None
        collected.add(question, id_, score, line=line, parts=parts)


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
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):  # not one document, so lines of JSON
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    yield number, json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise InputError(f"{path}, line {number} is not JSON: {error}.", FORM) from None
        return
    yield from ((1, record) for record in (whole if isinstance(whole, list) else [whole]))


def write_json(run: Run, path: str | os.PathLike[str]) -> None:
    """Writes a run as JSON lines: every result as it was returned, with its sub-scores."""
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        for question, rows in run.rows.items():
            results = [_result(run, row) for row in rows]
            text = {"question": run.texts[question]} if question in run.texts else {}
            file.write(json.dumps({"qid": question, **text, "results": results}) + "\n")


def _result(run: Run, row: int) -> dict[str, Any]:
    score = run.scores[row]
    found = {"id": run.ids[row], "score": None if math.isnan(score) else score}
    parts = {name: run.parts[name].get(row, math.nan) for name in sorted(run.parts)}
    scores = {name: part for name, part in parts.items() if not math.isnan(part)}
    return {**found, "scores": scores} if scores else found


# One result in the form of an engine or library: its id, its score, and its sub-scores

PATH_NAMES = ("path", "file_path", "source", "file", "file_name", "id")
"""Where metadata name a document, the best name first."""
IDS = ("id", "doc_id", "docid", "document", "path", "file", "_id")
SCORES = ("score", "relevance_score", "similarity", "_score")
RRF_RANK = re.compile(r"for rank \[(\d+)\] in query (.+?) computed")
NUMBERED = re.compile(r"at index \[(\d+)\]|^(\d+)$")


def result_of(value: Any, id_field: str | None = None) -> tuple[str, float, Mapping[str, float]]:
    """The id, the score and the sub-scores in a JSON value. `id_field` says where its id stands.

    Raises ValueError, with the reason, for a value without an id or with a score that is not a number.
    """
    if isinstance(value, str):
        return value, math.nan, {}
    if isinstance(value, Sequence) and len(value) == 2:  # LangChain's pairs, and plain (id, score)
        id_, _, parts = result_of(value[0], id_field)
        return id_, number(value[1]), parts
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r:.60} is no result")
    return _id(value, id_field), _score(value), _parts(value)


def _id(value: Mapping[str, Any], id_field: str | None) -> str:
    if id_field is not None:
        found: Any = value
        for name in id_field.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
        if found is None:
            raise ValueError(f"a result has no field {id_field!r}; it has {', '.join(map(str, value))}")
        return plain_id(found)
    node = value.get("node")
    inner: Mapping[str, Any] = node if isinstance(node, Mapping) else value
    metadata = inner.get("metadata")
    if isinstance(metadata, Mapping):
        named = next((metadata[name] for name in PATH_NAMES if metadata.get(name)), None)
        if named is not None:
            return plain_id(named)
    if "explain" in value and value.get("file"):
        return plain_id(value["file"]).removeprefix("qmd://").partition("/")[2] or plain_id(value["file"])
    found = next((inner[name] for name in (*IDS, "id_") if inner.get(name) not in (None, "")), None)
    if found is None:
        raise ValueError(f"a result has no id; it has {', '.join(map(str, value)) or 'nothing'}")
    return plain_id(found)


def plain_id(value: Any) -> str:
    """The id as text. Raises ValueError for what is neither text nor a number."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"the id {value!r:.60} is neither text nor a number")
    return str(value)


def _score(value: Mapping[str, Any]) -> float:
    metadata = value.get("metadata")
    places = (value, metadata) if isinstance(metadata, Mapping) else (value,)
    return next((number(place[name]) for place in places for name in SCORES if name in place), math.nan)


def number(value: Any) -> float:
    """A score; NaN for null. Raises ValueError for what is not a number."""
    if value is None:
        return math.nan
    if not isinstance(value, bool):
        with suppress(TypeError, ValueError, OverflowError):
            return float(value)
    raise ValueError(f"the score {value!r:.60} is not a number")


def _parts(value: Mapping[str, Any]) -> dict[str, float]:
    if isinstance(value.get("_explanation"), Mapping):
        return _explained(value["_explanation"])
    if isinstance(value.get("explain"), Mapping):
        return _qmd(value["explain"])
    named = value.get("scores")
    return {str(name): number(one) for name, one in named.items()} if isinstance(named, Mapping) else {}


def _qmd(explain: Mapping[str, Any]) -> dict[str, float]:
    """qmd's backend scores (the best of each backend), and the parts of its blend."""
    lists = {"keyword": explain.get("ftsScores"), "vector": explain.get("vectorScores")}
    parts = {name: max(map(number, some)) for name, some in lists.items() if isinstance(some, list) and some}
    rrf = explain.get("rrf")
    if isinstance(rrf, Mapping) and "totalScore" in rrf:
        parts["rrf"] = number(rrf["totalScore"])
    return parts | ({"rerank": number(explain["rerankScore"])} if "rerankScore" in explain else {})


def _explained(tree: Mapping[str, Any]) -> dict[str, float]:
    """The sub-queries of a hybrid search in Lucene's explanation: one part for each sub-query that matched.

    OpenSearch: the normalized score. Elasticsearch's RRF: the rank. Otherwise there are no parts.
    """
    if "combination of" in str(tree.get("description")):
        return {
            _leg(one, str(place)): number(one.get("value")) for place, one in enumerate(_details(tree), 1)
        }
    return {
        f"{_leg(one, match[2])}_rank": float(match[1])
        for one in _rank_details(tree)
        if (match := RRF_RANK.search(str(one.get("description"))))
    }


def _rank_details(tree: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The sub-queries of an RRF, which may stand one level deeper."""
    if "computed for initial ranks" in str(tree.get("description")):
        return _details(tree)
    return [inner for one in _details(tree) for inner in _rank_details(one)]


def _details(tree: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in tree.get("details") or [] if isinstance(one, Mapping)]


def _leg(tree: Mapping[str, Any], otherwise: str) -> str:
    """The kind of a sub-query: `keyword` for a weighted term, `vector` for nearest neighbours."""
    told = str(tree.get("details") or "")
    if "PerFieldSimilarity" in told or "weight(" in told:
        return "keyword"
    if "knn" in told.lower() or "vector" in told.lower():
        return "vector"
    match = NUMBERED.search(otherwise)
    return f"query {match[1] or match[2]}" if match else otherwise.strip(" []")

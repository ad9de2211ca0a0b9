"""Runs and judgements in files: in TREC's form, or in JSON with the results of an engine's own form.

TREC: `qid Q0 docid rank score tag`, and `qid 0 docid grade`. JSON: one object a question, in lines or a list.
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
from functools import partial
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.memory.files import is_utf8, open_named, read_input, replaced
from workbench_plugins.runs.runs import Qrels, Run, in_single_precision

LARGEST_DOCUMENT = 50_000_000
"""Bytes of a JSON document that is not in lines; it takes ten times as much memory."""
LONGEST_LINE = 10_000_000
"""Characters."""
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
        with open_named(path) as file:
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
    if not collected.rows:
        raise InputError(f"The run {path} has no question.", FORM)
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
    for rank, value in enumerate(_results(record), 1):
        try:
            id_, score, parts = result_of(value, id_field)
        except ValueError as error:
            raise ValueError(f"result {rank}: {error}") from None
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
    """The records with their lines. JSON lines are read one by one; another document is read whole."""
    begun = False
    for number, line in text_lines(path):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            if begun:
                raise InputError(f"{path}, line {number} is not JSON: {error}.", FORM) from None
            record = None
        if not begun and not isinstance(record, Mapping):
            yield from ((1, one) for one in _document(path))
            return
        begun = True
        yield number, record


def _document(path: str | os.PathLike[str]) -> list[Any]:
    whole = json_document(path, "The run", LARGEST_DOCUMENT, FORM)
    return whole if isinstance(whole, list) else [whole]


def json_document(path: str | os.PathLike[str], what: str, most: int, form: str) -> Any:
    """The value in a JSON file of at most `most` bytes; messages call the file `what`.

    Raises InputError, with the line and the `form` that is wanted, for a file that is not JSON.
    """
    try:
        return json.loads(read_input(path, what, most).removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}, line {getattr(error, 'lineno', 1)} is not JSON: {error}.", form) from None


def write_json(run: Run, path: str | os.PathLike[str], force: bool = False) -> None:
    """Writes a run as JSON lines: every result as it was returned, with its sub-scores."""
    with replaced(path, force) as file:
        for question, rows in run.rows.items():
            results = [_result(run, row) for row in rows]
            text = {"question": run.texts[question]} if question in run.texts else {}
            file.write(json.dumps({"qid": question, **text, "results": results}) + "\n")


def _result(run: Run, row: int) -> dict[str, Any]:
    score = run.scores[row]
    found = {"id": run.ids[row], "score": None if math.isnan(score) else score}
    parts = {name: run.part(name, row) for name in sorted(run.parts)}
    scores = {name: part for name, part in parts.items() if not math.isnan(part)}
    return {**found, "scores": scores} if scores else found


RUN_FORM = "A line of a run has six fields: question, Q0, document, rank, score, name of the run."
QRELS_FORM = "A line of qrels has four fields: question, 0, document, grade."


def read_trec(path: str | os.PathLike[str], name: str | None = None) -> Run:
    """The run in a file of TREC's form; the run's own tag is its name, unless one is given.

    Raises InputError, with the line, for a line that is not of this form, and for a file without lines.
    """
    run = Run("", by_score=True, file=str(path))
    for number, fields in lines(path):
        if len(fields) != 6:
            raise InputError(f"{path}, line {number} has {len(fields)} fields, not 6.", RUN_FORM)
        question, _, document, rank, score, run.name = fields
        if question not in run.rows:
            run.question(question)
        try:
            run.add(question, document, float(score), float(rank), number)
        except ValueError:
            problem = f"rank {rank!r:.40} or score {score!r:.40} is not a number"
            raise InputError(f"{path}, line {number}: {problem}.", RUN_FORM) from None
    if not run.ids:
        raise InputError(f"The run {path} has no line.", RUN_FORM)
    run.name = name or run.name
    return run


def lines(path: str | os.PathLike[str], between: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """The number and the fields of each line that is not blank, parted by blanks or by `between`.

    Raises InputError for an unreadable file.
    """
    return ((number, line.strip().split(between)) for number, line in text_lines(path))


def text_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """The number and the text of each line that is not blank; a byte order mark is left out.

    Raises InputError for an unreadable file, and for a line of more than 10 million characters.
    """
    try:
        with open_named(path) as opened, TextIOWrapper(opened, encoding="utf-8-sig") as file:
            for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE), ""), 1):
                if len(line) == LONGEST_LINE:
                    raise InputError(
                        f"{path}, line {number} has more than {LONGEST_LINE:,} characters.",
                        "Write one question a line, or one document of less than 50 MB.",
                    )
                if line.strip():
                    yield number, line
    except OSError as error:
        raise InputError(f"The file {path} cannot be read: {error.strerror}.", "Check the path.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"The file {path} is not UTF-8: {error}.", "Convert it to UTF-8.") from None


def write_trec(run: Run, path: str | os.PathLike[str], force: bool = False) -> None:
    """Writes a run in TREC's form, best first, with ranks from 1.

    TREC's tools order by score. Where the run's order is another one, or a score is absent, the scores are
    replaced by 1 / rank for this question.
    """
    with replaced(path, force) as file:
        for question in run.rows:
            answer = run.answer(question)
            scores = _falling([score for _, score in answer])
            for rank, ((id_, _), score) in enumerate(zip(answer, scores, strict=True), 1):
                fields = (one_word(question), "Q0", one_word(id_), str(rank), repr(score), one_word(run.name))
                file.write(" ".join(fields) + "\n")


def _falling(scores: list[float]) -> list[float]:
    """The scores, or 1 / rank where they would give another order."""
    if all(one > after for one, after in pairwise(in_single_precision(scores))):
        return scores
    return [1 / rank for rank in range(1, len(scores) + 1)]


def one_word(text: str) -> str:
    """The text as a field of TREC. Raises InputError for an empty text, and for one with a blank."""
    if text.split() != [text] or not is_utf8(text):
        raise InputError(
            f"{text!r:.60} cannot be a field of TREC's form, which has UTF-8 and blanks between fields.",
            "Use a name without blanks, or write JSON lines.",
        )
    return text


def read_qrels(path: str | os.PathLike[str]) -> Qrels:
    """The judgements in a file of TREC's form, or in one of BEIR's (three columns, the first line a heading).

    Raises InputError, with the line, for a line that is no judgement, and for two grades of one document.
    """
    found: Qrels = {}
    for number, fields in lines(path):
        if number == 1 and len(fields) == 3 and not _is_integer(fields[2]):
            continue
        if len(fields) not in (3, 4) or not _is_integer(fields[-1]):
            raise InputError(f"{path}, line {number}: {' '.join(fields)!r:.60} is no judgement.", QRELS_FORM)
        grades = found.setdefault(fields[0], {})
        grade = int(fields[-1])
        if grades.setdefault(fields[-2], grade) != grade:
            raise InputError(
                f"{path}, line {number}: {fields[-2]} has two grades for the question {fields[0]}.",
                "Give each document one grade.",
            )
    if not found:
        raise InputError(f"The qrels {path} have no line.", QRELS_FORM)
    return found


def read_topics(path: str | os.PathLike[str]) -> dict[str, str]:
    """The questions by id in a file of lines `id, tab, text`. Raises InputError for other lines."""
    return dict(pairs(path))


def pairs(path: str | os.PathLike[str]) -> Iterator[tuple[str, str]]:
    """The id and the text of each line `id, tab, text`. Raises InputError for other lines."""
    for number, (id_, *text) in lines(path, "\t"):
        if not text:
            raise InputError(f"{path}, line {number} has no tab.", "Give an id, a tab, and a text.")
        yield id_, " ".join(text)


def _is_integer(text: str) -> bool:
    return len(text) < 20 and text.removeprefix("-").isdecimal()


def write_qrels(
    qrels: Mapping[str, Mapping[str, int]], path: str | os.PathLike[str], force: bool = False
) -> None:
    """Writes judgements in TREC's form."""
    with replaced(path, force) as file:
        for question, grades in qrels.items():
            for document, grade in grades.items():
                file.write(f"{one_word(question)} 0 {one_word(document)} {grade}\n")


def write_topics(texts: Mapping[str, str], path: str | os.PathLike[str], force: bool = False) -> None:
    """Writes questions as lines `id, tab, text`."""
    with replaced(path, force) as file:
        file.writelines(f"{id_}\t{' '.join(text.split())}\n" for id_, text in texts.items())


WRITERS = {".jsonl": write_json, ".json": write_json} | dict.fromkeys((".trec", ".txt", ".run"), write_trec)


def write_run(run: Run, path: str | os.PathLike[str], force: bool = False) -> None:
    """Writes a run in the form of the file's ending. Raises InputError for an unknown one."""
    if Path(path).suffix not in WRITERS:
        raise InputError(f"{path} has an unknown ending.", "Use .jsonl for JSON lines, .trec for TREC.")
    WRITERS[Path(path).suffix](run, path, force)


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
    mappings = (value, metadata) if isinstance(metadata, Mapping) else (value,)
    return next((number(one[name]) for one in mappings for name in SCORES if name in one), math.nan)


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
        return {_leg(one, str(nth)): number(one.get("value")) for nth, one in enumerate(_details(tree), 1)}
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
    told = tree.get("details")
    return [one for one in told if isinstance(one, Mapping)] if isinstance(told, list) else []


def _leg(tree: Mapping[str, Any], otherwise: str) -> str:
    """The kind of a sub-query: `keyword` for a weighted term, `vector` for nearest neighbours."""
    details = str(tree.get("details") or "")
    if "PerFieldSimilarity" in details or "weight(" in details:
        return "keyword"
    if "knn" in details.lower() or "vector" in details.lower():
        return "vector"
    match = NUMBERED.search(otherwise)
    return f"query {match[1] or match[2]}" if match else otherwise.strip(" []")

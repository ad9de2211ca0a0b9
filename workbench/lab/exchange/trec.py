"""Runs and judgements in TREC's form: `qid Q0 docid rank score tag`, and `qid 0 docid grade`."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np

from workbench.errors import InputError
from workbench.lab.exchange.runs import Run

RUN_FORM = "A line of a run has six fields: question, Q0, document, rank, score, name of the run."
QRELS_FORM = "A line of qrels has four fields: question, 0, document, grade."

Qrels = dict[str, dict[str, int]]
"""For each question the grade of each judged document."""


def read_trec(path: str | os.PathLike[str], name: str | None = None) -> Run:
    """The run in a file of TREC's form; the run's own tag is its name, unless one is given.

    Raises InputError, with the line, for a line that is not of this form, and for a file without lines.
    """
    ids: list[str] = []
    scores, ranks, at = array("d"), array("d"), array("q")
    places: dict[str, array[int]] = {}
    once: dict[str, str] = {}  # each document's id is held once
    tag = ""
    for number, fields in lines(path):
        try:
            question, _, document, rank, score, tag = fields
            scores.append(float(score))
            ranks.append(float(rank))
        except ValueError:
            raise _wrong_line(path, number, fields) from None
        if question not in places:
            places[question] = array("q")
        places[question].append(len(ids))
        ids.append(once.setdefault(document, document))
        at.append(number)
    if not ids:
        raise InputError(f"The run {path} has no line.", RUN_FORM)
    rows = {question: np.array(one, np.int64) for question, one in places.items()}
    return Run(
        name or tag, ids, np.array(scores), np.array(ranks), np.array(at), rows, by_score=True, file=str(path)
    )


def _wrong_line(path: str | os.PathLike[str], number: int, fields: list[str]) -> InputError:
    if len(fields) != 6:
        return InputError(f"{path}, line {number} has {len(fields)} fields, not 6.", RUN_FORM)
    return InputError(
        f"{path}, line {number}: rank {fields[3]!r:.40} or score {fields[4]!r:.40} is not a number.", RUN_FORM
    )


def lines(path: str | os.PathLike[str], between: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """The number and the fields of each line that is not blank, parted by blanks or by `between`.

    Raises InputError for an unreadable file.
    """
    try:
        with Path(path).open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if fields := line.strip().split(between) if line.strip() else []:
                    yield number, fields
    except OSError as error:
        raise InputError(f"The file {path} cannot be read: {error.strerror}.", "Check the path.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"The file {path} is not UTF-8: {error}.", "Convert it to UTF-8.") from None


def write_trec(run: Run, path: str | os.PathLike[str]) -> None:
    """Writes a run in TREC's form, best first, with ranks from 1.

    TREC's tools order by score. Where the run's order is another one, or a score is absent, the scores are
    replaced by 1 / rank for this question.
    """
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        for question in run.rows:
            answer = run.answer(question)
            scores = _falling([score for _, score in answer])
            for rank, ((id_, _), score) in enumerate(zip(answer, scores, strict=True), 1):
                fields = (one_word(question), "Q0", one_word(id_), str(rank), repr(score), one_word(run.name))
                file.write(" ".join(fields) + "\n")


def _falling(scores: list[float]) -> list[float]:
    """The scores, or 1 / rank where they would give another order."""
    if all(one > after for one, after in pairwise(scores)):
        return scores
    return [1 / rank for rank in range(1, len(scores) + 1)]


def one_word(text: str) -> str:
    """The text as a field of TREC. Raises InputError for an empty text, and for one with a blank."""
    if not text or text.split() != [text]:
        raise InputError(
            f"{text!r:.60} cannot be a field of TREC's form, which has blanks between fields.",
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
    found: dict[str, str] = {}
    for number, fields in lines(path, "\t"):
        if len(fields) < 2:
            raise InputError(f"{path}, line {number} has no tab.", "Give an id, a tab, and the question.")
        found[fields[0]] = " ".join(fields[1:])
    return found


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def write_qrels(qrels: Mapping[str, Mapping[str, int]], path: str | os.PathLike[str]) -> None:
    """Writes judgements in TREC's form."""
    rows = [
        f"{one_word(question)} 0 {one_word(document)} {grade}\n"
        for question, grades in qrels.items()
        for document, grade in grades.items()
    ]
    Path(path).write_text("".join(rows), encoding="utf-8", newline="\n")

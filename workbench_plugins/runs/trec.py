"""Runs and judgements in TREC's form: `qid Q0 docid rank score tag`, and `qid 0 docid grade`.

Which documents answer which question: from qrels, or from labelled questions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from workbench.errors import InputError
from workbench.measure.questions import QuestionSet
from workbench_plugins.runs.runs import Run

RUN_FORM = "A line of a run has six fields: question, Q0, document, rank, score, name of the run."
QRELS_FORM = "A line of qrels has four fields: question, 0, document, grade."

Qrels = dict[str, dict[str, int]]
"""For each question the grade of each judged document."""


def read_trec(path: str | os.PathLike[str], name: str | None = None) -> Run:
    """The run in a file of TREC's form; the run's own tag is its name, unless one is given.

    Raises InputError, with the line, for a line that is not of this form, and for a file without lines.
    """
    run = Run("", by_score=True, file=str(path))
    once: dict[str, str] = {}  # each document's id is held once
    for number, fields in lines(path):
        if len(fields) != 6:
            raise InputError(f"{path}, line {number} has {len(fields)} fields, not 6.", RUN_FORM)
        question, _, document, rank, score, run.name = fields
        if question not in run.rows:
            run.question(question)
        try:
            run.add(question, once.setdefault(document, document), float(score), float(rank), number)
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
    return dict(pairs(path))


def pairs(path: str | os.PathLike[str]) -> Iterator[tuple[str, str]]:
    """The id and the text of each line `id, tab, text`. Raises InputError for other lines."""
    for number, (id_, *text) in lines(path, "\t"):
        if not text:
            raise InputError(f"{path}, line {number} has no tab.", "Give an id, a tab, and a text.")
        yield id_, " ".join(text)


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


@dataclass(frozen=True)
class Truth:
    """The grades of the documents for each question by its id; `unanswerable` should get no results.

    `texts` holds the questions, as far as they are known.
    """

    grades: Mapping[str, Mapping[str, int]]
    texts: Mapping[str, str] = field(default_factory=dict)
    unanswerable: tuple[str, ...] = ()

    @property
    def questions(self) -> list[str]:
        """The ids of the questions that a document answers."""
        return list(self.grades)

    def right(self, question: str) -> list[str]:
        """The documents that answer a question."""
        return [document for document, grade in self.grades[question].items() if grade > 0]

    def text(self, question: str) -> str:
        """The question in words, or its id."""
        return self.texts.get(question, question)


def truth_of_questions(questions: QuestionSet) -> Truth:
    """The labelled questions as q1, q2, … in their order, and the controls as c1, c2, …"""
    asked = ids_of(questions)
    controls = tuple(id_ for id_ in asked if id_.startswith("c"))
    grades = {f"q{place}": {one.target: 1} for place, one in enumerate(questions.questions, 1)}
    return Truth(grades, asked, controls)


def ids_of(questions: QuestionSet) -> dict[str, str]:
    """The text of every question and control by its id in a run: q1, q2, …, c1, c2, …"""
    named = {f"q{place}": one.question for place, one in enumerate(questions.questions, 1)}
    return named | {f"c{place}": one.question for place, one in enumerate(questions.controls, 1)}


def truth_of_qrels(qrels: Qrels, texts: Mapping[str, str] | None = None) -> Truth:
    """The judgements; a question with no document above grade 0 is unanswerable."""
    grades = {question: one for question, one in qrels.items() if any(grade > 0 for grade in one.values())}
    return Truth(grades, texts or {}, tuple(question for question in qrels if question not in grades))


def match(run: Run, truth: Truth) -> dict[str, str]:
    """The run's id of each of the truth's questions: by their text where both have it, else by id.

    Raises InputError if the run has none of them.
    """
    by_text = {text.strip(): id_ for id_, text in run.texts.items()}
    every = [*truth.questions, *truth.unanswerable]
    found = {}
    for question in every:
        text = truth.texts.get(question, "").strip()
        if text and text in by_text:
            found[question] = by_text[text]
        elif question in run.rows and (not text or question not in run.texts):
            found[question] = question
    if not found:
        there, wanted = (", ".join(map(repr, list(some)[:3])) for some in (run.rows, every))
        raise InputError(
            f"The run {run.name} has none of the judged questions: it has {there or 'none'}, not {wanted}.",
            "Use the ids of the qrels. A file of questions has q1, q2, …, and c1, c2, … for controls: "
            "`workbench runs export --topics FILE` writes them. Or give the texts, in JSON lines.",
        )
    return found

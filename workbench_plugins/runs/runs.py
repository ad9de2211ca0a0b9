"""A run: what an engine returned for each question, with its scores, its ranks and its sub-scores."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from workbench.errors import InputError
from workbench.measure.questions import QuestionSet
from workbench.records import Floats, Rows, Shown
from workbench.safe_text import counted


@dataclass(frozen=True, eq=False)
class RunRanking:
    """What one question got, in the order of the file; row i of every array belongs to `ids[i]`.

    `scores` and `ranks` are as stated, NaN where absent; `parts` are sub-scores by name. `lines` are the
    lines of the file, 0 without one.
    """

    ids: tuple[str, ...]
    scores: Floats
    ranks: Floats
    lines: Rows
    parts: Mapping[str, Floats]


@dataclass(eq=False, repr=False)
class Run(Shown):
    """The results of one engine for many questions, in columns: `rows[id]` are the rows of a question.

    With `by_score` the answer is ordered as trec_eval does it: by falling score in single precision, equal
    scores by falling id. Without it, the order is the one in which the engine returned the results. `parts`
    are sub-scores by name and row, NaN where absent; `texts` are the questions by id, as far as the file has
    them. `file` is where the run was read, or empty. A run is filled with `question` and `add`.
    """

    name: str
    by_score: bool = False
    file: str = ""
    ids: list[str] = field(default_factory=list)
    scores: array[float] = field(default_factory=lambda: array("d"))
    ranks: array[float] = field(default_factory=lambda: array("d"))
    lines: array[int] = field(default_factory=lambda: array("q"))
    rows: dict[str, array[int]] = field(default_factory=dict)
    parts: dict[str, array[float]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def question(self, id_: str, text: str = "", line: int = 0) -> None:
        """Begins a question, which may get no result. Raises InputError for a second one of this id."""
        if id_ in self.rows:
            raise InputError(
                f"{self.file}, line {line}: the question {id_!r} is there twice.", "Give each question once."
            )
        self.rows[id_] = array("q")
        if text:
            self.texts[id_] = text

    def add(
        self,
        question: str,
        id_: str,
        score: float,
        rank: float = np.nan,
        line: int = 0,
        parts: Mapping[str, float] | None = None,
    ) -> None:
        """Adds a result to a question that has begun."""
        row = len(self.ids)
        self.ids.append(sys.intern(id_))  # a document is in the answers of many questions
        self.scores.append(score)
        self.ranks.append(rank)
        self.lines.append(line)
        self.rows[question].append(row)
        for name, value in (parts or {}).items():
            column = self.parts.setdefault(name, array("d"))
            column.extend([math.nan] * (row - len(column)))
            column.append(value)

    def part(self, name: str, row: int) -> float:
        """A sub-score of a result; NaN where the result has none of this name."""
        column = self.parts[name]
        return column[row] if row < len(column) else math.nan

    def __repr__(self) -> str:
        """One line; `workbench.show` prints it, too."""
        return (
            f"<Run: {self.name}, {counted(len(self.rows), 'question')}, {counted(len(self.ids), 'result')}>"
        )

    def __str__(self) -> str:
        """The number of questions and results, and the sub-scores."""
        parts = f", sub-scores {', '.join(sorted(self.parts))}" if self.parts else ""
        return (
            f"{self.name}: {counted(len(self.rows), 'question')}, {counted(len(self.ids), 'result')}{parts}"
        )

    def ranking(self, question: str) -> RunRanking:
        """What the question of this id got; an empty ranking if the run does not have it."""
        rows = self.rows.get(question, array("q"))
        return RunRanking(
            tuple(self.ids[row] for row in rows),
            np.array([self.scores[row] for row in rows], float),
            np.array([self.ranks[row] for row in rows], float),
            np.array([self.lines[row] for row in rows], np.int64),
            {name: np.array([self.part(name, row) for row in rows], float) for name in sorted(self.parts)},
        )

    def answer(self, question: str, limit: int | None = None) -> list[tuple[str, float]]:
        """The first `limit` documents of a question with their scores, best first, each document once."""
        found = [(self.ids[row], self.scores[row]) for row in self.rows.get(question, ())]
        if self.by_score:
            found.sort(key=lambda one: one[0], reverse=True)
            read = in_single_precision([score for _, score in found])
            order = sorted(range(len(found)), key=lambda row: (math.isnan(read[row]), -read[row]))
            found = [found[row] for row in order]
        once: dict[str, float] = {}
        for id_, score in found:
            once.setdefault(id_, score)
        return list(once.items())[:limit]

    def returned(self, question: str, limit: int | None = None) -> list[str]:
        """The ids of `answer`."""
        return [id_ for id_, _ in self.answer(question, limit)]

    @property
    def depth(self) -> int:
        """The largest number of results of a question."""
        return max(map(len, self.rows.values()), default=0)


def in_single_precision(scores: Sequence[float]) -> list[float]:
    """The scores as trec_eval reads them; one that is too large is infinite."""
    with np.errstate(over="ignore"):
        return [*map(float, np.array(scores, float).astype(np.float32))]


def named_apart(runs: Iterable[Run]) -> list[Run]:
    """The runs, with a number behind the name where two have the same."""
    seen: dict[str, int] = {}
    made = []
    for run in runs:
        seen[run.name] = seen.get(run.name, 0) + 1
        made.append(run if seen[run.name] == 1 else replace(run, name=f"{run.name} ({seen[run.name]})"))
    return made


Qrels = dict[str, dict[str, int]]
"""For each question the grade of each judged document."""


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

    @property
    def units(self) -> list[frozenset[str]]:
        """What each question is about: the documents that answer it. Questions with the same are one unit."""
        return [frozenset(self.right(question)) for question in self.questions]

    @property
    def unit(self) -> str:
        """The word for a unit: the file, where each question has one right document, or else the topic."""
        return "file" if all(len(one) == 1 for one in self.units) else "topic"

    def text(self, question: str) -> str:
        """The question in words, or its id."""
        return self.texts.get(question, question)


def truth_of_questions(questions: QuestionSet) -> Truth:
    """The labelled questions as q1, q2, … in their order, and the controls as c1, c2, …"""
    asked = ids_of(questions)
    controls = tuple(id_ for id_ in asked if id_.startswith("c"))
    grades = {f"q{number}": {one.target: 1} for number, one in enumerate(questions.questions, 1)}
    return Truth(grades, asked, controls)


def ids_of(questions: QuestionSet) -> dict[str, str]:
    """The text of every question and control by its id in a run: q1, q2, …, c1, c2, …"""
    named = {f"q{number}": one.question for number, one in enumerate(questions.questions, 1)}
    return named | {f"c{number}": one.question for number, one in enumerate(questions.controls, 1)}


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

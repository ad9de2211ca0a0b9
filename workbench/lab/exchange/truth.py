"""Which documents answer which question: from qrels, or from labelled questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from workbench.errors import InputError
from workbench.lab.exchange.runs import Run
from workbench.lab.exchange.trec import Qrels
from workbench.lab.questions import QuestionSet


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


@dataclass(frozen=True)
class Matched:
    """For each question of a truth the id that the run has for it, and the questions that the run lacks."""

    ids: Mapping[str, str]
    lacking: Sequence[str]

    def of(self, question: str) -> str:
        """The run's id of a question; an id that no run has if the run lacks it."""
        return self.ids.get(question, "")


def match(run: Run, truth: Truth) -> Matched:
    """Finds the truth's questions in a run: by their text where both have it, otherwise by id.

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
    return Matched(found, [one for one in every if one not in found])

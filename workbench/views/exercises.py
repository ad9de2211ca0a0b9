"""Checks a reader's answer to an exercise of a lesson: the solution runs for it, and shows nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import chdir
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from workbench.contracts import Context, Index
from workbench.errors import InputError
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import QuestionSet
from workbench.records import Floats, Trace
from workbench.retrieval.columns import ColumnStage, Numbers
from workbench.systems.openclaw import OR_JOIN, SHIPPED, SIGN

SOLUTIONS = Path("solutions")
"""The folder of the solutions, beside the lessons, in which a lesson's kernel runs."""

NEAR_ENOUGH = 0.01
"""A number equals the solution's if it differs by this share of it at most, since readers round."""

HINT = "The exercise above has a hint."


def check(lesson: str, exercise: int, answer: Any) -> str:
    """Whether an answer to an exercise is the solution's; `...` stands for no answer yet.

    `lesson` is the beginning of the lesson's name, such as "05". The solution runs up to the cell that sets
    `answer_1` or `answer_2`. Raises InputError for a lesson or an exercise without a solution.
    """
    if answer is ...:
        return f"Exercise {exercise}: put your answer in place of the three dots."
    truth = solved(lesson, exercise)
    told = "equal." if _same(answer, truth) else f"not equal. {_remark(answer, truth)}"
    return f"Exercise {exercise}: {told}"


def solved(lesson: str, exercise: int) -> Any:
    """The answer of the solution. Raises InputError where there is none."""
    found = sorted(SOLUTIONS.glob(f"{lesson}_*.ipynb"))
    if not found:
        raise InputError(f"There is no solution of lesson {lesson} here.", "Run this in the lessons' folder.")
    cells = json.loads(found[0].read_text(encoding="utf-8"))["cells"]
    code = tuple("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    name = f"answer_{exercise}"
    names = _names_up_to(name, code, SOLUTIONS.resolve())
    if name not in names:
        raise InputError(
            f"Exercise {exercise} of lesson {lesson} has no checked answer.", "Read its solution."
        )
    return names[name]


@cache
def _names_up_to(name: str, code: tuple[str, ...], folder: Path) -> dict[str, Any]:
    """What the cells set until one of them sets `name`; kept, since a solution may run for a minute."""
    names: dict[str, Any] = {}
    for cell in code:
        _run(cell, names, folder)
        if name in names:
            break
    return names


def _run(code: str, names: dict[str, Any], folder: Path) -> None:
    """Runs a cell of a solution in its folder; what it prints and shows is dropped."""
    from IPython.utils.capture import capture_output

    with chdir(folder), capture_output():
        exec(code, names)  # the solutions are as much ours as the lessons


def _same(answer: Any, truth: Any) -> bool:
    """Whether it is the answer: a number as readers round it, words in their order, or a set of words."""
    if isinstance(truth, str):
        return _words(answer) == _words(truth)
    if isinstance(truth, set):
        return set(_words(answer)) == truth
    number = _number(answer)
    return number is not None and abs(number - float(truth)) <= NEAR_ENOUGH * abs(float(truth))


def _remark(answer: Any, truth: Any) -> str:
    """What is wrong with the kind of an answer or with its unit, or where the hint is."""
    number = _number(answer)
    if isinstance(truth, str | set):
        wanted = "The answer is a word or several, with commas between them."
        return HINT if number is None and answer is not None else wanted
    if number is None:
        return f"The answer is one number, and this is of the type {type(answer).__name__}."
    if np.isnan(number):
        return "This is NaN, which is no number: look where it comes from."
    if _same(100 * number, truth) or _same(number / 100, truth):
        return "It is wrong by a factor of 100: look at the unit."
    return HINT


def _words(answer: Any) -> list[str]:
    """The words of an answer, which stand in a list or between commas."""
    parts = answer if isinstance(answer, list | tuple | set) else str(answer).split(",")
    return ["".join(str(one).lower().split()) for one in parts]


def _number(answer: Any) -> float | None:
    try:
        return float(answer)
    except (TypeError, ValueError):
        return None


Scorer = Callable[[Floats, Floats], Floats]
"""Takes each candidate's cosine and keyword relevance, NaN where a leg lacks it; gives the scores."""


@dataclass(frozen=True)
class _Scored(ColumnStage, slot="fusion", output="score", scale="fused", observed=("own_score",)):
    """A fusion that a reader's function computes for all candidates at once."""

    scorer: Scorer
    description = "score = what your function returns"

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        cosine, relevance = trace.columns["vector_score"], trace.columns["keyword_score"]
        return {"own_score": _one_each(self.scorer(cosine, relevance), cosine.size)}

    def formula(self, of: Numbers) -> Any:
        return of["own_score"]


def _one_each(scores: Any, candidates: int) -> Floats:
    """The scores as an array. Raises InputError unless there is one number for each candidate."""
    try:
        found = np.asarray(scores, float)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (candidates,):
        raise InputError(
            f"The function returned a {type(scores).__name__}, not {candidates} numbers.",
            "Return one number for each: calculate with the two arrays that it gets.",
        )
    if absent := int(np.isnan(found).sum()):
        raise InputError(
            f"The function returned NaN for {absent} of {candidates} candidates, which one leg lacks.",
            "Say what a missing number counts: np.where(np.isnan(relevance), …, …).",
        )
    return found


def challenge(scorer: Scorer, index: Index, questions: QuestionSet) -> str:
    """How a reader's own scores do on questions: six results, and nothing that scores below 0.

    The candidates are those of OpenClaw 2026.2.13 with OR and with relevances for BM25. Raises InputError
    unless the function returns one number for each candidate.
    """
    fused = SHIPPED.with_changes(OR_JOIN, SIGN).with_stage(_Scored(scorer=scorer)).asking(min_score=0.0)
    (run,) = evaluate(questions, [fused], index)
    hits, silent = run.overall, run.silent
    refused = f"{silent.hits} of {silent.n} unanswerable questions get nothing"
    return f"{hits.hits} of {hits.n} questions hit; {refused}"

"""Compares runs question by question: what each finds, and whether a difference is more than luck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.errors import InputError
from workbench.lab.evaluation import Share
from workbench.lab.exchange.runs import Run
from workbench.lab.exchange.truth import Truth, match
from workbench.lab.paired import HITS, Paired, corrected, known_measure, paired_values
from workbench.records import Floats, Shown


@dataclass(frozen=True)
class RunScores:
    """The figures of one run: questions with a right document, MRR, and silence on unanswerable questions."""

    name: str
    hits: Share
    mrr: float
    silent: Share
    depth: int
    lacking: int


@dataclass(frozen=True)
class RunFlip:
    """A question that one run answers and the other does not."""

    run: str
    question: str
    text: str
    gained: bool


@dataclass(frozen=True)
class RunComparison(Shown):
    """Runs on the same questions; `verdicts` compare each later run with the first one."""

    measure: str
    scored: tuple[RunScores, ...]
    verdicts: tuple[Paired, ...]
    flips: tuple[RunFlip, ...]
    remarks: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {
            "measure": self.measure,
            "runs": [
                {
                    "name": one.name, "n": one.hits.n, "hits": one.hits.hits, "mrr": one.mrr,
                    "unanswerable": one.silent.n, "silent": one.silent.hits, "depth": one.depth,
                    "questions_lacking": one.lacking,
                }
                for one in self.scored
            ],
            "paired": [one.as_json() for one in self.verdicts],
            "flips": [vars(one) for one in self.flips],
            "remarks": list(self.remarks),
        }  # fmt: skip


def compare(
    runs: Sequence[Run], truth: Truth, measure: Any = HITS, limit: int | None = None
) -> RunComparison:
    """Compares each later run with the first one; a question that a run lacks counts as not answered.

    `measure` is HITS or a measure of ir_measures. `limit` cuts every answer. Raises InputError for an unknown
    measure, for no question with an answer, and for a run that has none of the questions.
    """
    if not truth.questions:
        raise InputError("No question has a document that answers it.", "Give judgements above 0.")
    values = [values_of(one, truth, measure, limit) for one in runs]
    hits = [values_of(one, truth, HITS, limit) for one in runs]
    found = [paired_values(values[0], one, str(measure)) for one in values[1:]]
    verdicts = corrected(found)
    flips = [
        RunFlip(one.name, question, truth.text(question), bool(after > before))
        for one, row in zip(runs[1:], hits[1:], strict=True)
        for question, before, after in zip(truth.questions, hits[0], row, strict=True)
        if before != after
    ]
    scored = tuple(_scored(one, truth, row, limit) for one, row in zip(runs, hits, strict=True))
    return RunComparison(str(measure), scored, tuple(verdicts), tuple(flips), tuple(_remarks(scored, limit)))


def _scored(run: Run, truth: Truth, hits: Floats, limit: int | None) -> RunScores:
    matched = match(run, truth)
    silent = sum(not run.returned(matched.of(one), limit) for one in truth.unanswerable)
    return RunScores(
        run.name,
        Share(int(hits.sum()), hits.size),
        float(values_of(run, truth, "RR", limit).mean()),
        Share(silent, len(truth.unanswerable)),
        run.depth if limit is None else min(limit, run.depth),
        len(matched.lacking),
    )


def _remarks(scored: Sequence[RunScores], limit: int | None) -> list[str]:
    remarks = [
        f"{one.name} does not have {one.lacking} of the questions; they count as not answered."
        for one in scored
        if one.lacking
    ]
    depths = {one.depth for one in scored}
    if limit is None and len(depths) > 1:
        told = ", ".join(f"{one.name} up to {one.depth}" for one in scored)
        remarks.append(f"The answers have different lengths ({told}): --limit cuts all to the same.")
    return remarks


def values_of(run: Run, truth: Truth, measure: Any = HITS, limit: int | None = None) -> Floats:
    """The value of a measure for each question of the truth, in its order; 0 where nothing was returned.

    HITS is 1 if a right document is among the results. Other measures use the grades.
    """
    matched = match(run, truth)
    if measure == HITS:
        return np.array(
            [
                float(bool(set(truth.right(one)) & set(run.returned(matched.of(one), limit))))
                for one in truth.questions
            ]
        )
    from ir_measures import Qrel, ScoredDoc, iter_calc

    known = known_measure(measure)
    qrels = [
        Qrel(question, document, grade)
        for question, grades in truth.grades.items()
        for document, grade in grades.items()
    ]
    returned = [
        ScoredDoc(question, document, -float(place))
        for question in truth.questions
        for place, document in enumerate(run.returned(matched.of(question), limit))
    ]
    found = {one.query_id: float(one.value) for one in iter_calc([known], qrels, returned)}
    return np.array([found.get(one, 0.0) for one in truth.questions])

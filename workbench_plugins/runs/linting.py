"""Finds what is suspicious in the scores, ranks and ids of a run, without any judgement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from workbench.memory.data_files import load_data
from workbench.records import Floats, Shown
from workbench.tables import Line, Part, Table, masked_parts
from workbench_plugins.runs.reversed_runs import OrderAgainstOurs, without_right_documents
from workbench_plugins.runs.runs import Run, RunRanking, Truth

TOLD: Mapping[str, Mapping[str, Any]] = load_data(__file__)

ENOUGH = 3
"""A pattern over all questions is told from so many questions on."""

RRF_MOST = 0.05
"""The best score of a fusion of ranks with k = 60 and three lists is 3 / 61."""


@dataclass(frozen=True)
class RunFinding:
    """Something suspicious: its kind, in how many questions it is, the first place, and what it means.

    `specimens` names the public bugs of the museum that look like this.
    """

    kind: str
    questions: int
    first: str
    description: str
    specimens: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The fields of the finding; the description is called `says`."""
        fields = asdict(self)
        return {"says" if name == "description" else name: value for name, value in fields.items()}


class RunFindings(list[RunFinding], Shown):
    """What is suspicious in one run."""

    def __init__(self, run: Run, found: Sequence[RunFinding]) -> None:
        super().__init__(found)
        self.run = run

    def as_json(self) -> dict[str, Any]:
        """The run's name and size, and one object a finding."""
        findings = [one.as_json() for one in self]
        return {"run": self.run.name, "questions": len(self.run.rows), "findings": findings}

    def view(self) -> list[Part]:
        """One line a finding: in how many questions, the first place, its meaning, and specimens like it."""
        if not self:
            return [f"{self.run}: nothing suspicious."]
        questions = len(self.run.rows)
        rows = [(one.kind, f"{one.questions} of {questions}", one.first) for one in self]
        table = Table("", ["what", "questions", "first"], rows)
        like = [f" See workbench museum {one.specimens[0]}." if one.specimens else "" for one in self]
        description = (f"{one.kind}: {one.description}{more}" for one, more in zip(self, like, strict=True))
        return masked_parts([Line(str(self.run), "bold"), table, *description])


def _finding(kind: str, questions: int, first: str, values: Mapping[str, Any]) -> RunFinding:
    told = TOLD[kind]
    description = told["says"].format(**values)
    return RunFinding(kind, questions, first, description, tuple(told.get("specimens", ())))


class Rule(NamedTuple):
    """A check of one ranking: the row at which it fails, or None; `values` stand in its meaning."""

    kind: str
    fails: Callable[[RunRanking], int | None]
    values: Mapping[str, Any] = {}


def lint(run: Run, scale: tuple[float, float] | None = None, limit: int | None = None) -> RunFindings:
    """What is suspicious in a run; `scale` is what its scores should be within, `limit` its largest answer.

    Without a scale, scores beyond 0 to 1 are told only if nearly all are within.
    """
    rankings = {question: run.ranking(question) for question in run.rows}
    with np.errstate(all="ignore"):  # a run can have any numbers
        rules = [*(Rule(*one) for one in FAILS.items()), *_asked_rules(run, scale, limit)]
        found = [finding for rule in rules for finding in _applied(rule, rankings)]
        return RunFindings(run, [*found, *_patterns(rankings, run)])


def lint_labelled(run: Run, truth: Truth, against: OrderAgainstOurs | None = None) -> list[RunFinding]:
    """What is suspicious beside labels: no right document at all, and an order that is reversed to ours."""
    found = []
    if count := without_right_documents(run, truth):
        question = next(iter(truth.questions))
        first = f"question {truth.texts.get(question, question)!r:.80}"
        found.append(_finding("no right document", len(truth.questions), first, {"count": count}))
    if against is not None and str(against):
        found.append(_finding("order", against.correlation.losses, run.name, {"verdict": str(against)}))
    return found


def _applied(rule: Rule, rankings: Mapping[str, RunRanking]) -> Iterator[RunFinding]:
    failing = {question: row for question, one in rankings.items() if (row := rule.fails(one)) is not None}
    if failing:
        question, row = next(iter(failing.items()))
        first = _row_text(question, rankings[question], row)
        yield _finding(rule.kind, len(failing), first, rule.values)


def _row_text(question: str, ranking: RunRanking, row: int) -> str:
    line = f", line {ranking.lines[row]}" if ranking.lines[row] else ""
    return f"question {question!r:.80}{line}: {ranking.ids[row]} ({ranking.scores[row]:g})"


def _first(failing: Floats | np.ndarray[Any, Any]) -> int | None:
    found = np.flatnonzero(failing)
    return int(found[0]) if found.size else None


def _duplicate(one: RunRanking) -> int | None:
    seen: set[str] = set()
    for row, id_ in enumerate(one.ids):
        if id_ in seen:
            return row
        seen.add(id_)
    return None


def _constant(one: RunRanking) -> int | None:
    return 0 if len(one.ids) > 1 and np.ptp(one.scores) == 0 else None


def _tie(one: RunRanking) -> int | None:
    """Equal scores next to each other in a ranking that is not constant."""
    if _constant(one) is not None:
        return None
    order = _rank_order(one)
    first = _first(np.diff(one.scores[order]) == 0)
    return None if first is None else int(order[first + 1])


def _disorder(one: RunRanking) -> int | None:
    """A score above the one before it: the scores do not fall with the rank."""
    first = _first(np.diff(one.scores[_rank_order(one)]) > 0)
    return None if first is None else int(_rank_order(one)[first + 1])


def _rank_order(one: RunRanking) -> np.ndarray[Any, Any]:
    return np.arange(len(one.ids)) if np.isnan(one.ranks).any() else np.argsort(one.ranks, kind="stable")


def _ranks(one: RunRanking) -> int | None:
    """A rank that is not the next number, counted from 1 (or from 0, as some tools do)."""
    if not len(one.ids) or np.isnan(one.ranks).any():
        return None
    order = _rank_order(one)
    start = one.ranks[order[0]] if one.ranks[order[0]] in (0, 1) else 1
    first = _first(one.ranks[order] != np.arange(start, start + len(one.ids)))
    return None if first is None else int(order[first])


FAILS: Mapping[str, Callable[[RunRanking], int | None]] = {
    "absent scores": lambda one: _first(np.isnan(one.scores)),
    "infinite scores": lambda one: _first(np.isinf(one.scores)),
    "duplicate ids": _duplicate,
    "constant scores": _constant,
    "ties": _tie,
    "score against rank": _disorder,
    "ranks": _ranks,
}


def _asked_rules(run: Run, scale: tuple[float, float] | None, limit: int | None) -> Iterator[Rule]:
    """The rules on the scale and the limit that are asked; a run mostly within 0 and 1 has that scale."""
    within = [0 <= score <= 1 for score in run.scores]
    if scale is not None or (within and np.mean(within) >= 0.9):
        low, high = scale or (0.0, 1.0)
        yield Rule(
            "scores out of scale",
            lambda one: _first((one.scores < low) | (one.scores > high)),
            {"low": low, "high": high},
        )
    if limit is not None:
        yield Rule(
            "limit",
            lambda one: int(_rank_order(one)[limit]) if len(one.ids) > limit else None,
            {"limit": limit},
        )


def _patterns(rankings: Mapping[str, RunRanking], run: Run) -> Iterator[RunFinding]:
    """What only all questions together show."""
    some = {question: one for question, one in rankings.items() if len(one.ids)}
    if len(some) < ENOUGH:
        return
    yield from _parts_without_effect(some, run)
    best = np.array([one.scores.max() for one in some.values()])
    only_ranks = all(np.array_equal(one.scores, 1 / np.arange(1, len(one.ids) + 1)) for one in some.values())
    if only_ranks or not np.isfinite(best).all():  # 1 / rank stands for a score where an engine has none
        return
    if np.ptp(best) == 0:
        yield _everywhere(some, "constant best score", best=best[0])
    elif 0 < best.max() <= RRF_MOST:
        yield _everywhere(some, "scores of ranks", best=best.max())


def _everywhere(some: Mapping[str, RunRanking], kind: str, **values: Any) -> RunFinding:
    """A finding in all of these questions."""
    question, one = next(iter(some.items()))
    return _finding(kind, len(some), _row_text(question, one, 0), values)


def _parts_without_effect(some: Mapping[str, RunRanking], run: Run) -> Iterator[RunFinding]:
    """A sub-score that is the same for all results, or another one that alone gives the whole order."""
    longer = {question: one for question, one in some.items() if len(one.ids) > 1}
    if len(longer) < ENOUGH or len(run.parts) < 2:
        return
    for name in sorted(run.parts):
        values = [np.nan_to_num(each.parts[name]) for each in longer.values()]
        if all(np.ptp(each) == 0 for each in values):
            yield _everywhere(longer, "sub-score without effect", name=name)
        elif not name.endswith("_rank") and all(np.all(np.diff(each) < 0) for each in values):
            yield _everywhere(longer, "one sub-score decides", name=name)

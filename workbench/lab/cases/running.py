"""Runs a case: does the answer agree with what is expected, and what happened to the file that decides?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path

from workbench.contracts import Index
from workbench.lab.cases.indexing import opened_memory
from workbench.lab.cases.model import Case, CaseQuestion, Elsewhere, Expected, Observed
from workbench.lab.cases.systems import (
    another_system,
    pipeline_of_case,
    releases_of_case,
)
from workbench.records import Trace
from workbench.retrieval.explain import Explanation, Fate, explain
from workbench.retrieval.legs import legs_of
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.engines.lists import ListIndex, on_lists

CLOSE = {"rel_tol": 1e-9, "abs_tol": 1e-12}
"""Scores that differ by less than this are the same: rounding in another order of operations."""
MOST_RETURNED = 10
"""The number of returned files that an observation keeps."""


@dataclass(frozen=True, repr=False)
class Answered:
    """The answer to one question of a case: whether it is as expected, in words, and what was observed.

    `explanation` is that of the file that decides; None if no file does.
    """

    asked: CaseQuestion
    trace: Trace
    holds: bool
    says: str
    observed: Observed
    explanation: Explanation | None = None

    @property
    def reason(self) -> tuple[bool, str, str]:
        """Whether the expectation holds, and the fate and stage of the file that decides."""
        return self.holds, self.observed.fate, self.observed.stage

    @property
    def deciding(self) -> tuple[str, tuple[str, ...]]:
        """The chunk that decides, and the legs that brought it; the file, where a layout has other chunks."""
        if self.explanation is None or not self.explanation.verdicts:
            return "", ()
        best = self.explanation.verdicts[0]
        place = best.chunk.place if self.trace.layout is None else best.chunk.path
        return place, tuple(one.leg for one in best.standings if one.brought)

    @property
    def as_observed(self) -> bool:
        """Whether the observation that the case states is made again; its empty fields are not compared."""
        then = self.asked.observed
        return then is None or all(
            not old or old == new
            for old, new in (
                (then.fate, self.observed.fate),
                (then.stage, self.observed.stage),
                (then.returned, self.observed.returned),
            )
        )


@dataclass(frozen=True, repr=False)
class CaseRun:
    """A case that was run on one system: the answer to each of its questions."""

    case: Case
    pipeline: Pipeline
    answers: tuple[Answered, ...]

    @property
    def holds(self) -> bool:
        """Whether every expectation holds."""
        return all(one.holds for one in self.answers)

    @property
    def as_observed(self) -> bool:
        """Whether every observation is as the case states it."""
        return all(one.as_observed for one in self.answers)

    @property
    def reasons(self) -> tuple[tuple[bool, str, str], ...]:
        """The reason of each answer: two runs with the same reasons show the same failure."""
        return tuple(one.reason for one in self.answers)

    def __repr__(self) -> str:
        failing = sum(not one.holds for one in self.answers)
        return f"<CaseRun: {self.pipeline.name}, {failing} of {len(self.answers)} questions fail>"


@dataclass(frozen=True, repr=False)
class Matrix:
    """A case on several systems in their order. For releases, the order is that of time."""

    runs: tuple[CaseRun, ...]

    @property
    def first_bad(self) -> CaseRun | None:
        """The first run in which an expectation does not hold."""
        return next((one for one in self.runs if not one.holds), None)

    @property
    def first_good(self) -> CaseRun | None:
        """The first run after the first bad one in which every expectation holds again."""
        bad = self.first_bad
        later = self.runs[self.runs.index(bad) + 1 :] if bad else ()
        return next((one for one in later if one.holds), None)


def run_case(
    case: Case, pipeline: Pipeline | None = None, *, folder: Path | None = None, index: Index | None = None
) -> CaseRun:
    """The case on `pipeline`, or on its own system. `folder` is that of the case file.

    `index` is the opened memory of the case, if it is open already. Raises InputError for a case whose system
    or memory cannot be used.
    """
    (run,) = run_on(case, [pipeline or pipeline_of_case(case.system, folder)], folder=folder, index=index)
    return run


def run_on(
    case: Case, pipelines: Iterable[Pipeline], *, folder: Path | None = None, index: Index | None = None
) -> list[CaseRun]:
    """The case on each of these pipelines; the memory is opened once."""
    lists = case.memory.lists
    if lists is not None:
        index, pipelines = ListIndex(lists.vector, lists.keyword), map(on_lists, pipelines)
    opening = opened_memory(case, folder) if index is None else nullcontext(index)
    with opening as opened:
        return [
            CaseRun(case, one, tuple(_answered(asked, one, opened, folder) for asked in case.questions))
            for one in pipelines
        ]


def run_releases(case: Case, *, folder: Path | None = None) -> Matrix:
    """The case on every release of its system. Raises InputError for a system without releases."""
    return Matrix(tuple(run_on(case, releases_of_case(case, folder), folder=folder)))


def elsewhere_pipeline(one: Elsewhere, folder: Path | None = None) -> Pipeline:
    """The pipeline of another system that a case names."""
    return pipeline_of_case(one.system, folder)


def systems_named(names: Sequence[str], case: Case) -> list[Pipeline]:
    """Other systems by their names, with the limit, floor and settings of the case where they fit."""
    return [another_system(name, case) for name in names]


def with_observations(run: CaseRun) -> Case:
    """The case with what this run observed in each question."""
    questions = [one.asked.model_copy(update={"observed": one.observed}) for one in run.answers]
    return run.case.model_copy(update={"questions": questions})


# One question


@dataclass(frozen=True)
class _Asked:
    """A search, and what its judging needs: the index, and the files that were returned."""

    trace: Trace
    index: Index
    folder: Path | None
    paths: list[str] = field(default_factory=list)

    def explained(self, target: str) -> Explanation:
        return explain(self.trace, self.index, target)


def _answered(asked: CaseQuestion, pipeline: Pipeline, index: Index, folder: Path | None) -> Answered:
    trace = search(asked.question, pipeline, index)
    searched = _Asked(trace, index, folder, trace.paths())
    holds, says, target = _judged(asked.expect, searched)
    explanation = searched.explained(target) if target else None
    observed = Observed(
        fate=explanation.fate.value if explanation else "",
        stage=_stage(explanation) if explanation else "",
        returned=searched.paths[:MOST_RETURNED],
    )
    return Answered(asked, trace, holds, says, observed, explanation)


def _judged(expected: Expected, asked: _Asked) -> tuple[bool, str, str]:
    """Whether the expectation holds, a sentence that says so, and the file that decides."""
    if expected.found is not None:
        return _found(expected.found, expected.within, asked)
    if expected.not_found is not None:
        place = _place(expected.not_found, asked.paths)
        says = f"{expected.not_found} should not be returned, and " + (
            "is not" if place is None else f"is number {place}"
        )
        return place is None, says, expected.not_found
    if expected.order is not None:
        return _ordered(expected.order, asked)
    if expected.same_as is not None:
        return _same(expected, asked)
    says = "nothing should be returned, and " + (f"{asked.paths[0]} is" if asked.paths else "nothing is")
    return not asked.paths, says, next(iter(asked.paths), "")


def _place(path: str, paths: Sequence[str]) -> int | None:
    return paths.index(path) + 1 if path in paths else None


def _found(path: str, within: int | None, asked: _Asked) -> tuple[bool, str, str]:
    place = _place(path, asked.paths)
    wanted = f"{path} should be returned" + (f" among the first {within} files" if within else "")
    if place is None:
        return False, f"{wanted}, and is not", path
    return within is None or place <= within, f"{wanted}, and is number {place}", path


def _ordered(order: Sequence[str], asked: _Asked) -> tuple[bool, str, str]:
    wanted = f"{', '.join(order)} should be returned in this order"
    missing = [path for path in order if path not in asked.paths]
    if missing:
        return False, f"{wanted}, and {missing[0]} is not returned", missing[0]
    there = [path for path in asked.paths if path in order]
    holds = there == list(order)
    wrong = next((path for path, real in zip(order, there, strict=True) if path != real), order[0])
    return holds, f"{wanted}, and " + ("are" if holds else f"the order is {', '.join(there)}"), wrong


def _same(expected: Expected, asked: _Asked) -> tuple[bool, str, str]:
    assert expected.same_as is not None
    other = pipeline_of_case(expected.same_as, asked.folder)
    other = on_lists(other) if isinstance(asked.index, ListIndex) else other
    there = search(asked.trace.question, other, asked.index)
    theirs, mine = there.paths()[: expected.within], asked.paths[: expected.within]
    first = f"the first {expected.within} files" if expected.within else "the files"
    differing = [path for path in [*theirs, *mine] if _place(path, theirs) != _place(path, mine)]
    if expected.scores:
        first += " and their scores"
        new, old = _scores(asked.trace), _scores(there)
        differing += [path for path in mine if path in old and not isclose(new[path], old[path], **CLOSE)]
    says = f"{first} should be those of {other.name}, and " + ("are not" if differing else "are")
    return not differing, says, next(iter(differing), "")


def _scores(trace: Trace) -> dict[str, float]:
    """The best score of each returned file."""
    return {one.chunk.path: one.score for one in reversed(trace.results)}


def _stage(explanation: Explanation) -> str:
    """The slot of the stage that decided the fate; for a file beyond the pool, the legs that match it."""
    if not explanation.verdicts:
        return ""
    best = explanation.verdicts[0]
    if best.candidate is not None and best.candidate.drop is not None:
        return best.candidate.drop.stage.slot
    if explanation.fate is Fate.BEYOND_POOL:
        matched = {one.leg for one in best.standings if one.rank is not None}
        return ", ".join(leg.slot for leg in legs_of(explanation.trace.stages) if leg.name in matched)
    return ""

"""Compares runs question by question, and looks for the documents that a run should have returned.

A gate compares today's answers with saved ones: do they fall behind by more than luck explains?
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.blame import ALL_FLIPS
from workbench.measure.measures import HITS, known_measure, measured_id
from workbench.measure.paired import Paired, corrected, paired_values
from workbench.records import Fate, Floats, Shown
from workbench.retrieval.explain import explain
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench.tables import ABSENT, Block, Line, Part, Table, masked_parts, numbers
from workbench_plugins.runs.reversed_runs import order_against_ours
from workbench_plugins.runs.runs import Run, Truth, match


@dataclass(frozen=True)
class RunScores:
    """The figures of one run over `n` questions: those with a right document, and MRR.

    Of the `unanswerable` questions `silent` get nothing. `depth` is the length of the longest answer,
    `questions_lacking` the number of questions that the run does not have.
    """

    name: str
    n: int
    hits: int
    mrr: float
    unanswerable: int
    silent: int
    depth: int
    questions_lacking: int


@dataclass(frozen=True)
class RunFlip:
    """A question that one run answers and the other does not."""

    run: str
    question: str
    text: str
    gained: bool


MOST_FLIPS = 10
"""The number of flipped questions that are printed."""


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
            "runs": [asdict(one) for one in self.scored],
            "paired": [one.as_json() for one in self.verdicts],
            "flips": [asdict(one) for one in self.flips],
            "remarks": list(self.remarks),
        }

    def view(self, all_flips: str = ALL_FLIPS) -> list[Part]:
        """The verdict on each later run, the figures of each, and the first questions that changed sides.

        `all_flips` says where the reader finds all of them.
        """
        first, judged = self.scored[0].name, zip(self.scored[1:], self.verdicts, strict=True)
        parts: list[Part] = [
            Block(f"{one.name}, compared with {first} by {self.measure}: {verdict}.", style="bold")
            for one, verdict in judged
        ]
        parts += self._figures
        if self.verdicts and self.flips:
            flips = [("+" if one.gained else "−", one.run, one.text) for one in self.flips[:MOST_FLIPS]]
            parts += ["", f"found (+) or lost (−) against {first}", Table("", ["", "run", "question"], flips)]
            rest = len(self.flips) - MOST_FLIPS
            parts += [f"and {rest} more; {all_flips}"] if rest > 0 else []
        return masked_parts([*parts, *self.remarks])

    @property
    def _figures(self) -> list[Part]:
        heads = numbers("hits", "hit rate", "MRR", "unanswerable,\nnothing\nreturned")
        rows = [
            (
                *(one.name, f"{one.hits}/{one.n}", f"{one.hits / one.n:.1%}", f"{one.mrr:.3f}"),
                f"{one.silent}/{one.unanswerable}" if one.unanswerable else ABSENT,
            )
            for one in self.scored
        ]
        return [Table("", ["run", *heads], rows)]


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
    found = [paired_values(values[0], one, str(measure), truth.units, truth.unit) for one in values[1:]]
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
    every = [*truth.questions, *truth.unanswerable]
    return RunScores(
        run.name,
        n=hits.size,
        hits=int(hits.sum()),
        mrr=float(values_of(run, truth, "RR", limit).mean()),
        unanswerable=len(truth.unanswerable),
        silent=sum(not run.returned(matched.get(one, ""), limit) for one in truth.unanswerable),
        depth=run.depth if limit is None else min(limit, run.depth),
        questions_lacking=len(every) - len(matched),
    )


def _remarks(scored: Sequence[RunScores], limit: int | None) -> list[str]:
    remarks = [
        f"{one.name} does not have {one.questions_lacking} of the questions; they count as not answered."
        for one in scored
        if one.questions_lacking
    ]
    depths = {one.depth for one in scored}
    if limit is None and len(depths) > 1:
        lengths = ", ".join(f"{one.name} up to {one.depth}" for one in scored)
        remarks.append(f"The answers have different lengths ({lengths}): --limit cuts all to the same.")
    return remarks


def values_of(run: Run, truth: Truth, measure: Any = HITS, limit: int | None = None) -> Floats:
    """The value of a measure for each question of the truth, in its order; 0 where nothing was returned.

    HITS is 1 if a right document is among the results. Other measures use the grades.
    """
    from ir_measures import iter_calc

    matched = match(run, truth)
    known = known_measure("RR" if measure == HITS else measure)
    grades = {
        measured_id(question): {measured_id(document): grade for document, grade in some.items()}
        for question, some in truth.grades.items()
    }
    # The places stand for the scores, since ir_measures has an order of its own for equal scores.
    returned = {
        measured_id(question): {measured_id(document): -float(rank) for rank, document in enumerate(answer)}
        for question in truth.questions
        if (answer := run.returned(matched.get(question, ""), limit))
    }
    found = {one.query_id: float(one.value) for one in iter_calc([known], grades, returned)}
    values = np.array([found.get(measured_id(one), 0.0) for one in truth.questions])
    return (values > 0).astype(float) if measure == HITS else values


# Documents that a run should have returned: where they are lost, and where they stand in our legs


@dataclass(frozen=True)
class Ours:
    """What happens to the same document in one of our pipelines, on the same memory.

    `legs` has for each leg its `rank` there, `of` how many matches, and the `depth` of the leg.
    """

    fate: str
    position: int | None
    legs: Mapping[str, Mapping[str, int | None]]


@dataclass(frozen=True)
class MissingDocument:
    """A document that answers a question and is not among its results.

    `position` is its place in the run if the limit cuts it off. `instead` is the first of the answer.
    """

    question: str
    text: str
    document: str
    position: int | None
    instead: str | None
    ours: Ours | None = None


class MissingDocuments(list[MissingDocument], Shown):
    """The missing documents of one run, in the order of the questions; `order` says if it is upside down."""

    def __init__(self, run: str, missing: Any = (), system: str = "", order: str = "") -> None:
        super().__init__(missing)
        self.run = run
        self.system = system
        self.order = order

    def as_json(self) -> list[dict[str, Any]]:
        """One object a document; `ours` is null without a memory."""
        return [asdict(one) for one in self]

    def view(self) -> list[Part]:
        """One line a missing document: where it is in the run, and where it stands in our legs."""
        if not self:
            return [f"{self.run} returns every document that answers a question."]
        what = "document that answers" if len(self) == 1 else "documents that answer"
        head = f"{self.run} does not return {len(self)} {what} a question"
        ours = [f"in {self.system}"] if self.system else []
        rows = [(one.text, one.document, _in_run(one), *[ours_text(one.ours) for _ in ours]) for one in self]
        columns = ["question", "missing document", "in the run", *ours]
        order = [self.order] if self.order else []
        return masked_parts([*order, Line(head, "bold"), Table("", columns, rows)])


def missing_documents(
    run: Run,
    truth: Truth,
    limit: int | None = None,
    index: Index | None = None,
    pipeline: Pipeline | None = None,
) -> MissingDocuments:
    """The right documents that a run does not return among its first `limit` results.

    With an index and a pipeline, each one is looked up there, too: its rank in every leg, and its fate. This
    needs the text of the questions. Raises InputError if it is not known.
    """
    cached = CachedIndex(index) if index is not None else None
    matched, found = match(run, truth), []
    for question in truth.questions:
        own = matched.get(question, "")
        every = run.returned(own)
        text = truth.texts.get(question) or run.texts.get(own, "")
        for document in truth.right(question):
            if document in every[:limit]:
                continue
            position = every.index(document) + 1 if document in every else None
            ours = _ours(text, document, cached, pipeline, question) if cached and pipeline else None
            first = every[0] if every else None
            found.append(MissingDocument(question, text or question, document, position, first, ours))
    against = order_against_ours(run, truth, cached) if cached else None
    order = str(against) if against else ""
    return MissingDocuments(run.name, found, pipeline.name if pipeline and index else "", order)


def _ours(text: str, document: str, index: CachedIndex, pipeline: Pipeline, question: str) -> Ours:
    if not text:
        raise InputError(
            f"The text of the question {question} is not known, so it cannot be asked here.",
            "Give --questions FILE or --topics FILE, or a run of JSON lines with the questions.",
        )
    explanation = explain(search(text, pipeline, index), index, document)
    if explanation.fate is Fate.NEVER_INDEXED:
        return Ours(explanation.fate.value, None, {})
    best = explanation.verdicts[0]
    legs = {one.leg: {"rank": one.rank, "of": one.matched, "depth": one.depth} for one in best.leg_ranks}
    return Ours(explanation.fate.value, best.candidate.position if best.candidate else None, legs)


# A gate for a team's CI: today's answers against saved ones

SILENCE = "silence on unanswerable questions"


@dataclass(frozen=True)
class GateFlip:
    """A question that lost or won its answer; `ours` says what happens today to the target of a lost one."""

    question: str
    target: str
    lost: bool
    ours: Ours | None


@dataclass(frozen=True)
class FlippedControl:
    """An unanswerable question that lost or won its silence, and what it gets today."""

    question: str
    lost: bool
    returned: tuple[str, ...]


@dataclass(frozen=True)
class GateResult(Shown):
    """Today's run against the saved one: a verdict for each measure, and the questions that flipped."""

    before: str
    after: str
    verdicts: tuple[Paired, ...]
    flipped: tuple[GateFlip, ...]
    controls: tuple[FlippedControl, ...]

    @property
    def falls(self) -> list[Paired]:
        """The measures that fell by more than luck explains."""
        return [one for one in self.verdicts if one.differs and one.difference < 0]

    @property
    def passes(self) -> bool:
        """Whether no measure fell by more than luck explains."""
        return not self.falls

    def as_json(self) -> dict[str, Any]:
        """The verdicts and the flipped questions as plain data."""
        return {
            "passes": self.passes,
            "before": self.before,
            "after": self.after,
            "paired": [one.as_json() for one in self.verdicts],
            "flipped": [asdict(one) for one in self.flipped],
            "controls": [asdict(one) for one in self.controls],
        }

    def view(self) -> list[Part]:
        """Passed or failed, the verdict on each measure, and a line for each question that flipped."""
        head = "PASSED" if self.passes else f"FAILED: {', '.join(one.measure for one in self.falls)} fell"
        table = Table("", ["measure", "change"], [(one.measure, str(one)) for one in self.verdicts])
        flipped = [
            f"{'lost' if one.lost else 'won'}: “{one.question}” → {one.target}"
            + (f"\n  {ours_text(one.ours)}" if one.lost else "")
            for one in self.flipped
        ]
        controls = [
            f"{'lost' if one.lost else 'won'}: “{one.question}” is unanswerable and gets "
            f"{', '.join(one.returned) or 'nothing'}"
            for one in self.controls
        ]
        runs = f"{self.after}, against {self.before}"
        return masked_parts([Line(head, "bold"), runs, table, *flipped, *controls])


def gate(saved: Run, today: Run, truth: Truth, index: Index, pipeline: Pipeline) -> GateResult:
    """Compares what a pipeline returns today with a saved run on the same questions: hits, RR, and silence.

    Both are judged by the same labels. The p values are corrected for the number of measures (Holm, 1979).
    Raises InputError, naming it, if a question is new or gone.
    """
    _check_same(saved, truth)
    cached = CachedIndex(index)
    hits = [values_of(one, truth, HITS) for one in (saved, today)]
    flipped = [
        GateFlip(text, target, bool(after < before), ours)
        for question, before, after in zip(truth.questions, *hits, strict=True)
        if before != after
        for text, target in [(truth.text(question), truth.right(question)[0])]
        for ours in [_ours(text, target, cached, pipeline, question) if after < before else None]
    ]
    then, now = (_controls(one, truth) for one in (saved, today))
    controls = [
        FlippedControl(truth.text(one), bool(now[one]), tuple(now[one]))
        for one in truth.unanswerable
        if bool(then[one]) != bool(now[one])
    ]
    silence = [np.array([not one[each] for each in truth.unanswerable], float) for one in (then, now)]
    columns = {HITS: hits, "RR": [values_of(one, truth, "RR") for one in (saved, today)], SILENCE: silence}
    units: dict[str, Sequence[Hashable]] = {HITS: truth.units, "RR": truth.units, SILENCE: truth.unanswerable}
    found = [
        paired_values(before, after, name, units[name], truth.unit)
        for name, (before, after) in columns.items()
        if before.size
    ]
    return GateResult(saved.name, today.name, tuple(corrected(found)), tuple(flipped), tuple(controls))


def _controls(run: Run, truth: Truth) -> dict[str, list[str]]:
    """What each unanswerable question gets."""
    matched = match(run, truth)
    return {one: run.returned(matched.get(one, "")) for one in truth.unanswerable}


def _check_same(saved: Run, truth: Truth) -> None:
    """The questions must be the saved ones, in any order."""
    asked = {truth.text(one).strip() for one in (*truth.questions, *truth.unanswerable)}
    before = {saved.texts.get(one, one).strip() for one in saved.rows}
    gone, new = sorted(before - asked), sorted(asked - before)
    if gone or new:
        difference = f"is gone: {gone[0]}" if gone else f"is new: {new[0]}"
        raise InputError(
            f"The questions are not the saved ones: {len(gone)} gone, {len(new)} new. One {difference}.",
            "Compare with the questions of then, or accept the new ones: --save FILE --force.",
        )


def _in_run(one: MissingDocument) -> str:
    if one.position is not None:
        return f"place {one.position}, beyond the limit"
    return f"absent; first is {one.instead}" if one.instead else "nothing returned"


def ours_text(ours: Ours | None) -> str:
    """What happens to a document in one of our pipelines, and its rank in each leg."""
    if ours is None:
        return ABSENT
    at = f" at {ours.position}" if ours.fate == "returned" else ""
    legs = [
        f"{leg} {one['rank']} of {one['of']}" if one["rank"] else f"{leg} no match"
        for leg, one in ours.legs.items()
    ]
    return "; ".join([f"{ours.fate}{at}", *legs])

"""Values as tidy tables of pandas: one row per observation, one meaning per column.

`docs/frames.md` describes every column. An absent value is missing, never an empty string or a number. The
numbers are those of the value itself; nothing is computed twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from typing import Any

from workbench.errors import InputError
from workbench.lab.checks.findings import Findings
from workbench.lab.checks.reliability import Reliability
from workbench.lab.diagnose.blame import Blame
from workbench.lab.diagnose.diagnosis import Diagnosis
from workbench.lab.evaluation import Evaluation, Evaluations
from workbench.lab.missed import MissedQuestions
from workbench.lab.museum.specimen import SpecimenRun, SpecimenRuns
from workbench.lab.paired import measured
from workbench.lab.survival import Survival, Survivals
from workbench.lab.sweep.running import Sweep
from workbench.lab.thresholds import Scores
from workbench.lab.whose_fusion import Comparison
from workbench.records import Candidate, Trace
from workbench.retrieval.explain import fate_of
from workbench.views.museum import answer_text
from workbench.views.text import drop_reason

Frame = Any
"""A `pandas.DataFrame`; pandas is imported late."""

Types = Mapping[str, str]
"""The names of columns in their order, with the type of each: str, bool, boolean, int64, Int64 or float64.

`boolean` and `Int64` may be missing.
"""

CANDIDATES: Types = {
    "question": "str", "system": "str", "position": "int64", "path": "str", "start_line": "int64",
    "end_line": "int64", "source": "str", "chunk_id": "str", "fate": "str", "returned": "bool",
    "dropped_by": "str", "reason": "str", "read_share": "float64", "text": "str",
}  # fmt: skip
QUESTIONS: Types = {
    "system": "str", "question": "str", "kind": "str", "target": "str", "answerable": "bool",
    "correct": "bool", "hit": "boolean", "rank": "Int64", "reciprocal_rank": "float64", "returned": "int64",
    "candidates": "int64", "first": "str", "first_score": "float64",
}  # fmt: skip
FLOORS: Types = {
    "system": "str", "floor": "float64", "own_floor": "bool", "questions": "int64", "hits": "int64",
    "returned_chunks": "int64", "right_chunks": "int64", "precision": "float64", "unanswerable": "int64",
    "nothing_returned": "int64",
}  # fmt: skip
BELIEVED: Types = {
    "system": "str", "low": "float64", "high": "float64", "stated": "float64", "questions": "int64",
    "answerable": "int64", "share": "float64", "share_low": "float64", "share_high": "float64",
}  # fmt: skip
FUSED: Types = {
    "engine": "str", "candidate": "str", "place": "int64", "last_place": "int64", "score": "float64",
    "passes": "bool", "vector_score": "float64", "vector_part": "float64", "keyword_score": "float64",
    "keyword_part": "float64", "watched": "bool",
}  # fmt: skip
SURVIVED: Types = {
    "system": "str", "question": "str", "kind": "str", "target": "str", "reached": "int64",
    "reached_step": "str", "rescued": "bool",
}  # fmt: skip
MISSED: Types = {"system": "str", "fate": "str", "question": "str", "kind": "str", "target": "str"}
SPECIMENS: Types = {
    "specimen": "str", "reported_in": "str", "symptom": "str", "mechanism": "str", "change": "str",
    "shipped": "str", "fixed": "str", "shipped_as_expected": "bool", "fixed_as_expected": "bool",
    "shown": "bool",
}  # fmt: skip

SETTINGS: Types = {
    "system": "str", "setting": "int64", "now": "bool", "measure": "str", "mean": "float64",
    "questions": "int64", "nothing_returned": "int64", "unanswerable": "int64",
}  # fmt: skip
BLAMED: Types = {
    "before": "str", "after": "str", "measure": "str", "questions": "int64", "change": "str",
    "becomes": "str", "alone": "float64", "last": "float64", "share": "float64", "error": "float64",
}  # fmt: skip
FIXES: Types = {
    "system": "str", "question": "str", "target": "str", "setting": "str", "now": "str", "value": "str",
    "hair": "float64", "verified": "bool", "gained": "int64", "lost": "int64", "hits_before": "int64",
    "hits_after": "int64", "silent_before": "int64", "silent_after": "int64",
}  # fmt: skip
FINDINGS: Types = {"system": "str", "finding": "str", "meaning": "str", "arithmetic": "str", "issue": "str"}


def pandas() -> Any:
    """The module pandas. Raises InputError if it is not installed."""
    try:
        import pandas as pd
    except ImportError:
        raise InputError(
            "A table needs pandas, which is not installed.",
            "Install it: pip install 'hybrid-search-workbench[lab]'",
        ) from None
    return pd


@singledispatch
def frame(thing: Any) -> Frame:
    """The value as a table of pandas. Raises InputError for a value that has none."""
    raise InputError(
        f"{type(thing).__name__} has no table.",
        "Give a trace, evaluations, scores, their reliability, a comparison of fusions, survivals, missed "
        "questions, specimens, a sweep, a blame, a diagnosis or the findings of a lint.",
    )


def _made(types: Types, rows: Iterable[Sequence[Any]]) -> Frame:
    made: Frame = pandas().DataFrame(list(rows), columns=list(types)).astype(dict(types))
    return made


@frame.register
def _trace(trace: Trace) -> Frame:
    numbers = dict.fromkeys(trace.columns, "float64")
    rows = (_candidate(trace, one) for one in trace.candidates)
    return _made({**CANDIDATES, **numbers}, rows)


def _candidate(trace: Trace, one: Candidate) -> list[Any]:
    chunk, drop = one.chunk, one.drop
    return [
        trace.question,
        trace.system,
        one.position,
        chunk.path,
        chunk.start_line,
        chunk.end_line,
        chunk.source,
        chunk.id,
        fate_of(one).value,
        drop is None,
        drop.stage.slot if drop else None,
        drop_reason(one) if drop else None,
        chunk.read_share,
        chunk.text,
        *one.numbers.values(),
    ]


@frame.register
def _evaluation(evaluation: Evaluation) -> Frame:
    return _made(QUESTIONS, _questions(evaluation))


@frame.register
def _evaluations(evaluations: Evaluations) -> Frame:
    return _made(QUESTIONS, (row for one in evaluations for row in _questions(one)))


def _questions(evaluation: Evaluation) -> Iterable[list[Any]]:
    name = evaluation.pipeline.name
    for asked, reciprocal in zip(evaluation.asked, measured(evaluation, "RR").tolist(), strict=True):
        question, paths = asked.question, asked.trace.paths()
        rank = paths.index(question.target) + 1 if asked.hit else None
        about = [name, question.question, question.kind, question.target, True, asked.hit]
        yield [*about, asked.hit, rank, reciprocal, *_answer(asked.trace)]
    for trace in evaluation.controls:
        yield [name, trace.question, None, None, False, not trace.results, None, None, None, *_answer(trace)]


def _answer(trace: Trace) -> list[Any]:
    """How many results and candidates, and the path and score of the first result."""
    results = trace.results
    first = [results[0].chunk.path, results[0].score] if results else [None, None]
    return [len(results), len(trace.chunks), *first]


@frame.register
def _scores(scores: Scores) -> Frame:
    def rows() -> Iterable[list[Any]]:
        for floor in scores.floors:
            found = scores.at(floor)
            counts = [found.hits.n, found.hits.hits, found.right.n, found.right.hits, found.precision]
            yield [scores.system, floor, floor == scores.floor, *counts, found.silent.n, found.silent.hits]

    return _made(FLOORS, rows())


@frame.register
def _reliability(found: Reliability) -> Frame:
    def rows() -> Iterable[list[Any]]:
        for one in found.bins:
            share = one.answerable
            yield [
                found.system,
                one.low,
                one.high,
                one.stated,
                share.n,
                share.hits,
                share.rate,
                *share.interval,
            ]

    return _made(BELIEVED, rows())


@frame.register
def _fused(comparison: Comparison) -> Frame:
    def rows() -> Iterable[list[Any]]:
        for order in comparison.orders:
            for hit in order.hits:
                yield [
                    order.engine.name,
                    hit.id,
                    *order.places(hit.id),
                    hit.score,
                    order.passes(hit.id),
                    comparison.vector.get(hit.id, math.nan),
                    hit.vector,
                    comparison.keyword.get(hit.id, math.nan),
                    hit.keyword,
                    hit.id == comparison.target,
                ]

    return _made(FUSED, rows())


@frame.register
def _survival(survival: Survival) -> Frame:
    return _made(SURVIVED, _survivors(survival))


@frame.register
def _survivals(survivals: Survivals) -> Frame:
    return _made(SURVIVED, (row for one in survivals for row in _survivors(one)))


def _survivors(survival: Survival) -> Iterable[list[Any]]:
    for one in survival.survivors:
        about = [survival.system, one.question.question, one.question.kind, one.question.target]
        yield [*about, int(one.reached), one.reached.says, one.rescued]


@frame.register
def _missed(missed: MissedQuestions) -> Frame:
    return _made(MISSED, ([missed.system, one.fate, one.question, one.kind, one.target] for one in missed))


@frame.register
def _run(run: SpecimenRun) -> Frame:
    return _made(SPECIMENS, [_specimen(run)])


@frame.register
def _runs(runs: SpecimenRuns) -> Frame:
    return _made(SPECIMENS, map(_specimen, runs))


def _specimen(run: SpecimenRun) -> list[Any]:
    one = run.specimen
    told = [one.name, one.references[0], one.symptom, one.mechanism, one.change]
    answers = [answer_text(run.shipped), answer_text(run.fixed)]
    return [*told, *answers, run.shipped_healthy, run.fixed_healthy, run.shows]


@frame.register
def _sweep(sweep: Sweep) -> Frame:
    """A row for each setting, and the pipeline's own last; the swept parameters are further columns."""
    columns = {one.name: _kind(one.values) for one in sweep.axes}
    asked, silent = sweep.values.shape[1], sweep.silent.shape[1]

    def rows() -> Iterable[list[Any]]:
        for place, setting in enumerate([*sweep.settings, sweep.now]):
            last = place == len(sweep.settings)
            figures = [sweep.measure, sweep.score(place), asked, sweep.silence(place).hits, silent]
            yield [sweep.pipeline.name, place + 1, last, *figures, *setting]

    return _made({**SETTINGS, **columns}, rows())


def _kind(values: Sequence[str]) -> str:
    """The type of a swept parameter: a number if each of its values is one."""
    try:
        [float(one) for one in values]
    except ValueError:
        return "str"
    return "float64"


@frame.register
def _blame(blame: Blame) -> Frame:
    about = [blame.one.name, blame.other.name, blame.measure, blame.questions]
    rows = (
        [
            *about,
            one.name,
            "; ".join(edit.says for edit in one.edits),
            *map(float, (one.alone, one.last, one.share)),
            one.error,
        ]
        for one in blame.parts
    )
    return _made(BLAMED, rows)


@frame.register
def _diagnosis(diagnosis: Diagnosis) -> Frame:
    about = [diagnosis.pipeline.name, diagnosis.question, diagnosis.target]
    rows = (
        [
            *about,
            one.setting,
            str(one.now) or None,
            str(one.value),
            one.hair,
            one.verified,
            len(one.gained),
            len(one.lost),
            one.price.before.hits,
            one.price.after.hits,
            one.price.before.silences,
            one.price.after.silences,
        ]
        for one in diagnosis.fixes
    )
    return _made(FIXES, rows)


@frame.register
def _findings(found: Findings) -> Frame:
    rows = ([found.system, one.kind, one.says, one.arithmetic, one.issue] for one in found)
    return _made(FINDINGS, rows)

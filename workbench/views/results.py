"""What is measured, in words and tables: evaluations, their warnings, where right files are lost, and floors.

Each result is printed as a table with a line for each system, step, floor or bin, and its table of pandas has
a row for each observation (`docs/commands.md`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType

from workbench.measure.checks import MeasuringWarnings
from workbench.measure.evaluation import PASSING, Evaluation, Evaluations
from workbench.measure.missed import Missed, MissedQuestions, Survival, Survivals, SurvivalStep
from workbench.measure.paired import HITS, Paired, measured, paired_with_first
from workbench.measure.thresholds import Scores
from workbench.records import Trace
from workbench.safe_text import one_line
from workbench.views.frames import Frame, Types, frame, made_frame
from workbench.views.text import ABSENT, Column, Table, numbers, plain, rendered, rich_table

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
SURVIVED: Types = {
    "system": "str", "question": "str", "kind": "str", "target": "str", "reached": "int64",
    "reached_step": "str", "rescued": "bool",
}  # fmt: skip
MISSED: Types = {"system": "str", "fate": "str", "question": "str", "kind": "str", "target": "str"}


@rendered.register
def _evaluation(evaluation: Evaluation) -> RenderableType:
    return rendered_evaluations([evaluation])


@rendered.register(Evaluations)
def rendered_evaluations(evaluations: Sequence[Evaluation]) -> RenderableType:
    """The figures of the evaluations, and below the hits by kind of question."""
    shares = list(evaluations[0].by_file.values()) if evaluations else []
    few = sum(share.n < PASSING for share in shares)
    note = (
        f"files passing: at least {PASSING} of a file's questions hit; "
        f"{few} of {len(shares)} files have fewer questions and cannot pass"
    )
    kinds = list(evaluations[0].by_kind) if evaluations else []
    short = [one_line(kind.replace("_", " ")) for kind in kinds]
    names = short if len(set(short)) == len(short) else [one_line(kind) for kind in kinds]
    rows = [
        (one.pipeline.name, *(f"{share.hits}/{share.n}" for share in one.by_kind.values()))
        for one in evaluations
    ]
    return Group(
        rich_table(evaluation_table(evaluations)),
        *([plain(note)] if 0 < few < len(shares) else []),
        plain(""),
        plain("hits by kind of question"),
        rich_table(Table("", ["system", *numbers(*names)], rows)),
    )


def evaluation_table(evaluations: Sequence[Evaluation]) -> Table:
    """One line per pipeline: hits with their interval, files passing, MRR, unanswerable questions.

    The column of files passing is left out if no file has enough questions to pass.
    """
    can_pass = any(share.n >= PASSING for one in evaluations for share in one.by_file.values())
    files = ["files\npassing"] if can_pass else []
    heads = ("hits", "hit rate", "95 % interval", *files, "MRR", "unanswerable,\nnothing\nreturned")
    rows = []
    for one in evaluations:
        low, high = one.hit_interval
        rows.append(
            (
                one.pipeline.name,
                f"{one.overall.hits}/{one.overall.n}",
                f"{one.overall.rate:.1%}",
                f"{low:.1%} – {high:.1%}",
                *([f"{one.files_passing}/{len(one.by_file)}"] if can_pass else []),
                f"{one.mrr:.3f}",
                f"{one.silent.hits}/{one.silent.n}" if one.silent.n else ABSENT,
            )
        )
    return Table("evaluations", ["system", *numbers(*heads)], rows)


@frame.register
def _evaluation_frame(evaluation: Evaluation) -> Frame:
    return made_frame(QUESTIONS, _questions(evaluation))


@frame.register
def _evaluations_frame(evaluations: Evaluations) -> Frame:
    return made_frame(QUESTIONS, (row for one in evaluations for row in _questions(one)))


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


def measures_table(evaluations: Sequence[Evaluation]) -> RenderableType:
    """The means of the measures that were asked, one row for each system."""
    heads = numbers(*map(str, evaluations[0].measures))
    rows = [(one.pipeline.name, *(f"{mean:.3f}" for mean in one.by_measure.values())) for one in evaluations]
    return Group(
        plain(""), plain("means over all questions"), rich_table(Table("", ["system", *heads], rows))
    )


def rendered_paired(evaluations: Sequence[Evaluation], measure: Any = HITS) -> RenderableType:
    """The verdict on each later evaluation against the first, one line each; there must be a first."""
    verdicts = zip(evaluations[1:], paired_with_first(evaluations, measure), strict=True)
    rows = [(one.pipeline.name, str(verdict)) for one, verdict in verdicts]
    table = Table("", ("system", f"{measure}, question by question"), rows)
    return Group(plain(""), plain(f"compared with {evaluations[0].pipeline.name}"), rich_table(table))


@rendered.register
def _paired(verdict: Paired) -> RenderableType:
    """The verdict in words, and the figures behind it."""
    heads = numbers("questions", "better on", "worse on", "mean change", "95 % interval", "p")
    row = (
        verdict.measure,
        *map(str, (verdict.n, verdict.wins, verdict.losses)),
        _signed(verdict.difference),
        " to ".join(map(_signed, verdict.interval)) if verdict.interval else ABSENT,
        f"{verdict.p_holm:.3g}",
    )
    return Group(plain(str(verdict)), rich_table(Table("", ["measure", *heads], [row])))


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


@rendered.register
def _warnings(found: MeasuringWarnings) -> RenderableType:
    """One row for each warning: its kind, and the system with the sentence."""
    if not found:
        return plain("No check of the evaluation has found a warning about these numbers.")
    rows = [(one.kind, str(one)) for one in found]
    table = Table("", (Column("warning", "narrow"), "what was found"), rows)
    return Group(plain("what these numbers do not say", "bold"), rich_table(table))


def rendered_missed(missed: Mapping[str, Sequence[Missed]]) -> RenderableType:
    """The missed questions of each system, one line per question: the fate of the file, question and file."""
    parts: list[RenderableType] = []
    for system, questions in missed.items():
        parts += [plain(""), plain(_heading(system, questions), "bold")]
        if questions:
            rows = [(one.fate, one.question, one.target) for one in questions]
            parts.append(rich_table(Table("", ("the file is", "question", "file that answers it"), rows)))
    return Group(*parts)


def _heading(system: str, questions: Sequence[Missed]) -> str:
    if not questions:
        return f"{system} missed no question"
    fates = Counter(one.fate for one in questions)
    counted = ", ".join(f"{count} {fate}" for fate, count in fates.most_common())
    return f"{system} missed {len(questions)} (file {counted})"


@rendered.register
def _missed(missed: MissedQuestions) -> RenderableType:
    return rendered_missed({missed.system: missed})


@frame.register
def _missed_frame(missed: MissedQuestions) -> Frame:
    rows = ((missed.system, one.fate, one.question, one.kind, one.target) for one in missed)
    return made_frame(MISSED, rows)


@rendered.register(Survivals)
def _survivals(survivals: Sequence[Survival]) -> RenderableType:
    """One line per step, one column per system: the number of questions whose target is left."""
    rows = [(step.says, *(str(one.count(step)) for one in survivals)) for step in SurvivalStep]
    heads = numbers(*(one.system for one in survivals))
    return rich_table(Table("", ["questions whose target is", *heads], rows))


@rendered.register
def _survival(survival: Survival) -> RenderableType:
    return _survivals([survival])


@frame.register
def _survival_frame(survival: Survival) -> Frame:
    return made_frame(SURVIVED, _survivors(survival))


@frame.register
def _survivals_frame(survivals: Survivals) -> Frame:
    return made_frame(SURVIVED, (row for one in survivals for row in _survivors(one)))


def _survivors(survival: Survival) -> Iterable[list[Any]]:
    for one in survival.survivors:
        about = [survival.system, one.question.question, one.question.kind, one.question.target]
        yield [*about, int(one.reached), one.reached.says, one.rescued]


@rendered.register
def _scores(scores: Scores) -> RenderableType:
    """One line per floor: the questions that hit, the precision, and the unanswerable questions."""
    rows = []
    for floor in scores.floors:
        found = scores.at(floor)
        rows.append(
            (
                f"{floor:g}",
                f"{found.hits.hits}/{found.hits.n}",
                f"{found.right.hits}/{found.right.n}",
                ABSENT if found.precision is None else f"{found.precision:.1%}",
                f"{found.silent.hits}/{found.silent.n}" if found.silent.n else ABSENT,
                "its own floor" if floor == scores.floor else "",
            )
        )
    heads = ("floor", "questions\nwith a hit", "returned chunks\nof the right file", "precision")
    table = Table("", [*numbers(*heads, "unanswerable,\nnothing\nreturned"), ""], rows)
    return Group(plain(scores.system, "dim"), rich_table(table))


@frame.register
def _scores_frame(scores: Scores) -> Frame:
    rows = []
    for floor in scores.floors:
        found = scores.at(floor)
        counts = [found.hits.n, found.hits.hits, found.right.n, found.right.hits, found.precision]
        own = floor == scores.floor
        rows.append([scores.system, floor, own, *counts, found.silent.n, found.silent.hits])
    return made_frame(FLOORS, rows)

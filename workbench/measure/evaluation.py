"""Results of pipelines on labelled questions: hits, passing files, reciprocal rank, and empty answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.contracts import Index
from workbench.errors import InputError, brief
from workbench.measure.distributions import answered, distribution
from workbench.measure.measures import HITS, Judged, Share, known_measure, means, values
from workbench.measure.questions import Control, Question, QuestionSet, check_questions
from workbench.measure.resampling import rate_interval
from workbench.progress import progress_bar
from workbench.records import Floats, MadeOtherwise, Tabular, Trace
from workbench.retrieval.index_adapters import CachedIndex, check_open
from workbench.retrieval.legs import VectorLeg, legs_of
from workbench.retrieval.pipeline import Pipeline, check_pipeline, search
from workbench.retrieval.query import BLANKS
from workbench.safe_text import one_line
from workbench.tables import ABSENT, Line, Note, Part, Table, Types, numbers, tidy

if TYPE_CHECKING:
    from workbench.figures import Figure, Shape

PASSING = 3
"""A file passes if at least this many of its questions hit, as in openclaw#16021."""

MOST_TOLD = 2
"""The largest number of releases with a sentence each; more of them share one sentence with their names."""

QUESTIONS: Types = {
    "system": "str", "question": "str", "kind": "str", "target": "str", "answerable": "bool",
    "correct": "bool", "hit": "boolean", "rank": "Int64", "reciprocal_rank": "float64", "returned": "int64",
    "candidates": "int64", "first": "str", "first_score": "float64",
}  # fmt: skip
"""The columns of the table of pandas."""


@dataclass(frozen=True)
class AskedQuestion:
    """A question and the trace of its search."""

    question: Question
    trace: Trace

    @property
    def hit(self) -> bool:
        """Whether the target file is among the results: the report's criterion."""
        return self.question.target in self.trace.paths()


@dataclass(frozen=True, repr=False)
class Evaluation(Tabular):
    """Results of one pipeline on a question set, with all traces, so that you can look into every figure."""

    pipeline: Pipeline
    asked: tuple[AskedQuestion, ...]
    controls: tuple[Trace, ...]
    index: Index | None = field(default=None, compare=False)
    measures: tuple[Any, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        """One line; `workbench.show` prints a table, and a notebook shows it."""
        hits, silent = self.overall, self.silent
        return (
            f"<Evaluation: {self.pipeline.name} hits {hits.hits} of {hits.n}, "
            f"silent on {silent.hits} of {silent.n} controls>"
        )

    @property
    def traces(self) -> list[Trace]:
        """The searches of all questions, and then those of the controls."""
        return [*(one.trace for one in self.asked), *self.controls]

    @property
    def overall(self) -> Share:
        return _share(self.asked)

    @property
    def by_kind(self) -> dict[str, Share]:
        return self._grouped(lambda one: one.question.kind)

    @property
    def by_file(self) -> dict[str, Share]:
        return self._grouped(lambda one: one.question.target)

    def _grouped(self, key: Callable[[AskedQuestion], str]) -> dict[str, Share]:
        groups: dict[str, list[AskedQuestion]] = {}
        for one in self.asked:
            groups.setdefault(key(one), []).append(one)
        return {name: _share(group) for name, group in groups.items()}

    @property
    def files_passing(self) -> int:
        return sum(share.hits >= PASSING for share in self.by_file.values())

    @property
    def hit_interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the hit rate; questions about one file are one unit."""
        hits = np.array([one.hit for one in self.asked], float)
        return rate_interval(hits, [one.question.target for one in self.asked])

    @property
    def silent(self) -> Share:
        """The number of controls with the right answer, which is an empty one."""
        return Share(sum(not trace.results for trace in self.controls), len(self.controls))

    @property
    def judged(self) -> Share:
        """The returned files that have a label for their question, of all that are returned.

        Nobody has read the others, and they count as wrong.
        """
        answers = [(one.question.target, one.trace.paths()) for one in self.asked]
        return Share(
            sum(target in paths for target, paths in answers), sum(len(paths) for _, paths in answers)
        )

    @property
    def mrr(self) -> float:
        """1 / rank of the target among the files returned, 0 where it is not, averaged by ir_measures.

        A file's rank is that of its best chunk. Every question counts, answered or not.
        """
        from ir_measures import RR

        (mean,) = means([Judged(one.trace.paths(), [one.question.target]) for one in self.asked], RR)
        return mean

    def values(self, measure: Any = HITS) -> Floats:
        """The value of a measure for each question, in their order; 0 where nothing was returned."""
        judged = [Judged(one.trace.paths(), [one.question.target]) for one in self.asked]
        return np.array(values(judged, known_measure(measure)))

    @property
    def by_measure(self) -> dict[str, float]:
        """The mean of each of `measures` over all questions, by the measure's name."""
        return {str(one): float(self.values(one).mean()) for one in self.measures}

    @property
    def caution(self) -> MadeOtherwise | None:
        """How the index differs from one that the system's release makes; None if it does not."""
        return next((trace.caution for trace in self.traces), None)

    @property
    def unknown_ids(self) -> str:
        """A sentence for answers of which no id names a file of the index; empty if one id does."""
        told = [one.trace.unknown_ids for one in self.asked if one.trace.chunks]
        return told[0] if told and all(told) else ""

    def as_json(self) -> dict[str, Any]:
        """The figures under the keys of `workbench evaluate --json`; `measures` only if any were asked."""
        low, high = self.hit_interval
        return {
            "system": self.pipeline.name,
            "indexed_otherwise": None if self.caution is None else str(self.caution),
            "n": self.overall.n,
            "hits": self.overall.hits,
            "hit_rate": self.overall.rate,
            "hit_rate_interval": [low, high],
            "files": len(self.by_file),
            "files_passing": self.files_passing,
            "mrr": self.mrr,
            "judged": self.judged.rate if self.judged.n else None,
            "by_kind": {
                kind: {"n": share.n, "hits": share.hits, "hit_rate": share.rate}
                for kind, share in self.by_kind.items()
            },
            "controls": self.silent.n,
            "controls_silent": self.silent.hits,
            **({"measures": self.by_measure} if self.measures else {}),
        }

    def view(self) -> list[Part]:
        """The figures, and the hits by kind of question."""
        return Evaluations([self]).view()

    def plot(self, shape: Shape = "histogram") -> Figure:
        """How the numbers that the floor compares lie around it, by file: a figure of plotly.

        `shape` is histogram, ecdf or strip. Raises InputError for an unknown one, and if there is no number.
        """
        return distribution(self, shape)

    def observations(self) -> Table:
        """One row for each question and each control."""
        return Evaluations([self]).observations()


class Evaluations(list[Evaluation], Tabular):
    """The results of several pipelines on the same questions, in the order of the pipelines."""

    def view(self) -> list[Part]:
        """The figures of the evaluations, and below the hits by kind of question."""
        shares = list(self[0].by_file.values()) if self else []
        few = sum(share.n < PASSING for share in shares)
        note = (
            f"files passing: at least {PASSING} of a file's questions hit; "
            f"{few} of {len(shares)} files have fewer questions and cannot pass"
        )
        notes = [note] if 0 < few < len(shares) else []
        kinds: list[Part] = ["", "hits by kind of question", self.kinds_table()]
        return [*self.cautions, self.figures_table(), *notes, *kinds]

    @property
    def cautions(self) -> list[Part]:
        """Which systems return ids of no file, and for which the index is not made as their releases do."""
        unknown: list[Part] = [Line(one.unknown_ids) for one in self if one.unknown_ids]
        return [*unknown, *self._indexed_otherwise]

    @property
    def _indexed_otherwise(self) -> list[Part]:
        """For which systems the index is not made as their releases make one, with the command for each.

        Of many releases, one line names them, and one command with NAME in place of theirs.
        """
        found = list(dict.fromkeys(one.caution for one in self if one.caution))
        if len(found) <= MOST_TOLD:
            return [one.note for one in found]
        return [
            Note(
                f"This index differs from those that {len(found)} releases make:",
                f"{', '.join(one.release for one in found)}. To match one: {found[0].command('NAME')}",
            )
        ]

    def figures_table(self) -> Table:
        """One line per pipeline: hits and interval, files passing, MRR, judged, unanswerable questions.

        The column of files passing is left out if no file has enough questions to pass.
        """
        can_pass = any(share.n >= PASSING for one in self for share in one.by_file.values())
        files = ["files\npassing"] if can_pass else []
        heads = (
            "hits",
            "hit\nrate",
            "95 %\ninterval",
            *files,
            "MRR",
            "judged",
            "unanswerable,\nnothing\nreturned",
        )
        rows = []
        for one in self:
            low, high = one.hit_interval
            rows.append(
                (
                    one.pipeline.name,
                    f"{one.overall.hits}/{one.overall.n}",
                    f"{one.overall.rate:.1%}",
                    f"{low:.0%} – {high:.0%}",
                    *([f"{one.files_passing}/{len(one.by_file)}"] if can_pass else []),
                    f"{one.mrr:.3f}",
                    f"{one.judged.rate:.0%}" if one.judged.n else ABSENT,
                    f"{one.silent.hits}/{one.silent.n}" if one.silent.n else ABSENT,
                )
            )
        return Table("evaluations", ["system", *numbers(*heads)], rows)

    def kinds_table(self) -> Table:
        """The hits by kind of question, one line per pipeline."""
        kinds = list(self[0].by_kind) if self else []
        short = [one_line(kind.replace("_", " ")) for kind in kinds]
        names = short if len(set(short)) == len(short) else [one_line(kind) for kind in kinds]
        rows = [
            (one.pipeline.name, *(f"{share.hits}/{share.n}" for share in one.by_kind.values()))
            for one in self
        ]
        return Table("", ["system", *numbers(*names)], rows)

    def measures_view(self) -> list[Part]:
        """The means of the measures that were asked, one row for each system."""
        heads = numbers(*map(str, self[0].measures))
        rows = [(one.pipeline.name, *(f"{mean:.3f}" for mean in one.by_measure.values())) for one in self]
        return ["", "means over all questions", Table("", ["system", *heads], rows)]

    def plot(self) -> Figure:
        """Hits against unanswerable questions with no result, as each floor moves: a figure of plotly.

        Raises InputError without an evaluation.
        """
        if not self:
            raise InputError("There is nothing to draw.", "Evaluate one system or more.")
        return answered(self)

    def observations(self) -> Table:
        """One row for each question and each control of each pipeline."""
        return tidy(QUESTIONS, (row for one in self for row in _questions(one)))


def of_one_set(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """The evaluations as a list. Raises InputError if there is none, and if they are of other questions."""
    some = list(evaluations) if isinstance(evaluations, Iterable) else []
    if not some or not all(isinstance(one, Evaluation) for one in some):
        raise InputError(f"This is no evaluation: {brief(evaluations)}.", "Pass the result of evaluate().")
    asked = [
        ([each.question for each in one.asked], [trace.question for trace in one.controls]) for one in some
    ]
    if any(one != asked[0] for one in asked):
        raise InputError("The evaluations are of different questions.", "Evaluate all systems on one set.")
    return some


def _questions(evaluation: Evaluation) -> Iterable[list[Any]]:
    name = evaluation.pipeline.name
    for asked, reciprocal in zip(evaluation.asked, evaluation.values("RR").tolist(), strict=True):
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


def _share(asked: Sequence[AskedQuestion]) -> Share:
    return Share(sum(one.hit for one in asked), len(asked))


def evaluate(
    questions: QuestionSet, pipelines: Sequence[Pipeline], index: Index, measures: Sequence[Any] = ()
) -> Evaluations:
    """Run every question and every control on each pipeline; one evaluation per pipeline.

    `measures` are measures of ir_measures or their names: `nDCG@10`, `RR`, `R@5`, `P@5`, `Judged@5`, …; their
    means are in `by_measure`. Pass a `CachedIndex` to share the index's answers between several calls.

    Raises InputError for an unknown measure, if `questions` is not a question set, if `pipelines` is not a
    list of pipelines, and for a folder in place of an open index.
    """
    _check(questions, pipelines)
    check_open(index)
    for measure in measures:
        known_measure(measure)
    index = index if isinstance(index, CachedIndex) else CachedIndex(index)
    _ask_vectors(questions, pipelines, index)
    total = len(pipelines) * (len(questions.questions) + len(questions.controls))
    with progress_bar(total=total, desc="asking", unit="question", delay=1) as bar:
        return Evaluations(
            replace(_evaluate(questions, pipeline, index, bar), measures=tuple(measures))
            for pipeline in pipelines
        )


def evaluate_each(
    questions: QuestionSet,
    pipelines: Sequence[Pipeline],
    indexes: Sequence[CachedIndex],
    measures: Sequence[Any] = (),
) -> Evaluations:
    """Does what `evaluate` does, with each pipeline on the index at its place in `indexes`."""
    found: dict[int, Evaluation] = {}
    for index in {id(one): one for one in indexes}.values():
        places = [place for place, one in enumerate(indexes) if one is index]
        here = evaluate(questions, [pipelines[place] for place in places], index, measures)
        found.update(zip(places, here, strict=True))
    return Evaluations(found[place] for place in range(len(pipelines)))


def _ask_vectors(questions: QuestionSet, pipelines: Sequence[Pipeline], index: CachedIndex) -> None:
    """Asks the vector legs of all questions at once."""
    plain = [one for one in pipelines if one.layout is None]
    depths = {
        leg.deepest(one.limit) for one in plain for leg in legs_of(one.stages) if isinstance(leg, VectorLeg)
    }
    if not depths:
        return
    cleaned = [one.question.strip(BLANKS) for one in (*questions.questions, *questions.controls)]
    asked = [one for one in cleaned if one]
    bar = progress_bar(asked, desc="embedding", unit="question", delay=1)
    queries = [index.embed(one) for one in bar]
    for depth in depths:
        index.ask_ahead(queries, depth)


def _check(questions: object, pipelines: object) -> None:
    check_questions(questions)
    if not isinstance(pipelines, Sequence) or isinstance(pipelines, str):
        raise InputError("evaluate() takes a list of pipelines.", "Put a single pipeline in brackets, too.")
    for one in pipelines:
        check_pipeline(one)


def _evaluate(questions: QuestionSet, pipeline: Pipeline, index: Index, bar: Any) -> Evaluation:
    known: dict[str, Trace] = {}  # a question with several right files is searched once

    def traced(ones: Sequence[Control]) -> Iterator[Trace]:
        for one in ones:
            if one.question not in known:
                known[one.question] = search(one.question, pipeline, index)
            yield known[one.question]
            bar.update()

    asked = zip(questions.questions, traced(questions.questions), strict=True)
    return Evaluation(
        pipeline,
        tuple(AskedQuestion(question, trace) for question, trace in asked),
        tuple(traced(questions.controls)),
        index,
    )

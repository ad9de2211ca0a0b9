"""A sweep: the answers of one system at many settings, on labelled questions.

Settings are axes such as `fusion.vector=0:1:11`, as a grid or one at a time. The legs are asked once for all
settings that do not change them. The stages after them run for all questions at once, on one table of
candidates. The best setting is chosen and measured on different questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.measures import HITS, Judged, Share, known_measure, values
from workbench.measure.paired import Paired, paired_values
from workbench.measure.questions import QuestionSet, check_questions
from workbench.progress import progress_bar
from workbench.records import KEPT, Floats, Moment, Stage, Tabular, Trace
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.cutoff import AddedFloor, EvidenceFloor, Limit, MinScore, Order
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.legs import Union
from workbench.retrieval.pipeline import Pipeline, before, check_pipeline, run, search
from workbench.retrieval.settings import settable, with_settings
from workbench.safe_text import counted
from workbench.tables import ABSENT, Block, Fold, Part, Table, Types, hanging, numbers, tidy
from workbench_plugins.diagnose.parameters import setting_text

if TYPE_CHECKING:
    from workbench.figures import Figure
    from workbench_plugins.stores.cluster import Cluster

MOST_SETTINGS = 100_000
"""A sweep takes so many settings at most."""
FORM = "Write slot.parameter=from:to:steps, such as fusion.vector=0:1:11, or a list: query.join=AND,OR"

RIGHT, SILENT = "right answers", "of them unanswerable"
"""What a cell of the map counts."""

Setting = tuple[str, ...]
"""One value for each axis, as it would be typed."""


@dataclass(frozen=True)
class Axis:
    """One parameter and its values, as they would be typed after `--set`."""

    name: str
    values: tuple[str, ...]

    @property
    def is_number(self) -> bool:
        """Whether each of the values is a number."""
        try:
            return bool([float(one) for one in self.values])
        except ValueError:
            return False

    def now(self, pipeline: Pipeline) -> str:
        """The pipeline's own value."""
        slot, _, parameter = self.name.partition(".")
        return setting_text(settable(pipeline[slot])[parameter])


def axis(text: str) -> Axis:
    """The axis that a text describes. Raises InputError for a text of another form.

    >>> axis("fusion.vector=0:1:3").values, axis("query.join=AND,OR").values
    (('0', '0.5', '1'), ('AND', 'OR'))
    """
    name, equals, values = (part.strip() for part in text.partition("="))
    if not (equals and values and "." in name.strip(".")):
        raise InputError(f"{text!r} is not an axis of a sweep.", FORM)
    if ":" in values:
        return Axis(name, _steps(text, values))
    return Axis(name, tuple(dict.fromkeys(one.strip() for one in values.split(","))))


def _steps(text: str, values: str) -> tuple[str, ...]:
    try:
        first, last, steps = values.split(":")
        low, high, count = float(first), float(last), int(steps)
    except ValueError:
        raise InputError(f"{text!r} is not an axis of a sweep.", FORM) from None
    if count < 1 or not np.isfinite([low, high]).all():
        raise InputError(f"{text!r} has no values.", FORM)
    if count > MOST_SETTINGS:
        raise _too_many(count)
    return tuple(dict.fromkeys(setting_text(float(f"{one:.12g}")) for one in np.linspace(low, high, count)))


def settings_of(pipeline: Pipeline, axes: Sequence[Axis], one_at_a_time: bool = False) -> list[Setting]:
    """Every setting of a grid, or with `one_at_a_time` each axis with the others at the pipeline's values.

    Raises InputError for axes that the pipeline does not have, for two axes of one parameter, for none, and
    for more than 100,000 settings.
    """
    if not axes:
        raise InputError("The sweep has no axis.", FORM)
    names = [one.name for one in axes]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"{twice[0]} is given twice.", "Give each parameter once, with all of its values.")
    for one in axes:
        for value in (one.values[0], one.values[-1]):
            with_settings(pipeline, [f"{one.name}={value}"])
    count = sum(len(one.values) for one in axes) if one_at_a_time else prod(len(one.values) for one in axes)
    if count > MOST_SETTINGS:
        raise _too_many(count)
    if not one_at_a_time:
        return list(product(*(one.values for one in axes)))
    now = tuple(one.now(pipeline) for one in axes)
    moved = [
        (*now[:number], value, *now[number + 1 :]) for number, one in enumerate(axes) for value in one.values
    ]
    return list(dict.fromkeys(moved))


def _too_many(count: int) -> InputError:
    return InputError(
        f"The sweep has {count:,} settings; it takes at most {MOST_SETTINGS:,}.",
        "Give fewer steps or fewer parameters, or vary one parameter at a time (--one-at-a-time).",
    )


def changed(pipeline: Pipeline, axes: Sequence[Axis], setting: Setting) -> Pipeline:
    """The pipeline with one setting. Raises InputError for a value that a parameter does not take."""
    texts = [f"{one.name}={value}" for one, value in zip(axes, setting, strict=True)]
    return with_settings(pipeline, texts)


Marks = NDArray[np.bool_]
Numbers = NDArray[np.int64]


class ManyQuestions(Trace):
    """The candidates of many questions as one trace: its columns have the shape (candidates, questions).

    So each stage runs for all questions at once. Absent candidates are dropped from the beginning.
    """

    @property
    def ids(self) -> Floats:
        """Numbers that are in the order of the chunks' ids."""
        return self.columns[IDS]


IDS, FILES = "order of ids", "number of the file"
"""Columns that a table of candidates has beside those of the legs."""


@dataclass(frozen=True)
class CandidateTable:
    """Candidates of many questions, and the number of the right file of each question."""

    trace: ManyQuestions
    targets: Floats

    @classmethod
    def of(cls, traces: Sequence[Trace], targets: Sequence[str | None]) -> CandidateTable:
        """The table of traces as they are when their candidates are known, with the right file of each."""
        shape = max((len(trace.chunks) for trace in traces), default=0), len(traces)
        names = dict.fromkeys(name for trace in traces for name in trace.columns)
        columns = {name: np.full(shape, np.nan) for name in (*names, IDS, FILES)}
        numbers: dict[str, int] = {}
        for number, trace in enumerate(traces):
            by_id = np.argsort(trace.ids)  # in this order ties are sorted in half the time
            files = np.array([numbers.setdefault(one.path, len(numbers)) for one in trace.chunks])
            for name, column in {**trace.columns, FILES: files}.items():
                columns[name][: by_id.size, number] = column[by_id]
            columns[IDS][: by_id.size, number] = np.arange(by_id.size)
        absent = np.isnan(columns[IDS])
        order = np.broadcast_to(np.arange(shape[0])[:, None], shape)
        trace = ManyQuestions(
            "", "", (), columns=columns, dropped=np.where(absent, NO_CANDIDATE, KEPT), order=order
        )
        return cls(trace, np.array([numbers.get(one or "", -1) for one in targets], float))


NO_CANDIDATE = -2
"""In the place of a stage: no stage drops what is no candidate."""


def first_after_candidates(pipeline: Pipeline) -> int:
    """The place of the first stage that works on a pipeline's candidates."""
    return next(number for number, stage in enumerate(pipeline.stages) if isinstance(stage, Union)) + 1


def not_in_columns(pipeline: Pipeline) -> str | None:
    """Why the settings of a pipeline cannot be swept in columns; None if they can."""
    if not any(isinstance(stage, Union) for stage in pipeline.stages):
        return "it has no union of legs"
    rest = pipeline.stages[first_after_candidates(pipeline) :]
    strange = [stage.slot for stage in rest if not _runs_in_columns(stage)]
    return f"its stage {strange[0]} needs whole traces" if strange else None


def _runs_in_columns(stage: Stage) -> bool:
    if isinstance(stage, ColumnStage):
        return type(stage).run is ColumnStage.run and not stage.observed
    return type(stage) in (MinScore, AddedFloor, EvidenceFloor, Limit, Order)


@dataclass(frozen=True)
class Answers:
    """What each setting answers: shape (settings, questions).

    `rank` is the right file's rank among the files returned, 0 if it is not among them, and `returned` the
    number of these files.
    """

    rank: Numbers
    returned: Numbers


def answers(table: CandidateTable, pipelines: Sequence[Pipeline]) -> Answers:
    """The answers of pipelines that differ only in stages after the candidates. See `not_in_columns`.

    Pipelines that begin with the same stages follow each other, so that these stages run once.
    """
    first, numbers = first_after_candidates(pipelines[0]), dict[Stage, int]()
    alike = [tuple(numbers.setdefault(stage, len(numbers)) for stage in one.stages) for one in pipelines]
    trace: Trace = table.trace
    trace = trace.with_changes(stages=(), moments=first * (Moment.of(trace),))
    found: dict[int, Answers] = {}
    for number in sorted(range(len(pipelines)), key=alike.__getitem__):
        trace = _run_again(trace, pipelines[number].stages, first)
        found[number] = _answers_in_columns(table, trace)
    return _joined([found[number] for number in range(len(pipelines))])


def _run_again(trace: Trace, stages: Sequence[Stage], first: int) -> Trace:
    """The trace with other stages, run from the first that differs; at least those from `first` on differ."""
    nothing: Any = None  # these stages ask for nothing but columns
    pairs = enumerate(zip(trace.stages, stages, strict=False))
    shared = next((number for number, (mine, theirs) in pairs if mine != theirs), len(trace.stages))
    number = max(first, shared)
    with np.errstate(divide="ignore", invalid="ignore"):  # a question may have no candidate
        return run(before(trace, number).with_changes(stages=tuple(stages)), nothing, number)


def _answers_in_columns(table: CandidateTable, trace: Trace) -> Answers:
    left = np.take_along_axis(trace.dropped, trace.order, axis=0) == KEPT
    files = np.take_along_axis(trace.columns[FILES], trace.order, axis=0)
    first = np.argsort(~left, axis=0, kind="stable")[: left.sum(axis=0).max(initial=0)]
    files = np.take_along_axis(np.where(left, files, np.nan), first, axis=0)
    rank, returned = np.zeros((2, table.targets.size), np.int64)
    for number, file in enumerate(files):
        returned += ~np.isnan(file) & ~(files[:number] == file).any(axis=0)
        rank = np.where((rank == 0) & (file == table.targets), returned, rank)
    return Answers(rank[None], returned[None])


def from_stages(traces: Sequence[Trace], targets: Sequence[str | None]) -> Answers:
    """The answers of one setting whose searches have run."""
    every = [trace.paths() for trace in traces]
    ranks = [
        paths.index(target) + 1 if target in paths else 0
        for paths, target in zip(every, targets, strict=True)
    ]
    return Answers(np.array([ranks], np.int64), np.array([[len(paths) for paths in every]], np.int64))


def _joined(parts: Sequence[Answers]) -> Answers:
    """The answers of several groups of settings, in their order."""
    return Answers(
        np.concatenate([one.rank for one in parts]), np.concatenate([one.returned for one in parts])
    )


SETTINGS: Types = {
    "system": "str", "setting": "int64", "now": "bool", "measure": "str", "mean": "float64",
    "questions": "int64", "nothing_returned": "int64", "unanswerable": "int64",
}  # fmt: skip
"""The first columns of the table of pandas."""


@dataclass(frozen=True, repr=False)
class Sweep(Tabular):
    """The answers at each of `settings`, in their order; those of the pipeline as it is come last.

    `answers` has a row for each setting, and a column for each question and then for each unanswerable one.
    `measure` is HITS or a measure of ir_measures; `by` changes it. `by_stages` says why the stages ran once
    for each question and setting; None if columns were computed for all questions at once.
    """

    pipeline: Pipeline
    axes: tuple[Axis, ...]
    settings: tuple[Setting, ...]
    questions: QuestionSet
    answers: Answers
    by_stages: str | None
    measure: str = HITS

    def __repr__(self) -> str:
        """One line; `workbench.show` prints a table."""
        names = ", ".join(one.name for one in self.axes)
        return f"<Sweep: {self.pipeline.name}, {len(self.settings):,} settings of {names}>"

    @property
    def now(self) -> Setting:
        """The setting of the pipeline as it is."""
        return tuple(one.now(self.pipeline) for one in self.axes)

    @property
    def files(self) -> list[str]:
        """The right file of each question, which is the unit of every comparison."""
        return [one.target for one in self.questions.questions]

    def by(self, measure: Any) -> Sweep:
        """The same answers by another measure. Raises InputError for one that ir_measures does not know."""
        known_measure(measure)
        return replace(self, measure=str(measure))

    @property
    def _of_questions(self) -> Answers:
        count = len(self.questions.questions)
        return Answers(self.answers.rank[:, :count], self.answers.returned[:, :count])

    @cached_property
    def values(self) -> Floats:
        """The measure of each question, shape (settings + 1, questions)."""
        rank, returned = self._of_questions.rank, self._of_questions.returned
        if self.measure == HITS:
            return (rank > 0).astype(float)
        return measure_table(self.measure, int(returned.max(initial=0)))[rank, returned]

    @cached_property
    def silent(self) -> Marks:
        """Whether each unanswerable question got nothing, shape (settings + 1, unanswerable questions)."""
        silent: Marks = self.answers.returned[:, len(self.questions.questions) :] == 0
        return silent

    @property
    def means(self) -> Floats:
        """The mean of the measure at each setting, and last at the pipeline's own."""
        means: Floats = self.values.mean(axis=1)
        return means

    def score(self, number: int) -> float:
        """The mean of the measure at a setting; -1 is the pipeline's own."""
        return float(self.means[number])

    def silence(self, number: int) -> Share:
        """The unanswerable questions that got nothing at a setting; -1 is the pipeline's own."""
        return Share(int(self.silent[number].sum()), self.silent.shape[1])

    def judgement(self, number: int) -> Share:
        """The returned files that have a label, of all returned; -1 is the pipeline's own setting."""
        asked = self._of_questions
        return Share(int((asked.rank[number] > 0).sum()), int(asked.returned[number].sum()))

    def with_setting(self, number: int) -> Pipeline:
        """The pipeline at a setting."""
        return changed(self.pipeline, self.axes, self.settings[number])

    def view(self) -> list[Part]:
        """The best setting, what it is worth, the first settings, and folded more of them."""
        held = held_out(self)
        if held is None:
            worth = ["All questions are about one file, so no part of them can be held out."]
        else:
            worth = [
                f"On questions that did not choose it: {self.measure} {held.mean:.3f}, nothing returned for "
                f"{_share(held.silent)}. {flattery(held.flattered_right, held.values.size + held.silent.n)}",
                f"That, compared with now: {held.paired}",
            ]
        first = settings_table(self, SHOWN_FIRST, front=False)
        more = [settings_table(self), *map(hanging, LEGEND.format(measure=self.measure).split("\n"))]
        if self.by_stages:
            more.append(f"The stages ran for each question and setting, since {self.by_stages}.")
        answer = Block(self.headline, style="bold")
        return [answer, *map(hanging, worth), first, Fold("More settings", more)]

    @property
    def headline(self) -> str:
        """The best setting as a person types it, with its right answers and the present ones."""
        number, count = best(self), counted(len(self.settings), "setting")
        now, then = _numbers(self, -1), _numbers(self, number)
        if right_answers(self)[number] <= self.values[-1].sum() + self.silent[-1].sum():
            return f"Of {count}, none has more right answers than the present one ({self.measure} {now[0]})."
        values = zip(self.axes, self.settings[number], strict=True)
        typed = " ".join(f"--set {one.name}={value}" for one, value in values)
        silent = f", nothing returned {now[2]} → {then[2]}" if self.silent.shape[1] else ""
        return f"Best of {count}: {typed} ({self.measure} {now[0]} → {then[0]}{silent})"

    def plot(self) -> Figure:
        """A cell for each setting of two axes, darker with more right answers: a figure of plotly.

        With more axes, each cell shows its best other setting. One axis has two rows: the right answers, and
        those that are unanswerable questions without a result. Raises InputError for a sweep that moved one
        parameter at a time: it has no map.
        """
        from workbench import figures  # which loads plotly

        right, chosen = right_answers(self).tolist(), self.settings[best(self)]
        first, others = self.axes[0], self.axes[1:]
        cells: dict[tuple[str, str], float] = {}
        if not others:
            silent = self.silent[:-1].sum(axis=1).tolist()
            for name, counts in ((SILENT, silent), (RIGHT, right)):
                cells |= {(one, name): count for (one,), count in zip(self.settings, counts, strict=True)}
            marked = {"now": (self.now[0], RIGHT), "★": (chosen[0], RIGHT)}
            return figures.heat_map(cells, first.name, "", RIGHT, _marks(marked))
        for setting, count in zip(self.settings, right, strict=True):
            cells[setting[0], setting[1]] = max(count, cells.get((setting[0], setting[1]), 0.0))
        if any((one, other) not in cells for one in first.values for other in others[0].values):
            raise InputError(
                "A sweep of one parameter at a time has no map.",
                "Sweep the grid, or print the table of settings.",
            )
        marked = {"now": (self.now[0], self.now[1]), "★": (chosen[0], chosen[1])}
        rest = ", ".join(one.name for one in others[1:])
        unit = f"{RIGHT} (best over {rest})" if rest else RIGHT
        return figures.heat_map(cells, first.name, others[0].name, unit, _marks(marked))

    def observations(self) -> Table:
        """A row for each setting, and the pipeline's own last; the swept parameters are further columns."""
        columns = {one.name: "float64" if one.is_number else "str" for one in self.axes}
        asked, silent = self.values.shape[1], self.silent.shape[1]
        rows = []
        for number, setting in enumerate([*self.settings, self.now]):
            last = number == len(self.settings)
            figures = [self.measure, self.score(number), asked, self.silence(number).hits, silent]
            rows.append([self.pipeline.name, number + 1, last, *figures, *setting])
        return tidy({**SETTINGS, **columns}, rows)

    def as_json(self) -> dict[str, Any]:
        """The figures of `workbench sweep --json`: every setting, the best, and its held-out worth."""
        held, front = held_out(self), set(pareto(self))
        return {
            "system": self.pipeline.name,
            "measure": self.measure,
            "n": self.values.shape[1],
            "controls": self.silent.shape[1],
            "axes": [
                {"name": one.name, "values": list(one.values), "now": one.now(self.pipeline)}
                for one in self.axes
            ],
            "by_stages": self.by_stages,
            "current": {
                "setting": list(self.now),
                "mean": self.score(-1),
                "silent": self.silence(-1).hits,
                "judged": _rate(self.judgement(-1)),
            },
            "best": best(self),
            "held_out": held.as_json() if held else None,
            "settings": [
                {
                    "setting": list(one),
                    "mean": self.score(number),
                    "silent": self.silence(number).hits,
                    "judged": _rate(self.judgement(number)),
                    "pareto": number in front,
                }
                for number, one in enumerate(self.settings)
            ],
        }


def _marks(marked: dict[str, tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The marks by their cells: one cell may have both."""
    return {cell: " ".join(name for name in marked if marked[name] == cell) for cell in marked.values()}


def sweep(
    pipeline: Pipeline,
    axes: Sequence[str],
    questions: QuestionSet,
    index: Index,
    one_at_a_time: bool = False,
    cluster: Cluster | None = None,
) -> Sweep:
    """Answer the questions at every setting of a grid: axes are texts such as `fusion.vector=0:1:11`.

    With `one_at_a_time` each axis moves alone. Legs are asked once for settings that do not change them. Pass
    a `CachedIndex` to share its answers between sweeps. The legs are asked here; the settings are computed on
    the workers of `cluster`, if there is one and if they run in columns. The results are the same to the last
    bit.

    Raises InputError for an axis that the pipeline does not have, and for more than 100,000 settings.
    """
    check_pipeline(pipeline)
    check_questions(questions)
    chosen = tuple(axis(text) for text in axes)
    settings = settings_of(pipeline, chosen, one_at_a_time)
    bar = progress_bar(settings, desc="settings", unit="setting", delay=1)
    pipelines = [*(changed(pipeline, chosen, one) for one in bar), pipeline]
    index = index if isinstance(index, CachedIndex) else CachedIndex(index)
    found = _answers(pipelines, questions, index, cluster)
    return Sweep(pipeline, chosen, tuple(settings), questions, found, not_in_columns(pipeline))


def measure_table(measure: Any, most: int) -> Floats:
    """A measure by the rank of the one right file (0: not returned) and the number of files returned."""
    names = [str(number) for number in range(1, most + 1)]
    cases = [
        (rank, returned, Judged(names[:returned], [str(rank) if rank else "none"]))
        for returned in range(most + 1)
        for rank in range(returned + 1)
    ]
    table = np.zeros((most + 1, most + 1))
    found = values([judged for *_, judged in cases], known_measure(measure))
    for (rank, returned, _), value in zip(cases, found, strict=True):
        table[rank, returned] = value
    return table


def _answers(
    pipelines: Sequence[Pipeline], questions: QuestionSet, index: CachedIndex, cluster: Cluster | None
) -> Answers:
    """The answers of each pipeline, for the questions and then the controls."""
    asked = [one.question for one in (*questions.questions, *questions.controls)]
    targets = [*(one.target for one in questions.questions), *(None for _ in questions.controls)]
    groups: dict[Any, list[int]] = {}
    for number, one in enumerate(pipelines):
        groups.setdefault(_asks(one), []).append(number)
    found = []
    with progress_bar(total=len(pipelines), desc="sweeping", unit="setting", delay=1) as bar:
        for numbers in groups.values():
            group = [pipelines[number] for number in numbers]
            if not_in_columns(group[0]) is None:
                last = first_after_candidates(group[0])
                traces = [search(one, group[0], index, last=last) for one in asked]
                found.append(_spread(CandidateTable.of(traces, targets), group, cluster))
            else:
                traces = [search(one, group[0], index) for one in asked]
                found += len(group) * [from_stages(traces, targets)]
            bar.update(len(group))
    order = np.argsort([number for numbers in groups.values() for number in numbers])
    every = _joined(found)
    return Answers(every.rank[order], every.returned[order])


def _asks(pipeline: Pipeline) -> Any:
    """What decides about the candidates; pipelines without columns have something in common only if equal."""
    if not_in_columns(pipeline):
        return pipeline
    return pipeline.layout, pipeline.limit, pipeline.stages[: first_after_candidates(pipeline)]


SETTINGS_A_TASK = 250


def _spread(table: CandidateTable, group: Sequence[Pipeline], cluster: Cluster | None) -> Answers:
    """What `answers` gives, computed in parts on the workers of a cluster if there is one."""
    if cluster is None:
        return answers(table, group)
    parts = [group[at : at + SETTINGS_A_TASK] for at in range(0, len(group), SETTINGS_A_TASK)]
    return _joined(cluster.map(partial(answers, table), parts))


FOLDS = 5
SEED = 0


def right_answers(sweep: Sweep, questions: Marks | None = None, controls: Marks | None = None) -> Floats:
    """The right answers at each setting: the measure summed over the questions, plus the silent controls.

    `questions` and `controls` mark those that count; by default all.
    """
    values = sweep.values[:-1] if questions is None else sweep.values[:-1, questions]
    silent = sweep.silent[:-1] if controls is None else sweep.silent[:-1, controls]
    found: Floats = values.sum(axis=1) + silent.sum(axis=1)
    return found


def best(sweep: Sweep) -> int:
    """The place of the setting with the most right answers; of several, the first."""
    return int(np.argmax(right_answers(sweep)))


def pareto(sweep: Sweep) -> list[int]:
    """The settings that no other beats in one of measure and silence without losing in the other.

    Of settings with the same two numbers the first is listed. Ordered by falling measure.
    """
    means, silent = sweep.means[:-1], sweep.silent[:-1].sum(axis=1)
    front: list[int] = []
    for number in np.lexsort((np.arange(means.size), -silent, -means)).tolist():
        if not front or silent[number] > silent[front[-1]]:
            front.append(number)
    return front


@dataclass(frozen=True)
class HeldOut:
    """What choosing is worth: in each fold the setting is chosen on the others, and measured on this one.

    `chosen` has the setting of each fold. `values` and `silent` are the results on questions that did not
    choose. `flattered` is how much larger the chosen setting's mean is on the questions that chose it, and
    `flattered_right` how many more right answers it has there: these are what the choice is made by.
    """

    chosen: tuple[Setting, ...]
    values: Floats
    silent: Share
    flattered: float
    flattered_right: float
    paired: Paired

    @property
    def mean(self) -> float:
        """The mean of the measure on questions that did not choose the setting."""
        return float(self.values.mean())

    def as_json(self) -> dict[str, Any]:
        """The figures under the key `held_out` of `workbench sweep --json`."""
        return {
            "folds": len(self.chosen),
            "chosen": [list(one) for one in self.chosen],
            "mean": self.mean,
            "silent": self.silent.hits,
            "flattered": self.flattered,
            "flattered_right": self.flattered_right,
            "paired_with_current": self.paired.as_json(),
        }


def held_out(sweep: Sweep, folds: int = FOLDS) -> HeldOut | None:
    """Choose in `folds` parts and measure on the rest. None for fewer files than two.

    All questions about one file are in the same part, since they resemble each other.
    """
    files = np.unique([one.target for one in sweep.questions.questions], return_inverse=True)[1]
    folds = min(folds, int(files.max()) + 1)
    if folds < 2:
        return None
    parts = _dealt(int(files.max()) + 1, folds)[files]
    of_controls = _dealt(sweep.silent.shape[1], folds)
    values, silent = np.zeros(parts.size), np.zeros(of_controls.size, bool)
    chosen = []
    for fold in range(folds):
        number = int(np.argmax(right_answers(sweep, parts != fold, of_controls != fold)))
        values[parts == fold] = sweep.values[number, parts == fold]
        silent[of_controls == fold] = sweep.silent[number, of_controls == fold]
        chosen.append(sweep.settings[number])
    verdict = paired_values(sweep.values[-1], values, sweep.measure, sweep.files)
    flattered = sweep.score(best(sweep)) - float(values.mean())
    right = float(right_answers(sweep).max() - values.sum() - silent.sum())
    return HeldOut(tuple(chosen), values, Share(int(silent.sum()), silent.size), flattered, right, verdict)


def _dealt(count: int, folds: int) -> Numbers:
    """A part for each of so many things, shuffled, and of equal sizes."""
    return np.random.default_rng(SEED).permutation(count) % folds


# How a sweep is shown


SHOWN = 10
"""The number of settings that the table shows beside those of the Pareto front."""
MOST_OF_FRONT = 10
SHOWN_FIRST = 3
"""The number of settings that stand below the answer."""
LEGEND = """\
best: most right answers: the questions' {measure} plus the unanswerable questions with nothing returned
front: no other setting is better in one of the two without being worse in the other
judged: the returned files that have a label; nobody has read the others, and they count as wrong"""


def settings_table(sweep: Sweep, count: int = SHOWN, front: bool = True) -> Table:
    """A row for each of the first settings, for those of the front unless it is left out, and for now."""
    of_front = pareto(sweep)[:MOST_OF_FRONT] if front else []
    first = np.argsort(-right_answers(sweep), kind="stable")[:count].tolist()
    rows = []
    for number in dict.fromkeys([*first, *of_front]):
        signs = {"best": number == best(sweep), "front": number in of_front}
        told = ", ".join(word for word, holds in signs.items() if holds)
        rows.append((*sweep.settings[number], *_numbers(sweep, number), told))
    heads = numbers(*(one.name for one in sweep.axes), sweep.measure, "judged", "nothing returned")
    present = (*map(_short, sweep.now), *_numbers(sweep, -1), "now")
    return Table("settings", [*heads, ""], [*rows, present])


def _short(value: str) -> str:
    """A setting's value, of a fraction six digits.

    >>> _short("0.21400000000000008"), _short("AND"), _short("10000000")
    ('0.214', 'AND', '10000000')
    """
    try:
        return f"{float(value):.6g}" if "." in value else value
    except ValueError:
        return value


def _numbers(sweep: Sweep, number: int) -> tuple[str, str, str]:
    count = sweep.values.shape[1]
    score = (
        f"{int(sweep.values[number].sum())}/{count}"
        if sweep.measure == HITS
        else f"{sweep.score(number):.3f}"
    )
    judged = _rate(sweep.judgement(number))
    return score, ABSENT if judged is None else f"{judged:.0%}", _share(sweep.silence(number))


def _rate(share: Share) -> float | None:
    """The share as a number; None of nothing."""
    return share.rate if share.n else None


def _share(share: Share) -> str:
    return f"{share.hits}/{share.n}" if share.n else ABSENT


def flattery(right: float, of: int) -> str:
    """How many more right answers the best setting has on the questions that chose it.

    >>> flattery(2.0, 48)
    "The best setting's own number flatters it by 2 right answers of 48 questions."
    """
    if round(right, 6) <= 0:
        return "The best setting itself has no more right answers than that."
    answers = "right answer" if right == 1 else "right answers"
    return f"The best setting's own number flatters it by {right:.4g} {answers} of {of} questions."

"""A sweep: the answers of one system at many settings, on labelled questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from workbench.contracts import Index
from workbench.lab.cached_index import CachedIndex
from workbench.lab.cluster import Cluster
from workbench.lab.evaluation import Judged, Share, values
from workbench.lab.paired import HITS, known_measure
from workbench.lab.questions import QuestionSet
from workbench.lab.sweep.columns import (
    Answers,
    UnusualNumbersError,
    answers,
    first_after_candidates,
    from_stages,
    not_in_columns,
    ties_of,
    together,
)
from workbench.lab.sweep.grid import Axis, Setting, axis, changed, settings_of
from workbench.lab.sweep.table import CandidateTable, Marks
from workbench.memory.store.postings import K1, B
from workbench.progress import progress_bar
from workbench.records import Floats, Tabular
from workbench.retrieval.legs import KeywordLeg
from workbench.retrieval.pipeline import Pipeline, check_pipeline, search


@dataclass(frozen=True, repr=False)
class Sweep(Tabular):
    """The answers at each of `settings`, in their order; those of the pipeline as it is come last.

    `values` holds the measure of each question, and `silent` whether each unanswerable question got nothing:
    shapes (settings + 1, questions) and (settings + 1, controls). `by_stages` says why the stages ran once
    for each question and setting; None if columns were computed for all questions at once.
    """

    pipeline: Pipeline
    axes: tuple[Axis, ...]
    settings: tuple[Setting, ...]
    questions: QuestionSet
    measure: str
    values: Floats
    silent: Marks
    by_stages: str | None

    def __repr__(self) -> str:
        """One line; `workbench.show` prints a table."""
        names = ", ".join(one.name for one in self.axes)
        return f"<Sweep: {self.pipeline.name}, {len(self.settings):,} settings of {names}>"

    @property
    def now(self) -> Setting:
        """The setting of the pipeline as it is."""
        return tuple(one.now(self.pipeline) for one in self.axes)

    @property
    def means(self) -> Floats:
        """The mean of the measure at each setting, and last at the pipeline's own."""
        means: Floats = self.values.mean(axis=1)
        return means

    def score(self, place: int) -> float:
        """The mean of the measure at a setting; -1 is the pipeline's own."""
        return float(self.means[place])

    def silence(self, place: int) -> Share:
        """The unanswerable questions that got nothing at a setting; -1 is the pipeline's own."""
        return Share(int(self.silent[place].sum()), self.silent.shape[1])

    def with_setting(self, place: int) -> Pipeline:
        """The pipeline at a setting."""
        return changed(self.pipeline, self.axes, self.settings[place])


def sweep(
    pipeline: Pipeline,
    axes: Sequence[str],
    questions: QuestionSet,
    index: Index,
    one_at_a_time: bool = False,
    measure: Any = HITS,
    cluster: Cluster | None = None,
) -> Sweep:
    """Answer the questions at every setting of a grid: axes are texts such as `fusion.vector=0:1:11`.

    With `one_at_a_time` each axis moves alone. `measure` is HITS or a measure of ir_measures. Legs are asked
    once for settings that do not change them. Pass a `CachedIndex` to share its answers between sweeps.
    The legs are asked here; the settings are computed on the workers of `cluster`, if there is one and if
    they run in columns. The results are the same to the last bit.

    Raises InputError for an axis that the pipeline does not have, and for more than 100,000 settings.
    """
    check_pipeline(pipeline)
    known_measure(measure)
    chosen = tuple(axis(text) for text in axes)
    settings = settings_of(pipeline, chosen, one_at_a_time)
    bar = progress_bar(settings, desc="settings", unit="setting", delay=1)
    pipelines = [*(changed(pipeline, chosen, one) for one in bar), pipeline]
    index = index if isinstance(index, CachedIndex) else CachedIndex(index)
    found = _answers(pipelines, questions, index, measure != HITS, cluster)
    count = len(questions.questions)
    measured = found.hits[:, :count].astype(float)
    if measure != HITS:
        table = measure_table(measure, int(found.returned.max(initial=0)))
        measured = table[found.rank[:, :count], found.returned[:, :count]]
    return Sweep(
        pipeline,
        chosen,
        tuple(settings),
        questions,
        str(measure),
        measured,
        ~found.answered[:, count:],
        not_in_columns(pipeline),
    )


def measure_table(measure: Any, most: int) -> Floats:
    """A measure by the rank of the one right file (0: not returned) and the number of files returned."""
    names = [str(place) for place in range(1, most + 1)]
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
    pipelines: Sequence[Pipeline],
    questions: QuestionSet,
    index: CachedIndex,
    ranks: bool,
    cluster: Cluster | None,
) -> Answers:
    """The answers of each pipeline, for the questions and then the controls."""
    asked = [one.question for one in (*questions.questions, *questions.controls)]
    targets = [*(one.target for one in questions.questions), *(None for _ in questions.controls)]
    groups: dict[Any, list[int]] = {}
    for place, one in enumerate(pipelines):
        groups.setdefault(_asks(one), []).append(place)
    found = []
    with progress_bar(total=len(pipelines), desc="sweeping", unit="setting", delay=1) as bar:
        for places in groups.values():
            group = [pipelines[place] for place in places]
            found.append(_of_group(group, asked, targets, index, ranks, bar, cluster))
    order = np.argsort([place for places in groups.values() for place in places])
    every = together(found)
    picked = {name: getattr(every, name) for name in ("hits", "answered", "rank", "returned")}
    return Answers(**{name: one[order] if one.size else one for name, one in picked.items()})


def _asks(pipeline: Pipeline) -> Any:
    """What decides about the candidates; pipelines without columns have nothing in common."""
    if not_in_columns(pipeline):
        return pipeline
    stages = pipeline.stages[: first_after_candidates(pipeline)]
    return pipeline.layout, pipeline.limit, stages, ties_of(pipeline)


def _of_group(
    group: Sequence[Pipeline],
    asked: Sequence[str],
    targets: Sequence[str | None],
    index: CachedIndex,
    ranks: bool,
    bar: Any,
    cluster: Cluster | None,
) -> Answers:
    if not not_in_columns(group[0]):
        last = first_after_candidates(group[0])
        _ask_keywords(group[0], asked, index)
        traces = [search(one, group[0], index, last=last) for one in asked]
        try:
            table = CandidateTable.of(traces, targets, ties_of(group[0]))
            found = answers(table, group, ranks) if cluster is None else _spread(table, group, ranks, cluster)
        except UnusualNumbersError:
            pass
        else:
            bar.update(len(group))
            return found
    parts = []
    for pipeline in group:
        parts.append(from_stages([search(one, pipeline, index) for one in asked], targets, ranks))
        bar.update()
    return together(parts)


def _ask_keywords(pipeline: Pipeline, asked: Sequence[str], index: CachedIndex) -> None:
    """Asks a keyword leg with its own constants of BM25 for all questions at once."""
    legs = [stage for stage in pipeline.stages if isinstance(stage, KeywordLeg)]
    if pipeline.layout is not None or not legs or (legs[0].k1, legs[0].b) == (K1, B):
        return
    place = pipeline.stages.index(legs[0])
    queries = [trace.query for one in asked if (trace := search(one, pipeline, index, last=place)).query]
    depth = legs[0].deepest(pipeline.limit)
    index.ask_keywords_ahead([one for one in queries if one], depth, legs[0].k1, legs[0].b)


SETTINGS_A_TASK = 250


def _spread(table: CandidateTable, group: Sequence[Pipeline], ranks: bool, cluster: Cluster) -> Answers:
    """What `answers` gives, computed in parts on the workers of a cluster."""
    parts = [group[at : at + SETTINGS_A_TASK] for at in range(0, len(group), SETTINGS_A_TASK)]
    return together(cluster.map(partial(_part, table, ranks), parts))


def _part(table: CandidateTable, ranks: bool, group: Sequence[Pipeline]) -> Answers:
    return answers(table, group, ranks)

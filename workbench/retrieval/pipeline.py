"""A pipeline is a tuple of stages that fit together. `run` executes stages, and `search` asks a question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from functools import cached_property, lru_cache
from numbers import Real
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np

from workbench.contracts import Context, Index, Layout, Observer
from workbench.errors import InputError, brief
from workbench.memory.sources import Indexing
from workbench.records import Floats, MadeOtherwise, Moment, Shown, Stage, Trace, Vector
from workbench.retrieval.columns import flow, parameters
from workbench.retrieval.cutoff import AddedFloor, Limit, MinScore, Order, with_left_out
from workbench.retrieval.index_adapters import check_open, memoized, state_of
from workbench.retrieval.legs import LegStage, VectorLeg
from workbench.retrieval.own_stages import run_stage, told_of
from workbench.retrieval.picture import Mark, picture
from workbench.retrieval.query import BLANKS
from workbench.tables import WIDTH, Part, Table, json_rows

UNIT = 1e-3
"""So far from 1 may the length of a unit vector be, by rounding to few bits."""

MOST_RESULTS = 1_000_000
"""The largest limit that a caller may ask for."""


class _Wires(NamedTuple):
    """What a stage needs of other stages, and gives them. `leg` is the name of a leg."""

    slot: str
    reads: tuple[str, ...]
    may_read: tuple[str, ...]
    writes: tuple[str, ...]
    leg: str | None
    orders: bool
    limits: bool


def _wires(stage: Stage) -> _Wires:
    with told_of(stage):
        return _Wires(
            stage.slot,
            tuple(stage.reads()),
            tuple(stage.may_read()),
            tuple(stage.writes()),
            stage.name if isinstance(stage, LegStage) else None,
            isinstance(stage, Order),
            isinstance(stage, Limit),
        )


@lru_cache(maxsize=4096)
def _check(name: str, stages: tuple[_Wires, ...]) -> None:
    """Checks slots, columns and legs. Raises InputError if they do not fit together.

    Cached, since most pipelines of a search for settings differ in numbers alone, not in their wires.
    """
    _check_slots(name, stages)
    if any(one.slot == Limit.slot and not one.limits for one in stages):
        raise InputError(
            f"Pipeline {name!r}: the stage in the slot limit is no Limit, so the legs cannot know how many "
            "candidates to bring.",
            "Derive it from Limit of workbench.retrieval.cutoff, or give it another slot.",
        )
    _check_columns(name, stages)
    if any(stage.orders for stage in stages):
        if any(one.leg for one in stages) and not any(one.slot == "candidates" for one in stages):
            raise InputError(
                f"Pipeline {name!r} orders candidates, and no stage makes what its legs bring candidates.",
                "Put Union() of workbench.retrieval.legs behind the legs.",
            )
        used = _used(stages)
        for stage in stages:
            if stage.leg is not None and not used.intersection(stage.writes):
                raise InputError(
                    f"Pipeline {name!r}: the leg {stage.leg!r} is asked, but nothing that ranks or drops "
                    "candidates depends on what it brings.",
                    f"Give it a weight in the fusion, for example more=(({stage.leg!r}, 0.3),), let the "
                    "stage that writes what the order reads use it, or leave it out.",
                )


def _check_slots(name: str, stages: Sequence[_Wires]) -> None:
    slots = [stage.slot for stage in stages]
    twice = sorted({slot for slot in slots if slots.count(slot) > 1})
    if twice:
        raise InputError(
            f"Pipeline {name!r} has two stages for {', '.join(twice)}.", "Give each slot one stage."
        )


def _check_columns(name: str, stages: Sequence[_Wires]) -> None:
    written: dict[str, str] = {}
    for stage in stages:
        for column in stage.reads:
            if column not in written:
                raise InputError(
                    f"Pipeline {name!r}: the stage {stage.slot!r} reads the column {column!r}, "
                    "which no earlier stage writes.",
                    f"Put a stage that writes it before this one, or leave out {stage.slot!r}, too. "
                    f"Earlier stages write {', '.join(written) or 'nothing'}.",
                )
        for column in stage.writes:
            if column in written:
                raise InputError(
                    f"Pipeline {name!r}: the stages {written[column]!r} and {stage.slot!r} both write "
                    f"the column {column!r}.",
                    "Give each column one writer, so that each number has one explanation.",
                )
            written[column] = stage.slot
    late = {
        column
        for number, stage in enumerate(stages)
        for column in stage.may_read
        if any(column in later.writes for later in stages[number + 1 :])
    }
    if late:
        raise InputError(
            f"Pipeline {name!r} writes {', '.join(sorted(late))} after a stage that uses it.",
            "Put the stage that writes the column first.",
        )


def _used(stages: Sequence[_Wires]) -> set[str]:
    """The columns that the order and the cut-offs depend on, directly or through other columns."""
    writer = {column: stage for stage in stages for column in stage.writes}
    waiting = [column for stage in stages if not stage.writes for column in (*stage.reads, *stage.may_read)]
    used: set[str] = set()
    while waiting:
        column = waiting.pop()
        if column not in used and column in writer:
            used.add(column)
            waiting += [*writer[column].reads, *writer[column].may_read]
    return used


@dataclass(frozen=True)
class Source:
    """Where a behaviour comes from: what to open to check it. `place` names the file, as in our data."""

    repository: str
    release: str
    place: str
    issue: str = ""
    note: str = ""

    def __str__(self) -> str:
        where = ", ".join(part for part in (self.release, self.place, self.issue) if part)
        return f"{self.repository} {where}" + (f"\n  {self.note}" if self.note else "")


@dataclass(frozen=True)
class Change:
    """One named difference: a stage that takes the place of the one in its slot.

    A stage whose slot is new comes before the stage in the slot `before`, which must then be named.
    """

    name: str
    stage: Stage
    why: str
    source: Source
    before: str = ""


@dataclass(frozen=True)
class Difference:
    """A slot in which two pipelines differ, or `layout`; None where a pipeline has no such stage."""

    slot: str
    before: Stage | Layout | None
    after: Stage | Layout | None

    @property
    def texts(self) -> tuple[str | None, str | None]:
        """What was there before, and what is there after, in words that differ; None for nothing."""
        before, after = self.before, self.after
        if before is None or after is None or before.description != after.description:
            return before.description if before else None, after.description if after else None
        return _told_apart(before, after), _told_apart(after, before)


def _told_apart(one: Stage | Layout, other: Stage | Layout) -> str:
    """A description that `other` has, too, with the class and the parameters in which `one` differs."""
    known: list[dict[str, Any]] = [parameters(each) if is_dataclass(each) else {} for each in (one, other)]
    mine, theirs = known
    named = [] if type(one) is type(other) else [type(one).__name__]
    named += [f"{name} = {value}" for name, value in mine.items() if theirs.get(name) != value]
    return f"{one.description} ({', '.join(named) or repr(one)})"


class Differences(list[Difference], Shown):
    """What differs between two pipelines: the layout first, then the slots in running order."""

    def __str__(self) -> str:
        """The differences as lines of − and +, at most WIDTH wide."""
        lines = []
        for one in self:
            before, after = one.texts
            lines.append(one.slot)
            lines += _signed("−", before) if before else []
            lines += _signed("+", after) if after else []
        return "\n".join(lines) or "no difference"

    def as_json(self) -> list[dict[str, Any]]:
        """The differences by slot; null if a system has no such stage."""
        rows = [(one.slot, *one.texts) for one in self]
        return json_rows(Table("", ("slot", "before", "after"), rows))


def _signed(sign: str, description: str) -> list[str]:
    return wrap(
        description, WIDTH, initial_indent=f"  {sign} ", subsequent_indent="    ", break_on_hyphens=False
    )


@dataclass(frozen=True, repr=False)
class Pipeline(Shown):
    """Named stages in the order in which they run, one per slot, and the source that they follow.

    Raises InputError when two stages claim one slot or write one column, when a stage reads a column that no
    earlier stage writes, and when nothing that ranks or drops candidates depends on what a leg brings.
    `indexing` is how the release makes its index; None for a system that says nothing of that.
    """

    name: str
    stages: tuple[Stage, ...]
    source: Source
    changes: tuple[Change, ...] = field(default=())
    layout: Layout | None = None
    indexing: Indexing | None = None

    def __post_init__(self) -> None:
        _check(self.name, tuple(map(_wires, self.stages)))

    def __getitem__(self, slot: str) -> Stage:
        """The stage in a slot. Raises InputError for a slot that this pipeline does not have."""
        for stage in self.stages:
            if stage.slot == slot:
                return stage
        raise InputError(
            f"Pipeline {self.name!r} has no stage {slot!r}.",
            f"It has {', '.join(stage.slot for stage in self.stages)}.",
        )

    def with_stage(self, stage: Stage) -> Pipeline:
        """This pipeline with `stage` in its slot, under the same name."""
        there = self[stage.slot]
        stages = tuple(stage if old is there else old for old in self.stages)
        if _wires(there) != _wires(stage):
            return replace(self, stages=stages)
        # The stages fit together as before. A search for settings makes thousands of such pipelines.
        changed = object.__new__(type(self))
        changed.__dict__.update(self.__dict__, stages=stages)
        return changed

    def with_new_stage(self, stage: Stage, before: str) -> Pipeline:
        """This pipeline with `stage` in a slot that it did not have, ahead of the slot `before`."""
        number = self.stages.index(self[before])
        return replace(self, stages=(*self.stages[:number], stage, *self.stages[number:]))

    def with_changes(self, *changes: Change) -> Pipeline:
        """This pipeline with each change made; its name says which: `openclaw-2026.2.13+or+rrf`."""
        changed = self
        for change in changes:
            new = change.before and all(stage.slot != change.stage.slot for stage in changed.stages)
            changed = replace(
                changed.with_new_stage(change.stage, change.before)
                if new
                else changed.with_stage(change.stage),
                name=f"{changed.name}+{change.name}",
                changes=(*changed.changes, change),
            )
        return changed

    def asking(self, limit: float | None = None, min_score: float | None = None) -> Pipeline:
        """This pipeline with a caller's limit and floor; candidate depths follow the limit.

        A system that has no floor gets one ahead of its limit, which says that it is not the system's own.
        Raises InputError for what is not a number, and for a limit below 0 or above MOST_RESULTS.
        """
        for name, value, example in (("limit", limit, 6), ("min_score", min_score, 0.35)):
            if value is not None and not _is_number(value):
                raise InputError(
                    f"{name} is {value!r}, which is not a number.", f"Give one, such as {example}."
                )
        if limit is not None and not 0 <= limit <= MOST_RESULTS:
            raise InputError(
                f"limit is {brief(limit)}, which no search can return.",
                f"Give a whole number up to {MOST_RESULTS:,}, such as 6.",
            )
        asked = self
        if limit is not None:
            asked = asked.with_stage(Limit(limit))
        if min_score is None:
            return asked
        floors = [stage for stage in self.stages if isinstance(stage, MinScore)]
        if floors:
            return asked.with_stage(replace(floors[0], floor=min_score))
        return asked.with_new_stage(AddedFloor(min_score), before=Limit.slot)

    def diff(self, other: Pipeline) -> Differences:
        """What differs in `other`: the layout first, then the slots in running order."""
        mine, theirs = self._parts, other._parts
        slots = dict.fromkeys([*mine, *theirs])
        return Differences(
            Difference(slot, mine.get(slot), theirs.get(slot))
            for slot in slots
            if mine.get(slot) != theirs.get(slot)
        )

    def searches_as(self, other: Pipeline) -> bool:
        """Whether the other pipeline has the same layout and stages in the same order, whatever its name."""
        return (self.stages, self.layout) == (other.stages, other.layout)

    @property
    def _parts(self) -> dict[str, Stage | Layout | None]:
        return {"layout": self.layout, **{stage.slot: stage for stage in self.stages}}

    @property
    def limit(self) -> float:
        stage = self["limit"]
        return stage.count if isinstance(stage, Limit) else 0.0

    @property
    def floor(self) -> float:
        """The lowest score that is kept; minus infinity where there is no floor."""
        return next((stage.floor for stage in self.stages if isinstance(stage, MinScore)), -math.inf)

    @property
    def floored(self) -> str:
        """The column that the floor compares; without a floor "score", which an added one compares."""
        return next((stage.of for stage in self.stages if isinstance(stage, MinScore)), AddedFloor.of)

    def __repr__(self) -> str:
        """One line of flow: the name, and the stages with their settings, joined with `>>`."""
        return f"{self.name}: {flow(self.stages)}"

    def __str__(self) -> str:
        """The line of flow, then each stage in words, the changes and the source."""
        layout = [f"  layout: {self.layout.description}"] if self.layout else []
        steps = [f"  {number}. {stage.description}" for number, stage in enumerate(self.stages, 1)]
        changes = [f"  +{change.name}: {change.why}" for change in self.changes]
        return "\n".join([repr(self), *layout, *steps, *changes, f"  source: {self.source}"])

    def page(self) -> list[Part]:
        """The stages as a picture, with the changed ones marked, and below it what is printed."""
        used = [change for change in self.changes if change.stage in self.stages]  # and not replaced later
        marks = {change.stage.slot: Mark("changed", f"+{change.name}") for change in used}
        return [picture(self.stages, marks, f"the stages of {self.name}"), *self.view()]

    def as_json(self) -> dict[str, Any]:
        """The stages by slot, the changes, and the source."""
        return {
            "name": self.name,
            "layout": self.layout.description if self.layout else None,
            "stages": [{"slot": stage.slot, "says": stage.description} for stage in self.stages],
            "changes": [{"name": one.name, "slot": one.stage.slot, "why": one.why} for one in self.changes],
            "source": asdict(self.source),
        }


@dataclass(frozen=True)
class Running:
    """One search that is running: what its stages may ask for."""

    index: Index
    question: str
    limit: float
    query_vector: Vector | None = None

    def vector(self) -> Vector:
        return self._embedded

    def observations(self, stage: Observer, trace: Trace) -> Mapping[str, Floats]:
        return stage.observe(trace, self)

    @cached_property
    def _embedded(self) -> Vector:
        return self.index.embed(self.question) if self.query_vector is None else self.query_vector


def _is_number(value: object) -> bool:
    if isinstance(value, int):  # which may have more digits than a float
        return not isinstance(value, bool)
    return isinstance(value, Real) and not math.isnan(value)


def check_pipeline(value: object) -> None:
    """Raises InputError for what is not a pipeline, such as the name of one."""
    if not isinstance(value, Pipeline):
        raise InputError(
            f"{value!r} is not a pipeline.",
            "workbench.system(name) gives the one of that name: workbench.search(question, system, index)",
        )


def run(trace: Trace, context: Context, first: int = 0, last: int | None = None) -> Trace:
    """The trace after the stages from `first` up to, but not including, `last` have run in their order.

    `trace` must be as it was before the stage `first`. This is the only place where stages are executed: a
    sweep, too, runs them here, once for the candidates of all questions.
    """
    moments = list(trace.moments[:first])
    for stage in trace.stages[first:last]:
        trace = with_left_out(run_stage(stage, trace, context), trace.order, stage)
        moments.append(Moment.of(trace))
    return trace.with_changes(moments=tuple(moments))


def before(trace: Trace, number: int) -> Trace:
    """The trace as it was before stage `number` ran; at least one stage must have run before it."""
    moment = trace.moments[number - 1]
    cutoffs = {index: cutoff for index, cutoff in trace.cutoffs.items() if index < number}
    return trace.with_changes(
        columns=moment.columns,
        dropped=moment.dropped,
        order=moment.order,
        ranked_by=moment.ranked_by,
        scales=moment.scales,
        names=moment.names,
        notes=moment.notes,
        cutoffs=cutoffs,
        moments=trace.moments[:number],
    )


def search(
    question: str, pipeline: Pipeline, index: Index, vector: Vector | None = None, last: int | None = None
) -> Trace:
    """The trace of running `pipeline` for `question` on `index`; a blank question asks nothing.

    `vector` is the question's unit vector if it is already known. With `last`, the stages from that
    number on do not run. Raises InputError for a question that is not text, for what is not a pipeline or not
    an index, for a vector that is no unit vector, and for an index that cannot be laid out as the pipeline
    needs it.
    """
    check_pipeline(pipeline)
    check_open(index)
    if not isinstance(question, str):
        raise InputError(f"{question!r} is not a question.", "Give its text.")
    if vector is not None:
        _check_vector(vector)
    cleaned = question.strip(BLANKS)
    trace = Trace(cleaned, pipeline.name, pipeline.stages, layout=pipeline.layout)
    if not cleaned:
        return trace
    with index.snapshot():
        if vector is None and any(isinstance(stage, VectorLeg) for stage in pipeline.stages[:last]):
            # Embed before anything is read: a reader may keep a writer waiting.
            vector = index.embed(cleaned)
        context = Running(index.laid_out(pipeline.layout), cleaned, pipeline.limit, vector)
        trace = trace.with_changes(caution=caution(pipeline, index), searched=state_of(index))
        return run(trace, context, last=last)


def _check_vector(vector: object) -> None:
    """Raises InputError for what is no unit vector of numbers; a vector of zeros is one that says nothing."""
    remedy = "Give index.embed(question), or leave the vector out."
    if not isinstance(vector, np.ndarray):
        raise InputError(f"The question's vector is no array: {brief(vector)}.", remedy)
    if vector.ndim != 1 or vector.dtype.kind != "f":
        raise InputError(
            f"The question's vector is no row of numbers: {vector.dtype} of the shape {vector.shape}.", remedy
        )
    if not np.isfinite(vector).all():
        raise InputError("The question's vector has numbers that are not finite.", remedy)
    length = float(np.linalg.norm(vector.astype(float)))
    if vector.any() and abs(length - 1) > UNIT:
        raise InputError(f"The question's vector has the length {length:.4g} instead of 1.", remedy)


def caution(pipeline: Pipeline, index: Index) -> MadeOtherwise | None:
    """How an index differs from one that the pipeline's release makes; None without difference or release."""
    indexing = pipeline.indexing
    if indexing is None:
        return None
    return memoized(index, ("made otherwise", indexing.name), lambda: index.made_otherwise(indexing))

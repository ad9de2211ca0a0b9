"""Causes: the smallest sets of stages whose removal or known repair changes the answer.

A repair takes a stage away, or puts another known stage into its slot. A change is priced by the user's
labelled questions, or by the memory's own as a proxy.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import combinations, groupby, islice
from pathlib import PurePath, PurePosixPath
from textwrap import shorten
from traceback import extract_tb
from typing import Any, TypeVar

import numpy as np

from workbench.contracts import Index
from workbench.errors import InputError, WorkbenchError
from workbench.measure.blame import LAYOUT, Edit, Reruns, edited, edits_between, fits
from workbench.measure.measures import HITS
from workbench.measure.paired import Paired, paired_values
from workbench.measure.questions import Control, Question, QuestionSet
from workbench.records import Candidate, DropKind, Floats, Stage, Trace
from workbench.retrieval.cutoff import Limit, MinScore, Order, early_limits
from workbench.retrieval.explain import Explanation, Verdict, explain, steps
from workbench.retrieval.fusion import OneLeg, RankSum, Weighted
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.legs import FixedDepth, LegRank, LegStage, Union, legs_of
from workbench.retrieval.own_stages import is_own, place_of
from workbench.retrieval.pipeline import Change, Pipeline
from workbench.retrieval.query import JoinedWords, PrunedUnicodeWords, PrunedWords, UnicodeWords
from workbench.retrieval.scope import EVERYTHING, FILTER_FIRST, Scope
from workbench.retrieval.scoring import Cosine, MinMaxRank
from workbench.safe_text import counted
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.history import changes
from workbench.systems.openclaw import EVIDENCE_FLOOR, FIXES, SIGN
from workbench_plugins.diagnose.parameters import Goal, settings_between
from workbench_plugins.diagnose.stage_settings import content_of, is_known, short_settings
from workbench_plugins.diagnose.suspects import (
    Suspects,
    drops_all,
    early_text,
    plain_leg,
    scales_apart,
    suspects,
)
from workbench_plugins.rerank import Rerank

DEEPEST = 1_000_000
FEW_DIFFERENCES = 2
"""A pipeline with no system's name is compared with the nearest systems that differ in so many slots."""

PLAIN: dict[str, Stage] = {
    "query": UnicodeWords("OR"),
    "keyword_score": MinMaxRank(),
    "vector_score": Cosine(),
    "candidates": Union(),
    "fusion": RankSum(),
    "order": Order(),
    "limit": Limit(),
}
"""What is tried in place of a stage of one's own, besides the legs."""
DEEP_POOL = 40
SCORE = "score"
"""The column that a fusion writes."""
RANKING = (Order.slot, "fusion")
"""Slots without which nothing is ranked: their stages can be replaced, and are never taken away."""
GENERAL = (*FIXES, SIGN, EVIDENCE_FLOOR)
"""Changes that fit systems of any kind; the others are tried on systems of their own repository."""


@dataclass(frozen=True)
class Repair:
    """A known change of one slot: its name, the edits that make it, and the reason that its source gives.

    `removes` marks a repair that takes a stage's effect away. `restores` names the system from which the
    pipeline differs in this slot; the repair undoes the difference. `own` says that the pipeline has the name
    of that system. `loosens` marks a longer answer. `usual` says that a registered system has in this slot
    what the pipeline has now. `change` is the system's own named change. `plain` marks what the workbench
    itself offers, such as its plain stage in place of one that no system has. `now` is the value of a leg of
    one's own with which it does not list the wanted file.
    """

    slot: str
    name: str
    edits: tuple[Edit, ...]
    why: str
    removes: bool = False
    restores: str = ""
    own: bool = False
    loosens: bool = False
    usual: bool = True
    change: Change | None = None
    plain: bool = False
    now: str = ""

    @property
    def moves(self) -> bool:
        """Whether the repair takes a stage out and puts it in again at another place."""
        return len({edit.slot for edit in self.edits}) < len(self.edits)


def repairs(pipeline: Pipeline) -> list[Repair]:
    """Every removal and every known repair that fits a pipeline, in the order of its slots."""
    found: dict[tuple[Edit, ...], Repair] = {}
    sources = (_restored, _undone, _named, _of_others, _moved, _plain, _removals)
    for one in (repair for source in sources for repair in source(pipeline)):
        changes_it = any(content_of(pipeline, edit.slot) != edit.content for edit in one.edits)
        # A scope may be a permission, so no repair takes it away.
        unscoped = any(edit.slot == Scope.slot and edit.content is None for edit in one.edits)
        if changes_it and not unscoped and one.edits not in found and fits(pipeline, one.edits):
            found[one.edits] = _judged(pipeline, one)
    slots = [LAYOUT, *(stage.slot for stage in pipeline.stages)]
    return sorted(found.values(), key=lambda one: slots.index(one.slot) if one.slot in slots else len(slots))


def _judged(pipeline: Pipeline, repair: Repair) -> Repair:
    """The repair with what it says of the pipeline: whether it loosens it, and whether its slot is usual."""
    now = content_of(pipeline, repair.slot)
    new = next((one.content for one in repair.edits if one.slot == repair.slot), None)
    loosens = isinstance(now, Limit) and isinstance(new, Limit) and new.count > now.count
    return replace(repair, loosens=loosens, usual=now is None or is_known(repair.slot, now))


# Known repairs


def _restored(pipeline: Pipeline) -> Iterator[Repair]:
    """Each difference from the system whose name the pipeline has, or else from the nearest, undone."""
    named = _namesake(pipeline)
    for usual in _nearest(pipeline) if named is None else [named]:
        for edit in edits_between(pipeline, usual):
            why = "undoes your setting" if named else f"{usual.name} has this here"
            own = named is not None
            slot = _slot_of(pipeline, edit)
            yield Repair(slot, f"as in {usual.name}", (edit,), why, restores=usual.name, own=own)


def _slot_of(pipeline: Pipeline, edit: Edit) -> str:
    """Where an edit's cause is: for another order, the stage of one's own whose column ranks now."""
    order = content_of(pipeline, edit.slot)
    if not isinstance(order, Order) or getattr(edit.content, "by", order.by) == order.by:
        return edit.slot
    ranking = (one.slot for one in pipeline.stages if is_own(one) and order.by in one.writes())
    return next(ranking, edit.slot)


def _nearest(pipeline: Pipeline) -> list[Pipeline]:
    """The systems with the same slots that differ in the fewest of them.

    There are none if more than FEW_DIFFERENCES differ, or if a system is equal. Such a
    system is what the pipeline was probably made from.
    """
    slots = [stage.slot for stage in pipeline.stages]
    alike = [one for one in SYSTEMS.values() if [stage.slot for stage in one.stages] == slots]
    counts = [len(pipeline.diff(one)) for one in alike]
    least = min(counts, default=0)
    if not 0 < least <= FEW_DIFFERENCES:
        return []
    return [one for one, count in zip(alike, counts, strict=True) if count == least]


def _namesake(pipeline: Pipeline) -> Pipeline | None:
    """The system whose name a pipeline has, with its named changes and without a file's settings."""
    name = pipeline.name.partition("@")[0]
    if name in SYSTEMS:
        return SYSTEMS[name]
    bases = (one for one in SYSTEMS.values() if pipeline.changes and name.startswith(one.name))
    made = (_changed(one, pipeline.changes) for one in bases)
    return next((one for one in made if one is not None and one.name == name), None)


def _changed(base: Pipeline, some: Sequence[Change]) -> Pipeline | None:
    """The system with some changes; None if they do not fit."""
    try:
        return base.with_changes(*some)
    except InputError:
        return None


def _undone(pipeline: Pipeline) -> Iterator[Repair]:
    """The changes that the pipeline itself is made of, each undone."""
    for base in SYSTEMS.values():
        if pipeline.changes and _is_base(base, pipeline):
            for change in pipeline.changes:
                others = [one for one in pipeline.changes if one is not change]
                without = _changed(replace(base, layout=pipeline.layout), others)
                if without is not None:
                    edits = tuple(edits_between(pipeline, without))
                    yield Repair(change.stage.slot, f"without +{change.name}", edits, f"undoes: {change.why}")
            return


def _is_base(base: Pipeline, pipeline: Pipeline) -> bool:
    made = _changed(base, pipeline.changes)
    return base.stages != pipeline.stages and made is not None and made.stages == pipeline.stages


def fitted_slots(pipeline: Pipeline) -> set[str]:
    """The slots of stages whose numbers were fitted to many questions, as their system has them."""
    return {one.slot for one in pipeline.stages if getattr(one, "fitted", False) and is_known(one.slot, one)}


def _named(pipeline: Pipeline) -> Iterator[Repair]:
    """The named changes of systems of the same repository, and those that fit any system.

    One question is no reason to change what was fitted to many.
    """
    slots = {stage.slot for stage in pipeline.stages} - fitted_slots(pipeline)
    for change in changes():
        general = change in GENERAL
        if not general and change.source.repository != pipeline.source.repository:
            continue
        if change.stage.slot in slots or change.before in slots:
            edit = Edit(change.stage.slot, change.stage, change.before)
            yield Repair(edit.slot, f"+{change.name}", (edit,), change.why, change=change)


def _of_others(pipeline: Pipeline) -> Iterator[Repair]:
    """The stages and layouts of other systems of the same repository, and each stage's own defaults."""
    slots = {stage.slot for stage in pipeline.stages}
    for other in SYSTEMS.values():
        if other.source.repository == pipeline.source.repository:
            for stage in other.stages:
                if stage.slot in slots:
                    yield _as_in(pipeline, other, Edit(stage.slot, stage))
            yield _as_in(pipeline, other, Edit(LAYOUT, other.layout))
    for stage in pipeline.stages:
        usual = _defaults(stage)
        # An order belongs to what wrote its column; what was fitted is lost with the defaults, not mended.
        if usual is not None and stage.slot != Order.slot and not _empties(stage, usual):
            yield Repair(stage.slot, "its defaults", (Edit(stage.slot, usual),), "the defaults of the stage")


def _as_in(pipeline: Pipeline, other: Pipeline, edit: Edit) -> Repair:
    return Repair(_slot_of(pipeline, edit), f"as in {other.name}", (edit,), f"{other.name} has this here")


def _defaults(stage: Stage) -> Stage | None:
    """The stage with the default of every parameter; None if one has no default."""
    try:
        usual: Stage = type(stage)()
    except (TypeError, InputError):
        return None
    return usual


def _empties(some: Any, usual: Any) -> bool:
    """Whether a part of a stage that has values, such as fitted weights, has none in the other stage."""
    if is_dataclass(some) and type(some) is type(usual):
        return any(_empties(getattr(some, one.name), getattr(usual, one.name)) for one in fields(some))
    return isinstance(some, tuple) and bool(some) and usual == ()


def _moved(pipeline: Pipeline) -> Iterator[Repair]:
    """Each limit that stands before the order, right after it."""
    slots = [stage.slot for stage in pipeline.stages]
    for stage in early_limits(pipeline.stages):
        after = next(iter(slots[slots.index(Order.slot) + 1 :]), "")
        edits = (Edit(stage.slot, None), Edit(stage.slot, stage, after))
        yield Repair(stage.slot, f"{stage.slot} after the order", edits, "it then keeps the best")


# What no system has


def _plain(pipeline: Pipeline) -> Iterator[Repair]:
    """The workbench's plain stage in each slot whose stage no system has and that is of another kind.

    A plain limit keeps the first of an order, so it needs one.
    """
    ordered = any(stage.slot == Order.slot for stage in pipeline.stages)
    for stage in pipeline.stages:
        plain: Stage | None = PLAIN.get(stage.slot) if ordered or stage.slot != Limit.slot else None
        if isinstance(stage, Limit) and is_own(stage) and ordered:
            plain = Limit(stage.count)
        if isinstance(stage, LegStage) and (leg := plain_leg(stage)) is not None:
            plain = replace(leg, depth=FixedDepth(cap=int(stage.deepest(pipeline.limit))))
        yield from _weighed(stage) if isinstance(stage, Weighted) else ()
        yield from _ranked_by_score(pipeline, stage) if isinstance(stage, Order) else ()
        yield from _filtered_first(stage) if isinstance(stage, Scope) else ()
        if isinstance(stage, Rerank):
            deeper = replace(stage, count=max(stage.count, DEEP_POOL))
            yield Repair(
                stage.slot, "a deeper pool", (Edit(stage.slot, deeper),), deeper.description, plain=True
            )
        elif plain is not None and not _is_like(stage, plain) and not is_known(stage.slot, stage):
            why = "the plain stage of this slot"
            yield Repair(stage.slot, "plain", (Edit(stage.slot, plain),), why, plain=True)


def _ranked_by_score(pipeline: Pipeline, order: Order) -> Iterator[Repair]:
    """The order by the fused score, in place of the order by the column of a stage of one's own.

    A floor on this column compares the fused score, too.
    """
    edit = Edit(Order.slot, replace(order, by=SCORE))
    slot = _slot_of(pipeline, edit)
    if slot != Order.slot:
        floors = [one for one in pipeline.stages if isinstance(one, MinScore) and one.of == order.by]
        edits = (edit, *(Edit(one.slot, replace(one, of=SCORE)) for one in floors))
        yield Repair(slot, f"order by {SCORE}", edits, "the fused score ranks", plain=True)


def _is_like(stage: Stage, plain: Stage) -> bool:
    """Whether a stage is of the kind of the plain one; an order by the score of one leg is of another."""
    if isinstance(stage, Order) and stage.by in ("vector_score", "keyword_score"):
        return False
    return type(stage) is type(plain) or (isinstance(stage, Limit) and not is_own(stage))


def _filtered_first(stage: Scope) -> Iterator[Repair]:
    """The same scope with the filter first."""
    first = Edit(stage.slot, replace(stage, breadth=EVERYTHING))
    yield Repair(stage.slot, "filter first", (first,), FILTER_FIRST, plain=True)


def without_stop_words(pipeline: Pipeline) -> list[Repair]:
    """The query without stop words, for a system that asks all words of a question; empty for others.

    It is tried as a fix, and no cause.
    """
    kinds = {JoinedWords: PrunedWords, UnicodeWords: PrunedUnicodeWords}
    for stage in pipeline.stages:
        pruned = kinds.get(type(stage))  # type: ignore[arg-type]
        if isinstance(stage, JoinedWords) and pruned is not None:
            edit, why = Edit(stage.slot, pruned(stage.join)), "words such as “the” are in many files"
            return [Repair(stage.slot, "without stop words", (edit,), why, plain=True)]
    return []


def _weighed(stage: Weighted) -> Iterator[Repair]:
    """A weight for each leg that has none: that of the other leg, and two, four and eight times as much."""
    for leg in (one for one in ("vector", "keyword") if stage.weights[one] == 0):
        for times in (1, 2, 4, 8):
            weight: dict[str, Any] = {leg: times * (max(stage.weights.values()) or 1.0)}
            edit = Edit(stage.slot, replace(stage, **weight))
            yield Repair(stage.slot, f"{leg} weight", (edit,), f"the {leg} leg counts", plain=True)


# Removals


def _removals(pipeline: Pipeline) -> Iterator[Repair]:
    for stage in pipeline.stages:
        yield from _removal(stage)
    for leg in legs_of(pipeline.stages):
        yield from _without_leg(pipeline, leg)


def _removal(stage: Stage) -> Iterator[Repair]:
    slot = stage.slot
    if isinstance(stage, Limit):
        unlimited = Edit(slot, Limit(Limit.ranges["count"][1]))
        yield Repair(slot, "no limit", (unlimited,), "every candidate that is left is returned", removes=True)
    elif isinstance(stage, Rerank):
        edits = (Edit(slot, None), Edit(Order.slot, stage.fused))
        yield Repair(slot, "no reranker", edits, "the fused order is kept", removes=True)
    elif isinstance(stage, LegStage):
        deep = _deepened(stage)
        if deep is not None:
            why = "the leg brings every match"
            yield Repair(slot, f"{stage.name} leg without a depth", (Edit(slot, deep),), why, removes=True)
    elif not isinstance(stage, Union) and slot not in (Limit.slot, "query", *RANKING):
        name = f"no {slot.replace('_', ' ')}"
        yield Repair(slot, name, (Edit(slot, None),), "the stage does nothing", removes=True)


def _deepened(stage: Any, deepest: int = DEEPEST) -> Stage | None:
    """A leg that brings so many matches, or as many as now, if its depth is a parameter."""
    depth = getattr(stage, "depth", None)
    if not is_dataclass(depth) or isinstance(depth, type):
        return None
    now = {one.name: getattr(depth, one.name) for one in fields(depth)}
    wide = {name: max(value, deepest) for name, value in now.items() if isinstance(value, int | float)}
    deep: Stage = replace(stage, depth=replace(depth, **wide))
    return deep


def _without_leg(pipeline: Pipeline, leg: LegStage) -> Iterator[Repair]:
    """The pipeline without one of its legs, where the others have a score without it.

    To leave out a third leg, of one's own, gives a plain pipeline, and counts as no removal.
    """
    fused = _fused_without(pipeline, leg)
    if fused is None:
        return
    read = {f"{leg.name}_{what}" for what in ("raw", "rank", "relevance", "score")}
    gone = [
        one
        for one in pipeline.stages
        if one.slot != "fusion" and (one.slot == leg.slot or read & set(one.reads()))
    ]
    edits = (Edit("fusion", fused), *(Edit(one.slot, None) for one in gone))
    why = f"the {fused.leg} leg decides alone" if isinstance(fused, OneLeg) else "the other legs decide"
    extra = not isinstance(fused, OneLeg)
    yield Repair(leg.slot, f"no {leg.name} leg", edits, why, removes=not extra, plain=extra)


def _fused_without(pipeline: Pipeline, leg: LegStage) -> Stage | None:
    """The fusion of the other legs; None where they have none without this leg.

    A fusion may need the legs that come with it, so only a leg of one's own is taken out of the workbench's.
    """
    fusion = content_of(pipeline, "fusion")
    if is_own(leg) and not is_own(fusion) and isinstance(fusion, Weighted) and leg.name in dict(fusion.more):
        return replace(fusion, more=tuple(one for one in fusion.more if one[0] != leg.name))
    others = [one.name for one in legs_of(pipeline.stages) if one.name != leg.name]
    columns = {column for stage in pipeline.stages for column in stage.writes()}
    return OneLeg(others[0]) if len(others) == 1 and f"{others[0]}_score" in columns else None


def moved_to(pipeline: Pipeline, repair: Repair, bound: int) -> Repair:
    """A repair that takes a limit or a depth away, with this bound in its place; any other one as it is."""
    now = content_of(pipeline, repair.slot)
    if not repair.removes or len(repair.edits) > 1:
        return repair
    if isinstance(now, Limit):
        count = min(max(now.count, bound), Limit.ranges["count"][1])
        return replace(repair, edits=(Edit(repair.slot, replace(now, count=count)),))
    deep = _deepened(now, bound) if isinstance(now, LegStage) else None
    return repair if deep is None else replace(repair, edits=(Edit(repair.slot, deep),))


def combined(pipeline: Pipeline, some: Iterable[Repair]) -> Pipeline:
    """The pipeline with several repairs. Raises InputError if the stages do not fit together."""
    return edited(pipeline, [edit for one in some for edit in one.edits])


MOST_OWN = 48
"""The number of own questions of a memory, spread evenly over its files."""

LONGEST_OWN = 12
"""Words of a line that serve as a question."""


@dataclass(frozen=True)
class Marks:
    """What a pipeline made of the questions: 1 / rank of each target (0: not returned), and each silence."""

    reciprocal: Floats
    silent: Floats
    counted: float = math.inf

    @property
    def hit(self) -> Floats:
        """1 for each question whose target is returned, else 0."""
        return (self.reciprocal > 0).astype(float)

    @property
    def hits(self) -> int:
        """The number of questions whose target is returned."""
        return int(np.count_nonzero(self.reciprocal))

    @property
    def silences(self) -> int:
        """The number of unanswerable questions with an empty answer."""
        return int(np.count_nonzero(self.silent))

    @property
    def right(self) -> float:
        """How right the answers are, 0 to 1: the mean over all questions of 1 / rank, or of silence.

        A rank beyond `counted` counts nothing, so that a longer answer does not look like a better one.
        """
        near = np.where(self.reciprocal * self.counted >= 1, self.reciprocal, 0.0)
        every = np.concatenate([near, self.silent])
        return float(every.mean()) if every.size else 0.0


@dataclass(frozen=True)
class Price:
    """What a change costs and brings over the questions, with the verdict of the paired test on both."""

    before: Marks
    after: Marks
    hits: Paired | None
    silence: Paired | None

    @property
    def wins(self) -> int:
        """The questions with a right answer only after the change, unanswerable ones included."""
        return sum(one.wins for one in (self.hits, self.silence) if one is not None)

    @property
    def hits_text(self) -> str:
        """The hits before and after: `6 → 49`."""
        return f"{self.before.hits} → {self.after.hits}"

    @property
    def silence_text(self) -> str:
        """The unanswerable questions with an empty answer, before and after."""
        return f"{self.before.silences} → {self.after.silences}"

    @property
    def losses(self) -> int:
        """The questions with a right answer only before the change, unanswerable ones included."""
        return sum(one.losses for one in (self.hits, self.silence) if one is not None)


def raised_text(question: str, error: Exception) -> str:
    """Which question a search cannot answer, and which function raises what."""
    if isinstance(error, WorkbenchError):
        return error.problem if question in error.problem else f"“{question}”: {error.problem}"
    last = extract_tb(error.__traceback__)[-1]
    where = f"{last.name} ({PurePath(last.filename).name}:{last.lineno})"
    return f"“{question}”: {where} raises {type(error).__name__}: {error}"


class Prices:
    """Runs changed pipelines over a question set. Each question keeps the trace of the present pipeline.

    `proxy` says that the questions are not the user's, but made of the memory's own lines. A question for
    which a function of the user's raises is left out; `unanswered` says which, and where. If none is left,
    the question that is diagnosed stands `alone`.
    """

    def __init__(
        self, pipeline: Pipeline, index: CachedIndex, questions: QuestionSet | None, diagnosed: Question
    ) -> None:
        self._pipeline, self.index = pipeline, index
        self._asked: list[Reruns] = []
        self.unanswered: list[str] = []
        some = questions.questions if questions else own_questions(index)
        self.questions: Sequence[Question] = self._answered(some) or self._answered([diagnosed])
        self.alone = [one.question for one in self.questions] == [diagnosed.question]
        self.proxy = questions is None and not self.alone
        self.controls: Sequence[Control] = self._answered(questions.controls if questions else ())
        self._known: dict[Hashable, dict[int, list[str]]] = {}
        self._lost: Counter[int] = Counter()
        self._counted = max(pipeline.limit, Limit().count)
        self.now = self.marks(pipeline)
        self.unchanged = Price(self.now, self.now, None, None)

    def _answered(self, questions: Sequence[Asks]) -> list[Asks]:
        """Those of some questions that the present pipeline answers."""
        answered = []
        for one in questions:
            try:
                self._asked.append(Reruns(one.question, self._pipeline, self.index))
                answered.append(one)
            except Exception as error:  # whatever a stage or an engine of the user's raises
                self.unanswered.append(raised_text(one.question, error))
        return answered

    @property
    def asked_text(self) -> str:
        """What the questions are, after their number."""
        if self.alone:
            return "question (this one)"
        return "questions that the memory asks of itself" if self.proxy else "labelled questions"

    @property
    def traces(self) -> list[Trace]:
        """The present searches for the questions that have an answer."""
        return [one.base for one in self._asked[: len(self.questions)]]

    def marks(self, pipeline: Pipeline, same_depth: bool = False, every: int = 1) -> Marks:
        """What `pipeline` makes of the questions, or of every second, third, … one.

        With `same_depth` the legs bring what they bring now, whatever the limit of `pipeline` is.
        """
        first = len(self.questions)
        asked, silent = range(0, first, every), range(first, len(self._asked), every)
        answers = self._answers(pipeline, (*asked, *silent), same_depth)
        return self._marked(dict(zip((*asked, *silent), answers, strict=True)), asked, silent)

    def _marked(self, paths: Mapping[int, Sequence[str]], asked: range, silent: range) -> Marks:
        """The marks of answers, given by the places of their questions."""
        ranks = [_reciprocal(self.questions[number].target, paths[number]) for number in asked]
        silences = [float(not paths[number]) for number in silent]
        return Marks(np.array(ranks, float), np.array(silences, float), self._counted)

    def _answers(
        self, pipeline: Pipeline, numbers: Iterable[int], same_depth: bool = False
    ) -> Iterator[list[str]]:
        """The files that `pipeline` returns for the questions at these places; each is asked once."""
        known = self._known.setdefault(self._key(pipeline, same_depth), {})
        for number in numbers:
            if number not in known:
                one = self._asked[number]
                known[number] = (one.at_same_depth if same_depth else one.trace)(pipeline).paths()
            yield known[number]

    def loses_more(self, pipeline: Pipeline, most: float) -> bool:
        """Whether changing to `pipeline` loses more than `most` right answers.

        It asks no more questions than it takes to tell, those that other changes lost first.
        """
        right = np.flatnonzero(np.concatenate([self.now.hit, self.now.silent])).tolist()
        right.sort(key=lambda number: -self._lost[number])
        lost = 0
        for number, paths in zip(right, self._answers(pipeline, right), strict=True):
            if not self._is_right(number, paths):
                lost += 1
                self._lost[number] += 1
            if lost > most:
                return True
        return False

    def _is_right(self, number: int, paths: Sequence[str]) -> bool:
        return self.questions[number].target in paths if number < len(self.questions) else not paths

    def _key(self, pipeline: Pipeline, same_depth: bool) -> Hashable:
        """What the answers depend on; with the present limit and layout, the depth is the same anyway."""
        now = self._pipeline
        alike = (pipeline.layout, pipeline.limit) == (now.layout, now.limit)
        return pipeline.stages, pipeline.layout, same_depth and not alike

    def price(self, pipeline: Pipeline) -> Price:
        """What changing to `pipeline` costs and brings."""
        return self._price(self.marks(pipeline))

    def price_in(self, index: CachedIndex) -> Price:
        """What it costs and brings to search another index of the same memory with the present pipeline."""
        answers = [Reruns(one.question, self._pipeline, index).base.paths() for one in self._asked]
        first = len(self.questions)
        return self._price(self._marked(dict(enumerate(answers)), range(first), range(first, len(answers))))

    def _price(self, after: Marks) -> Price:
        files = [one.target for one in self.questions]
        return Price(
            self.now,
            after,
            _compared(self.now.hit, after.hit, files),
            _compared(self.now.silent, after.silent, range(len(self.controls))),
        )


def _reciprocal(target: str, paths: Sequence[str]) -> float:
    return 1 / (1 + paths.index(target)) if target in paths else 0.0


def _compared(before: Floats, after: Floats, units: Sequence[Hashable]) -> Paired | None:
    return paired_values(before, after, HITS, units) if before.size else None


def own_questions(index: Index) -> list[Question]:
    """Questions that a memory's files ask of themselves: file names, headings and first lines.

    They are a proxy: their words stand in the file, so they are easier than a person's questions. At most
    MOST_OWN, from files that are spread evenly over the memory.
    """
    paths = index.paths()
    chosen = paths[:: max(1, -(-3 * len(paths) // MOST_OWN))]
    return [question for path in chosen for question in _of_file(index, path)]


def _of_file(index: Index, path: str) -> Iterator[Question]:
    name = " ".join(re.findall(r"[^\W\d_]+", PurePosixPath(path).stem))
    chunks = index.chunks(index.rows_of(path))
    lines = [line.strip() for chunk in chunks[:1] for line in chunk.text.splitlines()]
    headings = [line.lstrip("#").strip() for line in lines if line.startswith("#")]
    plain = [line for line in lines if line and not line.startswith(("#", "---", "<!--"))]
    asked = (("file name", name), ("heading", *headings[:1]), ("first line", *plain[:1]))
    for kind, *texts in asked:
        for text in texts:
            words = text.split()[:LONGEST_OWN]
            if any(any(character.isalnum() for character in word) for word in words):
                yield Question(question=" ".join(words), target=path, kind=kind)


Thing = TypeVar("Thing")
Asks = TypeVar("Asks", bound=Control)

MOST_TRIED = 800
"""So many sets of one size are tried at most; beyond that a large set is made smaller, one by one."""

MOST_CAUSES = 4
FEW = 3
"""To order many repairs, every third question is asked; the shown ones are asked all questions."""


@dataclass(frozen=True)
class Cause:
    """What keeps the answer from being as wanted: where it is, in words, and the evidence.

    `where` are slots of the pipeline, or `question`, `note`, `index`, `vectors`, `ids` or `chunk`. `repair`
    says what changes the answer; with `verified`, this has been run, and with `refuted` it has been run and
    does not suffice. `parameters` are the settings that make the repair, as `--set` takes them, if there are
    such. `after` is what the repaired pipeline makes of the questions. A `certain` cause is seen in the index
    or the folder, whether or not its repair was run.
    """

    where: tuple[str, ...]
    description: str
    repair: str
    evidence: str
    verified: bool
    repairs: tuple[Repair, ...] = field(default=(), repr=False)
    after: Marks | None = field(default=None, repr=False)
    parameters: tuple[str, ...] = ()
    refuted: bool = False
    certain: bool = False

    def as_json(self) -> dict[str, Any]:
        """The cause in the form that docs/commands.md describes."""
        return {
            "where": list(self.where),
            "parameters": list(self.parameters),
            "says": self.description,
            "repair": self.repair,
            "evidence": self.evidence,
            "verified": self.verified,
            "hits_after": self.after.hits if self.after else None,
            "silent_after": self.after.silences if self.after else None,
        }


def causes_inside(every: Sequence[Repair], runs: Reruns, goal: Goal, prices: Prices) -> list[Cause]:
    """The causes in the pipeline's own stages, the likeliest first; empty if no set of `every` repair helps.

    Each is enough alone. A setting with which the pipeline differs from the system of its name comes first,
    then what no known system has, then a difference from the nearest system, then known repairs, then longer
    answers, and last removals. Among equals, the order is by how right the repaired pipeline's answers are
    over all questions: the repair of a fault helps other questions too, while a way around it costs some.
    """
    pipeline = runs.pipeline
    found = [(one,) for one in every if _works(pipeline, [one], runs, goal)] or smallest(
        [one for one in every if one.removes or one.change], lambda some: _works(pipeline, some, runs, goal)
    )
    yours = [one for one in every if one.own and not one.loosens]
    if not any((one,) in found for one in yours):
        found += smallest(yours, lambda some: _works(pipeline, some, runs, goal))[:1]
    suspected = suspects(runs, prices.traces, goal)
    if suspected.odd and not any(one.slot in suspected.odd for some in found for one in some):
        found += _with_odd(every, suspected.odd, lambda some: _works(pipeline, some, runs, goal))
    by_where: dict[tuple[str, ...], Sequence[Repair]] = {}
    for some in _likeliest(found, pipeline, prices, FEW, suspected):
        by_where.setdefault(tuple(one.slot for one in some), some)
        if len(by_where) == 2 * MOST_CAUSES:
            break
    best = islice(_likeliest(by_where.values(), pipeline, prices, 1, suspected), MOST_CAUSES)
    return [_cause(some, suspected, runs, goal, prices) for some in best]


LETS_IN = ": it drops nothing of this file, and lets through what stands before it"


def repaired_slots(cause: Cause) -> tuple[str, ...]:
    """Where the repairs of a cause change the pipeline: in its own slots, or else where their edits are."""
    found: dict[str, None] = {}
    for one in cause.repairs:
        edited_slots = [edit.slot for edit in one.edits]
        found |= dict.fromkeys([one.slot] if one.slot in edited_slots else edited_slots)
    return tuple(found) or cause.where


def _with_odd(
    every: Sequence[Repair], odd: Collection[str], works: Callable[[Sequence[Repair]], bool]
) -> list[tuple[Repair, ...]]:
    """The pairs that work of a repair where a stage behaves as a fault does, and another one."""
    faults = [one for one in every if one.slot in odd and not one.removes]
    pairs = [(one, other) for one in faults for other in every if other.slot not in odd]
    return [one for one in pairs[:MOST_TRIED] if works(one)]


def is_yours(cause: Cause) -> bool:
    """Whether a cause is a setting of the user, or several, without which the system's own value works.

    A lower limit is none: it cuts any answer, whatever else is at fault.
    """
    return bool(cause.repairs) and all(one.own and not one.loosens for one in cause.repairs)


def _works(pipeline: Pipeline, some: Sequence[Repair], runs: Reruns, goal: Goal) -> bool:
    if len({one.slot for one in some}) < len(some):
        return False
    try:
        repaired = combined(pipeline, some)
        return any(legs_of(repaired.stages)) and goal.reached(_trace(repaired, some, runs))
    except InputError:
        return False


def _trace(repaired: Pipeline, some: Sequence[Repair], runs: Reruns) -> Trace:
    return (runs.at_same_depth if _removes(some) else runs.trace)(repaired)


def _removes(some: Sequence[Repair]) -> bool:
    return any(one.removes for one in some)


def _likeliest(
    sets: Iterable[Sequence[Repair]],
    pipeline: Pipeline,
    prices: Prices,
    every: int,
    suspected: Suspects,
) -> Iterator[Sequence[Repair]]:
    """Sets of repairs, the likeliest first. The questions are asked only to order sets that are alike."""

    def kind(some: Sequence[Repair]) -> tuple[int, ...]:
        return _kind(some, suspected)

    for _, alike in groupby(sorted(sets, key=kind), kind):
        some = list(alike)
        if len(some) > 1:
            some.sort(key=lambda one: _helpful(pipeline, one, prices, every))
        yield from some


def _kind(some: Sequence[Repair], suspected: Suspects) -> tuple[int, ...]:
    """What kind of repairs a set has, the likeliest kind first.

    A stage that behaves as a fault does is the likeliest, after a setting of the user. A removal and a longer
    answer show where the file is lost, but they also let everything else through. What no known system has is
    a likelier fault than what one ships, and a slot in which the file is lost than another one. A floor
    that does not drop the file is no cause of its own: a higher one only drops what stands before the file.
    """
    return (
        sum(one.slot in suspected.lets_in and not one.own for one in some) if len(some) == 1 else 0,
        sum(one.removes and one.slot not in suspected.odd for one in some),
        not all(one.own for one in some),
        not any(one.slot in suspected.odd for one in some),
        sum(one.slot not in suspected.odd for one in some),
        sum(one.usual for one in some),
        sum(not one.restores for one in some),
        sum(one.loosens for one in some),
        sum(one.slot not in suspected.lost for one in some),
        sum(one.removes for one in some),
    )


def _helpful(pipeline: Pipeline, some: Sequence[Repair], prices: Prices, every: int) -> tuple[float, int]:
    """Where a set of repairs stands among those of its kind: the most right answers first."""
    slots = {"layout", *(stage.slot for stage in pipeline.stages)}
    marks = prices.marks(combined(pipeline, some), same_depth=_removes(some), every=every)
    return -round(marks.right, 12), sum(one.slot not in slots for one in some)


def _cause(some: Sequence[Repair], suspected: Suspects, runs: Reruns, goal: Goal, prices: Prices) -> Cause:
    pipeline = runs.pipeline
    repaired = combined(pipeline, some)
    after = _trace(repaired, some, runs)
    told = [evidence(runs.base, after, runs.index, goal.path, one.slot) for one in some]
    return Cause(
        tuple(one.slot for one in some),
        _state(some, suspected, runs, goal, prices),
        " and ".join(_repair_text(pipeline, one) for one in some),
        " ".join(dict.fromkeys(told)),
        verified=goal.reached(after),
        repairs=tuple(some),
        after=prices.marks(repaired, same_depth=_removes(some)),
        parameters=short_settings(runs, goal, repaired)[0],
    )


def _repair_text(pipeline: Pipeline, repair: Repair) -> str:
    if repair.removes or repair.moves:
        return f"{repair.name}: {repair.why}"
    told = repair.edits[0].description
    same = told == _stage_text(pipeline, repair.slot) and repair.edits[0].content is not None
    return f"{repair.name}: {repair.edits[0].content!r}" if same else f"{repair.name}: {told}"


TWO_LINES = 160
"""So many letters fill two lines of a usual terminal."""

MOST_OF_A_STAGE = 100
"""So many letters of a stage's words leave room for the rest of a cause."""


def _state(some: Sequence[Repair], suspected: Suspects, runs: Reruns, goal: Goal, prices: Prices) -> str:
    """What the pipeline has in the slots of a cause.

    Where that fills more than two lines, a stage that the user has set is told by its words or by the
    settings alone, whichever is shorter, and of any other stage's words the first ones.
    """
    lets_in = LETS_IN if len(some) == 1 and some[0].slot in suspected.lets_in else ""
    for brief in (False, True):
        told = "; and ".join(_state_of(one, suspected, runs, goal, prices, brief) for one in some) + lets_in
        if len(f"Cause: {told}") <= TWO_LINES:
            break
    return told


def _state_of(
    repair: Repair, suspected: Suspects, runs: Reruns, goal: Goal, prices: Prices, brief: bool
) -> str:
    pipeline, slot = runs.pipeline, repair.slot
    usual, settings = _difference(pipeline, repair)
    how = f"by {', '.join(settings)}" if settings else f"in {slot.replace('_', ' ')}"
    differs = f"differs from {usual} {how}" if usual else ""
    facts = (
        _missed(runs.base, goal.path, slot)
        + early_text(runs.base, slot)
        + _own(pipeline, slot, suspected.ways)
        + (f", with {repair.now}: it does not list this file" if repair.now else "")
        + scales_apart(runs.base, slot)
        + (_above_all(prices) if slot == "floor" else "")
    )
    stage = _stage_text(pipeline, slot)
    if brief and settings:
        return in_slot(slot, min(stage, differs, key=len) + facts)
    if brief:
        stage = shorten(stage, MOST_OF_A_STAGE, placeholder=" …")
    return in_slot(slot, f"{stage}{facts}{'; ' if differs else ''}{differs}")


def in_slot(slot: str, text: str) -> str:
    """A text with the name of its slot before it, if it does not begin so itself."""
    name = slot.replace("_", " ")
    return text if text.startswith(name) else f"{name}: {text}"


def _difference(pipeline: Pipeline, repair: Repair) -> tuple[str, Sequence[str]]:
    """The system from which the pipeline differs in the slot of a repair, and the user's settings there.

    It is the difference that the repair undoes, or else the user's own one in its slot; empty for none.
    """
    of_user = (one for one in repairs(pipeline) if one.own and one.slot == repair.slot)
    undone = repair if repair.restores else next(of_user, None)
    if undone is None:
        return "", ()
    return undone.restores, settings_between(edited(pipeline, undone.edits), pipeline) if undone.own else ()


def _stage_text(pipeline: Pipeline, slot: str) -> str:
    """The stage that the pipeline has in a slot, in its own words."""
    if slot == "layout":
        return f"layout: {pipeline.layout.description if pipeline.layout else 'the index as it is'}"
    stage = content_of(pipeline, slot)
    return f"there is no {slot}" if stage is None else stage.description


def _own(pipeline: Pipeline, slot: str, ways: Mapping[str, str]) -> str:
    """Where a stage of one's own is written, and what it does as a fault does."""
    stage = next((one for one in pipeline.stages if one.slot == slot), None)
    if stage is None or not is_own(stage):
        return ""
    place = place_of(stage)
    return (f" ({place})" if place else "") + (f": {ways[slot]}" if slot in ways else "")


def _missed(trace: Trace, path: str, slot: str) -> str:
    """What the best chunk of a file has, where a floor or a limit in this slot drops it."""
    best = next((one for one in trace.candidates if one.chunk.path == path), None)
    if best is None or best.drop is None or best.drop.stage.slot != slot:
        return ""
    if best.drop.kind not in (DropKind.FLOOR, DropKind.LIMIT):  # other stages compare numbers of their own
        return ""
    misses = best.drop.misses
    names = [f"{one.measure} " if len(misses) > 1 else "" for one in misses]
    told = [f"{name}{one.shown}" for name, one in zip(names, misses, strict=True)]
    return f" ({_whose(trace, best)}: {', '.join(told)})"


def _whose(trace: Trace, best: Candidate) -> str:
    """Whose the numbers are with which a candidate misses: its file's, or all candidates' alike."""
    cutoff = trace.cutoffs.get(trace.stage_number(best.drop.stage)) if best.drop else None
    values = [one.values for one in cutoff.thresholds] if cutoff else []
    alike = all(np.unique(one[~np.isnan(one)]).size == 1 for one in values)
    return "the whole answer" if values and alike and trace.rows.size > 1 else "this file"


def _above_all(prices: Prices) -> str:
    """That a floor is above the best score of every question, so that it drops whatever is found."""
    best = drops_all(prices.traces)
    if best is None:
        return ""
    asked = "" if prices.alone else f" of {counted(len(prices.questions), 'other question')}"
    return f", above every score: the best{asked} is {best:.3g}, so it drops everything"


# The arithmetic behind a cause


def evidence(before: Trace, after: Trace, index: Index, target: str, slot: str) -> str:
    """What the stage in `slot` did with the best chunk of a file now, and what comes of it when repaired."""
    now, then = (explain(trace, index, target) for trace in (before, after))
    if not now.verdicts or not then.verdicts:
        return f"now {now.fate}, repaired {then.fate}"
    chunk = then.verdicts[0].chunk
    mine = next((one for one in now.verdicts if one.chunk.id == chunk.id), now.verdicts[0])
    told = f"{mine.chunk.location}: {_fate_text(now, mine, slot)}"
    return f"{told}. Repaired: {_fate_text(then, then.verdicts[0], slot)}, {_outcome(then)}."


def _fate_text(explanation: Explanation, verdict: Verdict, slot: str) -> str:
    """The lines about one chunk that belong to a slot; if there are none, its fate."""
    trace = explanation.trace
    legs = [one.line(trace.legs[one.leg].asked) for one in verdict.leg_ranks if _concerns(one, slot)]
    if verdict.candidate is None:
        return "; ".join(legs) or str(verdict.fate)
    columns = {name for stage in trace.stages if stage.slot == slot for name in stage.writes()}
    made = steps(trace, trace.chunks.index(verdict.chunk))
    formulas = [str(one) for one in made if one.column in {*columns, trace.ranked_by}]
    cut = [verdict.candidate.reason] if verdict.candidate.drop else []
    return "; ".join([*legs, *formulas, *cut])


def _concerns(leg_rank: LegRank, slot: str) -> bool:
    """Whether a slot decides what a leg brings: its own, the query's, the layout's or the scope's."""
    if slot == Scope.slot:
        return leg_rank.rank is not None
    return slot == f"{leg_rank.leg}_leg" or (slot in ("query", "layout") and leg_rank.leg != "vector")


def _outcome(explanation: Explanation) -> str:
    paths = explanation.trace.paths()
    if explanation.target not in paths:
        return f"{explanation.fate}"
    return f"file {1 + paths.index(explanation.target)} of {len(paths)} in the answer"


def smallest(things: Sequence[Thing], works: Callable[[Sequence[Thing]], bool]) -> list[tuple[Thing, ...]]:
    """Every single thing or every pair that works, in the order of `things`; empty if none is found.

    A size is tried if it has at most MOST_TRIED sets. If none works, things are left out of all together, one
    by one, until none of the rest can be: one set that is minimal, but perhaps not the smallest.
    """
    for size in (1, 2):
        if math.comb(len(things), size) > MOST_TRIED:
            break
        found = [some for some in combinations(things, size) if works(some)]
        if found:
            return found
    left = tuple(things)
    if not left or not works(left):
        return []
    while (fewer := next(filter(works, combinations(left, len(left) - 1)), ())) != ():
        left = fewer
    return [left]

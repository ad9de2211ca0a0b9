"""Repairs: every change that is known to fit a pipeline, each with the reason that its source gives.

A repair takes a stage away, or puts another known stage into its slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from workbench.errors import InputError
from workbench.measure.edits import LAYOUT, Edit, edited, edits_between, fits
from workbench.records import Stage
from workbench.retrieval.cutoff import Limit, MinScore, Order, early_limits
from workbench.retrieval.fusion import OneLeg, RankSum, Weighted
from workbench.retrieval.legs import FixedDepth, LegStage, Union, legs_of
from workbench.retrieval.own_stages import is_own
from workbench.retrieval.pipeline import Change, Pipeline
from workbench.retrieval.query import JoinedWords, PrunedUnicodeWords, PrunedWords, UnicodeWords
from workbench.retrieval.scope import EVERYTHING, FILTER_FIRST, Scope
from workbench.retrieval.scoring import Cosine, MinMaxRank
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.history import changes
from workbench.systems.openclaw import EVIDENCE_FLOOR, FIXES, SIGN
from workbench_plugins.diagnose.stage_settings import content_of, is_known
from workbench_plugins.diagnose.suspects import plain_leg
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

    @property
    def opens(self) -> bool:
        """Whether the repair takes a cut away: a floor, a limit, or the depth of a leg, and not the leg."""
        gone = [edit.slot for edit in self.edits if edit.content is None]
        return self.removes and not any(slot.endswith("_leg") for slot in gone)


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

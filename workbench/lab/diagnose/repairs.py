"""What can be repaired in a pipeline: a stage taken away, or another known stage in its slot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from workbench.errors import InputError
from workbench.lab.diagnose.edits import LAYOUT, Edit, edited, edits_between, fits
from workbench.records import Stage
from workbench.retrieval.cutoff import Limit
from workbench.retrieval.fusion import OneLeg
from workbench.retrieval.legs import LegStage, Union, legs_of
from workbench.retrieval.pipeline import Change, Pipeline
from workbench.retrieval.query import JoinedWords, PrunedUnicodeWords, PrunedWords, UnicodeWords
from workbench.retrieval.scoring import Cosine
from workbench.systems.openclaw.pipelines import FIXES
from workbench.systems.openclaw.releases import SIGN
from workbench.systems.recommended.evidence import EVIDENCE_FLOOR
from workbench.systems.registry import SYSTEMS, changes

DEEPEST = 1_000_000
FEW_DIFFERENCES = 2
"""A pipeline with no system's name is compared with the nearest systems that differ in so many slots."""

GENERAL = (*FIXES, SIGN, EVIDENCE_FLOOR)
"""Changes that fit systems of any kind; the others are tried on systems of their own repository."""


@dataclass(frozen=True)
class Repair:
    """A known change of one slot: its name, the edits that make it, and the reason that its source gives.

    `removes` marks a repair that takes a stage's effect away. `restores` names the system from which the
    pipeline differs in this slot; the repair undoes the difference. `own` says that the pipeline has the name
    of that system. `loosens` marks a longer answer. `usual` says that a registered system has in this slot
    what the pipeline has now. `change` is the system's own named change. `offered` marks a repair that no
    system has: it is tried as a fix, and no cause.
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
    offered: bool = False

    def of(self, pipeline: Pipeline) -> Pipeline:
        """The repaired pipeline. Raises InputError if the stages do not fit together."""
        return edited(pipeline, self.edits)


def repairs(pipeline: Pipeline) -> list[Repair]:
    """Every removal and every known repair that fits a pipeline, in the order of its slots."""
    found: dict[tuple[Edit, ...], Repair] = {}
    sources = (_restored, _undone, _named, _of_others, _removals)
    for one in (repair for source in sources for repair in source(pipeline)):
        changes_it = any(_content(pipeline, edit.slot) != edit.content for edit in one.edits)
        if changes_it and one.edits not in found and fits(pipeline, one.edits):
            found[one.edits] = _judged(pipeline, one)
    slots = [LAYOUT, *(stage.slot for stage in pipeline.stages)]
    return sorted(found.values(), key=lambda one: slots.index(one.slot) if one.slot in slots else len(slots))


def _judged(pipeline: Pipeline, repair: Repair) -> Repair:
    """The repair with what it says of the pipeline: whether it loosens it, and whether its slot is usual."""
    now = _content(pipeline, repair.slot)
    new = next((one.content for one in repair.edits if one.slot == repair.slot), None)
    loosens = isinstance(now, Limit) and isinstance(new, Limit) and new.count > now.count
    return replace(repair, loosens=loosens, usual=now is None or now in _known(repair.slot))


def _known(slot: str) -> list[object]:
    """What the registered systems have in a slot."""
    return [_content(one, slot) for one in SYSTEMS.values()]


def _content(pipeline: Pipeline, slot: str) -> object:
    if slot == LAYOUT:
        return pipeline.layout
    return next((stage for stage in pipeline.stages if stage.slot == slot), None)


# Known repairs


def _restored(pipeline: Pipeline) -> Iterator[Repair]:
    """Each difference from the system whose name the pipeline has, or else from the nearest, undone."""
    named = _namesake(pipeline)
    for usual in _nearest(pipeline) if named is None else [named]:
        for edit in edits_between(pipeline, usual):
            why = "undoes your setting" if named else f"{usual.name} has this here"
            own = named is not None
            yield Repair(edit.slot, f"as in {usual.name}", (edit,), why, restores=usual.name, own=own)


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
    made = (one.but(*pipeline.changes) for one in bases if _fit(one, pipeline.changes))
    return next((one for one in made if one.name == name), None)


def _fit(base: Pipeline, some: Sequence[Change]) -> bool:
    try:
        base.but(*some)
    except InputError:
        return False
    return True


def _undone(pipeline: Pipeline) -> Iterator[Repair]:
    """The changes that the pipeline itself is made of, each undone."""
    for base in SYSTEMS.values():
        if pipeline.changes and _is_base(base, pipeline):
            for change in pipeline.changes:
                others = [one for one in pipeline.changes if one is not change]
                try:
                    without = replace(base, layout=pipeline.layout).but(*others)
                except InputError:
                    continue
                edits = tuple(edits_between(pipeline, without))
                yield Repair(change.stage.slot, f"without +{change.name}", edits, f"undoes: {change.why}")
            return


def _is_base(base: Pipeline, pipeline: Pipeline) -> bool:
    changed = {change.stage.slot for change in pipeline.changes}
    differing = {one.slot for one in replace(base, layout=pipeline.layout).diff(pipeline)}
    if not differing <= changed or not _fit(base, pipeline.changes):
        return False
    return base.stages != pipeline.stages and base.but(*pipeline.changes).stages == pipeline.stages


def _named(pipeline: Pipeline) -> Iterator[Repair]:
    """The named changes of systems of the same repository, and those that fit any system."""
    slots = {stage.slot for stage in pipeline.stages}
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
                    yield _as_in(other, Edit(stage.slot, stage))
            yield _as_in(other, Edit(LAYOUT, other.layout))
    for stage in pipeline.stages:
        usual = _defaults(stage)
        if usual is not None:
            yield Repair(stage.slot, "its defaults", (Edit(stage.slot, usual),), "the defaults of the stage")
    if "vector_score" in slots:
        yield Repair("vector_score", "cosine", (Edit("vector_score", Cosine()),), "the cosine itself")


def _as_in(other: Pipeline, edit: Edit) -> Repair:
    return Repair(edit.slot, f"as in {other.name}", (edit,), f"{other.name} has this here")


def _defaults(stage: Stage) -> Stage | None:
    """The stage with the default of every parameter; None if one has no default."""
    try:
        usual: Stage = type(stage)()
    except (TypeError, InputError):
        return None
    return usual


# What no system has


def without_stop_words(pipeline: Pipeline) -> list[Repair]:
    """The query without stop words, for a system that asks all words of a question; empty for others."""
    kinds = {JoinedWords: PrunedWords, UnicodeWords: PrunedUnicodeWords}
    for stage in pipeline.stages:
        pruned = kinds.get(type(stage))  # type: ignore[arg-type]
        if isinstance(stage, JoinedWords) and pruned is not None:
            edit, why = Edit(stage.slot, pruned(stage.join)), "words such as “the” are in many files"
            return [Repair(stage.slot, "without stop words", (edit,), why, offered=True)]
    return []


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
    elif isinstance(stage, LegStage):
        deep = _deepened(stage)
        if deep is not None:
            why = "the leg brings every match"
            yield Repair(slot, f"{stage.name} leg without a depth", (Edit(slot, deep),), why, removes=True)
    elif not isinstance(stage, Union) and slot != Limit.slot:
        name = f"no {slot.replace('_', ' ')}"
        yield Repair(slot, name, (Edit(slot, None),), "the stage does nothing", removes=True)


def _deepened(stage: Any) -> Stage | None:
    """A leg that brings every match, if its depth is a parameter."""
    depth = getattr(stage, "depth", None)
    if not is_dataclass(depth) or isinstance(depth, type):
        return None
    wide = {one.name: DEEPEST for one in fields(depth) if isinstance(getattr(depth, one.name), int | float)}
    deep: Stage = replace(stage, depth=replace(depth, **wide))
    return deep


def _without_leg(pipeline: Pipeline, leg: LegStage) -> Iterator[Repair]:
    """The pipeline with one of its two legs: the other one's score is the score."""
    others = [one.name for one in legs_of(pipeline.stages) if one.name != leg.name]
    columns = {column for stage in pipeline.stages for column in stage.writes()}
    if len(others) != 1 or f"{others[0]}_score" not in columns:
        return
    read = {f"{leg.name}_{what}" for what in ("raw", "rank", "relevance", "score")}
    gone = [
        one
        for one in pipeline.stages
        if one.slot != "fusion" and (one.slot == leg.slot or read & set(one.reads()))
    ]
    edits = (Edit("fusion", OneLeg(others[0])), *(Edit(one.slot, None) for one in gone))
    why = f"the {others[0]} leg decides alone"
    yield Repair(leg.slot, f"no {leg.name} leg", edits, why, removes=True)


def combined(pipeline: Pipeline, some: Iterable[Repair]) -> Pipeline:
    """The pipeline with several repairs. Raises InputError if the stages do not fit together."""
    return edited(pipeline, [edit for one in some for edit in one.edits])

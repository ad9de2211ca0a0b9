"""Changes of a pipeline, slot by slot: another stage or none, another layout, or another order of stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from workbench.contracts import Layout
from workbench.errors import InputError
from workbench.records import Stage
from workbench.retrieval.pipeline import Pipeline

LAYOUT = "layout"
"""The name under which the layout of a pipeline counts as a slot, as in `Pipeline.diff`."""

ORDER = "stage order"
"""The name under which the order of the stages counts as a slot, if the edits of slots leave another one."""

INDEX = "index"
"""The name under which the index counts as a slot, if the second pipeline is searched in another one."""


@dataclass(frozen=True)
class Edit:
    """One slot with its new content: a stage, or None to take the stage away; for `layout`, a layout.

    A stage in a slot that the pipeline does not have goes ahead of the slot `before`, or to the end. The slot
    `index` has no content: it stands for the index of the other pipeline, and changes no stage. Nor has the
    slot `stage order`, whose `order` names the slots in their new order. Of several stages that go ahead of
    one slot, the one with the lower `place` must be put there first.
    """

    slot: str
    content: Stage | Layout | None
    before: str = ""
    order: tuple[str, ...] = ()
    place: int = field(default=0, compare=False, repr=False)

    @property
    def description(self) -> str:
        """The new content in words."""
        if self.slot == INDEX:
            return "the index that the second system is searched in"
        if self.slot == ORDER:
            return f"the stages in the order {', '.join(self.order)}"
        if self.content is None:
            return "the index as it is" if self.slot == LAYOUT else f"no {self.slot.replace('_', ' ')}"
        return self.content.description


def edited(pipeline: Pipeline, edits: Sequence[Edit]) -> Pipeline:
    """`pipeline` with all edits made at once. Raises InputError if the stages then do not fit together."""
    layouts = [edit.content for edit in edits if edit.slot == LAYOUT]
    layout: Layout | None = layouts[-1] if layouts else pipeline.layout  # type: ignore[assignment]
    return replace(pipeline, stages=tuple(_stages(pipeline, edits)), layout=layout)


def _stages(pipeline: Pipeline, edits: Sequence[Edit]) -> list[Stage]:
    """The stages after all edits; an edit of their order comes last."""
    stages = list(pipeline.stages)
    for edit in edits:
        if edit.slot not in (LAYOUT, ORDER):
            _edit(stages, edit)
    for edit in edits:
        if edit.slot == ORDER:
            stages = _ordered(stages, edit.order)
    return stages


def _ordered(stages: Sequence[Stage], order: Sequence[str]) -> list[Stage]:
    """The stages by the place of their slots in `order`; any other one stays ahead of the one behind it."""
    places: list[int] = []
    for stage in reversed(stages):
        following = places[-1] if places else len(order)
        places.append(order.index(stage.slot) if stage.slot in order else following)
    pairs = zip(reversed(places), stages, strict=True)
    return [stage for _, stage in sorted(pairs, key=lambda pair: (pair[0], pair[1].slot in order))]


def _edit(stages: list[Stage], edit: Edit) -> None:
    slots = [stage.slot for stage in stages]
    stage: Stage | None = edit.content  # type: ignore[assignment]
    if edit.slot in slots:
        number = slots.index(edit.slot)
        stages[number : number + 1] = [] if stage is None else [stage]
    elif stage is not None:
        stages.insert(slots.index(edit.before) if edit.before in slots else len(stages), stage)


def edits_between(one: Pipeline, other: Pipeline) -> list[Edit]:
    """The edits that give `one` the stages of `other`, one for each slot that differs.

    Stages of slots that both have keep the order of `one`; `order_between` has the edit of their order.
    """
    return [
        Edit(difference.slot, difference.after, next_common(one, other, difference.slot), place=place)
        for place, difference in enumerate(one.diff(other))
    ]


def order_between(one: Pipeline, other: Pipeline) -> list[Edit]:
    """The edit that puts the stages in the order of `other`; none if `edits_between` leaves them in it."""
    made = [stage.slot for stage in _stages(one, edits_between(one, other))]
    order = tuple(stage.slot for stage in other.stages)
    return [] if tuple(made) == order else [Edit(ORDER, None, order=order)]


def next_common(one: Pipeline, other: Pipeline, slot: str) -> str:
    """The slot after `slot` in `other` that `one` has, too; empty if there is none."""
    mine, theirs = {stage.slot for stage in one.stages}, [stage.slot for stage in other.stages]
    if slot not in theirs:
        return ""
    return next((later for later in theirs[theirs.index(slot) + 1 :] if later in mine), "")


def fits(pipeline: Pipeline, edits: Sequence[Edit]) -> bool:
    """Whether the stages fit together after the edits."""
    try:
        edited(pipeline, edits)
    except InputError:
        return False
    return True

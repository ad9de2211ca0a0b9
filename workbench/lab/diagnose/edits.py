"""Edits of a pipeline: one slot each gets another stage, loses its stage, or the layout changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from workbench.contracts import Layout
from workbench.errors import InputError
from workbench.records import Stage
from workbench.retrieval.pipeline import Pipeline

LAYOUT = "layout"
"""The name under which the layout of a pipeline counts as a slot, as in `Pipeline.diff`."""


@dataclass(frozen=True)
class Edit:
    """One slot with its new content: a stage, or None to take the stage away; for `layout`, a layout.

    A stage in a slot that the pipeline does not have goes ahead of the slot `before`, or to the end.
    """

    slot: str
    content: Stage | Layout | None
    before: str = ""

    @property
    def says(self) -> str:
        """The new content in words."""
        if self.content is None:
            return "the index as it is" if self.slot == LAYOUT else f"no {self.slot.replace('_', ' ')}"
        return self.content.says


def edited(pipeline: Pipeline, edits: Sequence[Edit]) -> Pipeline:
    """`pipeline` with all edits made at once. Raises InputError if the stages then do not fit together."""
    stages, layout = list(pipeline.stages), pipeline.layout
    for edit in edits:
        if edit.slot == LAYOUT:
            layout = edit.content  # type: ignore[assignment]
        else:
            _edit(stages, edit)
    return replace(pipeline, stages=tuple(stages), layout=layout)


def _edit(stages: list[Stage], edit: Edit) -> None:
    slots = [stage.slot for stage in stages]
    stage: Stage | None = edit.content  # type: ignore[assignment]
    if edit.slot in slots:
        place = slots.index(edit.slot)
        stages[place : place + 1] = [] if stage is None else [stage]
    elif stage is not None:
        stages.insert(slots.index(edit.before) if edit.before in slots else len(stages), stage)


def edits_between(one: Pipeline, other: Pipeline) -> list[Edit]:
    """The edits that turn the stages of `one` into those of `other`, one for each slot that differs."""
    return [
        Edit(difference.slot, difference.after, _next_common(one, other, difference.slot))
        for difference in one.diff(other)
    ]


def _next_common(one: Pipeline, other: Pipeline, slot: str) -> str:
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

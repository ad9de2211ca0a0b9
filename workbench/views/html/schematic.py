"""A pipeline as a picture: its stages as boxes, parallel ones above each other, changed ones marked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from workbench.records import Stage
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.legs import LegStage
from workbench.retrieval.pipeline import Pipeline
from workbench.views.html.parts import NAME, safe

STYLE = (
    "<style>"
    f".{NAME} .flow{{display:flex;flex-wrap:wrap;align-items:center;gap:6px 0;margin:6px 0}}"
    f".{NAME} .flow>.step{{display:flex;flex-direction:column;gap:4px;justify-content:center}}"
    f".{NAME} .flow>.arrow{{padding:0 5px;opacity:.75}}"
    f".{NAME} .stage{{border:1px solid rgba(128,128,128,.8);border-radius:4px;padding:3px 8px;"
    "text-align:center;white-space:nowrap}"
    f".{NAME} .stage.leg{{border-radius:12px}}"
    f".{NAME} .stage.changed{{border:2px solid currentColor;font-weight:600}}"
    f".{NAME} .stage small{{display:block;font-weight:400;font-size:11px}}"
    "</style>"
)


def schematic(pipeline: Pipeline) -> str:
    """The stages from left to right with arrows between them; legs and their scores are above each other.

    A changed stage has a thick border and the name of its change. The sentence and the columns of a stage
    are in its tooltip.
    """
    changed = {
        change.stage.slot: f"+{change.name}"
        for change in pipeline.changes
        if _is_used(pipeline, change.stage)
    }
    steps = (
        f'<div class="step">{"".join(_box(stage, changed.get(stage.slot)) for stage in stages)}</div>'
        for stages in parallel(pipeline.stages)
    )
    arrow = '<span class="arrow" aria-hidden="true">→</span>'
    label = safe(f"the stages of {pipeline.name}")
    return f'{STYLE}<div class="flow" role="img" aria-label="{label}">{arrow.join(steps)}</div>'


def _is_used(pipeline: Pipeline, stage: Stage) -> bool:
    """Whether a change's stage is still in the pipeline, and not replaced by a later change."""
    return stage in pipeline.stages


def parallel(stages: Sequence[Stage]) -> list[list[Stage]]:
    """The stages in groups: neighbouring legs, and neighbouring scores that do not need each other."""
    groups: list[list[Stage]] = []
    for kind, several in groupby(stages, key=_kind):
        for stage in several:
            if kind and groups and _kind(groups[-1][0]) == kind and not _needs(stage, groups[-1]):
                groups[-1].append(stage)
            else:
                groups.append([stage])
    return groups


def _kind(stage: Stage) -> str:
    if isinstance(stage, LegStage):
        return "leg"
    return "score" if isinstance(stage, ColumnStage) and stage.output != "score" else ""


def _needs(stage: Stage, others: Sequence[Stage]) -> bool:
    read = {*stage.reads(), *stage.may_read()}
    return any(read & set(other.writes()) for other in others)


def _box(stage: Stage, change: str | None) -> str:
    kind = f"stage{' leg' if isinstance(stage, LegStage) else ''}{' changed' if change else ''}"
    name = safe(stage.slot.replace("_", " "))
    mark = f"<small>{safe(change)}</small>" if change else ""
    return f'<span class="{kind}" title="{safe(_tooltip(stage))}">{name}{mark}</span>'


def _tooltip(stage: Stage) -> str:
    columns = (("reads", (*stage.reads(), *stage.may_read())), ("writes", stage.writes()))
    return "\n".join([stage.says, *(f"{verb} {', '.join(names)}" for verb, names in columns if names)])

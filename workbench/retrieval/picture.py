"""The stages of a pipeline as a picture: boxes from left to right, parallel stages above each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from workbench.records import Stage, stage_name
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.legs import LegStage
from workbench.tables import Box, Picture


class Mark(NamedTuple):
    """What a picture says of one stage: the class of its box, and words below its name."""

    kind: str
    words: str


def picture(stages: Sequence[Stage], marks: Mapping[str, Mark], label: str) -> Picture:
    """The stages as boxes, with marks by their slots. The tooltip has a stage's sentence and columns."""
    return Picture(
        label, [[_box(stage, marks.get(stage.slot)) for stage in group] for group in parallel(stages)]
    )


def _box(stage: Stage, mark: Mark | None) -> Box:
    kinds = ("leg" if isinstance(stage, LegStage) else "", mark.kind if mark else "")
    columns = (("reads", (*stage.reads(), *stage.may_read())), ("writes", stage.writes()))
    tooltip = [stage.description, *(f"{verb} {', '.join(names)}" for verb, names in columns if names)]
    words = mark.words if mark else ""
    return Box(stage_name(stage), "\n".join(tooltip), " ".join(filter(None, kinds)), words)


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

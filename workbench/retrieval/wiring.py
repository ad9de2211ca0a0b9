"""Checks that the stages of a pipeline fit together before it runs."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.errors import InputError
from workbench.records import Stage
from workbench.retrieval.cutoff import Order
from workbench.retrieval.legs import LegStage, legs_of


def check_wiring(name: str, stages: Sequence[Stage]) -> None:
    """Checks slots, columns and legs. Raises InputError if they do not fit together."""
    _check_slots(name, stages)
    _check_columns(name, stages)
    if any(isinstance(stage, Order) for stage in stages):
        used = _used(stages)
        for leg in legs_of(stages):
            _check_leg_counts(name, leg, used)


def _check_slots(name: str, stages: Sequence[Stage]) -> None:
    slots = [stage.slot for stage in stages]
    twice = sorted({slot for slot in slots if slots.count(slot) > 1})
    if twice:
        raise InputError(
            f"Pipeline {name!r} has two stages for {', '.join(twice)}.", "Give each slot one stage."
        )


def _check_columns(name: str, stages: Sequence[Stage]) -> None:
    written: dict[str, str] = {}
    for stage in stages:
        for column in stage.reads():
            if column not in written:
                raise InputError(
                    f"Pipeline {name!r}: the stage {stage.slot!r} reads the column {column!r}, "
                    "which no earlier stage writes.",
                    f"Earlier stages write {', '.join(written) or 'nothing'}.",
                )
        for column in stage.writes():
            if column in written:
                raise InputError(
                    f"Pipeline {name!r}: the stages {written[column]!r} and {stage.slot!r} both write "
                    f"the column {column!r}.",
                    "Give each column one writer, so that each number has one explanation.",
                )
            written[column] = stage.slot
    late = {
        column
        for place, stage in enumerate(stages)
        for column in stage.may_read()
        if _later(stages, place, column)
    }
    if late:
        raise InputError(
            f"Pipeline {name!r} writes {', '.join(sorted(late))} after a stage that uses it.",
            "Put the stage that writes the column first.",
        )


def _later(stages: Sequence[Stage], place: int, column: str) -> bool:
    return any(column in stage.writes() for stage in stages[place + 1 :])


def _check_leg_counts(name: str, leg: LegStage, used: set[str]) -> None:
    if not used.intersection(leg.writes()):
        raise InputError(
            f"Pipeline {name!r}: the leg {leg.name!r} is asked, but nothing that ranks or drops candidates "
            "depends on what it brings.",
            f"Give it a weight in the fusion, for example more=(({leg.name!r}, 0.3),), or leave it out.",
        )


def _used(stages: Sequence[Stage]) -> set[str]:
    """The columns that the order and the cut-offs depend on, directly or through other columns."""
    writer = {column: stage for stage in stages for column in stage.writes()}
    waiting = [
        column for stage in stages if not stage.writes() for column in (*stage.reads(), *stage.may_read())
    ]
    used: set[str] = set()
    while waiting:
        column = waiting.pop()
        if column not in used and column in writer:
            used.add(column)
            waiting += [*writer[column].reads(), *writer[column].may_read()]
    return used

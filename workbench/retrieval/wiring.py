"""Checks that the stages of a pipeline fit together before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from workbench.errors import InputError
from workbench.records import Stage
from workbench.retrieval.cutoff import Order
from workbench.retrieval.legs import LegStage


class _Wires(NamedTuple):
    """What of a stage must fit the others. `leg` is the name of a leg."""

    slot: str
    reads: tuple[str, ...]
    may_read: tuple[str, ...]
    writes: tuple[str, ...]
    leg: str | None
    orders: bool


def check_wiring(name: str, stages: Sequence[Stage]) -> None:
    """Checks slots, columns and legs. Raises InputError if they do not fit together."""
    _check(name, tuple(map(_wires, stages)))


def wired_alike(one: Stage, other: Stage) -> bool:
    """Whether a stage fits into a pipeline wherever the other one fits."""
    return _wires(one) == _wires(other)


def _wires(stage: Stage) -> _Wires:
    return _Wires(
        stage.slot,
        tuple(stage.reads()),
        tuple(stage.may_read()),
        tuple(stage.writes()),
        stage.name if isinstance(stage, LegStage) else None,
        isinstance(stage, Order),
    )


@lru_cache(maxsize=4096)
def _check(name: str, stages: tuple[_Wires, ...]) -> None:
    """Cached, since most pipelines of a search for settings differ in numbers alone, not in their wires."""
    _check_slots(name, stages)
    _check_columns(name, stages)
    if any(stage.orders for stage in stages):
        used = _used(stages)
        for stage in stages:
            if stage.leg is not None and not used.intersection(stage.writes):
                raise _leg_without_effect(name, stage.leg)


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
        for place, stage in enumerate(stages)
        for column in stage.may_read
        if any(column in later.writes for later in stages[place + 1 :])
    }
    if late:
        raise InputError(
            f"Pipeline {name!r} writes {', '.join(sorted(late))} after a stage that uses it.",
            "Put the stage that writes the column first.",
        )


def _leg_without_effect(name: str, leg: str) -> InputError:
    return InputError(
        f"Pipeline {name!r}: the leg {leg!r} is asked, but nothing that ranks or drops candidates "
        "depends on what it brings.",
        f"Give it a weight in the fusion, for example more=(({leg!r}, 0.3),), or leave it out.",
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

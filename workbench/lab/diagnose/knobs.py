"""The parameters of a pipeline as knobs: what each is now, and which values it may take."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from workbench.errors import InputError
from workbench.records import Stage
from workbench.retrieval.cutoff import Limit
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.settings import NESTED_RANGES, parameters, with_settings
from workbench.systems.openclaw.config.file import below
from workbench.systems.openclaw.config.keys import SLOTS, SWITCHES, fits, with_keys
from workbench.systems.openclaw.config.system import RETIRED_KEYS
from workbench.systems.openclaw.releases import HISTORY

Value = float | str | bool

WIDEST = 1e6
"""How far a number without a range is moved from 0."""


@dataclass(frozen=True)
class Knob:
    """One parameter by its name in `--set`: its value now, and how to set another.

    A number goes from `low` to `high`; a `whole` one has no fractions. Anything else takes one of `choices`.
    """

    name: str
    now: Value
    put: Callable[[Value], Pipeline] = field(repr=False, compare=False)
    low: float = -WIDEST
    high: float = WIDEST
    whole: bool = False
    choices: tuple[Value, ...] = ()

    @property
    def slot(self) -> str:
        """The slot of the stage that has the parameter."""
        return self.name.partition(".")[0]

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers, and not a few choices."""
        return not isinstance(self.now, str | bool)

    def with_value(self, value: Value) -> Pipeline | None:
        """The pipeline with this value; None if the pipeline cannot have it."""
        try:
            return self.put(value)
        except InputError:
            return None


def knobs(pipeline: Pipeline) -> list[Knob]:
    """Every parameter of every stage that can take another value, in the order of the stages."""
    return [one for stage in pipeline.stages for one in _knobs_of(pipeline, stage)]


def _knobs_of(pipeline: Pipeline, stage: Stage) -> Iterable[Knob]:
    ranges = {**NESTED_RANGES, **stage.ranges}
    for parameter, now in parameters(stage).items():
        name = f"{stage.slot}.{parameter}"
        put = _putter(pipeline, name)
        if isinstance(now, bool):
            yield Knob(name, now, put, choices=(not now,))
        elif isinstance(now, str):
            others = tuple(one for one in _choices(pipeline, stage, parameter) if one != now)
            if others:
                yield Knob(name, now, put, choices=others)
        else:
            low, high = ranges.get(parameter, (-WIDEST, WIDEST))
            yield Knob(name, now, put, low, high, _is_whole(stage, parameter))


def _putter(pipeline: Pipeline, name: str) -> Callable[[Value], Pipeline]:
    return lambda value: with_settings(pipeline, [f"{name}={setting_text(value)}"])


def setting_text(value: Value) -> str:
    """A value as `--set` takes it, without loss.

    >>> setting_text(0.1), setting_text(8), setting_text(True), setting_text("OR")
    ('0.1', '8', 'true', 'OR')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else repr(value)


def settings_between(one: Pipeline, other: Pipeline) -> tuple[str, ...]:
    """The settings that turn `one` into `other`, as `--set` takes them; empty if settings cannot."""
    found: list[str] = []
    mine, theirs = ({stage.slot: stage for stage in each.stages} for each in (one, other))
    for slot in (slot for slot, stage in mine.items() if type(stage) is type(theirs.get(slot))):
        now, new = parameters(mine[slot]), parameters(theirs[slot])
        changed = (name for name in new if name in now and new[name] != now[name])
        found += [f"{slot}.{name}={setting_text(new[name])}" for name in changed]
    try:
        made = with_settings(one, found)
    except InputError:
        return ()
    return tuple(found) if (made.stages, made.layout) == (other.stages, other.layout) else ()


def _is_whole(stage: Stage, parameter: str) -> bool:
    """Whether a number has no fractions: its type says so, or it counts results."""
    owner, name = _owner(stage, parameter)
    kinds = {one.name: one.type for one in fields(owner)}
    return kinds[name] in (int, "int") or isinstance(stage, Limit)


def _owner(stage: Any, parameter: str) -> tuple[Any, str]:
    """The dataclass that holds a parameter, which may be inside the stage, and the parameter's name there."""
    outer, _, inner = parameter.partition(".")
    inside = getattr(stage, outer)
    return _owner(inside, inner) if inner and is_dataclass(inside) else (stage, outer)


def _choices(pipeline: Pipeline, stage: Stage, parameter: str) -> Sequence[str]:
    """The values of a text: those that its type lists, or other columns where it names a column."""
    owner, name = _owner(stage, parameter)
    kind = get_type_hints(type(owner)).get(name)
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    earlier = pipeline.stages[: pipeline.stages.index(stage)]
    columns = [column for one in earlier for column in one.writes()]
    now = getattr(owner, name)
    if now in columns:
        return [one for one in columns if one.endswith("score")]
    legs = [column.removesuffix("_score") for column in columns if column.endswith("_score")]
    return legs if now in legs else []


def keys_of(pipeline: Pipeline) -> list[Knob]:
    """OpenClaw's own keys that a pipeline has stages for, as knobs: what can be set in its openclaw.json.

    A key is set as OpenClaw reads it: weights are scaled to sum to 1, and numbers out of range are refused.
    """
    newest = pipeline.name.startswith(HISTORY[-1].name)
    known = [key for key in dict.fromkeys((*SLOTS.values(), *SWITCHES)) if fits(pipeline, key)]
    read = [key for key in known if not (newest and below(key, RETIRED_KEYS))]
    return [one for key in read for one in (_switch if key in SWITCHES else _key)(pipeline, key)]


def _key(pipeline: Pipeline, key: str) -> Iterable[Knob]:
    for setting in (slot for slot, one in SLOTS.items() if one == key):
        slot, _, parameter = setting.partition(".")
        stage = next((one for one in pipeline.stages if one.slot == slot), None)
        if stage is None or parameter not in parameters(stage):
            continue
        low, high = _KEY_RANGES.get(key, (0.0, 1.0))
        yield Knob(key, parameters(stage)[parameter], _key_putter(pipeline, key), low, high, key in _WHOLE)
        return


def _switch(pipeline: Pipeline, key: str) -> Iterable[Knob]:
    slots = {stage.slot for stage in pipeline.stages}
    on = {
        "query.hybrid.enabled": "keyword_leg" in slots,
        "query.hybrid.mmr.enabled": "diversity" in slots,
        "query.hybrid.temporalDecay.enabled": "recency" in slots,
    }[key]
    if key == "query.hybrid.enabled" and not on:
        return
    yield Knob(key, on, _key_putter(pipeline, key), choices=(not on,))


_KEY_RANGES: Mapping[str, tuple[float, float]] = {
    "query.maxResults": (1, 10_000),
    "query.hybrid.candidateMultiplier": (1, 20),
    "query.hybrid.temporalDecay.halfLifeDays": (1, 100_000),
}
_WHOLE = frozenset(_KEY_RANGES)


def _key_putter(pipeline: Pipeline, key: str) -> Callable[[Value], Pipeline]:
    return lambda value: with_keys(pipeline, [f"{key}={setting_text(value)}"])


def hair(knob: Knob, value: float, towards: float) -> float:
    """The value that is a hair nearer to `towards`: the next whole number, or the next float."""
    if knob.whole:
        return value + math.copysign(1, towards - value)
    return math.nextafter(value, towards)

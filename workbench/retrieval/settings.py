"""One parameter of one stage set by name, as a person types it: `fusion.vector=0.5`."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import reduce
from typing import Any

from workbench.errors import InputError, as_number, unknown_name
from workbench.records import Stage
from workbench.retrieval.columns import parameters
from workbench.retrieval.fusion import Weighted
from workbench.retrieval.pipeline import Pipeline

NESTED_RANGES: Mapping[str, tuple[float, float]] = {
    "depth.multiplier": (0, 10_000),
    "depth.cap": (1, 1_000_000),
}
"""The ranges of parameters that are not a stage's own: a leg brings at least one candidate."""


WEIGHTS = (0.0, 100.0)
"""The range of the weight of a leg."""


def with_settings(pipeline: Pipeline, settings: Sequence[str]) -> Pipeline:
    """`pipeline` with each `slot.parameter=value` set.

    Raises InputError for text of another form, for a slot or parameter that the pipeline does not have
    (naming the nearest), for a value that must be a number and is not, and for one out of its range.
    """
    for text in settings:
        slot, parameter, value = _parts(text, [pipeline])
        stage = _stage(pipeline, slot)
        pipeline = pipeline.with_stage(_changed(stage, slot, parameter, value))
    return pipeline


def with_values(pipeline: Pipeline, values: Mapping[str, Any]) -> Pipeline:
    """`pipeline` with each named parameter set to its value: `{"fusion.vector": 0.5}`.

    Raises InputError as `with_settings` does, and for a value of another kind, such as a number as text; for
    an unknown name it lists those of the pipeline.
    """
    known = every_setting(pipeline)
    for name, value in values.items():
        if name not in known:
            raise unknown_name("setting", str(name), list(known), f"{pipeline.name} has {', '.join(known)}.")
        if _kind(value) is not _kind(known[name]):
            raise InputError(f"{name} cannot be {value!r}.", f"It is {known[name]!r} now.")
    return with_settings(pipeline, as_settings(values))


def every_setting(pipeline: Pipeline) -> dict[str, Any]:
    """What can be set in all stages, with the values, by the name of each as a setting: `fusion.vector`."""
    return {f"{stage.slot}.{name}": now for stage in pipeline.stages for name, now in settable(stage).items()}


def _kind(value: Any) -> type:
    """What a value can take the place of: every number is of one kind, and true and false are not numbers."""
    return float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)


def as_settings(values: Mapping[str, Any]) -> list[str]:
    """Named values as `with_settings` takes them.

    >>> as_settings({"fusion.vector": 0.5})
    ['fusion.vector=0.5']
    """
    return [f"{name}={value}" for name, value in values.items()]


def with_settings_where_they_fit(pipelines: Sequence[Pipeline], settings: Sequence[str]) -> list[Pipeline]:
    """Each pipeline with those of the settings that it has a parameter for; the others stay as they are.

    Raises InputError as `with_settings` does, and for a setting that fits none of the pipelines.
    """
    changed = list(pipelines)
    for text in settings:
        slot, parameter, _ = _parts(text, changed)
        fits = [has_parameter(one, f"{slot}.{parameter}") for one in changed]
        if changed and not any(fits):
            with_settings(next((one for one in changed if _has_slot(one, slot)), changed[0]), [text])
        changed = [with_settings(one, [text]) if fit else one for one, fit in zip(changed, fits, strict=True)]
    return changed


def _has_slot(pipeline: Pipeline, slot: str) -> bool:
    return any(stage.slot == slot for stage in pipeline.stages)


def has_parameter(pipeline: Pipeline, name: str) -> bool:
    """Whether a pipeline has the stage and the parameter in `slot.parameter`."""
    slot, _, parameter = name.partition(".")
    return _has_slot(pipeline, slot) and parameter in settable(pipeline[slot])


def settable(stage: Stage) -> dict[str, Any]:
    """What can be set in a stage, with its values: its parameters, and a weight for each further leg."""
    return {**_of_more_legs(stage), **parameters(stage)}


def _of_more_legs(stage: Stage) -> Mapping[str, float]:
    """The weights of a fusion for legs besides the vector and the keyword leg, by the leg's name."""
    return dict(stage.more) if isinstance(stage, Weighted) else {}


def _parts(text: str, pipelines: Sequence[Pipeline]) -> tuple[str, str, str]:
    name, equals, value = text.partition("=")
    slot, dot, parameter = name.strip().partition(".")
    if not (equals and dot and slot and parameter):
        meant = " or ".join(_meant(text, pipelines))
        raise InputError(
            f"The setting {text!r} is not of the form slot.parameter=value.",
            f"Write {meant}." if meant else "For example: fusion.vector=0.5",
        )
    return slot, parameter, value.strip()


MOST_MEANT = 3
"""The largest number of settings that a remedy offers."""


def _meant(text: str, pipelines: Sequence[Pipeline]) -> list[str]:
    """How a setting is written that was typed with a colon, without a value, or with half of its name."""
    known = {name: now for one in pipelines for name, now in every_setting(one).items()}
    name, _, value = (part.strip() for part in text.replace(":", "=").partition("="))
    fits = [one for one in known if name in (one, *one.split(".", 1))]
    of_its_kind = [one for one in fits if not value or isinstance(known[one], str) != is_number(value)]
    return [f"{one}={value or 'VALUE'}" for one in of_its_kind[:MOST_MEANT]]


def is_number(text: str) -> bool:
    """Whether a text is a number as Python reads one."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _stage(pipeline: Pipeline, slot: str) -> Stage:
    if not _has_slot(pipeline, slot):
        slots = [stage.slot for stage in pipeline.stages]
        raise InputError(
            f"{pipeline.name} has no stage {slot!r}{_nearest(slot, slots)}",
            f"Its stages are {', '.join(slots)}.",
        )
    return pipeline[slot]


def _changed(stage: Stage, slot: str, parameter: str, text: str) -> Stage:
    known, weights = parameters(stage), _of_more_legs(stage)
    if parameter in weights and parameter not in known:
        name = f"{slot}.{parameter}"
        weight = _typed(name, text, weights[parameter])
        _check_range(name, weight, WEIGHTS)
        return replace(stage, more=tuple({**weights, parameter: weight}.items()))  # type: ignore[type-var]
    known |= weights
    if parameter not in known:
        raise InputError(
            f"The stage {slot!r} has no parameter {parameter!r}{_nearest(parameter, known)}",
            f"It has {', '.join(known)}." if known else "It has none.",
        )
    *outer, inner = parameter.split(".")
    name = f"{slot}.{parameter}"
    value = _typed(name, text, known[parameter])
    _check_whole(name, value, reduce(getattr, outer, stage), inner)
    _check_range(name, value, {**NESTED_RANGES, **stage.ranges}.get(parameter))
    changed: Stage = with_parameter(stage, parameter, value)
    return changed


def with_parameter(owner: Any, parameter: str, value: Any) -> Any:
    """`owner` with one parameter set; a dot in its name leads to a nested one: `depth.multiplier`."""
    outer, _, inner = parameter.partition(".")
    return replace(owner, **{outer: with_parameter(getattr(owner, outer), inner, value) if inner else value})


def _typed(name: str, text: str, now: Any) -> Any:
    if isinstance(now, str):
        return text
    if isinstance(now, bool):
        if text.lower() not in ("true", "false"):
            raise InputError(f"{name} is true or false, not {text!r}.", f"It is {now} now.")
        return text.lower() == "true"
    try:
        number = float(text)
    except ValueError:
        remedy = f"{as_number(text)} It is {now:g} now.".lstrip()
        raise InputError(f"{name} takes a number, not {text!r}.", remedy) from None
    if not math.isfinite(number):
        raise InputError(f"{name} takes a finite number, not {text!r}.", f"It is {now:g} now.")
    return int(number) if isinstance(now, int) and number.is_integer() else number


def _check_whole(name: str, value: Any, owner: Any, parameter: str) -> None:
    kinds = {field.name: field.type for field in fields(owner)}
    if kinds[parameter] in (int, "int") and isinstance(value, float):
        raise InputError(f"{name} takes a whole number, not {value:g}.", "Leave out the fraction.")


def _check_range(name: str, value: Any, span: tuple[float, float] | None) -> None:
    if span is not None and not span[0] <= value <= span[1]:
        raise InputError(
            f"{name} is {value:g}, out of its range.", f"It goes from {span[0]:g} to {span[1]:g}."
        )


def _nearest(name: str, known: Mapping[str, Any] | Sequence[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=2, cutoff=0.4)
    return f"; the nearest is {' or '.join(map(repr, near))}." if near else "."

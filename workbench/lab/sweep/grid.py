"""The settings of a sweep: axes such as `fusion.vector=0:1:11`, as a grid or one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from workbench.errors import InputError
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.settings import parameters, with_settings

MOST_SETTINGS = 100_000
"""A sweep takes so many settings at most."""
FORM = "Write slot.parameter=from:to:steps, such as fusion.vector=0:1:11, or a list: query.join=AND,OR"

Setting = tuple[str, ...]
"""One value for each axis, as it would be typed."""


@dataclass(frozen=True)
class Axis:
    """One parameter and its values, as they would be typed after `--set`."""

    name: str
    values: tuple[str, ...]

    @property
    def slot(self) -> str:
        """The slot of the stage."""
        return self.name.partition(".")[0]

    @property
    def parameter(self) -> str:
        """The name of the parameter within its stage."""
        return self.name.partition(".")[2]

    def now(self, pipeline: Pipeline) -> str:
        """The pipeline's own value."""
        return written(parameters(pipeline[self.slot])[self.parameter])


def written(value: object) -> str:
    """A value as it would be typed: 0.3 for 0.30000000000000004."""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def axis(text: str) -> Axis:
    """The axis that a text describes. Raises InputError for a text of another form.

    >>> axis("fusion.vector=0:1:3").values, axis("query.join=AND,OR").values
    (('0', '0.5', '1'), ('AND', 'OR'))
    """
    name, equals, values = (part.strip() for part in text.partition("="))
    if not (equals and values and "." in name.strip(".")):
        raise InputError(f"{text!r} is not an axis of a sweep.", FORM)
    if ":" in values:
        return Axis(name, _steps(text, values))
    return Axis(name, tuple(dict.fromkeys(one.strip() for one in values.split(","))))


def _steps(text: str, values: str) -> tuple[str, ...]:
    try:
        first, last, steps = values.split(":")
        low, high, count = float(first), float(last), int(steps)
    except ValueError:
        raise InputError(f"{text!r} is not an axis of a sweep.", FORM) from None
    if count < 1 or not np.isfinite([low, high]).all():
        raise InputError(f"{text!r} has no values.", FORM)
    if count > MOST_SETTINGS:
        raise _too_many(count)
    return tuple(dict.fromkeys(written(float(value)) for value in np.linspace(low, high, count)))


def settings_of(pipeline: Pipeline, axes: Sequence[Axis], one_at_a_time: bool = False) -> list[Setting]:
    """Every setting of a grid, or with `one_at_a_time` each axis with the others at the pipeline's values.

    Raises InputError for axes that the pipeline does not have, for two axes of one parameter, for none, and
    for more than 100,000 settings.
    """
    if not axes:
        raise InputError("The sweep has no axis.", FORM)
    names = [one.name for one in axes]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"{twice[0]} is given twice.", "Give each parameter once, with all of its values.")
    for one in axes:
        for value in (one.values[0], one.values[-1]):
            with_settings(pipeline, [f"{one.name}={value}"])
    count = sum(len(one.values) for one in axes) if one_at_a_time else prod(len(one.values) for one in axes)
    if count > MOST_SETTINGS:
        raise _too_many(count)
    if not one_at_a_time:
        return list(product(*(one.values for one in axes)))
    now = tuple(one.now(pipeline) for one in axes)
    moved = [
        (*now[:place], value, *now[place + 1 :]) for place, one in enumerate(axes) for value in one.values
    ]
    return list(dict.fromkeys(moved))


def _too_many(count: int) -> InputError:
    return InputError(
        f"The sweep has {count:,} settings; it takes at most {MOST_SETTINGS:,}.",
        "Give fewer steps or fewer parameters, or vary one parameter at a time (--one-at-a-time).",
    )


def changed(pipeline: Pipeline, axes: Sequence[Axis], setting: Setting) -> Pipeline:
    """The pipeline with one setting. Raises InputError for a value that a parameter does not take."""
    texts = [f"{one.name}={value}" for one, value in zip(axes, setting, strict=True)]
    return with_settings(pipeline, texts)

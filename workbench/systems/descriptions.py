"""A pipeline in words that a file can hold: a system's name, named changes, and settings."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from workbench.errors import InputError, unknown_name
from workbench.retrieval.cutoff import AddedFloor, Limit, MinScore
from workbench.retrieval.pipeline import Change, Difference, Pipeline
from workbench.retrieval.settings import parameters, with_settings, with_settings_where_they_fit
from workbench.systems.automem import pipelines as automem
from workbench.systems.basic_memory import pipelines as basic_memory
from workbench.systems.openclaw import pipelines as openclaw
from workbench.systems.openclaw import releases as openclaw_releases
from workbench.systems.openclaw.config.keys import fits, key_of, with_keys
from workbench.systems.recommended import evidence
from workbench.systems.registry import SYSTEMS

FAMILIES: Mapping[str, Sequence[types.ModuleType]] = {
    "openclaw-": (openclaw, openclaw_releases, evidence),
    "bm-": (basic_memory,),
    "am-": (automem,),
}
"""The modules that define named changes, by the beginning of the names of the systems that take them."""


@dataclass(frozen=True)
class Description:
    """A system's name, changes, settings (`slot.parameter=value` or OpenClaw's keys), limit and floor."""

    name: str
    changes: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    limit: float | None = None
    min_score: float | None = None


def changes_of(name: str) -> dict[str, Change]:
    """The named changes that a system can take, those of its own pipelines included."""
    family = next((modules for prefix, modules in FAMILIES.items() if name.startswith(prefix)), ())
    return {one.name: one for one in reversed(list(_changes(family)))}


def _changes(modules: Sequence[types.ModuleType]) -> Iterator[Change]:
    for module in modules:
        for value in vars(module).values():
            parts = value if isinstance(value, tuple) else (value,)
            yield from (one for one in parts if isinstance(one, Change))


def built(given: Description) -> Pipeline:
    """The pipeline that is described. Raises InputError for a name, change or setting that does not exist."""
    pipeline = SYSTEMS.named(given.name)
    known = changes_of(given.name)
    for name in given.changes:
        if name not in known:
            raise unknown_name("change", name, known, f"{given.name} takes {', '.join(known) or 'none'}.")
        pipeline = pipeline.but(known[name])
    keys = [one for one in given.settings if key_of(one)]
    slots = [one for one in given.settings if not key_of(one)]
    asked = with_keys(pipeline, keys).asking(given.limit, given.min_score)
    return with_settings(asked, slots)


def adapted_to(pipeline: Pipeline, given: Description) -> Pipeline:
    """Another pipeline with the limit and floor of a description, and with those of its settings that fit."""
    keys = [one for one in given.settings if (key := key_of(one)) and fits(pipeline, key)]
    slots = [one for one in given.settings if not key_of(one)]
    asked = with_keys(pipeline, keys).asking(given.limit, given.min_score)
    for one in slots:
        asked = _where_it_fits(asked, one)
    return asked


def _where_it_fits(pipeline: Pipeline, setting: str) -> Pipeline:
    slot, _, rest = setting.partition(".")
    stage = next((one for one in pipeline.stages if one.slot == slot), None)
    there = stage is not None and rest.partition("=")[0] in parameters(stage)
    return with_settings_where_they_fit([pipeline], [setting])[0] if there else pipeline


def described(pipeline: Pipeline) -> Description:
    """The description of a pipeline: `built` gives the same stages and layout.

    Raises InputError for a pipeline that has stages which no system or change names.
    """
    for base in _bases(pipeline):
        found = _from(base, pipeline)
        if found is not None:
            return found
    raise InputError(
        f"The pipeline {pipeline.name} has stages that no named system or change has.",
        "Register it as a system (docs/extending.md), and use its name.",
    )


def _bases(pipeline: Pipeline) -> list[Pipeline]:
    """Systems to describe it by: the longest beginnings of its name first, then the most similar."""
    plain = pipeline.name.partition("@")[0]
    near = sorted(SYSTEMS.values(), key=lambda one: len(one.diff(pipeline)))[:3]
    named = sorted(
        (one for one in SYSTEMS.values() if plain.startswith(one.name)), key=lambda one: -len(one.name)
    )
    return list({one.name: one for one in chain(named, near)}.values())


def _from(base: Pipeline, pipeline: Pipeline) -> Description | None:
    changes: list[str] = []
    made, settings = base, []
    limit = min_score = None
    for one in base.diff(pipeline):
        match one.after:
            case Limit(count=count):
                limit = count
            case AddedFloor(floor=floor):
                min_score = floor
            case MinScore(floor=floor) if isinstance(one.before, MinScore):
                min_score = floor
            case _:
                change = _change(base.name, one)
                if change is not None:
                    changes.append(change.name)
                    made = made.but(change)
                settings += _settings(made, one)
    found = Description(base.name, tuple(changes), tuple(settings), limit, min_score)
    try:
        same = built(found)
    except InputError:
        return None
    return found if (same.stages, same.layout) == (pipeline.stages, pipeline.layout) else None


def _change(name: str, one: Difference) -> Change | None:
    """The named change whose stage is the new one, or of its kind where the old one is of another kind."""
    if one.after is None or one.slot == "layout":
        return None
    known = [change for change in changes_of(name).values() if change.stage.slot == one.slot]
    exact = [change for change in known if change.stage == one.after]
    alike = [change for change in known if type(change.stage) is type(one.after)]
    return next(iter(exact or (alike if type(one.before) is not type(one.after) else [])), None)


def _settings(made: Pipeline, one: Difference) -> list[str]:
    stage = next((stage for stage in made.stages if stage.slot == one.slot), None)
    if stage is None or one.after is None or one.slot == "layout":
        return []
    before, after = parameters(stage), parameters(one.after)  # type: ignore[arg-type]
    return [f"{one.slot}.{name}={value}" for name, value in after.items() if before.get(name) != value]

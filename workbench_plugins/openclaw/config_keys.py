"""OpenClaw's keys as parameters of a pipeline's stages, as `--set query.minScore=0.3` types them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.errors import InputError
from workbench.retrieval.columns import parameters
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.settings import has_parameter, with_settings
from workbench.systems.openclaw import WORKAROUND
from workbench_plugins.openclaw.config_values import (
    COUNTS,
    FEBRUARY_FORM,
    PREFIXES,
    RETIRED_KEYS,
    SEPTEMBER_FORM,
    SLOTS,
    SWITCHES,
    WEIGHTS,
    Search,
    below,
    nested,
    resolved,
)
from workbench_plugins.openclaw.releases import DECAY, DIVERSE, HISTORY, WEIGHED

if TYPE_CHECKING:
    pass


def has(pipeline: Pipeline, setting: str) -> bool:
    """Whether a pipeline has that parameter; a rescue down to 0 does not follow the keyword weight."""
    if not has_parameter(pipeline, setting):
        return False
    return not (setting.startswith("rescue.") and _parameter(pipeline, setting) == 0)


def tuned(base: Pipeline, search: Search, keys: Collection[str] | None = None) -> Pipeline:
    """`base` with the values of `search` in its stages: of all keys, or of `keys` alone.

    One weight changes the other too, since OpenClaw scales them to sum to 1.
    """
    if keys is not None and set(keys) & set(WEIGHTS):
        keys = {*keys, *WEIGHTS}
    settings = [
        f"{slot}={search[key]}"
        for slot, key in SLOTS.items()
        if has(base, slot) and (keys is None or key in keys)
    ]
    return with_settings(base, settings)


def key_of(setting: str) -> str:
    """OpenClaw's key in `KEY=value`, with or without the path of its settings before it; empty if it is none.

    >>> key_of("agents.defaults.memorySearch.query.minScore=0.2"), key_of("fusion.vector=1")
    ('query.minScore', '')
    """
    bare = _bare(setting)
    return bare if bare in (*SLOTS.values(), *SWITCHES) else ""


def _bare(setting: str) -> str:
    name = setting.partition("=")[0].strip()
    return next((name.removeprefix(one) for one in PREFIXES if name.startswith(one)), name)


def fits(pipeline: Pipeline, key: str) -> bool:
    """Whether a pipeline has what a key sets."""
    return key in SWITCHES or any(has(pipeline, slot) for slot, one in SLOTS.items() if one == key)


def with_keys(pipeline: Pipeline, settings: Sequence[str]) -> Pipeline:
    """`pipeline` with each `KEY=value` set as OpenClaw would read it: ranges, scaled weights, switches.

    Raises InputError for a value that cannot be used, and for a key that the pipeline has no stage for.
    """
    typed = {key_of(one): _value(one.partition("=")[2].strip()) for one in settings}
    if not typed:
        return pipeline
    try:
        search, _ = resolved(nested(_present(pipeline) | typed), "--set")
    except InputError as error:
        problem = error.problem.replace("--set.", "--set ")
        raise InputError(problem, "Give a value that OpenClaw accepts.") from None
    for key in SWITCHES:
        if key in typed:
            pipeline = _with_values_of(pipeline, _switched(pipeline, key, bool(typed[key])))
    missing = [key for key in typed if not fits(pipeline, key)]
    if missing:
        raise InputError(
            f"{pipeline.name} has no stage that {missing[0]} sets.",
            f"See its stages: workbench systems {pipeline.name.partition('@')[0]}",
        )
    return tuned(pipeline, search, typed)


def check_key(setting: str) -> None:
    """Raises InputError for text that is meant as an OpenClaw key and is none, naming the nearest."""
    name, bare = setting.partition("=")[0].strip(), _bare(setting)
    known = [*dict.fromkeys(SLOTS.values()), *SWITCHES]
    same = [key for key in known if key.lower() == bare.lower() or key.lower().endswith(f".{bare.lower()}")]
    if bare != name or same:
        near = same or difflib.get_close_matches(bare, known, n=2, cutoff=0.3)
        raise InputError(
            f"--set takes no OpenClaw key {bare}{f'; the nearest is {near[0]}' if near else ''}.",
            f"It takes {', '.join(known)}; every other key belongs in a file: --config FILE",
        )


class Key(NamedTuple):
    """A key that sets something of a pipeline: its present value, and the values that it takes.

    A number goes from `low` to `high`; a `whole` one has no fractions. Anything else takes one of `choices`.
    """

    name: str
    now: float | str | bool
    low: float = 0.0
    high: float = 1.0
    whole: bool = False
    choices: tuple[str | bool, ...] = ()


def keys_of(pipeline: Pipeline) -> list[Key]:
    """The keys that a pipeline has stages for, and that its release reads, with the values that they take."""
    found: list[Key] = []
    for slot, key in SLOTS.items():
        if has(pipeline, slot) and key not in [one.name for one in found]:
            low, high = COUNTS.get(key, (0.0, 1.0))
            found.append(Key(key, _parameter(pipeline, slot), low, high, key in COUNTS))
    slots = {stage.slot for stage in pipeline.stages}
    for key, slot in SWITCHES.items():
        on = slot in slots
        if on or (slot != "keyword_leg" and _has_switches(pipeline)):
            found.append(Key(key, on, choices=(not on,)))
    return [one for one in found if reads(pipeline, one.name)]


def reads(pipeline: Pipeline, key: str) -> bool:
    """Whether the release of a pipeline reads a key."""
    return not (pipeline.name.startswith(HISTORY[-1].name) and below(key, RETIRED_KEYS))


def to_paste(pipeline: Pipeline, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values as an openclaw.json has them; None if the pipeline's release no longer reads a key.

    Both weights are written, since OpenClaw scales them together.
    """
    if not all(reads(pipeline, key) for key in values):
        return None
    if set(values) & set(WEIGHTS):
        values = {**values, **_present(pipeline)}
    form = SEPTEMBER_FORM if pipeline.name.startswith(HISTORY[-1].name) else FEBRUARY_FORM
    return nested({f"{form}.{key}": value for key, value in values.items()})


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _present(pipeline: Pipeline) -> dict[str, Any]:
    """The weights that the pipeline has now: a weight that is set is scaled together with the other one."""
    slots = {key: slot for slot, key in SLOTS.items() if slot.startswith("fusion.") and has(pipeline, slot)}
    return {key: _parameter(pipeline, slot) for key, slot in slots.items()}


def _switched(pipeline: Pipeline, key: str, on: bool) -> Pipeline:
    slots = [stage.slot for stage in pipeline.stages]
    if key == "query.hybrid.enabled":
        base, at_file, file = pipeline.name.partition("@")
        return pipeline if on else replace(WORKAROUND, name=f"{base}-vector-only{at_file}{file}")
    slot, changes = ("diversity", [DIVERSE]) if "mmr" in key else ("recency", [WEIGHED, DECAY])
    if on == (slot in slots):
        return pipeline
    if not on:
        return replace(pipeline, stages=tuple(one for one in pipeline.stages if one.slot != slot))
    if not _has_switches(pipeline):
        raise InputError(
            f"{pipeline.name} cannot switch {key} on.",
            "Name a release from 2026.2.15 to 2026.7.1, such as -s openclaw-2026.2.15.",
        )
    return replace(pipeline.with_changes(*changes), name=pipeline.name)


def _has_switches(pipeline: Pipeline) -> bool:
    return any(pipeline.name.startswith(one.name) for one in HISTORY[1:-1])


def _with_values_of(own: Pipeline, switched: Pipeline) -> Pipeline:
    """The switched pipeline with the values of all keys that the pipeline had, and that it still has."""
    slots = [slot for slot in SLOTS if has(switched, slot) and has(own, slot)]
    return with_settings(switched, [f"{slot}={_parameter(own, slot)}" for slot in slots])


def _parameter(pipeline: Pipeline, setting: str) -> Any:
    slot, _, parameter = setting.partition(".")
    return parameters(pipeline[slot])[parameter]

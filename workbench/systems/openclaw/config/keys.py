"""OpenClaw's own keys as parameters of a pipeline's stages: in a file, or typed as `--set KEY=value`."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.errors import InputError
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.settings import parameters, with_settings
from workbench.systems.openclaw.config.file import FEBRUARY_FORM, SEPTEMBER_FORM, at, resolved
from workbench.systems.openclaw.config.settings import MemorySearch
from workbench.systems.openclaw.pipelines import WORKAROUND
from workbench.systems.openclaw.releases import DECAY, DIVERSE, HISTORY, WEIGHED

SLOTS: Mapping[str, str] = {
    "limit.count": "query.maxResults",
    "floor.floor": "query.minScore",
    "fusion.vector": "query.hybrid.vectorWeight",
    "fusion.keyword": "query.hybrid.textWeight",
    "rescue.floor": "query.hybrid.textWeight",
    "keyword_leg.depth.multiplier": "query.hybrid.candidateMultiplier",
    "vector_leg.depth.multiplier": "query.hybrid.candidateMultiplier",
    "diversity.relevance_weight": "query.hybrid.mmr.lambda",
    "recency.half_life_days": "query.hybrid.temporalDecay.halfLifeDays",
}
"""Which parameter of a stage takes which key's value."""

SWITCHES = ("query.hybrid.enabled", "query.hybrid.mmr.enabled", "query.hybrid.temporalDecay.enabled")
"""Keys that add stages to a pipeline, or take them away."""

WEIGHTS = ("query.hybrid.vectorWeight", "query.hybrid.textWeight")
PREFIXES = (f"{FEBRUARY_FORM}.", f"{SEPTEMBER_FORM}.", "memorySearch.")


def has(pipeline: Pipeline, setting: str) -> bool:
    """Whether a pipeline has that parameter; a rescue down to 0 does not follow the keyword weight."""
    slot, _, parameter = setting.partition(".")
    known = next((parameters(stage) for stage in pipeline.stages if stage.slot == slot), {})
    return parameter in known and not (slot == "rescue" and known[parameter] == 0)


def tuned(base: Pipeline, search: MemorySearch, keys: Collection[str] | None = None) -> Pipeline:
    """`base` with the values of `search` in its stages: of all keys, or of `keys` alone.

    One weight changes the other too, since OpenClaw scales them to sum to 1.
    """
    values = search.model_dump(by_alias=True)
    if keys is not None and set(keys) & set(WEIGHTS):
        keys = {*keys, *WEIGHTS}
    settings = [
        f"{slot}={at(values, key)}"
        for slot, key in SLOTS.items()
        if has(base, slot) and (keys is None or key in keys)
    ]
    return with_settings(base, settings)


def key_of(setting: str) -> str:
    """OpenClaw's key in `KEY=value`, with or without the path of its settings before it; empty if it is none.

    >>> key_of("agents.defaults.memorySearch.query.minScore=0.2"), key_of("fusion.vector=1")
    ('query.minScore', '')
    """
    name = setting.partition("=")[0].strip()
    bare = next((name.removeprefix(one) for one in PREFIXES if name.startswith(one)), name)
    return bare if bare in (*SLOTS.values(), *SWITCHES) else ""


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
    search = _resolved(_nested(_present(pipeline) | typed))
    for key in SWITCHES:
        if key in typed:
            pipeline = _switched(pipeline, key, bool(typed[key]))
    missing = [key for key in typed if not fits(pipeline, key)]
    if missing:
        raise InputError(
            f"{pipeline.name} has no stage that {missing[0]} sets.",
            f"See its stages: workbench show {pipeline.name.partition('@')[0]}",
        )
    return tuned(pipeline, search, typed)


def check_key(setting: str) -> None:
    """Raises InputError for text that is meant as an OpenClaw key and is none, naming the nearest."""
    name = setting.partition("=")[0].strip()
    bare = next((name.removeprefix(one) for one in PREFIXES if name.startswith(one)), name)
    known = [*dict.fromkeys(SLOTS.values()), *SWITCHES]
    same = [key for key in known if key.lower() == bare.lower() or key.lower().endswith(f".{bare.lower()}")]
    if bare != name or same:
        near = same or difflib.get_close_matches(bare, known, n=2, cutoff=0.3)
        raise InputError(
            f"--set takes no OpenClaw key {bare}{f'; the nearest is {near[0]}' if near else ''}.",
            f"It takes {', '.join(known)}; every other key belongs in a file: --config FILE",
        )


def _resolved(tree: Mapping[str, Any]) -> MemorySearch:
    try:
        return resolved(tree, "--set")[0]
    except InputError as error:
        raise InputError(
            error.problem.replace("--set.", "--set "), "Give a value that OpenClaw accepts."
        ) from None


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _present(pipeline: Pipeline) -> dict[str, Any]:
    """The weights that the pipeline has now: a weight that is set is scaled together with the other one."""
    slots = {key: slot for slot, key in SLOTS.items() if slot.startswith("fusion.") and has(pipeline, slot)}
    return {key: parameters(pipeline["fusion"])[slot.partition(".")[2]] for key, slot in slots.items()}


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key, value in flat.items():
        *outer, last = key.split(".")
        inner = tree
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return tree


def _switched(pipeline: Pipeline, key: str, on: bool) -> Pipeline:
    slots = [stage.slot for stage in pipeline.stages]
    if key == "query.hybrid.enabled":
        return pipeline if on else replace(WORKAROUND, name=f"{pipeline.name}-vector-only")
    slot, changes = ("diversity", [DIVERSE]) if "mmr" in key else ("recency", [WEIGHED, DECAY])
    if on == (slot in slots):
        return pipeline
    if not on:
        return replace(pipeline, stages=tuple(one for one in pipeline.stages if one.slot != slot))
    if not any(pipeline.name.startswith(one.name) for one in HISTORY[1:-1]):
        raise InputError(
            f"{pipeline.name} cannot switch {key} on.",
            "Name a release from 2026.2.15 to 2026.7.1, such as -s openclaw-2026.2.15.",
        )
    return replace(pipeline.but(*changes), name=pipeline.name)

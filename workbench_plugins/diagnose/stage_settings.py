"""A whole stage as a setting: `floor=SYSTEM` is the floor of that system, and `floor=none` is no floor.

So a repair that is more than one number can be typed, too: `--set keyword_score=openclaw-2026.7.1`.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.contracts import Layout
from workbench.errors import InputError, unknown_name
from workbench.measure.edits import LAYOUT, Edit, edited, next_common
from workbench.measure.reruns import Reruns
from workbench.records import Stage
from workbench.retrieval.pipeline import Difference, Pipeline
from workbench.retrieval.settings import is_number, with_settings
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.languages import Language, with_keys_of_any_language
from workbench_plugins.diagnose.parameters import Goal, settings_between

NONE = "none"


class StageSettings(Language):
    """Settings of the form `slot=SYSTEM` and `slot=none`; they have no files."""

    name = "stages"
    endings = ()

    def system(self, file: str) -> Pipeline:
        """Always an error: no file is written in this language."""
        raise InputError(f"{file} is no file of settings.", "Give the name of a system.")

    def key_of(self, setting: str) -> str:
        """The slot, if it is followed by `none` or by the name of a system.

        Raises InputError for a slot of some system that is followed by another word.
        """
        slot, _, value = (part.strip() for part in setting.partition("="))
        if not slot.isidentifier():
            return ""
        if value == NONE or value in SYSTEMS:
            return slot
        if (
            value
            and not is_number(value)
            and any(content_of(one, slot) is not None for one in SYSTEMS.values())
        ):
            raise unknown_name(
                "system", value, list(SYSTEMS), f"Choose one of them, or set a parameter: {slot}.NAME=VALUE"
            )
        return ""

    def with_setting(self, pipeline: Pipeline, setting: str) -> Pipeline | None:
        """The pipeline with the stage, or without it; None if the slot does not fit."""
        slot, _, name = (part.strip() for part in setting.partition("="))
        if name == NONE:
            return None if content_of(pipeline, slot) is None else edited(pipeline, [Edit(slot, None)])
        other = SYSTEMS[name]
        content = content_of(other, slot)
        if content is None and slot != LAYOUT:
            return None
        return edited(pipeline, [Edit(slot, content, next_common(pipeline, other, slot))])


LANGUAGE = StageSettings()


def content_of(pipeline: Pipeline, slot: str) -> Stage | Layout | None:
    """The stage that a pipeline has in a slot, or its layout; None if it has none."""
    if slot == LAYOUT:
        return pipeline.layout
    return next((stage for stage in pipeline.stages if stage.slot == slot), None)


def is_known(slot: str, content: Stage | Layout | None) -> bool:
    """Whether a registered system has this very stage in a slot, or this very layout."""
    return any(content_of(one, slot) == content for one in SYSTEMS.values())


def lasting_systems() -> list[Pipeline]:
    """The systems that a command knows, too: all but those that this process alone has registered."""
    passing = SYSTEMS.of_this_process
    return [one for name, one in SYSTEMS.items() if name not in passing]


def typed_settings(one: Pipeline, other: Pipeline) -> tuple[str, ...]:
    """The settings that turn `one` into `other`, as `--set` takes them; empty if settings cannot."""
    found = settings_between(one, other)
    if found:
        return found
    try:
        some = [setting for difference in one.diff(other) for setting in _settings_of(one, difference)]
        changed = with_typed(one, some)
    except InputError:  # one of several stages does not fit without the others
        return ()
    return tuple(some) if changed.searches_as(other) else ()


def short_settings(runs: Reruns, goal: Goal, wanted: Pipeline) -> tuple[tuple[str, ...], Pipeline]:
    """The settings that turn the pipeline of `runs` into `wanted`, and the pipeline that they make.

    Numbers have six digits, if the answer is as wanted with these, too. There are no settings for a pipeline
    that none can make, which is `wanted` then.
    """
    exact = typed_settings(runs.pipeline, wanted)
    short = tuple(_shortened(one) for one in exact)
    if short != exact:
        rounded = with_typed(runs.pipeline, short)
        if goal.reached(runs.trace(rounded)):
            return short, rounded
    return exact, wanted


def _shortened(setting: str) -> str:
    name, _, value = setting.partition("=")
    return f"{name}={float(value):.6g}" if "." in value and is_number(value) else setting


def _settings_of(pipeline: Pipeline, difference: Difference) -> Sequence[str]:
    """The settings that make one difference: parameters if they can, or else the stage of a system."""
    slot, new = difference.slot, difference.after
    if difference.before is not None and new is not None:
        parameters = settings_between(pipeline, edited(pipeline, [Edit(slot, new)]))
        if parameters:
            return parameters
    return _stage_of_system(pipeline, slot, new)


def with_typed(pipeline: Pipeline, settings: Sequence[str]) -> Pipeline:
    """The pipeline with settings as `--set` takes them. Raises InputError for one that does not fit."""
    (changed,), others = with_keys_of_any_language([pipeline], settings)
    return with_settings(changed, others)


def _stage_of_system(pipeline: Pipeline, slot: str, content: Stage | Layout | None) -> list[str]:
    """The setting that puts this content into a slot; empty if no system has it there.

    Of the systems that have it, one of the same project is named, and of those the shortest name.
    """
    if content is None:
        return [f"{slot}={NONE}"]
    having = [one for one in lasting_systems() if content_of(one, slot) == content]
    having.sort(key=lambda one: (one.source.repository != pipeline.source.repository, len(one.name)))
    return [f"{slot}={one.name}" for one in having[:1]]

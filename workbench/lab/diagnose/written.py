"""A fix in the three ways in which it can be made: as `--set`, as Python, and as OpenClaw's own settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.errors import InputError
from workbench.lab.diagnose.edits import LAYOUT, Edit
from workbench.lab.diagnose.fixes import Fix
from workbench.lab.diagnose.knobs import setting_text
from workbench.records import Stage
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.query import PrunedUnicodeWords, PrunedWords
from workbench.retrieval.settings import parameters
from workbench.systems.openclaw.config.file import FEBRUARY_FORM, SEPTEMBER_FORM
from workbench.systems.openclaw.config.keys import SLOTS, WEIGHTS
from workbench.systems.registry import SYSTEMS, is_configuration, where_is


def as_set(fix: Fix) -> str | None:
    """The options of the command line that make a fix; None if only Python can.

    Other chunks are made by the options of `workbench index`.
    """
    if fix.chunks is not None:
        return fix.chunks.options or None
    if fix.change is None:
        return f"--set {fix.setting}={setting_text(fix.value)}"
    if fix.settings:
        return " ".join(f"--set {one}" for one in fix.settings)
    name = _registered(fix.pipeline)
    return None if name is None else f"--system {name}"


def as_python(fix: Fix) -> str:
    """Lines of Python that make a fix to `pipeline`, or to `index` for other chunks."""
    if fix.chunks is not None:
        return fix.chunks.python
    if fix.change is None:
        module, name = (
            ("workbench.systems.openclaw.config.keys", "with_keys")
            if fix.is_key
            else ("workbench.retrieval.settings", "with_settings")
        )
        setting = f"{fix.setting}={setting_text(fix.value)}"
        return f"from {module} import {name}\n\npipeline = {name}(pipeline, [{setting!r}])"
    return "\n".join(_lines(fix.change.edits))


def _lines(edits: Sequence[Edit]) -> list[str]:
    imports = ["import workbench as wb", "from workbench.lab.diagnose.edits import Edit, edited"]
    steps = []
    for edit in edits:
        content, imported = _expression(edit)
        imports += imported
        steps.append(f"    Edit({edit.slot!r}, {content}, before={edit.before!r}),")
    return [*dict.fromkeys(imports), "", "pipeline = edited(pipeline, [", *steps, "])"]


def _expression(edit: Edit) -> tuple[str, list[str]]:
    """Code for the content of an edit, and what it imports."""
    if edit.content is None:
        return "None", []
    if isinstance(edit.content, PrunedWords | PrunedUnicodeWords):
        name = type(edit.content).__name__
        return repr(edit.content), [f"from {type(edit.content).__module__} import {name}"]
    for name, pipeline in SYSTEMS.items():
        if edit.slot == LAYOUT and pipeline.layout == edit.content:
            return f"wb.system({name!r}).layout", []
        if edit.content in pipeline.stages:
            return f"wb.system({name!r})[{edit.slot!r}]", []
    stage: Stage = edit.content  # type: ignore[assignment]
    try:
        module, name = where_is(stage)
    except InputError:  # no change has this stage: it is the pipeline's own with other parameters
        values = [f"{edit.slot}.{name}={setting_text(one)}" for name, one in parameters(stage).items()]
        imported = "from workbench.retrieval.settings import with_settings"
        return f"with_settings(pipeline, {values})[{edit.slot!r}]", [imported]
    return f"{name}.stage", [f"from {module} import {name}"]


def _registered(pipeline: Pipeline) -> str | None:
    """The name of the registered system that searches like a pipeline, if there is one."""
    return next(
        (
            name
            for name, one in SYSTEMS.items()
            if (one.stages, one.layout) == (pipeline.stages, pipeline.layout)
        ),
        None,
    )


def is_configured(pipeline: Pipeline) -> bool:
    """Whether a pipeline was read from an openclaw.json, by its name."""
    return is_configuration(pipeline.name)


def as_openclaw(fix: Fix) -> dict[str, Any] | None:
    """The settings to paste into the openclaw.json; None if the release has no setting for the fix.

    Both weights are written, since OpenClaw scales them together.
    """
    if not fix.is_key:
        return None
    values: dict[str, Any] = {fix.setting: fix.value}
    if fix.chunks is not None:
        values = {f"chunking.{name}": value for name, value in fix.chunks.sizes._asdict().items()}
    elif fix.setting in WEIGHTS:
        now = parameters(fix.pipeline["fusion"])
        values = {
            key: now[slot.partition(".")[2]]
            for slot, key in SLOTS.items()
            if key in WEIGHTS and slot.startswith("fusion.")
        }
    form = SEPTEMBER_FORM if fix.pipeline.name.startswith("openclaw-2026.9.6") else FEBRUARY_FORM
    tree: dict[str, Any] = {}
    for key, value in values.items():
        *outer, last = f"{form}.{key}".split(".")
        inner = tree
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return tree

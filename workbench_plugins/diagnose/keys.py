"""The keys of the openclaw.json that a system comes from: which there are, and what to paste into the file.

Without the feature `openclaw`, or for a system that comes from no such file, there are no keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError
from workbench.retrieval.pipeline import Pipeline
from workbench_plugins.diagnose.parameters import Parameter, Value, setting_text

if TYPE_CHECKING:
    from workbench_plugins.openclaw.config import Configuration


def is_of_file(name: str) -> bool:
    """Whether the name of a system is that of an openclaw.json, with or without another system before it."""
    try:
        from workbench_plugins.openclaw.config import is_file
    except ImportError:
        return False
    return is_file(name)


def keys_of(pipeline: Pipeline) -> list[Parameter]:
    """The keys that a pipeline has stages for, as parameters.

    A key is set as OpenClaw reads it, which scales weights to sum to 1, for example.
    """
    if not is_of_file(pipeline.name):
        return []
    from workbench_plugins.openclaw import config_keys

    put = partial(_with_key, pipeline)
    return [Parameter(*one, put=partial(put, one.name)) for one in config_keys.keys_of(pipeline)]


def _with_key(pipeline: Pipeline, name: str, value: Value) -> Pipeline:
    from workbench_plugins.openclaw.config_keys import with_keys

    return with_keys(pipeline, [f"{name}={setting_text(value)}"])


def to_paste(pipeline: Pipeline, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values as the file of a pipeline has them; None without a file, or if its release lacks a key."""
    if not is_of_file(pipeline.name):
        return None
    from workbench_plugins.openclaw import config_keys

    return config_keys.to_paste(pipeline, values)


def pasted_works(file: str, content: Mapping[str, Any], works: Callable[[Configuration], bool]) -> bool:
    """Whether the file says what works once the content is pasted into it; False without a file."""
    if not is_of_file(file):
        return False
    from workbench_plugins.openclaw.config import pasted

    try:
        return works(pasted(file, content))
    except InputError:
        return False

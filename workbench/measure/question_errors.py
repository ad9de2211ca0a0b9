"""What is wrong with the values of a file of questions, and in which line: only YAML knows the lines."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import yaml
from pydantic import ValidationError

from workbench.errors import brief
from workbench.memory.safe_yaml import LOADER

KINDS = {"date": "a date", "datetime": "a time", "int": "a number", "float": "a number", "bool": "yes or no"}
"""What YAML reads text without quotes as."""


def problem_of(error: ValidationError, text: str, keys: Mapping[str, Collection[str]]) -> str:
    """The first thing that is wrong with values read from the YAML `text`, with its line and what mends it.

    `keys` are the keys that each list of the file may have; those of the file itself are under "".
    """
    found = error.errors()
    first = found[0]
    # A misspelled key is two errors: one key is missing, and another is unknown. The second one is the cause.
    beside = (
        one for one in found if one["type"] == "extra_forbidden" and one["loc"][:-1] == first["loc"][:-1]
    )
    cause = next(beside, first)
    root = cast("yaml.Node", yaml.compose(text, LOADER))  # a text without values would have had no keys
    node = _place(root, cause)
    return f"line {node.start_mark.line + 1}: {_said(cause, node, keys)}"


def _said(error: Any, node: yaml.Node, keys: Mapping[str, Collection[str]]) -> str:
    *above, name = error["loc"]
    shown = brief(name).strip("'")
    entry = str(above[0]) if above else ""
    if error["type"] == "extra_forbidden":
        known = list(keys.get(entry, ()))
        near = difflib.get_close_matches(str(name), known, n=1)
        hint = f"the nearest is `{near[0]}`" if near else f"the keys are {', '.join(known)}"
        return f"`{shown}` is no key here; {hint}."
    if error["type"] == "missing":
        return f"`{shown}` is missing."
    kind = KINDS.get(type(error["input"]).__name__)
    # An unanswerable question may be text alone, without keys.
    is_text = error["type"] == "string_type" or (error["type"] == "model_type" and entry == "controls")
    if is_text and kind and isinstance(node, yaml.ScalarNode):
        return f'{node.value} is read as {kind}, not as text. Put it in quotes: "{node.value}".'
    if error["type"] == "model_type":
        return f"an entry of `{entry}` has keys, such as `{next(iter(keys[entry]))}`."
    return f"`{shown}`: {error['msg'].removeprefix('Value error, ').rstrip('.')}."


def _place(root: yaml.Node, error: Any) -> yaml.Node:
    """The place in the YAML that an error is about: the key that should not be there, or else the value."""
    *above, name = error["loc"]
    holder = _node(root, above)
    if error["type"] == "extra_forbidden" and isinstance(holder, yaml.MappingNode):
        return next((key for key, _ in holder.value if key.value == str(name)), holder)
    return _node(holder, [name])


def _node(node: yaml.Node, loc: Sequence[str | int]) -> yaml.Node:
    """The value at this place of the YAML, or the nearest one that holds it."""
    for name in loc:
        if isinstance(node, yaml.SequenceNode) and isinstance(name, int) and name < len(node.value):
            node = node.value[name]
        elif isinstance(node, yaml.MappingNode):
            node = next((value for key, value in node.value if key.value == str(name)), node)
    return node

"""Reads and writes YAML as plain values: no tags, no aliases, no guessed types, and a line for each value.

A person writes cases by hand, so `question: 12:30` is text here, although YAML 1.1 reads a number. A file
from somebody else can be hostile, so its size, depth and number of values are bounded before it is built.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import yaml

from workbench.memory.safe_yaml import RefusedYamlError, check_yaml
from workbench.safe_text import BIDIRECTIONAL, SEPARATORS

MOST_VALUES = 300_000
NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}
TAGS = ("str", "int", "float", "bool", "null", "timestamp", "map", "seq", "merge", "value")

Place = tuple[str | int, ...]
"""Where a value is: the keys and the positions that lead to it."""


class YamlTree(NamedTuple):
    """The values of a YAML text, and the line of each, from 1."""

    values: Any
    lines: dict[Place, int]

    def line_of(self, place: Sequence[str | int]) -> int:
        """The line of a value, or of the nearest value around it."""
        known = tuple(place)
        while known and known not in self.lines:
            known = known[:-1]
        return self.lines.get(known, 1)


def read_tree(text: str) -> YamlTree:
    """The values of a YAML text.

    Raises RefusedYamlError, with the line, for aliases, tags, duplicate keys, deep nesting and more than
    300,000 values; yaml.YAMLError for text that is not YAML.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    check_yaml(text, loader, MOST_VALUES)
    root = yaml.compose(text, loader)
    lines: dict[Place, int] = {}
    return YamlTree(None if root is None else _value(root, (), lines), lines)


def _value(node: yaml.Node, place: Place, lines: dict[Place, int]) -> Any:
    line = node.start_mark.line
    lines[place] = line + 1
    if node.tag.removeprefix("tag:yaml.org,2002:") not in TAGS:
        raise RefusedYamlError(line, f"the tag {node.tag} is not allowed")
    if isinstance(node, yaml.MappingNode):
        return dict(_pairs(node, place, lines))
    if isinstance(node, yaml.SequenceNode):
        return [_value(one, (*place, number), lines) for number, one in enumerate(node.value)]
    return _scalar(str(node.value), plain=not getattr(node, "style", None))


def _pairs(node: yaml.MappingNode, place: Place, lines: dict[Place, int]) -> Iterator[tuple[str, Any]]:
    seen: set[str] = set()
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise RefusedYamlError(key.start_mark.line, "a key is not a word")
        if key.value in seen:
            raise RefusedYamlError(key.start_mark.line, f"the key {key.value!r} is there twice")
        seen.add(key.value)
        yield key.value, _value(value, (*place, key.value), lines)


def _scalar(text: str, plain: bool) -> Any:
    if not plain:
        return text
    if text in WORDS:
        return WORDS[text]
    if NUMBER.fullmatch(text):
        return float(text) if re.search(r"[.eE]", text) else int(text)
    return text


UNSEEN = re.compile("[" + "".join(map(chr, (*BIDIRECTIONAL, *SEPARATORS))) + "]")
"""Characters that change the order or the lines of what is shown; they are written as escapes."""


SHORT = 200
BASE64 = re.compile(r"[A-Za-z][A-Za-z0-9+/]+={0,2}")
"""What stands in YAML as it is; it begins with a letter, so that nothing takes it for a number."""


class _Writer(yaml.SafeDumper):
    """Writes no aliases, and texts of several lines as blocks."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(writer: _Writer, text: str) -> yaml.Node:
    if UNSEEN.search(text):
        return writer.represent_scalar("tag:yaml.org,2002:str", text, style='"')
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


def _numbers(writer: _Writer, values: list[Any]) -> yaml.Node:
    short = bool(values) and all(isinstance(one, int | float) for one in values)
    return writer.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=short)


_Writer.add_representer(str, _text)
_Writer.add_representer(list, _numbers)


def write_tree(values: Any) -> str:
    """The values as YAML in the order of their keys: the same text for the same values."""
    apart: dict[str, str] = {}
    name = f"vector-{secrets.token_hex(8)}-"
    text = yaml.dump(
        _without_vectors(values, apart, name),
        Dumper=_Writer, sort_keys=False, allow_unicode=True, width=1 << 30, default_flow_style=False,
    )  # fmt: skip
    if apart:
        text = re.sub(f"{name}\\d+", lambda found: apart[found[0]], text)
    return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04X}", text)  # they stand in double quotes alone


def _without_vectors(values: Any, apart: dict[str, str], name: str) -> Any:
    """The values with a short name for each long base64 text, which PyYAML would read letter by letter."""
    if isinstance(values, dict):
        return {key: _without_vectors(one, apart, name) for key, one in values.items()}
    if isinstance(values, list):
        return [_without_vectors(one, apart, name) for one in values]
    if isinstance(values, str) and len(values) > SHORT and BASE64.fullmatch(values):
        short = f"{name}{len(apart)}"
        apart[short] = values
        return short
    return values

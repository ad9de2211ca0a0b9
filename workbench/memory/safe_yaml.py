"""YAML of other people: it is checked before it is loaded."""

from __future__ import annotations

from typing import Any

import yaml
from yaml.constructor import ConstructorError

LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader in C where it is built: it is ten times as fast."""
DEEPEST = 30
"""Levels of nesting."""
MOST_VALUES = 10_000_000
MOST_DIGITS = 4_000
"""The largest number of digits of a whole number. Python refuses to print one of more than 4,300."""


class RefusedYamlError(Exception):
    """YAML that is not loaded; `line` counts from 0."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line
        self.problem = problem


class CheckedLoader(LOADER):  # type: ignore[misc, valid-type]
    """Loads YAML. A value that is none of its kind raises yaml.YAMLError, whatever PyYAML raises for it.

    Such values are the date 2026-13-45, `!!timestamp x`, `!!bool x` and a number of a million digits.
    """

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        kind = node.tag.rpartition(":")[2]
        try:
            if kind == "int" and len(node.value) > MOST_DIGITS:
                raise ValueError(f"a whole number has more than {MOST_DIGITS:,} digits")
            return super().construct_object(node, deep)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            reason = str(error) if isinstance(error, ValueError) else f"it is no {kind}"
            raise ConstructorError(None, None, reason, node.start_mark) from None


def load_yaml(text: str) -> Any:
    """The value of a YAML text. Raises RefusedYamlError and yaml.YAMLError as `check_yaml` does."""
    check_yaml(text)
    return yaml.load(text, CheckedLoader)


def check_yaml(text: str, most: int = MOST_VALUES) -> None:
    """Raises RefusedYamlError for aliases, deep nesting and half characters; yaml.YAMLError for no YAML.

    `most` is the largest number of values in the text.

    A few lines of aliases can stand for more data than fits into memory. An escape such as "\\ud800" makes
    text that cannot be written as UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RefusedYamlError(text.count("\n", 0, error.start), "a character in it is half of one") from None
    depth = 0
    for count, event in enumerate(yaml.parse(text, LOADER)):
        line = event.start_mark.line if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent):
            raise RefusedYamlError(line, f"the alias *{event.anchor} is not allowed")
        if isinstance(event, yaml.ScalarEvent) and any("\ud800" <= one <= "\udfff" for one in event.value):
            raise RefusedYamlError(line, "an escape in it is half of a character")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if count > most:
            raise RefusedYamlError(line, f"it has more than {most:,} values")
        if depth > DEEPEST:
            raise RefusedYamlError(line, f"it is nested more than {DEEPEST} levels deep")

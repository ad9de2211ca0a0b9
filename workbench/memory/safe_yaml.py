"""YAML of other people: it is checked before it is loaded."""

from __future__ import annotations

import yaml

LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader in C where it is built: it is ten times as fast."""
DEEPEST = 30
"""Levels of nesting."""


class RefusedYamlError(Exception):
    """YAML that is not loaded; `line` counts from 0."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line
        self.problem = problem


def check_yaml(text: str, loader: type[yaml.SafeLoader] = yaml.SafeLoader, most: int = 10_000_000) -> None:
    """Raises RefusedYamlError for aliases, deep nesting and half characters; yaml.YAMLError for no YAML.

    `loader` parses the text, and `most` is the largest number of values in it.

    A few lines of aliases can stand for more data than fits into memory. An escape such as "\\ud800" makes
    text that cannot be written as UTF-8.
    """
    depth = 0
    for count, event in enumerate(yaml.parse(text, loader)):
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

"""What is wrong with a text that is not YAML, in plain words where the mistake is a common one."""

from __future__ import annotations

import json

import yaml

MOST_SHOWN = 200
"""Characters of a value that a remedy prints."""


def yaml_mistake(error: yaml.YAMLError, text: str) -> tuple[str, str]:
    """What is wrong with `text`, with its line, and what mends it; the second is empty for a rare mistake.

    >>> text = "question: what: tea"
    >>> try:
    ...     yaml.safe_load(text)
    ... except yaml.YAMLError as error:
    ...     print(*yaml_mistake(error, text))
    line 1: a value with a colon has no quotes. Put the value in quotes: "what: tea"
    """
    mark = getattr(error, "problem_mark", None)
    if not isinstance(error, yaml.MarkedYAMLError) or mark is None:
        return f"{' '.join(str(error).split())}.", ""
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    place = f"line {mark.line + 1}"
    if _begins_with_tab(line, mark.column):
        return f"{place}: a tab stands at the beginning of the line.", "Put blanks in its place."
    if value := _value_with_colon(error, line, mark.column):
        shown = f": {json.dumps(value, ensure_ascii=False)}" if len(value) <= MOST_SHOWN else "."
        return f"{place}: a value with a colon has no quotes.", f"Put the value in quotes{shown}"
    return f"{place}: {', '.join(filter(None, (error.context, error.problem)))}.", ""


def _begins_with_tab(line: str, column: int) -> bool:
    """Whether a tab is among the blanks at the beginning of a line, and YAML stops there."""
    return "\t" in line[: column + 1] and not line[:column].strip()


def _value_with_colon(error: yaml.MarkedYAMLError, line: str, column: int) -> str:
    """The value in which YAML stops at a second colon; empty for another mistake."""
    before = line[:column]
    if ": " not in before or not str(error.problem).startswith("mapping values are not allowed"):
        return ""
    return line.partition(": ")[2].strip()

"""A text that is not YAML is refused in plain words, with the line of the mistake and what mends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from workbench.memory.safe_yaml import load_yaml
from workbench.memory.yaml_mistakes import yaml_mistake

TAB = "a tab stands at the beginning of the line."
COLON = "a value with a colon has no quotes."


def mistake(text: str, load: Callable[[str], Any] = load_yaml) -> tuple[str, str]:
    with pytest.raises(yaml.YAMLError) as raised:
        load(text)
    return yaml_mistake(raised.value, text)


@pytest.mark.parametrize("load", [load_yaml, yaml.safe_load])
@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        ("questions:\n\t- question: a\n", f"line 2: {TAB}", "Put blanks in its place."),
        ("- question: a\n \ttarget: b\n", f"line 2: {TAB}", "Put blanks in its place."),
        ("- question: who: me\n", f"line 1: {COLON}", 'Put the value in quotes: "who: me"'),
        ('a: 1\nb: the "one": café\n', f"line 2: {COLON}", r'Put the value in quotes: "the \"one\": café"'),
        (f"a: b: {'long ' * 100}", f"line 1: {COLON}", "Put the value in quotes."),
    ],
)
def test_a_tab_and_a_colon_are_named(
    load: Callable[[str], Any], text: str, problem: str, remedy: str
) -> None:
    assert mistake(text, load) == (problem, remedy)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: b\n  c: d\n", "line 2: mapping values are not allowed"),
        ("a: @b", "line 1: while scanning for the next token, found character"),
        ("a: 'b\n", "line 2: while scanning a quoted scalar, found unexpected end of stream."),
        ("a: 2026-13-45", "line 1: month must be in 1..12."),
        ("a: \0", "unacceptable character #x0000"),
    ],
)
def test_another_mistake_has_the_words_of_the_yaml_reader(text: str, said: str) -> None:
    problem, remedy = mistake(text)
    assert problem.startswith(said)
    assert remedy == ""

"""Every command and every option has help, and every command is in the README or in docs/."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from tests.commands import Run
from tests.conftest import PROJECT
from workbench.cli.app import app

ROOT: Any = typer.main.get_command(app)


def commands(group: Any, *before: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command below `group` with the words that are typed for it."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "commands"):
            yield from commands(command, *before, name)
        else:
            yield (*before, name), command


COMMANDS = dict(commands(ROOT))


def pages() -> str:
    files = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 17


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_says_in_a_sentence_what_it_does(run: Run, words: tuple[str, ...]) -> None:
    outcome = run(*words, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    text = " ".join(outcome.out.split("Options:")[0].split())
    assert re.search(r"\] (?:\S+ )*?[A-Z][a-z]+ .{8,}\.", text)
    assert re.match(r"[A-Z]\S* .*\.$", (COMMANDS[words].help or "").split("\n")[0])


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_of_a_command_has_help(words: tuple[str, ...]) -> None:
    without = [one.name for one in COMMANDS[words].params if not (one.help or "").strip()]
    assert [name for name in without if name != "help"] == []


def test_the_options_before_a_command_have_help() -> None:
    assert [one.name for one in ROOT.params if not (getattr(one, "help", "") or "").strip()] == []


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_is_in_the_readme_or_the_docs(words: tuple[str, ...]) -> None:
    name = re.escape(" ".join(words))
    assert re.search(rf"(workbench (?:--\S+ \S+ )*|`){name}\b", pages())


def test_the_readme_names_no_command_that_is_not_there() -> None:
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|\$ )workbench (?:--config FILE )?([a-z][a-z-]+)", text))
    assert named - {words[0] for words in COMMANDS} == set()

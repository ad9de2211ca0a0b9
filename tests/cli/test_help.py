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


def test_help_names_the_commands(run: Run) -> None:
    assert len(COMMANDS) >= 17
    shown = run("-h")
    assert shown == run("--help")
    assert all(f"\n  {name} " in shown.out for name in ("index", "search", "explain", "evaluate", "lab"))


def test_help_names_at_most_20_commands_and_the_merged_ones_work_under_both_names(run: Run) -> None:
    shown = re.findall(r"^  ([a-z]+)  +[A-Z]", run("--help").out.partition("Start:")[2], re.MULTILINE)
    assert len(shown) <= 20
    for old, new in {"gate": "runs", "triage": "case", "fusion": "runs"}.items():
        assert old not in shown
        assert f"\n  {old} " in run(new, "--help").out
        assert run(old, "--help").out.partition("\n")[2] == run(new, old, "--help").out.partition("\n")[2]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_says_in_a_sentence_what_it_does(run: Run, words: tuple[str, ...]) -> None:
    outcome = run(*words, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    text = " ".join(outcome.out.split("Options:")[0].split())
    assert re.search(r"\] (?:\S+ )*?[A-Z][a-z]+ .{8,}\.", text)
    assert re.match(r"[A-Z]\S* .*\.$", (COMMANDS[words].help or "").split("\n")[0])


def test_every_option_has_help() -> None:
    options = [(command, one) for command in (ROOT, *COMMANDS.values()) for one in command.params]
    without = [(command.name, one.name) for command, one in options if not (one.help or "").strip()]
    assert [pair for pair in without if pair[1] != "help"] == []


def test_every_command_is_in_the_readme_or_the_docs() -> None:
    text, names = pages(), [" ".join(words) for words in COMMANDS]
    found = [re.search(rf"(workbench (?:--\S+ \S+ )*|`){re.escape(name)}\b", text) for name in names]
    assert [name for name, there in zip(names, found, strict=True) if not there] == []


def test_the_readme_names_no_command_that_is_not_there() -> None:
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|\$ )workbench (?:--config FILE )?([a-z][a-z-]+)", text))
    assert named - {words[0] for words in COMMANDS} == set()

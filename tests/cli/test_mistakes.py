"""What people type by mistake is read as what they mean, or answered with what to type; and each command that
a message names exists."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import world
from tests.commands import PROJECT, Run
from workbench.cli.commands import rows, rows_of
from workbench.memory.sync import index_folder

MISTAKES = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text(encoding="utf-8"))
NAMED = re.compile(r"(?:`|: )workbench ((?:[a-z][a-z-]+)(?: [a-z][a-z-]+)?)")
"""A command in a message: in backquotes, or after a colon."""


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder outside the clone, with an indexed memory, one without an index, and one without notes."""
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    index_folder(world.write(tmp_path / "notes"))
    world.write(tmp_path / "unindexed")
    (tmp_path / "empty").mkdir()
    one = "{question: rooibos tea, target: memory/tea.md}"
    (tmp_path / "q.yaml").write_text(f"questions: [{one}]\n")
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "twice.yaml").write_text(f"questions: [{one}, {one}]\n")
    (tmp_path / "both.yaml").write_text(f"questions: [{one}]\ncontrols: [rooibos tea]\n")
    index_folder(world.write(tmp_path / "my notes", {"tea.md": "# Tea\n\nTea is at nine.\n"}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: row[0])
def test_a_mistake_is_understood_or_answered_with_the_next_step(
    run: Run, elsewhere: Path, row: list[Any]
) -> None:
    command, code, *told = row
    outcome = run(*shlex.split(command))
    printed = " ".join(f"{outcome.out} {outcome.err}".split())
    assert (outcome.code, [one for one in told if one.strip() not in printed]) == (code, []), printed
    assert "Traceback" not in printed
    assert code != 2 or "\n  " in outcome.err  # the problem, and below it the next step


def test_the_table_has_eighty_mistakes() -> None:
    assert len({row[0] for row in MISTAKES}) == len(MISTAKES) >= 80


def texts(path: Path) -> Iterator[str]:
    """The texts of a module's code, with a placeholder for each value in them; docstrings are texts, too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(one.value) if isinstance(one, ast.Constant) else "X" for one in node.values)


def named_commands(text: str) -> list[str]:
    """The commands that a text names, each with its group."""
    return [found[1] for found in NAMED.finditer(text)]


def exists(named: str) -> bool:
    first, _, second = named.partition(" ")
    row = rows().get(first)
    return row is not None and (not row.is_group or second in rows_of(first))


def test_every_command_that_a_message_names_exists() -> None:
    sources = [*(PROJECT / "workbench").rglob("*.py"), *(PROJECT / "workbench_plugins").rglob("*.py")]
    found = {(named, path.name) for path in sources for text in texts(path) for named in named_commands(text)}
    assert len(found) > 40
    assert [one for one in sorted(found) if not exists(one[0])] == []


def test_a_planted_command_that_does_not_exist_is_found() -> None:
    assert [one for one in named_commands("Look: workbench inspect X") if not exists(one)] == ["inspect"]
    assert [one for one in named_commands("`workbench runs compair`") if not exists(one)] == ["runs compair"]

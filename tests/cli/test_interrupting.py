"""Ctrl-C ends every command with one sentence and exit code 130, also while modules load."""

from __future__ import annotations

import pytest

from tests.commands import PROJECT, Run, python
from workbench.cli.app import IndexOptions

COMMANDS = {
    "search": ("search", "tea"),
    "explain": ("explain", "tea", "--target", "memory/tea.md"),
    "diagnose": ("diagnose", "tea", "--target", "memory/tea.md"),
    "compare": ("compare", "--question", "tea", "bm-head", "openclaw-2026.2.13"),
    "evaluate": ("evaluate", "--memory", f"{PROJECT}/sample_memory"),
    "calibrate": ("calibrate", "--memory", f"{PROJECT}/sample_memory"),
}
SENTENCE = "Interrupted: the command has not finished.\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_an_interrupted_command_says_so(name: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: object, **named: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(IndexOptions, "opened", interrupted)
    ended = run(*COMMANDS[name])
    assert (ended.code, ended.out, ended.err) == (130, "", SENTENCE)


@pytest.mark.parametrize("module", ["typer", "workbench.cli.app", "workbench.cli.searching"])
def test_ctrl_c_while_a_module_loads_ends_with_a_sentence(module: str) -> None:
    ended = python(
        "-c",
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "sys.argv = ['workbench', 'search', 'tea']\n"
        "from workbench.cli import main\n"
        "main()\n",
    )
    assert (ended.code, ended.out) == (130, "")
    assert ended.err in (SENTENCE, "Interrupted.\n")

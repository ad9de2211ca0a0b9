"""Ctrl-C ends every command with one sentence and exit code 130, also while modules load."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

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


PAUSED = """
import sys, threading
from importlib import import_module

where = sys.argv.pop(1)
module, _, name = where.partition(":")

def wait(*given, **named):
    print("reached", flush=True)
    threading.Event().wait()

class Waiting:
    def find_spec(self, wanted, path=None, target=None):
        if wanted == module and not name:
            wait()

if name:
    *owners, attribute = name.split(".")
    owner = import_module(module)
    for one in owners:
        owner = getattr(owner, one)
    setattr(owner, attribute, wait)
else:
    sys.meta_path.insert(0, Waiting())
from workbench.__main__ import main
main()
"""
"""The command line that stops at a place, says so, and waits: at a module's import, or at a call."""
OPENED = "workbench.cli.app:IndexOptions.opened"
KEPT = r"Interrupted.*\n.*Run the same command again"


@pytest.mark.parametrize(
    ("where", "command", "sentence"),
    [
        ("workbench.cli", ("search", "tea"), r"Interrupted\."),
        ("typer", ("--help",), r"Interrupted\."),
        *((OPENED, command, SENTENCE.strip()) for command in COMMANDS.values()),
        ("workbench.memory.embedding.local:LocalEmbedder.read_shares", ("index", "notes"), KEPT),
        ("workbench.memory.index:MemoryIndex.laid_out", ("index", "notes"), KEPT),
        ("workbench_plugins.agent.server:serve_stdio", ("serve", "-m", "notes"), r"Stopped\."),
        ("workbench_plugins.explore.page_server:serve_page", ("explore", "notes"), r"Stopped\."),
    ],
)
def test_a_real_ctrl_c_ends_with_a_sentence(
    where: str, command: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "notes" / "memory").mkdir(parents=True)
    (tmp_path / "notes" / "memory" / "tea.md").write_text("# Tea\n\nGreen tea.\n", encoding="utf-8")
    command_line = [sys.executable, "-c", PAUSED, where, *command]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "WORKBENCH_HOME": str(tmp_path / "home")}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command_line, cwd=tmp_path, env=environment, stdout=pipe, stderr=pipe, text=True
    ) as begun:
        try:
            assert begun.stdout is not None
            while "reached" not in (line := begun.stdout.readline()):
                assert line, begun.communicate()[1]
            begun.send_signal(signal.SIGINT)
            out, err = begun.communicate(timeout=60)
        finally:
            begun.kill()  # it waits for ever if it was not interrupted
    assert begun.returncode == 130, err
    assert re.search(sentence, err), err
    assert "Traceback" not in err + out

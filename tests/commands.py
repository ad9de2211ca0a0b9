"""The command line, called in this process or in one of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from workbench import cli
from workbench.cli.app import app

PROJECT = Path(__file__).parent.parent


class Outcome(NamedTuple):
    """How a command ended: exit code, stdout, stderr."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """What was printed, read as strict JSON, which has no NaN."""

        def refuse(name: str) -> None:
            raise AssertionError(f"{name} is not JSON")

        return json.loads(self.out, parse_constant=refuse)


Run = Callable[..., Outcome]


def runner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: typer.Typer = app
) -> Run:
    """The command line, or a script's, in this process: `run("search", "tea", "--memory", folder)`."""

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["workbench", *map(str, arguments)])
        capsys.readouterr()
        code = 0
        try:
            cli.main(command)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        printed = capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    return run


def python(*arguments: str | bytes) -> Outcome:
    """A Python of its own with these arguments, in the project's folder."""
    command = [sys.executable, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT, timeout=600)
    return Outcome(ended.returncode, ended.stdout, ended.stderr)

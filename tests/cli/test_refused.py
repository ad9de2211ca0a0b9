"""A command that cannot be run ends with 2, and says what the problem is and what to do about it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml

from tests.commands import Run

REFUSED = yaml.safe_load(Path(__file__).with_name("refused.yaml").read_text(encoding="utf-8"))


@pytest.mark.usefixtures("in_project")
@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row[0])
def test_a_command_that_cannot_be_run_says_why(run: Run, row: list[str]) -> None:
    command, *description = row
    outcome = run(*shlex.split(command))
    told = " ".join(outcome.err.split())
    assert (outcome.code, [one for one in description if one not in told]) == (2, [])
    assert outcome.err
    assert "Traceback" not in outcome.err

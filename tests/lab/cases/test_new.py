"""`workbench case new` says when a case cannot show what the memory itself answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import Run, runner
from tests.conftest import PROJECT
from workbench.memory.index import MemoryIndex

QUESTION = "don't quit too early"
TARGET = "memory/protocols/tenacity.md"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], sample: MemoryIndex) -> Run:
    monkeypatch.chdir(PROJECT)
    return runner(monkeypatch, capsys)


@pytest.mark.parametrize(("system", "told"), [("openclaw-2026.2.13", False), ("recommended", True)])
def test_a_case_that_answers_otherwise_than_the_memory_says_so(
    run: Run, tmp_path: Path, system: str, told: bool
) -> None:
    out = tmp_path / "quit.case.yaml"
    made = run("case", "new", QUESTION, "--target", TARGET, "-s", system, "--out", out)
    assert made.code == 0
    assert out.is_file()
    assert ("So this case does not show what you see." in made.err) is told

"""The question explorer's button saves the search as a case beside the notebook."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.memory.index import MemoryIndex
from workbench_plugins.cases.model import load_case
from workbench_plugins.cases.running import run_case
from workbench_plugins.explore.explorer import QuestionExplorer


def test_the_button_saves_the_search_that_misses_the_file_and_says_where(
    toy: MemoryIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    widget = QuestionExplorer(toy, "rooibos <b>tea</b>", "memory/server.md", link=False)
    widget.save.click()
    widget.save.click()
    files = sorted(tmp_path.iterdir())
    assert [one.name for one in files] == ["rooibos-b-tea-b-2.case.yaml", "rooibos-b-tea-b.case.yaml"]
    assert str(files[0]) in widget.saved.value
    run = run_case(load_case(files[1]).case)
    assert (run.holds, run.as_observed, run.pipeline.name) == (False, True, "openclaw-2026.2.13")


def test_without_a_file_the_button_says_what_it_needs(
    toy: MemoryIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    widget = QuestionExplorer(toy, "rooibos tea", link=False)
    widget.save.click()
    assert "A case needs the file that you expect" in widget.saved.value
    assert not list(tmp_path.iterdir())

"""The first hour of a newcomer on notes of one's own: ask, explain, configure, change, and tidy up."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests import world
from tests.commands import Run


def test_the_first_hour(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))

    def said(*words: str, code: int = 0) -> str:
        outcome = run(*words)
        assert outcome.code == code, outcome
        return outcome.out + outcome.err

    notes = world.write(tmp_path / "notes", {"tea.md": "# Tea\n\nGreen tea at ten.\n", "bike.md": "# Bike\n"})
    asked = ("search", "green tea", "-m", "notes")
    assert "has no index yet" in said(*asked, code=2)
    assert "Indexed 2 files" in said("index", "notes")
    assert "tea.md" in said(*asked)
    assert "Not in the index: milk.md" in said("explain", "green tea", "-t", "milk.md", "-m", "notes", code=1)

    # The same openclaw.json is two systems in two releases; without a release, the workbench asks.
    configuration = {"agents": {"defaults": {"memorySearch": {"query": {"maxResults": 8}}}}}
    Path("openclaw.json").write_text(json.dumps(configuration), encoding="utf-8")
    assert "--release" in said("--config", "openclaw.json", *asked, code=2)
    for release in ("2026.2.13", "2026.9.6"):
        told = said("--config", "openclaw.json", "--release", release, *asked)
        assert told.count(f"OpenClaw {release}, because you named it") == 1
        assert f"openclaw-{release}@openclaw.json" in told

    world.write(notes, {"tea.md": "# Tea\n\nRed tea at noon.\n"})
    assert "out of date" in said(*asked)
    assert "1 changed" in said("index", "notes")
    assert "out of date" not in said(*asked)
    shutil.rmtree(notes)
    assert "--remove-gone" in said("doctor", code=1)

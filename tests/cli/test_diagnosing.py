"""`workbench diagnose` and `workbench blame` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Run
from workbench.views.blame import SHOWN_FLIPS

QUESTION = "how should I evaluate if a claim is actually true"
TARGET = "memory/protocols/falsification-first.md"
BACKUP = "memory/reference/backup-and-restore.md"
SHIPPED = "openclaw-2026.2.13"


pytestmark = pytest.mark.usefixtures("in_project")


def test_the_page_has_its_five_parts(run: Run) -> None:
    outcome = run("diagnose", QUESTION, "--target", TARGET, "-s", SHIPPED)
    assert (outcome.code, outcome.err) == (0, "")
    heads = "What happened", "Causes", "Fixes: the file is then in the answer", "The price", "As settings"
    places = [outcome.out.index(head) for head in heads]
    assert places == sorted(places)
    assert "--set floor.floor=" in outcome.out


def test_the_fix_of_the_page_brings_the_file_in(run: Run) -> None:
    fixes = run("diagnose", QUESTION, "--target", TARGET, "-s", SHIPPED, "--json").json()["fixes"]
    options = [one["set"].split() for one in fixes if one["set"] and one["set"].startswith("--set")]
    assert options
    for option in options:
        assert run("explain", QUESTION, "--target", TARGET, "-s", SHIPPED, *option).code == 0


@pytest.mark.parametrize(
    ("release", "form", "own", "question", "target"),
    [
        ("2026.2.13", "agents.defaults.memorySearch", {}, QUESTION, TARGET),
        ("2026.2.13", "agents.defaults.memorySearch", {"hybrid": {"vectorWeight": 0.5}}, QUESTION, TARGET),
        ("2026.9.6", "memory.search", {"maxResults": 6}, "what if we lose everything", BACKUP),
    ],
)
def test_the_json_works_when_it_is_pasted_beside_other_settings(
    run: Run, tmp_path: Path, release: str, form: str, own: dict[str, Any], question: str, target: str
) -> None:
    for key in reversed([*form.split("."), "query"]):
        own = {key: own}
    given = {"meta": {"lastTouchedVersion": release}, **own}
    file = tmp_path / "openclaw.json"
    file.write_text(json.dumps(given), encoding="utf-8")
    asked = ("diagnose", question, "--target", target, "--config", file, "--json")
    pasted = [one["paste"] for one in run(*asked).json()["fixes"] if one["paste"]]
    assert pasted
    for one in pasted:
        file.write_text(json.dumps(merged(given, one)), encoding="utf-8")
        assert run("explain", question, "--target", target, "--system", file).code == 0


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Settings with others pasted into them, key by key."""
    both = {key: merged(old[key], value) for key, value in new.items() if isinstance(old.get(key), dict)}
    return {**old, **new, **both}


def test_a_release_without_a_setting_that_helps_says_so(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "openclaw.json"
    file.write_text('{"meta": {"lastTouchedVersion": "2026.9.6"}}', encoding="utf-8")
    asked = "code-switching and register in sociolinguistics"
    outcome = run("diagnose", asked, "-t", "memory/protocols/audience-calibration.md", "--config", file)
    assert "No setting of openclaw-2026.9.6@openclaw.json can do it" in " ".join(outcome.out.split())


def test_an_unwanted_file_is_asked_for(run: Run) -> None:
    answer = run("search", QUESTION, "-s", "openclaw-2026.2.13+or", "--json").json()["results"]
    outcome = run("diagnose", QUESTION, "--unwanted", answer[-1]["path"], "-s", "openclaw-2026.2.13+or")
    assert outcome.code == 0
    assert "Fixes: the file is then not in the answer" in outcome.out


def test_blame_prints_shares_that_sum(run: Run) -> None:
    data = run("blame", "openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf", "--json").json()
    assert sum(one["share"] for one in data["changes"]) == pytest.approx(data["difference"], abs=1e-9)
    text = run("blame", "openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf").out
    assert "Shapley shares, exact" in text
    assert f"{len(data['flips']) - SHOWN_FLIPS} more questions; --json lists all." in text

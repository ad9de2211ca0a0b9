"""AutoMem's score against what the scoring modules of its releases gave (`benchmarks.recording.automem`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.recording import read
from tests.adapters import Case, adapter_for

RECORD = read(Path(__file__).parent.parent / "records" / "automem_scores.json.gz")
COMMITS = {"v0.16.1": "0720da2"}
"""The commit of ours that a release's scoring has."""


@pytest.mark.parametrize("release", RECORD["expected"])
def test_every_score_is_the_releases_own(release: str) -> None:
    assert [score(given, release) for given in RECORD["inputs"]] == pytest.approx(
        RECORD["expected"][release], abs=1e-9
    )


def score(given: dict[str, Any], release: str) -> float:
    case = Case(
        "final_score", COMMITS.get(release, release), {**given, "now": RECORD["now"]}, None, system="automem"
    )
    adapter = adapter_for(case)
    assert adapter is not None
    return float(adapter(case))


def test_the_releases_differ_where_their_keyword_component_does() -> None:
    dead, live = RECORD["expected"]["8df3c08"], RECORD["expected"]["591b2c7"]
    kinds = [given["result"]["match_type"] for given in RECORD["inputs"]]
    raised = {kind for kind, one, other in zip(kinds, dead, live, strict=True) if other > one + 1e-9}
    assert raised == {"vector", "metadata", "relation"}

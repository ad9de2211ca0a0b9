"""A floor that drops whatever any question finds is told with the best score, and another one is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.faults import SUM
from tests import world
from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.pipeline import search
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.suspects import drops_all

NOTES = {
    f"memory/{name}.md": f"# {name.title()}\n\nThe {name} has a lid.\n" for name in ("pot", "pan", "box")
}


@pytest.mark.parametrize(("floor", "drops"), [(5.0, True), (0.0, False)])
def test_the_best_score_of_all_questions_says_whether_a_floor_is_above_it(
    tmp_path: Path, floor: float, drops: bool
) -> None:
    with world.build(tmp_path, NOTES) as index:
        traces = [
            search(one, SUM.with_stage(MinScore(floor)), index) for one in ("the pot", "lid of the pan")
        ]
        best = max(row.numbers["score"] for trace in traces for row in trace.candidates)
        assert drops_all(traces) == (pytest.approx(best) if drops else None)


def test_a_floor_above_every_score_is_told_as_such(tmp_path: Path) -> None:
    with world.build(tmp_path, NOTES) as index:
        found = diagnose("the pot", SUM.with_stage(MinScore(5.0)), index, "memory/pot.md")
    (cause,) = [one for one in found.causes if "floor" in one.where]
    assert "above every score: the best of" in cause.description
    assert "so it drops everything" in cause.description

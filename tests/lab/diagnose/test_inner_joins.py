"""A search that keeps only what all of its legs bring is told as such, in a pipeline and in a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.faults import SUM
from benchmarks.planted_brewery import Both, InBothLegs, NanSum
from tests import world
from workbench.errors import InputError
from workbench.measure.reruns import Reruns
from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.legs import FixedDepth, VectorLeg
from workbench.retrieval.own_stages import place_of
from workbench.retrieval.pipeline import search
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.repairs import combined, repairs
from workbench_plugins.diagnose.suspects import inner_joins
from workbench_plugins.recorder.recording import record

NOTES = {
    f"memory/{name}.md": f"# {name.title()}\n\nThe {name} has a lid.\n" for name in ("pot", "pan", "box")
}
NOTES |= {"memory/tea.md": "# Tea\n\nRooibos rests for seven minutes.\n"}
FEW = SUM.with_stage(VectorLeg(FixedDepth(cap=2)))


@pytest.mark.parametrize("stage", [Both(), NanSum(), InBothLegs()])
def test_a_stage_that_joins_the_legs_is_told(tmp_path: Path, stage: Any) -> None:
    with world.build(tmp_path, NOTES) as index:
        questions = ("lid of the pot", "rooibos with a lid", "the pan")
        for pipeline, expected in ((FEW.with_stage(stage), {stage.slot}), (FEW, set())):
            assert inner_joins([search(one, pipeline, index) for one in questions]) == expected
        lost = search(questions[0], FEW.with_stage(stage), index)
        wanted = next(one for one in search(questions[0], FEW, index).paths() if one not in lost.paths())
        causes = diagnose(questions[0], FEW.with_stage(stage), index, wanted).causes
    # Toy vectors of unknown words are zero, and that is told first.
    cause = next(one for one in causes if stage.slot in one.where)
    assert "it keeps only what all legs bring" in cause.description
    assert f"({place_of(stage)})" in cause.description
    assert place_of(stage).startswith("planted_brewery.py:")
    assert place_of(MinScore()) == ""


def test_a_trial_without_a_column_that_a_stage_reads_is_no_crash(tmp_path: Path) -> None:
    """A stage of one's own reads ranks without saying so, and a repair takes their leg away."""
    with world.build(tmp_path, NOTES) as index:
        broken = FEW.with_stage(InBothLegs())
        runs = Reruns("lid of the pot", broken, CachedIndex(index))
        for one in repairs(broken):
            if one.name == "no keyword leg":
                with pytest.raises(InputError, match="keyword_rank"):
                    runs.at_same_depth(combined(broken, [one]))
                return
    pytest.fail("there is no repair that takes the leg away")


LEGS = {
    "vector": [("tea", 0.9), ("pot", 0.7), ("pan", 0.6)],
    "keyword": [("pot", 4.0), ("pan", 3.0), ("box", 2.0)],
}


@pytest.mark.parametrize(
    ("fused", "limit", "told"),
    [
        (["pan", "pot"], None, "an inner join, or a limit of 2"),
        (["pan", "pot"], 5, "an inner join"),
        (["pan", "pot"], 2, ""),
        (["pan", "pot", "box"], None, ""),
    ],
)
def test_a_recorded_answer_of_what_both_lists_have(fused: list[str], limit: int | None, told: str) -> None:
    answer = [(id_, 1.0 - place / 10) for place, id_ in enumerate(fused)]
    found = record("a lid", LEGS, answer, limit=limit).diagnose("tea").causes
    joins = [one for one in found if "inner join" in one.description]
    assert [one.description.rpartition(": ")[2] for one in joins] == ([told] if told else [])
    assert all(one.verified for one in joins)

"""What is told ahead about the parameters of MMR is what a search finds with each value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import world
from workbench.lab.diagnose.counterfactual import counterfactuals
from workbench.lab.diagnose.knobs import Knob, knobs
from workbench.lab.diagnose.nearest.beginnings import Beginnings
from workbench.lab.diagnose.nearest.diversity import lengths_that_reach, weights_that_reach
from workbench.lab.diagnose.runs import Aim, Goal, RankedIndex, Reruns
from workbench.retrieval.cutoff import Limit, MinScore
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.openclaw.diversity import MMR, UnspacedMMR, beginning
from workbench.systems.openclaw.releases import DIVERSE, FEBRUARY_15
from workbench.systems.registry import SYSTEMS

TEXTS = st.lists(st.text("ab c_A1\n-KİΣ茶碗喜あ한😀é", max_size=14), min_size=1, max_size=6)


@given(TEXTS, st.sampled_from([MMR(), UnspacedMMR()]))
@settings(max_examples=60, deadline=None)
def test_beginnings_are_as_similar_as_mmr_says_at_each_length(texts: list[str], stage: MMR) -> None:
    beginnings = Beginnings(texts, isinstance(stage, UnspacedMMR))
    for units in range(beginnings.longest + 2):
        usual = stage.similarities([beginning(text, units) for text in texts])
        for place in range(len(texts)):
            (mine,) = beginnings.similarities(place, np.array([units]))
            others = np.arange(len(texts)) != place  # a text is not compared with itself
            np.testing.assert_array_equal(mine[others], usual[place][others])


NOTES = {
    "memory/a.md": "rooibos tea in the morning, a cup of it, with the bike at the hub",
    "memory/b.md": "rooibos tea in the morning, a cup of it, without the bike",
    "memory/c.md": "rooibos and tea at noon: rooibos twice",
    "memory/d.md": "a cup: 茶碗で rooibos を飲む, tea",
    "memory/e.md": "in the evening no tea, but rooibos; the bike squeals, the hub grinds",
    "memory/f.md": "tea or rooibos with a brake, a hub and a disk on the server",
}
QUESTION = "rooibos tea cup"
FEBRUARY = FEBRUARY_15.but(DIVERSE).with_stage(Limit(2)).with_stage(MinScore(0.1))
SEPTEMBER = SYSTEMS["openclaw-2026.9.6"].with_stage(Limit(3))


def knob_of(pipeline: Pipeline, name: str) -> Knob:
    (knob,) = [one for one in knobs(pipeline) if one.name == f"diversity.{name}"]
    return knob


def place_of(pipeline: Pipeline) -> int:
    return [one.slot for one in pipeline.stages].index("diversity")


@pytest.mark.parametrize("pipeline", [FEBRUARY, SEPTEMBER], ids=lambda one: one.name)
def test_each_length_that_helps_is_known_and_the_nearest_is_found(pipeline: Pipeline, tmp_path: Path) -> None:
    place = place_of(pipeline)
    knob = knob_of(pipeline.with_stage(type(pipeline["diversity"])(0.4)), "units")
    shorter, longer = set(), set()
    with world.build(tmp_path, NOTES) as index:
        texts = [chunk.text for path in NOTES for chunk in index.chunks(index.rows_of(path))]
        every = range(max(map(len, texts)) + 1)
        traces = [search(QUESTION, knob.put(units), index) for units in every]
        for now in (6, 25, 700):
            runs = Reruns(QUESTION, knob.put(now), RankedIndex(index))
            for goal in (Goal(path, aim) for path in NOTES for aim in Aim):
                works = [units for units in every if goal.reached(traces[units])]
                assert lengths_that_reach(place, runs.base, goal, runs.context) == works
                if not goal.reached(runs.base):
                    below, above = [one for one in works if one < now], [one for one in works if one > now]
                    found = counterfactuals(knob_of(runs.pipeline, "units"), runs, goal)
                    assert [one.value for one in found] == [*below[-1:], *above[:1]]
                    shorter |= set(below)
                    longer |= set(above)
    assert shorter
    assert longer


@pytest.mark.parametrize("pipeline", [FEBRUARY, SEPTEMBER], ids=lambda one: one.name)
def test_each_weight_is_told_as_a_search_finds_it(pipeline: Pipeline, tmp_path: Path) -> None:
    place, knob = place_of(pipeline), knob_of(pipeline, "relevance_weight")
    weights = np.linspace(0, 1, 41).tolist()
    some: set[bool] = set()
    with world.build(tmp_path, NOTES) as index:
        runs = Reruns(QUESTION, pipeline, RankedIndex(index))
        traces = [search(QUESTION, knob.put(one), index) for one in weights]
        for goal in (Goal(path, aim) for path in NOTES for aim in Aim):
            told = weights_that_reach(weights, place, runs.base, goal, runs.context)
            assert told == [goal.reached(one) for one in traces]
            some |= {goal.aim is Aim.IN and len(set(told)) == 2}
    assert True in some

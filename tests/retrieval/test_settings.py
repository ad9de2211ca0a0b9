"""One parameter of one stage, set by name: what is unknown or out of range is an error, never ignored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.extensions.phrase_leg import PhraseLeg, PhraseScore
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.retrieval.columns import parameters
from workbench.retrieval.fusion import WeightedSum
from workbench.retrieval.pipeline import search
from workbench.retrieval.settings import has_parameter, with_settings, with_settings_where_they_fit
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import SHIPPED


def test_a_parameter_is_set_and_nothing_else_changes() -> None:
    changed = with_settings(SHIPPED, ["fusion.vector=0.5"])
    (difference,) = SHIPPED.diff(changed)
    assert difference.slot == "fusion"
    assert parameters(changed["fusion"]) == parameters(SHIPPED["fusion"]) | {"vector": 0.5}


def test_nested_parameters_have_a_dot() -> None:
    changed = with_settings(SHIPPED, ["keyword_leg.depth.multiplier=2", "limit.count=10"])
    assert parameters(changed["keyword_leg"])["depth.multiplier"] == 2
    assert changed.limit == 10


def test_the_weight_of_a_third_leg_is_set_by_the_leg_s_name() -> None:
    stages = (*SHIPPED.stages[:3], PhraseLeg(), *SHIPPED.stages[3:5], PhraseScore(), *SHIPPED.stages[5:])
    fusion = WeightedSum(0.5, 0.3, more=(("phrase", 0.2),))
    three = replace(SHIPPED, stages=tuple(fusion if one.slot == "fusion" else one for one in stages))
    assert has_parameter(three, "fusion.phrase")
    changed = with_settings(three, ["fusion.phrase=0.7"])
    assert changed["fusion"] == replace(fusion, more=(("phrase", 0.7),))
    with pytest.raises(InputError, match=r"nearest is 'phrase'(.|\n)*It has vector, keyword, absent, phrase"):
        with_settings(three, ["fusion.phrse=0.7"])
    with pytest.raises(InputError, match=r"fusion\.phrase is -1, out of its range"):
        with_settings(three, ["fusion.phrase=-1"])


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("fusion.vektor=0.5", "nearest is 'vector'"),
        ("fusoin.vector=0.5", "nearest is 'fusion'"),
        ("fusion.vector=much", "takes a number"),
        ("fusion.vector=3", "out of its range"),
        ("fusion.vector", "not of the form"),
        ("=1", "not of the form"),
        ("query.join=XOR", "not an FTS5 operator"),
    ],
)
def test_what_cannot_be_set_is_an_error(setting: str, named: str) -> None:
    with pytest.raises(InputError, match=named) as refused:
        with_settings(SHIPPED, [setting])
    assert named != "out of its range" or "from 0 to 1" in refused.value.remedy


def test_of_several_systems_each_takes_the_settings_that_it_has_a_parameter_for() -> None:
    head, shipped = with_settings_where_they_fit(
        [SYSTEMS["bm-head"], SHIPPED], ["min_similarity.least=0.2", "limit.count=3"]
    )
    assert parameters(head["min_similarity"]) == {"least": 0.2}
    assert [head.limit, shipped.limit] == [3, 3]
    assert [one.slot for one in SHIPPED.diff(shipped)] == ["limit"]


@pytest.mark.parametrize(
    ("setting", "named"),
    [("min_similarity.lest=0.2", "nearest is 'least'"), ("flor.floor=1", "nearest is 'floor'")],
)
def test_a_setting_that_fits_none_of_several_systems_is_an_error(setting: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        with_settings_where_they_fit([SHIPPED, SYSTEMS["bm-head"]], [setting])


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_number_of_every_system_can_be_set_to_what_it_is(name: str) -> None:
    pipeline = SYSTEMS[name]
    for stage in pipeline.stages:
        for parameter, value in parameters(stage).items():
            assert with_settings(pipeline, [f"{stage.slot}.{parameter}={value}"]).stages == pipeline.stages


def test_weights_that_do_not_sum_to_one_are_scaled_as_openclaw_does(toy: MemoryIndex) -> None:
    trace = search("rooibos tea", with_settings(SHIPPED, ["fusion.vector=0.6", "fusion.keyword=0.2"]), toy)
    best = trace.candidates[0].numbers
    assert best["score"] == pytest.approx(0.75 * best["vector_score"] + 0.25 * best["keyword_score"])
    assert "do not sum to 1; OpenClaw uses 0.75 and 0.25" in trace.notes[0]

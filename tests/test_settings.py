"""One parameter of one stage, set by name: what is unknown or out of range is an error, never ignored."""

from __future__ import annotations

import pytest

from workbench.records import InputError
from workbench.retrieval.settings import parameters, with_settings
from workbench.systems import SYSTEMS
from workbench.systems.openclaw import FIXED, SHIPPED


def test_a_parameter_is_set_and_nothing_else_changes() -> None:
    changed = with_settings(SHIPPED, ["fusion.vector=0.5"])
    (difference,) = SHIPPED.diff(changed)
    assert difference.slot == "fusion"
    assert parameters(changed["fusion"]) == parameters(SHIPPED["fusion"]) | {"vector": 0.5}


def test_nested_parameters_have_a_dot() -> None:
    changed = with_settings(SHIPPED, ["keyword_leg.depth.multiplier=2", "limit.count=10"])
    assert parameters(changed["keyword_leg"])["depth.multiplier"] == 2
    assert changed.limit == 10


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("fusion.vektor=0.5", "nearest is vector"),
        ("fusoin.vector=0.5", "nearest is fusion"),
        ("fusion.vector=much", "takes a number"),
        ("fusion.vector=3", "out of its range"),
        ("fusion.vector", "not of the form"),
        ("=1", "not of the form"),
        ("query.join=XOR", "not an FTS5 operator"),
    ],
)
def test_what_cannot_be_set_is_an_error(setting: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        with_settings(SHIPPED, [setting])


def test_a_range_is_told() -> None:
    with pytest.raises(InputError) as raised:
        with_settings(FIXED, ["fusion.k=-1"])
    assert "from 0 to" in raised.value.remedy


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_number_of_every_system_can_be_set_to_what_it_is(name: str) -> None:
    pipeline = SYSTEMS[name]
    for stage in pipeline.stages:
        for parameter, value in parameters(stage).items():
            assert with_settings(pipeline, [f"{stage.slot}.{parameter}={value}"]).stages == pipeline.stages

"""How other engines fuse: computed by hand, and what holds for all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.arithmetic import evaluated
from tests.hand import answering
from workbench.errors import InputError
from workbench.retrieval.fusion import Fusion, Weighted
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.tutorial import DAY_13
from workbench_plugins.engines.fusions import (
    ElasticsearchMinMax,
    GeometricMean,
    MinMax,
    Normalisation,
    OpenSearchMinMax,
    ScoreSum,
    SharedWeightedScores,
    its_sign,
    one,
)
from workbench_plugins.engines.presets import ENGINES, PIPELINES, LegPart, fuse, normalised, two_legs
from workbench_plugins.engines.whose_fusion import EXAMPLE, degenerate_lists

Scores = Mapping[str, float]

VECTOR, KEYWORD = EXAMPLE

every_engine = pytest.mark.parametrize("name", ENGINES)
CREDITING = "chroma-rrf"
"""It gives a candidate that a leg did not bring a part of its score."""
ALONE = "lancedb-linear"
"""It weights a leg only beside another that brought something."""


def scores(name: str, vector: Scores, keyword: Scores) -> dict[str, float]:
    """The fused scores of an engine, by id."""
    return {hit.id: hit.score for hit in fuse(ENGINES[name].fusion, vector, keyword)}


def part(leg: LegPart | None) -> float:
    """A leg's part of a fused score, NaN if the leg gives the candidate none."""
    return leg.part if leg else math.nan


# What becomes of one hit, and of equal ones

ONE_HIT = yaml.safe_load(Path(__file__).with_name("one_hit.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ONE_HIT)
def test_what_one_hit_and_two_equal_hits_become(name: str) -> None:
    (told,) = degenerate_lists([name])
    assert (told.one, told.equal, told.empty) == ((ONE_HIT[name],), (ONE_HIT[name],) * 2, ())


@pytest.mark.parametrize("name", ["autorag-mm", "autorag-dbsf"])
def test_autorags_one_hit_is_no_number_and_counts_as_nothing(name: str) -> None:
    (told,) = degenerate_lists([name])
    assert np.isnan([*told.one, *told.equal]).all()
    assert scores(name, {}, {"a": 3.0}) == {"a": 0.0}


def test_three_equal_scores_deviate_where_the_engine_adds_with_rounding() -> None:
    # Every test process imports this file, and the client takes half a second.
    from qdrant_client.http.models import ScoredPoint
    from qdrant_client.hybrid.fusion import distribution_based_score_fusion

    equal = {"a": 0.4, "b": 0.4, "c": 0.4}
    asked = [ScoredPoint(id=ord(name), version=0, score=score) for name, score in equal.items()]
    theirs = distribution_based_score_fusion([asked], 3)[0].score
    assert scores("qdrant-dbsf", equal, {}) == {"a": theirs, "b": theirs, "c": theirs}
    assert scores("haystack-dbsf", equal, {}) == {"a": 0.0, "b": 0.0, "c": 0.0}


@pytest.mark.filterwarnings("error")
def test_a_leg_of_the_smallest_weight_adds_nothing_and_warns_of_nothing() -> None:
    fusion = replace(ENGINES["qdrant-k2-weighted"].fusion, vector=5e-324, keyword=1.0)
    fused = {hit.id: hit.score for hit in fuse(fusion, {"a": 0.9, "b": 0.8}, {"b": 7.0})}
    assert fused == {"a": 0.0, "b": 1 / (1 / 1 + 1)}


# By hand

TWO = {"a": 0.9, "b": 0.5}, {"b": 8.0, "c": 2.0, "d": 5.0}


BY_HAND = [
    ("opensearch-arithmetic", TWO, {"b": (0.001 + 1.0) / 2, "d": 0.5 / 2}),  # of b the vector has 0.001
    ("opensearch-geometric", TWO, {"b": math.sqrt(0.001 * 1.0), "d": 0.5}),  # a lone hit is not halved
    ("opensearch-harmonic", TWO, {"b": 2 / (1 / 0.001 + 1 / 1.0), "d": 0.5}),
    ("combmnz", ({"a": 1.0, "b": 0.0, "c": 0.5}, {"c": 4.0, "d": 0.0}), {"a": 1.0, "c": 2 * (0.5 + 1.0)}),
    ("qdrant-k2-weighted", TWO, {"a": 1 / (1 / 2 + 1), "b": 1 / (2 / 2 + 1) + 1 / (1 + 1), "c": 1 / (3 + 1)}),
    ("normalised-rrf", ({"a": 1.0}, {"a": 2.0, "b": 1.0}), {"a": 1.0, "b": (1 / 62) / (2 / 61)}),
]
NORMALISED = [
    (MinMax(its_sign), [-0.2, -0.2], [0.0, 0.0]),
    (OpenSearchMinMax(), [8.0, 5.0, 2.0], [1.0, 0.5, 0.001]),
    (ElasticsearchMinMax(), [7.0, 7.0 + 5e-7], [7.0, 7.0]),
    (ElasticsearchMinMax(), [7.0, 8.0], [0.0, 1.0]),
]


@pytest.mark.parametrize(("name", "lists", "expected"), BY_HAND, ids=[name for name, *_ in BY_HAND])
def test_an_engine_scores_as_by_hand(name: str, lists: tuple[Scores, Scores], expected: Scores) -> None:
    found = scores(name, *lists)
    assert {one: found[one] for one in expected} == pytest.approx(expected)


@pytest.mark.parametrize(("scale", "given_scores", "expected"), NORMALISED)
def test_normalised_by_hand(scale: Normalisation, given_scores: list[float], expected: list[float]) -> None:
    assert normalised(scale, given_scores) == expected


def test_llamaindex_divides_by_the_number_of_queries() -> None:
    asked_once = SharedWeightedScores(0.5, 0.5, MinMax(one), MinMax(one))
    four = fuse(replace(asked_once, queries=4), *TWO)
    assert [hit.score for hit in four] == pytest.approx([hit.score / 4 for hit in fuse(asked_once, *TWO)])


@pytest.mark.parametrize("name", ["llamaindex-relative", "llamaindex-dist-based", "haystack-merge"])
def test_weights_are_divided_by_their_sum(name: str) -> None:
    """As in haystack-ai 3.4.1 and llama-index-core 0.14.25: 6 and 2 are 0.75 and 0.25."""
    fusion = ENGINES[name].fusion
    many, shares = replace(fusion, vector=6, keyword=2), replace(fusion, vector=0.75, keyword=0.25)
    assert [hit.score for hit in fuse(many, *TWO)] == [hit.score for hit in fuse(shares, *TWO)]
    with pytest.raises(InputError, match="sum to 0"):
        replace(fusion, vector=0, keyword=0)


def test_the_tutorial_by_hand() -> None:
    index = answering(keyword={"c": -6.0, "a": -3.0}, vector={"a": 0.1, "b": 0.3, "c": 0.6})
    found = {one.chunk.id: one.score for one in search("X", DAY_13, index).results}
    assert found == pytest.approx({"a": 0.7 * 1 + 0.3 * 0, "b": 0.7 * (0.3 / 0.5), "c": 0.7 * 0 + 0.3 * 1})
    assert index.calls == [("keyword", 15), ("vector", 15)]


@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda one: one.name)
def test_an_engines_pipeline_scores_as_its_fusion_of_the_two_lists(pipeline: Pipeline) -> None:
    near = {name: 1 - score for name, score in VECTOR.items()}
    index = answering({name: -score for name, score in KEYWORD.items()}, near)
    found = {one.chunk.id: one.score for one in search("X", pipeline, index).candidates}
    assert found == pytest.approx(scores(pipeline.name.removeprefix("engine-"), VECTOR, KEYWORD))


# What holds for every engine

NUMBERS = st.integers(1, 4_000).map(lambda n: n / 8)
LISTS = st.dictionaries(st.sampled_from("abcdefgh"), NUMBERS, max_size=6)


@pytest.mark.parametrize("name", ENGINES)
@given(LISTS, LISTS)
@settings(max_examples=25)
def test_contributions_make_the_score_in_any_input_order(name: str, vector: Scores, keyword: Scores) -> None:
    fusion = ENGINES[name].fusion
    found = fuse(fusion, vector, keyword)
    backwards = (dict(reversed(leg.items())) for leg in (vector, keyword))
    assert str(fuse(fusion, *backwards)) == str(found)  # where NaN equals NaN
    for hit in found:
        parts = part(hit.vector), part(hit.keyword)
        assert fusion.together(*map(np.float64, parts)) == pytest.approx(hit.score)
        if isinstance(fusion, Weighted) or type(fusion) is ScoreSum:
            assert hit.score == pytest.approx(np.nansum(parts))


WEIGHTED = [name for name, engine in ENGINES.items() if isinstance(engine.fusion, Weighted | GeometricMean)]
WEIGHTED = [name for name in WEIGHTED if name not in (CREDITING, ALONE)]


@pytest.mark.parametrize("name", WEIGHTED)
@given(LISTS, LISTS)
@settings(max_examples=15)
def test_a_weight_of_0_is_a_leg_that_brought_nothing(name: str, vector: Scores, keyword: Scores) -> None:
    silenced = replace(ENGINES[name].fusion, keyword=0.0)  # type: ignore[call-arg]
    found = {hit.id: hit.score for hit in fuse(silenced, vector, keyword)}
    alone = {hit.id: hit.score for hit in fuse(silenced, vector, {})}
    assert found == pytest.approx(alone | {name: 0.0 for name in keyword if name not in vector})


# The raw scale of Elasticsearch and of Haystack's fix, and 0 / 0, break the promise for equal scores;
# OpenSearch lifts a list's minimum to 0.001, above what stands just over it.
MONOTONE = [
    name
    for name in ENGINES
    if name not in ("elasticsearch-linear", "haystack-dbsf", "haystack-dbsf-12508", "llamaindex-dist-based")
    and not name.startswith(("autorag", "opensearch"))
]


@pytest.mark.parametrize("name", MONOTONE)
@given(LISTS, LISTS.filter(bool), st.integers(1, 1_000), st.data())
@settings(max_examples=25)
def test_a_better_match_never_scores_less(
    name: str, vector: Scores, keyword: Scores, by: int, data: st.DataObject
) -> None:
    chosen = data.draw(st.sampled_from(sorted(keyword)))
    better = {**keyword, chosen: keyword[chosen] + by / 8}
    assert scores(name, vector, better)[chosen] >= scores(name, vector, keyword)[chosen] - 1e-9


def test_opensearch_s_lifted_minimum_outranks_a_slightly_better_match() -> None:
    keyword = {"least": 0.125, "better": 0.25, "best": 125.25}
    found = scores("opensearch-harmonic", {}, keyword)
    assert found["least"] == pytest.approx(0.001)
    assert found["better"] < found["least"]


@every_engine
def test_every_printed_formula_is_the_number(name: str) -> None:
    fusion: Fusion = ENGINES[name].fusion
    for vector, keyword in ((VECTOR, KEYWORD), (VECTOR, {}), ({}, KEYWORD), TWO, ({"a": 1.0}, {"a": 2.0})):
        ids, of = two_legs(vector, keyword)
        computed = {hit.id: hit.score for hit in fuse(fusion, vector, keyword)}
        for row, one_id in enumerate(ids):
            formula = fusion.in_row(of.values, row, digits=17)
            assert evaluated(str(formula)) == pytest.approx(computed[one_id], abs=1e-12)


@every_engine
def test_every_engine_says_its_formula_and_its_source(name: str) -> None:
    engine = ENGINES[name]
    assert engine.fusion.description.startswith("score = ")
    assert engine.source.repository
    assert engine.source.place


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_a_score_that_is_no_finite_number_is_refused(score: float) -> None:
    with pytest.raises(InputError, match="keyword score of 'a'"):
        fuse(ENGINES["rrf-60"].fusion, {}, {"a": score})

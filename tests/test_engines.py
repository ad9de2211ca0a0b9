"""How other engines fuse: by hand, against the engines' own code, and what holds for all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qdrant_client.http.models import ScoredPoint
from qdrant_client.hybrid.fusion import distribution_based_score_fusion, reciprocal_rank_fusion
from rich.console import Console

from tests.adapters.openclaw_february import FixedIndex
from tests.arithmetic import evaluated
from workbench.lab.whose_fusion import (
    EXAMPLE,
    Comparison,
    degenerate_lists,
    legs_of,
    read_lists,
    whose_fusion,
)
from workbench.memory.index import MemoryIndex
from workbench.records import Chunk, InputError
from workbench.retrieval.columns import Row
from workbench.retrieval.pipeline import search
from workbench.systems.engines import (
    ELEVEN,
    ENGINES,
    PIPELINES,
    fuse,
    normalised,
    two_legs,
)
from workbench.systems.engines_fusion import (
    Fusion,
    GeometricMean,
    QdrantRankSum,
    ScoreSum,
    SharedWeightedScores,
    Weighted,
    WeightedScores,
)
from workbench.systems.engines_scales import ElasticsearchMinMax, MinMax, OpenSearchMinMax, its_sign, one
from workbench.systems.tutorial import DAY_13
from workbench.views.fusion import degenerate_table
from workbench.views.text import view

Scores = Mapping[str, float]

VECTOR, KEYWORD = EXAMPLE

every_engine = pytest.mark.parametrize("name", ENGINES)


def scores(name: str, vector: Scores, keyword: Scores) -> dict[str, float]:
    """The fused scores of an engine, by id."""
    return {hit.id: hit.score for hit in fuse(ENGINES[name].fusion, vector, keyword)}


# One pair of lists, eleven semantics: the order, where kwonly stands, its score, whether 0.35 lets it pass

SAME_ORDER = [["both"], ["kwonly", "v1"], ["k2", "v2"], ["v3"]]
TABLE = {
    "rrf-60": (SAME_ORDER, (2, 3), 0.0164, False),
    "weaviate-ranked": (SAME_ORDER, (2, 3), 0.0083, False),
    "qdrant-k2": (SAME_ORDER, (2, 3), 0.5000, True),
    # 1/2 + 1/2 halved is 1/1 halved: what is second in both ties with what is first in one.
    "txtai": ([["both", "kwonly", "v1"], ["k2", "v2"], ["v3"]], (1, 3), 0.5000, True),
    "weaviate-relative": ([["v1"], ["both"], ["kwonly"], ["v2"], ["k2", "v3"]], (3, 3), 0.3000, False),
    "qdrant-dbsf": ([["both"], ["v1"], ["kwonly"], ["v2"], ["v3"], ["k2"]], (3, 3), 0.6803, True),
    "haystack-dbsf": ([["v1"], ["kwonly"], ["both"], ["v2"], ["v3"], ["k2"]], (2, 2), 0.7208, True),
    "openclaw-now": ([["both"], ["v1"], ["v2"], ["v3"], ["kwonly"], ["k2"]], (5, 5), 0.2703, False),
    "openclaw-clamped": ([["both"], ["v1"], ["v2"], ["v3"], ["k2", "kwonly"]], (5, 6), 0.3000, False),
    "basic-memory": ([["kwonly"], ["both"], ["v1"], ["v2"], ["v3"], ["k2"]], (1, 1), 1.0000, True),
    "tm2c2": ([["both"], ["v1"], ["v2"], ["v3"], ["kwonly"], ["k2"]], (5, 5), 0.2000, False),
}


@pytest.fixture(scope="module")
def eleven() -> Comparison:
    return whose_fusion(VECTOR, KEYWORD, floor=0.35, target="kwonly")


def test_the_eleven_engines_are_those_of_the_table() -> None:
    assert tuple(TABLE) == ELEVEN


@pytest.mark.parametrize("name", TABLE)
def test_one_pair_of_lists_has_eleven_meanings(eleven: Comparison, name: str) -> None:
    verdict = next(one for one in eleven.verdicts if one.engine.name == name)
    groups, places, score, passes = TABLE[name]
    assert [list(group) for group in verdict.groups] == groups
    assert verdict.places("kwonly") == places
    assert verdict.hit("kwonly").score == pytest.approx(score, abs=5e-5)
    assert verdict.passes("kwonly") is passes


def test_the_first_engine_flips_nothing_against_itself(eleven: Comparison) -> None:
    assert eleven.verdicts[0].flips == ()


def test_a_flip_names_the_leg_that_decides(eleven: Comparison) -> None:
    flips = {one.engine.name: one.flips for one in eleven.verdicts}
    (relative,) = flips["weaviate-relative"]
    assert (relative.above, relative.below) == ("v1", "both")
    assert relative.why.startswith("vector leg: 0.7000 for v1 against 0.2692 for both, 0.7 × min-max")


def test_a_flip_by_the_rule_and_not_by_a_leg_says_the_rule(eleven: Comparison) -> None:
    haystack = next(one for one in eleven.verdicts if one.engine.name == "haystack-dbsf")
    over_both = next(flip for flip in haystack.flips if (flip.above, flip.below) == ("v1", "both"))
    assert over_both.why.startswith("not a plain sum: the larger of vector")


def test_a_tie_is_no_flip() -> None:
    told = whose_fusion({"a": 0.9, "b": 0.8}, {}, engines=["openclaw-now", "haystack-dbsf"])
    assert whose_fusion({"a": 0.9}, {"b": 3.0}, engines=["rrf-60", "txtai"]).verdicts[1].flips == ()
    assert told.verdicts[1].flips == ()


# nextcloud-mcp-server PR#1199: first in one list against fourth in both

AGREED = (
    {"alone": 0.9, "v2": 0.8, "v3": 0.7, "agreed": 0.6},
    {"k1": 9.0, "k2": 8.0, "k3": 7.0, "agreed": 6.0},
)


def test_k_alone_flips_first_in_one_against_fourth_in_both() -> None:
    small, large = scores("qdrant-k2", *AGREED), scores("qdrant-k60", *AGREED)
    assert (small["alone"], small["agreed"]) == (1 / 2, pytest.approx(1 / 5 + 1 / 5))
    assert (large["alone"], large["agreed"]) == (1 / 60, pytest.approx(2 / 63))
    assert (scores("rrf-60", *AGREED)["alone"], scores("rrf-60", *AGREED)["agreed"]) == (1 / 61, 2 / 64)


def test_the_flip_by_k_is_marked() -> None:
    told = whose_fusion(*AGREED, engines=["rrf-60", "qdrant-k2"])
    assert ("alone", "agreed") in [(flip.above, flip.below) for flip in told.verdicts[1].flips]


# What becomes of one hit, and of equal ones

ONE_HIT = {
    "weaviate-relative": 1.0,
    "weaviate-relative-before-3243": 0.0,
    "llamaindex-relative": 1.0,
    "qdrant-dbsf": 0.5,
    "haystack-dbsf": 0.0,
    "haystack-dbsf-12508": 3.0,
    "combsum": 0.0,
    "opensearch-arithmetic": 1.0,
    "elasticsearch-linear": 3.0,
    "basic-memory": 1.0,
    "tm2c2": 1.0,
    "openclaw-clamped": 1.0,
    "openclaw-now": 3 / 4,
}


@pytest.mark.parametrize("name", ONE_HIT)
def test_what_one_hit_and_two_equal_hits_become(name: str) -> None:
    (told,) = degenerate_lists([name])
    assert (told.one, told.equal, told.empty) == ((ONE_HIT[name],), (ONE_HIT[name],) * 2, ())


@pytest.mark.parametrize("name", ["autorag-mm", "autorag-dbsf"])
def test_autorags_one_hit_is_no_number_and_counts_as_nothing(name: str) -> None:
    (told,) = degenerate_lists([name])
    assert np.isnan([*told.one, *told.equal]).all()
    assert scores(name, {}, {"a": 3.0}) == {"a": 0.0}


def test_rank_fusions_have_no_degenerate_scores() -> None:
    assert {told.engine for told in degenerate_lists()}.isdisjoint({"rrf-60", "qdrant-k2", "txtai"})


def test_llamaindex_looks_at_the_sign_of_equal_scores() -> None:
    assert normalised(MinMax(its_sign), [-0.2, -0.2]) == [0.0, 0.0]


def test_equal_scores_have_no_deviation_whatever_rounding_says() -> None:
    assert np.std([0.1, 0.1, 0.1]) > 0
    assert scores("qdrant-dbsf", {}, {"a": 0.1, "b": 0.1, "c": 0.1}) == {"a": 0.5, "b": 0.5, "c": 0.5}


# By hand

TWO = {"a": 0.9, "b": 0.5}, {"b": 8.0, "c": 2.0, "d": 5.0}


def test_the_weighted_means_of_opensearch_by_hand() -> None:
    # b: vector 0.001, keyword 1.0
    assert scores("opensearch-arithmetic", *TWO)["b"] == pytest.approx((0.001 + 1.0) / 2)
    assert scores("opensearch-geometric", *TWO)["b"] == pytest.approx(math.sqrt(0.001 * 1.0))
    assert scores("opensearch-harmonic", *TWO)["b"] == pytest.approx(2 / (1 / 0.001 + 1 / 1.0))


def test_opensearch_halves_a_lone_hit_in_the_arithmetic_mean_alone() -> None:
    # d: keyword (5 - 2) / (8 - 2), absent from the vector leg
    assert scores("opensearch-arithmetic", *TWO)["d"] == pytest.approx(0.5 / 2)
    assert scores("opensearch-geometric", *TWO)["d"] == pytest.approx(0.5)
    assert scores("opensearch-harmonic", *TWO)["d"] == pytest.approx(0.5)


def test_opensearchs_worst_hit_has_a_thousandth() -> None:
    assert normalised(OpenSearchMinMax(), [8.0, 5.0, 2.0]) == [1.0, 0.5, 0.001]


def test_elasticsearch_keeps_scores_within_a_millionth_on_their_own_scale() -> None:
    assert normalised(ElasticsearchMinMax(), [7.0, 7.0 + 5e-7]) == [7.0, 7.0]
    assert normalised(ElasticsearchMinMax(), [7.0, 8.0]) == [0.0, 1.0]


def test_combmnz_counts_the_legs() -> None:
    assert scores("combmnz", {"a": 1.0, "b": 0.0, "c": 0.5}, {"c": 4.0, "d": 0.0}) == {
        "a": 1.0,
        "b": 0.0,
        "c": 2 * (0.5 + 1.0),
        "d": 0.0,
    }


def test_qdrants_weight_divides_the_rank() -> None:
    assert scores("qdrant-k2-weighted", *TWO) == pytest.approx(
        {"a": 1 / (1 / 2 + 1), "b": 1 / (2 / 2 + 1) + 1 / (1 + 1), "c": 1 / (3 + 1), "d": 1 / (2 + 1)}
    )


def test_normalised_rrf_gives_1_to_what_is_first_in_both() -> None:
    assert scores("normalised-rrf", {"a": 1.0}, {"a": 2.0, "b": 1.0}) == pytest.approx(
        {"a": 1.0, "b": (1 / 62) / (2 / 61)}
    )


def test_llamaindex_divides_by_the_number_of_queries() -> None:
    asked_once = SharedWeightedScores(0.5, 0.5, MinMax(one), MinMax(one))
    four = fuse(replace(asked_once, queries=4), *TWO)
    assert [hit.score for hit in four] == pytest.approx([hit.score / 4 for hit in fuse(asked_once, *TWO)])


def test_a_contribution_is_absent_where_the_leg_did_not_bring_the_candidate() -> None:
    hits = {hit.id: hit for hit in fuse(ENGINES["weaviate-relative"].fusion, *TWO)}
    assert math.isnan(hits["a"].keyword)
    assert (hits["a"].vector, hits["b"].keyword) == (0.7, 0.3)


def test_the_tutorial_by_hand() -> None:
    chunks = {name: Chunk(name, f"{name}.md", "memory", 1, 1, name) for name in "abc"}
    keyword = [(chunks["c"], -6.0), (chunks["a"], -3.0)]
    vector = [(chunks["a"], 0.1), (chunks["b"], 0.3), (chunks["c"], 0.6)]
    index = FixedIndex(keyword, vector)
    found = {one.chunk.id: one.score for one in search("X", DAY_13, index).results}
    assert found == pytest.approx({"a": 0.7 * 1 + 0.3 * 0, "b": 0.7 * (0.3 / 0.5), "c": 0.7 * 0 + 0.3 * 1})
    assert index.calls == [("keyword", 15), ("vector", 15)]


def test_the_tutorials_only_result_scores_1_in_its_leg() -> None:
    chunk = Chunk("a", "a.md", "memory", 1, 1, "a")
    assert search("X", DAY_13, FixedIndex([(chunk, -0.001)], [])).results[0].score == pytest.approx(0.3)
    assert search("X", DAY_13, FixedIndex([], [(chunk, 1.9)])).results[0].score == pytest.approx(0.7)


@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda one: one.name)
def test_an_engines_pipeline_scores_as_its_fusion_of_the_two_lists(pipeline: object) -> None:
    chunks = {name: Chunk(name, f"{name}.md", "memory", 1, 1, name) for name in (*VECTOR, *KEYWORD)}
    index = FixedIndex(
        [(chunks[name], -score) for name, score in KEYWORD.items()],
        [(chunks[name], 1 - score) for name, score in VECTOR.items()],
    )
    found = {one.chunk.id: one.score for one in search("X", pipeline, index).candidates}  # type: ignore[arg-type]
    assert found == pytest.approx(scores(pipeline.name.removeprefix("engine-"), VECTOR, KEYWORD))  # type: ignore[attr-defined]


# Second opinions

NUMBERS = st.integers(1, 4_000).map(lambda n: n / 8)
LISTS = st.dictionaries(st.sampled_from("abcdefgh"), NUMBERS, max_size=6)
DISTINCT = st.lists(NUMBERS, max_size=6, unique=True).flatmap(
    lambda some: st.permutations("abcdefgh").map(lambda names: dict(zip(names, some, strict=False)))
)


def points(scores: Scores) -> list[ScoredPoint]:
    """A list as Qdrant's client has it: best first, ids as numbers."""
    ranked = sorted(scores, key=lambda name: (-scores[name], name))
    return [ScoredPoint(id=ord(name), version=0, score=scores[name]) for name in ranked]


def by_id(found: list[ScoredPoint]) -> dict[str, float]:
    return {chr(int(point.id)): point.score for point in found}


@given(DISTINCT, DISTINCT, st.sampled_from([1, 2, 60]))
@settings(max_examples=60)
def test_qdrants_own_rrf_gives_the_same(vector: Scores, keyword: Scores, k: int) -> None:
    theirs = by_id(reciprocal_rank_fusion([points(vector), points(keyword)], 99, k))
    ours = {hit.id: hit.score for hit in fuse(QdrantRankSum(k=k), vector, keyword)}
    assert ours == pytest.approx(theirs)


@given(DISTINCT, DISTINCT, st.sampled_from([0.0, 0.3, 1.0, 3.0]), st.sampled_from([0.7, 2.0]))
@settings(max_examples=60)
def test_qdrants_own_weighted_rrf_gives_the_same(
    vector: Scores, keyword: Scores, first: float, second: float
) -> None:
    theirs = by_id(reciprocal_rank_fusion([points(vector), points(keyword)], 99, 2, [first, second]))
    ours = {hit.id: hit.score for hit in fuse(QdrantRankSum(first, second), vector, keyword)}
    assert ours == pytest.approx(theirs)


@given(LISTS, LISTS)
@settings(max_examples=60)
def test_qdrants_own_dbsf_gives_the_same(vector: Scores, keyword: Scores) -> None:
    theirs = by_id(distribution_based_score_fusion([points(vector), points(keyword)], 99))
    assert scores("qdrant-dbsf", vector, keyword) == pytest.approx(theirs)


RANX = {"combsum": "sum", "combmnz": "mnz", "combmax": "max", "rrf-60": "rrf"}


@pytest.mark.parametrize("name", RANX)
def test_ranx_gives_the_same(name: str) -> None:
    import ranx

    runs = [ranx.Run({"q": dict(scores)}) for scores in (VECTOR, KEYWORD)]
    theirs = ranx.fuse(runs=runs, norm=None if name == "rrf-60" else "min-max", method=RANX[name])
    assert scores(name, VECTOR, KEYWORD) == pytest.approx(theirs.to_dict()["q"])


def test_ranxs_weighted_sum_is_the_convex_combination() -> None:
    import ranx

    runs = [ranx.Run({"q": dict(scores)}) for scores in (VECTOR, KEYWORD)]
    theirs = ranx.fuse(runs=runs, norm="min-max", method="wsum", params={"weights": (0.7, 0.3)})
    assert scores("weaviate-relative", VECTOR, KEYWORD) == pytest.approx(theirs.to_dict()["q"])


# What holds for every engine


@every_engine
@given(LISTS, LISTS)
@settings(max_examples=25)
def test_contributions_make_the_score(name: str, vector: Scores, keyword: Scores) -> None:
    fusion = ENGINES[name].fusion
    for hit in fuse(fusion, vector, keyword):
        assert fusion.together(np.float64(hit.vector), np.float64(hit.keyword)) == pytest.approx(hit.score)
        if isinstance(fusion, Weighted) or type(fusion) is ScoreSum:
            assert hit.score == pytest.approx(np.nansum([hit.vector, hit.keyword]))


@every_engine
@given(LISTS, LISTS, st.randoms())
@settings(max_examples=15)
def test_the_order_of_the_input_does_not_matter(
    name: str, vector: dict[str, float], keyword: dict[str, float], random: object
) -> None:
    def shuffled(scores: dict[str, float]) -> dict[str, float]:
        names = list(scores)
        random.shuffle(names)  # type: ignore[attr-defined]
        return {name: scores[name] for name in names}

    fusion = ENGINES[name].fusion
    assert str(fuse(fusion, shuffled(vector), shuffled(keyword))) == str(fuse(fusion, vector, keyword))


@every_engine
@pytest.mark.parametrize(("vector", "keyword"), [({}, {}), (VECTOR, {}), ({}, KEYWORD)])
def test_an_empty_list_is_fine(name: str, vector: Scores, keyword: Scores) -> None:
    found = scores(name, vector, keyword)
    assert found.keys() == {*vector, *keyword}
    assert np.isfinite(list(found.values())).all()


WEIGHTED = [name for name, engine in ENGINES.items() if isinstance(engine.fusion, Weighted | GeometricMean)]


@pytest.mark.parametrize("name", WEIGHTED)
@given(LISTS, LISTS)
@settings(max_examples=15)
def test_a_weight_of_0_is_a_leg_that_brought_nothing(name: str, vector: Scores, keyword: Scores) -> None:
    silenced = replace(ENGINES[name].fusion, keyword=0.0)  # type: ignore[call-arg]
    found = {hit.id: hit.score for hit in fuse(silenced, vector, keyword)}
    alone = {hit.id: hit.score for hit in fuse(silenced, vector, {})}
    assert found == pytest.approx(alone | {name: 0.0 for name in keyword if name not in vector})


def test_the_weighted_engines_are_all_that_have_weights() -> None:
    having = {
        name for name, engine in ENGINES.items() if "keyword" in {f.name for f in fields(engine.fusion)}
    }
    assert having == set(WEIGHTED)


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
            formula = fusion.formula(Row(of.values, row, digits=17))
            assert evaluated(str(formula)) == pytest.approx(computed[one_id], abs=1e-12)


@every_engine
def test_every_engine_says_its_formula_and_its_source(name: str) -> None:
    engine = ENGINES[name]
    assert engine.fusion.says.startswith("score = ")
    assert engine.source.repository
    assert engine.source.place


def test_a_fusion_stage_says_its_formula_as_arithmetic() -> None:
    _, of = two_legs(VECTOR, KEYWORD)
    both = sorted({*VECTOR, *KEYWORD}).index("both")
    assert str(ENGINES["rrf-60"].fusion.formula(Row(of.values, both))) == "1 / (60 + 2) + 1 / (60 + 2)"
    assert str(WeightedScores(0.7, 0.3).formula(Row(of.values, both))) == "0.7 × 0.74 + 0.3 × 4"


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_a_score_that_is_no_finite_number_is_refused(score: float) -> None:
    with pytest.raises(InputError, match="keyword score of 'a'"):
        fuse(ENGINES["rrf-60"].fusion, {}, {"a": score})


def test_an_unknown_engine_or_target_is_refused() -> None:
    with pytest.raises(InputError, match="no engine 'rrf'"):
        whose_fusion(VECTOR, KEYWORD, engines=["rrf"])
    with pytest.raises(InputError, match="'v9' is in neither list"):
        whose_fusion(VECTOR, KEYWORD, target="v9")


def test_two_lists_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "lists.json"
    file.write_text('{"vector": {"a": 0.5, "b": 1}, "keyword": {}}')
    assert read_lists(file) == ({"a": 0.5, "b": 1}, {})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", "cannot be read as JSON"),
        ("[]", "exactly the two lists"),
        ('{"vector": {}}', "exactly the two lists"),
        ('{"vector": {}, "keyword": [1]}', "keyword list"),
        ('{"vector": {"a": "high"}, "keyword": {}}', "vector score of 'a'"),
        ('{"vector": {"a": true}, "keyword": {}}', "vector score of 'a'"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str, named: str) -> None:
    file = tmp_path / "lists.json"
    file.write_text(text)
    with pytest.raises(InputError, match=named):
        read_lists(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_lists(tmp_path / "none.json")


def test_the_two_legs_of_a_question_are_lists(toy: MemoryIndex) -> None:
    vector, keyword = legs_of("rooibos tea", toy)
    assert vector["memory/tea.md:1-3"] == pytest.approx(1.0, abs=1e-6)
    assert keyword.keys() == {"MEMORY.md:1-3", "memory/tea.md:1-3", "memory/both.md:1-3"}
    assert min(keyword.values()) > 0
    assert len(whose_fusion(vector, keyword).verdicts[0].hits) == len({*vector, *keyword})


# In words


def printed(thing: object) -> str:
    console = Console(width=160, highlight=False)
    with console.capture() as capture:
        console.print(thing)
    return capture.get()


def test_the_table_shows_ties_in_brackets_and_whether_the_target_passes(eleven: Comparison) -> None:
    lines = {line.split()[0]: line for line in printed(view(eleven)).splitlines() if line.startswith(" ")}
    assert "both (kwonly = v1) (k2 = v2) v3" in lines["rrf-60"]
    assert "2–3 tied" in lines["qdrant-k2"]
    assert "0.5000" in lines["qdrant-k2"]
    assert lines["qdrant-k2"].split()[-1] == "yes"
    assert lines["rrf-60"].split()[-1] == "no"


def test_the_view_tells_the_flips_of_the_target_first(eleven: Comparison) -> None:
    text = printed(view(eleven))
    assert "basic-memory, against rrf-60:\n  kwonly over both:" in text
    assert "and 1 more" in text


def test_the_view_works_without_a_target_and_without_hits() -> None:
    assert "place of" not in printed(view(whose_fusion(VECTOR, KEYWORD)))
    assert "keyword leg: nothing" in printed(view(whose_fusion({}, {})))


def test_the_degenerate_table_says_what_is_no_number() -> None:
    text = printed(degenerate_table(degenerate_lists(["autorag-mm", "qdrant-dbsf"])))
    assert "no number, no number" in text
    assert "0.5, 0.5" in text

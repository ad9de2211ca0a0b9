"""Pipelines with one, two, three and five legs, and one with a reranker, over three kinds of index."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import world
from tests.extensions.memory_index import InMemoryIndex
from tests.extensions.phrase_leg import PhraseLeg, PhraseScore
from tests.extensions.reranker import ByLength
from tests.retrieval.test_properties import (
    WORDS,
    check_every_formula,
    check_explanation,
    check_no_candidate_vanishes,
    check_same,
)
from workbench.contracts import Index
from workbench.measure.evaluation import evaluate
from workbench.measure.missed import survival
from workbench.measure.questions import Control, Question, QuestionSet
from workbench.measure.reach import reaches
from workbench.measure.thresholds import scores
from workbench.memory.index import MemoryIndex
from workbench.retrieval.cutoff import Limit, MinScore, Order
from workbench.retrieval.explain import explain
from workbench.retrieval.fusion import OneLeg, RankSum, WeightedRRF, WeightedSum
from workbench.retrieval.legs import KeywordLeg, Union, VectorLeg, legs_of
from workbench.retrieval.pipeline import Pipeline, Source, search
from workbench.retrieval.query import JoinedWords
from workbench.retrieval.scoring import Cosine, MinMaxRank
from workbench_plugins.engines import fusions
from workbench_plugins.openclaw.ranking import KeywordRescue

SOURCE = Source("tests", "now", "tests/retrieval/test_any_legs.py")
ASKED = (JoinedWords("OR"), KeywordLeg(), VectorLeg())
SCORED = (Union(), MinMaxRank(), Cosine())
CUT = (Order(), MinScore(0.2), Limit(3))
MORE = (("first", 0.2), ("second", 0.2), ("third", 0.1))
LEGS = tuple(PhraseLeg(name=name, slot=f"{name}_leg", first=place) for place, (name, _) in enumerate(MORE))


def pipeline(name: str, *stages: object) -> Pipeline:
    return Pipeline(name, stages, SOURCE)  # type: ignore[arg-type]


ONE = pipeline("one", VectorLeg(), Union(), Cosine(), OneLeg(), *CUT)
TWO = pipeline("two", *ASKED, *SCORED, WeightedSum(), *CUT)
THREE = pipeline(
    "three", *ASKED, PhraseLeg(), *SCORED, PhraseScore(), WeightedSum(0.5, 0.3, more=(("phrase", 0.2),)), *CUT
)
FIVE = pipeline("five", *ASKED, *LEGS, Union(), WeightedRRF(0.7, 0.3, more=MORE), *CUT)
UNWEIGHTED = (
    fusions.ScoreSum, fusions.ScoreSumTimesLegs, fusions.LargerScore, fusions.LargerPlusShare,
    fusions.GeometricMean,
)  # fmt: skip
FUSIONS = (
    RankSum(more=(("phrase", 0.2),)),
    fusions.WeightedScores(0.5, 0.3, more=(("phrase", 0.2),)),
    *(fusion(more=("phrase",)) for fusion in UNWEIGHTED),
)
ENGINES_OF_THREE = [
    pipeline(type(fusion).__name__, *ASKED, PhraseLeg(), *SCORED, PhraseScore(), fusion, *CUT)
    for fusion in FUSIONS
]
BY_RERANKER = (ByLength(), Order(by="rerank_score"), MinScore(0.2, of="rerank_score"), Limit(3))
RERANKED = pipeline("reranked", *ASKED, *SCORED, WeightedSum(), *BY_RERANKER)
PIPELINES = (ONE, TWO, THREE, FIVE, *ENGINES_OF_THREE, RERANKED)
every_pipeline = pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda one: one.name)

QUESTIONS = QuestionSet(
    questions=(
        Question(question="rooibos tea", target="memory/tea.md", kind="direct"),
        Question(question="the rear hub", target="memory/bike.md", kind="direct"),
    ),
    controls=(Control(question="a quarterly tax return"),),
)


@pytest.fixture(scope="module")
def in_memory() -> InMemoryIndex:
    return InMemoryIndex(world.NOTES, world.AXES)


@given(
    st.sampled_from(PIPELINES),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join),
    st.sampled_from(sorted(world.NOTES)),
)
@settings(max_examples=60, deadline=None)
def test_any_question_of_any_number_of_legs_is_traced_and_explained(
    toy: MemoryIndex, in_memory: InMemoryIndex, pipeline: Pipeline, question: str, path: str
) -> None:
    for index in (toy, in_memory):
        trace = search(question, pipeline, index)
        check_no_candidate_vanishes(trace)
        check_every_formula(trace)
        check_same(trace, search(question, pipeline, index))
        check_explanation(trace, index, path)


def test_a_third_leg_changes_the_score_of_what_it_brings(toy: MemoryIndex) -> None:
    weight = search("rooibos tea", THREE, toy).columns
    found = ~np.isnan(weight["phrase_rank"])
    assert found.any()
    without = 0.5 * weight["vector_score"] + 0.3 * np.nan_to_num(weight["keyword_score"])
    assert weight["score"][found] == pytest.approx((without + 0.2 / weight["phrase_rank"])[found])
    trace = search("rooibos tea", THREE, toy)
    assert "phrase leg: rank 1 of 1" in explain(trace, toy, "memory/tea.md").text()
    bike = explain(trace, toy, "memory/bike.md").text()
    assert "phrase leg: not among the 1 chunk that it lists" in bike
    nothing = search("tea rooibos", THREE, toy)
    assert "phrase leg: it lists no chunk" in explain(nothing, toy, "memory/bike.md").text()


def test_a_reranker_decides_order_and_floor_and_the_formulas_stay_true(toy: MemoryIndex) -> None:
    trace = search("rooibos tea", RERANKED, toy)
    ranked = trace.columns["rerank_score"][trace.order]
    assert (np.diff(ranked) <= 0).all()
    assert trace.ranked_by == "rerank_score"
    dropped = next(one for one in trace.candidates if one.drop)
    (miss,) = dropped.drop.misses  # type: ignore[union-attr]
    assert (miss.measure, miss.value, miss.limit) == ("rerank_score", dropped.score, 0.2)
    told = explain(trace, toy, dropped.chunk.path).text()
    assert "score = 0.7 ×" in told
    assert "rerank score = 10 / " in told
    assert f"rerank_score {miss.value:.3f} < 0.200: the floor drops it" in told


@pytest.mark.parametrize("kind", ["stored", "in memory"])
@every_pipeline
def test_the_labs_answer_for_any_number_of_legs(
    kind: str, pipeline: Pipeline, toy: MemoryIndex, in_memory: InMemoryIndex
) -> None:
    index: Index = toy if kind == "stored" else in_memory
    (evaluation,) = evaluate(QUESTIONS, [pipeline], index)
    floors = scores(evaluation)
    for floor in (0.0, 0.2, 0.5, 2.0):
        (again,) = evaluate(QUESTIONS, [pipeline.asking(min_score=floor)], index)
        assert floors.at(floor).hits.hits == again.overall.hits
        assert floors.at(floor).silent.hits == again.silent.hits
    assert len(survival(evaluation, index).survivors) == 2
    reach = reaches(pipeline)
    assert set(reach) == {leg.name for leg in legs_of(pipeline.stages)}
    assert all(one is not None and one.score > 0 for one in reach.values())


def test_a_rescue_behind_the_floor_runs_again_in_the_thresholds(toy: MemoryIndex) -> None:
    rescued = THREE.with_new_stage(KeywordRescue(0.0), before="limit")
    (evaluation,) = evaluate(QUESTIONS, [rescued], toy)
    (again,) = evaluate(QUESTIONS, [rescued.asking(min_score=5.0)], toy)
    assert scores(evaluation).at(5.0).hits.hits == again.overall.hits == 2

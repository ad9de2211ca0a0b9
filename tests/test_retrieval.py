"""A question becomes a trace: each stage by hand arithmetic, and against a second opinion."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.openclaw_february import FixedIndex
from tests.arithmetic import evaluated
from workbench.memory.index import MemoryIndex
from workbench.records import KEPT, Chunk, InputError, Trace
from workbench.retrieval.columns import Columns
from workbench.retrieval.cutoff import Limit, MinScore, Order
from workbench.retrieval.formula import Term, term
from workbench.retrieval.fusion import WeightedRRF, WeightedSum, reciprocal_rank, weighted_rrf, weighted_sum
from workbench.retrieval.legs import Depth
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import BLANKS, JoinedWords, check_question
from workbench.retrieval.scoring import (
    AbsoluteRank,
    MinMaxRank,
    absolute_rank,
    clamped_rank,
    cosine_similarity,
    min_max,
)
from workbench.systems import SYSTEMS, system
from workbench.systems.openclaw import (
    ABSOLUTE,
    EIGHT,
    FIXED,
    FIXES,
    INSERTION,
    MIN_MAX,
    OR_JOIN,
    RRF,
    SHIPPED,
    WORKAROUND,
)

Pair = tuple[Term, Fraction]
Function = Callable[..., Any]

# Each operation on terms, and the same on exact fractions.
TWO_SIDED: list[tuple[Function, Function]] = [
    (operator.add, operator.add),
    (operator.sub, operator.sub),
    (operator.mul, operator.mul),
    (operator.truediv, operator.truediv),
    (np.maximum, max),
    (np.minimum, min),
]
ONE_SIDED: list[tuple[Function, Function]] = [(operator.neg, operator.neg), (abs, abs)]


def combined(made: tuple[tuple[Function, Function], Pair, Pair]) -> Pair:
    (on_terms, on_fractions), (left, exact_left), (right, exact_right) = made
    if on_terms is operator.truediv and abs(exact_right) < Fraction(1, 100):
        on_terms = on_fractions = operator.sub
    return on_terms(left, right), on_fractions(exact_left, exact_right)


def changed(made: tuple[tuple[Function, Function], Pair]) -> Pair:
    (on_terms, on_fractions), (inner, exact) = made
    return on_terms(inner), on_fractions(exact)


NUMBERS = st.integers(-9, 9).map(lambda n: (term(n), Fraction(n)))
SMALL = st.tuples(st.sampled_from(TWO_SIDED), NUMBERS, NUMBERS).map(combined)
PARTS = st.one_of(NUMBERS, SMALL, st.tuples(st.sampled_from(ONE_SIDED), SMALL).map(changed))
MIDDLING = st.tuples(st.sampled_from(TWO_SIDED), PARTS, PARTS).map(combined)
PAIRS = st.tuples(st.sampled_from(TWO_SIDED), MIDDLING, MIDDLING).map(combined)


@given(PAIRS)
@settings(max_examples=300)
def test_a_terms_text_means_exactly_what_was_computed(pair: Pair) -> None:
    made, exact = pair
    assert evaluated(str(made), Fraction) == exact


@given(PAIRS)
@settings(max_examples=300)
def test_a_terms_value_is_what_was_computed(pair: Pair) -> None:
    made, exact = pair
    assert made.value == pytest.approx(float(exact), rel=1e-6, abs=1e-6)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_of_17_digits_is_read_back_exactly(value: float) -> None:
    assert evaluated(str(term(value, 17))) == value


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (term(0.7) * term(0.438) + term(0.3) * term(0), "0.7 × 0.438 + 0.3 × 0"),
        (term(1) - (term(2) - term(3)), "1 - (2 - 3)"),
        (term(1) - term(2) - term(3), "1 - 2 - 3"),
        ((term(1) + 2) * 3, "(1 + 2) × 3"),
        (term(1) / (term(2) * 3), "1 / (2 × 3)"),
        (1 - term(-0.5), "1 - (-0.5)"),
        (term(-2) * term(-3), "(-2) × (-3)"),
        (-(term(1) + 2), "-(1 + 2)"),
        (1 / (1 + np.maximum(0.0, term(-4.2))), "1 / (1 + max(0, -4.2))"),
        (np.exp(term(0) - 1), "exp(0 - 1)"),
    ],
)
def test_a_formula_has_the_brackets_it_needs_and_no_more(made: Term, text: str) -> None:
    assert str(made) == text


def test_a_choice_keeps_only_the_side_that_was_taken() -> None:
    assert str(np.where(np.isnan(term(math.nan)), 0.0, term(2) * 3)) == "0"
    assert str(np.where(np.isnan(term(1)), 0.0, term(2) * 3)) == "2 × 3"


def test_the_reader_of_formulas_reads_nothing_but_arithmetic() -> None:
    for text in ("open('x')", "().__class__", "a", "1 if 2 else 3", "'a' * 3"):
        with pytest.raises((ValueError, KeyError)):
            evaluated(text)


# Query builders

FRAGMENTS = [
    *(
        "AND",
        "OR",
        "NOT",
        "NEAR(",
        "NEAR(tea bike, 2)",
        "text:",
        "- text :",
        "^",
        "*",
        "+",
        '"',
        "'",
        "(",
        ")",
    ),
    *(
        "{",
        "}",
        ";",
        "--",
        "\\",
        "\x00",
        "\x1f",
        "\t",
        "\n",
        "\ufeff",
        "\u200b",
        "_",
        "tea",
        "Bike",
        "rooibos",
    ),
    *("naïve", "金银价格", "しりとり", "한국어", "😀", "👩‍🚀", "éa", "٣", "2026-02-13", "x" * 5000),
]
QUESTIONS = st.one_of(st.text(), st.lists(st.sampled_from(FRAGMENTS)).map(" ".join))
LONG = [
    " ".join(f"word{number}" for number in range(2_000)),
    "tea " * 2_000,
    " ".join(["AND", "OR", "NOT", "NEAR"] * 500),
]
ALL, ANY = JoinedWords("AND"), JoinedWords("OR")


def matched(index: MemoryIndex, match: str | None) -> set[int]:
    """The rows that a MATCH expression finds in the real table."""
    return set(index.keyword(match, index.size).rows.tolist()) if match else set()


@given(QUESTIONS)
def test_fts5_accepts_the_match_of_any_question(toy: MemoryIndex, question: str) -> None:
    for build in (ALL, ANY):
        assert len(matched(toy, build.match(question))) <= toy.size


@pytest.mark.parametrize("question", LONG, ids=["different", "the same", "operators"])
@pytest.mark.parametrize("build", [ALL, ANY], ids=["AND", "OR"])
def test_fts5_accepts_a_question_of_2000_words(toy: MemoryIndex, build: JoinedWords, question: str) -> None:
    match = build.match(question)
    assert match is not None
    assert match.count('"') == 4_000
    assert len(matched(toy, match)) <= toy.size


@given(QUESTIONS)
def test_or_finds_all_that_and_finds(toy: MemoryIndex, question: str) -> None:
    assert matched(toy, ANY.match(question)) >= matched(toy, ALL.match(question))


def test_or_finds_more_than_and(toy: MemoryIndex) -> None:
    assert len(matched(toy, ALL.match("rooibos hub"))) == 0
    assert len(matched(toy, ANY.match("rooibos hub"))) == 4


@pytest.mark.parametrize(
    ("question", "match"),
    [
        ("what's up", '"what" AND "s" AND "up"'),
        ("cats OR dogs", '"cats" AND "OR" AND "dogs"'),
        ("naïve", '"na" AND "ve"'),
        ("tea tea", '"tea" AND "tea"'),
        ("金银价格", None),
        ("?!", None),
    ],
)
def test_the_words_of_a_question_are_quoted_and_joined(question: str, match: str | None) -> None:
    assert ALL.match(question) == match


@pytest.mark.parametrize("join", ["and", "NOT", "", "; DROP TABLE chunks"])
def test_only_and_or_join(join: str) -> None:
    with pytest.raises(InputError, match="Use AND or OR"):
        JoinedWords(join)


@pytest.mark.parametrize("question", ["", " \n", "?!", "—", "tea \udce9", "word " * 1_001])
def test_a_question_that_cannot_mean_anything_is_refused(question: str) -> None:
    with pytest.raises(InputError):
        check_question(question)


@pytest.mark.parametrize("question", ["tea", " 金银 ", "7?", "word " * 1_000])
def test_a_question_that_can_mean_something_is_accepted(question: str) -> None:
    assert check_question(question) == question.strip()


@given(QUESTIONS)
@settings(max_examples=50)
def test_a_search_accepts_any_question(toy: MemoryIndex, question: str) -> None:
    for pipeline in (SHIPPED, FIXED, WORKAROUND):
        assert search(question, pipeline, toy).question == question.strip(BLANKS)


def test_half_a_surrogate_pair_does_not_stop_a_search(toy: MemoryIndex) -> None:
    assert search("tea \udce9", SHIPPED, toy).paths()[0] == "memory/tea.md"


@pytest.mark.parametrize("question", ["", "  ", "\n\t"])
def test_a_blank_question_asks_nothing(question: str) -> None:
    index = answering(keyword={"a": -1.0}, vector={"a": 0.1})
    assert search(question, SHIPPED, index).results == []
    assert index.calls == []


# Legs


def answering(
    keyword: Mapping[str, float] | None = None, vector: Mapping[str, float] | None = None
) -> FixedIndex:
    """An index that answers any question with these raw numbers, by chunk id, best first."""

    def hits(raw: Mapping[str, float] | None) -> list[tuple[Chunk, float]]:
        return [(Chunk(name, f"{name}.md", "memory", 1, 1, name), n) for name, n in (raw or {}).items()]

    return FixedIndex(hits(keyword), hits(vector))


def columns(trace: Trace, name: str) -> list[float | None]:
    """A column of a trace in the order of its rows, None for absent."""
    return [None if math.isnan(number) else float(number) for number in trace.columns[name]]


def ids(trace: Trace) -> list[str]:
    return [chunk.id for chunk in trace.chunks]


BOTH = {"keyword": {"a": -3.0, "c": -1.5}, "vector": {"b": 0.1, "a": 0.4}}


def test_the_union_has_the_vector_legs_chunks_first_and_each_once() -> None:
    assert ids(search("X", SHIPPED, answering(**BOTH))) == ["b", "a", "c"]


def test_ranks_count_from_1_and_absent_is_absent() -> None:
    trace = search("X", SHIPPED, answering(**BOTH))
    assert columns(trace, "vector_rank") == [1, 2, None]
    assert columns(trace, "keyword_rank") == [None, 1, 2]


def test_raw_numbers_stay_as_the_engine_gave_them() -> None:
    trace = search("X", SHIPPED, answering(**BOTH))
    assert columns(trace, "vector_raw") == [0.1, 0.4, None]
    assert columns(trace, "keyword_raw") == [None, -3.0, -1.5]


@pytest.mark.parametrize(
    ("limit", "depth"), [(6, 24), (10, 40), (100, 200), (50, 200), (0.1, 1), (0, 1), (1.6, 6)]
)
def test_a_leg_is_asked_for_four_times_the_limit_between_1_and_200(limit: float, depth: int) -> None:
    index = answering()
    search("X", SHIPPED.asking(limit=limit), index)
    assert index.calls == [("keyword", depth), ("vector", depth)]


def test_a_leg_that_brings_more_than_its_depth_is_cut() -> None:
    many = {f"{number:03}": number / 100 for number in range(50)}
    assert len(search("X", SHIPPED, answering(vector=many)).chunks) == Depth(4).of(6) == 24


def test_a_question_without_an_ascii_word_does_not_ask_the_keyword_leg() -> None:
    index = answering(keyword={"a": -1.0}, vector={"b": 0.1})
    trace = search("金银", SHIPPED, index)
    assert index.calls == [("vector", 24)]
    assert trace.legs["keyword"].asked is None


def test_a_vector_of_zeros_does_not_ask_the_vector_leg_and_says_so() -> None:
    index = answering(keyword={"a": -1.0}, vector={"b": 0.1})
    trace = search("X", SHIPPED, index, vector=np.zeros(3, np.float32))
    assert index.calls == [("keyword", 24)]
    assert trace.legs["vector"].asked is None
    assert "all zeros" in trace.notes[0]


def test_a_question_of_the_wrong_length_is_refused(toy: MemoryIndex) -> None:
    with pytest.raises(InputError, match="5 dimensions, the index 3"):
        search("tea", SHIPPED, toy, vector=np.ones(5, np.float32))


def test_fts5s_numbers_are_negative_and_the_best_comes_first(toy: MemoryIndex) -> None:
    raw = search("rooibos tea cup", SHIPPED.but(OR_JOIN), toy).legs["keyword"].hits.raw
    assert raw.size == 3
    assert np.all(raw < 0)
    assert np.all(np.diff(raw) > 0)


def test_the_nearest_note_has_the_cosine_of_its_angle(toy: MemoryIndex) -> None:
    found = {
        one.chunk.path: one.numbers["vector_score"] for one in search("bike", WORKAROUND, toy).candidates
    }
    # The errand has bike and hub on one axis and tea on the other, where a comma hides one bike.
    assert found["memory/both.md"] == pytest.approx(1 / math.sqrt(2), abs=1e-6)
    assert found["memory/bike.md"] == pytest.approx(1.0, abs=1e-6)
    assert found["memory/plain.md"] == 0.0


# Scoring

NEGATIVE = st.floats(max_value=-5e-324, allow_nan=False, allow_infinity=False)


@given(NEGATIVE)
def test_the_clamped_score_is_1_for_every_match(raw: float) -> None:
    assert clamped_rank(raw) == 1.0


@pytest.mark.parametrize("convert", [clamped_rank, absolute_rank])
@pytest.mark.parametrize("raw", [math.nan, math.inf, -math.inf])
def test_a_rank_that_is_no_number_scores_one_thousandth(convert: Callable[[float], Any], raw: float) -> None:
    assert convert(raw) == 1 / 1000


@given(st.floats(-1e3, -1e-3), st.floats(1e-3, 1e3))
def test_the_absolute_score_is_upside_down(weaker: float, by: float) -> None:
    better = weaker - by
    assert absolute_rank(better) < absolute_rank(weaker)


def test_the_absolute_score_by_hand() -> None:
    assert absolute_rank(-4.0) == 1 / 5
    assert absolute_rank(-0.25) == 1 / 1.25


@given(st.lists(st.floats(-1e6, 0), min_size=1))
def test_min_max_runs_from_0_for_the_worst_to_1_for_the_best(raw: list[float]) -> None:
    column = np.array(raw)
    scores = min_max(column, best=column.min(), worst=column.max())
    assert np.all((scores >= 0) & (scores <= 1))
    assert scores[column.argmin()] == 1.0
    assert scores[column.argmax()] == (0.0 if column.min() < column.max() else 1.0)


def test_min_max_by_hand() -> None:
    assert min_max(-3.0, best=-4.0, worst=-2.0) == (-2.0 - -3.0) / (-2.0 - -4.0) == 0.5


@pytest.mark.parametrize("raw", [{"a": -2.5}, {"a": -2.5, "b": -2.5, "c": -2.5}], ids=["one", "equal"])
def test_min_max_gives_1_to_a_single_hit_and_to_equal_hits(raw: dict[str, float]) -> None:
    trace = search("X", SHIPPED.but(MIN_MAX), answering(keyword=raw))
    assert columns(trace, "keyword_score") == [1.0] * len(raw)


def test_min_max_ranges_over_the_keyword_hits_alone() -> None:
    hits = answering(keyword={"a": -4.0, "b": -3.0, "c": -2.0}, vector={"z": 0.1, "b": 0.2})
    trace = search("X", SHIPPED.but(MIN_MAX), hits)
    assert dict(zip(ids(trace), columns(trace, "keyword_score"), strict=True)) == {
        "z": None,
        "a": 1.0,
        "b": 0.5,
        "c": 0.0,
    }


@pytest.mark.parametrize("pipeline", SYSTEMS.values(), ids=list(SYSTEMS))
def test_an_absent_hit_has_no_score_of_its_leg(pipeline: Pipeline) -> None:
    trace = search("X", pipeline, answering(**BOTH))
    for leg in trace.legs:
        absent = np.isnan(trace.columns[f"{leg}_rank"])
        assert np.array_equal(np.isnan(trace.columns[f"{leg}_score"]), absent)


def test_a_similarity_is_1_less_the_distance() -> None:
    assert [cosine_similarity(distance) for distance in (0.0, 0.25, 1.0, 2.0)] == [1.0, 0.75, 0.0, -1.0]


# Fusion, by hand


def scored(pipeline: Pipeline, index: FixedIndex) -> dict[str, float]:
    """The score of every candidate, dropped ones included."""
    return {one.chunk.id: one.score for one in search("X", pipeline, index).candidates}


def test_the_shipped_sum_by_hand() -> None:
    scores = scored(SHIPPED, answering(keyword={"a": -3.0, "c": 1.0}, vector={"b": 0.1, "a": 0.4, "c": 0.0}))
    assert scores == pytest.approx({
        "a": 0.7 * 0.6 + 0.3 * 1.0,
        "b": 0.7 * 0.9 + 0.3 * 0.0,
        "c": 0.7 * 1.0 + 0.3 / 2,
    })  # fmt: skip


def test_under_the_shipped_sum_a_perfect_keyword_hit_alone_scores_030_and_is_dropped() -> None:
    trace = search("X", SHIPPED, answering(keyword={"a": -1000.0}))
    assert trace.candidates[0].score == pytest.approx(0.30)
    assert trace.candidates[0].dropped_by == MinScore(0.35)


def test_under_the_shipped_sum_a_vector_hit_alone_needs_a_cosine_of_050() -> None:
    kept = search("X", SHIPPED, answering(vector={"just": 0.50, "below": 0.51})).results
    assert [one.chunk.id for one in kept] == ["just"]


def test_absent_counts_as_the_number_that_the_stage_names() -> None:
    half = SHIPPED.with_stage(WeightedSum(vector=0.7, keyword=0.3, absent=0.5))
    assert scored(half, answering(vector={"a": 0.2})) == pytest.approx({"a": 0.7 * 0.8 + 0.3 * 0.5})


def test_rrf_by_hand() -> None:
    most = 0.7 / 61 + 0.3 / 61
    scores = scored(SHIPPED.but(RRF), answering(**BOTH))
    assert scores == pytest.approx({
        "a": (0.7 / 62 + 0.3 / 61) / most,
        "b": (0.7 / 61) / most,
        "c": (0.3 / 62) / most,
    })  # fmt: skip


def test_rrf_gives_1_to_what_is_first_in_both_legs() -> None:
    assert scored(SHIPPED.but(RRF), answering(keyword={"a": -1.0}, vector={"a": 0.9})) == pytest.approx(
        {"a": 1.0}
    )


def test_rrf_gives_the_best_keyword_hit_alone_030_too() -> None:
    trace = search("X", SHIPPED.but(RRF), answering(keyword={"a": -1000.0}))
    assert trace.candidates[0].score == pytest.approx(0.30)
    assert trace.results == []


def test_rrf_looks_at_ranks_alone() -> None:
    near = answering(keyword={"a": -9.0, "b": -8.9}, vector={"b": 0.1, "c": 0.11})
    far = answering(keyword={"a": -9.0, "b": -0.1}, vector={"b": 0.1, "c": 1.9})
    assert scored(SHIPPED.but(RRF), near) == scored(SHIPPED.but(RRF), far)


def test_the_workaround_is_the_cosine_itself() -> None:
    assert scored(WORKAROUND, answering(keyword={"z": -9.0}, vector={"a": 0.25})) == {"a": 0.75}


RANKS = st.lists(st.one_of(st.just(math.nan), st.integers(1, 200).map(float)), min_size=1, max_size=8)


@given(RANKS, st.floats(0.01, 10), st.floats(0.01, 10), st.floats(0, 200))
def test_rrf_never_exceeds_1(ranks: list[float], vector: float, keyword: float, k: float) -> None:
    column = np.array(ranks)
    scores = weighted_rrf(column, column[::-1], vector, keyword, k)
    assert np.all((scores >= 0) & (scores <= 1 + 1e-12))


# One formula answers one question and sweeps many settings

VECTOR_SCORES = np.array([0.9, 0.2, 0.0, -0.3])
KEYWORD_SCORES = np.array([1.0, 0.0, 0.5, 1.0])
VECTOR_RANKS = np.array([1.0, math.nan, 3.0, 2.0])
KEYWORD_RANKS = np.array([math.nan, 1.0, 7.0, 2.0])
WEIGHTS = np.array([[0.0], [0.3], [0.7], [1.0], [2.5]])


def test_a_column_of_weights_gives_the_sums_of_single_calls() -> None:
    swept = weighted_sum(VECTOR_SCORES, KEYWORD_SCORES, WEIGHTS, 1 - WEIGHTS)
    single = [weighted_sum(VECTOR_SCORES, KEYWORD_SCORES, w, 1 - w) for (w,) in WEIGHTS.tolist()]
    assert swept.shape == (5, 4)
    assert np.array_equal(swept, single)


def test_a_column_of_weights_and_constants_gives_the_rrf_of_single_calls() -> None:
    constants = np.array([[1.0], [10.0], [60.0], [61.0], [1000.0]])
    swept = weighted_rrf(VECTOR_RANKS, KEYWORD_RANKS, 0.1 + WEIGHTS, 0.5, constants)
    rows = zip(WEIGHTS[:, 0], constants[:, 0], strict=True)
    single = [weighted_rrf(VECTOR_RANKS, KEYWORD_RANKS, 0.1 + w, 0.5, k) for w, k in rows]
    assert swept.shape == (5, 4)
    assert np.array_equal(swept, single)


def test_a_stage_with_a_column_of_weights_gives_the_scores_of_single_stages() -> None:
    of = Columns({"vector_score": VECTOR_RANKS / 10, "keyword_score": KEYWORD_RANKS / 10})
    swept = WeightedSum(WEIGHTS, 1 - WEIGHTS).formula(of)  # type: ignore[arg-type]
    single = [WeightedSum(w, 1 - w).formula(of) for (w,) in WEIGHTS.tolist()]
    assert np.array_equal(swept, single)


def test_a_column_of_bounds_gives_the_min_max_of_single_calls() -> None:
    raw, best = np.array([-4.0, -3.0, -2.0]), np.array([[-4.0], [-5.0], [-2.0]])
    swept = min_max(raw, best, -2.0)
    assert np.array_equal(swept, [min_max(raw, b, -2.0) for (b,) in best.tolist()])


# Second opinions on rank fusion

RANKING = st.lists(st.integers(0, 30), min_size=1, max_size=20, unique=True)
LISTS = st.tuples(RANKING, RANKING)


def ranks_of(names: Sequence[int], ranking: Sequence[int]) -> np.ndarray:
    """The rank of each name from 1, NaN where the ranking does not have it."""
    return np.array([ranking.index(name) + 1 if name in ranking else math.nan for name in names])


def in_ranx(rankings: Sequence[Sequence[int]], constant: int) -> dict[int, float]:
    """Fused scores by ranx, which knows no weights."""
    from ranx import Run
    from ranx.fusion import rrf

    runs = [Run({"question": {str(name): -float(i) for i, name in enumerate(one)}}) for one in rankings]
    return {int(name): score for name, score in rrf(runs, k=constant)["question"].items()}


@given(LISTS)
@settings(max_examples=30, deadline=None)  # the first call compiles ranx
def test_rrf_with_equal_weights_agrees_with_ranx(rankings: tuple[list[int], list[int]]) -> None:
    vector, keyword = rankings
    names = sorted({*vector, *keyword})
    ours = weighted_rrf(ranks_of(names, vector), ranks_of(names, keyword), 1.0, 1.0, 60) * (2 / 61)
    assert dict(zip(names, ours, strict=True)) == pytest.approx(in_ranx(rankings, 60))


def in_qdrant(
    rankings: Sequence[Sequence[int]], constant: int, weights: list[float] | None
) -> dict[int, float]:
    """Fused scores by qdrant-client, where a first hit counts 1 / constant."""
    from qdrant_client.http.models import ScoredPoint
    from qdrant_client.hybrid.fusion import reciprocal_rank_fusion

    lists = [[ScoredPoint(id=name, version=0, score=0.0) for name in ranking] for ranking in rankings]
    fused = reciprocal_rank_fusion(lists, limit=100, ranking_constant_k=constant, weights=weights)
    return {int(point.id): point.score for point in fused}


@given(LISTS)
@settings(deadline=None)  # the first call imports qdrant-client
def test_rrf_with_equal_weights_agrees_with_qdrant_whose_ranks_count_from_0(
    rankings: tuple[list[int], list[int]],
) -> None:
    vector, keyword = rankings
    names = sorted({*vector, *keyword})
    ours = weighted_rrf(ranks_of(names, vector), ranks_of(names, keyword), 1.0, 1.0, 60) * (2 / 61)
    assert dict(zip(names, ours, strict=True)) == pytest.approx(in_qdrant(rankings, 61, None))


@given(LISTS, st.floats(0.1, 2), st.floats(0.1, 2))
@settings(deadline=None)
def test_qdrants_weight_stretches_the_ranks_and_so_the_constant(
    rankings: tuple[list[int], list[int]], first: float, second: float
) -> None:
    vector, keyword = rankings
    names = sorted({*vector, *keyword})
    ours = reciprocal_rank(ranks_of(names, vector), first, first * 60) + reciprocal_rank(
        ranks_of(names, keyword), second, second * 60
    )
    assert dict(zip(names, ours, strict=True)) == pytest.approx(in_qdrant(rankings, 61, [first, second]))


# Cutoff


def fused(scores: Mapping[str, float], **more: Sequence[float]) -> Trace:
    """A trace that has got as far as these scores, by chunk id, in this order of insertion."""
    values = np.array(list(scores.values()))
    return Trace(
        "X",
        "hand",
        (Order(), MinScore(0.35), Limit(2)),
        chunks=tuple(Chunk(name, f"{name}.md", "memory", 1, 1, name) for name in scores),
        rows=np.arange(values.size),
        columns={"score": values, **{name: np.array(column) for name, column in more.items()}},
        dropped=np.full(values.size, KEPT),
        order=np.arange(values.size),
    )


def cut(trace: Trace) -> Trace:
    for stage in trace.stages:
        trace = stage.run(trace, None)
    return trace


def in_order(trace: Trace) -> list[str]:
    return [one.chunk.id for one in trace.candidates]


def test_the_best_score_comes_first() -> None:
    assert in_order(cut(fused({"a": 0.4, "b": 0.9, "c": 0.5}))) == ["b", "c", "a"]


def test_equal_scores_are_ordered_by_chunk_id() -> None:
    assert in_order(cut(fused({"c": 0.5, "a": 0.5, "b": 0.5}))) == ["a", "b", "c"]


def test_equal_scores_are_ordered_by_the_ties_first_and_absent_is_last() -> None:
    nan = math.nan
    trace = fused(
        {"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.5},
        vector_rank=[nan, 2.0, nan, 1.0],
        keyword_rank=[2.0, nan, 1.0, 3.0],
    )
    assert in_order(INSERTION.run(trace, None)) == ["d", "b", "c", "a"]  # type: ignore[arg-type]


def test_a_score_that_is_no_number_comes_last_and_is_dropped() -> None:
    trace = cut(fused({"a": math.nan, "b": 0.9}))
    assert in_order(trace) == ["b", "a"]
    assert trace.candidates[1].dropped_by == MinScore(0.35)


def test_the_floor_is_the_least_score_kept() -> None:
    trace = cut(fused({"at": 0.35, "below": 0.35 - 1e-9}))
    assert [one.dropped_by for one in trace.candidates] == [None, MinScore(0.35)]


def test_the_limit_keeps_the_first_and_marks_the_rest() -> None:
    trace = cut(fused({"a": 0.6, "b": 0.7, "c": 0.8, "d": 0.1}))
    assert [one.chunk.id for one in trace.results] == ["c", "b"]
    assert [one.dropped_by for one in trace.candidates] == [None, None, Limit(2), MinScore(0.35)]


@pytest.mark.parametrize(("count", "kept"), [(0, 0), (0.1, 0), (1, 1), (2.9, 2), (3, 3), (100, 3)])
def test_a_limit_is_rounded_down(count: float, kept: int) -> None:
    index = answering(vector={"a": 0.1, "b": 0.1, "c": 0.1})
    assert len(search("X", WORKAROUND.asking(limit=count), index).results) == kept


def test_positions_count_from_1_over_all_candidates() -> None:
    trace = cut(fused({"a": 0.1, "b": 0.7, "c": 0.8}))
    assert [(one.chunk.id, one.position) for one in trace.candidates] == [("c", 1), ("b", 2), ("a", 3)]
    assert trace.candidate(0).position == 3


def test_a_file_is_named_once_at_the_place_of_its_best_chunk() -> None:
    chunks = [Chunk(name, path, "memory", 1, 1, "") for name, path in (("1", "x"), ("2", "y"), ("3", "x"))]
    index = FixedIndex([], [(chunk, place / 10) for place, chunk in enumerate(chunks)])
    assert search("X", WORKAROUND, index).paths() == ["x", "y"]


# Pipelines


def test_the_eight_combinations_have_eight_names_and_eight_meanings() -> None:
    assert len({pipeline.name for pipeline in EIGHT}) == 8
    assert len({pipeline.stages for pipeline in EIGHT}) == 8
    assert EIGHT[0] == SHIPPED


def test_every_system_is_known_by_its_own_name() -> None:
    assert all(system(name).name == name for name in SYSTEMS)


def test_an_unknown_system_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(InputError, match=r"nearest are .*openclaw-2026\.2\.13"):
        system("openclaw-2026.2.14")


@pytest.mark.parametrize("fix", [*FIXES, ABSOLUTE], ids=lambda fix: fix.name)
def test_a_fix_changes_its_own_slot_alone(fix: Any) -> None:
    (change,) = SHIPPED.diff(SHIPPED.but(fix))
    assert (change.slot, change.before, change.after) == (fix.stage.slot, SHIPPED[fix.stage.slot], fix.stage)


def test_the_three_fixes_change_three_slots() -> None:
    assert [change.slot for change in SHIPPED.diff(FIXED)] == ["query", "keyword_score", "fusion"]


def test_but_names_its_changes_and_leaves_the_original_alone() -> None:
    changed = SHIPPED.but(OR_JOIN, RRF)
    assert changed.name == "openclaw-2026.2.13+or+rrf"
    assert changed.changes == (OR_JOIN, RRF)
    assert SHIPPED.changes == ()
    assert SHIPPED["query"] == JoinedWords("AND")


def test_the_order_of_two_changes_does_not_matter_to_the_stages() -> None:
    assert SHIPPED.but(OR_JOIN, RRF).stages == SHIPPED.but(RRF).but(OR_JOIN).stages


def test_asking_sets_the_limit_and_the_floor_and_nothing_else() -> None:
    asked = SHIPPED.asking(limit=3, min_score=0.1)
    assert (asked.limit, asked.floor, asked.name) == (3, 0.1, SHIPPED.name)
    assert [change.slot for change in SHIPPED.diff(asked)] == ["floor", "limit"]


def test_asking_for_0_is_asking() -> None:
    assert (SHIPPED.asking(min_score=0).floor, SHIPPED.asking(limit=0).limit) == (0, 0)


def test_asking_for_nothing_changes_nothing() -> None:
    assert SHIPPED.asking() == SHIPPED


def test_with_stage_takes_the_place_of_the_stage_in_its_slot() -> None:
    changed = SHIPPED.with_stage(WeightedRRF())
    assert [stage.slot for stage in changed.stages] == [stage.slot for stage in SHIPPED.stages]
    assert changed["fusion"] == WeightedRRF()
    assert changed.name == SHIPPED.name


def test_two_stages_in_one_slot_are_refused() -> None:
    with pytest.raises(InputError, match="two stages for keyword_score"):
        Pipeline("twice", (MinMaxRank(), Limit(), AbsoluteRank()), SHIPPED.source)


def test_an_unknown_slot_is_refused_with_the_slots_there_are() -> None:
    with pytest.raises(InputError, match="It has query, keyword_leg"):
        SHIPPED["rerank"]


def test_a_stage_without_a_slot_in_the_pipeline_is_refused() -> None:
    with pytest.raises(InputError, match="no stage 'query'"):
        WORKAROUND.but(OR_JOIN)


def test_a_difference_says_which_side_has_no_such_stage() -> None:
    changes = {change.slot: change for change in SHIPPED.diff(WORKAROUND)}
    assert changes["query"].before == JoinedWords("AND")
    assert changes["query"].after is None
    assert {change.slot for change in WORKAROUND.diff(SHIPPED)} == changes.keys()


@pytest.mark.parametrize("pipeline", SYSTEMS.values(), ids=list(SYSTEMS))
def test_a_printed_pipeline_says_every_stage_change_and_source(pipeline: Pipeline) -> None:
    printed = str(pipeline)
    assert all(stage.says in printed for stage in pipeline.stages)
    assert all(change.why in printed for change in pipeline.changes)
    assert str(pipeline.source) in printed


def test_a_trace_names_the_stages_that_ran(toy: MemoryIndex) -> None:
    trace = search("tea", FIXED, toy)
    assert (trace.system, trace.stages) == (FIXED.name, FIXED.stages)

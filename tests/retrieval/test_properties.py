"""What holds for every pipeline and every question: nothing vanishes, and no printed formula lies."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from math import isclose
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import world
from tests.arithmetic import evaluated
from tests.hand import answering
from tests.retrieval.test_query import QUESTIONS
from workbench.measure.questions import QuestionSet
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import Embedded, Embedder, unit
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.records import KEPT, Candidate, Fate, Trace
from workbench.retrieval.columns import ColumnStage
from workbench.retrieval.cutoff import EvidenceFloor, Limit, MinScore, Order
from workbench.retrieval.explain import explain, steps
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.basic_memory.pipelines import MinSimilarity
from workbench_plugins.recommended.layout import PassagesLayout
from workbench_plugins.recommended.stages import BestOfFile

WORDS = ["tea", "rooibos", "cup", "bike", "hub", "brake", "server", "disk", "backup", "the", "none", "Wren"]
ASKED = st.one_of(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), QUESTIONS)
PIPELINES = st.sampled_from(list(SYSTEMS.values()))
WITHOUT_PASSAGES = [one for one in SYSTEMS.values() if not isinstance(one.layout, PassagesLayout)]
"""The others read passages of an index, which a fixed one does not have."""
LIMITS = st.one_of(st.none(), st.sampled_from([0, 0.1, 1, 2.9, 100]))
FLOORS = st.one_of(st.none(), st.sampled_from([-1.0, 0.0, 0.3, 0.7, 1.0]))

every_pipeline = pytest.mark.parametrize("pipeline", SYSTEMS.values(), ids=list(SYSTEMS))
few = settings(max_examples=60, deadline=None)


@pytest.fixture(scope="module")
def sample_twice(sample: MemoryIndex) -> tuple[CachedIndex, CachedIndex]:
    """The sample memory, which answers anew, once, what is asked of the other."""
    return CachedIndex(sample), CachedIndex(sample)


# What must hold for one trace


def check_no_candidate_vanishes(trace: Trace) -> None:
    brought = {int(row) for leg in trace.legs.values() for row in leg.hits.rows}
    results = {one.chunk.id for one in trace.results}
    dropped = {one.chunk.id for one in trace.candidates if one.dropped_by is not None}
    assert sorted(trace.rows.tolist()) == sorted(brought)
    assert len(trace.candidates) == len(trace.chunks) == len(brought)
    assert results | dropped == {chunk.id for chunk in trace.chunks}
    assert not results & dropped


def check_every_formula(trace: Trace) -> None:
    for row in range(len(trace.chunks)):
        made = steps(trace, row, digits=17)
        assert {step.column for step in made} == computed(trace, row)
        for step in made:
            in_trace = float(trace.columns[step.column][row])
            assert isclose(step.formula.value, in_trace, rel_tol=0, abs_tol=1e-9)
            assert isclose(evaluated(str(step.formula)), in_trace, rel_tol=0, abs_tol=1e-9)


def computed(trace: Trace, row: int) -> set[str]:
    """The columns that a stage has computed and that this row has a number in."""
    outputs = [stage.output for stage in trace.stages if isinstance(stage, ColumnStage)]
    return {name for name in outputs if not np.isnan(trace.columns[name][row])}


def after_order(trace: Trace) -> set[str]:
    """The slots that come after the order, which may reorder, rescue or cut by rules of their own."""
    slots = [stage.slot for stage in trace.stages]
    return set(slots[slots.index("order") + 1 :])


def check_order(trace: Trace) -> None:
    (order,) = [stage for stage in trace.stages if isinstance(stage, Order)]
    if type(order) is not Order or "diversity" in after_order(trace):
        return  # a system's own order, which its own tests check
    keys = [
        (
            _absent_last(-one.score),
            *(_absent_last(one.numbers[name]) for name in order.ties if name in one.numbers),
            one.chunk.id,
        )
        for one in trace.candidates
    ]
    assert keys == sorted(keys)


def _absent_last(number: float) -> float:
    return float("inf") if np.isnan(number) else number


def check_cuts(trace: Trace, pipeline: Pipeline) -> None:
    if after_order(trace) - {"floor", "limit"} or any(isinstance(one, EvidenceFloor) for one in trace.stages):
        return  # a rescue, an adaptive floor or one on evidence, which their own tests check
    slots = [stage.slot for stage in trace.stages]
    # A leg's own minimum drops its candidates before they are fused and put in order.
    left = [
        one
        for one in trace.candidates
        if one.dropped_by is None or slots.index(one.dropped_by.slot) > slots.index("order")
    ]
    of = next((stage.of for stage in trace.stages if isinstance(stage, MinScore)), "score")
    # A number that is absent does not reach a floor.
    passes = {one.chunk.id: one.numbers[of] >= pipeline.floor for one in left}
    passing = [one.chunk for one in left if passes[one.chunk.id]]
    assert [one.chunk for one in trace.results] == passing[: int(pipeline.limit)]
    for one in left:
        if one.dropped_by is not None:
            assert isinstance(one.dropped_by, Limit if passes[one.chunk.id] else MinScore)


def check_sound(trace: Trace, pipeline: Pipeline) -> None:
    check_no_candidate_vanishes(trace)
    check_every_formula(trace)
    check_order(trace)
    check_cuts(trace, pipeline)


def check_same(one: Trace, other: Trace) -> None:
    assert (one.question, one.system, one.stages, one.match) == (
        other.question, other.system, other.stages, other.match,
    )  # fmt: skip
    assert one.chunks == other.chunks
    assert one.columns.keys() == other.columns.keys()
    for name, column in one.columns.items():
        assert np.array_equal(column, other.columns[name], equal_nan=True)
    assert np.array_equal(one.order, other.order)
    assert np.array_equal(one.dropped, other.dropped)


def fate_by_numbers(candidate: Candidate) -> Fate:
    """The fate of a candidate, from the stage that dropped it and from its numbers alone."""
    match candidate.dropped_by:
        case None:
            return Fate.RETURNED
        case Limit():
            return Fate.BEYOND_LIMIT
        case MinSimilarity(least=least):
            assert not candidate.numbers["similarity"] >= least
            return Fate.BELOW_LEG_FLOOR
        case BestOfFile():
            return Fate.FOLDED
        case MinScore(floor=floor, of=of):
            assert not candidate.numbers[of] >= floor
    return Fate.BELOW_FLOOR


def check_explanation(trace: Trace, index: MemoryIndex | CachedIndex, path: str) -> None:
    explanation = explain(trace, index, path)
    candidates = {one.chunk.id: one for one in trace.candidates}
    laid = index.laid_out(trace.layout)
    file = {chunk.id for chunk in laid.chunks(laid.rows_of(path))}
    assert {verdict.chunk.id for verdict in explanation.verdicts} == file
    assert len(explanation.verdicts) == len(file)
    assert explanation.fate == min((one.fate for one in explanation.verdicts), key=list(Fate).index)
    for verdict in explanation.verdicts:
        candidate = candidates.get(verdict.chunk.id)
        assert identity(verdict.candidate) == identity(candidate)
        matched = any(leg_rank.rank is not None for leg_rank in verdict.leg_ranks)
        outside = Fate.BEYOND_POOL if matched else Fate.NO_MATCH
        assert verdict.fate is (fate_by_numbers(candidate) if candidate else outside)
        for leg_rank in verdict.leg_ranks:
            numbers = candidate.numbers if candidate else {}
            rank = numbers.get(f"{leg_rank.leg}_rank", float("nan"))
            assert leg_rank.brought == (not np.isnan(rank))
            if leg_rank.brought:
                assert (leg_rank.rank, leg_rank.raw) == (rank, numbers[f"{leg_rank.leg}_raw"])


def identity(candidate: Candidate | None) -> object:
    """What tells candidates apart, with the NaNs of their numbers as words."""
    if candidate is None:
        return None
    return candidate.chunk, candidate.position, candidate.dropped_by, str(candidate.numbers)


# Every pipeline, the questions of the sample memory

PARTS = 3
"""Pipelines share their stages: each is asked a third of the questions, and its neighbour the next third."""


@pytest.mark.parametrize(("place", "pipeline"), list(enumerate(SYSTEMS.values())), ids=list(SYSTEMS))
def test_a_question_of_the_sample_gives_a_sound_trace_twice_and_its_target_is_explained(
    place: int, pipeline: Pipeline, sample_twice: tuple[CachedIndex, CachedIndex], questions: QuestionSet
) -> None:
    once, again = sample_twice
    for one in questions.questions[place % PARTS :: PARTS]:
        trace = search(one.question, pipeline, once)
        check_sound(trace, pipeline)
        check_same(trace, search(one.question, pipeline, again))
        check_explanation(trace, again, one.target)
    for control in questions.controls[place % PARTS :: PARTS]:
        check_sound(search(control.question, pipeline, once), pipeline)


@every_pipeline
def test_every_chunk_of_every_file_of_the_sample_has_a_fate(
    pipeline: Pipeline,
    sample: MemoryIndex,
    sample_twice: tuple[CachedIndex, CachedIndex],
    questions: QuestionSet,
) -> None:
    once, again = sample_twice
    trace = search(questions.questions[0].question, pipeline, once)
    paths = list(sample.store.stamps())
    for path in paths:
        check_explanation(trace, again, path)
    fates = {path: explain(trace, again, path).fate for path in paths}
    assert {path for path, fate in fates.items() if fate is Fate.RETURNED} == set(trace.paths())


# Every pipeline, any question, in the toy world


@given(PIPELINES, ASKED, LIMITS, FLOORS, st.sampled_from(sorted(world.NOTES)))
@settings(max_examples=100, deadline=None)
def test_any_question_in_the_toy_world_is_traced_soundly_and_explained_as_it_was_traced(
    toy: MemoryIndex, pipeline: Pipeline, question: str, limit: float | None, floor: float | None, path: str
) -> None:
    asked = pipeline.asking(limit, floor)
    trace = search(question, asked, toy)
    check_sound(trace, asked)
    check_same(trace, search(question, asked, toy))
    check_explanation(trace, toy, path)


def test_an_unknown_file_was_never_indexed(toy: MemoryIndex) -> None:
    explanation = explain(search("tea", SYSTEMS["openclaw-2026.2.13"], toy), toy, "memory/none.md")
    assert (explanation.fate, explanation.verdicts) == (Fate.NEVER_INDEXED, ())


RAW = {
    "keyword": st.lists(st.floats(-40, -1e-6), max_size=8),
    "vector": st.lists(st.floats(0, 2), max_size=8),
}


@given(st.sampled_from(WITHOUT_PASSAGES), RAW["keyword"], RAW["vector"], st.data())
@few
def test_any_answers_of_the_engines_give_a_sound_trace(
    pipeline: Pipeline, keyword: list[float], vector: list[float], data: st.DataObject
) -> None:
    found = [
        dict(zip(data.draw(st.permutations("abcdefghijkl")), sorted(raw), strict=False))
        for raw in (keyword, vector)
    ]
    check_sound(search("X", pipeline, answering(*found)), pipeline)


Raw = dict[str, float]
TWO, NEAR = {"a": -2.0, "b": -1.0}, {"a": 0.0, "b": 1.0}


@pytest.mark.parametrize("pipeline", WITHOUT_PASSAGES, ids=lambda one: one.name)
@pytest.mark.parametrize(("keyword", "vector"), [({}, NEAR), (TWO, {}), ({}, {})])
def test_an_empty_leg_is_fine(pipeline: Pipeline, keyword: Raw, vector: Raw) -> None:
    trace = search("X", pipeline, answering(keyword, vector))
    brought = vector or (keyword if "keyword" in trace.legs else {})
    assert [chunk.id for chunk in trace.chunks] == list(brought)
    scored = ~np.isnan(trace.columns["score"])
    assert scored[trace.dropped == KEPT].all()
    check_no_candidate_vanishes(trace)
    check_every_formula(trace)


def test_a_memory_without_a_single_chunk_answers_nothing(tmp_path: Path) -> None:
    with world.build(tmp_path, {"MEMORY.md": ""}) as index:
        for pipeline in SYSTEMS.values():
            assert search("rooibos", pipeline, index).results == []


# The order in which files come into the index does not matter


class Hashed:
    """An embedder whose vectors are as long and as crowded as a real model's: noise, seeded by the text."""

    name, revision, dimensions = "hashed", "1", 384

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") for text in texts]
        noise = [np.random.default_rng(seed).normal(size=self.dimensions) for seed in seeds]
        return Embedded(unit(np.array(noise, np.float32)), np.ones(len(texts)))


def grown(folder: Path, paths: Sequence[str], notes: Mapping[str, str], embedder: Embedder) -> MemoryIndex:
    """An index into which the files have come one by one, in this order."""
    root, file = folder / "memory_of_wren", folder / "index.sqlite"
    for path in paths:
        world.write(root, {path: notes[path]})
        index_folder(root, embedder, options=Options(index_path=file))
    return open_index(root, embedder, index_path=file)


def in_order(trace: Trace) -> list[tuple[str, bool]]:
    """The candidates in order, and which of them are results: no row numbers, which may differ."""
    return [(one.chunk.id, one.dropped_by is None) for one in trace.candidates]


@pytest.fixture(scope="module")
def grown_differently(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[MemoryIndex]]:
    """The toy world, its files come in four orders."""
    orders = list(permutations(world.NOTES))[::200]
    indexes = [
        grown(tmp_path_factory.mktemp("grown"), order, world.NOTES, world.EMBEDDER) for order in orders
    ]
    yield indexes
    for index in indexes:
        index.close()


@given(PIPELINES, ASKED)
@few
def test_insertion_order_does_not_matter(
    grown_differently: list[MemoryIndex], pipeline: Pipeline, question: str
) -> None:
    first, *others = (search(question, pipeline, index) for index in grown_differently)
    for other in others:
        assert in_order(other) == in_order(first)
        assert [one.score for one in other.candidates] == pytest.approx(
            [one.score for one in first.candidates], rel=0, abs=1e-9, nan_ok=True
        )


SAME_TEXT = {f"memory/{name}.md": "The same note, word for word.\n" for name in "abcdefghi"}


@pytest.fixture(scope="module")
def two_ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[MemoryIndex]]:
    """Nine notes of the same text, their files come forwards and backwards."""
    ways = (list(SAME_TEXT), list(SAME_TEXT)[::-1])
    indexes = [grown(tmp_path_factory.mktemp("way"), paths, SAME_TEXT, Hashed()) for paths in ways]
    yield indexes
    for index in indexes:
        index.close()


@every_pipeline
@pytest.mark.parametrize("limit", [1, 3], ids=["a tie at the edge of the pool", "a tie within it"])
def test_insertion_order_does_not_matter_to_equal_notes(
    two_ways: list[MemoryIndex], pipeline: Pipeline, limit: int
) -> None:
    asked = pipeline.asking(limit=limit, min_score=-1)
    forwards, backwards = (search("any note of these", asked, index) for index in two_ways)
    assert in_order(forwards) == in_order(backwards)

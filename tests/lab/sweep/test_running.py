"""A sweep gives exactly what each pipeline of it gives when it is run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench.errors import InputError
from workbench.measure.evaluation import evaluate
from workbench.measure.measures import HITS
from workbench.measure.questions import Control, Question, QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.retrieval.index_adapters import CachedIndex
from workbench.systems.catalogue import SYSTEMS, system
from workbench.systems.openclaw import SHIPPED, THREE_FIXES
from workbench.views.show import show
from workbench_plugins.diagnose.sweep import (
    Sweep,
    axis,
    best,
    flattery,
    held_out,
    not_in_columns,
    pareto,
    right_answers,
    settings_of,
    sweep,
)

ASKED = {
    "rooibos tea": "tea",
    "who drinks tea and rides a bike": "bike",
    "the disk of the server": "server",
    "hub": "bike",
    "brake tea": "tea",
    "server": "tea",
}
QUESTIONS = QuestionSet(
    questions=tuple(Question(question=one, target=f"memory/{ASKED[one]}.md") for one in ASKED),
    controls=(Control(question="bicycle"), Control(question="a server of tea"), Control(question="zebra")),
)
AXES = {
    "openclaw-2026.2.13": ("fusion.vector", "fusion.keyword", "fusion.absent", "floor.floor", "limit.count"),
    "openclaw-2026.2.13+or+rrf+minmax": ("fusion.k", "fusion.vector", "floor.floor", "keyword_leg.k1"),
    "openclaw-2026.2.13+or+rrf+minmax+evidence": ("floor.cosine", "floor.relevance", "keyword_leg.b"),
    "openclaw-2026.9.6": ("fusion.vector", "floor.floor"),
}
VALUES = {"fusion.k": (0, 60), "limit.count": (0, 4), "keyword_leg.k1": (0, 3), "floor.cosine": (-1, 1)}


@pytest.fixture(scope="module")
def cached(toy: MemoryIndex) -> CachedIndex:
    return CachedIndex(toy)


def check(found: Sweep, index: CachedIndex) -> None:
    pipelines = [*(found.with_setting(place) for place in range(len(found.settings))), found.pipeline]
    for place, one in enumerate(evaluate(QUESTIONS, pipelines, index)):
        assert found.values[place].tolist() == one.values(found.measure).tolist()
        assert found.silent[place].tolist() == [not trace.results for trace in one.controls]
        assert found.judgement(place) == one.judged


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from(sorted(AXES)), st.sampled_from([HITS, "RR", "nDCG@3", "P@2", "Judged@3"]))
def test_every_setting_answers_as_its_pipeline_does(
    cached: CachedIndex, data: st.DataObject, name: str, measure: str
) -> None:
    names = data.draw(st.lists(st.sampled_from(AXES[name]), min_size=1, max_size=2, unique=True))
    axes = []
    for one in names:
        low, high = VALUES.get(one, (0, 1))
        ends = data.draw(st.tuples(*[st.floats(low, high).map(lambda value: round(value, 2))] * 2))
        steps = data.draw(st.integers(1, 3))
        whole = one == "limit.count"
        axes.append(f"{one}={int(ends[0])},{int(ends[1])}" if whole else f"{one}={ends[0]}:{ends[1]}:{steps}")
    check(sweep(system(name), axes, QUESTIONS, cached).by(measure), cached)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_can_be_swept(cached: CachedIndex, name: str) -> None:
    found = sweep(SYSTEMS[name], ["limit.count=1,3,6"], QUESTIONS, cached)
    check(found, cached)


def test_most_systems_are_swept_in_columns_and_the_others_say_why_not() -> None:
    reasons = {name: not_in_columns(one) for name, one in SYSTEMS.items()}
    assert reasons["openclaw-2026.2.13"] is None
    assert reasons["openclaw-2026.9.6"] is not None
    assert "needs whole traces" in reasons["openclaw-2026.9.6"]


def test_words_can_be_swept_too(cached: CachedIndex) -> None:
    found = sweep(SHIPPED, ["query.join=AND,OR", "keyword_leg.depth.multiplier=1:4:2"], QUESTIONS, cached)
    assert found.settings == (("AND", "1"), ("AND", "4"), ("OR", "1"), ("OR", "4"))
    check(found, cached)


def test_one_at_a_time_leaves_the_others_as_they_are() -> None:
    axes = [axis("fusion.vector=0:1:3"), axis("floor.floor=0,0.5")]
    assert settings_of(SHIPPED, axes, one_at_a_time=True) == [
        *(("0", "0.35"), ("0.5", "0.35"), ("1", "0.35")),
        *(("0.7", "0"), ("0.7", "0.5")),
    ]


@pytest.mark.parametrize(
    ("axes", "problem"),
    [
        ([], "no axis"),
        (["fusion.vector"], "not an axis"),
        (["vector=0:1:3"], "not an axis"),
        (["fusion.vector=0:1"], "not an axis"),
        (["fusion.vector=0:one:3"], "not an axis"),
        (["fusion.vector=0:1:0"], "has no values"),
        (["fusion.vector=0:inf:3"], "has no values"),
        (["fusion.vektor=0:1:3"], "the nearest is 'vector'"),
        (["fusion.vector=0:2:3"], "out of its range"),
        (["fusion.vector=0:1:3", "fusion.vector=0,1"], "given twice"),
        (["fusion.vector=0:1:1000000000"], "1,000,000,000 settings"),
        ([f"fusion.{one}=0:1:1000" for one in ("vector", "keyword", "absent")], "1,000,000,000 settings"),
        (["query.join=AND,XOR"], "not an FTS5 operator"),
    ],
)
def test_what_cannot_be_swept_is_one_clear_error(cached: CachedIndex, axes: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=problem) as error:
        sweep(SHIPPED, axes, QUESTIONS, cached)
    assert error.value.remedy


@pytest.fixture(scope="module")
def grid(cached: CachedIndex) -> Sweep:
    return sweep(THREE_FIXES, ["fusion.vector=0:1:5", "floor.floor=0:1:6"], QUESTIONS, cached)


def test_the_best_setting_has_the_most_right_answers(grid: Sweep) -> None:
    right = [grid.score(place) * 6 + grid.silence(place).hits for place in range(len(grid.settings))]
    assert right[best(grid)] == max(right)


def test_the_front_holds_what_nothing_beats(grid: Sweep) -> None:
    points = [(grid.score(place), grid.silence(place).hits) for place in range(len(grid.settings))]
    front = {points[place] for place in pareto(grid)}
    for hits, silent in points:
        beaten = any((h >= hits and s >= silent) and (h, s) != (hits, silent) for h, s in points)
        assert beaten != ((hits, silent) in front)


def test_held_out_questions_did_not_choose_their_setting(grid: Sweep, cached: CachedIndex) -> None:
    held = held_out(grid)
    assert held is not None
    assert len(held.chosen) == 3
    assert held.flattered == pytest.approx(grid.score(best(grid)) - held.mean)
    assert np.isin(held.values, (0, 1)).all()
    one_file = QuestionSet(questions=QUESTIONS.questions[:1])
    assert held_out(sweep(SHIPPED, ["floor.floor=0,1"], one_file, cached)) is None


def test_the_data_names_each_setting(grid: Sweep) -> None:
    data = grid.as_json()
    assert data["settings"][data["best"]]["setting"] == list(grid.settings[best(grid)])
    assert (data["n"], data["controls"], len(data["settings"])) == (6, 3, 30)
    assert data["current"]["setting"] == ["0.7", "0.35"]


# as a table and as figures


def test_the_table_names_the_best_the_present_and_the_held_out_worth(
    grid: Sweep, capsys: pytest.CaptureFixture[str]
) -> None:
    show(grid, details=True)
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith(grid.headline)
    assert "30 settings" in grid.headline
    assert "best, front" in printed
    assert "0.7 0.35" in printed
    assert "On questions that did not choose it: hits " in printed
    assert "The best setting itself has no more right answers than that." in printed


def test_a_best_setting_that_looks_better_than_it_is_is_said_to() -> None:
    flatters = "The best setting's own number flatters it by"
    assert flattery(1, 48) == f"{flatters} 1 right answer of 48 questions."
    assert flattery(0.125, 9) == f"{flatters} 0.125 right answers of 9 questions."
    assert flattery(-2, 48) == "The best setting itself has no more right answers than that."


def test_flattery_counts_what_the_choice_was_made_by(grid: Sweep) -> None:
    held = held_out(grid)
    assert held is not None
    remained = held.values.sum() + held.silent.hits
    assert held.flattered_right == right_answers(grid)[best(grid)] - remained
    # The hits alone say nothing of the unanswerable questions for which something is returned.
    silences_lost = grid.silence(best(grid)).hits - held.silent.hits
    assert held.flattered_right == pytest.approx(held.flattered * held.values.size + silences_lost)


def test_a_heat_map_has_a_cell_for_each_setting_and_marks_the_present_one(grid: Sweep) -> None:
    figure = grid.plot()
    assert sum(map(len, figure.data[0].z)) == len(grid.settings)
    for setting, right in zip(grid.settings, right_answers(grid), strict=True):
        assert f"({', '.join(setting)}) {right:.4g}" in figure.words
    assert "now (0.7, 0.35)" in figure.words
    assert f"★ ({', '.join(grid.settings[best(grid)])})" in figure.words


def test_one_axis_has_a_row_for_the_unanswerable_questions(cached: CachedIndex) -> None:
    figure = sweep(SHIPPED, ["query.join=AND,OR"], QUESTIONS, cached).plot()
    assert sum(map(len, figure.data[0].z)) == 4
    assert "now ★ (AND, right answers)" in figure.words or "now (AND, right answers)" in figure.words


def test_parameters_that_moved_alone_have_no_map(cached: CachedIndex) -> None:
    axes = ["fusion.vector=0,1", "floor.floor=0,1"]
    with pytest.raises(InputError, match="no map"):
        sweep(SHIPPED, axes, QUESTIONS, cached, one_at_a_time=True).plot()

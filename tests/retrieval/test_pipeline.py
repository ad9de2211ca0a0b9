"""Which candidates are left, and how a pipeline is changed, asked, compared and printed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest

from tests import world
from tests.adapters.openclaw_february import FixedIndex
from tests.adapters.openclaw_releases import traced
from tests.hand import answering
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import open_index
from workbench.records import Chunk, Fate, Trace
from workbench.retrieval.cutoff import AddedFloor, Limit, MinScore, Order
from workbench.retrieval.explain import explain
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import JoinedWords
from workbench.retrieval.scoring import AbsoluteRank, MinMaxRank
from workbench.retrieval.settings import with_settings
from workbench.systems.catalogue import SYSTEMS, system
from workbench.systems.openclaw import ABSOLUTE, EIGHT, FIXES, INSERTION, OR_JOIN, RRF, SHIPPED, WORKAROUND

# Cutoff

FLOOR, LIMIT = MinScore(0.35), Limit(2)


def fused(scores: Mapping[str, float], **more: Sequence[float]) -> Trace:
    """A trace that has got as far as these scores, by chunk id, in this order of insertion."""
    chunks = [Chunk(name, f"{name}.md", "memory", 1, 1, name) for name in scores]
    return traced(chunks, {"score": list(scores.values()), **more}, Order(), FLOOR, LIMIT)


def cut(trace: Trace) -> Trace:
    for stage in trace.stages:
        trace = stage.run(trace, None)
    return trace


def in_order(trace: Trace) -> list[str]:
    return [one.chunk.id for one in trace.candidates]


@pytest.mark.parametrize(
    ("scores", "order", "dropped"),
    [
        ({"a": 0.6, "b": 0.7, "c": 0.8, "d": 0.1}, "cbad", [None, None, LIMIT, FLOOR]),
        ({"c": 0.5, "a": 0.5, "b": 0.5}, "abc", [None, None, LIMIT]),
        ({"a": math.nan, "b": 0.9}, "ba", [None, FLOOR]),
        ({"a": 0.35, "b": 0.35 - 1e-9}, "ab", [None, FLOOR]),
    ],
    ids=["best first", "equal scores by id", "no number comes last", "the floor is the least score kept"],
)
def test_candidates_are_ordered_and_cut(scores: dict[str, float], order: str, dropped: list[object]) -> None:
    trace = cut(fused(scores))
    assert in_order(trace) == list(order)
    assert [one.dropped_by for one in trace.candidates] == dropped
    assert [one.position for one in trace.candidates] == list(range(1, len(order) + 1))
    assert trace.results == [one for one in trace.candidates if one.dropped_by is None]


def test_a_changed_trace_refuses_a_field_that_it_does_not_have() -> None:
    trace = fused({"a": 0.5})
    assert trace.with_changes(notes=("new",)) == replace(trace, notes=("new",))
    with pytest.raises(TypeError, match="no colour"):
        trace.with_changes(colour="red")


def test_equal_scores_are_ordered_by_the_ties_first_and_absent_is_last() -> None:
    nan = math.nan
    trace = fused(
        {"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.5},
        vector_rank=[nan, 2.0, nan, 1.0],
        keyword_rank=[2.0, nan, 1.0, 3.0],
    )
    assert in_order(INSERTION.run(trace, None)) == ["d", "b", "c", "a"]  # type: ignore[arg-type]


@pytest.mark.parametrize(("count", "kept"), [(0, 0), (0.1, 0), (1, 1), (2.9, 2), (3, 3), (100, 3)])
def test_a_limit_is_rounded_down(count: float, kept: int) -> None:
    index = answering(vector={"a": 0.1, "b": 0.1, "c": 0.1})
    assert len(search("X", WORKAROUND.asking(limit=count), index).results) == kept


def test_a_file_is_named_once_at_the_place_of_its_best_chunk() -> None:
    chunks = [Chunk(name, path, "memory", 1, 1, "") for name, path in (("1", "x"), ("2", "y"), ("3", "x"))]
    index = FixedIndex([], [(chunk, place / 10) for place, chunk in enumerate(chunks)])
    assert search("X", WORKAROUND, index).paths() == ["x", "y"]


# Pipelines


def test_the_eight_combinations_have_eight_names_and_eight_meanings() -> None:
    assert len({pipeline.name for pipeline in EIGHT}) == 8
    assert len({pipeline.stages for pipeline in EIGHT}) == 8
    assert EIGHT[0] == SHIPPED


@pytest.mark.parametrize("fix", [*FIXES, ABSOLUTE], ids=lambda fix: fix.name)
def test_a_fix_changes_its_own_slot_alone(fix: Any) -> None:
    (change,) = SHIPPED.diff(SHIPPED.with_changes(fix))
    assert (change.slot, change.before, change.after) == (fix.stage.slot, SHIPPED[fix.stage.slot], fix.stage)


def test_but_names_its_changes_and_leaves_the_original_alone() -> None:
    changed = SHIPPED.with_changes(OR_JOIN, RRF)
    assert changed.name == "openclaw-2026.2.13+or+rrf"
    assert changed.changes == (OR_JOIN, RRF)
    assert SHIPPED.changes == ()
    assert SHIPPED["query"] == JoinedWords("AND")
    assert changed.stages == SHIPPED.with_changes(RRF).with_changes(OR_JOIN).stages


def test_asking_sets_the_limit_and_the_floor_and_nothing_else() -> None:
    asked = SHIPPED.asking(limit=3, min_score=0.1)
    assert (asked.limit, asked.floor, asked.name) == (3, 0.1, SHIPPED.name)
    assert [change.slot for change in SHIPPED.diff(asked)] == ["floor", "limit"]
    assert (SHIPPED.asking(min_score=0).floor, SHIPPED.asking(limit=0).limit) == (0, 0)
    assert SHIPPED.asking() == SHIPPED


@pytest.mark.parametrize(
    "limit", [-3, -0.1, 10**21, pytest.param(10**5000, id="long"), 1e308, math.inf, -math.inf]
)
def test_asking_for_what_no_search_can_return_is_refused(limit: float) -> None:
    with pytest.raises(InputError, match=r"limit is .*, which no search can return") as refused:
        SHIPPED.asking(limit=limit)
    assert refused.value.remedy == "Give a whole number up to 1,000,000, such as 6."


@pytest.mark.parametrize(
    "asked", [{"min_score": "low"}, {"limit": "6"}, {"min_score": math.nan}, {"limit": True}]
)
def test_asking_for_what_is_no_number_is_refused(asked: dict[str, Any]) -> None:
    [(name, value)] = asked.items()
    with pytest.raises(InputError, match=f"{name} is {value!r}, which is not a number"):
        SHIPPED.asking(**asked)


def test_the_name_of_a_pipeline_is_refused_with_the_way_to_it(toy: MemoryIndex) -> None:
    with pytest.raises(InputError, match=r"'am-205' is not a pipeline.\s+workbench.system\(name\)"):
        search("tea", "am-205", toy)  # type: ignore[arg-type]


def test_what_stands_in_the_wrong_place_of_a_search_is_named(toy: MemoryIndex) -> None:
    system = SYSTEMS["openclaw-2026.2.13-vector-only"]
    with pytest.raises(InputError, match=r"'notes' is not an open index.\s+workbench.open_index"):
        search("tea", system, "notes")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="3 is not a question"):
        search(3, system, toy)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="is not a trace"):
        explain(toy, search("tea", system, toy), "memory/tea.md")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'' is not the path of a file"):
        explain(search("tea", system, toy), toy, "")


def test_a_closed_index_and_what_is_no_name_are_refused(tmp_path: Path) -> None:
    pipeline = SYSTEMS["openclaw-2026.2.13-vector-only"]
    with world.build(tmp_path, {"memory/tea.md": "# Tea\n\nTea is at nine.\n"}) as index:
        trace = search("tea", pipeline, index)
    for ask in (lambda: search("tea", pipeline, index), lambda: explain(trace, index, "memory/tea.md")):
        with pytest.raises(InputError, match=r"is closed.\s+Open it again: workbench.open_index"):
            ask()
    with pytest.raises(InputError, match="5 is not the name of a folder"):
        open_index(5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="None is not the name of a system"):
        system(None)  # type: ignore[arg-type]


def test_a_path_names_a_file_as_its_text_does(toy: MemoryIndex) -> None:
    trace = search("tea", SYSTEMS["openclaw-2026.2.13-vector-only"], toy)
    path = trace.chunks[0].path
    assert explain(trace, toy, PurePosixPath(path)) == explain(trace, toy, path)


def test_a_trace_is_explained_in_the_index_and_the_state_in_which_it_was_searched(tmp_path: Path) -> None:
    pipeline, tea = SYSTEMS["openclaw-2026.2.13-vector-only"], {"memory/tea.md": "# Tea\n\nTea is at nine.\n"}
    both = tea | {"memory/oven.md": "# Oven\n\nThe oven is hot.\n"}
    with world.build(tmp_path / "one", tea) as one, world.build(tmp_path / "two", both) as two:
        trace = search("tea", pipeline, CachedIndex(one))
        assert explain(trace, one, "memory/tea.md").fate is Fate.RETURNED
        with pytest.raises(InputError, match=r"The trace was searched in .*, and not in "):
            explain(trace, two, "memory/oven.md")
        world.build(tmp_path / "one", both).close()
        with pytest.raises(InputError, match="no longer in the state in which the trace was searched"):
            explain(trace, one, "memory/oven.md")


@pytest.mark.parametrize(
    ("vector", "told"),
    [
        (np.full(3, np.nan, np.float32), "has numbers that are not finite"),
        (np.ones(3, np.float32), "has the length 1.732 instead of 1"),
        ([1.0, 0.0, 0.0], r"is no array: \[1.0, 0.0, 0.0\]"),
        (np.eye(3, dtype=np.float32), r"float32 of the shape \(3, 3\)"),
        (np.array(["a", "b", "c"]), "is no row of numbers: <U1"),
    ],
)
def test_a_question_vector_that_is_no_unit_vector_is_refused(
    vector: Any, told: str, toy: MemoryIndex
) -> None:
    with pytest.raises(InputError, match=told) as refused:
        search("rooibos tea", SHIPPED, toy, vector)
    assert "index.embed(question)" in refused.value.remedy
    known = toy.embed("rooibos tea")
    assert search("rooibos tea", SHIPPED, toy, known).paths() == search("rooibos tea", SHIPPED, toy).paths()


def test_what_a_notebook_prints_of_a_search_is_a_line(toy: MemoryIndex) -> None:
    trace = search("rooibos tea", SYSTEMS["openclaw-2026.2.13-vector-only"], toy)
    returned = f"{len(trace.results)} of {len(trace.candidates)} candidates returned"
    said = f"<Trace: 'rooibos tea', openclaw-2026.2.13-vector-only, {returned}>"
    assert repr(trace) == said
    assert trace.chunks[0].text not in repr(trace.results)
    told = "<Explanation: memory/tea.md is returned for 'rooibos tea', openclaw-2026.2.13-vector-only>"
    assert repr(explain(trace, toy, "memory/tea.md")) == told


def test_two_stages_in_one_slot_and_a_slot_that_is_not_there_are_refused() -> None:
    with pytest.raises(InputError, match="two stages for keyword_score"):
        Pipeline("twice", (MinMaxRank(), Limit(), AbsoluteRank()), SHIPPED.source)
    with pytest.raises(InputError, match="It has query, keyword_leg"):
        SHIPPED["rerank"]
    with pytest.raises(InputError, match="no stage 'query'"):
        WORKAROUND.with_changes(OR_JOIN)


def test_a_floor_that_a_system_does_not_have_says_so() -> None:
    head = system("bm-head")
    asked = head.asking(min_score=0.3)
    (difference,) = head.diff(asked)
    assert (head.floor, asked.floor) == (-math.inf, 0.3)
    assert (difference.before, difference.after) == (None, AddedFloor(0.3))
    assert "which the system does not have" in str(asked)
    assert asked.asking(min_score=0.4)["added_floor"] == AddedFloor(0.4)


def test_a_difference_says_which_side_has_no_such_stage() -> None:
    changes = {change.slot: change for change in SHIPPED.diff(WORKAROUND)}
    assert changes["query"].before == JoinedWords("AND")
    assert changes["query"].after is None
    assert {change.slot for change in WORKAROUND.diff(SHIPPED)} == changes.keys()


def test_a_difference_that_no_description_tells_names_classes_or_parameters() -> None:
    classes = SYSTEMS["bm-head"].diff(SYSTEMS["bm-0.24.1"])[-1]
    assert classes.before.description == classes.after.description  # type: ignore[union-attr]
    assert [text and text.partition("(")[2] for text in classes.texts] == [
        "AnyUnicodeToken)",
        "AnyWordBesideScripts)",
    ]
    before = SYSTEMS["am-150"]
    weights = before.diff(with_settings(before, ["fusion.weights.metadata=1"]))
    assert " ".join(str(weights).split()).count("(weights.metadata = 0.0) + score") == 1
    assert [one["after"][-24:] for one in weights.as_json()] == ["(weights.metadata = 1.0)"]


def test_stages_join_into_what_a_pipeline_takes_and_prints_as_one_line() -> None:
    cut = Order(ties=("vector_rank",)) >> (MinScore(0.25) >> Limit(10))
    assert cut == (Order(ties=("vector_rank",)), MinScore(0.25), Limit(10))
    line = repr(replace(SHIPPED, stages=(*SHIPPED.stages[:-3], *cut)))
    assert line.startswith("openclaw-2026.2.13: JoinedWords(join=AND) >> KeywordLeg(depth.multiplier=4, ")
    assert line.endswith(
        " >> Order(by=score, ties=(vector_rank)) >> MinScore(floor=0.25, of=score) >> Limit(count=10)"
    )
    assert str(SHIPPED).splitlines()[0] == repr(SHIPPED)


@pytest.mark.parametrize("pipeline", SYSTEMS.values(), ids=list(SYSTEMS))
def test_a_printed_pipeline_says_every_stage_change_and_source(pipeline: Pipeline) -> None:
    printed = str(pipeline)
    assert all(stage.description in printed for stage in pipeline.stages)
    assert all(change.why in printed for change in pipeline.changes)
    assert str(pipeline.source) in printed


def test_chunks_with_one_fate_and_no_rank_are_explained_in_the_order_of_their_ids() -> None:
    names = ["c", "a", "d", "b"]
    chunks = [Chunk(name, "tea.md", "memory", line, line, name) for line, name in enumerate(names, 1)]
    index = answering()
    index.known += chunks  # no leg brings one of them
    trace = search("X", SHIPPED, index)
    assert [one.chunk.id for one in explain(trace, index, "tea.md").verdicts] == ["a", "b", "c", "d"]


def test_a_limit_says_the_place_that_it_compares() -> None:
    trace = search(
        "X", SHIPPED.asking(limit=1, min_score=0), answering(vector={"a": 0.1, "b": 0.2, "c": 0.3})
    )
    missed = [(one.misses[0].value, one.misses[0].limit) for row in (1, 2) if (one := trace.drop(row))]
    assert missed == [(2, 1), (3, 1)]
    assert all(not one.reached for row in (1, 2) if (drop := trace.drop(row)) for one in drop.misses)

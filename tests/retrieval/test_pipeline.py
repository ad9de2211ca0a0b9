"""Which candidates are left, and how a pipeline is changed, asked, compared and printed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from tests.adapters.openclaw_february import FixedIndex
from tests.hand import answering
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.records import KEPT, Chunk, Trace
from workbench.retrieval.cutoff import AddedFloor, Limit, MinScore, Order
from workbench.retrieval.explain import explain
from workbench.retrieval.fusion import WeightedRRF
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import JoinedWords
from workbench.retrieval.scoring import (
    AbsoluteRank,
    MinMaxRank,
)
from workbench.systems.openclaw.pipelines import (
    ABSOLUTE,
    EIGHT,
    FIXES,
    INSERTION,
    OR_JOIN,
    RRF,
    SHIPPED,
    THREE_FIXES,
    WORKAROUND,
)
from workbench.systems.registry import SYSTEMS, system

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


def test_a_changed_trace_has_the_fields_that_replace_gives_it() -> None:
    trace = fused({"a": 0.5, "b": 0.9})
    changed, usual = trace.but(notes=("new",), ranked_by="b"), replace(trace, notes=("new",), ranked_by="b")
    assert all(getattr(changed, one.name) is getattr(usual, one.name) for one in fields(Trace))
    assert trace.notes == ()
    with pytest.raises(TypeError, match="no colour"):
        trace.but(colour="red")


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
    assert [change.slot for change in SHIPPED.diff(THREE_FIXES)] == ["query", "keyword_score", "fusion"]


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


@pytest.mark.parametrize("asked", [{"min_score": "low"}, {"limit": "6"}, {"min_score": math.nan}])
def test_asking_for_what_is_no_number_is_refused(asked: dict[str, Any]) -> None:
    [(name, value)] = asked.items()
    with pytest.raises(InputError, match=f"{name} is {value!r}, which is not a number"):
        SHIPPED.asking(**asked)


def test_with_stage_takes_the_place_of_the_stage_in_its_slot() -> None:
    changed = SHIPPED.with_stage(WeightedRRF())
    assert [stage.slot for stage in changed.stages] == [stage.slot for stage in SHIPPED.stages]
    assert changed["fusion"] == WeightedRRF()
    assert changed.name == SHIPPED.name


def test_the_name_of_a_pipeline_is_refused_with_the_way_to_it(toy: MemoryIndex) -> None:
    with pytest.raises(InputError, match=r"'am-205' is not a pipeline.\s+workbench.system\(name\)"):
        search("tea", "am-205", toy)  # type: ignore[arg-type]


def test_what_a_notebook_prints_of_a_search_is_a_line(toy: MemoryIndex) -> None:
    trace = search("rooibos tea", SYSTEMS["openclaw-2026.2.13-vector-only"], toy)
    returned = f"{len(trace.results)} of {len(trace.candidates)} candidates returned"
    said = f"<Trace: 'rooibos tea', openclaw-2026.2.13-vector-only, {returned}>"
    assert repr(trace) == said
    assert trace.chunks[0].text not in repr(trace.results)
    told = "<Explanation: memory/tea.md is returned for 'rooibos tea', openclaw-2026.2.13-vector-only>"
    assert repr(explain(trace, toy, "memory/tea.md")) == told


def test_two_stages_in_one_slot_are_refused() -> None:
    with pytest.raises(InputError, match="two stages for keyword_score"):
        Pipeline("twice", (MinMaxRank(), Limit(), AbsoluteRank()), SHIPPED.source)


def test_a_floor_that_a_system_does_not_have_says_so() -> None:
    head = system("bm-head")
    asked = head.asking(min_score=0.3)
    (difference,) = head.diff(asked)
    assert (head.floor, asked.floor) == (-math.inf, 0.3)
    assert (difference.before, difference.after) == (None, AddedFloor(0.3))
    assert "which the system does not have" in str(asked)
    assert asked.asking(min_score=0.4)["added_floor"] == AddedFloor(0.4)


def test_another_view_is_a_difference() -> None:
    before, after = system("bm-cjk-regress"), system("bm-cjk-regress-one-match")
    (difference,) = before.diff(after)
    assert (difference.slot, difference.before, difference.after) == ("layout", before.layout, after.layout)
    assert SHIPPED.diff(before)[0].before is None


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
    trace = search("tea", THREE_FIXES, toy)
    assert (trace.system, trace.stages) == (THREE_FIXES.name, THREE_FIXES.stages)

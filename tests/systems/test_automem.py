"""AutoMem's profiles: what each pull request changed, and what a memory says about itself."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import world
from tests.arithmetic import evaluated
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.records import Chunk, Trace
from workbench.retrieval.explain import steps
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.settings import with_settings
from workbench.systems.openclaw import SHIPPED
from workbench_plugins.automem.components import AdaptiveFloor, FinalOrder, LinearRecency, Weights
from workbench_plugins.automem.memories import GraphOfMemories, Memories, graph_query, memories_of
from workbench_plugins.automem.pipelines import (
    BOUNDED,
    DEAD_KEYWORD,
    GATE,
    HALF_LIFE,
    LIVE_KEYWORD,
    NO_FLOOR,
    OVERFETCHED,
    PIPELINES,
    SUBSTRING,
    TAG_CAP,
)


def test_each_profile_is_the_one_before_with_the_changes_of_its_pull_request() -> None:
    assert [[one.slot for one in before.diff(after)] for before, after in pairwise(PIPELINES)] == [
        ["keyword_component", "adaptive_floor"],
        ["keyword_component", "adaptive_floor"],
        ["keyword_score", "keyword_component"],
        ["vector_leg"],
    ]


@pytest.mark.parametrize("change", [GATE, TAG_CAP, HALF_LIFE, NO_FLOOR], ids=lambda one: one.name)
def test_what_is_shipped_turned_off_can_be_turned_on(change: Any, toy: MemoryIndex) -> None:
    (difference,) = OVERFETCHED.diff(OVERFETCHED.with_changes(change))
    assert difference.slot == change.stage.slot
    check_formulas(search("tea on the bike", OVERFETCHED.with_changes(change), toy))


def check_formulas(trace: Trace) -> None:
    assert trace.chunks
    for row in range(len(trace.chunks)):
        for step in steps(trace, row, digits=17):
            assert evaluated(str(step.formula)) == pytest.approx(float(trace.columns[step.column][row]))


NOTES = {
    "MEMORY.md": "# Memory\n",
    "memory/auto.md": "# Tools\nAutoJack records a cup of tea.\n",
    "memory/autos.md": "# Tools\nTwo AutoJacks record a cup of tea.\n",
    "memory/tea.md": "# Tea\nA cup of rooibos tea.\n",
    "memory/hub.md": "# Bike\nThe hub of the bike.\n",
}


@pytest.fixture(scope="module")
def jack(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with world.build(tmp_path_factory.mktemp("jack"), NOTES) as index:
        yield index


def numbers(trace: Trace, path: str) -> Mapping[str, float]:
    (found,) = [one for one in trace.candidates if one.chunk.path == path]
    return found.numbers


@pytest.mark.parametrize(
    ("pipeline", "auto", "autos"),
    [(DEAD_KEYWORD, 0.0, 0.0), (SUBSTRING, 1.0, 1.0), (LIVE_KEYWORD, 1.0, 0.5)],
    ids=lambda one: getattr(one, "name", None),
)
def test_the_keyword_weight_is_dead_then_alive_then_minds_words(
    jack: MemoryIndex, pipeline: Pipeline, auto: float, autos: float
) -> None:
    trace = search("autojack tea", pipeline, jack)
    assert numbers(trace, "memory/auto.md")["keyword_component"] == auto
    assert numbers(trace, "memory/autos.md")["keyword_component"] == autos


def test_the_graph_is_asked_only_for_the_places_that_are_left(jack: MemoryIndex) -> None:
    full = search("the cup of tea", LIVE_KEYWORD.asking(limit=3), jack)
    assert (full.legs["vector"].depth, full.legs["keyword"].depth) == (3, 0)
    assert any("filled all places" in note for note in full.notes)
    roomy = search("the cup of tea", LIVE_KEYWORD.asking(limit=8), jack)
    assert roomy.legs["keyword"].depth == 8 - jack.size


def test_a_question_without_a_vector_is_left_to_the_graph(jack: MemoryIndex) -> None:
    trace = search("autojack", LIVE_KEYWORD, jack)
    assert [one.chunk.path for one in trace.results] == ["memory/auto.md", "memory/autos.md"]
    assert numbers(trace, "memory/auto.md")["keyword_raw"] == 2 + 2
    assert numbers(trace, "memory/auto.md")["score"] == pytest.approx(0.35 * 4)
    bounded = numbers(search("autojack", BOUNDED, jack), "memory/auto.md")
    assert bounded["keyword_component"] == pytest.approx(4 / 6)


def test_the_graph_s_hits_are_ordered_by_score_and_chunk_id(jack: MemoryIndex) -> None:
    index = GraphOfMemories().of(jack)
    found = index.keyword(graph_query("autojack record"), 10)
    ids = [chunk.id for chunk in index.chunks(found.rows)]
    assert sorted(zip(-found.raw, ids, strict=True)) == list(zip(-found.raw, ids, strict=True))
    assert index.keyword(graph_query("autojack record"), 1).rows.tolist() == found.rows[:1].tolist()


def test_the_floor_s_drops_are_marked_and_noted(sample: MemoryIndex) -> None:
    trace = search("how should I evaluate if a claim is actually true", DEAD_KEYWORD, sample)
    fates = [type(one.dropped_by) for one in trace.candidates]
    assert fates == [type(None)] * 3 + [AdaptiveFloor] * 2
    assert any("The adaptive floor is 0.1211" in note for note in trace.notes)
    assert len(search(trace.question, DEAD_KEYWORD.with_changes(NO_FLOOR), sample).results) == 5


# What a memory says about itself

BLOCK = """---
# what this note is
tags: [Tea, "rooibos"]
importance: 0.8
confidence: 0.4
date: 2026-02-13
topic: cup of tea
---
# Tea
A cup.
"""


def test_front_matter_feeds_the_components(tmp_path: Path) -> None:
    notes = {"MEMORY.md": "# Memory\n", "memory/tea.md": BLOCK}
    moment = LinearRecency(now="2026-05-14")
    with world.build(tmp_path, notes) as index:
        found = numbers(search("cup of tea", LIVE_KEYWORD.with_stage(moment), index), "memory/tea.md")
    assert found["tag_component"] == 1.0  # cup is a word of the topic, tea a tag
    assert found["exact_component"] == 1.0
    assert found["recency_component"] == pytest.approx(1 - 90 / 180)
    expected = 0.35 * found["vector_score"] + 0.35 * found["keyword_component"]
    expected += 0.2 * 1 + 0.2 * 1 + 0.1 * 0.8 + 0.1 * 0.5 + 0.05 * 0.4
    assert found["score"] == pytest.approx(expected)


def test_what_a_note_does_not_say_counts_as_0(toy: MemoryIndex) -> None:
    trace = search("tea", LIVE_KEYWORD, toy)
    for name in ("tag", "exact", "importance", "recency", "confidence"):
        assert not trace.columns[f"{name}_component"].any()
    assert np.isnan(trace.columns["importance"]).all()


def test_broken_front_matter_stops_only_the_system_that_asks_for_it(tmp_path: Path) -> None:
    notes = {"MEMORY.md": "# Memory\n", "memory/tea.md": "---\nimportance: much\n---\ntea\n"}
    with world.build(tmp_path, notes) as index:
        assert search("tea", SHIPPED.asking(min_score=0), index).results
        with pytest.raises(InputError, match=r"memory/tea\.md"):
            search("tea", LIVE_KEYWORD, index)


def test_importance_breaks_a_tie_and_answers_a_question_with_nothing_to_look_for(tmp_path: Path) -> None:
    said = {"a": 0.1, "b": 0.9}.items()
    notes = {f"memory/{one}.md": f"---\nimportance: {much}\n---\nA cup of tea.\n" for one, much in said}
    unweighted = LIVE_KEYWORD.with_stage(type(LIVE_KEYWORD["fusion"])(Weights(importance=0.0)))  # type: ignore[call-arg]
    with world.build(tmp_path, notes) as index:
        assert search("tea", unweighted, index).paths()[:2] == ["memory/b.md", "memory/a.md"]
        graph = GraphOfMemories().of(index)
        assert isinstance(graph, Memories)
        found = graph.keyword(graph_query("C"), 2)
        assert [chunk.path for chunk in graph.chunks(found.rows)] == ["memory/b.md", "memory/a.md"]
        trace = search("C", BOUNDED, index)
    assert numbers(trace, "memory/b.md")["score"] == pytest.approx(0.35 * 0.9 + 0.1 * 0.9)


def test_equal_scores_are_ordered_by_match_importance_and_age() -> None:
    """All score the same. The vector leg's hits come first; then the better match, importance, the newer."""
    names = ("vector_far", "vector_near", "important", "unimportant_new", "unimportant_old", "graph")
    keys = {
        "graph_alone": [0, 0, 0, 0, 0, 1],
        "match_below_0": [-0.2, -0.9, -0.5, -0.5, -0.5, -1],
        "importance_below_0": [0, 0, -0.7, -0.1, -0.1, -1],
        "age_days": [1, 9, 9, 2, 5, 0],
    }
    chunks = tuple(Chunk(name, f"{name}.md", "memory", 1, 1, name) for name in names)
    tied = {"score": np.ones(len(names))} | {name: np.array(one, float) for name, one in keys.items()}
    trace = Trace("", "", (), chunks=chunks, columns=tied)
    expected = ["vector_near", "important", "unimportant_new", "unimportant_old", "vector_far", "graph"]
    assert [names[row] for row in FinalOrder().rows(trace)] == expected


def test_the_sort_keys_fall_with_match_and_importance(tmp_path: Path) -> None:
    notes = {f"memory/{one}.md": f"---\nimportance: {one}\n---\nA cup of tea.\n" for one in (0.2, 0.8)}
    with world.build(tmp_path, notes) as index:
        trace = search("tea", LIVE_KEYWORD, index)
    for one in (0.2, 0.8):
        found = numbers(trace, f"memory/{one}.md")
        assert found["importance_below_0"] == -one
        assert found["match_below_0"] == -found["vector_score"]


def test_a_content_is_a_text_without_its_front_matter(tmp_path: Path) -> None:
    notes = {"MEMORY.md": "# Memory\n", "memory/tea.md": BLOCK}
    with world.build(tmp_path, notes) as index:
        graph = GraphOfMemories().of(index)
        trace = search("tea", LIVE_KEYWORD, index)
        contents = {memory.content.strip() for memory in memories_of(graph, trace)}
    assert contents == {"# Memory", "# Tea\nA cup."}


def test_ages_are_counted_from_the_newest_date_of_the_notes(tmp_path: Path) -> None:
    notes = {
        "MEMORY.md": "# Memory\n",
        "memory/old.md": "---\ndate: 2025-08-17\n---\nOld tea.\n",
        "memory/new.md": "---\ndate: 2026-02-13\n---\nNew tea.\n",
    }
    with world.build(tmp_path, notes) as index:
        trace = search("tea", LIVE_KEYWORD, index)
        again = search("tea", LIVE_KEYWORD, index)
    assert numbers(trace, "memory/new.md")["recency_component"] == 1.0
    assert numbers(trace, "memory/old.md")["recency_component"] == 0.0
    assert np.isnan(numbers(trace, "MEMORY.md")["age_days"])
    assert list(again.columns["score"]) == list(trace.columns["score"])


def test_a_moment_that_is_no_date_is_refused() -> None:
    with pytest.raises(InputError, match="'yesterday' is not a date"):
        LinearRecency(now="yesterday")
    assert with_settings(LIVE_KEYWORD, ["recency_component.now=2026-05-14"]) == LIVE_KEYWORD.with_stage(
        LinearRecency(now="2026-05-14")
    )

"""OpenClaw's releases after February: what each changed, and the parts that they brought."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import world
from tests.adapters.openclaw_february import FixedIndex
from tests.hand import answering
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.records import Fate
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import unicode_words
from workbench.retrieval.settings import with_settings
from workbench.systems.openclaw import SHIPPED
from workbench_plugins.openclaw.keyword import FEATURES, LegOfMany, PathsLayout
from workbench_plugins.openclaw.ranking import ProjectAffinity, ReadableProjects, Recency
from workbench_plugins.openclaw.release_indexing import WeightedChunker, entries, weight
from workbench_plugins.openclaw.releases import (
    DECAY,
    DIVERSE,
    FEBRUARY_15,
    HISTORY,
    JULY,
    MARCH,
    PIPELINES,
    SEPTEMBER,
    SEPTEMBER_CHANGES,
    SEPTEMBER_TRIGRAM,
    TRIGRAM,
    WEIGHED,
)

few = settings(max_examples=50, deadline=None)


def found(pipeline: Pipeline, index: FixedIndex | MemoryIndex, question: str = "X") -> list[str]:
    return [one.chunk.path for one in search(question, pipeline, index).results]


# The history


@pytest.mark.parametrize("place", range(1, len(HISTORY)), ids=[one.name for one in HISTORY[1:]])
def test_a_release_differs_from_the_one_before_in_the_slots_of_its_changes_alone(place: int) -> None:
    before, after = HISTORY[place - 1 : place + 1]
    layout = {"layout"} if before.layout != after.layout else set()
    assert {one.slot for one in before.diff(after)} == {
        change.stage.slot for change in after.changes
    } | layout


def test_no_release_before_september_lays_the_memory_out_anew() -> None:
    assert [one.layout for one in HISTORY] == [None] * (len(HISTORY) - 1) + [PathsLayout()]


@pytest.mark.parametrize(("before", "trigram"), [(MARCH, TRIGRAM), (SEPTEMBER, SEPTEMBER_TRIGRAM)])
def test_the_tokenizer_is_a_matter_of_the_layout_alone(before: Pipeline, trigram: Pipeline) -> None:
    assert [one.slot for one in before.diff(trigram)] == ["layout"]


@pytest.mark.parametrize("pipeline", [*HISTORY, *PIPELINES], ids=lambda one: one.name)
def test_a_release_prints_its_source_and_what_it_simplifies(pipeline: Pipeline) -> None:
    release = pipeline.name.removeprefix("openclaw-").removesuffix("-trigram")
    assert f"source: openclaw/openclaw {release}, " in str(pipeline)
    assert "Simplified: " in str(pipeline)


STEPS = list(
    accumulate(SEPTEMBER_CHANGES, lambda pipeline, change: pipeline.with_changes(change), initial=JULY)
)


@pytest.mark.parametrize("place", range(len(SEPTEMBER_CHANGES)))
def test_every_step_of_september_differs_in_its_slot_alone_and_searches(toy: MemoryIndex, place: int) -> None:
    before, after = STEPS[place : place + 2]
    assert [one.slot for one in before.diff(after)] == [SEPTEMBER_CHANGES[place].stage.slot]
    assert "memory/bike.md" in found(after.asking(min_score=-1), toy, "the rear hub of the bike")


def test_a_change_in_a_new_slot_stands_where_it_says(toy: MemoryIndex) -> None:
    slots = [stage.slot for stage in SHIPPED.with_changes(DIVERSE).stages]
    assert slots.index("diversity") + 1 == slots.index("floor")


def test_a_change_in_a_new_slot_that_names_no_place_is_refused() -> None:
    with pytest.raises(InputError, match="no stage 'diversity'"):
        SHIPPED.with_changes(replace(DIVERSE, before=""))


# Words


def test_a_word_is_of_letters_numbers_and_underscores_of_any_script() -> None:
    for code in range(0x110000):
        character = chr(code)
        is_word = unicodedata.category(character)[0] in "LN" or character == "_"
        assert bool(unicode_words(character)) == is_word, hex(code)


# The rescue


ALONE = answering(keyword={"a": -2.0})


def test_a_keyword_hit_alone_is_rescued_lost_again_and_rescued_for_good() -> None:
    answers = [found(pipeline, ALONE) for pipeline in HISTORY]
    assert answers == [[], [], ["a.md"], [], ["a.md"], ["a.md"]]


def test_a_free_place_goes_to_a_keyword_hit_behind_all_that_pass() -> None:
    index = answering(keyword={"a": -2.0}, vector={"b": 0.1, "c": 0.2})
    assert found(SEPTEMBER, index) == ["b.md", "c.md", "a.md"]
    assert found(SEPTEMBER.asking(limit=2), index) == ["b.md", "c.md"]


def test_a_weak_hit_of_both_legs_takes_no_free_place() -> None:
    index = answering(keyword={"a": -0.001}, vector={"b": 0.1, "a": 0.95})
    assert found(SEPTEMBER, index) == ["b.md"]


@pytest.mark.parametrize("pipeline", HISTORY[2:], ids=lambda one: one.name)
@pytest.mark.parametrize("question", ["tea hub squeals", "rooibos", "moon", "the backup of the server disk"])
def test_an_answer_passes_or_is_a_keyword_hit(toy: MemoryIndex, pipeline: Pipeline, question: str) -> None:
    trace = search(question, pipeline, toy)
    passes = [one.score >= pipeline.floor for one in trace.results]
    assert passes == sorted(passes, reverse=True)
    for one in trace.results:
        assert one.score >= pipeline.floor or not np.isnan(one.numbers["keyword_rank"])
    assert len(trace.results) <= pipeline.limit


# Many queries


def test_july_asks_for_keywords_only_when_the_question_finds_nothing(toy: MemoryIndex) -> None:
    both = search("rear hub", JULY, toy).legs["keyword"]
    neither = search("what about the hub and the rooibos", JULY, toy).legs["keyword"]
    assert both.asked == '"rear" AND "hub"'
    assert neither.asked is not None
    assert neither.asked.split("; ") == ['"hub"', '"rooibos"']


def test_september_asks_for_keywords_beside_a_question_that_finds_little(toy: MemoryIndex) -> None:
    leg = search("the hub of the bike", SEPTEMBER, toy).legs["keyword"]
    assert leg.asked == '"the" AND "hub" AND "of" AND "the" AND "bike"; "hub"; "bike"'


def test_a_keyword_of_july_is_measured_against_itself_and_explained(toy: MemoryIndex) -> None:
    trace = search("what about the hub and the moon", JULY, toy)
    leg, numbers = trace.legs["keyword"], trace.results[0].numbers
    assert isinstance(leg, LegOfMany)
    assert set(leg.features[FEATURES.index("query_coverage")].tolist()) == {1.0}
    raw = numbers["keyword_raw"]
    assert numbers["keyword_score"] == pytest.approx(-raw / (1 - raw))  # the boost does not count in the sum
    explanation = explain(trace, toy, "memory/bike.md")
    keyword = explanation.verdicts[0].leg_ranks[0]
    assert (explanation.fate, keyword.leg, keyword.brought) == (Fate.RETURNED, "keyword", True)
    assert "moon" in keyword.missing


def test_a_keyword_of_september_is_measured_against_the_question(toy: MemoryIndex) -> None:
    trace = search("what about the hub and the moon", SEPTEMBER, toy)
    bike = next(one for one in trace.candidates if one.chunk.path == "memory/bike.md")
    assert bike.numbers["query_coverage"] == 2 / 6  # the, hub; of what, about, the, hub, and, moon


def test_september_gives_the_same_first_result_for_any_limit(toy: MemoryIndex) -> None:
    many = found(SEPTEMBER.asking(limit=6), toy, "the hub of the bike")
    assert [found(SEPTEMBER.asking(limit=n), toy, "the hub of the bike") for n in (1, 2)] == [
        many[:1],
        many[:2],
    ]


# What is weighed


DATED = {
    "memory/2026-01-01.md": "The hub of the bike.\n",
    "memory/2026-01-31-shop.md": "The hub of the bike.\n",
    "memory/bike.md": "The hub of the bike.\n",
}


def ages(pipeline: Pipeline, index: MemoryIndex) -> dict[str, float]:
    trace = search("hub", pipeline, index)
    return {one.chunk.path: one.numbers["recency"] for one in trace.candidates}


def test_today_is_the_newest_date_of_the_memory_or_the_one_that_is_said(tmp_path: Path) -> None:
    said = SEPTEMBER.with_stage(Recency(today="2026-03-02"))
    with world.build(tmp_path, DATED) as index:
        assert ages(SEPTEMBER, index) == {
            "memory/2026-01-01.md": pytest.approx(0.5),
            "memory/2026-01-31-shop.md": 1.0,
            "memory/bike.md": 1.0,
        }
        later = ages(said, index)
        root = world.write(tmp_path / "memory_of_wren", {"memory/2026-03-02.md": "Nothing.\n"})
        index_folder(root, world.EMBEDDER, options=Options(index_path=tmp_path / "index.sqlite"))
        assert ages(SEPTEMBER, index)["memory/2026-01-31-shop.md"] == pytest.approx(0.5)
    assert later["memory/2026-01-31-shop.md"] == pytest.approx(0.5)


def test_a_day_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="not a date"):
        Recency(today="yesterday")


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("memory", "has 0 groups"),
        ("(", "is no regular expression"),
        ("a{99999999999}", "no regular expression"),
    ],
)
def test_a_pattern_without_year_month_and_day_is_refused(pattern: str, problem: str) -> None:
    with pytest.raises(InputError, match=f"(?s){problem}.*as three groups"):
        with_settings(SEPTEMBER, [f"recency.names.pattern={pattern}"])


@pytest.mark.parametrize("pattern", [r"(bi)(k)(e)", r"(bike)|(\d)(\d)", r"(\d+)-(\d)(\d)"])
def test_a_pattern_whose_groups_are_no_date_dates_no_file(pattern: str, tmp_path: Path) -> None:
    files = {"memory/bike.md": "The hub.\n", f"memory/{10**20}-11.md": "The hub.\n"}
    with world.build(tmp_path, files) as index:
        asked = with_settings(SEPTEMBER, [f"recency.names.pattern={pattern}"])
        assert set(ages(asked, index).values()) == {1.0}


@pytest.mark.parametrize("days", [0, -5, math.inf])
def test_a_half_life_that_is_none_is_told_as_what_it_computes(days: float, tmp_path: Path) -> None:
    stage = Recency(half_life_days=days)
    assert stage.description == f"recency = 1 for every file: {days:g} days is no half-life"
    with world.build(tmp_path, DATED) as index:
        assert set(ages(SEPTEMBER.with_stage(stage), index).values()) == {1.0}


def test_decay_and_mmr_can_be_switched_on_in_february(tmp_path: Path) -> None:
    switched = FEBRUARY_15.with_changes(WEIGHED, DECAY, DIVERSE)
    with world.build(tmp_path, DATED) as index:
        # February knew no words behind a date: the newest date is 1 January, and the shop's note never ages.
        assert set(ages(switched, index).values()) == {1.0}


NOTED = {
    "MEMORY.md": "The hub of the bike. <!-- importance: 1 --> <!-- importance: 10 -->\n",
    "memory/b.md": "The hub of the bike. <!-- importance: 1 --> <!-- project: shop; yard -->\n",
    "memory/c.md": "The hub of the bike. <!-- project: shop -->\n",
    "memory/d.md": "The hub of the bike. <!-- project: shop; -->\n",
}


def test_comments_say_importance_in_a_root_file_and_projects_in_any(tmp_path: Path) -> None:
    asked = SEPTEMBER.with_stage(ProjectAffinity(active=("shop",)))
    with world.build(tmp_path, NOTED) as index:
        trace = search("hub", asked, index)
    numbers = {one.chunk.path: one.numbers for one in trace.candidates}
    assert [numbers[path]["importance"] for path in NOTED] == pytest.approx([1.25, 1, 1, 1])
    assert [numbers[path]["affinity"] for path in list(NOTED)[:3]] == [1.0, 0.9, 1.15]


def test_a_project_comment_that_cannot_be_read_drops_its_chunk(tmp_path: Path) -> None:
    with world.build(tmp_path, NOTED) as index:
        candidates = search("hub", SEPTEMBER.asking(10, 0), index).candidates
    dropped = {one.chunk.path: one.dropped_by for one in candidates if one.dropped_by}
    assert {path: type(stage) for path, stage in dropped.items()} == {"memory/d.md": ReadableProjects}
    assert candidates[-1].chunk.path == "memory/d.md"


# Chunks


LINES = st.lists(st.text("ab 中한\U00020000", max_size=50), min_size=1, max_size=12)


@given(LINES, st.sampled_from([0, 3, 7]))
@few
def test_no_chunk_weighs_more_than_its_budget(lines: list[str], overlap: int) -> None:
    chunker = WeightedChunker(tokens=8, overlap=overlap)
    for passage in chunker.chunk("\n".join(lines)):
        assert weight(passage.text) <= chunker.budget


@given(LINES)
@few
def test_without_overlap_the_chunks_are_the_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    passages = WeightedChunker(tokens=8, overlap=0).chunk(text)
    assert "".join(one.text for one in passages).replace("\n", "") == text.replace("\n", "")
    assert (passages[0].start_line, passages[-1].end_line) == (1, len(lines))


@given(st.lists(st.sampled_from(["# A", "- b", "  c", "", "#d"]), min_size=1, max_size=12))
@few
def test_the_entries_are_all_of_the_lines(lines: list[str]) -> None:
    spans = [range(one.start_line, one.end_line + 1) for one in entries("\n".join(lines))]
    assert [line for span in spans for line in span] == list(range(1, len(lines) + 1))
    assert all(lines[span[0] - 1].startswith(("# ", "- ")) for span in spans[1:])


@pytest.mark.parametrize(("tokens", "overlap"), [(0, 0), (8, 8), (8, -1)])
def test_a_chunker_that_cannot_advance_is_refused(tokens: int, overlap: int) -> None:
    with pytest.raises(InputError, match="cannot advance"):
        WeightedChunker(tokens, overlap)

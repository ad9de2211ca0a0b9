"""OpenClaw's other full-text tables: chunks cut into trigrams, and the paths of files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import world
from tests.world import written
from workbench.memory.index import MemoryIndex
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.records import Fate
from workbench.retrieval.explain import explain
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.scoring import relevance
from workbench_plugins.openclaw.keyword import PathIndex, PathsLayout, TextTable, TrigramLayout
from workbench_plugins.openclaw.releases import MARCH, SEPTEMBER, SEPTEMBER_TRIGRAM, TRIGRAM

NOTES = {
    "memory/baby.md": "元宝老婆刚怀孕，下个月去医院。\n",
    "memory/plugin.md": "飞书插件配置 in the AI shop.\n",
    "memory/notes/bike-hub.md": "The rear wheel grinds.\n" * 3,
    "memory/notes/tea.md": "Rooibos after noon.\n",
    "memory/café.md": "Open on Sundays.\n",
    "MEMORY.md": "# Memory\nNothing else.\n",
}


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryIndex]:
    with world.build(tmp_path_factory.mktemp("notes"), NOTES) as index:
        yield index


def brought(pipeline: Pipeline, index: MemoryIndex | CachedIndex, question: str) -> list[str]:
    """The files that the keyword leg brings."""
    hits = search(question, pipeline, index).legs["keyword"].hits
    return [chunk.path for chunk in index.chunks(hits.rows)]


# Trigrams


def test_words_within_a_chinese_sentence_are_found_by_trigrams_alone(notes: MemoryIndex) -> None:
    assert brought(MARCH, notes, "老婆刚怀孕") == []
    assert brought(TRIGRAM, notes, "老婆刚怀孕") == ["memory/baby.md"]


@pytest.mark.parametrize(("pipeline", "score"), [(TRIGRAM, 1.0), (SEPTEMBER_TRIGRAM, 0.0)])
def test_two_characters_are_found_by_like_with_a_perfect_score_at_first_and_in_september_with_none(
    notes: MemoryIndex, pipeline: Pipeline, score: float
) -> None:
    (one,) = (one for one in search("怀孕", pipeline, notes).candidates if one.numbers["keyword_rank"] == 1)
    assert (one.chunk.path, one.numbers["keyword_score"]) == ("memory/baby.md", score)


def test_hits_that_score_nothing_are_ordered_by_their_words(notes: MemoryIndex) -> None:
    trace = search("AI 怀孕", SEPTEMBER_TRIGRAM, notes)  # no chunk has both; of one character each has none
    assert brought(SEPTEMBER_TRIGRAM, notes, "AI 怀孕") == ["memory/baby.md"]
    zeros = [one for one in trace.candidates if one.score == 0]
    assert zeros == sorted(zeros, key=lambda one: -one.numbers["rank_score"])


@pytest.mark.parametrize(
    ("pipeline", "paths"),
    [(TRIGRAM, []), (SEPTEMBER_TRIGRAM, ["memory/plugin.md"])],
    ids=["march", "september"],
)
def test_a_short_word_of_other_scripts_is_found_since_september(
    notes: MemoryIndex, pipeline: Pipeline, paths: list[str]
) -> None:
    assert brought(pipeline, notes, "AI shop") == paths


def test_a_chunk_that_trigrams_have_found_is_explained(notes: MemoryIndex) -> None:
    explanation = explain(search("老婆刚怀孕", TRIGRAM, notes), notes, "memory/baby.md")
    assert explanation.verdicts[0].leg_ranks[0].rank == 1
    assert explanation.verdicts[0].leg_ranks[0].missing == ()


def test_an_expression_that_is_no_and_of_words_is_put_to_fts5_as_it_is(notes: MemoryIndex) -> None:
    trigrams = TrigramLayout().of(notes)
    either = trigrams.keyword(written('"wheel" OR "rooibos"'), 9)
    assert sorted(one.path for one in notes.chunks(either.rows)) == [
        "memory/notes/bike-hub.md", "memory/notes/tea.md",
    ]  # fmt: skip


@given(st.text("aé_茶b", min_size=1, max_size=4), st.lists(st.text("aé_茶bA ", max_size=6), max_size=5))
@settings(max_examples=100, deadline=None)
def test_like_finds_what_has_the_word_whatever_the_case_of_its_ascii(word: str, texts: list[str]) -> None:
    rows = TextTable(texts, "trigram", "like").search(None, [word], 9).rows
    assert rows.tolist() == [row for row, text in enumerate(texts) if word.lower() in text.replace("A", "a")]


def test_a_substring_is_found_in_either_composition_and_any_case() -> None:
    table = TextTable(["CAFE\u0301", "café", "cafe"], "trigram", "composed")
    assert table.search(None, ["É"], 9).rows.tolist() == [0, 1]


# Paths


def test_a_file_is_found_by_a_word_of_its_path(notes: MemoryIndex) -> None:
    trace = search("hub", SEPTEMBER, notes)
    one = next(one for one in trace.candidates if one.chunk.path == "memory/notes/bike-hub.md")
    assert one.numbers["keyword_score"] == 0
    assert one.numbers["path_score"] == relevance(one.numbers["path_raw"])
    vector = one.numbers["vector_score"] if not np.isnan(one.numbers["vector_score"]) else 0.0
    assert one.score == pytest.approx(0.7 * vector + 0.3 * one.numbers["path_score"])


def test_before_september_the_path_says_nothing(notes: MemoryIndex) -> None:
    assert brought(MARCH, notes, "hub") == []
    assert brought(SEPTEMBER, notes, "hub") == ["memory/notes/bike-hub.md"]


def test_all_words_of_a_query_must_be_in_the_path(notes: MemoryIndex) -> None:
    index = PathsLayout().of(notes)
    assert isinstance(index, PathIndex)
    assert index.path_hits("bike hub", 9).rows.size == 1
    assert index.path_hits("bike tea", 9).rows.size == 0


@pytest.mark.parametrize("question", ["café", "cafe\u0301"])
@pytest.mark.parametrize("tokenizer", ["unicode61", "trigram"])
def test_a_path_is_found_in_either_composition(notes: MemoryIndex, question: str, tokenizer: str) -> None:
    index = PathsLayout(tokenizer).of(notes)  # type: ignore[arg-type]
    assert isinstance(index, PathIndex)
    assert [one.path for one in notes.chunks(index.path_hits(question, 9).rows)] == ["memory/café.md"]


@pytest.mark.parametrize("question", ["memory/notes/bike-hub.md", "BIKE-HUB.md", "bike-hub"])
def test_a_question_that_is_a_path_finds_it_though_no_leg_would(notes: MemoryIndex, question: str) -> None:
    trace = search(question, SEPTEMBER.asking(limit=1), notes)
    assert [(one.chunk.path, one.score) for one in trace.results] == [("memory/notes/bike-hub.md", 1.0)]
    assert trace.legs["keyword"].hits.rows[0] == trace.rows[trace.order[0]]


def test_a_file_that_its_path_has_found_is_explained(notes: MemoryIndex) -> None:
    explanation = explain(search("hub", SEPTEMBER, notes), notes, "memory/notes/bike-hub.md")
    assert (explanation.fate, explanation.verdicts[0].leg_ranks[0].rank) == (Fate.RETURNED, 1)


@pytest.mark.parametrize("pipeline", [TRIGRAM, SEPTEMBER, SEPTEMBER_TRIGRAM], ids=lambda one: one.name)
def test_cached_legs_answer_as_the_index_does(notes: MemoryIndex, pipeline: Pipeline) -> None:
    cached = CachedIndex(notes)
    for question in ["hub", "怀孕", "tea.md", "the rear wheel of the bike"] * 2:
        plain, kept = search(question, pipeline, notes), search(question, pipeline, cached)
        assert [one.chunk.id for one in plain.candidates] == [one.chunk.id for one in kept.candidates]
        assert np.array_equal(plain.columns["score"], kept.columns["score"])


def test_a_new_file_is_found_by_its_path_and_its_trigrams(tmp_path: Path) -> None:
    with world.build(tmp_path, NOTES) as index:
        assert brought(SEPTEMBER_TRIGRAM, index, "saddle") == []
        new = {"memory/saddle.md": "Brown.\n", "memory/x.md": "resaddled\n"}
        world.write(tmp_path / "memory_of_wren", new)
        index_folder(
            tmp_path / "memory_of_wren", world.EMBEDDER, options=Options(index_path=tmp_path / "index.sqlite")
        )
        assert set(brought(SEPTEMBER_TRIGRAM, index, "saddle")) == {"memory/saddle.md", "memory/x.md"}

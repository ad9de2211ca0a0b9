"""What Basic Memory asks its keyword leg: the strict query, and the relaxed one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.world import compiled, written
from workbench.memory.index import MemoryIndex
from workbench.retrieval.pipeline import Pipeline, search
from workbench_plugins.basic_memory import pipelines as bm
from workbench_plugins.basic_memory.notes import EachColumn, Note, NoteStore
from workbench_plugins.basic_memory.query_preparation import (
    EDGES,
    AnyPlainWord,
    AnyToken,
    AnyUnicodeToken,
    GatedPlainWord,
    strict_query,
)

QUESTION = "Who drinks rooibos in the afternoon?"

WORDS = st.lists(
    st.sampled_from(["tea", "Cup", "naïve", "don't", "как", "季度", "e2e", "well-fed"]), min_size=1
)
TEXTS = st.one_of(st.text(max_size=40), WORDS.map(" ".join))

# The strict query


def test_before_994_a_question_mark_makes_a_phrase_that_no_note_has(toy: MemoryIndex) -> None:
    trace = search(QUESTION, bm.DEAD_FTS, toy)
    assert trace.match == f'"{QUESTION}"*'
    assert trace.legs["keyword"].hits.rows.size == 0


@given(st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=2, max_size=8))
def test_994_finds_the_note_that_has_all_the_words_of_a_question(words: list[str]) -> None:
    store = NoteStore([Note("Title", " ".join(words), "", "")])
    match = compiled(strict_query(" ".join(words).capitalize() + "?", EDGES))
    assert store.search(written(match), 10, EachColumn()).rows.tolist() == [0]


@given(TEXTS)
def test_any_text_has_a_strict_query_that_can_be_asked(text: str) -> None:
    store = NoteStore([Note("Title", "a cup of tea", "", "")])
    if query := strict_query(text.strip(), EDGES):
        assert store.search(query, 10, EachColumn()).rows.size <= 1


# The relaxed query


@given(TEXTS)
def test_the_gate_refuses_more_and_changes_nothing_else(text: str) -> None:
    assert GatedPlainWord().words(text) in (None, AnyPlainWord().words(text))


@given(st.lists(st.sampled_from(["tea", "Ada's", "naïve", "как", "रद्द", "o'clock"]), min_size=3))
def test_since_1269_every_word_of_any_script_finds_its_note(words: list[str]) -> None:
    store = NoteStore([Note("Title", word, "", "") for word in words])
    query = AnyUnicodeToken().query(" ".join(words))
    assert query is not None
    assert set(store.search(query, 100, EachColumn()).rows.tolist()) == set(range(len(words)))


@pytest.mark.parametrize("question", ["New Feature", "SPEC 16", "root note 1"])
@pytest.mark.parametrize("rules", [GatedPlainWord(), AnyToken(), AnyUnicodeToken()])
def test_short_questions_and_numbers_are_not_relaxed_since_the_gate(question: str, rules: AnyToken) -> None:
    assert rules.words(question) is None
    assert AnyPlainWord().words(question) == question.split()


def test_a_zero_width_space_ends_a_word_and_a_joiner_does_not() -> None:
    assert AnyUnicodeToken().words("tea\u200bcup rooi\u200dbos") == ["tea", "cup", "rooi\u200dbos"]


STRICT = "Who* AND drinks* AND rooibos* AND in* AND the* AND afternoon*"
RELAXED = "drinks* OR rooibos* OR afternoon*"


@pytest.mark.parametrize(
    ("question", "pipeline", "match", "note"),
    [
        (QUESTION, bm.GATED, RELAXED, f"{STRICT} found nothing; relaxed MATCH {RELAXED} found 2"),
        ("cup of tea", bm.GATED, "cup* AND of* AND tea*", ""),
        ("tea bagpipes", bm.GATED, "tea* AND bagpipes*", "found nothing; this question is not relaxed"),
        ("? !", bm.HEAD, None, "strict MATCH: no word; this question is not relaxed"),
    ],
)
def test_the_trace_shows_what_was_asked_and_says_why(
    toy: MemoryIndex, question: str, pipeline: Pipeline, match: str | None, note: str
) -> None:
    trace = search(question, pipeline, toy)
    assert trace.match == match
    assert note in "".join(trace.notes[:1])
    assert bool(note) == bool(trace.notes)


def test_an_operator_at_the_end_finds_nothing_and_breaks_nothing(toy: MemoryIndex) -> None:
    trace = search("tea NOT", bm.DEAD_FTS, toy)
    assert trace.match == "tea* AND NOT*"
    assert trace.legs["keyword"].hits.rows.size == 0

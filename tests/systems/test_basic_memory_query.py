"""What Basic Memory asks its keyword leg: the strict query, and the relaxed one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.world import compiled, written
from workbench.memory.index import MemoryIndex
from workbench.retrieval.pipeline import search
from workbench_plugins.basic_memory import pipelines as bm
from workbench_plugins.basic_memory.notes import EachColumn, Note, NoteStore
from workbench_plugins.basic_memory.query import (
    EDGES,
    AnyPlainWord,
    AnyToken,
    AnyUnicodeToken,
    GatedPlainWord,
    strict_query,
    strict_tsquery,
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


def test_an_apostrophe_still_makes_a_phrase_after_994() -> None:
    assert compiled(strict_query("What's in Ada's cup?", EDGES)) == "\"What's in Ada's cup\"*"


def test_a_path_to_a_note_gets_no_star() -> None:
    assert compiled(strict_query("docs/tea.md")) == '"docs/tea.md"'
    assert compiled(strict_query("docs/tea")) == '"docs/tea"*'


def test_an_operand_of_two_words_demands_both() -> None:
    assert (
        compiled(strict_query("(green tea OR rooibos) NOT cup-shaped"))
        == '(green AND tea OR rooibos) NOT "cup-shaped"'
    )


def test_postgres_replaces_its_operators_by_blanks() -> None:
    assert strict_tsquery("tea & (cup):", "?!.,;") == "tea:* & cup:*"


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


def test_a_parenthesis_does_not_keep_the_hybrid_leg_from_relaxing() -> None:
    assert GatedPlainWord().words("foo (bar) baz qux") == ["foo", "baz", "qux"]


def test_a_zero_width_space_ends_a_word_and_a_joiner_does_not() -> None:
    assert AnyUnicodeToken().words("tea\u200bcup rooi\u200dbos") == ["tea", "cup", "rooi\u200dbos"]


def test_stopwords_alone_are_kept_since_1022() -> None:
    assert AnyPlainWord().words("what is the") is None
    assert AnyToken().words("what is the") == ["what", "is", "the"]


def test_the_trace_shows_the_strict_and_the_relaxed_query(toy: MemoryIndex) -> None:
    trace = search(QUESTION, bm.GATED, toy)
    strict = "Who* AND drinks* AND rooibos* AND in* AND the* AND afternoon*"
    relaxed = "drinks* OR rooibos* OR afternoon*"
    assert trace.match == trace.legs["keyword"].asked == relaxed
    assert trace.notes == (f"strict MATCH {strict} found nothing; relaxed MATCH {relaxed} found 2",)


def test_a_strict_query_that_finds_something_is_not_relaxed(toy: MemoryIndex) -> None:
    trace = search("cup of tea", bm.GATED, toy)
    assert (trace.match, trace.notes) == ("cup* AND of* AND tea*", ())


def test_the_trace_says_that_a_question_was_not_relaxed(toy: MemoryIndex) -> None:
    trace = search("tea bagpipes", bm.GATED, toy)
    assert trace.notes == ("strict MATCH tea* AND bagpipes* found nothing; this question is not relaxed",)
    assert trace.legs["keyword"].hits.rows.size == 0


def test_a_question_without_a_word_to_ask_says_so(toy: MemoryIndex) -> None:
    trace = search("? !", bm.HEAD, toy)
    assert trace.match is None
    assert trace.notes[0] == "strict MATCH: no word; this question is not relaxed"


def test_an_operator_at_the_end_finds_nothing_and_breaks_nothing(toy: MemoryIndex) -> None:
    trace = search("tea NOT", bm.DEAD_FTS, toy)
    assert trace.match == "tea* AND NOT*"
    assert trace.legs["keyword"].hits.rows.size == 0

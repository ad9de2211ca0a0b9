"""A question becomes a MATCH expression that FTS5 accepts, whatever the question."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hand import answering
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.memory.store.sqlite.fts5 import match_expression
from workbench.records import Query
from workbench.retrieval.pipeline import search
from workbench.retrieval.query import BLANKS, JoinedWords, check_question
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WORKAROUND

FRAGMENTS = [
    "AND", "OR", "NOT", "NEAR(", "NEAR(tea bike, 2)", "text:", "- text :", "^", "*", "+", '"', "'", "(", ")",
    "{", "}", ";", "--", "\\", "\x00", "\x1f", "\t", "\n", "\ufeff", "\u200b", "_", "tea", "Bike", "rooibos",
    "naïve", "金银价格", "しりとり", "한국어", "😀", "👩‍🚀", "éa", "٣", "2026-02-13", "x" * 5000,
]  # fmt: skip
QUESTIONS = st.one_of(st.text(), st.lists(st.sampled_from(FRAGMENTS)).map(" ".join))
LONG = [
    " ".join(f"word{number}" for number in range(2_000)),
    "tea " * 2_000,
    " ".join(["AND", "OR", "NOT", "NEAR"] * 500),
]
ALL, ANY = JoinedWords("AND"), JoinedWords("OR")


def matched(index: MemoryIndex, query: Query | None) -> set[int]:
    """The rows that a query finds in the real table."""
    return set(index.keyword(query, index.size).rows.tolist()) if query else set()


@given(QUESTIONS)
def test_fts5_accepts_the_match_of_any_question(toy: MemoryIndex, question: str) -> None:
    for build in (ALL, ANY):
        assert len(matched(toy, build.query(question))) <= toy.size


@pytest.mark.parametrize("question", LONG, ids=["different", "the same", "operators"])
@pytest.mark.parametrize("build", [ALL, ANY], ids=["AND", "OR"])
def test_fts5_accepts_a_question_of_2000_words(toy: MemoryIndex, build: JoinedWords, question: str) -> None:
    query = build.query(question)
    assert query is not None
    assert match_expression(query).count('"') == 4_000
    assert len(matched(toy, query)) <= toy.size


@given(QUESTIONS)
def test_or_finds_all_that_and_finds(toy: MemoryIndex, question: str) -> None:
    assert matched(toy, ANY.query(question)) >= matched(toy, ALL.query(question))


def test_or_finds_more_than_and(toy: MemoryIndex) -> None:
    assert len(matched(toy, ALL.query("rooibos hub"))) == 0
    assert len(matched(toy, ANY.query("rooibos hub"))) == 4


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
    for pipeline in (SHIPPED, THREE_FIXES, WORKAROUND):
        assert search(question, pipeline, toy).question == question.strip(BLANKS)


def test_half_a_surrogate_pair_does_not_stop_a_search(toy: MemoryIndex) -> None:
    assert search("tea \udce9", SHIPPED, toy).paths()[0] == "memory/tea.md"


@pytest.mark.parametrize("question", ["", "  ", "\n\t"])
def test_a_blank_question_asks_nothing(question: str) -> None:
    index = answering(keyword={"a": -1.0}, vector={"a": 0.1})
    assert search(question, SHIPPED, index).results == []
    assert index.calls == []

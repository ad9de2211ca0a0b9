"""The microscope agrees with FTS5: rows of every word and of every set, IDF, and what each system asks."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.world import written
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.memory.store.sqlite.fts5 import quoted
from workbench.retrieval.query import unicode_words
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import SHIPPED
from workbench_plugins.explore.microscope import MOST_WORDS, asked, dissect, sentences
from workbench_plugins.explore.microscope_widget import Microscope
from workbench_plugins.recommended.layout import PassagesLayout

FOUR = "rooibos budget tea Michael"
TEN = "how should I evaluate if a claim is actually true"


def found_by_fts5(index: MemoryIndex, words: tuple[str, ...]) -> int:
    return int(index.keyword(written(" AND ".join(map(quoted, words))), index.size).rows.size)


@pytest.mark.parametrize("question", [FOUR, TEN, "firmware hub brake test torque sensor", "tea", "the the a"])
def test_every_set_has_the_rows_that_fts5_finds_for_its_and(sample: MemoryIndex, question: str) -> None:
    found = dissect(question, sample)
    assert found.sets
    for one in found.sets:
        assert one.rows == found_by_fts5(sample, one.words), one


WORDS = st.sampled_from(["tea", "Tea", "bike", "the", "hub", "disk", "a", "OR", "zebra"])


@settings(max_examples=60, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=8))
def test_any_question_of_the_toy_world_agrees_with_fts5(toy: MemoryIndex, words: list[str]) -> None:
    found = dissect(" ".join(words), toy)
    assert all(one.rows == found_by_fts5(toy, one.words) for one in found.sets)
    assert found.some == toy.keyword(written(" OR ".join(map(quoted, words))), toy.size).rows.size
    assert len({word.text.lower() for word in found.words}) == len(found.words)
    if found.drop:
        kept = tuple(word.text for word in found.words if word.text not in found.drop.words)
        assert found.drop.rows == found_by_fts5(toy, kept)
        assert found.drop.rows > 0


def test_up_to_six_words_every_set_is_counted_and_beyond_only_some(sample: MemoryIndex) -> None:
    six = dissect("firmware hub brake test torque sensor", sample)
    assert six.complete
    assert len(six.sets) == len(set(six.sets)) == 2**MOST_WORDS - 1
    ten = dissect(TEN, sample)
    assert not ten.complete
    assert sorted({len(one.words) for one in ten.sets}) == [1, 9, 10]
    assert len(ten.sets) == 21
    assert "Of the 1,023 word sets" in " ".join(sentences(ten))


def test_what_to_drop_is_the_least_that_helps(sample: MemoryIndex) -> None:
    four = dissect(FOUR, sample)
    assert four.drop is not None
    assert four.drop.words == ("budget",)
    assert "Without “budget”, 1 chunk matches." in sentences(four)
    ten = dissect(TEN, sample)
    assert ten.drop is not None
    assert all(word.without == 0 for word in ten.words)
    assert len(ten.drop.words) > 1
    assert "Dropping one word is not enough" in " ".join(sentences(ten))
    assert "In no chunk: “evaluate”." in sentences(ten)


def test_when_all_words_match_the_best_word_to_drop_brings_most_and_an_only_word_stays(
    toy: MemoryIndex,
) -> None:
    found = dissect("rooibos tea cup", toy)
    assert found.every == 1
    assert found.drop is not None
    assert found.drop.rows == max(word.without or 0 for word in found.words)
    assert "All 3 words are in 1 of 6 chunks." in sentences(found)
    only = dissect("zebra", toy)
    assert (only.drop, only.words[0].without, only.every) == (None, None, 0)
    assert sentences(only) == ["“zebra” is in 0 of 6 chunks."]


def test_the_idf_is_the_one_in_fts5_s_bm25(sample: MemoryIndex) -> None:
    """One row has each of two words once, so their bm25 differ by the IDF alone."""
    found = {word.text: word for word in dissect("actually honey Michael", sample).words}
    rows = {text: sample.keyword(written(quoted(text)), sample.size) for text in found}
    texts = {int(row): sample.chunks(rows["honey"].rows)[i].text for i, row in enumerate(rows["honey"].rows)}
    raw = dict(zip(rows["Michael"].rows.tolist(), rows["Michael"].raw.tolist(), strict=True))
    compared = 0
    for row, bm25 in zip(rows["honey"].rows.tolist(), rows["honey"].raw.tolist(), strict=True):
        words = [word.lower() for word in unicode_words(texts[row])]
        if row in raw and words.count("honey") == words.count("michael"):
            assert bm25 / raw[row] == pytest.approx(found["honey"].idf / found["Michael"].idf)
            compared += 1
    assert compared


def test_half_of_the_rows_is_where_the_idf_stands_at_its_floor(toy: MemoryIndex) -> None:
    found = {word.text: word for word in dissect("the a tea", toy).words}
    for word in found.values():
        assert word.floored == (word.rows >= toy.size / 2)
        assert word.idf == (1e-6 if word.floored else math.log((6.5 - word.rows) / (word.rows + 0.5)))
    assert any(word.floored for word in found.values())


def test_the_words_of_any_script_are_read_when_asked(toy: MemoryIndex) -> None:
    assert [word.text for word in dissect("naïve tea", toy).words] == ["na", "ve", "tea"]
    assert [word.text for word in dissect("naïve tea", toy, unicode_words).words] == ["naïve", "tea"]
    nothing = dissect("日本", toy)
    assert nothing.words == nothing.sets == ()
    assert sentences(nothing) == ["The question contains no word, so FTS5 is not queried."]


def test_a_question_without_a_word_is_refused(toy: MemoryIndex) -> None:
    for look, question in product((dissect, asked), ("", "  ", "?!")):
        with pytest.raises(InputError):
            look(question, toy)  # type: ignore[operator]


def test_every_system_with_a_keyword_query_is_among_those_that_ask(sample: MemoryIndex) -> None:
    ways = asked(TEN, sample)
    asking = {name for one in ways for name in one.systems}
    at_once = [one for one in SYSTEMS.values() if not isinstance(one.layout, PassagesLayout)]
    with_query = {p.name for p in at_once if any(stage.slot == "query" for stage in p.stages)}
    assert asking == with_query
    assert len({(one.matches, one.rows, one.of, one.unit) for one in ways}) == len(ways)


def test_a_system_asks_as_its_search_does(sample: MemoryIndex) -> None:
    (only,) = asked(TEN, sample, [SHIPPED])
    assert only.matches == (" AND ".join(map(quoted, TEN.split())),)
    assert (only.rows, only.of, only.unit, only.systems) == (0, sample.size, "chunks", (SHIPPED.name,))
    _, fallback = asked(TEN, sample, [SYSTEMS["openclaw-2026.7.1"]])
    assert fallback.matches == ('"evaluate"', '"claim"', '"actually"', '"true"')
    together = sample.keyword(written(" OR ".join(fallback.matches)), sample.size)
    assert fallback.rows == together.rows.size
    (nothing,) = asked("日本", sample, [SHIPPED])
    assert (nothing.matches, nothing.rows) == ((), 0)


def test_notes_are_counted_where_a_system_searches_notes(sample: MemoryIndex) -> None:
    strict, relaxed = asked(FOUR, sample, [SYSTEMS["bm-994-gated"]])
    assert (strict.unit, strict.of, strict.rows) == ("notes", 45, 0)
    assert strict.matches == ("rooibos* AND budget* AND tea* AND Michael*",)
    assert relaxed.matches == ("rooibos* OR budget* OR tea* OR Michael*",)
    assert relaxed.rows > 0


# The widget


@settings(max_examples=30, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=8), st.data())
def test_the_page_counts_any_set_from_the_patterns(
    toy: MemoryIndex, words: list[str], data: st.DataObject
) -> None:
    found = dissect(" ".join(words), toy)
    texts = [one.text for one in found.words]
    chosen = data.draw(st.sets(st.sampled_from(texts), min_size=1))
    counted = sum(rows for pattern, rows in found.patterns if chosen <= set(pattern))
    assert counted == found_by_fts5(toy, tuple(chosen))


def test_a_question_that_is_set_moves_the_figure_and_the_words(sample: MemoryIndex) -> None:
    widget = Microscope(sample, FOUR)
    widget.settings = {"question": TEN}
    assert widget.settings == {"question": TEN, "letters": "ASCII"}
    assert widget.dissection == dissect(TEN, sample)
    way = widget.data["ways"]["ASCII"]
    assert way["words"] == TEN.split()
    (drawn,) = (one for one in widget.figure.data if one.type == "bar")
    assert list(drawn.x) == [word.rows for word in widget.dissection.words] + [0, widget.dissection.drop.rows]
    assert "No chunk has all 10 words" in widget.data["sentence"] == way["sentence"]
    assert widget.table.rows[0] == ("how", "34", "2.02")


def test_the_code_gives_the_widget_s_numbers(sample: MemoryIndex, capsys: pytest.CaptureFixture[str]) -> None:
    widget = Microscope(sample, "naïve café budget")
    widget.settings = {"letters": "any script"}
    names: dict[str, object] = {"index": sample}
    exec(widget.code, names)
    assert names["sets"] == {one.words: one.rows for one in widget.dissection.sets}
    assert names["idf"] == {word.text: word.idf for word in widget.dissection.words}
    assert names["matches"] == {one.matches: one.rows for one in widget.asked}
    assert capsys.readouterr().out.split() == widget.sentence.split()


def test_a_question_that_is_typed_and_makes_no_sense_is_refused_in_words(sample: MemoryIndex) -> None:
    widget = Microscope(sample, FOUR)
    with pytest.raises(InputError, match=r"The question is empty\."):
        widget.question = " "
    assert widget.dissection.question == FOUR
    widget.question = "tea"
    assert "“tea” is in" in widget.data["sentence"]


def test_settings_are_taken_all_or_none(sample: MemoryIndex) -> None:
    widget = Microscope(sample, FOUR)
    for wrong in ({"question": "?"}, {"letters": "Greek"}, {"questoin": "tea"}, {"question": 3}):
        with pytest.raises(InputError):
            widget.settings = wrong
        assert widget.settings["question"] == FOUR

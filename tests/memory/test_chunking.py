"""Texts become passages as OpenClaw 2026.2.13 cuts them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import InputError
from workbench.memory.sources import LineChunker, utf16_length
from workbench.records import Passage
from workbench_plugins.openclaw.sessions import remap_lines

LINE = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=15)
ANY_TEXT = st.text(st.sampled_from("ab \n\r\u2028é😀"), max_size=400)


@given(st.lists(LINE, max_size=40))
def test_every_line_is_in_a_chunk_under_its_own_number(lines: list[str]) -> None:
    passages = LineChunker(tokens=20, overlap=4).chunk("\n".join(lines))
    lines = lines or [""]
    assert all(p.text == "\n".join(lines[p.start_line - 1 : p.end_line]) for p in passages)
    assert passages[0].start_line == 1
    assert passages[-1].end_line == len(lines)
    assert all(b.start_line <= a.end_line + 1 for a, b in pairwise(passages))


@given(st.text(st.sampled_from("ab é\n"), max_size=500))
def test_without_overlap_the_chunks_are_the_text(text: str) -> None:
    passages = LineChunker(tokens=8, overlap=0).chunk(text)
    assert "".join(p.text for p in passages).replace("\n", "") == text.replace("\n", "")


@given(ANY_TEXT)
def test_without_overlap_no_chunk_is_beyond_the_budget(text: str) -> None:
    assert all(utf16_length(p.text) <= 8 * 4 for p in LineChunker(tokens=8, overlap=0).chunk(text))


@given(st.lists(LINE, max_size=40))
def test_short_carried_lines_keep_a_chunk_within_the_budget(lines: list[str]) -> None:
    # A line has at most 30 units: 4 × 4 carried, or one line more, and the next line fit into 80.
    passages = LineChunker(tokens=20, overlap=4).chunk("\n".join(lines))
    assert all(utf16_length(p.text) <= 20 * 4 for p in passages)


def test_a_cut_surrogate_pair_becomes_two_replacement_characters() -> None:
    assert utf16_length("é😀") == 1 + 2
    passages = LineChunker(tokens=8, overlap=0).chunk("a" + "😀" * 16)
    assert [p.text for p in passages] == ["a" + "😀" * 15 + "\ufffd", "\ufffd"]


def test_only_a_line_feed_ends_a_line() -> None:
    (passage,) = LineChunker().chunk("a\r\nb\u2028c\x0bd\x85e\n")
    assert (passage.text, passage.start_line, passage.end_line) == ("a\r\nb\u2028c\x0bd\x85e\n", 1, 3)


@pytest.mark.parametrize(("tokens", "overlap"), [(0, 0), (8, 8), (8, -1)])
def test_a_chunker_that_cannot_advance_is_refused(tokens: int, overlap: int) -> None:
    with pytest.raises(InputError, match="cannot advance"):
        LineChunker(tokens, overlap)


def test_remapped_lines_follow_the_map_as_far_as_it_goes() -> None:
    passages = [Passage("a", 1, 2, "h"), Passage("b", 2, 3, "i")]
    assert remap_lines(passages, [10, 20]) == [Passage("a", 10, 20, "h"), Passage("b", 20, 3, "i")]

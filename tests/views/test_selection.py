"""A selection: what is selected on a page, as a value, and how widgets take part in it."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from workbench.errors import InputError
from workbench.records import Chunk
from workbench.views.widgets.panel import Selection

A = Chunk("a1", "memory/a.md", "memory", 1, 4, "tea")
B = Chunk("b1", "memory/b.md", "memory", 3, 9, "hub")


def test_a_chunk_selects_its_file_and_another_file_no_chunk() -> None:
    chosen = Selection()
    chosen.chunk = A
    assert (chosen.file, chosen.chunk) == ("memory/a.md", A)
    chosen.file = "memory/b.md"
    assert (chosen.file, chosen.chunk) == ("memory/b.md", None)
    chosen.choose(chunk=B, file="memory/a.md")
    assert (chosen.file, chosen.chunk) == ("memory/b.md", B)


def test_who_observes_finds_everything_that_was_chosen_together() -> None:
    chosen, found = Selection(), []
    chosen.observe(lambda _: found.append(chosen.values), "question")
    chosen.choose(question="tea", chunk=A)
    assert found == [("tea", A, A.path, "")]


@pytest.mark.parametrize(
    ("values", "problem", "remedy"),
    [
        ({"chunk": "memory/a.md:1-4"}, "chunk cannot be 'memory/a.md:1-4'", "trace.candidates"),
        ({"file": None}, "file cannot be None", "Give a text"),
        ({"quesiton": "tea"}, "no 'quesiton'", "question, chunk, file, system"),
    ],
)
def test_what_cannot_be_selected_is_refused_by_name(
    values: dict[str, Any], problem: str, remedy: str
) -> None:
    chosen = Selection()
    with pytest.raises(InputError) as refused:
        chosen.choose(question="tea", **values)
    assert problem in refused.value.problem
    assert remedy in refused.value.remedy
    assert chosen.question == ""


def test_a_whole_note_and_the_chunks_of_its_file_select_each_other() -> None:
    note = Chunk("memory/a.md", "memory/a.md", "memory", 1, 9, "tea and hub")
    assert [Selection(chunk=note).covers(one) for one in (A, B)] == [True, False]
    assert [Selection(chunk=A).covers(one) for one in (note, A, B)] == [True, True, False]
    assert not Selection().covers(A)


def test_the_page_s_selection_is_at_the_front_door_and_says_what_it_holds() -> None:
    assert isinstance(wb.selection, Selection)
    told = Selection(question="tea", chunk=A)
    told.system = "bm-head"
    assert repr(told) == (
        "<Selection: question 'tea', chunk 'memory/a.md:1-4', file 'memory/a.md', system 'bm-head'>"
    )
    told.clear()
    assert repr(told) == "<Selection: nothing>"

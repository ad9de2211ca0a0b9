"""The page of `workbench explore`, without a browser: what is asked and selected is seen everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench as wb
from tests import world
from workbench.errors import InputError
from workbench.measure.questions import Question, QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WORKAROUND
from workbench.views.html import html_table
from workbench_plugins.explore.chunks import FileChunks
from workbench_plugins.explore.page import MemoryPage, problem_page

SYSTEMS = {one.name: one for one in (SHIPPED, THREE_FIXES, WORKAROUND)}
TEA = "memory/tea.md"
HOSTILE = "<b>x</b>/<img src=x onerror=alert(1)>.md"


@pytest.fixture(autouse=True)
def nothing_selected() -> Iterator[None]:
    wb.selection.clear()
    yield
    wb.selection.clear()


@pytest.fixture
def page(toy: MemoryIndex) -> MemoryPage:
    return MemoryPage(toy, pipelines=SYSTEMS)


def test_it_begins_with_a_question_from_the_memory_and_its_file(page: MemoryPage) -> None:
    assert page.explorer.settings["question"] == "Memory Michael drinks rooibos after noon"
    assert page.right == {"Memory Michael drinks rooibos after noon": "MEMORY.md"}
    assert page.lab is not None
    assert page.lab.outcome.hits.n == 1
    assert "no question is known to be unanswerable" in page.lab.sentence
    assert "of 0" not in page.lab.sentence
    assert page.chunks.held.path == "MEMORY.md"


def test_a_selected_chunk_is_open_and_marked_in_its_file(page: MemoryPage) -> None:
    chunk = next(one for one in page.explorer.traces[1].chunks if one.path == TEA)
    wb.selection.chunk = chunk
    assert page.explorer.asked_for == TEA
    assert page.chunks.held.path == TEA
    assert 'open aria-current="true"' in page.chunks.figure.value


def test_the_threshold_lab_follows_the_systems_and_the_right_answers(page: MemoryPage) -> None:
    before = page.lab
    page.explorer.question.value = "rooibos tea"
    page.explorer.target.value = TEA
    assert page.lab is before
    page.add_right_answer()
    assert page.right["rooibos tea"] == TEA
    assert page.lab is not None
    assert page.lab.outcome.hits.n == 2
    page.explorer.right.value = WORKAROUND.name
    assert page.lab.system.options == (SHIPPED.name, WORKAROUND.name)


def test_a_file_that_is_not_indexed_is_no_right_answer(page: MemoryPage) -> None:
    page.explorer.target.value = "memory/nowhere.md"
    page.add_right_answer()
    assert list(page.right.values()) == ["MEMORY.md"]


def test_labelled_questions_of_the_memory_are_used(toy: MemoryIndex) -> None:
    labelled = QuestionSet(questions=(Question(question="rooibos tea", target=TEA),))
    page = MemoryPage(toy, labelled, SYSTEMS)
    assert page.right == {}
    assert page.lab is not None
    assert page.lab.outcome.hits.n == 1


def test_a_bad_question_keeps_the_last_answer_and_says_why(page: MemoryPage) -> None:
    traces = page.explorer.traces
    page.explorer.question.value = "   "
    assert page.explorer.traces is traces
    assert "The question is empty" in page.explorer.sentence
    page.add_right_answer()
    assert len(page.right) == 1


def test_a_memory_without_words_is_refused(tmp_path: Path) -> None:
    with (
        world.build(tmp_path, {"memory/a.md": "…\n"}) as index,
        pytest.raises(InputError, match="no file with"),
    ):
        MemoryPage(index)


def test_hostile_names_and_notes_are_escaped(tmp_path: Path) -> None:
    note = "# Tea </pre></details><script>alert(1)</script>\nA cup of tea.\n"
    with world.build(tmp_path, {HOSTILE: note, "b.md": "bike"}) as index:
        chunks = FileChunks(index, HOSTILE)
        for html in (chunks.figure.value, chunks.status.value, html_table(chunks.table)):
            assert "<img" not in html
            assert "<script" not in html
        assert "&lt;script&gt;alert(1)" in chunks.figure.value


def test_a_file_that_is_not_indexed_leaves_the_last_one_and_says_so(toy: MemoryIndex) -> None:
    chunks = FileChunks(toy, TEA)
    with pytest.raises(InputError, match="no indexed file"):
        chunks.settings = {"file": "memory/nowhere.md"}
    assert chunks.held.path == TEA
    code = chunks.code
    exec(compile(code, "code", "exec"), {"index": toy})


def test_an_error_page_says_the_problem_and_the_remedy_and_escapes_them() -> None:
    shown = problem_page(InputError("No <b>memory</b>.", "Make one.")).value
    assert "No &lt;b&gt;memory&lt;/b&gt;." in shown
    assert "Make one." in shown
    assert "mistake in the workbench" in problem_page(KeyError("x")).value

"""The page of `workbench explore`, without a browser: what is asked and selected is seen everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench as wb
from tests import world
from workbench.errors import InputError
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import Question, QuestionSet, load_questions
from workbench.memory.index import MemoryIndex
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WORKAROUND
from workbench.views.html import html_table
from workbench_plugins.explore.chunks import FileChunks
from workbench_plugins.explore.page import Desk

SYSTEMS = {one.name: one for one in (SHIPPED, THREE_FIXES, WORKAROUND)}
TEA = "memory/tea.md"
HOSTILE = "<b>x</b>/<img src=x onerror=alert(1)>.md"


@pytest.fixture(autouse=True)
def nothing_selected() -> Iterator[None]:
    wb.selection.clear()
    yield
    wb.selection.clear()


@pytest.fixture
def desk(toy: MemoryIndex, tmp_path: Path) -> Desk:
    return Desk(toy, None, tmp_path / "explored.yaml", SYSTEMS)


def test_it_begins_with_a_question_from_the_memory_and_its_file(desk: Desk) -> None:
    assert desk.explorer.settings["question"] == "Memory Michael drinks rooibos after noon"
    assert desk.explorer.settings["target"] == "MEMORY.md"
    with pytest.raises(InputError, match="No right answer is known"):
        desk.lab()


def test_right_answers_grow_a_file_that_evaluate_reads(desk: Desk, toy: MemoryIndex, tmp_path: Path) -> None:
    desk.add_right_answer()
    desk.explorer.settings = {"question": "rooibos tea", "target": TEA, "right": WORKAROUND.name}
    said = desk.add_right_answer()
    saved = load_questions(tmp_path / "explored.yaml")
    assert [one.target for one in saved.questions] == ["MEMORY.md", TEA]
    found = evaluate(saved, [SHIPPED, WORKAROUND], toy)
    for one in found:
        assert f"{one.pipeline.name} {one.overall.hits} of 2" in said
    assert desk.lab().outcome.hits.n == 2
    again = Desk(toy, None, tmp_path / "explored.yaml", SYSTEMS)  # what was saved stays
    again.explorer.settings = {"question": "rooibos tea", "target": "MEMORY.md"}
    again.add_right_answer()
    assert [one.target for one in load_questions(tmp_path / "explored.yaml").questions] == ["MEMORY.md"] * 2


def test_a_file_that_is_not_indexed_is_no_right_answer(desk: Desk, tmp_path: Path) -> None:
    desk.explorer.settings = {"target": "memory/nowhere.md"}
    with pytest.raises(InputError, match=r"no file .* in the index"):
        desk.add_right_answer()
    assert not (tmp_path / "explored.yaml").exists()


def test_labelled_questions_of_the_memory_are_used(toy: MemoryIndex, tmp_path: Path) -> None:
    labelled = QuestionSet(questions=(Question(question="rooibos tea", target=TEA),))
    desk = Desk(toy, labelled, tmp_path / "explored.yaml", SYSTEMS)
    assert desk.lab().outcome.hits.n == 1


def test_a_memory_without_words_is_refused(tmp_path: Path) -> None:
    with (
        world.build(tmp_path, {"memory/a.md": "…\n"}) as index,
        pytest.raises(InputError, match="no file with"),
    ):
        Desk(index, None, tmp_path / "explored.yaml")


def test_hostile_names_and_notes_are_escaped(tmp_path: Path) -> None:
    note = "# Tea </pre></details><script>alert(1)</script>\nA cup of tea.\n"
    with world.build(tmp_path, {HOSTILE: note, "b.md": "bike"}) as index:
        chunks = FileChunks(index, HOSTILE, link=False)
        for html in (chunks.figure.value, chunks.status.value, html_table(chunks.table)):
            assert "<img" not in html
            assert "<script" not in html
        assert "&lt;script&gt;alert(1)" in chunks.figure.value


def test_a_file_that_is_not_indexed_leaves_the_last_one_and_says_so(toy: MemoryIndex) -> None:
    chunks = FileChunks(toy, TEA, link=False)
    with pytest.raises(InputError, match="no indexed file"):
        chunks.settings = {"file": "memory/nowhere.md"}
    assert chunks.held.path == TEA
    code = chunks.code
    exec(compile(code, "code", "exec"), {"index": toy})

"""Linked widgets: a click on a mark in one of them is seen in the others, and in Python."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import workbench as wb
from workbench.errors import InputError
from workbench.measure.evaluation import Evaluation, evaluate
from workbench.measure.missed import SurvivalStep
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.records import Chunk
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WORKAROUND
from workbench.views.living.selection import Selection
from workbench.views.widgets.survival import SurvivalChart
from workbench.views.widgets.threshold import ThresholdLab
from workbench_plugins.engines.widget import FusionLab
from workbench_plugins.explore.explorer import QuestionExplorer
from workbench_plugins.explore.microscope_widget import Microscope

QUESTION = "tenacity and persistence protocol"


@pytest.fixture(scope="module")
def evaluations(sample: MemoryIndex, questions: QuestionSet) -> list[Evaluation]:
    few = questions.model_copy(
        update={"questions": questions.questions[:6], "controls": questions.controls[:2]}
    )
    return evaluate(few, [SHIPPED, THREE_FIXES], sample)


@pytest.fixture(autouse=True)
def nothing_selected() -> Iterator[None]:
    wb.selection.clear()
    yield
    wb.selection.clear()


def test_a_clicked_candidate_is_selected_everywhere_and_in_python(sample: MemoryIndex) -> None:
    explorer = QuestionExplorer(sample, "rooibos tea")
    fusion, microscope = FusionLab(index=sample, question=QUESTION), Microscope(sample, QUESTION)
    best = explorer.traces[1].results[0]
    explorer.set_state({"side": "right", "chunk": best.chunk.id})
    assert wb.selection.values == ("rooibos tea", best.chunk, best.chunk.path, THREE_FIXES.name)
    assert (explorer.asked_for, explorer.explanations is not None) == (best.chunk.path, True)
    assert fusion.settings["question"] == microscope.settings["question"] == "rooibos tea"
    assert fusion.settings["watch"] == best.chunk.path
    assert fusion.settings["chunk"] == best.chunk.location


def test_a_click_in_the_fusion_lab_names_the_chunk_of_its_row(sample: MemoryIndex) -> None:
    fusion, explorer = FusionLab(index=sample, question=QUESTION), QuestionExplorer(sample, "rooibos tea")
    for one in fusion.ranking[2:4]:
        fusion.set_state({"chunk": one.id})
        assert wb.selection.chunk.location == one.id
        assert explorer.settings["question"] == QUESTION
        assert explorer.asked_for == wb.selection.file


def test_a_chunk_of_the_threshold_lab_s_list_is_selected_everywhere(
    sample: MemoryIndex, evaluations: list[Evaluation]
) -> None:
    lab, explorer = ThresholdLab(evaluations), QuestionExplorer(sample, "rooibos tea")
    trace = evaluations[0].asked[1].trace
    lab.set_state({"question": trace.question, "chunk": trace.chunks[0].id})
    assert wb.selection.chunk == trace.chunks[0]
    assert explorer.settings["question"] == trace.question


def test_a_bar_of_the_survival_chart_selects_its_system_and_a_question_lost_there(
    sample: MemoryIndex, evaluations: list[Evaluation]
) -> None:
    chart, lab = SurvivalChart(evaluations, sample), ThresholdLab(evaluations)
    [survival] = [one for one in chart.survivals if one.system == SHIPPED.name]
    lost = survival.lost(next(step for step in SurvivalStep if step and survival.lost(step)))[0]
    lab.settings = {"system": THREE_FIXES.name}
    chart.set_state({"system": SHIPPED.name, "question": lost.question})
    assert (wb.selection.question, wb.selection.file) == (lost.question, lost.target)
    assert (lab.settings["system"], lab.settings["question"]) == (SHIPPED.name, lost.question)
    assert f"“{lost.question}”, is lost" in chart.sentence


def test_what_is_typed_and_chosen_is_selected_too(sample: MemoryIndex) -> None:
    explorer, microscope = QuestionExplorer(sample, QUESTION), Microscope(sample, QUESTION)
    explorer.set_state({"question": "rooibos tea"})
    assert microscope.settings["question"] == "rooibos tea"
    explorer.set_state({"right": WORKAROUND.name})
    assert wb.selection.system == WORKAROUND.name
    explorer.set_state({"question": " "})
    assert wb.selection.question == "rooibos tea"


def test_an_expected_file_that_is_cleared_stays_away_when_the_next_question_is_asked(
    sample: MemoryIndex,
) -> None:
    explorer = QuestionExplorer(sample, "rooibos tea")
    explorer.set_state({"target": "memory/protocols/tenacity.md"})
    explorer.set_state({"target": ""})
    assert wb.selection.file == ""
    explorer.set_state({"question": QUESTION})
    assert explorer.asked_for == ""


def test_python_selects_and_a_widget_shows_what_it_has(sample: MemoryIndex) -> None:
    explorer = QuestionExplorer(sample, QUESTION)
    wb.selection.choose(system="bm-head", question="rooibos tea")
    assert explorer.settings["left"] == "bm-head"
    wb.selection.system = "no system of this widget"
    assert explorer.settings["left"] == "bm-head"
    chunk = explorer.traces[0].candidates[1].chunk
    wb.selection.chunk = chunk
    assert explorer.asked_for == chunk.path


def test_a_widget_leaves_and_joins_and_forms_groups(sample: MemoryIndex) -> None:
    here, alone = Microscope(sample, QUESTION), Microscope(sample, QUESTION, link=False)
    here.set_state({"question": "rooibos tea"})
    assert alone.settings["question"] == QUESTION
    alone.set_state({"question": "hub"})
    assert wb.selection.question == here.settings["question"] == "rooibos tea"
    alone.link = True
    wb.selection.question = "bike"
    assert alone.settings["question"] == "bike"
    here.link = alone.link = Selection()
    here.set_state({"question": "tea"})
    assert (alone.settings["question"], wb.selection.question) == ("tea", "bike")
    with pytest.raises(InputError, match="link cannot be 'page'"):
        here.link = "page"  # type: ignore[assignment]


def test_settings_from_python_change_one_widget_alone(sample: MemoryIndex) -> None:
    one, other = Microscope(sample, QUESTION), Microscope(sample, QUESTION)
    one.settings = {"question": "rooibos tea"}
    assert (other.settings["question"], wb.selection.question) == (QUESTION, "")


# a selection as a value

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


def test_what_cannot_be_selected_is_refused_by_name() -> None:
    chosen, known = Selection(), "question, chunk, file, system"
    for name, value, problem, remedy in (
        ("chunk", "memory/a.md:1-4", "chunk cannot be 'memory/a.md:1-4'", "trace.candidates"),
        ("file", None, "file cannot be None", "Give a text"),
        ("quesiton", "tea", "no 'quesiton'", known),
    ):
        with pytest.raises(InputError) as refused:
            chosen.choose(**{"question": "tea", name: value})
        assert (problem in refused.value.problem, remedy in refused.value.remedy) == (True, True)
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

"""What all widgets share: settings that are checked, a status line, a table, and code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from workbench.errors import InputError
from workbench.figures import INK
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import Question, QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import search
from workbench.systems.openclaw import SHIPPED
from workbench.tables import Table, html_table
from workbench.views.living.as_code import pipeline_code
from workbench.views.widgets.prediction import Prediction
from workbench.views.widgets.survival import SurvivalChart
from workbench.views.widgets.threshold import ThresholdLab
from workbench_plugins.diagnose.widgets import BlameChart, FixFinder, SweepMap
from workbench_plugins.engines.whose_fusion import Lists
from workbench_plugins.engines.widget import FusionLab
from workbench_plugins.explore.chunk_widget import FileChunks
from workbench_plugins.explore.explorer import QuestionExplorer
from workbench_plugins.explore.microscope_widget import Microscope
from workbench_plugins.reproduce.report_widget import ReportReader


def test_settings_can_be_set_in_part_and_read_back() -> None:
    lab = FusionLab()
    lab.settings = {"k": 10, "watch": "v1"}
    assert (lab.settings["k"], lab.settings["watch"], lab.settings["method"]) == (10, "v1", "rrf-60")


@pytest.mark.parametrize(
    ("values", "problem", "remedy"),
    [
        ({"kay": 10}, "no setting 'kay'", "It has method"),
        ({"method": "rrf"}, "method cannot be 'rrf'", "Choose one of: rrf-60"),
        ({"k": -1}, "k cannot be -1", "from 0 to 100"),
        ({"k": "ten"}, "k cannot be 'ten'", "from 0 to 100"),
        ({"k": float("nan")}, "k cannot be nan", "from 0 to 100"),
        ({"share": 0.5}, "share has no effect with the current settings", "Choose a method that uses it"),
        (
            {"question": "Who?"},
            "question has no effect with the current settings",
            "Choose a method that uses it",
        ),
    ],
)
def test_a_setting_that_cannot_be_is_refused_and_nothing_changes(
    values: dict[str, Any], problem: str, remedy: str
) -> None:
    lab = FusionLab()
    before = lab.settings
    with pytest.raises(InputError) as refused:
        lab.settings = {"min_score": 0.1, **values}
    assert problem in refused.value.problem
    assert remedy in refused.value.remedy
    assert lab.settings == before


def test_a_table_has_a_caption_and_headers_with_their_scope() -> None:
    html = html_table(Table("What <is>", ("name", "score"), (("a & b", "1"), ("c", "2"))))
    assert "<caption>What &lt;is&gt;</caption>" in html
    assert html.count('<th scope="col">') == html.count('<th scope="row">') == 2
    assert '<th scope="row">a &amp; b</th><td>1</td>' in html


def test_code_names_a_system_or_takes_it_from_the_evaluations() -> None:

    assert pipeline_code(SHIPPED) == ["pipeline = wb.system('openclaw-2026.2.13')"]
    given, made = pipeline_code(SHIPPED.asking(limit=3))
    assert given == "# `evaluations` are those that the widget was given."
    assert "one.pipeline for one in evaluations" in made


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("value", [NAN, INF, -1, "x", None, 10**400, [0.1]], ids=lambda one: repr(one)[:8])
def test_a_setting_refuses_what_is_no_number_of_its_span(value: Any) -> None:
    lab = FusionLab()
    before = lab.values
    with pytest.raises(InputError, match="min_score cannot be"):
        lab.min_score = value
    assert lab.values == before
    lab.min_score = np.float32(0.25)
    assert lab.min_score == 0.25


WRONG: dict[str, Callable[[], object]] = {
    "a score that is missing": lambda: FusionLab(({"a": NAN}, {"b": 1})),
    "a score that is a text": lambda: FusionLab(({"a": "x"}, {})),  # type: ignore[dict-item]
    "a score that is too large": lambda: FusionLab(({"a": 1e300}, {"a": 1})),
    "ids without scores": lambda: FusionLab((["a"], ["b"])),  # type: ignore[arg-type]
    "one list": lambda: FusionLab(({"a": 1},)),  # type: ignore[arg-type]
    "no list": lambda: FusionLab(None),  # type: ignore[arg-type]
    "no evaluation": lambda: ThresholdLab([]),
    "something else": lambda: ThresholdLab([1]),  # type: ignore[list-item]
    "no choice": lambda: Prediction("which?", []),
    "a choice twice": lambda: Prediction("which?", ["a", "a"]),
    "choices that are a text": lambda: Prediction("which?", "abc"),
    "a prediction without a question": lambda: Prediction(None, ["a"]),  # type: ignore[arg-type]
    "a number as choices": lambda: Prediction("which?", 7),  # type: ignore[arg-type]
    "no text": lambda: ReportReader(None),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", WRONG)
def test_a_widget_of_wrong_facts_is_refused_in_one_sentence(name: str) -> None:
    with pytest.raises(InputError) as error:
        WRONG[name]()
    assert len(error.value.problem) < 120


def test_a_widget_of_a_memory_is_refused_in_one_sentence_too(toy: MemoryIndex) -> None:
    every = [Question(question=f"tea {n}", target="tea.md") for n in range(2)]
    ([one], [two]) = (evaluate(QuestionSet(questions=every[:n]), [SHIPPED], toy) for n in (1, 2))
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: ThresholdLab(one), "This is no evaluation"),  # type: ignore[arg-type]
        (lambda: ThresholdLab([one, two]), "of different questions"),
        (lambda: SurvivalChart(one, toy), "This is no evaluation"),  # type: ignore[arg-type]
        (lambda: SurvivalChart([one, two], toy), "of different questions"),
        (lambda: FusionLab(index=toy, question=7), "question cannot be 7"),  # type: ignore[arg-type]
        (lambda: QuestionExplorer(toy, None), "question cannot be None"),  # type: ignore[arg-type]
        (lambda: QuestionExplorer(toy, "tea", systems=["bm-head"]), "not two systems"),
    ]
    for make, problem in wrong:
        with pytest.raises(InputError, match=problem):
            make()


@pytest.mark.parametrize(
    "lists", [({}, {}), ({"a": 1}, {}), ({"a": 1, "b": 1}, {"a": 0, "b": 0})], ids=["none", "one", "equal"]
)
@pytest.mark.parametrize("method", ["rrf-60", "weaviate-relative", "qdrant-dbsf"])
def test_lists_of_nothing_of_one_and_of_equal_scores_are_fused(lists: Lists, method: str) -> None:
    lab = FusionLab(lists, method=method)
    assert len(lab.table.rows) == len({*lists[0], *lists[1]})
    assert lab.sentence


AXES = "floor.floor=0:0.5:3", "fusion.vector=0:1:3"
TAKES_AN_INDEX: list[Callable[[Any, QuestionSet], object]] = [
    lambda index, questions: BlameChart(questions, index),
    lambda index, _: FileChunks(index, "memory/tea.md"),
    lambda index, _: FixFinder(index, "rooibos", "memory/tea.md"),
    lambda index, _: Microscope(index, "rooibos"),
    lambda index, _: QuestionExplorer(index, "rooibos"),
    lambda index, questions: SweepMap(SHIPPED, AXES, questions, index),
    lambda index, questions: evaluate(questions, [SHIPPED], index),
    lambda index, _: search("rooibos", SHIPPED, index),
]
TAKES_QUESTIONS: list[Callable[[MemoryIndex, Any], object]] = [
    lambda index, questions: BlameChart(questions, index),
    lambda index, questions: FixFinder(index, "rooibos", "memory/tea.md", questions),
    lambda index, questions: SweepMap(SHIPPED, AXES, questions, index),
    lambda index, questions: evaluate(questions, [SHIPPED], index),
]
QUESTIONS = QuestionSet(questions=(Question(question="rooibos", target="memory/tea.md"),))


@pytest.mark.parametrize("made", TAKES_AN_INDEX)
@pytest.mark.parametrize("index", [None, 3, [], "sample_memory"])
def test_what_is_no_open_index_is_refused_in_a_sentence(
    made: Callable[[Any, QuestionSet], object], index: Any
) -> None:
    with pytest.raises(InputError) as refused:
        made(index, QUESTIONS)
    assert refused.value.problem == f"{index!r} is not an open index."


@pytest.mark.parametrize("made", TAKES_QUESTIONS)
@pytest.mark.parametrize("questions", [3, [], "questions.yaml"])
def test_what_is_no_question_set_is_refused_in_a_sentence(
    made: Callable[[MemoryIndex, Any], object], questions: Any, toy: MemoryIndex
) -> None:
    with pytest.raises(InputError) as refused:
        made(toy, questions)
    assert refused.value.problem == f"{questions!r} is not a question set."


@pytest.mark.parametrize(
    ("questions", "why"),
    [
        ((), "and this list is empty."),
        ([], "and this list is empty."),
        (None, "and nothing stands after `questions`."),
        ("Who?", "not 'Who\\?'."),
    ],
)
def test_a_question_set_without_questions_is_refused_in_a_sentence(questions: Any, why: str) -> None:
    with pytest.raises(InputError, match=f"A question set needs a list of questions, {why}"):
        QuestionSet(questions=questions)
    with pytest.raises(InputError, match="`controls` is a list of questions, not None"):
        QuestionSet(questions=QUESTIONS.questions, controls=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("axes", [None, "floor.floor=0:1:3", AXES[:1]])
def test_a_map_without_two_axes_is_refused(axes: Any, toy: MemoryIndex) -> None:
    with pytest.raises(InputError, match="A map has two axes"):
        SweepMap(SHIPPED, axes, QUESTIONS, toy)


def test_an_explanation_needs_the_path_of_a_file(toy: MemoryIndex) -> None:
    with pytest.raises(InputError, match="None is not the path of a file"):
        explain(search("rooibos", SHIPPED, toy), toy, None)  # type: ignore[arg-type]


def test_a_widget_brings_the_look_of_figures_to_the_page_of_a_notebook() -> None:
    grey = "rgb({}, {}, {})".format(*bytes.fromhex(INK.removeprefix("#")))
    assert f'text[style*="fill: {grey}"]' in Prediction("Which leg?", ["one", "both"])._css

"""The threshold lab: its numbers, its figure and its words are those of a search with that floor."""

from __future__ import annotations

import json
import re
from contextlib import redirect_stdout
from io import StringIO

import ipywidgets
import numpy as np
import pytest

from workbench.errors import InputError
from workbench.measure.evaluation import Evaluation, evaluate
from workbench.measure.questions import QuestionSet
from workbench.measure.reliability import reliability
from workbench.memory.index import MemoryIndex
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WORKAROUND
from workbench.views.widgets.threshold import ThresholdLab
from workbench.views.widgets.threshold_state import score_axis
from workbench_plugins.recommended.pipelines import RECOMMENDED

RANKS = SYSTEMS["engine-rrf-60"]


@pytest.fixture(scope="module")
def evaluations(sample: MemoryIndex, questions: QuestionSet) -> list[Evaluation]:
    return evaluate(questions, [SHIPPED, THREE_FIXES, WORKAROUND, RANKS], sample)


@pytest.fixture
def lab(evaluations: list[Evaluation]) -> ThresholdLab:
    return ThresholdLab(evaluations)


def test_the_widget_s_numbers_are_those_of_its_scores(lab: ThresholdLab) -> None:
    lab.min_score = 0.2
    assert lab.settings["min_score"] == 0.2
    assert f"At 0.20, {lab.scores.hits(0.2)} of 57 questions hit" in lab.sentence
    assert (lab.hits, lab.outcome.silent.hits) == (lab.scores.hits(0.2), lab.scores.silent(0.2))


def test_what_moves_on_the_page_moves_in_python(lab: ThresholdLab) -> None:
    lab.set_state({"min_score": 0.25})
    assert lab.settings["min_score"] == 0.25
    lab.set_state({"system": WORKAROUND.name})
    assert lab.evaluation.pipeline.name == WORKAROUND.name


def test_it_begins_with_a_question_whose_file_is_dropped(lab: ThresholdLab) -> None:
    (asked,) = (one for one in lab.evaluation.asked if one.question.question == lab.settings["question"])
    assert not asked.hit
    assert asked.question.target in {chunk.path for chunk in asked.trace.chunks}


def test_a_moved_parameter_is_that_of_another_search(lab: ThresholdLab, sample: MemoryIndex) -> None:
    lab.settings = {"moved": {"limit.count": 2}}
    assert lab.evaluation.pipeline.limit == 2
    assert all(len(one.trace.results) <= 2 for one in lab.evaluation.asked)
    assert "limit.count=2" in lab.code


def test_the_page_asks_for_another_search_and_hears_what_cannot_be(
    lab: ThresholdLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.set_state({"moved": {"limit.count": 2}})
    lab._handle_custom_msg({"ask": {}}, [])
    steps = {one["slot"]: one for one in lab.data["systems"][0]["pipeline"]["steps"]}
    assert steps["limit"]["parameters"]["count"]["value"] == 2
    told: list[dict[str, str]] = []
    sent: list[str] = []
    monkeypatch.setattr(lab, "send", told.append)
    monkeypatch.setattr(lab, "send_state", sent.extend)
    lab.set_state({"moved": {"limit.count": -3}})
    assert "limit.count is -3, out of its range" in told[0]["problem"]
    assert (sent, lab.moved) == (["moved"], {"limit.count": 2})


def test_a_lab_stands_beside_widgets_of_ipywidgets_and_is_linked_to_them(
    lab: ThresholdLab, evaluations: list[Evaluation]
) -> None:
    number, other = ipywidgets.FloatText(), ThresholdLab(evaluations, link=False)
    box = ipywidgets.HBox([lab, ipywidgets.VBox([other, number])])
    assert box.children[0] is lab
    ipywidgets.link((lab, "min_score"), (number, "value"))
    ipywidgets.jslink((lab, "min_score"), (other, "min_score"))
    number.value = 0.2
    assert (lab.min_score, lab.value, lab.hits) == (0.2, 0.2, lab.scores.hits(0.2))
    heard: list[float] = []
    ipywidgets.interactive_output(lambda one: heard.append(one), {"one": lab})
    lab.value = 0.3
    assert (number.value, heard) == (0.3, [0.2, 0.3])
    steered: list[float] = []
    ipywidgets.interactive(lambda floor: steered.append(floor), floor=lab).update()
    lab.min_score = 0.4
    assert list(dict.fromkeys(steered)) == [0.3, 0.4]
    seen: list[str] = []
    lab.observe(lambda change: seen.append(change["new"]), "system")
    with lab.hold_sync():
        lab.system = WORKAROUND.name
    assert (seen, lab.min_score) == ([WORKAROUND.name], 0.25)


@pytest.mark.parametrize(
    ("name", "value", "problem", "remedy"),
    [
        ("min_score", 7, "min_score cannot be 7", "It goes from 0 to 1"),
        ("min_score", "high", "min_score cannot be 'high'", "It goes from 0 to 1"),
        ("min_scroe", 0.2, "no setting 'min_scroe'; the nearest are min_score", "It has system, question"),
        ("min_score", True, "min_score cannot be True", "It goes from 0 to 1"),
        ("min_score", np.True_, "min_score cannot be True", "It goes from 0 to 1"),
        ("min_score", "0.2", "min_score cannot be '0.2'", "It goes from 0 to 1"),
        ("min_score", None, "min_score cannot be None", "It goes from 0 to 1"),
        ("min_score", np.nan, "min_score cannot be nan", "It goes from 0 to 1"),
        ("chunk", b"a", "chunk cannot be b'a'", "the nearest are"),
        ("chunk", "nonsense", "chunk cannot be 'nonsense'", "the nearest are"),
        ("moved", {"fusion.vector": "0.5"}, "fusion.vector cannot be '0.5'", "It is 0.7 now"),
        ("moved", {"fusion.vector": True}, "fusion.vector cannot be True", "It is 0.7 now"),
        ("moved", {"fusion.vector": None}, "fusion.vector cannot be None", "It is 0.7 now"),
        ("moved", {"fusion.vector": [0.5]}, "fusion.vector cannot be [0.5]", "It is 0.7 now"),
        ("system", "openclaw", "system cannot be 'openclaw'", SHIPPED.name),
        ("moved", {"floor.nosuch": 1}, "no setting 'floor.nosuch'", "fusion.vector"),
        ("moved", {"": 1}, "no setting ''", "fusion.vector"),
        ("moved", {"floor.floor": 0.1}, "floor.floor is not moved here", "Set min_score"),
    ],
)
def test_a_wrong_name_or_value_is_refused_with_what_is_allowed(
    lab: ThresholdLab, name: str, value: object, problem: str, remedy: str
) -> None:
    before = lab.settings
    for assign in (lambda: setattr(lab, name, value), lambda: lab.take({"chunk": "x", name: value})):
        with pytest.raises(InputError) as refused:
            assign()
        assert (problem in refused.value.problem, remedy in refused.value.remedy) == (True, True)
    assert lab.settings == before


def test_a_number_of_numpy_is_taken_as_the_number(lab: ThresholdLab) -> None:
    lab.settings = {"min_score": np.float64(0.25), "moved": {"limit.count": np.int64(3)}}
    assert (lab.min_score, lab.moved) == (0.25, {"limit.count": 3})
    assert json.loads(json.dumps(lab.settings)) == lab.settings


def test_the_data_are_json_without_gaps(lab: ThresholdLab) -> None:
    assert json.dumps(lab.data, allow_nan=False)


def test_what_a_leg_cannot_reach_is_said_with_its_arithmetic(lab: ThresholdLab) -> None:
    said = "eyword leg alone: at most 0.7 × 0 + 0.3 × 1 = 0.300 < 0.350, out of reach"
    assert said in lab.sentence
    lab.settings = {"min_score": 0.25}
    assert "= 0.300 ≥ 0.250" in lab.sentence


def test_another_system_brings_its_own_floor_and_reach(
    lab: ThresholdLab, evaluations: list[Evaluation]
) -> None:
    lab.system = WORKAROUND.name
    assert lab.min_score == 0.25
    assert list(lab.reaches) == ["vector"]
    assert "No keyword leg." in lab.sentence
    assert lab.hits == evaluations[2].overall.hits


def test_a_scale_of_its_own_brings_an_axis_of_its_own(
    lab: ThresholdLab, evaluations: list[Evaluation]
) -> None:
    lab.settings = {"system": RANKS.name}
    axis = score_axis(lab.scores)
    assert lab.spans["min_score"] == [axis.low, axis.high]
    assert 0.03 < axis.high < 0.05
    assert lab.data["systems"][3]["span"] == [axis.low, axis.high]
    assert lab.hits == evaluations[3].overall.hits
    assert "without a floor" in lab.table.header


def test_setting_a_system_and_a_floor_together_takes_both(lab: ThresholdLab) -> None:
    lab.settings = {"min_score": 0.4, "system": WORKAROUND.name}
    assert (lab.settings["system"], lab.settings["min_score"]) == (WORKAROUND.name, 0.4)
    with pytest.raises(InputError, match="min_score cannot be"):
        lab.settings = {"system": RANKS.name, "min_score": 0.4}
    assert (lab.settings["system"], lab.settings["min_score"]) == (WORKAROUND.name, 0.4)


def test_the_table_says_what_the_figure_shows(lab: ThresholdLab) -> None:
    lab.settings = {"min_score": 0.25}
    rows = {row[0]: row[1:] for row in lab.table.rows}
    assert lab.table.header[1:] == ("at 0.25", "its own floor: 0.35")
    assert rows["questions with a hit"] == tuple(f"{lab.scores.hits(one)} of 57" for one in (0.25, 0.35))
    assert rows["unanswerable, nothing returned"][0] == f"{lab.outcome.silent.hits} of 20"


def test_its_code_asks_again_and_finds_the_same(
    lab: ThresholdLab, sample: MemoryIndex, questions: QuestionSet
) -> None:
    lab.settings = {"system": THREE_FIXES.name, "min_score": 0.45}
    names: dict[str, object] = {"index": sample, "questions": questions}
    with redirect_stdout(StringIO()):
        exec(lab.code, names)
    again = names["evaluated"]
    assert isinstance(again, Evaluation)
    assert (again.overall, again.silent) == (lab.outcome.hits, lab.outcome.silent)
    lab.min_score = 0.21400000000000008
    assert "min_score=0.214)" in lab.code


def test_a_widget_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="no evaluation"):
        ThresholdLab([])


# The reliability diagram below it


@pytest.fixture(scope="module")
def believed(sample: MemoryIndex, questions: QuestionSet) -> list[Evaluation]:
    return evaluate(questions, [SHIPPED, RECOMMENDED], sample)


def test_the_diagram_is_there_for_a_system_that_states_a_probability(believed: list[Evaluation]) -> None:
    lab, found = ThresholdLab(believed), reliability(believed[1])
    without, with_one = (one["diagram"] for one in lab.data["systems"])
    assert without is None
    _, points = with_one["figure"]["data"]
    assert points["y"] == [one.answerable.rate for one in found.bins]
    assert "shapes" not in with_one["figure"]["layout"]  # the page draws the floor where it is
    assert sum(map(int, re.findall(r" of (\d+)", with_one["figure"]["layout"]["meta"]["words"]))) == 77
    assert "Brier score" in with_one["sentence"]


@pytest.mark.parametrize("system", list(SYSTEMS))
def test_a_floor_stands_on_the_axis_of_the_number_that_it_cuts(
    system: str, sample: MemoryIndex, questions: QuestionSet
) -> None:
    few = questions.model_copy(update={"questions": questions.questions[:2], "controls": ()})
    (evaluation,) = evaluate(few, [SYSTEMS[system]], sample)
    (entry,) = ThresholdLab([evaluation]).data["systems"]
    (cut,) = (one for one in entry["pipeline"]["steps"] if f"{one['slot']}.floor" == entry["floor"])
    assert cut["thresholds"][0]["value"] == ["column", entry["column"]]


def test_the_axis_names_the_number_that_the_floor_looks_at(believed: list[Evaluation]) -> None:
    data = ThresholdLab(believed).data
    assert [one["axis"] for one in data["systems"]] == [
        "fused score (no unit)",
        "stated probability of an answer",
    ]


def test_a_selected_chunk_and_question_are_marked(believed: list[Evaluation]) -> None:
    lab = ThresholdLab(believed, link=False)
    trace = believed[1].asked[3].trace
    lab.selection.choose(system=RECOMMENDED.name, question=trace.question, chunk=trace.chunks[0])
    assert lab.settings["question"] == trace.question
    assert lab.settings["chunk"] == trace.chunks[0].id


@pytest.mark.parametrize(
    "name", [SHIPPED.name, RECOMMENDED.name, "openclaw-2026.2.13+or+rrf+minmax+evidence"]
)
def test_the_figure_has_one_mark_for_each_thing_that_the_floor_compares(
    name: str, sample: MemoryIndex, questions: QuestionSet
) -> None:
    lab = ThresholdLab(evaluate(questions, [SYSTEMS[name]], sample), link=False)
    lab.distribution = "strip"
    words = lab.figure.words
    candidates = sum(len(one.trace.chunks) for one in lab.evaluation.asked)
    marks = sum(
        map(int, re.findall(r"\b(?:right file|other files|answerable questions)\D+\d+ of (\d+)", words))
    )
    assert marks == (57 if name == RECOMMENDED.name else candidates)

"""Words, tables, figures and widgets say what the numbers are."""

from __future__ import annotations

import json
import re

import pytest
from rich.console import Console

from workbench.lab.judgments import QuestionSet
from workbench.lab.metrics import Evaluation, evaluate
from workbench.memory.index import MemoryIndex
from workbench.records import InputError
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import search
from workbench.systems.openclaw import FIXED, SHIPPED, WORKAROUND
from workbench.views.data import explanation_data, trace_data
from workbench.views.figures import threshold_figure
from workbench.views.text import diff_text, explanation_text, view
from workbench.views.widgets import ThresholdLab


def printed(thing: object) -> str:
    console = Console(width=140, record=True, file=None, highlight=False)
    with console.capture() as capture:
        console.print(view(thing))
    return capture.get()


@pytest.fixture(scope="module")
def evaluations(sample: MemoryIndex, questions: QuestionSet) -> list[Evaluation]:
    return evaluate(questions, [SHIPPED, FIXED, WORKAROUND], sample)


def test_a_search_shows_what_it_asked_and_what_it_dropped(toy: MemoryIndex) -> None:
    text = printed(search("rooibos tea", SHIPPED, toy))
    assert '"rooibos" AND "tea"' in text
    assert "memory/tea.md:1-3" in text
    assert "dropped by the floor" in text


def test_an_empty_answer_names_the_nearest_chunk_and_the_floor(sample: MemoryIndex) -> None:
    text = printed(search("how should I evaluate if a claim is actually true", SHIPPED, sample))
    assert "Nothing returned." in text
    assert "falsification-first.md:1-15: 0.349, below the floor of 0.350" in text


def test_a_search_that_no_leg_answers_says_so(toy: MemoryIndex) -> None:
    assert "no leg brought a candidate" in printed(search("zebra", SHIPPED, toy))


def test_an_explanation_says_which_words_are_missing_and_the_formula(toy: MemoryIndex) -> None:
    trace = search("tea for the hub", SHIPPED, toy)
    text = explanation_text(explain(trace, toy, "memory/tea.md"))
    assert "it lacks “for”, “hub”" in text
    assert re.search(r"score = 0\.7 × [\d.]+ \+ 0\.3 × 0 = [\d.]+", text)


def test_an_explanation_knows_a_file_that_was_never_indexed(toy: MemoryIndex) -> None:
    trace = search("tea", SHIPPED, toy)
    assert "NEVER INDEXED" in explanation_text(explain(trace, toy, "memory/none.md"))


def test_traces_and_explanations_are_plain_json(toy: MemoryIndex) -> None:
    trace = search("rooibos tea", FIXED, toy)
    data = json.loads(json.dumps(trace_data(trace), allow_nan=False))
    assert [one["path"] for one in data["results"]] == [one.chunk.path for one in trace.results]
    assert len(data["results"]) + len(data["dropped"]) == len(trace.chunks)
    json.dumps(explanation_data(explain(trace, toy, "memory/bike.md")), allow_nan=False)


def test_evaluations_print_hits_intervals_and_kinds(evaluations: list[Evaluation]) -> None:
    text = printed(evaluations)
    for one in evaluations:
        assert f"{one.overall.hits}/57" in text
        assert f"{one.overall.rate:.1%}" in text
    assert "cross domain" in text


def test_a_diff_prints_only_what_differs() -> None:
    text = diff_text(SHIPPED.diff(FIXED))
    assert text.count("−") == text.count("  + ") == 3
    assert diff_text(SHIPPED.diff(SHIPPED)) == "no difference"


def test_the_figure_counts_every_candidate(evaluations: list[Evaluation]) -> None:
    lab = ThresholdLab(evaluations)
    figure = threshold_figure(lab.scores, lab.reaches)
    counted = {
        trace.name: sum(trace.y) for trace in figure.data if trace.name in ("target", "other", "control")
    }
    assert counted == {
        "target": lab.scores.target.size,
        "other": lab.scores.other.size,
        "control": lab.scores.control.size,
    }


def test_the_floor_line_and_the_fading_follow_the_floor(evaluations: list[Evaluation]) -> None:
    lab = ThresholdLab(evaluations)
    lab.floor.value = 0.2
    lines = [trace for trace in lab.figure.data if trace.name.startswith("floor")]
    assert [set(line.x) for line in lines] == [{0.2}] * 4
    bars = next(trace for trace in lab.figure.data if trace.name == "target")
    assert all((opacity == 1.0) == (x >= 0.2) for x, opacity in zip(bars.x, bars.marker.opacity, strict=True))


def test_the_widget_s_numbers_are_those_of_its_scores(evaluations: list[Evaluation]) -> None:
    lab = ThresholdLab(evaluations)
    lab.box.value = 0.2
    assert lab.floor.value == 0.2
    assert lab.settings == {"system": SHIPPED.name, "min_score": 0.2}
    assert f"{lab.scores.hits(0.2)} of 57 questions hit" in lab.status.value
    assert lab.hits == lab.scores.hits(0.2)


def test_another_system_brings_its_own_floor_and_reach(evaluations: list[Evaluation]) -> None:
    lab = ThresholdLab(evaluations)
    lab.system.value = WORKAROUND.name
    assert lab.floor.value == 0.25
    assert [one.leg for one in lab.reaches] == ["vector"]
    assert "no keyword leg" in lab.figure.data[0].text
    assert lab.hits == evaluations[2].overall.hits


def test_a_widget_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="no evaluation"):
        ThresholdLab([])

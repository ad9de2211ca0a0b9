"""The question explorer shows two searches as they were: fates, positions, formulas, and why not."""

from __future__ import annotations

from html import unescape
from itertools import product
from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.records import Trace
from workbench.retrieval.explain import Explanation, Fate, explain, fate_of
from workbench.retrieval.pipeline import search
from workbench.systems.openclaw import SHIPPED, THREE_FIXES
from workbench.systems.registry import SYSTEMS
from workbench.views.text import explanation_text
from workbench.views.widgets.panel import status_html
from workbench_plugins.cases.model import load_case
from workbench_plugins.cases.running import run_case
from workbench_plugins.explore.explorer import (
    LOOKS,
    MOST_DRAWN,
    QuestionExplorer,
    beside,
    explorer_figure,
    scored,
)

QUESTION = "tenacity and persistence protocol"
TARGET = "memory/protocols/tenacity.md"


@pytest.fixture(scope="module")
def traces(sample: MemoryIndex) -> tuple[Trace, Trace]:
    return search(QUESTION, SHIPPED, sample), search(QUESTION, THREE_FIXES, sample)


@pytest.fixture
def explorer(sample: MemoryIndex) -> QuestionExplorer:
    return QuestionExplorer(sample, QUESTION, TARGET)


def dots(figure: object, fate: Fate, side: str) -> list[tuple[float, int]]:
    (trace,) = [one for one in figure.data if one.name == f"{fate} ({side})"]  # type: ignore[attr-defined]
    return list(zip(trace.x, trace.y, strict=True))


def test_every_candidate_is_drawn_at_its_score_and_position_with_its_fate(
    traces: tuple[Trace, Trace],
) -> None:
    figure = explorer_figure(*traces)
    for side, trace in zip(("left", "right"), traces, strict=True):
        for fate in LOOKS:
            expected = [(one.score, one.position) for one in trace.candidates if fate_of(one) is fate]
            assert dots(figure, fate, side) == expected
    assert len(dots(figure, Fate.RETURNED, "right")) == len(traces[1].results) == 6
    for part in ("color", "symbol"):
        assert len({look[part] for look in LOOKS.values()}) == len(LOOKS)


def test_the_floor_is_a_line_where_there_is_one(traces: tuple[Trace, Trace], sample: MemoryIndex) -> None:
    without = search(QUESTION, SYSTEMS["engine-rrf-60"], sample)
    lines = {one.name: one for one in explorer_figure(traces[0], without).data}
    assert set(lines["floor (left)"].x) == {0.35}
    assert not lines["floor (right)"].x


def test_a_line_joins_the_positions_of_the_same_chunk(traces: tuple[Trace, Trace]) -> None:
    left, right = ({one.chunk.id: one.position for one in trace.candidates} for trace in traces)
    (line,) = [one for one in explorer_figure(*traces).data if one.name == "in both"]
    ends = sorted(zip(line.y[0::3], line.y[1::3], strict=True))
    assert ends == sorted((left[key], right[key]) for key in left.keys() & right.keys())
    assert ends


def test_the_file_in_question_has_rings_and_a_line_of_its_own(sample: MemoryIndex) -> None:
    found = [search("rooibos tea", pipeline, sample) for pipeline in (SHIPPED, THREE_FIXES)]
    target = found[1].results[0].chunk.path
    named = {one.name: one for one in explorer_figure(*found, target).data}
    assert list(named["file (right)"].y) == [
        one.position for one in found[1].candidates if one.chunk.path == target
    ]
    joined = [one for one, other in beside(*found) if one and other and one.chunk.path == target]
    assert len(named["in both, in the chosen file"].y) == 3 * len(joined) > 0


def test_every_candidate_stands_once_beside_another(sample: MemoryIndex) -> None:
    found = [search(QUESTION, SYSTEMS[name], sample) for name in ("openclaw-2026.2.13", "bm-head", "am-205")]
    for left, right in product(found, repeat=2):
        pairs = beside(left, right)
        assert [one.position for one, _ in pairs if one] == [one.position for one in left.candidates]
        assert sorted(one.position for _, one in pairs if one) == [one.position for one in right.candidates]
        assert all(one.chunk.path == other.chunk.path for one, other in pairs if one and other)
        assert any(one and other for one, other in pairs)


@pytest.mark.parametrize("name", SYSTEMS)
def test_any_system_can_stand_on_either_side(sample: MemoryIndex, name: str) -> None:
    found, shipped = search(QUESTION, SYSTEMS[name], sample), search(QUESTION, SHIPPED, sample)
    figure = explorer_figure(found, shipped, TARGET)
    count = sum(len(dots(figure, fate, "left")) for fate in LOOKS)
    assert count == sum(scored(found, one) for one in found.candidates[:MOST_DRAWN])


def test_what_is_dropped_before_it_has_a_score_is_in_the_table_only(sample: MemoryIndex) -> None:
    explorer = QuestionExplorer(sample, QUESTION, systems=("bm-head", SHIPPED.name))
    left = explorer.traces[0]
    early = [one for one in left.candidates if one.score == 0]
    assert early
    points = [point for fate in LOOKS for point in dots(explorer.figure, fate, "left")]
    assert sorted(points) == sorted((one.score, one.position) for one in left.candidates if one.score)
    assert f"bm-head drops {len(early)} before they have a score" in explorer.sentence
    assert sum(row[1].endswith("– (dropped before)") for row in explorer.table.rows) == len(early)


def test_the_sentence_counts_fates_and_says_what_became_of_the_file(explorer: QuestionExplorer) -> None:
    assert f"{SHIPPED.name} returns 0 of 24 candidates (24 below the floor)." in explorer.sentence
    assert f"{THREE_FIXES.name} returns 6 of" in explorer.sentence
    assert f"{TARGET} is beyond the pool on the left, below the floor on the right." in explorer.sentence


def test_why_not_is_the_explanation_of_each_search(explorer: QuestionExplorer, sample: MemoryIndex) -> None:
    for trace in explorer.traces:
        assert explanation_text(explain(trace, sample, TARGET)) in unescape(explorer.why.value)


def test_the_table_has_every_candidate_with_its_formula_and_fate(explorer: QuestionExplorer) -> None:
    left, right = explorer.traces
    assert len(explorer.table.rows) == len(beside(left, right))
    first = left.candidates[0]
    place, score, fate, *_ = explorer.table.rows[0]
    assert (place, fate) == (first.chunk.place, "below the floor")
    assert score == f"1. 0.7 × {first.numbers['vector_score']:.4g} + 0.3 × 0 = {first.score:.4g}"
    fates = [row[2] for row in explorer.table.rows]
    assert fates.count("no candidate") == len(explorer.table.rows) - len(left.candidates)


def test_settings_move_the_traces_the_figure_and_the_words(explorer: QuestionExplorer) -> None:
    explorer.settings = {"question": "rooibos tea", "right": "bm-head", "target": ""}
    assert [trace.system for trace in explorer.traces] == [SHIPPED.name, "bm-head"]
    assert {trace.question for trace in explorer.traces} == {"rooibos tea"}
    assert explorer.explanations is None
    assert "<pre" not in explorer.why.value
    assert explorer.figure.layout.xaxis3.title.text == "score: bm-head"
    fresh = explorer_figure(*explorer.traces)
    assert [tuple(one.y or ()) for one in explorer.figure.data] == [tuple(one.y or ()) for one in fresh.data]


def test_a_file_that_is_not_indexed_is_said_in_the_status_line(explorer: QuestionExplorer) -> None:
    explorer.target.value = "memory/none.md"
    assert "There is no file 'memory/none.md'; the nearest are memory/" in explorer.sentence
    assert explorer.status.value == status_html(explorer.sentence)
    assert "NOT IN THE INDEX" in explorer.why.value


def test_an_empty_question_is_refused_and_the_last_answer_stays(explorer: QuestionExplorer) -> None:
    before = explorer.traces
    explorer.question.value = ""
    assert "The question is empty." in explorer.status.value
    assert explorer.traces is before
    explorer.question.value = "tea"
    assert explorer.problem is None
    assert explorer.traces[0].question == "tea"


@pytest.mark.parametrize("wrong", [{"question": " "}, {"left": "openclaw"}, {"systems": "x"}, {"target": 3}])
def test_settings_are_taken_all_or_none(explorer: QuestionExplorer, wrong: dict[str, object]) -> None:
    before = explorer.settings
    with pytest.raises(InputError):
        explorer.settings = {"right": "bm-head"} | wrong
    assert explorer.settings == before
    assert explorer.problem is None


def test_pipelines_of_one_s_own_can_be_compared(sample: MemoryIndex) -> None:
    with pytest.raises(InputError, match="nosuch"):
        QuestionExplorer(sample, QUESTION, systems=("nosuch", SHIPPED.name))
    own = {"strict": SHIPPED, "lenient": SHIPPED.asking(min_score=0.1)}
    explorer = QuestionExplorer(sample, QUESTION, systems=("strict", "lenient"), pipelines=own)
    assert [len(trace.results) for trace in explorer.traces] == [0, 6]
    names: dict[str, object] = {"index": sample, "pipelines": own}
    exec(explorer.code, names)
    assert names["fates"] == _fates(explorer)


def test_the_code_gives_the_widget_s_numbers(explorer: QuestionExplorer, sample: MemoryIndex) -> None:
    names: dict[str, object] = {"index": sample}
    exec(explorer.code, names)
    assert names["fates"] == _fates(explorer)
    explanations = names["explanations"]
    assert isinstance(explanations, list)
    assert explorer.explanations is not None
    assert [_told(one) for one in explanations] == [_told(one) for one in explorer.explanations]


def _fates(explorer: QuestionExplorer) -> list[dict[str, Fate]]:
    return [{one.chunk.id: fate_of(one) for one in trace.candidates} for trace in explorer.traces]


def _told(one: Explanation) -> str:
    return explanation_text(one, chunks=99)


# saving the search as a case beside the notebook


def test_the_button_saves_the_search_that_misses_the_file_and_says_where(
    toy: MemoryIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    widget = QuestionExplorer(toy, "rooibos <b>tea</b>", "memory/server.md", link=False)
    widget.save.click()
    widget.save.click()
    files = sorted(tmp_path.iterdir())
    assert [one.name for one in files] == ["rooibos-b-tea-b-2.case.yaml", "rooibos-b-tea-b.case.yaml"]
    assert str(files[0]) in widget.saved.value
    run = run_case(load_case(files[1]).case)
    assert (run.holds, run.as_observed, run.pipeline.name) == (False, True, "openclaw-2026.2.13")
    widget.settings = {"target": ""}
    widget.save.click()
    assert "A case needs the file that you expect" in widget.saved.value
    assert len(list(tmp_path.iterdir())) == 2

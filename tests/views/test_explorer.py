"""The question explorer shows two searches as they were: fates, positions, formulas, and why not."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.records import Fate, Trace
from workbench.retrieval.explain import Explanation, explain
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import SHIPPED, THREE_FIXES
from workbench_plugins.cases.model import load_case
from workbench_plugins.cases.running import run_case
from workbench_plugins.explore.explorer import QuestionExplorer
from workbench_plugins.explore.explorer_state import paired_candidates

QUESTION = "tenacity and persistence protocol"
TARGET = "memory/protocols/tenacity.md"


@pytest.fixture(scope="module")
def traces(sample: MemoryIndex) -> tuple[Trace, Trace]:
    return search(QUESTION, SHIPPED, sample), search(QUESTION, THREE_FIXES, sample)


@pytest.fixture
def explorer(sample: MemoryIndex) -> QuestionExplorer:
    return QuestionExplorer(sample, QUESTION, TARGET)


def test_every_candidate_stands_once_beside_another(sample: MemoryIndex) -> None:
    found = [search(QUESTION, SYSTEMS[name], sample) for name in ("openclaw-2026.2.13", "bm-head", "am-205")]
    for left, right in product(found, repeat=2):
        pairs = paired_candidates(left, right)
        assert [one.position for one, _ in pairs if one] == [one.position for one in left.candidates]
        assert sorted(one.position for _, one in pairs if one) == [one.position for one in right.candidates]
        assert all(one.chunk.path == other.chunk.path for one, other in pairs if one and other)
        assert any(one and other for one, other in pairs)


@pytest.mark.parametrize("name", SYSTEMS)
def test_any_system_can_stand_on_either_side(sample: MemoryIndex, name: str) -> None:
    explorer = QuestionExplorer(sample, QUESTION, TARGET, systems=(name, SHIPPED.name))
    assert json.dumps(explorer.data, allow_nan=False)
    assert [trace.system for trace in explorer.traces] == [name, SHIPPED.name]


def test_the_page_has_every_candidate_and_the_stage_that_dropped_it(explorer: QuestionExplorer) -> None:
    data = explorer.data
    for side, trace in zip(data["sides"], explorer.traces, strict=True):
        (given,) = side["traces"]
        assert [data["chunks"][place]["id"] for place in given["rows"]] == [one.id for one in trace.chunks]
    assert [one["column"] for one in data["sides"]] == ["score", "score"]


def test_the_usual_systems_come_first_and_each_stands_once(explorer: QuestionExplorer) -> None:
    names = [name for group in explorer.data["groups"] for name in group["names"]]
    assert names[:2] == [SHIPPED.name, THREE_FIXES.name]
    assert sorted(names) == sorted(SYSTEMS)


def test_what_is_dropped_before_it_has_a_score_is_said(sample: MemoryIndex) -> None:
    explorer = QuestionExplorer(sample, QUESTION, systems=("bm-head", SHIPPED.name))
    early = [one for one in explorer.traces[0].candidates if one.score == 0]
    assert early
    assert f"bm-head drops {len(early)} before they have a score" in explorer.sentence
    assert sum(row[1].endswith("– (dropped before)") for row in explorer.table.rows) == len(early)


def test_the_sentence_says_what_became_of_the_file_or_else_counts_fates(explorer: QuestionExplorer) -> None:
    left, right = explorer.explanations or ()
    assert explorer.sentence.startswith(f"In {SHIPPED.name}, {TARGET} is not returned: ")
    assert f"In {THREE_FIXES.name}, it is not returned: " in explorer.sentence
    for one in (left, right):
        assert one.headline[1:] in explorer.sentence
    explorer.target = ""
    assert f"{SHIPPED.name} returns 0 of 24 candidates (24 below the floor)." in explorer.sentence
    assert f"{THREE_FIXES.name} returns 6 of" in explorer.sentence


def test_one_system_on_both_sides_is_told_apart_by_its_side(sample: MemoryIndex) -> None:
    target, name = "memory/protocols/falsification-first.md", SHIPPED.name
    explorer = QuestionExplorer(sample, "is a claim true", target, systems=(name, name))
    explorer.moved = {"right": {"floor.floor": 0.0}}
    left, right = f"{name} (left)", f"{name} (right)"
    assert explorer.sentence.startswith(f"In {left}, {target} is not returned: ")
    assert f"In {right}, it is returned: " in explorer.sentence
    assert explorer.table.columns == ("chunk", left, "fate", right, "fate")
    assert [one["pipeline"]["system"] for one in explorer.data["sides"]] == [left, right]
    explorer.target = ""
    assert f"{left} returns 0 of 24 candidates" in explorer.sentence


def test_why_not_is_the_explanation_of_each_search(explorer: QuestionExplorer, sample: MemoryIndex) -> None:
    for trace in explorer.traces:
        told = [one["why"] for one in explorer.data["sides"]]
        assert explain(trace, sample, TARGET).text() in told


def test_the_table_has_every_candidate_with_its_formula_and_fate(explorer: QuestionExplorer) -> None:
    left, right = explorer.traces
    assert len(explorer.table.rows) == len(paired_candidates(left, right))
    first = left.candidates[0]
    place, score, fate, *_ = explorer.table.rows[0]
    assert (place, fate) == (first.chunk.location, "below the floor")
    assert score == f"1. 0.7 × {first.numbers['vector_score']:.4g} + 0.3 × 0 = {first.score:.4g}"
    fates = [row[2] for row in explorer.table.rows]
    assert fates.count("no candidate") == len(explorer.table.rows) - len(left.candidates)


def test_settings_move_the_traces_and_the_page(explorer: QuestionExplorer) -> None:
    explorer.settings = {"question": "rooibos tea", "right": "bm-head", "target": ""}
    assert [trace.system for trace in explorer.traces] == [SHIPPED.name, "bm-head"]
    assert {trace.question for trace in explorer.traces} == {"rooibos tea"}
    assert explorer.explanations is None
    assert [one["why"] for one in explorer.data["sides"]] == ["", ""]
    assert explorer.data["question"] == explorer.settings["question"] == "rooibos tea"


def test_the_verdict_stands_alone_before_what_limits_it(explorer: QuestionExplorer) -> None:
    explorer.settings = {"right": "bm-head"}
    verdict, *limits = explorer.data["said"]
    assert verdict.startswith(f"In {SHIPPED.name}, {TARGET} is ")
    assert all(one not in verdict for one in limits)
    assert " ".join((verdict, *limits)) == explorer.sentence


@pytest.mark.parametrize("index", ["choir", Path("choir")])
def test_a_folder_in_place_of_an_index_is_refused(index: Path | str) -> None:
    with pytest.raises(InputError, match=r"'choir' is not an open index\."):
        QuestionExplorer(index, "fire")  # type: ignore[arg-type]


def test_a_file_that_is_not_indexed_is_said_in_the_status_line(explorer: QuestionExplorer) -> None:
    explorer.target = "memory/none.md"
    assert "There is no file 'memory/none.md'; the nearest are " in explorer.sentence
    assert explorer.data["sentence"] == explorer.sentence
    assert all("NOT IN THE INDEX" in one["why"] for one in explorer.data["sides"])


def test_an_empty_question_is_refused_and_the_last_answer_stays(explorer: QuestionExplorer) -> None:
    before = explorer.traces
    with pytest.raises(InputError, match=r"The question is empty\."):
        explorer.question = ""
    assert (explorer.traces is before, explorer.question) == (True, QUESTION)
    explorer.question = "tea"
    assert explorer.traces[0].question == "tea"


@pytest.mark.parametrize("wrong", [{"question": " "}, {"left": "openclaw"}, {"systems": "x"}, {"target": 3}])
def test_settings_are_taken_all_or_none(explorer: QuestionExplorer, wrong: dict[str, object]) -> None:
    before = explorer.settings
    with pytest.raises(InputError):
        explorer.settings = {"right": "bm-head"} | wrong
    assert explorer.settings == before


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
    return [{one.chunk.id: one.fate for one in trace.candidates} for trace in explorer.traces]


def _told(one: Explanation) -> str:
    return one.text(chunks=99)


# saving the search as a case beside the notebook


def click(widget: QuestionExplorer) -> None:
    """What the page sends when its button is pressed."""
    widget.pressed({})


def test_the_button_saves_the_search_that_misses_the_file_and_says_where(
    toy: MemoryIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    widget = QuestionExplorer(toy, "rooibos <b>tea</b>", "memory/server.md", link=False)
    click(widget)
    click(widget)
    files = sorted(tmp_path.iterdir())
    assert [one.name for one in files] == ["rooibos-b-tea-b-2.case.yaml", "rooibos-b-tea-b.case.yaml"]
    assert str(files[0]) in widget.data["saved"]
    run = run_case(load_case(files[1]).case)
    assert (run.holds, run.as_observed, run.pipeline.name) == (False, True, "openclaw-2026.2.13")
    widget.settings = {"target": ""}
    click(widget)
    assert "A case needs the file that you expect" in widget.data["saved"]
    assert len(list(tmp_path.iterdir())) == 2

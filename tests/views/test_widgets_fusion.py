"""The fusion lab: one fusion of two lists, with its weights, its ties and its floor."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pytest

from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.retrieval.fusion import RankSum
from workbench_plugins.engines.presets import ENGINES, FusedHit, fuse
from workbench_plugins.engines.whose_fusion import EXAMPLE
from workbench_plugins.engines.widget import MOST_ROWS, FusionLab, fusion_figure

QUESTION = "Where is the tea for the hub?"


def drawn(lab: FusionLab, name: str) -> object:
    return next(trace for trace in lab.figure.data if trace.name == name)


def ends(lab: FusionLab, name: str) -> list[tuple[float, float]]:
    """The rank and the fused row of every slope in a trace."""
    pairs = np.array(drawn(lab, name).y, float).reshape(-1, 3)[:, :2]
    return [(float(a), float(b)) for a, b in pairs if not np.isnan([a, b]).any()]


def run(code: str, **names: object) -> list[FusedHit]:
    with redirect_stdout(StringIO()):
        exec(code, names)
    hits = names["hits"]
    assert isinstance(hits, list)
    return hits


def test_every_candidate_has_its_ranks_its_parts_and_its_place() -> None:
    [both, *_] = fuse(RankSum(keyword=0.5, vector=2.0, k=10), *EXAMPLE)
    assert (both.id, both.first, both.last) == ("both", 1, 1)
    assert both.keyword is not None
    assert both.vector is not None
    assert (both.keyword.rank, both.vector.rank) == (2, 2)
    assert both.keyword.part == pytest.approx(0.5 / 12)
    assert both.score == pytest.approx(2.5 / 12)


def test_ties_share_their_places() -> None:
    told = {one.id: (one.first, one.last, one.tied) for one in fuse(RankSum(), *EXAMPLE)}
    assert told["kwonly"] == told["v1"] == (2, 3, True)
    assert told["both"] == (1, 1, False)


def test_ties_are_drawn_as_ties() -> None:
    lab = FusionLab(min_score=0.35)
    slopes = ends(lab, "keyword dropped") + ends(lab, "vector dropped")
    assert slopes.count((1.0, 2.5)) == 2
    assert tuple(drawn(lab, "names").text[1:3]) == ("2= kwonly", "2= v1")
    brackets = np.array(drawn(lab, "ties").y, float)
    assert brackets[~np.isnan(brackets)].tolist() == pytest.approx([1.7, 3.3, 3.7, 5.3])


def test_what_passes_the_floor_is_drawn_apart_from_what_it_drops() -> None:
    lab = FusionLab(method="weaviate-relative")
    scores = {one.id: one.score for one in lab.places}
    passing = np.array(drawn(lab, "score passing").x, float)
    dropped = np.array(drawn(lab, "score dropped").x, float)
    assert sorted(passing[~np.isnan(passing)]) == sorted(s for s in scores.values() if s >= 0.35)
    assert sorted(dropped[~np.isnan(dropped)]) == sorted(s for s in scores.values() if s < 0.35)
    assert set(drawn(lab, "floor").x) == {0.35}


def test_a_floor_moves_along_an_axis_that_stays_and_reaches_to_all_scores() -> None:
    lab = FusionLab()
    ends = []
    for floor in (0.21, 0.35, 0.5, 0.505):
        lab.settings = {"min_score": floor}
        ends.append(lab.figure.layout.xaxis2.range)
    assert ends == [pytest.approx((0, end * 1.03)) for end in (0.5, 0.5, 0.5, 1.0)]
    lab.settings = {"min_score": 0.0}
    best = max(one.score for one in lab.places)
    assert best < lab.figure.layout.xaxis2.range[1] < 3 * best


def test_a_lab_without_a_question_grows_with_the_lists_of_one_that_is_typed(sample: MemoryIndex) -> None:
    lab = FusionLab(index=sample)
    before = lab.figure.layout.height
    lab.settings = {"question": "tenacity and persistence protocol"}
    deepest = max(given.rank for one in lab.places for given in (one.keyword, one.vector) if given)
    assert lab.figure.layout.yaxis.range == lab.figure.layout.yaxis2.range == (deepest + 0.6, 0.4)
    assert lab.figure.layout.height > before


def test_a_method_brings_its_own_weights_and_frees_only_what_it_has() -> None:
    lab = FusionLab(min_score=0.35)
    lab.settings = {"method": "basic-memory"}
    assert lab.settings == {"method": "basic-memory", "share": 0.3, "min_score": 0.35, "watch": "nothing"}
    assert lab.fusion == ENGINES["basic-memory"].fusion
    lab.settings = {"method": "openclaw-clamped", "keyword": 0.5}
    assert (lab.settings["vector"], lab.settings["keyword"]) == (0.7, 0.5)
    assert "k" not in lab.settings


def test_a_slider_changes_the_order_and_all_that_says_it() -> None:
    lab = FusionLab()
    lab.numbers["vector"].box.value = 0.0
    assert lab.places[0].id == "kwonly"
    assert "kwonly is first" in lab.sentence
    assert lab.table.rows[0][:2] == ("kwonly", "1")
    assert drawn(lab, "names").text[0] == "1  kwonly"


def test_the_watched_one_is_drawn_and_told() -> None:
    lab = FusionLab(watch="kwonly", min_score=0.35)
    assert ends(lab, "keyword watched") == [(1.0, 2.5)]
    assert "kwonly is 2–3 tied: 0.016 < 0.350, it is dropped." in lab.sentence


def test_with_an_index_the_lists_and_the_trace_are_those_of_the_question(toy: MemoryIndex) -> None:
    lab = FusionLab(index=toy, question=QUESTION, method="weaviate-relative")
    scores = sorted(one.score for one in lab.trace.candidates)
    assert sorted(one.score for one in lab.places) == pytest.approx(scores)
    passing = sum(one.score >= 0.35 for one in lab.places)
    assert len(lab.trace.results) == min(6, passing)
    lab.settings = {"question": "disk", "watch": "memory/server.md"}
    assert "memory/server.md" in lab.sentence
    assert lab.trace.question == "disk"


def test_a_watched_file_stays_watched_when_a_question_does_not_bring_it(toy: MemoryIndex) -> None:
    lab = FusionLab(index=toy, question="tea", watch="memory/tea.md")
    lab.settings = {"question": " "}
    assert lab.settings["watch"] == "memory/tea.md"
    lab.settings = {"question": "tea"}
    assert "memory/tea.md:" in lab.sentence
    lab.settings = {"watch": "nothing"}
    assert "memory/tea.md:" not in lab.sentence.partition("pass")[2]


def test_a_lab_opens_with_a_floor_that_some_candidate_passes(toy: MemoryIndex) -> None:
    ranks, scores = FusionLab(index=toy, question=QUESTION), FusionLab(method="weaviate-relative")
    best = ranks.places[0].score
    assert best / 2 - 0.005 <= ranks.settings["min_score"] <= best / 2 < 0.35
    assert scores.settings["min_score"] == 0.35
    assert FusionLab(min_score=0.9).settings["min_score"] == 0.9
    with pytest.raises(InputError, match="min_score cannot be 2"):
        FusionLab(min_score=2)


def test_questions_without_candidates_clear_every_row_and_keep_its_place(toy: MemoryIndex) -> None:
    lab = FusionLab(index=toy, question="tea")
    lengths = {trace.name: len(trace.x) for trace in lab.figure.data}
    for question, there in ((" ", False), ("disk", True), ("tea", True)):
        lab.settings = {"question": question}
        assert (lab.places != [], lab.sentence != "Neither list has a candidate.") == (there, there)
        assert {trace.name: len(trace.x) for trace in lab.figure.data} == lengths
        assert any(drawn(lab, "names").text) == there
        assert bool(np.isfinite(np.array(drawn(lab, "stems").x, float)).any()) == there


def test_two_given_lists_have_no_trace() -> None:
    with pytest.raises(InputError, match="not a search"):
        _ = FusionLab().trace


def test_its_code_computes_the_same_scores(toy: MemoryIndex) -> None:
    lab = FusionLab()
    lab.settings = {"method": "qdrant-k2-weighted", "k": 5, "keyword": 0.35}
    assert [(hit.id, hit.score) for hit in run(lab.code)] == [(one.id, one.score) for one in lab.places]
    lab = FusionLab(index=toy, question=QUESTION, method="combmnz")
    hits = run(lab.code, index=toy)
    assert [(hit.id, hit.score) for hit in hits] == [(one.id, one.score) for one in lab.places]


def test_the_figure_draws_the_first_and_whatever_is_watched() -> None:
    vector = {f"v{place:02}": 1 - place / 100 for place in range(1, 31)}
    places = fuse(ENGINES["rrf-60"].fusion, vector, {})
    figure = fusion_figure(places, 0.016, {"v30"})
    names = next(trace for trace in figure.data if trace.name == "names")
    assert len(names.text) == len(names.y) == MOST_ROWS
    assert tuple(names.text[-2:]) == (f"{MOST_ROWS - 1}  v{MOST_ROWS - 1}", "<b>30  v30</b>")

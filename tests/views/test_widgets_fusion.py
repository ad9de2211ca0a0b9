"""The fusion lab: one fusion of two lists, with its weights, its ties and its floor."""

from __future__ import annotations

from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from typing import Any

import numpy as np
import pytest

from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.retrieval.fusion import RankSum
from workbench.tables import ABSENT
from workbench_plugins.engines.presets import ENGINES, FusedHit, fuse, two_legs
from workbench_plugins.engines.whose_fusion import EXAMPLE
from workbench_plugins.engines.widget import FusionLab, written_method

QUESTION = "Where is the tea for the hub?"


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


def test_a_part_for_a_candidate_that_a_leg_did_not_bring_is_shown_without_a_rank() -> None:
    lab = FusionLab(method="chroma-rrf")
    row = next(one for one in lab.table.rows if one[0] == "kwonly")
    assert row[5:8] == (ABSENT, ABSENT, "0.0009")


def test_ties_share_their_places() -> None:
    told = {one.id: (one.first, one.last, one.tied) for one in fuse(RankSum(), *EXAMPLE)}
    assert told["kwonly"] == told["v1"] == (2, 3, True)
    assert told["both"] == (1, 1, False)


def test_a_method_brings_its_own_weights_and_frees_only_what_it_has() -> None:
    lab = FusionLab()
    lab.min_score = 0.35
    lab.settings = {"method": "basic-memory"}
    assert lab.settings == {
        "method": "basic-memory",
        "share": 0.3,
        "min_score": 0.35,
        "watch": "nothing",
        "chunk": "",
    }
    assert lab.fusion == ENGINES["basic-memory"].fusion
    lab.settings = {"method": "openclaw-clamped", "keyword": 0.5}
    assert (lab.settings["vector"], lab.settings["keyword"]) == (0.7, 0.5)
    assert "k" not in lab.settings


def test_a_slider_changes_the_order_and_all_that_says_it() -> None:
    lab = FusionLab()
    lab.set_state({"vector": 0.0})  # as the page does
    assert lab.ranking[0].id == "kwonly"
    assert "kwonly is first" in lab.sentence
    assert lab.table.rows[0][:2] == ("kwonly", "1")


def test_the_watched_one_is_told() -> None:
    lab = FusionLab(watch="kwonly")
    lab.min_score = 0.35
    assert "kwonly is 2–3 tied: 0.016 < 0.350, it is dropped." in lab.sentence


def test_with_an_index_the_lists_and_the_trace_are_those_of_the_question(toy: MemoryIndex) -> None:
    lab = FusionLab(index=toy, question=QUESTION, method="weaviate-relative")
    scores = sorted(one.score for one in lab.trace.candidates)
    assert sorted(one.score for one in lab.ranking) == pytest.approx(scores)
    passing = sum(one.score >= 0.35 for one in lab.ranking)
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
    best = ranks.ranking[0].score
    assert best / 2 - 0.005 <= ranks.settings["min_score"] <= best / 2 < 0.35
    assert scores.settings["min_score"] == 0.35
    scores.min_score = 0.9
    assert scores.settings["min_score"] == 0.9
    with pytest.raises(InputError, match="min_score cannot be 2"):
        scores.min_score = 2


def test_two_given_lists_have_no_trace() -> None:
    with pytest.raises(InputError, match="not a search"):
        _ = FusionLab().trace


def test_its_code_computes_the_same_scores(toy: MemoryIndex) -> None:
    lab = FusionLab()
    lab.settings = {"method": "qdrant-k2-weighted", "k": 5, "keyword": 0.35}
    assert [(hit.id, hit.score) for hit in run(lab.code)] == [(one.id, one.score) for one in lab.ranking]
    lab = FusionLab(index=toy, question=QUESTION, method="combmnz")
    hits = run(lab.code, index=toy)
    assert [(hit.id, hit.score) for hit in hits] == [(one.id, one.score) for one in lab.ranking]


def test_a_question_without_candidates_says_so(toy: MemoryIndex) -> None:
    lab = FusionLab(index=toy, question="tea")
    for question, there in ((" ", False), ("disk", True)):
        lab.settings = {"question": question}
        assert (lab.ranking != [], lab.sentence != "Neither list has a candidate.") == (there, there)
        assert bool(lab.data["lists"]["ids"]) == there
        assert lab.data["of"] == {"question": question}


def test_a_method_whose_formula_has_no_written_form_comes_as_its_numbers() -> None:
    class Odd(RankSum):
        def together(self, *parts: Any) -> Any:
            return np.cbrt(super().together(*parts))

    _, of = two_legs(*EXAMPLE)
    method = written_method(replace(ENGINES["rrf-60"], fusion=Odd()), of)
    assert method["formula"] == pytest.approx(Odd().formula(of).tolist())
    assert method["parameters"] == {}


def test_the_figure_has_the_order_of_each_leg_and_of_the_fusion() -> None:
    lab = FusionLab(watch="kwonly")
    order = ", ".join(one.id for one in lab.ranking)
    assert f"rrf-60: {order};" in lab.figure.words
    assert lab.figure.words.startswith("keyword leg: kwonly")

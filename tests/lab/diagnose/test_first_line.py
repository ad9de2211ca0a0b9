"""The first line of a diagnosis names what dropped the file, with its number, in words to read once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from workbench.memory.index import MemoryIndex
from workbench.records import DropKind
from workbench.retrieval.columns import Numbers
from workbench.retrieval.fusion import Fusion
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import search
from workbench.retrieval.settings import with_settings
from workbench.systems.catalogue import SYSTEMS, system
from workbench.systems.openclaw import SHIPPED
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.repairs import repairs
from workbench_plugins.diagnose.suspects import scales_apart
from workbench_plugins.recommended.stages import SilenceFloor

pytestmark = pytest.mark.usefixtures("embedded_once")

FOREIGN = "which vaccinations do we need for the safari in Kenya"
TRAVEL = "memory/travel-and-documents.md"
BREAD = "memory/recipes/gluten-free-bread.md"


def test_a_calibration_that_holds_an_answer_back_is_told_as_its_floor(kept: CachedIndex) -> None:
    pipeline = SYSTEMS["recommended"]
    (lost,) = [one for one in search(FOREIGN, pipeline, kept).candidates if one.chunk.path == TRAVEL][:1]
    assert lost.drop is not None
    assert isinstance(lost.drop.stage, SilenceFloor)
    found = diagnose(FOREIGN, pipeline, kept, TRAVEL)
    chance = lost.numbers["answerable"]
    assert "floor: return nothing if the chance that anything here answers is below 0.214" in found.headline
    assert f"(the whole answer: {chance:.3f})" in found.headline
    assert not any("answerable" in one.where for one in found.causes)


def test_defaults_that_lose_what_was_fitted_are_no_repair() -> None:
    """Without its weights a calibration holds nothing back, whatever is asked: that mends no fault."""
    offered = {one.slot for one in repairs(SYSTEMS["recommended"]) if one.name == "its defaults"}
    assert "answerable" not in offered
    assert "fusion" not in offered
    assert {"keyword_leg", "floor"} <= offered


def test_a_floor_and_a_limit_are_told_with_what_the_file_has(kept: CachedIndex) -> None:
    question = "bread without wheat"
    trace = search(question, SHIPPED.asking(min_score=0.9), kept)
    (lost,) = [one for one in trace.candidates if one.chunk.path == BREAD][:1]
    found = diagnose(question, SHIPPED.asking(min_score=0.9), kept, BREAD)
    assert f"floor: drop what scores below 0.9 (this file: {lost.score:.3f})" in found.headline


STORM = "how strong was the highest gust of the December storm", "memory/2025-12-14.md"


def test_a_decay_that_takes_most_of_the_score_is_the_first_cause_with_both_scores(kept: CachedIndex) -> None:
    pipeline, (question, target) = SYSTEMS["openclaw-2026.9.6"], STORM
    undecayed = with_settings(pipeline, ["recency.half_life_days=0"])
    best = [
        max(one.score for one in search(question, each, kept).candidates if one.chunk.path == target)
        for each in (pipeline, undecayed)
    ]
    found = diagnose(question, pipeline, kept, target)
    assert found.causes[0].where == ("recency",)
    assert (
        f"(this file scores {best[0]:.3f}, and {best[1]:.3f} with the change “without +recency”)"
        in found.headline
    )
    assert found.fixes[0].setting == "recency.half_life_days"
    assert found.fixes[0].verified


def test_a_stricter_cut_that_works_by_accident_comes_after_every_other_fix(kept: CachedIndex) -> None:
    found = diagnose(STORM[0], SYSTEMS["openclaw-2026.9.6"], kept, STORM[1])
    tightens = [one.tightens for one in found.fixes]
    assert any(tightens)
    assert tightens == sorted(tightens)


def test_a_file_behind_the_depth_the_floor_and_the_limit_has_all_three_as_a_cause(
    kept: CachedIndex,
) -> None:
    question = "xylophone quasar zeppelin"
    target = search(question, SHIPPED.asking(limit=200, min_score=-1), kept).paths()[-1]
    found = diagnose(question, SHIPPED, kept, target)
    (cause,) = [one for one in found.causes if {"vector_leg", "floor", "limit"} == {*one.where}]
    assert cause.verified


def test_scores_on_two_scales_are_told_with_their_ranges(
    kept: CachedIndex,
) -> None:
    trace = search("bread without wheat", SYSTEMS["llamaindex-simple"], kept)
    keyword, vector = (trace.columns[f"{leg}_score"] for leg in ("keyword", "vector"))
    assert np.nanmin(keyword) > np.nanmax(vector)
    for slot in ("keyword_score", "vector_score", "fusion"):
        told = scales_apart(trace, slot)
        assert f"the keyword leg ({np.nanmin(keyword):.3g} to {np.nanmax(keyword):.3g}) is above all" in told
    assert not scales_apart(trace, "limit")


@pytest.mark.parametrize("name", ["engine-rrf-60", "llamaindex-relative", "openclaw-2026.9.6"])
def test_ranks_and_scaled_scores_are_not_told_as_two_scales(kept: CachedIndex, name: str) -> None:
    trace = search("bread without wheat", SYSTEMS[name], kept)
    assert not any(scales_apart(trace, stage.slot) for stage in trace.stages)


@dataclass(frozen=True)
class WithoutParts(Fusion):
    """A fusion that computes its score at once."""

    description = "score = keyword score + vector score"

    def formula(self, of: Numbers) -> Any:
        return of["keyword_score"] + of["vector_score"]


def test_a_fusion_without_parts_is_told_without_scales(kept: CachedIndex) -> None:
    trace = search("bread without wheat", SYSTEMS["llamaindex-simple"].with_stage(WithoutParts()), kept)
    assert not scales_apart(trace, "fusion")


def test_a_clamped_score_is_told_with_the_candidates_that_share_its_highest_value(kept: CachedIndex) -> None:
    question, pipeline = "his temperament, character traits and decision style", SYSTEMS["openclaw-2026.9.6"]
    scores = search(question, pipeline, kept).columns["keyword_score"]
    alike = np.count_nonzero(scores == np.nanmax(scores))
    assert np.nanmax(scores) == 1
    assert alike > 1
    found = diagnose(question, pipeline, kept, "memory/people/michael.md")
    assert found.headline.startswith("Cause: keyword score: ")
    assert found.headline.endswith(f" ({alike} candidates share the highest one, 1)")


def test_a_floor_of_a_leg_is_told_with_the_number_of_the_file(toy: MemoryIndex) -> None:
    question, target = "backup plan", "memory/tea.md"
    found = diagnose(question, system("bm-head"), CachedIndex(toy), target)
    mine = next(one for one in found.trace.candidates if one.chunk.path == target)
    assert mine.drop is not None
    assert mine.drop.kind is DropKind.LEG_FLOOR
    drops = "min similarity: the vector leg drops what is less similar than 0.55"
    told = f"{drops} (this file: {mine.drop.misses[0].shown})"
    (described,) = (one.description for one in found.causes if one.where == ("min_similarity",))
    assert described.startswith(told)

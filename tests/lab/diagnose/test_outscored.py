"""A score that was fitted to many questions: one question is no reason to change its weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import world
from workbench.measure.reruns import Reruns
from workbench.memory.index import MemoryIndex
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import search
from workbench.retrieval.settings import with_settings
from workbench.systems.catalogue import SYSTEMS, system
from workbench_plugins.diagnose.asked import Asked
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.outscored import higher
from workbench_plugins.diagnose.page import Diagnosis
from workbench_plugins.diagnose.parameters import Aim, Goal
from workbench_plugins.rerank import reranker_named, with_reranker

SECOND = "by how much is the cargo bike over its budget", "memory/projects/cargo-bike.md"
MORE = "discs"
"""A word of the second file that brings it to the first place."""
SEVENTH = "what did the replacement disk for heron cost in the end", "memory/2025-11-08.md"


@pytest.fixture(scope="module")
def second(sample: MemoryIndex) -> Diagnosis:
    question, target = SECOND
    return diagnose(question, system("recommended"), sample, target)


def test_the_first_cause_is_the_file_that_scores_higher(sample: MemoryIndex, second: Diagnosis) -> None:
    trace = search(SECOND[0], system("recommended"), sample)
    first, mine = (next(one for one in trace.results if one.chunk.path == path) for path in trace.paths()[:2])
    assert mine.chunk.path == SECOND[1]
    told = f"{first.chunk.path} scores {first.score:.4g}, and this file {mine.score:.4g}"
    assert second.headline.startswith(f"Cause: fusion: {told}; ")


def test_the_largest_lead_is_a_part_of_the_score(sample: MemoryIndex, second: Diagnosis) -> None:
    pipeline = system("recommended")
    trace = search(SECOND[0], pipeline, sample)
    first, mine = (next(one for one in trace.results if one.chunk.path == path) for path in trace.paths()[:2])
    weights = pipeline["fusion"].weights  # type: ignore[attr-defined]
    leads = {
        leg: weight * (first.numbers[f"{leg}_score"] - mine.numbers[f"{leg}_score"])
        for leg, weight in weights.items()
    }
    most = max(leads, key=leads.__getitem__)
    name = pipeline["fusion"].score_name(most)  # type: ignore[attr-defined]
    whole = f"the whole difference is {first.score - mine.score:.3g}"
    assert second.causes[0].evidence == (
        f"its largest lead is in the {name}: {leads[most]:.3g} of the score; "
        f"with “{MORE}”, which the file has, the answer is as wanted; {whole}"
    )
    assert search(f"{SECOND[0]} {MORE}", pipeline, sample).paths()[0] == SECOND[1]
    assert sum(leads.values()) == pytest.approx(first.score - mine.score)


def test_no_fitted_weight_is_a_repair(sample: MemoryIndex, second: Diagnosis) -> None:
    question, target = SEVENTH
    seventh = diagnose(question, system("recommended"), sample, target)
    assert seventh.fixes[0].as_set == "--set limit.count=7"
    for found in (second, seventh):
        assert not [one for one in found.fixes if one.setting.startswith(("fusion", "keyword_score"))]


def test_a_weight_that_the_user_has_changed_is_still_a_cause(sample: MemoryIndex) -> None:
    question, target = SEVENTH
    changed = with_settings(system("recommended"), ["limit.count=7", "fusion.keyword=0"])
    found = diagnose(question, changed, sample, target)
    assert found.headline == "Cause: fusion: differs from recommended by fusion.keyword=0"


def test_no_part_of_the_score_is_told_where_a_reranker_orders_the_answer(sample: MemoryIndex) -> None:
    reranked = with_reranker(system("recommended"), reranker_named("late"))
    trace = search(SECOND[0], reranked, sample)
    for path in trace.paths()[1:2]:
        found = diagnose(SECOND[0], reranked, sample, path)
        assert not [one for one in found.causes if " scores " in one.description]


def test_a_word_that_the_first_file_alone_has_is_told_and_the_question_tried_without_it(
    tmp_path: Path,
) -> None:
    notes = {
        "memory/team.md": "# Anaesthetist\n\nThe anaesthetist stands in.\n",
        "memory/una.md": "# Una\n\nUna stands in for the doctor when she is away, and has the keys.\n",
    }
    question, system_of = "who stands in for the anaesthetist", SYSTEMS["engine-rrf-60"]
    with world.build(tmp_path, notes) as index:
        for works in (True, False):
            asked = Asked(
                question,
                system_of,
                index,
                lambda trace, works=works: works and "anaesthetist" not in trace.question,
                wanted="memory/una.md",
            )
            runs = Reruns(question, system_of, CachedIndex(index))
            (cause,) = higher(runs, Goal("memory/una.md", Aim.FIRST), asked)
            assert "that file has “anaesthetist”, and this one does not" in cause.description
            assert cause.verified == works
            assert ("'who stands in for the'" in cause.repair) == works


def test_a_word_of_the_wanted_file_is_tried_where_no_word_of_the_question_is_at_fault(
    tmp_path: Path,
) -> None:
    notes = {
        "memory/june.md": "# Outage\n\nThe mast failed in an outage in June.\n",
        "memory/february.md": "# Outage\n\nThe mast failed, since the antenna was full of ice.\n",
    }
    question, of = "outage of the mast in June", SYSTEMS["engine-rrf-60"]
    with world.build(tmp_path, notes) as index:
        for works in (True, False):
            asked = Asked(
                question,
                of,
                index,
                lambda trace, works=works: works and "antenna" in trace.question,
                wanted="memory/february.md",
            )
            runs = Reruns(question, of, CachedIndex(index))
            (cause,) = higher(runs, Goal("memory/february.md", Aim.FIRST), asked)
            assert cause.verified == works
            assert cause.repair.startswith("ask with more of the words that the file has")
            assert ("with “antenna” it is first" in cause.repair) == works
            assert "workbench search" not in cause.repair  # nobody knows the word without the file


def test_no_word_that_only_begins_like_one_of_the_first_file_is_told(tmp_path: Path) -> None:
    notes = {
        "memory/team.md": "# Hear\n\nOne can hear well on one side.\n",
        "memory/una.md": "# Una\n\nUna is deaf, and this colleague takes the cue lights on the left.\n",
    }
    question, of = "one colleague cannot hear well", SYSTEMS["engine-rrf-60"]
    with world.build(tmp_path, notes) as index:
        asked = Asked(question, of, index, lambda _: False, wanted="memory/una.md")
        (cause,) = higher(Reruns(question, of, CachedIndex(index)), Goal("memory/una.md", Aim.FIRST), asked)
    assert cause.description.endswith("that file has “hear”, “well”, and this one does not")


def test_of_any_fusion_the_file_with_the_higher_score_is_told(toy: MemoryIndex) -> None:
    question, pipeline = "rooibos tea", system("engine-rrf-60")
    trace = search(question, pipeline, toy)
    first, second, *_ = trace.paths()
    scores = {one.chunk.path: one.score for one in reversed(trace.results)}
    runs = Reruns(question, pipeline, CachedIndex(toy))
    (cause,) = higher(runs, Goal(second, Aim.FIRST))
    assert cause.where == ("fusion",)
    told = f"{first} scores {scores[first]:.4g}, and this file {scores[second]:.4g}; the "
    assert cause.description.startswith(told)
    assert cause.evidence == f"the whole difference is {scores[first] - scores[second]:.3g}"
    assert higher(runs, Goal(second, Aim.IN)) == []

"""The bug museum: every specimen shows its bug, and its one change mends it."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass

import pytest

from docs.reference import named_by
from tests.world import written
from workbench.errors import InputError
from workbench.records import Shown
from workbench.retrieval.pipeline import search
from workbench.systems.openclaw import SHIPPED, THREE_FIXES
from workbench.terminal import PlainConsole, renderable
from workbench_plugins.automem.pipelines import DEAD_KEYWORD
from workbench_plugins.engines import stored_specimens
from workbench_plugins.engines.museum import (
    SPECIMENS,
    FusedLists,
    SmallSearch,
    Specimen,
    SpecimenRun,
    SpecimenRuns,
    is_healthy,
    searched,
    small_memory,
    specimen,
)

ACROSS_QUESTIONS = [
    "score-depends-on-size",
    "qmd-blend-floor",
    "metronix-constant-score",
    "weaviate-page-two",
]
"""Their answers hold scores of several questions, so they have no order."""

every_specimen = pytest.mark.parametrize("one", SPECIMENS.values(), ids=list(SPECIMENS))


def printed(thing: Shown) -> str:
    console = PlainConsole(width=160)
    with console.capture() as capture:
        console.print(renderable(thing.view()))
    return capture.get()


@every_specimen
def test_a_specimen_has_its_bug_as_shipped_and_loses_it_with_the_change(one: Specimen) -> None:
    finding = one.run()
    assert (finding.shipped_healthy, finding.fixed_healthy) == (False, True)
    assert one.run() == finding
    if one.name not in ACROSS_QUESTIONS:
        for answer in (finding.shipped, finding.fixed):
            assert list(answer.values()) == sorted(answer.values(), reverse=True)


def changed(shipped: object, fixed: object) -> set[str]:
    """The parameters in which two stages differ, both legs' scales counting as one, and their kind."""
    assert is_dataclass(shipped)
    assert is_dataclass(fixed)
    of_shipped, of_fixed = ({f.name for f in fields(one)} for one in (shipped, fixed))
    # What only one of two kinds has belongs to its kind.
    names = of_shipped & of_fixed if type(shipped) is not type(fixed) else of_shipped | of_fixed
    both = {
        name.replace("of_vector", "scale").replace("of_keyword", "scale")
        for name in names
        if getattr(shipped, name, None) != getattr(fixed, name, None)
    }
    return both - {"limit"} | ({"kind"} if type(shipped) is not type(fixed) else set())


@every_specimen
def test_the_two_sides_differ_in_one_thing(one: Specimen) -> None:
    shipped, fixed = one.sides
    if shipped.pipeline is not None and fixed.pipeline is not None:
        made = [
            (one.answer.alteration, one.answer.embedder)
            for one in one.sides
            if isinstance(one.answer, SmallSearch)
        ]
        assert len(shipped.pipeline.diff(fixed.pipeline)) + (len(set(made)) > 1) == 1
    if isinstance(shipped.answer, FusedLists) and isinstance(fixed.answer, FusedLists):
        assert len(changed(shipped.answer.fusion, fixed.answer.fusion)) == 1
    assert shipped.description != fixed.description


def test_two_pipelines_that_differ_in_two_stages_are_two_specimens() -> None:
    with pytest.raises(InputError, match="differ in 3 stages"):
        searched(SHIPPED, THREE_FIXES, "tea", {}, {"tea": ("tea",)})
    with pytest.raises(InputError, match="differ in 0 stages"):
        searched(SHIPPED, SHIPPED, "tea", {}, {"tea": ("tea",)})


def test_a_rule_that_does_not_exist_is_refused_and_an_empty_answer_has_no_scores() -> None:
    assert is_healthy({"a": 0.5}, "scores", [0.4, 0.6])
    assert not is_healthy({}, "scores", [0.4, 0.6])
    with pytest.raises(InputError, match="no rule 'last'"):
        is_healthy({"a": 0.5}, "last", "a")


def test_an_unknown_specimen_names_the_nearest() -> None:
    with pytest.raises(InputError, match="weaviate-single-hit"):
        specimen("weaviate-singel-hit")
    assert specimen("qdrant-k2") is SPECIMENS["qdrant-k2"]


BY_ARITHMETIC = (
    "openclaw-clamped-bm25 qmd-upside-down weaviate-single-hit haystack-dbsf-zero lancedb-inverted "
    "lancedb-absence-rewarded tarsy-credit-for-absence openclaw-dates-in-subfolders"
)


@pytest.mark.parametrize("name", [*stored_specimens.TOLD.told, *BY_ARITHMETIC.split()])
def test_lint_or_the_doctor_names_a_specimen_that_it_has_not_been_told_of(name: str) -> None:
    assert named_by(SPECIMENS[name])


# The numbers that the reports give


def test_nonsense_scores_075_in_metronix_and_075_or_more_in_qmd() -> None:
    assert specimen("metronix-constant-score").run().shipped["nonsense"] == pytest.approx(0.75)
    assert specimen("qmd-blend-floor").run().shipped["nonsense"] == pytest.approx(0.75 + 0.25 * 0.02)


def test_the_apples_score_as_in_the_report() -> None:
    pie, red, green = 0.7 + 0.3 / 3, 0.7 / 2 + 0.3, 0.7 / 3 + 0.3 / 2
    scores = {"03 apple pie": pie, "13 red apple": red, "19 green apple": green}
    assert specimen("typesense-tied-ranks").run().shipped == pytest.approx(scores)


def test_an_absent_memory_is_credited_with_the_last_rank() -> None:
    shipped = specimen("tarsy-credit-for-absence").run().shipped
    assert shipped["alone"] == pytest.approx(1 / 61 + 1 / 63)
    assert shipped["both"] == pytest.approx(2 / 62)


def test_more_points_pass_the_more_shards_there_are() -> None:
    finding = specimen("qdrant-fusion-per-shard").run()
    assert len(finding.shipped) > len(finding.fixed)


def test_the_swallowed_error_is_a_real_one_of_fts5() -> None:
    with small_memory({"a.md": "nasa"}, {"x": ("x",)}) as index:
        with pytest.raises(Exception, match=r'syntax error near "@"'):
            index.keyword(written("@nasa"), 5)
        assert index.keyword(written('"@nasa"'), 5).rows.size == 1


# In words


@every_specimen
def test_a_specimen_is_told_in_words_and_as_json(one: Specimen) -> None:
    finding = one.run()
    text = " ".join(printed(finding).split())
    assert one.name in text
    assert one.references[0] in text
    assert all((one.symptom, one.mechanism, one.change, one.world, one.expected))
    assert "The shipped side has the bug, and the change fixes it." in text
    told = json.loads(json.dumps(finding.as_json(), allow_nan=False))
    assert (told["name"], told["shows"]) == (one.name, True)
    assert (told["shipped"]["as_expected"], told["fixed"]["as_expected"]) == (False, True)


def test_a_specimen_that_shows_nothing_says_so_and_the_list_counts_those_that_show_their_bug() -> None:
    nothing = printed(SpecimenRun(specimen("qdrant-k2"), {}, {}, True, False))
    assert "does not show its bug: the shipped answer is as expected, the fixed answer is not" in nothing
    findings = [specimen("qdrant-k2").run(), specimen("txtai-half-penalty").run()]
    assert "2 of 2 specimens have their bug" in printed(SpecimenRuns(findings))
    unseen = SpecimenRun(findings[0].specimen, {}, {}, True, True)
    assert "1 of 2 specimens have their bug" in printed(SpecimenRuns([unseen, findings[1]]))


def test_the_floor_cuts_nothing_before_the_keyword_weight_works() -> None:
    asked = specimen("automem-floor-cuts-more").sides.shipped.answer
    assert isinstance(asked, SmallSearch)
    with small_memory(asked.notes, asked.axes) as index:
        assert len(search(asked.question, DEAD_KEYWORD, index).results) == 5

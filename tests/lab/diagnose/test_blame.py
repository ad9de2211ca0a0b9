"""Blame: shares sum to the difference exactly, equal a count by hand, and name the slots that changed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import InputError
from workbench.measure.blame import OVERLAP, Blame, blame, changes_between, drawn_shares, exact_shares
from workbench.measure.edits import ORDER, Edit, edited, edits_between, order_between
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import QuestionSet
from workbench.measure.reruns import Reruns
from workbench.memory.index import MemoryIndex
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import search
from workbench.retrieval.settings import with_settings
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import EIGHT, MIN_MAX, OR_JOIN, RRF, SHIPPED, THREE_FIXES, WORKAROUND
from workbench.tables import Block
from workbench_plugins.openclaw.releases import JULY, SEPTEMBER


@pytest.fixture(scope="module")
def three_bugs(kept: CachedIndex, questions: QuestionSet) -> Blame:
    return blame(SHIPPED, THREE_FIXES, kept, questions)


@pytest.mark.parametrize("setting", ["query.join=OR", "floor.floor=0.1", "limit.count=2"])
def test_a_rerun_says_that_the_index_is_made_otherwise(sample: MemoryIndex, setting: str) -> None:
    index = CachedIndex(sample)
    other = with_settings(SHIPPED, [setting])
    told = search("radio licence", other, index).caution
    assert told is not None
    for base in (SHIPPED, replace(SHIPPED, indexing=None)):
        assert Reruns("radio licence", base, index).trace(other).caution == told


def test_the_shares_are_the_means_over_all_orders_of_the_eight_pipelines(
    three_bugs: Blame, kept: CachedIndex, questions: QuestionSet
) -> None:
    assert sum(part.share for part in three_bugs.parts) == three_bugs.difference
    assert (three_bugs.exact, three_bugs.runs) == (True, 8)
    hits = {frozenset(one.pipeline.changes): one.overall.hits for one in evaluate(questions, EIGHT, kept)}
    for part, fix in zip(three_bugs.parts, (OR_JOIN, MIN_MAX, RRF), strict=True):
        added = []
        for order in permutations((OR_JOIN, MIN_MAX, RRF)):
            before = frozenset(order[: order.index(fix)])
            added.append(hits[before | {fix}] - hits[before])
        assert part.name == fix.stage.slot
        assert part.share == Fraction(sum(added), len(added))
        assert part.alone == hits[frozenset({fix})] - hits[frozenset()]
        every = frozenset({OR_JOIN, MIN_MAX, RRF})
        assert part.last == hits[every] - hits[every - {fix}]


def test_every_flip_is_a_question_whose_hit_changes(three_bugs: Blame) -> None:
    assert sum(one.after - one.before for one in three_bugs.flips) == three_bugs.difference
    names = {part.name for part in three_bugs.parts}
    assert {name for one in three_bugs.flips for name in one.alone} <= names
    assert str(three_bugs.verdict).startswith("better on 45 of 57 questions about 11 files, worse on 0")


def heading(found: Blame) -> str:
    """The first line that is shown of it, below what is said of the index."""
    return next(one for one in found.view() if isinstance(one, Block)).text


def test_no_change_is_called_the_largest_if_another_one_is_as_large(three_bugs: Blame) -> None:
    first, second, *_ = three_bugs.by_share
    assert f"{first.name} has the largest share" in heading(three_bugs)
    tied = replace(three_bugs, parts=(first, replace(second, share=first.share)))
    assert (
        f"{' and '.join(sorted((first.name, second.name)))} have the largest shares, which are equal"
        in heading(tied)
    )
    none = replace(three_bugs, parts=(replace(first, share=Fraction()), replace(second, share=Fraction())))
    assert "every share is 0" in heading(none)


def test_other_measures_sum_exactly_too(kept: CachedIndex, questions: QuestionSet) -> None:
    found = blame(SHIPPED, THREE_FIXES, kept, questions, measure="nDCG@10")
    assert sum(part.share for part in found.parts) == found.difference != 0


@pytest.mark.parametrize(("one", "other"), [(SHIPPED, WORKAROUND), (WORKAROUND, SHIPPED), (JULY, SEPTEMBER)])
def test_all_changes_together_make_the_other_pipeline(one, other) -> None:  # type: ignore[no-untyped-def]
    every = [edit for part in changes_between(one, other) for edit in part]
    made = edited(one, every)
    assert {stage.slot: stage for stage in made.stages} == {stage.slot: stage for stage in other.stages}
    assert made.layout == other.layout


def test_the_edits_between_any_two_systems_make_the_other_one() -> None:
    for one, other in permutations(SYSTEMS.values(), 2):
        made = edited(one, [*edits_between(one, other), *order_between(one, other)])
        assert (made.stages, made.layout) == (other.stages, other.layout)


def test_another_order_of_the_stages_is_a_change(kept: CachedIndex) -> None:
    order = SHIPPED.stages[:1] + SHIPPED.stages[2:3] + SHIPPED.stages[1:2] + SHIPPED.stages[3:]
    ((edit,),) = changes_between(SHIPPED, replace(SHIPPED, stages=order))
    assert edit.slot == ORDER
    assert edit.description.startswith("the stages in the order query, vector_leg, keyword_leg, candidates")
    # The first pair differs in the order of stages, the second one in many stages that fit only together.
    for one, other in ((SHIPPED.name, "am-191"), ("bm-994-ungated", "langchain-ensemble")):
        found = blame(SYSTEMS[one], SYSTEMS[other], kept, "radio licence")
        assert sum(part.share for part in found.parts) == found.difference
        assert found.after == 1  # the overlap with the answer of the other system
        assert any(edit.slot == ORDER for part in found.parts for edit in part.edits)


def test_an_edit_of_the_order_keeps_a_stage_that_it_does_not_name_in_its_place() -> None:
    slots = [stage.slot for stage in SHIPPED.stages]
    named = [slot for slot in slots if slot not in ("vector_score", "limit")]
    assert [one.slot for one in edited(SHIPPED, [Edit(ORDER, None, order=tuple(named))]).stages] == slots


def test_a_question_without_a_target_is_measured_by_overlap(toy: MemoryIndex) -> None:
    found = blame(SHIPPED, SHIPPED.with_changes(OR_JOIN), toy, "rooibos after noon")
    assert found.measure == OVERLAP
    assert found.after == 1
    assert sum(part.share for part in found.parts) == found.difference


def test_beyond_the_limit_orders_are_drawn_with_an_error_and_still_sum(
    three_bugs: Blame, kept: CachedIndex, questions: QuestionSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.measure.blame.MOST_EXACT", 2)
    drawn = blame(SHIPPED, THREE_FIXES, kept, questions)
    assert not drawn.exact
    assert sum(part.share for part in drawn.parts) == drawn.difference == three_bugs.difference


@given(st.lists(st.integers(-5, 5), min_size=16, max_size=16))
def test_drawn_shares_sum_exactly_and_are_near_the_exact_ones(worths: list[int]) -> None:
    def worth(chosen: frozenset[int]) -> Fraction:
        return Fraction(worths[sum(1 << place for place in chosen)])

    whole = worth(frozenset(range(4))) - worth(frozenset())
    exact, drawn = exact_shares(4, worth), drawn_shares(4, worth, orders=12)
    assert sum(share for share, _ in exact) == whole
    assert sum(share for share, _ in drawn) == whole
    for (truth, _), (share, error) in zip(exact, drawn, strict=True):
        assert abs(float(share - truth)) <= 6 * error + 1e-9 or error == 0


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=6))
def test_independent_changes_get_what_they_add(adds: list[int]) -> None:
    shares = exact_shares(len(adds), lambda chosen: Fraction(sum(adds[place] for place in chosen)))
    assert [share for share, _ in shares] == adds


def test_a_target_that_is_not_indexed_is_refused(toy: MemoryIndex) -> None:
    with pytest.raises(InputError, match=r"memory/tee\.md is not in the index"):
        blame(SHIPPED, THREE_FIXES, toy, "tea", target="memory/tee.md")

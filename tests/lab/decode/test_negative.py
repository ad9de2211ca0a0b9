"""What cannot be is said only where every way was tried, and the order that min-max keeps is kept."""

from __future__ import annotations

import json
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.commands import Run
from workbench.errors import InputError
from workbench_plugins.decode.decoding import decode
from workbench_plugins.decode.negative import keeps_order, possible, smallest_gap
from workbench_plugins.decode.printed import printed

SCORES = st.lists(st.integers(0, 1000), min_size=3, max_size=5, unique=True)


@given(st.integers(1, 20), st.integers(0, 20), st.integers(3, 9))
def test_what_the_fusion_makes_is_possible(first: int, second: int, digits: int) -> None:
    made = 1 / (60 + first) + (1 / (60 + second) if second else 0)
    assert possible([f"{made:.{digits}f}"], "engine-rrf-60").all_given


def test_a_number_that_no_rank_gives_is_named_with_its_neighbours() -> None:
    (one,) = possible(["0.42"], "engine-rrf-60").numbers
    assert one.way is None
    assert one.below == pytest.approx(2 / 61)
    assert one.above is None
    (one,) = possible(["0.0165"], "engine-rrf-60").numbers
    below, above = one.below, one.above
    assert below is not None
    assert above is not None
    every = [1 / (60 + n) for n in range(1, 51)]
    every += [1 / (60 + n) + 1 / (60 + m) for n in range(1, 51) for m in range(1, 51)]
    assert below == pytest.approx(max(value for value in every if value < 0.0165))
    assert above == pytest.approx(min(value for value in every if value > 0.0165))


def test_nothing_is_impossible_for_a_fusion_whose_further_lists_are_not_tried() -> None:
    found = possible(["0.1320"], "qmd-2.8.3-no-rerank")  # 2 / 61 + 2 / 61 + 1 / 61 + 0.05
    assert "more lists (lex, vec, hyde), whose ranks were not tried, so it may give it." in found.answer
    assert "cannot" not in found.answer + str(found.numbers[0])
    assert found.as_json()["possible"] is None
    assert possible(["0.1156"], "qmd-2.8.3-no-rerank").as_json()["possible"] is True  # two lists are enough


def test_a_weighted_sum_is_tried_with_the_numbers_that_are_printed() -> None:
    found = possible(["0.307", "0.9"], "openclaw-2026.2.13", ["0.438"])
    assert [one.way is not None for one in found.numbers] == [True, False]
    assert "cannot give 0.9" in found.answer


@pytest.mark.parametrize(
    ("system", "beside", "problem"),
    [
        ("weaviate-relative", [], "whole list"),
        ("openclaw-2026.2.13", [], "reads scores"),
        ("no-such-system", [], "no-such-system"),
    ],
)
def test_what_cannot_be_tried_is_an_error_with_its_remedy(
    system: str, beside: list[str], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        possible(["0.5"], system, beside)


@given(SCORES, st.lists(st.floats(0, 1), min_size=10, max_size=10), st.floats(0.01, 1), st.floats(0, 0.3))
def test_an_order_that_is_kept_is_kept_whatever_the_other_query_says(
    scores: list[int], others: list[float], weight: float, other: float
) -> None:
    if not keeps_order(scores, weight, [other]):
        return
    low, high = min(scores), max(scores)
    scaled = [weight * (one - low) / (high - low) for one in scores]
    best = sorted(range(len(scores)), key=scores.__getitem__)
    for some in permutations(others[: len(scores)]):
        fused = [one + other * more for one, more in zip(scaled, some, strict=True)]
        assert sorted(range(len(scores)), key=fused.__getitem__) == best


def test_equal_scores_keep_no_order() -> None:
    assert smallest_gap([3, 3, 3]) == 0
    with pytest.raises(InputError, match="There is no score"):
        smallest_gap([])
    assert not keeps_order([3, 3, 3], 1, [0.1])


def test_the_command_says_it_with_an_exit_code(run: Run) -> None:
    found = run("decode", "0.42", "--system", "engine-rrf-60")
    assert (found.code, "cannot be" in found.out) == (1, True)
    data = json.loads(run("decode", "0.0164", "--system", "engine-rrf-60", "--json").out)
    assert (data["possible"], data["numbers"][0]["below"]) == (True, None)


def test_sums_in_single_precision_are_read_as_such() -> None:
    one = np.float32
    lucene, azure = str(one(1) / one(61) + one(1) / one(62)), repr(float(one(1) / one(60) + one(1) / one(62)))
    assert "1 / (60 + 2)" in decode([lucene]).claimed[0].ways[0].text
    assert "60 + 3 - 1" in decode([azure]).claimed[0].ways[0].text
    assert printed("0.03252247488101534").half < 1e-16

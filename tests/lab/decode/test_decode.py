"""Numbers lead back to the formula that made them, and random numbers to none."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.commands import Run
from workbench.errors import InputError
from workbench_plugins.decode.decoding import CHANCE, MANY, MOST_WAYS, SHOWN, decode

KNOWN = [
    (["0.016393"], [], "60 + rank", "1 / (60 + 1)"),
    (["0.0164", "0.0161", "0.0159"], [], "60 + rank", "1 / (60 + 3)"),
    (["0.5", "0.333", "0.25"], [], "1 / (2 + rank", "1 / (2 + 3 / 1 - 1)"),
    (["0.148"], ["0.852"], "1 - cosine distance", "1 - 0.852"),
    (["0.307"], ["0.438"], "0.7 × vector score", "0.7 × 0.438 + 0.3 × 0"),
    (["0.0656"], [], "60 + rank", "4 × (1 / (60 + 1)): rank 1 in each of 4 lists"),
    (["0.0275", "0.0276", "0.0154", "0.0113"], ["1.0", "0.7"], "with printed weights", "0.7 / (60 + 2)"),
    (["0.01148", "0.00492"], [], "60 + rank), ranks from 1, with printed weights or 0.7", "0.3 / (60 + 1)"),
    (["0.0275046"], [], "60 + rank", "1 / (60 + 1) + 1 / (60 + 30)"),
    (["50.572"], ["0.35", "0.222", "50"], "sum of three", "0.35 + 0.222 + 50"),
    (["1.2336599"], ["2.2", "1.2039728", "0.46575344"], "product of three", "2.2 × 1.2039728 × 0.46575344"),
    (["1.3163"], ["0.7597"], "1 / x", "1 / 0.7597"),
]


@pytest.mark.parametrize(("numbers", "beside", "formula", "way"), KNOWN, ids=lambda one: str(one))
def test_a_number_of_a_public_report_has_its_formula_first(
    numbers: list[str], beside: list[str], formula: str, way: str
) -> None:
    found = decode(numbers, beside)
    first = found.claimed[0]
    assert formula in first.name
    assert way in first.ways[-1].text
    assert [one.number for one in first.ways] == numbers
    assert all(abs(one.residual) <= 0.51 * 10.0 ** -len(one.number.partition(".")[2]) for one in first.ways)


def test_both_readings_of_one_half_one_third_one_quarter_are_named() -> None:
    """Qdrant's k = 2 with ranks from 0, and 1 / rank from the second place on."""
    names = [one.name for one in decode(["0.5", "0.333", "0.25"]).claimed]
    assert any("1 / (2 + rank" in one for one in names)
    assert any("weight / (0 + rank)" in one for one in names)


def test_random_numbers_get_a_claim_in_at_most_five_of_a_hundred() -> None:
    rng = np.random.default_rng(17)
    drawn = [f"{rng.random():.{rng.integers(3, 8)}f}" for _ in range(100)]
    assert sum(bool(decode([one]).claimed) for one in drawn) <= 5


def test_the_chance_is_how_often_random_numbers_fit() -> None:
    """Four digits after 0.0: the share that anything as simple fits, counted one by one."""
    rng = np.random.default_rng(23)
    asked = decode(["0.0325"])
    cost, chance = asked.fits[0].cost, asked.fits[0].chance
    drawn = [f"{number / 10_000:.4f}" for number in rng.integers(100, 1000, 300)]
    fitting = [sum(fit.cost <= cost for fit in decode([one]).fits) for one in drawn]
    assert np.mean(fitting) == pytest.approx(chance, abs=0.03)
    assert chance <= CHANCE


@pytest.mark.parametrize("bad", ["", "nan", "1/61", "0.5.5", "1e99", "abc", "9" * 41])
def test_what_is_no_number_is_refused(bad: str) -> None:
    with pytest.raises(InputError):
        decode([bad])


@pytest.mark.parametrize("beside", ["0", "0.0", "-1"])
def test_a_number_by_which_nothing_can_be_divided_makes_no_number(beside: str) -> None:
    ways = [way.text for fit in decode(["0.5432"], [beside]).fits for way in fit.ways]
    assert not any(text in ways for text in (f"1 / {beside}", f"1 / (1 + {beside})"))


def test_a_cosine_is_not_above_one() -> None:
    """Milvus halves 1 + cosine; 4.87 fits that with a cosine of 16.678, which is none."""
    assert not decode(["4.87"], ["24.382", "16.678", "6.902"]).fits
    assert any("(1 + 0.68) / 2" in one.ways[0].text for one in decode(["0.42"], ["0.68"]).fits)


def test_a_conversion_of_a_distance_is_named_beside_that_of_a_system() -> None:
    """1 / (1 + a distance of 1.2041595) is also what a system makes of BM25."""
    assert any(one.name.endswith(", or 1 / (1 + x)") for one in decode(["0.45368767"], ["1.2041595"]).claimed)


def test_a_number_that_a_system_prints_shorter_is_not_left_over() -> None:
    first = decode(["0.6389241"], ["0.9127487", "0.7", "0"]).fits[0]
    assert first.ways[0].text == "0.7 × 0.9127 + 0.3 × 0"


def test_the_chance_of_what_is_not_claimed_is_told_as_one_in_so_many() -> None:
    found = decode(["0.775"], ["0.85", "0.60"])
    assert not found.claimed
    assert "about 1 in 14 such numbers would fit" in str(found.view())


def test_no_number_and_too_many_are_refused() -> None:
    for numbers in ([], ["0.5"] * 51):
        with pytest.raises(InputError, match="cannot be decoded at once"):
            decode(numbers)


def test_the_command_says_the_formula_and_ends_with_1_where_nothing_fits(run: Run) -> None:
    found = run("decode", "0.016393")
    assert found.code == 0
    assert "1 / (60 + 1)" in found.out
    assert json.loads(run("decode", "0.016393", "--json").out)[0]["fits"][0]["claimed"] is True
    nothing = run("decode", "0.4271")
    assert (nothing.code, nothing.out.splitlines()[0]) == (1, "0.4271: nothing fits")


def test_a_way_that_leaves_no_printed_number_over_comes_first() -> None:
    found = decode(["0.75"], ["0.6", "0.9", "0.4", "0.525"])
    assert found.fits[0].ways[0].text == "0.6 × 0.9 + (1 - 0.6) × 0.525"


def test_seven_digits_are_those_of_single_precision_too() -> None:
    assert decode(["0.8333334", "0.5833334"]).claimed


def test_sixteen_digits_are_those_of_double_precision_too() -> None:
    """Haystack scales a dot product of 1 by a sigmoid of a hundredth; libraries differ in the last digit."""
    first = decode(["0.5024999791668749"], ["1.0"]).claimed[0]
    assert first.ways[0].text == "1 / (1 + exp(-1.0 / 100))"
    assert first.used_by == ("Haystack for dot products",)


@pytest.mark.parametrize(
    ("number", "ways"),
    [
        ("0.0323", ["1 / (60 + 1) + 1 / (60 + 3)", "1 / (60 + 2) + 1 / (60 + 2)"]),
        ("0.03226", ["1 / (60 + 2) + 1 / (60 + 2)", "rank 1 in one list, 3 in the other, each term rounded"]),
    ],
)
def test_two_ways_to_the_same_digits_are_both_named_and_none_is_settled(number: str, ways: list[str]) -> None:
    """0.03226 is 2 / 62, and 0.01639 + 0.01587 where somebody adds 1 / 61 and 1 / 63 by hand."""
    found = decode([number])
    first = found.fits[0].ways[0]
    told = [first.text, *first.more]
    assert all(any(way in one for one in told) for way in ways)
    assert found.fits[0].count == len(told)
    assert not found.settled
    assert f"{number} = " not in found.answer
    assert sum(line.count(" = ") for line in str(found.view()).splitlines()) >= len(found.fits)


def test_of_many_ways_some_are_told_and_all_are_counted(run: Run) -> None:
    (way,) = decode(["0.03"]).fits[0].ways
    assert len(way.more) == MOST_WAYS
    assert way.count > 400
    assert f"or in {way.count - 1 - SHOWN} more ways" in run("decode", "0.03").out


def test_the_first_line_names_two_ways_and_counts_the_others(run: Run) -> None:
    found = json.loads(run("decode", "0.03226", "--json").out)[0]
    line = run("decode", "0.03226").out.splitlines()[0]
    ways = sum(one["count"] for one in found["fits"])
    assert f"None is settled: {len(found['fits'])} formulas can make it, in {ways} ways" in line
    assert found["settled"] is False


def test_the_reciprocal_ranks_of_typesense_are_known() -> None:
    """It prints single precision, and more digits than that has."""
    first = decode(["0.8500000238418579", "0.30000001192092896"]).claimed[0]
    assert first.used_by == ("Typesense",)
    assert first.ways[0].text.startswith("0.7 / (0 + 1) + 0.3 / (0 + 2): rank 1")


def test_a_score_with_many_decimals_is_no_weight() -> None:
    assert not any("0.2986 /" in one.ways[0].text for one in decode(["0.0049"], ["0.2986"]).fits)
    assert any("0.29 /" in one.ways[0].text for one in decode(["0.00475"], ["0.29"]).fits)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("0.9919354838709679", "rank 1 in one list, 2 in the other"),
        ("0.4919354838709677", "rank 2 in one list"),
        ("0.0023584905660377358", "keyword rank 47"),
    ],
)
def test_a_list_is_named_only_where_its_weight_tells_which_it_is(number: str, words: str) -> None:
    """Two lists with equal weights may have the ranks the other way round."""
    assert decode([number]).fits[0].ways[0].text.endswith(f": {words}")


def test_the_first_line_does_not_count_the_ways_of_a_list_to_the_million() -> None:
    found = decode(["0.6666667", "0.5", "0.5", "0.4", "0.33333334"])
    assert sum(one.count for one in found.fits) > MANY
    assert found.answer.endswith(f"in more than {MANY:,} ways")


def test_a_number_that_one_formula_makes_in_one_way_is_settled() -> None:
    found = decode(["50.572"], ["0.35", "0.222", "50"])
    assert found.settled
    assert found.answer == "50.572 = 0.35 + 0.222 + 50"


def test_a_sum_of_rounded_terms_has_its_formula_first() -> None:
    found = decode(["0.01639", "0.03278"])
    assert "60 + rank), ranks from 1" in found.claimed[0].name
    assert found.claimed[0].ways[1].text.endswith("rank 1 in both lists, each term rounded")

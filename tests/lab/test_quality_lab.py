"""Means over questions, and how AutoMem's Recall Quality Lab picks a winner."""

from __future__ import annotations

import pytest
from ir_measures import RR, R

from tests.adapters.automem_quality import ScoreCard, config_complexity, pick_winner, recall_at
from workbench.errors import InputError
from workbench.lab.evaluation import Judged, means


def test_the_winner_may_not_bring_more_distractors() -> None:
    cards = [ScoreCard("base", 0.8, 0.1), ScoreCard("better", 0.9, 0.11), ScoreCard("worse", 0.95, 0.12)]
    assert pick_winner(cards, "base").name == "better"


def test_of_equals_with_equal_knobs_the_faster_wins() -> None:
    cards = [ScoreCard("base", 0.8, 0.1, 100, 5), ScoreCard("fast", 0.799, 0.1, 50, 5)]
    assert pick_winner(cards, "base").name == "fast"


def test_a_missing_baseline_is_refused() -> None:
    with pytest.raises(InputError, match="No card is named"):
        pick_winner([ScoreCard("a", 0.8, 0.1)], "b")


def test_a_document_retrieved_twice_counts_at_its_first_place() -> None:
    assert recall_at(["a", "a", "b"], ["b"], k=2) == 1.0


@pytest.mark.parametrize("value", ["off", "False", "0.0", "", None, 0, False])
def test_a_knob_that_is_off_is_not_counted(value: object) -> None:
    assert config_complexity({"A": value, "B": "0.1"}) == 1


def test_every_question_counts_in_a_mean_also_one_without_an_answer() -> None:
    judged = [
        Judged(["x", "a", "b"], {"a", "c"}),
        Judged([], {"a"}),
        Judged(["a"], ()),
        Judged(["a"], ["a"]),
    ]
    assert means(judged, RR, R @ 2, R @ 3) == pytest.approx([(1 / 2 + 0 + 0 + 1) / 4, 1.5 / 4, 1.5 / 4])
    assert means([], RR) == means([Judged(["a"], ())], RR) == [0.0]

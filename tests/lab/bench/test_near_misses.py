"""The trial evidence for near misses: a line that answers about somebody else counts as a lead."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.near_misses import auc, interval, names_of, other_name
from workbench_plugins.recommended.keywords import StemIndex

NOTES = (
    "We asked Farida about it.\nFarida is allergic to walnuts, says Jonas.",
    "On Monday we paint with Jonas.\n- **Elias:** The kettle is new, and so we use it.",
)
FILES = StemIndex(NOTES)


def test_a_name_is_written_with_a_capital_within_sentences_or_speaks() -> None:
    names = names_of(NOTES)
    assert {"farida", "jonas", "elias"} <= names
    assert not names & {"we", "on", "monday", "the", "kettle"}


def test_a_line_about_somebody_else_is_a_lead() -> None:
    text, known = ["Farida is allergic to walnuts.\nJonas paints."], frozenset({"farida", "jonas"})
    assert 0 < other_name("what is Jonas allergic to", text, known, FILES) <= 1
    for question in ("what is Farida allergic to", "what about walnuts", "", "is it Bram's"):
        assert other_name(question, text, known, FILES) == 0


def test_the_auc_counts_pairs_and_the_interval_draws_questions() -> None:
    yes, no = np.array([0.2, 0.6, 0.9, 0.7]), np.array([0.1, 0.5, 0.3])
    assert auc(yes, no) == pytest.approx(10 / 12)
    assert interval(lambda a, b: float(len(a) - len(b)), yes, no) == "(1.000 to 1.000)"
    low, high = interval(lambda a, b: yes[a].mean() - no[b].mean(), yes, no)[1:-1].split(" to ")
    assert float(low) < yes.mean() - no.mean() < float(high)

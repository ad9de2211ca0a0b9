"""A stated probability is compared with what is true: bins, intervals, and the Brier score."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.commands import Run
from tests.conftest import SAMPLE
from workbench.errors import InputError
from workbench.measure.evaluation import AskedQuestion, Evaluation, evaluate
from workbench.measure.questions import Question, QuestionSet
from workbench.measure.reliability import can_be_judged, reliability
from workbench.memory.index import MemoryIndex
from workbench.records import Chunk, Trace
from workbench.retrieval.pipeline import Pipeline
from workbench.systems.openclaw import THREE_FIXES
from workbench.terminal import text_of
from workbench_plugins.recommended.pipelines import RECOMMENDED

CHUNK = Chunk("1", "a.md", "memory", 1, 2, "text")


def trace(stated: float, pipeline: Pipeline = RECOMMENDED) -> Trace:
    return Trace(
        "q", pipeline.name, pipeline.stages, chunks=(CHUNK,), columns={"answerable": np.array([stated])}
    )


def evaluation(answered: Sequence[float], others: Sequence[float]) -> Evaluation:
    question = Question(question="q", target="a.md")
    asked = tuple(AskedQuestion(question, trace(one)) for one in answered)
    return Evaluation(RECOMMENDED, asked, tuple(trace(one) for one in others))


def test_a_bin_has_the_mean_of_what_was_stated_and_the_share_that_is_true() -> None:
    low, high = reliability(evaluation([0.05, 0.95, 0.9, 1.0], [0.01])).bins
    assert (low.low, low.high, low.answerable.hits, low.answerable.n) == (0.0, 0.1, 1, 2)
    assert low.stated == pytest.approx(0.03)
    assert (high.high, high.answerable.hits, high.answerable.n) == (1.0, 3, 3)


def test_probabilities_that_are_true_agree_and_others_differ() -> None:
    true = reliability(evaluation([0.85] * 17, [0.85] * 3))
    false = reliability(evaluation([0.05] * 17, [0.95] * 3))
    assert true.apart == []
    assert len(false.apart) == 2
    assert "2 of 2 bins differ" in text_of(false.view())
    assert true.brier < true.constant + 1e-9 < false.brier


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=30), st.lists(st.floats(0, 0.99), min_size=1, max_size=30)
)
def test_each_question_is_in_one_bin_whose_ends_hold_it(answered: list[float], others: list[float]) -> None:
    found = reliability(evaluation(answered, others))
    assert sum(one.answerable.n for one in found.bins) == len(answered) + len(others) == found.answerable.n
    assert sum(one.answerable.hits for one in found.bins) == len(answered)
    assert all(one.low - 1e-9 <= one.stated <= one.high + 1e-9 for one in found.bins)
    assert 0 <= found.brier <= 1


def test_what_is_missing_is_named(toy: MemoryIndex) -> None:
    asked = QuestionSet(questions=(Question(question="tea", target="memory/tea.md"),), controls=())
    for given_, said in (
        (evaluation([0.5], []), "with and without an answer"),
        (evaluation([1.0], [1.0]), "belongs to another model"),
        (evaluate(asked, [THREE_FIXES], toy)[0], "states no probability"),
    ):
        assert not can_be_judged(given_)
        with pytest.raises(InputError, match=said):
            reliability(given_)
    with pytest.raises(InputError, match="at least 2"):
        reliability(evaluation([0.5], [0.5]), bins=1)


def test_the_command_line_prints_it(run: Run, sample: MemoryIndex, tmp_path: Path) -> None:
    asked, target = tmp_path / "asked.yaml", "memory/projects/cargo-bike.md"
    words = ("rear hub", "brakes of the bike", "long-john")
    told = [f"{{question: {one}, target: {target}}}" for one in words]
    asked.write_text(f"questions: [{', '.join(told)}]\ncontrols: [zebra crossing, tax return]\n", "utf-8")
    at = ("--memory", SAMPLE, "--reliability", "--questions", asked)
    found = run("evaluate", *at, "-s", RECOMMENDED.name, "--json").json()[0]["reliability"]
    assert sum(one["questions"] for one in found["bins"]) == 5
    assert 0 < found["brier"] < 1

"""Questions asked of traces: judgments, measures, thresholds, and what settings make impossible."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.retrieval.test_properties import check_same
from workbench.errors import InputError
from workbench.lab.cached_index import CachedIndex
from workbench.lab.evaluation import Evaluation, Share, evaluate
from workbench.lab.lint import needed_similarity, reach
from workbench.lab.questions import Control, Question, QuestionSet, load_questions
from workbench.lab.thresholds import scores
from workbench.memory.index import MemoryIndex
from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.openclaw.pipelines import EIGHT, SHIPPED, THREE_FIXES, WORKAROUND
from workbench.systems.registry import SYSTEMS

SET = QuestionSet(
    questions=(
        Question(question="rooibos tea", target="memory/tea.md", kind="direct"),
        Question(question="hub and brake", target="memory/bike.md", kind="direct"),
        Question(question="disk", target="memory/bike.md", kind="vague"),
    ),
    controls=(Control(question="bicycle"), Control(question="server")),
)


@pytest.fixture(scope="module")
def kept(sample: MemoryIndex) -> CachedIndex:
    """The sample memory, each of whose answers is asked for once."""
    return CachedIndex(sample)


@pytest.fixture
def evaluation(toy: MemoryIndex) -> Evaluation:
    return evaluate(SET, [WORKAROUND], toy)[0]


def test_a_hit_is_the_target_among_the_results(evaluation: Evaluation) -> None:
    assert [one.hit for one in evaluation.asked] == [True, True, False]
    assert (evaluation.overall.hits, evaluation.overall.n) == (2, 3)


def test_the_reciprocal_rank_is_of_files_and_counts_the_unanswered(evaluation: Evaluation) -> None:
    ranks = [
        one.trace.paths().index(one.question.target) + 1 if one.hit else None for one in evaluation.asked
    ]
    assert evaluation.mrr == pytest.approx(sum(1 / rank if rank else 0 for rank in ranks) / 3)


def test_a_control_is_silent_when_nothing_is_returned(evaluation: Evaluation) -> None:
    assert [bool(trace.results) for trace in evaluation.controls] == [False, True]
    assert (evaluation.silent.hits, evaluation.silent.n) == (1, 2)


def test_kinds_and_files_add_up_to_all_questions(evaluation: Evaluation) -> None:
    assert {kind: (s.hits, s.n) for kind, s in evaluation.by_kind.items()} == {
        "direct": (2, 2),
        "vague": (0, 1),
    }
    assert sum(s.n for s in evaluation.by_file.values()) == 3


def test_a_file_passes_with_three_hits(toy: MemoryIndex) -> None:
    asked = tuple(
        Question(question=word, target="memory/bike.md") for word in ("bike", "hub", "brake", "zebra")
    )
    assert evaluate(QuestionSet(questions=asked), [WORKAROUND], toy)[0].files_passing == 1
    assert evaluate(QuestionSet(questions=asked[1:]), [WORKAROUND], toy)[0].files_passing == 0


def test_the_interval_is_wilson_s() -> None:
    # Newcombe (1998), table I: 15 of 148.
    low, high = Share(15, 148).interval
    assert (round(low, 4), round(high, 4)) == (0.0624, 0.1605)


@pytest.mark.parametrize("pipeline", [SHIPPED, THREE_FIXES, *EIGHT[1:4], WORKAROUND], ids=lambda p: p.name)
def test_the_hits_at_a_floor_are_those_of_searching_with_that_floor(
    kept: CachedIndex, questions: QuestionSet, pipeline: Pipeline
) -> None:
    table = scores(evaluate(questions, [pipeline], kept)[0])
    for floor in (0.0, 0.2, 0.27, 0.35, 0.6, 0.9):
        asked = evaluate(questions, [pipeline.with_stage(MinScore(floor))], kept)[0]
        assert table.hits(floor) == asked.overall.hits
        assert table.silent(floor) == asked.silent.hits


def test_scores_hold_every_candidate_once(evaluation: Evaluation) -> None:
    table = scores(evaluation)
    candidates = sum(len(one.trace.chunks) for one in evaluation.asked)
    assert table.target.size + table.other.size == candidates
    assert table.control.size == sum(len(trace.chunks) for trace in evaluation.controls)


@pytest.mark.parametrize("pipeline", [SHIPPED, THREE_FIXES], ids=lambda p: p.name)
def test_one_leg_alone_reaches_its_weight(pipeline: Pipeline) -> None:
    vector, keyword = reach(pipeline, "vector"), reach(pipeline, "keyword")
    assert vector is not None
    assert keyword is not None
    assert (vector.score, vector.passes) == (pytest.approx(0.7), True)
    assert (keyword.score, keyword.passes) == (pytest.approx(0.3), False)


def test_a_pipeline_without_a_leg_has_no_reach_there() -> None:
    assert reach(WORKAROUND, "keyword") is None


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_search_reaches_further_than_the_reach(
    kept: CachedIndex, questions: QuestionSet, name: str
) -> None:
    pipeline = SYSTEMS[name]
    bounds = {leg: reach(pipeline, leg) for leg in ("vector", "keyword")}
    for one in evaluate(questions, [pipeline], kept)[0].asked:
        columns = one.trace.columns
        for leg, other in (("vector", "keyword"), ("keyword", "vector")):
            bound = bounds[leg]
            if bound is None:
                continue
            absent = np.isnan(columns.get(f"{other}_rank", np.full(len(one.trace.chunks), np.nan)))
            assert np.all(columns["score"][absent] <= bound.score + 1e-12)


def test_the_shipped_floor_asks_for_a_cosine_of_one_half() -> None:
    assert needed_similarity(SHIPPED) == pytest.approx(0.35 / 0.7)
    assert needed_similarity(WORKAROUND) == pytest.approx(0.25)


def test_rrf_lets_the_first_of_the_vector_leg_pass_at_any_cosine() -> None:
    assert needed_similarity(THREE_FIXES) == -1.0


def test_a_floor_above_the_reach_is_met_by_no_cosine() -> None:
    assert needed_similarity(SHIPPED.with_stage(MinScore(0.8))) is None


def test_the_sample_questions_are_the_report_s_57(questions: QuestionSet) -> None:
    assert len(questions.questions) == 57
    assert len(questions.targets) == 11
    assert questions.kinds == ["direct", "natural", "vague", "adjacent", "cross_domain"]
    assert all(5 <= [q.target for q in questions.questions].count(t) <= 6 for t in questions.targets)
    assert sum(question.from_report for question in questions.questions) == 12
    assert len(questions.controls) >= 15


def test_controls_may_be_plain_strings(tmp_path: Path) -> None:
    file = tmp_path / "q.yaml"
    file.write_text("questions: [{question: a, target: b.md}]\ncontrols: [c, {question: d}]\n")
    assert [one.question for one in load_questions(file).controls] == ["c", "d"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("questions: []", "questions"),
        ("[]", "questions"),
        ("questions: [{question: a}]", "target"),
        ("questions: [{question: a, target: b, wieght: 1}]", "wieght"),
        ("questions: [{question: '', target: b}]", "question"),
        ("a: [", "YAML"),
    ],
)
def test_a_question_file_of_another_form_is_refused(tmp_path: Path, text: str, named: str) -> None:
    file = tmp_path / "q.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=named):
        load_questions(file)


ONE = QuestionSet(questions=(Question(question="tea", target="memory/tea.md"),))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("questions.yaml", [SHIPPED]), "load_questions"),
        ((ONE, SHIPPED), "in brackets"),
        ((ONE, "openclaw-2026.2.13"), "in brackets"),
        ((ONE, ["openclaw-2026.2.13"]), "'openclaw-2026.2.13' is not a pipeline"),
    ],
)
def test_what_is_no_question_set_and_no_list_of_pipelines_is_refused(
    given: tuple[Any, Any], told: str, toy: MemoryIndex
) -> None:
    with pytest.raises(InputError, match=told):
        evaluate(*given, toy)


class Counted:
    """An index, and what has been asked of it."""

    def __init__(self, index: MemoryIndex) -> None:
        self.index = index
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        wanted = getattr(self.index, name)

        def called(*arguments: Any) -> Any:
            self.calls.append(name)
            return wanted(*arguments)

        return called if callable(wanted) else wanted


@pytest.mark.parametrize("name", SYSTEMS)
def test_an_index_that_keeps_its_answers_is_asked_once_and_answers_the_same(
    toy: MemoryIndex, name: str
) -> None:
    counted, question = Counted(toy), "who drinks rooibos tea?"
    cached = CachedIndex(counted)  # type: ignore[arg-type]
    first = search(question, SYSTEMS[name], cached)
    counted.calls.clear()
    check_same(search(question, SYSTEMS[name], cached), first)
    assert {"keyword", "vector", "embed", "chunks", "rows_of", "documents"}.isdisjoint(counted.calls)
    check_same(search(question, SYSTEMS[name], toy), first)

"""Results of a pipeline on labelled questions: hits, files, intervals, empty answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ir_measures import RR, NumRet, R

from workbench.errors import InputError
from workbench.measure.evaluation import Evaluation, evaluate
from workbench.measure.measures import Judged, Share, means, values
from workbench.measure.questions import Control, Question, QuestionSet, load_questions
from workbench.memory.index import MemoryIndex
from workbench.systems.openclaw import SHIPPED, WORKAROUND

SET = QuestionSet(
    questions=(
        Question(question="rooibos tea", target="memory/tea.md", kind="direct"),
        Question(question="hub and brake", target="memory/bike.md", kind="direct"),
        Question(question="disk", target="memory/bike.md", kind="vague"),
    ),
    controls=(Control(question="bicycle"), Control(question="server")),
)


@pytest.fixture
def evaluation(toy: MemoryIndex) -> Evaluation:
    return evaluate(SET, [WORKAROUND], toy)[0]


def test_a_hit_is_the_target_among_the_results(evaluation: Evaluation) -> None:
    assert [one.hit for one in evaluation.asked] == [True, True, False]
    assert (evaluation.overall.hits, evaluation.overall.n) == (2, 3)


def test_a_question_with_two_right_files_is_searched_once_and_counted_for_each(toy: MemoryIndex) -> None:
    targets = "memory/bike.md", "memory/both.md"
    asked = tuple(Question(question="hub", target=one) for one in targets)
    (found,) = evaluate(QuestionSet(questions=asked), [WORKAROUND.asking(limit=6)], toy)
    assert found.asked[0].trace is found.asked[1].trace
    assert [one.question.target for one in found.asked if one.hit] == [*targets]


def test_a_control_is_silent_when_nothing_is_returned(evaluation: Evaluation) -> None:
    assert [bool(trace.results) for trace in evaluation.controls] == [False, True]
    assert (evaluation.silent.hits, evaluation.silent.n) == (1, 2)


def test_judged_counts_the_returned_files_that_have_a_label(evaluation: Evaluation) -> None:
    returned = [set(one.trace.paths()) for one in evaluation.asked]
    assert evaluation.judged.n == sum(map(len, returned))
    assert evaluation.judged.hits == evaluation.overall.hits
    assert evaluation.as_json()["judged"] == evaluation.judged.rate


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


def test_an_interval_has_its_share_inside() -> None:
    shares = [Share(hits, n) for n in range(1, 200) for hits in range(n + 1)]
    assert [one for one in shares if not one.interval[0] <= one.rate <= one.interval[1]] == []
    assert Share(7, 7).interval[1] == 1


def test_the_interval_is_wilson_s() -> None:
    # Newcombe (1998), table I: 15 of 148.
    low, high = Share(15, 148).interval
    assert (round(low, 4), round(high, 4)) == (0.0624, 0.1605)


@pytest.mark.parametrize(
    "measure",
    [
        "RBP",
        "alpha_nDCG@10",
        "ERR_IA@5",
        "P@True",
        "AP(rel=0)",
        "Bpref(rel=0)",
        "Accuracy",
        RR(judged_only=3),
    ],
)
def test_a_measure_that_cannot_be_computed_is_refused_before_the_search(
    measure: Any, toy: MemoryIndex
) -> None:
    with pytest.raises(InputError, match=r"cannot be computed|is not a measure") as refused:
        evaluate(SET, [WORKAROUND], toy, [measure])
    assert "nDCG@10" in refused.value.remedy


def test_the_mean_of_what_ir_measures_sums_is_a_mean() -> None:
    judged = [Judged(["x", "a"], ["a"]), Judged(["a", "b", "c", "d"], ["a"]), Judged([], ["b"])]
    assert means(judged, NumRet) == [np.mean(values(judged, NumRet))] == [2.0]


def test_every_question_counts_in_a_mean_also_one_without_an_answer() -> None:
    judged = [Judged(["x", "a", "b"], {"a", "c"}), Judged([], {"a"}), Judged(["a"], ()), Judged(["a"], ["a"])]
    assert means(judged, RR, R @ 2, R @ 3) == pytest.approx([(1 / 2 + 0 + 0 + 1) / 4, 1.5 / 4, 1.5 / 4])
    assert means([], RR) == means([Judged(["a"], ())], RR) == [0.0]


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


def test_a_folder_in_place_of_an_open_index_is_refused() -> None:
    with pytest.raises(InputError, match="'notes' is not an open index"):
        evaluate(ONE, [SHIPPED], "notes")  # type: ignore[arg-type]


# labelled questions


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


def test_half_a_character_in_an_id_is_measured_as_any_other() -> None:
    """The C library below ir_measures ends the process at one."""
    judged = [Judged(["b", "a\ud800"], {"a\ud800"}), Judged(["b"], {"\udfff"})]
    assert values(judged, RR) == [0.5, 0.0]
    assert means(judged, RR) == [0.25]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("question: tea\n  traget: a.md", "line 4: `traget` is no key here; the nearest is `target`."),
        (
            "question: tea\n  colour: red",
            "line 4: `colour` is no key here; the keys are question, target, kind",
        ),
        ("question: tea", "line 3: `target` is missing."),
        (
            "question: 2026-03-10\n  target: a.md",
            'line 3: 2026-03-10 is read as a date, not as text. Put it in quotes: "2026-03-10".',
        ),
        ("question: tea\n  target: a.md\n  kind: 3", "line 5: 3 is read as a number, not as text. Put it in"),
        ("tea", "line 3: an entry of `questions` has keys, such as `question`."),
        ("question:\n  target: a.md", "line 3: `question`: Input should be a valid string."),
        (
            "question: tea\n  target: a.md\ncontrols:\n- milk\n- 12",
            "line 7: 12 is read as a number, not as text.",
        ),
    ],
)
def test_what_is_wrong_with_a_file_of_questions_is_said_with_its_line(
    tmp_path: Path, entry: str, said: str
) -> None:
    file = tmp_path / "q.yaml"
    file.write_text(f"questions:\n- {{question: first, target: b.md}}\n- {entry}\n", encoding="utf-8")
    with pytest.raises(InputError) as raised:
        load_questions(file)
    assert raised.value.problem.startswith(f"The question file {file} cannot be used: {said}")


def test_a_misspelled_key_is_named_with_its_own_line_and_not_that_of_its_value(tmp_path: Path) -> None:
    file = tmp_path / "q.yaml"
    file.write_text("question:\n- question: tea\n  target: a.md\n", encoding="utf-8")
    with pytest.raises(InputError) as raised:
        load_questions(file)
    said = "line 1: `question` is no key here; the nearest is `questions`."
    assert raised.value.problem == f"The question file {file} cannot be used: {said}"

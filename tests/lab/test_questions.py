"""Labelled questions: the sample's, and the format of their file."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.measure.questions import QuestionSet, load_questions


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

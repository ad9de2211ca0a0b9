"""The questions of questions_hard.yaml: one fact each, in a file that the other questions leave out."""

from __future__ import annotations

import re

import pytest

from tests.conftest import PROJECT
from workbench.measure.questions import Question, load_questions

SAMPLE = PROJECT / "sample_memory"
FILE = SAMPLE / "questions_hard.yaml"
HARD = load_questions(FILE)
ANSWERS = re.findall(r"^ *# answer: (.+)$", FILE.read_text(encoding="utf-8"), re.M)
TEXTS = {
    path.relative_to(SAMPLE).as_posix(): " ".join(path.read_text(encoding="utf-8").split())
    for path in SAMPLE.rglob("*.md")
}


def test_forty_questions_ask_about_files_that_the_other_questions_leave_out() -> None:
    others = load_questions(SAMPLE / "questions.yaml")
    assert (len(HARD.questions), len(HARD.controls), len(ANSWERS)) == (40, 20, 40)
    assert len(HARD.targets) >= 25
    assert not {*HARD.targets} & {*others.targets}
    assert len({one.question for one in (*HARD.questions, *HARD.controls)}) == 60


@pytest.mark.parametrize(("question", "answer"), [*zip(HARD.questions, ANSWERS, strict=True)])
def test_an_answer_stands_in_the_file_of_its_question_and_in_no_other(
    question: Question, answer: str
) -> None:
    assert [path for path, text in TEXTS.items() if answer in text] == [question.target]

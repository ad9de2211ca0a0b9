"""What tests of diagnoses share: the failing questions of the report, and how a claim is checked."""

from __future__ import annotations

from tests.conftest import SAMPLE
from workbench.contracts import Index
from workbench.lab.diagnose.diagnosis import Diagnosis
from workbench.lab.diagnose.knobs import keys_of, knobs
from workbench.lab.questions import Question, QuestionSet, load_questions
from workbench.retrieval.pipeline import Pipeline, search

REPORTED = [one for one in load_questions(SAMPLE / "questions.yaml").questions if one.from_report]
"""The questions of the sample memory in the report's own wording."""

FAILING = [one for one in REPORTED if one.question != "what to do when a task seems impossible"]
"""Those that OpenClaw 2026.2.13 does not answer here: the report's eight, and three more of its wording."""


def missed(pipeline: Pipeline, index: Index, questions: QuestionSet) -> list[Question]:
    """The questions whose target a pipeline does not return."""
    asked = questions.questions
    return [one for one in asked if one.target not in search(one.question, pipeline, index).paths()]


def check_claims(found: Diagnosis, index: Index) -> None:
    """Asserts by searches from the beginning that each fix reaches the goal, and that its hair does not."""
    for fix in found.fixes:
        assert fix.verified
        assert found.goal.reached(search(found.question, fix.pipeline, index)), fix.setting
        if fix.hair is not None:
            every = [*keys_of(found.pipeline)] if fix.is_key else knobs(found.pipeline)
            (knob,) = [one for one in every if one.name == fix.setting]
            less = knob.put(fix.hair)
            assert not found.goal.reached(search(found.question, less, index)), (fix.setting, fix.hair)

"""What tests of diagnoses share: the failing questions of the report, and how a claim is checked."""

from __future__ import annotations

from typing import Any

from tests.conftest import SAMPLE
from workbench.contracts import Index
from workbench.measure.questions import Question, QuestionSet, load_questions
from workbench.retrieval.pipeline import Pipeline, search
from workbench_plugins.diagnose.diagnosis import Diagnosis
from workbench_plugins.diagnose.parameters import TYPED, keys_of, parameters_of

REPORTED = [one for one in load_questions(SAMPLE / "questions.yaml").questions if one.from_report]
"""The questions of the sample memory in the report's own wording."""

FAILING = [one for one in REPORTED if one.question != "what to do when a task seems impossible"]
"""Those that OpenClaw 2026.2.13 does not answer here: the report's eight, and three more of its wording."""


def missed(pipeline: Pipeline, index: Index, questions: QuestionSet) -> list[Question]:
    """The questions whose target a pipeline does not return."""
    asked = questions.questions
    return [one for one in asked if one.target not in search(one.question, pipeline, index).paths()]


def check_claims(found: Diagnosis, index: Index) -> None:
    """Asserts that each fix has a value to type, and by searches that it works and that `fails` does not."""
    for fix in found.fixes:
        assert fix.verified
        assert found.goal.reached(search(found.question, fix.pipeline, index)), fix.setting
        if fix.fails is not None:
            every = keys_of(found.pipeline) if fix.is_key else parameters_of(found.pipeline)
            (parameter,) = [one for one in every if one.name == fix.setting]
            assert abs(float(fix.value)) in (0, *TYPED, abs(parameter.low), abs(parameter.high))
            failing = parameter.put(fix.fails)
            assert not found.goal.reached(search(found.question, failing, index)), (fix.setting, fix.fails)


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Settings with others pasted into them, key by key."""
    both = {key: merged(old[key], value) for key, value in new.items() if isinstance(old.get(key), dict)}
    return {**old, **new, **both}

"""What tests of diagnoses share: the failing questions of the report, and how a claim is checked."""

from __future__ import annotations

import numpy as np

from tests.conftest import SAMPLE
from workbench.contracts import Index
from workbench.errors import InputError
from workbench.lab.diagnose.counterfactual import counterfactuals
from workbench.lab.diagnose.diagnosis import Diagnosis
from workbench.lab.diagnose.knobs import Knob, keys_of, knobs
from workbench.lab.diagnose.runs import Goal, RankedIndex, Reruns
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


def nearer_on_a_grid(pipeline: Pipeline, question: Question, index: Index) -> list[tuple[str, float]]:
    """The values on a grid that reach the goal and are nearer than every value that is found."""
    runs, goal = Reruns(question.question, pipeline, RankedIndex(index)), Goal(question.target)
    return [
        (knob.name, value)
        for knob in knobs(pipeline)
        if knob.is_number
        for value in _nearer(knob, runs, goal)
    ]


def _nearer(knob: Knob, runs: Reruns, goal: Goal) -> list[float]:
    now = float(knob.now)
    found = [float(one.value) for one in counterfactuals(knob, runs, goal)]
    above = min((one for one in found if one > now), default=np.inf)
    below = max((one for one in found if one < now), default=-np.inf)
    return [value for value in _grid(knob) if below < value < above and _reaches(knob, value, runs, goal)]


def _grid(knob: Knob) -> list[float]:
    now = float(knob.now)
    low, high = max(knob.low, now - max(1.0, 2 * abs(now))), min(knob.high, now + max(1.0, 2 * abs(now)))
    values = np.unique(np.linspace(low, high, 31).round(0 if knob.whole else 12))
    return [float(one) for one in values if one != now and knob.low <= one <= knob.high]


def _reaches(knob: Knob, value: float, runs: Reruns, goal: Goal) -> bool:
    pipeline = knob.with_value(value)
    try:
        return pipeline is not None and goal.reached(runs.trace(pipeline))
    except InputError:  # an index may not serve every value, such as another k1 of BM25
        return False

"""The museum's specimens and the 57 questions run as cases."""

from __future__ import annotations

from workbench.lab.cases.files import case_text, parsed_case
from workbench.lab.cases.making import case_of_questions, case_of_specimen
from workbench.lab.cases.running import elsewhere_pipeline, run_case
from workbench.lab.evaluation import evaluate
from workbench.lab.museum.catalogue import SPECIMENS
from workbench.lab.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.systems.registry import system


def test_the_specimens_that_search_fail_as_cases_and_are_mended_by_their_change() -> None:
    cases = {name: made for name, one in SPECIMENS.items() if (made := case_of_specimen(one)) is not None}
    assert len(cases) >= 11, sorted(cases)
    for name, case in cases.items():
        assert parsed_case(case_text(case), name) == case
        run = run_case(case)
        assert not run.holds, name
        assert run.as_observed, name
        assert run_case(case, elsewhere_pipeline(case.elsewhere[0])).holds, name


def test_the_57_questions_as_one_case_hold_where_the_evaluation_has_hits(
    sample: MemoryIndex, questions: QuestionSet
) -> None:
    pipeline = system("openclaw-2026.2.13")
    case = case_of_questions(questions, pipeline, sample)
    assert len(case.questions) == 57 + 20
    run = run_case(parsed_case(case_text(case), "questions"))
    assert run.as_observed
    (evaluation,) = evaluate(questions, [pipeline], sample)
    assert sum(one.holds for one in run.answers[:57]) == evaluation.overall.hits
    assert sum(one.holds for one in run.answers[57:]) == evaluation.silent.hits

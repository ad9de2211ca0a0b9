"""The museum's specimens and the 57 questions run as cases."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.commands import Run
from tests.conftest import SAMPLE
from tests.lab.cases import example, table
from workbench.errors import InputError
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.retrieval.legs import FixedDepth
from workbench.systems.catalogue import system
from workbench_plugins.cases.case_results import CaseRun
from workbench_plugins.cases.making import case_of_specimen
from workbench_plugins.cases.model import (
    Case,
    CaseQuestion,
    CaseSystem,
    Expected,
    case_text,
    load_case,
    parsed_case,
)
from workbench_plugins.cases.redact import redacted
from workbench_plugins.cases.running import pipeline_of_case, run_case, systems_named
from workbench_plugins.cases.shrink import shrunk
from workbench_plugins.engines import specimens
from workbench_plugins.engines.museum import SPECIMENS, Answer
from workbench_plugins.recorder.cases import cause_in_lists

NO_CASES = [name for name, one in SPECIMENS.items() if one.no_case]
CASES = [name for name in SPECIMENS if name not in NO_CASES]


def returned(ran: CaseRun) -> Answer:
    (answer,) = ran.answers
    return {one.chunk.path: one.score for one in answer.trace.results}


@pytest.mark.parametrize("name", CASES)
def test_a_specimen_fails_as_a_case_with_the_answers_of_the_museum(name: str) -> None:
    specimen = SPECIMENS.named(name)
    case = parsed_case(case_text(case_of_specimen(specimen)), name)
    museum, shipped = specimen.run(), run_case(case)
    mended = run_case(case, pipeline_of_case(case.elsewhere[0].system))
    assert not shipped.holds
    assert shipped.as_observed
    assert mended.holds
    assert returned(shipped) == pytest.approx(museum.shipped)
    assert returned(mended) == pytest.approx(museum.fixed)


def test_every_other_specimen_is_listed_with_the_reason_why_it_is_no_case(run: Run, tmp_path: Path) -> None:
    assert len(CASES) == 32
    for name in NO_CASES:
        with pytest.raises(InputError, match=f"{name} is no case: .{{20,}}"):
            case_of_specimen(SPECIMENS.named(name))
    ran = run("case", "export", "museum", tmp_path / "museum")
    assert ran.code == 0
    assert sorted(one.name for one in (tmp_path / "museum").iterdir()) == sorted(
        f"{name}.case.yaml" for name in CASES
    )
    assert all(f"No case: {name}, since " in ran.out for name in NO_CASES)
    again = run("case", "export", "museum", tmp_path / "museum")
    other = run("case", "export", "everything", tmp_path)
    assert (again.code, other.code) == (2, 2)
    assert "exists already" in again.err
    assert "Use museum or questions" in other.err


LISTS = example("lists")


def lists(old: str = "", new: str = "") -> Case:
    return parsed_case(LISTS.replace(old, new), "lists")


def test_two_lists_of_another_engine_are_fused_by_any_system_with_a_fusion() -> None:
    case = lists()
    assert returned(run_case(case)) == pytest.approx({"b": 1 / 62 + 1 / 61, "a": 1 / 61, "c": 1 / 62})
    (shipped,) = systems_named(["openclaw-2026.2.13"], case)
    # 0.7 × 0.8 + 0.3 × 1: a bm25 of -7 is clamped to 1. c has 0.3 × 1 alone, and the floor of 0.35 drops it.
    assert returned(run_case(case, shipped)) == pytest.approx({"b": 0.86, "a": 0.63})
    (tutorial,) = systems_named(["tutorial-day13"], case)
    # Min-max within each leg: in the keyword leg b is best, in the vector leg a.
    assert returned(run_case(case, tutorial)) == pytest.approx({"a": 0.7, "b": 0.3, "c": 0.0})


def test_what_loses_the_file_of_a_case_of_lists_is_named_with_a_repair_that_holds() -> None:
    case = lists().with_changes(questions=[CaseQuestion(question="tea", expect=Expected(found="c"))])
    short = case.with_changes(system=CaseSystem(name="engine-rrf-60", limit=1))
    headline, repair = cause_in_lists(run_case(short))
    assert headline.startswith("Cause: limit: keep the first 1")
    (settings,) = re.findall(r"\[(.*)\]", repair)
    mended = short.system.with_changes(settings=settings.split(", "))
    assert run_case(short.with_changes(system=mended)).holds
    assert cause_in_lists(run_case(case)) == []


def test_a_floor_that_a_case_adds_is_named_with_the_repair_that_leaves_it_out() -> None:
    case = lists().with_changes(questions=[CaseQuestion(question="tea", expect=Expected(found="c"))])
    for name in ("engine-rrf-60", "elasticsearch-rrf"):
        floored = case.with_changes(system=CaseSystem(name=name, min_score=0.4))
        headline, repair = cause_in_lists(run_case(floored))
        assert headline.startswith("Cause: added floor: ")
        assert headline.endswith(f"differs from {name} in added floor")
        assert repair == "Repair: in the case's system, leave out min_score"
        assert run_case(floored.with_changes(system=CaseSystem(name=name))).holds


def test_a_stage_before_the_fusion_is_run_on_lists_too() -> None:
    case, engine = lists(), system("engine-rrf-60")
    gated = engine.with_stage(specimens.VectorPool())
    assert returned(run_case(case, gated)) == pytest.approx({"b": 1 / 62 + 1 / 61, "a": 1 / 61})
    (one,) = [leg for leg in engine.stages if leg.slot == "vector_leg"]
    shallow = engine.with_stage(replace(one, depth=FixedDepth(cap=1)))
    assert returned(run_case(case, shallow)) == pytest.approx({"a": 1 / 61, "b": 1 / 61, "c": 1 / 62})


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("am-150", "has no fusion of two lists"),
        ("openclaw-2026.7.1", "reads more than the two lists"),
        ("bm-head", "reads more than the two lists"),
        ("recommended", "reads more than the two lists"),
    ],
)
def test_a_system_that_reads_more_than_two_lists_is_refused(name: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        run_case(lists("engine-rrf-60", name))


@pytest.mark.parametrize(("old", "new", "problem"), table("bad-lists"))
def test_half_written_lists_and_sides_are_refused(old: str, new: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        lists(old, new)


def test_a_specimen_that_is_no_search_is_no_system_of_a_case() -> None:
    for name, problem in (("qmd-blend-floor", "is not a search"), ("qdrant-k3", "There is no specimen")):
        with pytest.raises(InputError, match=problem):
            run_case(lists("engine-rrf-60", f"{{specimen: {name}, side: fixed}}"))
    parts = LISTS.partition("  lists:")[0].replace("engine-rrf-60", "{specimen: qdrant-k2, side: fixed}")
    axes = "model: {name: toy, dimensions: 1, axes: {tea: [tea]}}\n"
    notes = parsed_case(f"{axes}{parts}  notes: [{{path: b, text: tea}}]\n", "notes")
    with pytest.raises(InputError, match="is a memory, and this system fuses given lists"):
        run_case(notes)


def test_lists_have_no_words_to_replace_or_to_take_away() -> None:
    failing = lists("{found: b, within: 1}", "{found: c, within: 1}")
    for change in (redacted, shrunk):
        with pytest.raises(InputError, match="lists of ids with scores, and no texts"):
            change(failing)  # type: ignore[operator]


def test_the_57_questions_as_one_case_hold_where_the_evaluation_has_hits(
    run: Run, tmp_path: Path, sample: MemoryIndex, questions: QuestionSet
) -> None:
    pipeline = system("openclaw-2026.2.13")
    exported = run("case", "export", "questions", tmp_path, "--memory", SAMPLE)
    assert exported.code == 0, exported.err
    case = load_case(tmp_path / "questions.case.yaml").case
    assert len(case.questions) == 57 + 20
    ran = run_case(case)
    assert ran.as_observed
    assert [not one.asked.known_bug for one in ran.answers] == [one.holds for one in ran.answers]
    (evaluation,) = evaluate(questions, [pipeline], sample)
    assert sum(one.holds for one in ran.answers[:57]) == evaluation.overall.hits
    assert sum(one.holds for one in ran.answers[57:]) == evaluation.silent.hits

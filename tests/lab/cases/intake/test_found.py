"""A search that somebody has looked at becomes a case: from a trace, a diagnosis, and the commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import world
from tests.commands import Run, runner
from workbench.lab.cases.files import load_case
from workbench.lab.cases.intake.found import case_of_diagnosis, case_of_trace
from workbench.lab.cases.running import run_case
from workbench.lab.diagnose.diagnosis import diagnose
from workbench.memory.index import MemoryIndex
from workbench.memory.sync import index_folder
from workbench.retrieval.pipeline import search
from workbench.systems.registry import system

QUESTION, TARGET = "afternoon rooibos", "memory/bike.md"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.mark.parametrize("name", ["openclaw-2026.2.13", "openclaw-2026.2.13+or", "openclaw-2026.9.6"])
def test_a_trace_becomes_a_case_with_the_same_answer(name: str, toy: MemoryIndex) -> None:
    trace = search(QUESTION, system(name).asking(2, 0.1), toy)
    case = case_of_trace(trace, toy, TARGET)
    ran = run_case(case)
    assert [one.score for one in ran.answers[0].trace.results] == [one.score for one in trace.results]
    assert ran.answers[0].trace.paths() == trace.paths()
    assert (case.questions[0].expect.found, ran.pipeline.name) == (TARGET, name)


def test_a_diagnosis_becomes_a_case_that_expects_what_was_wanted(toy: MemoryIndex) -> None:
    pipeline = system("openclaw-2026.2.13")
    wanted = case_of_diagnosis(diagnose(QUESTION, pipeline, toy, TARGET), toy)
    assert (wanted.questions[0].expect.found, run_case(wanted).holds) == (TARGET, False)
    unwanted = diagnose("rooibos tea", pipeline, toy, unwanted="memory/tea.md")
    out = case_of_diagnosis(unwanted, toy)
    assert (out.questions[0].expect.not_found, run_case(out).holds) == ("memory/tea.md", False)


def test_the_commands_save_their_search(run: Run, tmp_path: Path) -> None:
    root, file = world.write(tmp_path / "notes"), tmp_path / "i.sqlite"
    index_folder(root, index_path=file)
    memory = ("--memory", root, "--index", file, "--system", "openclaw-2026.2.13")
    for command in (("search", "rooibos"), ("explain", "rooibos"), ("diagnose", "rooibos")):
        out = tmp_path / f"{command[0]}.case.yaml"
        outcome = run(*command, "--target", "memory/bike.md", *memory, "--case", out)
        assert outcome.code in (0, 1), outcome.err
        assert f"workbench case run {out}" in outcome.err
        case = load_case(out).case
        assert (case.questions[0].question, case.questions[0].expect.found) == ("rooibos", "memory/bike.md")
        before = out.read_bytes()
        again = run(*command, "--target", "memory/bike.md", *memory, "--case", out)
        assert (again.code, out.read_bytes()) == (2, before)
        assert "exists already" in again.err


def test_a_search_needs_its_target_to_become_a_case(run: Run, tmp_path: Path) -> None:
    for more in (("--case", tmp_path / "a.case.yaml"), ("--target", "memory/a.md")):
        outcome = run("search", "tea", *more)
        assert (outcome.code, outcome.out) == (2, "")
        assert "--case FILE and --target FILE" in outcome.err

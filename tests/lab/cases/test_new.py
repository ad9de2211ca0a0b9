"""A new case carries what its system reads, also of a live store, and says so where it cannot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import world
from tests.commands import Run
from tests.lab.cases import example, table
from tests.openclaw_store import FORMS, OpenClaw
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.records import Trace
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.cases.making import case_of, case_of_diagnosis, case_of_trace
from workbench_plugins.cases.model import case_text, load_case, parsed_case
from workbench_plugins.cases.redact import redacted
from workbench_plugins.cases.running import run_case
from workbench_plugins.diagnose.diagnosis import diagnose, diagnose_unwanted
from workbench_plugins.openclaw.live_index import open_live_store

QUESTION = "don't quit too early"
TARGET = "memory/protocols/tenacity.md"


pytestmark = pytest.mark.usefixtures("in_project")


def new(run: Run, out: Path, system: str) -> str:
    """What the command says of a new case."""
    made = run("case", "new", QUESTION, "--target", TARGET, "-s", system, "--out", out)
    assert (made.code, f"{out.stat().st_size:,} bytes" in made.out) == (0, True)
    return " ".join(made.err.split())


def numbers(trace: Trace) -> tuple[list[str], dict[str, bytes]]:
    """The places of a trace's chunks, and the bits of its numbers."""
    places = [chunk.location for chunk in trace.chunks]
    return places, {name: column.tobytes() for name, column in trace.columns.items()}


@pytest.mark.parametrize("system", ["openclaw-2026.2.13", "recommended"])
def test_a_case_answers_as_the_memory_number_by_number(
    run: Run, tmp_path: Path, sample: MemoryIndex, system: str
) -> None:
    out = tmp_path / "quit.case.yaml"
    assert "does not show what you see" not in new(run, out, system)
    (answer,) = run_case(load_case(out).case).answers
    there = search(QUESTION, SYSTEMS.named(system), sample)
    assert numbers(answer.trace) == numbers(there)


@pytest.mark.usefixtures("own_cache")
def test_a_case_without_room_for_words_says_that_it_answers_otherwise(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench_plugins.cases.case_passages.MOST_READ", 0)
    assert "So this case does not show what you see." in new(run, tmp_path / "a.case.yaml", "recommended")


WORDS = example("words")


MORE = "  - {path: bike.md, text: A bike., passages: [{vector: [0.0, 1.0]}]}\n"
HALF = (WORDS, WORDS + MORE, "have windows in the case, and others have none")


@pytest.mark.parametrize(("old", "new", "problem"), [*table("damaged-words"), HALF])
def test_damaged_windows_are_refused_by_name(old: str, new: str, problem: str) -> None:
    assert run_case(parsed_case(WORDS, "whole")).holds
    with pytest.raises(InputError, match=re.escape(problem)):
        run_case(parsed_case(WORDS.replace(old, new), "damaged"))


# a live store of OpenClaw

RECALL = """
    CREATE TABLE memory_index_chunk_recall_metadata (
        chunk_id TEXT PRIMARY KEY, importance REAL, triggers TEXT, project_key TEXT
    );
    INSERT INTO memory_index_chunk_recall_metadata
    SELECT id, 9, 'brake; hub', NULL FROM memory_index_chunks WHERE path = 'MEMORY.md'
"""


def live(folder: Path, form: str) -> OpenClaw:
    """A store whose notes have annotations that are not in their texts, if its form stores annotations."""
    store = OpenClaw(folder / "agent.sqlite", FORMS[form]).create()
    if form == "2026.9":
        with store.opened() as db:
            db.execute(RECALL)
    return store


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("system", ["openclaw-2026.2.13", "openclaw-2026.9.6", "engine-rrf-60"])
def test_a_live_store_as_a_case_answers_as_the_store(tmp_path: Path, form: str, system: str) -> None:
    pipeline = SYSTEMS.named(system)
    with open_live_store(live(tmp_path, form).file, world.EMBEDDER) as index:
        for question in ("the brake of the hub", "rooibos tea", "disk"):
            there = search(question, pipeline, index)
            case = case_of(question, pipeline, index, "MEMORY.md")
            read = parsed_case(case_text(case), "live")
            (answer,) = run_case(read).answers
            theirs = [(one.chunk.id, one.score) for one in there.candidates]
            assert [(one.chunk.id, one.score) for one in answer.trace.candidates] == theirs
            said = [part.annotations for note in read.memory.notes or () for part in note.passages or ()]
            assert [one.importance for one in said if one] == ([9] if form == "2026.9" else [])
            assert read.memory.annotations == "stored"
            assert "brake" not in case_text(redacted(read).case).partition("model:")[0]


# a search that somebody has looked at

ASKED, WANTED = "afternoon rooibos", "memory/bike.md"


@pytest.mark.parametrize("name", ["openclaw-2026.2.13", "openclaw-2026.2.13+or", "openclaw-2026.9.6"])
def test_a_trace_becomes_a_case_with_the_same_answer(name: str, toy: MemoryIndex) -> None:
    trace = search(ASKED, SYSTEMS.named(name).asking(2, 0.1), toy)
    case = case_of_trace(trace, toy, WANTED)
    ran = run_case(case)
    assert [one.score for one in ran.answers[0].trace.results] == [one.score for one in trace.results]
    assert ran.answers[0].trace.paths() == trace.paths()
    assert (case.questions[0].expect.found, ran.pipeline.name) == (WANTED, name)


def test_a_diagnosis_becomes_a_case_that_expects_what_was_wanted(toy: MemoryIndex) -> None:
    pipeline = SYSTEMS.named("openclaw-2026.2.13")
    wanted = case_of_diagnosis(diagnose(ASKED, pipeline, toy, WANTED), toy)
    assert (wanted.questions[0].expect.found, run_case(wanted).holds) == (WANTED, False)
    unwanted = diagnose_unwanted("rooibos tea", pipeline, toy, "memory/tea.md")
    out = case_of_diagnosis(unwanted, toy)
    assert (out.questions[0].expect.not_found, run_case(out).holds) == ("memory/tea.md", False)


def test_the_commands_save_their_search(run: Run, tmp_path: Path) -> None:
    root, file = world.write(tmp_path / "notes"), tmp_path / "i.sqlite"
    index_folder(root, options=Options(index_path=file))
    memory = ("--memory", root, "--index", file, "--system", "openclaw-2026.2.13")
    for command in ("search", "explain", "diagnose"):
        out = tmp_path / f"{command}.case.yaml"
        asking = (command, "rooibos", "--target", "memory/bike.md", *memory, "--case", out)
        outcome = run(*asking)
        assert outcome.code in (0, 1), outcome.err
        assert f"workbench case run {out}" in outcome.err
        case = load_case(out).case
        assert (case.questions[0].question, case.questions[0].expect.found) == ("rooibos", "memory/bike.md")
        before = out.read_bytes()
        again = run(*asking)
        assert (again.code, out.read_bytes()) == (2, before)
        assert "exists already" in again.err


@pytest.mark.parametrize(("text", "warned"), [("Tea is hot.", False), ("Tea. key sk-abcdefgh1234567", True)])
def test_a_case_whose_notes_have_a_key_is_told_of(run: Run, tmp_path: Path, text: str, warned: bool) -> None:
    memory = world.write(tmp_path / "memory", {"memory/tea.md": text})
    place = ["--memory", memory, "--index", tmp_path / "i.sqlite"]
    assert run("index", memory, *place[2:]).code == 0
    made = run("case", "new", "tea", "--target", "memory/tea.md", *place, "--out", tmp_path / "a.case.yaml")
    assert made.code == 0
    assert ("1 secret may stand in its notes and questions" in made.err) == warned


def test_a_case_whose_expectation_holds_is_said_to_record_a_success(run: Run, tmp_path: Path) -> None:
    memory = world.write(tmp_path / "memory")
    place = ["--memory", memory, "--index", tmp_path / "i.sqlite"]
    assert run("index", memory, *place[2:]).code == 0
    asked = ("case", "new", "rooibos tea", *place, "--overwrite", "--out", tmp_path / "a.case.yaml")
    found = run(*asked, "--target", "memory/tea.md")
    success = "This case records a success: memory/tea.md should be returned, and is number 1."
    assert (found.code, success in found.err) == (0, True)
    unwanted = run(*asked, "--not-found", "memory/tea.md")
    assert (unwanted.code, "success" in unwanted.err) == (0, False)


def test_a_search_needs_its_target_to_become_a_case(run: Run, tmp_path: Path) -> None:
    for more in (("--case", tmp_path / "a.case.yaml"), ("--target", "memory/a.md")):
        outcome = run("search", "tea", *more)
        assert (outcome.code, outcome.out) == (2, "")
        assert "--case FILE and --target FILE" in outcome.err
